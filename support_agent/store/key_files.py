"""The files of the keys and of the master key, which only their owner may read.

Checked by tests/unit/store/test_vault.py.
"""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import URL

from support_agent.errors import ConfigError


def file_of(url: URL) -> Path:
    """The SQLite file of a URL."""
    return Path(url.database or "")


def read_master_key(path: Path) -> str:
    """Read a master key from its file. An empty file is refused: a process died while it wrote it."""
    try:
        key = path.read_text("ascii").strip()
    except FileNotFoundError:
        raise ConfigError(f"the master key {path} is missing: bring it back, or nothing stored can be read") from None
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"the master key {path} cannot be read: check the file and its permissions") from error
    if not key:
        raise ConfigError(f"the master key {path} is empty: bring it back, or delete it if nothing was stored yet")
    return key


def create_private(path: Path, content: bytes = b"") -> None:
    """Create a file that only its owner may read; an existing one stays."""
    try:
        handle = os.open(path.resolve(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        why = f"{path} cannot be written ({error.strerror})"
        raise ConfigError(f"{why}: check the folder of the keys and its permissions") from error
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
