"""A backup on disk: a folder of parts, and a manifest that has the size and the digest of each.

Invariant: the manifest is written last and the folder gets its name after that, so a folder of that name is whole; a
part that changed since is found before anything of it is used. Checked by tests/unit/ops/backup/test_archive.py and,
with kills, by tests/integration/backup/test_kills.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any, Literal

from filelock import FileLock, Timeout
from pydantic import AfterValidator, AwareDatetime, Field, ValidationError

from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError, PermanentError

FORMAT = 1
MANIFEST = "manifest.json"
PREFIX = "support-agent-"
UNFINISHED = ".unfinished-"
NAME = re.compile(rf"{PREFIX}\d{{8}}T\d{{6}}Z(-\d+)?")
CHUNK_BYTES = 1 << 20
PRIVATE_FOLDER = 0o700


def _inside(path: str) -> str:
    if path.startswith("/") or ".." in path.split("/"):
        raise ValueError("a part's path leads out of the backup")
    return path


class ArchivePart(Frozen):
    """A file of the backup; `table` and `columns` are those of a table's rows, in the form of PostgreSQL's COPY."""

    path: Annotated[str, Field(min_length=1), AfterValidator(_inside)]
    bytes: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    table: str = ""
    columns: tuple[str, ...] = ()


class DatabaseCopy(Frozen):
    """A copied database: one file (SQLite), or one part a table. `schema_version` is that of its tables."""

    kind: Literal["sqlite", "postgresql"]
    schema_version: str | None
    parts: tuple[ArchivePart, ...]


class Manifest(Frozen):
    """What a backup has. The keys of `stores` are the names of brands, "" for the first mailbox.

    `is_quiet`: no worker ran at the instant of the copy. `configuration` is the name of the configuration among
    `files`. `left_out`: files with secrets, which a backup never has. `engine`: the engine's records, which older
    versions copied; they are verified and not restored.
    """

    format: int = FORMAT
    program: str
    made_at: AwareDatetime
    is_quiet: bool
    stores: Mapping[str, DatabaseCopy]
    configuration: str
    files: tuple[ArchivePart, ...]
    left_out: tuple[str, ...] = ()
    engine: DatabaseCopy | None = None

    @property
    def parts(self) -> Iterator[ArchivePart]:
        """All parts."""
        for copy in (*self.stores.values(), *filter(None, [self.engine])):
            yield from copy.parts
        yield from self.files

    @property
    def bytes(self) -> int:
        """The size of all parts."""
        return sum(part.bytes for part in self.parts)


@contextmanager
def new_archive(folder: Path, now: datetime) -> Iterator[tuple[Path, Path]]:
    """A folder to fill, and the name below `folder` that it gets at the end of the block, `support-agent-TIME`.

    Leftovers of backups that were interrupted are deleted. The block must call `finish`.

    Raises:
        ConfigError: `folder` cannot be written, or another backup is being made there.
    """
    try:
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        with FileLock(folder / ".lock", timeout=0):
            for left in folder.glob(f"{UNFINISHED}*"):
                shutil.rmtree(left)
            made = folder / f"{UNFINISHED}{os.getpid()}"
            made.mkdir(mode=PRIVATE_FOLDER)
            named = folder / free_name(f"{PREFIX}{stamp(now)}", lambda name: (folder / name).exists())
            yield made, named
            made.rename(named)
            sync(folder)
    except Timeout:
        raise ConfigError(f"another backup is being made in {folder}: wait for its end", code="backup") from None
    except OSError as error:
        why = f"{error.filename or folder} cannot be written ({error.strerror or error})"
        raise ConfigError(
            f"{why}: check the folder, its permissions and the space on its disk", code="backup"
        ) from error


def stamp(now: datetime) -> str:
    """An instant as part of a name."""
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def free_name(name: str, is_taken: Callable[[str], bool]) -> str:
    """The name, or with a number behind it where it is taken."""
    numbered = (f"{name}-{number}" for number in count(2))
    return next(one for one in chain([name], numbered) if not is_taken(one))


def finish(made: Path, manifest: Manifest) -> None:
    """Write the manifest, when every part is on the disk."""
    content = manifest.model_dump(mode="json")
    text = json.dumps({**content, "sha256": _digest_of(content)}, ensure_ascii=False, indent=1)
    write_part(made, MANIFEST, [text.encode()])
    for path in (made, *(path for path in made.rglob("*") if path.is_dir())):
        sync(path)


def write_part(
    made: Path, path: str, chunks: Iterable[bytes], table: str = "", columns: Iterable[str] = ()
) -> ArchivePart:
    """Write a file, private to its owner, and wait until the disk has it."""
    target, digest, size = made / path, hashlib.sha256(), 0
    target.parent.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    target.touch(mode=0o600, exist_ok=False)
    with target.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
        file.flush()
        os.fsync(file.fileno())
    return ArchivePart(path=path, bytes=size, sha256=digest.hexdigest(), table=table, columns=tuple(columns))


def read_chunks(path: Path) -> Iterator[bytes]:
    """A file in pieces of bounded size."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def part_of(made: Path, path: str) -> ArchivePart:
    """A file that another library has written into the backup; waits until the disk has it."""
    file = made / path
    file.chmod(0o600)
    sync(file)
    return ArchivePart(path=path, bytes=file.stat().st_size, sha256=_sha256(file))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync(path: Path) -> None:
    """Wait until the disk has a file, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read(archive: Path) -> Manifest:
    """Read the manifest; the parts are not looked at.

    Raises:
        ConfigError: this is no backup, or one that a newer version made.
        PermanentError: the manifest was changed.
    """
    try:
        content: Any = json.loads((archive / MANIFEST).read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{archive} is no backup: it has no {MANIFEST}", code="backup") from None
    except (OSError, ValueError) as error:
        raise PermanentError(
            f"{archive / MANIFEST} cannot be read ({error}): use another backup", code="backup"
        ) from error
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise PermanentError(f"{archive / MANIFEST} is damaged: use another backup", code="backup")
    if content["format"] > FORMAT:
        made_by = f"made by support-agent {content.get('program')}, a newer version"
        raise ConfigError(
            f"{archive} was {made_by}: install that version to restore it; nothing was changed", code="schema"
        )
    stated = content.pop("sha256", None)
    try:
        manifest = Manifest.model_validate(content)
    except ValidationError:
        manifest = None
    if manifest is None or stated != _digest_of(content):
        raise PermanentError(f"{archive / MANIFEST} is damaged: use another backup", code="backup")
    return manifest


def verify(archive: Path) -> Manifest:
    """Read the whole backup and compare every part with the manifest.

    Raises:
        ConfigError, PermanentError: as `read`; or a part is missing or was changed.
    """
    manifest = read(archive)
    for part in manifest.parts:
        path = archive / part.path
        if not path.is_file():
            raise PermanentError(f"the backup lacks {path}: use another one", code="backup")
        if _sha256(path) != part.sha256:
            raise PermanentError(f"{path} has changed since the backup was made: use another one", code="backup")
    return manifest


def delete_older(folder: Path, keep: int) -> list[Path]:
    """Delete all backups of a folder but the newest; return those that were deleted.

    Args:
        keep: How many stay, at least 1.
    """
    found = sorted(
        path for path in folder.glob(f"{PREFIX}*") if NAME.fullmatch(path.name) and (path / MANIFEST).is_file()
    )
    deleted = found[:-keep]
    for path in deleted:
        (path / MANIFEST).unlink()  # first: what is left of it after a crash is no backup
        shutil.rmtree(path)
    return deleted


def _digest_of(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
