"""Findings of `check` and `doctor` as data: the file, the line, what is wrong, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from support_agent.core.frozen import Frozen


class Severity(StrEnum):
    """`error` makes `check` fail; `warning` does not."""

    ERROR = "error"
    WARNING = "warning"


class Finding(Frozen):
    """One problem: where it is (file and 1-based line, if known), what is wrong, and what to do."""

    severity: Severity
    path: Path | None
    line: int | None
    what: str
    todo: str

    @classmethod
    def error(cls, path: Path | None, line: int | None, what: str, todo: str) -> Finding:
        """A finding that makes `check` fail."""
        return cls(severity=Severity.ERROR, path=path, line=line, what=what, todo=todo)

    @classmethod
    def warning(cls, path: Path | None, line: int | None, what: str, todo: str) -> Finding:
        """A finding that does not."""
        return cls(severity=Severity.WARNING, path=path, line=line, what=what, todo=todo)

    def __str__(self) -> str:
        """One line for an operator: file:line: what: what to do."""
        place = "" if self.path is None else f"{self.path}:{self.line}: " if self.line else f"{self.path}: "
        return f"{place}{self.what}: {self.todo}"


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint for a misspelt word: ", did you mean X?", or "" where no known word is near."""
    matches = difflib.get_close_matches(word, list(known), n=1)
    return f", did you mean {matches[0]}?" if matches else ""
