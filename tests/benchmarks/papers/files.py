"""Records out of a file, one a line, with an error that names the line.

Checked by tests/unit/benchmarks/papers/test_files.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from support_agent.errors import ConfigError
from support_agent.ops.evals.files import read_text

Row = TypeVar("Row", bound=BaseModel)


def read_json_lines(path: Path, row: type[Row]) -> tuple[Row, ...]:
    """One record a line, as `row` declares it; empty lines are passed over.

    Raises:
        ConfigError: a line is no such record, the message names it; or there is none.
    """
    rows: list[Row] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            rows.append(row.model_validate_json(line))
        except ValidationError as error:
            raise ConfigError(f"{path}:{number}: {first_fault(error)}: correct that line") from None
    if not rows:
        raise ConfigError(f"{path}: no line in it: write one JSON object a line")
    return tuple(rows)


def first_fault(error: ValidationError) -> str:
    """The first thing that is wrong, as "key: what"."""
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, fault["loc"]))
    return f"{where}: {fault['msg']}" if where else fault["msg"]
