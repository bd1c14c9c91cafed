"""What `check` and `doctor` report: findings as data, with file, line and what to do."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Severity(StrEnum):
    """`error` makes `check` fail; `warning` does not."""

    ERROR = "error"
    WARNING = "warning"


class Finding(BaseModel):
    """One thing that is wrong: where (file and 1-based line, where there is one), what, and what to do about it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    severity: Severity
    path: Path | None
    line: int | None
    what: str
    todo: str
