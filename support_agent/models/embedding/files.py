"""The files of an embedding model: their checksum, and the error if they cannot be used."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from support_agent.core.size_limits import first_line
from support_agent.errors import ConfigError

READ_BYTES = 1 << 20


def checksum(paths: Sequence[Path]) -> str:
    """sha256 over the files' bytes, in order."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while chunk := file.read(READ_BYTES):
                digest.update(chunk)
    return digest.hexdigest()


def unusable(folder: Path, error: Exception) -> ConfigError:
    """The error for a model that cannot be loaded, in one line."""
    reason = first_line(error)
    return ConfigError(f"the embedding model in {folder} cannot be loaded: {reason}: run `support-agent model pull`")
