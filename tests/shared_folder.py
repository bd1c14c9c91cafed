"""A folder that all processes of a run of the tests share: the workers, and what they start or fork."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support_agent.models import embedders
from support_agent.models.embedding.kept import FILE

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


def keep_vectors(patch: pytest.MonkeyPatch) -> None:
    """Keep the vectors of documents in this folder, not beside the user's models: each run embeds them itself."""
    if folder := shared_folder():
        patch.setattr(embedders, "FILE", str(folder / FILE))
