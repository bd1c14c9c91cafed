"""Writes a new workspace: configuration, policies, templates, accounts and the example's database.

Invariant: nothing that exists is overwritten, and `check` passes on what is written. Checked by
tests/acceptance/test_workspace.py, also from a wheel.
"""

from __future__ import annotations

import secrets
import shutil
from datetime import date
from pathlib import Path

from support_agent.config.packaged_files import packaged
from support_agent.demo.seed import seed
from support_agent.errors import ConfigError

CONFIG_FILE = "support-agent.toml"
DATABASE_FILE = "harborfile.sqlite3"
SECRET_FILE = "secret.key"
SECRET_BYTES = 32


def init(directory: Path, today: date) -> tuple[Path, ...]:
    """Write a workspace with the example company.

    Args:
        directory: Created if it is missing.
        today: The example's series end on this day.
    Returns:
        The paths that were written.
    Raises:
        ConfigError: a file of the same name exists; then nothing is written.
    """
    names = (CONFIG_FILE, "policies", "templates", "accounts.toml", DATABASE_FILE, SECRET_FILE)
    there = [name for name in names if (directory / name).exists()]
    if there:
        raise ConfigError(f"{directory} has {', '.join(there)} already: choose an empty folder")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        ignore = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(packaged("policies"), directory / "policies", ignore=ignore)
        shutil.copytree(packaged("templates"), directory / "templates", ignore=ignore)
        for name in (CONFIG_FILE, "accounts.toml"):
            shutil.copyfile(Path(__file__).parent / name, directory / name)
        seed(directory / DATABASE_FILE, today)
        key = directory / SECRET_FILE
        key.touch(mode=0o600)
        key.write_text(secrets.token_urlsafe(SECRET_BYTES) + "\n", encoding="ascii")
    except OSError as error:
        raise ConfigError(f"{directory}: {error.strerror or error}: choose a folder that can be written") from error
    return tuple(directory / name for name in names)
