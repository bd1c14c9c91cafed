"""Where the questions of a measurement are read from: a file, or the folder that holds it under its usual name.

Checked by tests/unit/evals/test_files.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from support_agent.errors import ConfigError

Row = TypeVar("Row", bound=BaseModel)


def data_file(data: Path, name: str) -> Path:
    """The file itself, or the one of that name in the folder.

    Raises:
        ConfigError: it is not there.
    """
    path = data / name if data.is_dir() else data
    if not path.is_file():
        raise ConfigError(f"{path}: no such file: name the folder that holds {name}, or the file, with --data")
    return path


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        ConfigError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}: check its permissions") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8 text: save it as UTF-8") from None


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
