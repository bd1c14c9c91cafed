"""The files of a configuration that a backup has: the company's words, and how the agent is set up; no secret's file.

What can be computed again is left out: the index of the documents, the models, the entities of the fact room. Checked
by tests/unit/ops/backup/test_archive.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from support_agent.config.database_url import normalise_url
from support_agent.config.loading import SECRETS
from support_agent.config.settings import Settings
from support_agent.errors import ConfigError
from support_agent.ops.backup.archive import ArchivePart, read_chunks, write_part
from support_agent.store.keys import SCHEMA, Keys, key_settings

FOLDER = "files"
ELSEWHERE = "elsewhere"
"""Folder for files that are not below the configuration's folder; there with their whole path."""


class Configured(NamedTuple):
    """A configuration and its file."""

    config: Path
    settings: Settings


def copy_files(made: Path, config: Path, configured: Iterable[Configured]) -> tuple[ArchivePart, ...]:
    """Copy the files of all configurations, with their places below the folder of the first one."""
    base = config.parent.resolve()
    parts = []
    for path in sorted({path.resolve() for one in configured for path in _files(*one)}):
        place = path.relative_to(base) if path.is_relative_to(base) else Path(ELSEWHERE, *path.parts[1:])
        parts.append(write_part(made, f"{FOLDER}/{place.as_posix()}", read_chunks(path)))
    return tuple(parts)


def left_out(settings: Settings) -> tuple[str, ...]:
    """The files with secrets that the configuration names, and the keys of encrypted mails, wherever they are."""
    agent, oauth = settings.agent, settings.oauth
    keys = Keys(normalise_url(settings.store.url), key_settings(settings.store), settings.store.timeout_s)
    files = (
        agent.secret_file,
        *agent.previous_secret_files,
        *(getattr(getattr(settings, section), f"{key}_file") for section, key in SECRETS),
        settings.store.master_key_file,
        oauth.client_secret_file,
        oauth.refresh_token_file,
        *(file for file in keys.files if file.exists()),
    )
    schema = f"the schema {SCHEMA} of {keys.place}"
    on_server = [schema] if settings.store.encrypt and not keys.files else []
    return (*dict.fromkeys(str(file) for file in files if file is not None), *on_server)


def _files(config: Path, settings: Settings) -> Iterator[Path]:
    company = settings.company
    yield config
    yield company.accounts
    for folder in (company.policies, company.templates):
        yield from (path for path in folder.rglob("*") if path.is_file() and _is_content(path.relative_to(folder)))
    optional = (settings.planner.calibration, settings.facts.policy_file)
    yield from (path for path in optional if path is not None and path.is_file())


def _is_content(path: Path) -> bool:
    return not any(part.startswith((".", "__pycache__")) for part in path.parts)


def restore_files(archive: Path, parts: tuple[ArchivePart, ...], to: Path) -> None:
    """Write the files below a folder that is empty or missing.

    Raises:
        ConfigError: there is something, or it cannot be written.
    """
    try:
        if to.exists() and any(to.iterdir()):
            raise ConfigError(f"{to} is not empty: name a new folder with --to", code="backup")
        to.mkdir(parents=True, exist_ok=True)
        for part in parts:
            write_part(to, part.path.removeprefix(f"{FOLDER}/"), read_chunks(archive / part.path))
    except OSError as error:
        raise ConfigError(
            f"{to} cannot be written ({error.strerror or error}): check the folder", code="backup"
        ) from error
