"""A folder that all processes of a run of the tests share: the workers, and what they start or fork."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

VARIABLE = "TESTS_SHARED_FOLDER"


def make(base: pytest.TempPathFactory) -> Path:
    """The folder of this run."""
    own = base.getbasetemp()
    folder = (own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


def shared_folder() -> Path | None:
    """The folder, in a process that has its variable."""
    return Path(os.environ[VARIABLE]) if VARIABLE in os.environ else None
