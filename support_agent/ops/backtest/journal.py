"""The results of a backtest in a file, a line for each mail, so that a stopped run goes on where it was.

Invariant: a line is written whole, or is not read: a kill at any moment loses one mail at most. The name of the file
has the version of everything that decides, so results of other documents, settings or models are never mixed. The file
holds customers' words; only its owner may read it (0600). Checked by tests/unit/ops/backtest/test_journal.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, Self

from pydantic import ValidationError

from support_agent.errors import ConfigError
from support_agent.ops.backtest.results import PastResult

PRIVATE = 0o600


class Results(Protocol):
    """Results of mails by their keys."""

    def get(self, key: str) -> PastResult | None:
        """What is known of a mail."""

    def add(self, result: PastResult) -> None:
        """Keep a result."""


class Remembered:
    """Results by key that end with the process."""

    def __init__(self) -> None:
        self._results: dict[str, PastResult] = {}

    def get(self, key: str) -> PastResult | None:
        """What is known of a mail."""
        return self._results.get(key)

    def add(self, result: PastResult) -> None:
        """Keep a result."""
        self._results[result.key] = result


class Journal:
    """Results by key, kept in a file of one folder; use it as a context manager."""

    def __init__(self, folder: Path, version: str) -> None:
        """Read what is there.

        Raises:
            ConfigError: the folder cannot be used.
        """
        self.path = folder / f"results-{version[:16]}.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE), "ab")
            self.path.chmod(PRIVATE)  # an older file, or one that was copied, may be open to others
            whole = self.path.read_bytes()
        except OSError as error:
            raise ConfigError(f"{folder}: {error.strerror}: name a folder of yours with --work") from error
        self._results = {one.key: one for one in _read(whole)}
        if whole and not whole.endswith(b"\n"):
            self._file.write(b"\n")  # the line of a run that was killed

    def __len__(self) -> int:
        return len(self._results)

    def get(self, key: str) -> PastResult | None:
        """What is known of a mail."""
        return self._results.get(key)

    def add(self, result: PastResult) -> None:
        """Keep a result, on the disk when this returns."""
        self._file.write(result.model_dump_json().encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._results[result.key] = result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _read(whole: bytes) -> Iterator[PastResult]:
    for line in whole.splitlines():
        try:
            yield PastResult.model_validate_json(line)
        except ValidationError:
            continue  # cut off by a kill: the mail is decided again
