"""Makes a backup while workers go on: each store as it was at one instant, and the company's files.

Invariant: nothing but the backup is written, and it is whole or has no name. Checked by tests/integration/backup.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from support_agent.errors import ConfigError
from support_agent.ops.backup import archive
from support_agent.ops.backup.archive import Manifest
from support_agent.ops.backup.company_files import Configured, copy_files, left_out
from support_agent.ops.backup.snapshot import pinned
from support_agent.store.lock import only_process

FIRST = "_"
"""Folder of the first mailbox's store; no brand has this name."""


class Made(NamedTuple):
    """A finished backup."""

    path: Path
    manifest: Manifest


def make_backup(brands: Mapping[str, Configured], folder: Path, now: datetime) -> Made:
    """Make a backup below a folder.

    Args:
        brands: The configurations by brand; "" is the first mailbox.
        folder: Where backups are kept; created if it is missing.
    Raises:
        ConfigError: there is no store, or the folder cannot be written. TransientError: a database did not answer.
    """
    with archive.new_archive(folder, now) as (made, path):
        manifest = _fill(made, brands, now)
        archive.finish(made, manifest)
    return Made(path, manifest)


def _fill(made: Path, brands: Mapping[str, Configured], now: datetime) -> Manifest:
    config, settings = brands[""]
    urls = {brand: one.settings.store.url for brand, one in brands.items()}
    timeout_s = settings.store.timeout_s
    was_quiet = _is_quiet(urls, timeout_s)
    with pinned(urls, timeout_s) as stores:
        is_quiet = was_quiet and _is_quiet(urls, timeout_s)
        copied = {brand: store.copy(made, f"stores/{brand or FIRST}") for brand, store in stores.items()}
    return Manifest(
        program=version("support-agent"),
        made_at=now,
        is_quiet=is_quiet,
        stores=copied,
        configuration=config.name,
        files=copy_files(made, config, brands.values()),
        left_out=tuple(name for one in brands.values() for name in left_out(one.settings)),
    )


def _is_quiet(urls: Mapping[str, str], timeout_s: float) -> bool:
    """Whether no worker has any of the stores."""
    try:
        with ExitStack() as held:
            for url in urls.values():
                held.enter_context(only_process(url, "support-agent backup", timeout_s=timeout_s))
            return True
    except ConfigError:
        return False
