"""Finds, downloads and verifies the pinned models.

A model is in `<cache>/<model name>/`, from `pull` or copied by hand; a file with another sha256 than the pinned one is
never used. Reading 1.1 GB takes a second or more, so a verified file gets a stamp (its checksum, size and time of
change) beside it, and is read again only if one of these differs.

Invariant: a path from `locate` or `pull` was complete and verified when it was stamped: files are joined elsewhere and
renamed into place. tests/unit/models/test_pulling.py checks it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path

from filelock import FileLock, Timeout

from support_agent.config.settings import ModelSettings
from support_agent.core.findings import Finding, Severity
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError, TransientError
from support_agent.models.downloads import (
    Source,
    download,
    download_bytes,
    room_bytes,
)
from support_agent.models.pinned import EMBEDDING_MODEL, LANGUAGE_MODEL, MODELS, ModelFile, PinnedModel
from support_agent.models.progress import Progress

APPLICATION = "support-agent"
WORK = ".download"
LOCK = ".lock"
STAMP_SUFFIX = ".verified"
SPARE_BYTES = 64_000_000
"""Disk space that a download leaves free."""
MEGABYTE_BYTES = 1_000_000
GGUF_MAGIC = b"GGUF"
PULL = "support-agent model pull"


class CacheState(StrEnum):
    """How much of a model is in the cache, without reading the files."""

    ABSENT = "absent"
    PARTIAL = "partial"
    UNVERIFIED = "unverified"
    VERIFIED = "verified"


class ListedModel(Frozen):
    """A model as `model list` shows it."""

    name: str
    title: str
    licence: str
    size_bytes: int
    path: Path
    state: CacheState
    sources: tuple[str, ...]


def cache_dir(settings: ModelSettings) -> Path:
    """Where models are kept: `model.cache_dir`, or the user's cache directory (XDG Base Directory)."""
    if settings.cache_dir is not None:
        return settings.cache_dir
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".cache") / APPLICATION / "models"


def language_model(settings: ModelSettings, progress: Progress) -> Path:
    """The GGUF file to load: the user's own (`model.path`), or the pinned one, downloaded if it is missing.

    Raises:
        ConfigError: `model.path` is no GGUF file, or the pinned model cannot be downloaded.
    """
    if settings.path is not None:
        return _own_gguf(settings.path)
    return pull(LANGUAGE_MODEL, settings, progress)


def embedding_model(settings: ModelSettings, progress: Progress) -> Path:
    """The folder of the embedding model of the index (MiniLM), downloaded if it is missing.

    Raises:
        ConfigError: it cannot be downloaded.
    """
    return pull(EMBEDDING_MODEL, settings, progress)


def _own_gguf(path: Path) -> Path:
    todo = "point model.path to a GGUF file, or leave it empty for the pinned model"
    try:
        with path.open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise ConfigError(f"model.path {path}: {error.strerror or error}: {todo}") from error
    if magic != GGUF_MAGIC:
        raise ConfigError(f"model.path {path}: not a GGUF file: {todo}")
    return path


def locate(model: PinnedModel, cache: Path) -> Path | None:
    """The model's file or folder if all its files are the pinned ones, else None; uses no network."""
    folder = model.folder(cache)
    return folder / model.entry if all(_is_good(folder, file) for file in model.files) else None


def verify(model: PinnedModel, cache: Path) -> tuple[Finding, ...]:
    """Read every file of the model, ignoring stamps; without findings, all are the pinned ones."""
    folder = model.folder(cache)
    findings = []
    for file in model.files:
        if _is_good(folder, file, must_read=True):
            continue
        path = folder / file.name
        with suppress(OSError):
            _stamp_path(folder, file).unlink()
        wrong = f"not the pinned file of {model.title}: its sha256 is not {file.sha256}"
        what = wrong if path.is_file() else f"{model.title} is not there"
        todo = f"run `{PULL}`"
        findings.append(Finding(severity=Severity.ERROR, path=path, line=None, what=what, todo=todo))
    return tuple(findings)


def listing(cache: Path) -> tuple[ListedModel, ...]:
    """All pinned models with their state in the cache; reads no model file, uses no network."""
    return tuple(
        ListedModel(
            name=model.name,
            title=model.title,
            licence=model.licence,
            size_bytes=sum(file.size_bytes for file in model.files),
            path=model.folder(cache) / model.entry,
            state=_state(model, model.folder(cache)),
            sources=tuple(dict.fromkeys(str(source) for file in model.files for source in file.sources)),
        )
        for model in MODELS
    )


def _state(model: PinnedModel, folder: Path) -> CacheState:
    present = [file for file in model.files if _size(folder / file.name) == file.size_bytes]
    if len(present) == len(model.files):
        is_stamped = all(_is_stamped(folder, file) for file in model.files)
        return CacheState.VERIFIED if is_stamped else CacheState.UNVERIFIED
    has_begun = any(path.stat().st_size for path in (folder / WORK).glob("*"))
    return CacheState.PARTIAL if present or has_begun else CacheState.ABSENT


def pull(model: PinnedModel, settings: ModelSettings, progress: Progress) -> Path:
    """Bring the model into the cache; returns the result of `locate`.

    It continues an interrupted download. If two processes pull one model, the second waits for the first.

    Raises:
        ConfigError: no source delivered the pinned file (the message lists what was tried and how to bring
            the file by hand), the disk is too small, or the folder cannot be written.
    """
    folder = model.folder(cache_dir(settings))
    if (found := locate(model, cache_dir(settings))) is not None:
        return found
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _only_one(folder, model, progress):
            for file in model.files:
                if not _is_good(folder, file):
                    _pull_file(file, folder, progress, settings)
            shutil.rmtree(folder / WORK, ignore_errors=True)
    except OSError as error:
        todo = "make room or set model.cache_dir to a folder that can be written"
        raise ConfigError(f"{model.title}: {folder}: {error.strerror or error}: {todo}") from error
    return folder / model.entry


@contextmanager
def _only_one(folder: Path, model: PinnedModel, progress: Progress) -> Generator[None]:
    """Hold the folder's lock, which ends with its process; wait for another process that holds it."""
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress.note(f"{model.title}: another process is downloading it; waiting")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _pull_file(file: ModelFile, folder: Path, progress: Progress, settings: ModelSettings) -> None:
    """Try the sources in order until one delivers the pinned bytes."""
    partial, failures = folder / WORK / file.name, []
    for source in file.sources:
        _check_room(file, source, folder)
        progress.note(f"{file.name}: from {source}")
        try:
            with progress.bar(file.name, download_bytes(source, file.size_bytes)) as move_to:
                download(source, file.size_bytes, partial, settings, move_to)
            found = _sha256(partial)
            if found != file.sha256:
                partial.unlink()
                raise TransientError(f"delivered another file, its sha256 is {found}")
        except TransientError as error:
            failures.append(f"- {source}: {error}")
            progress.note(f"{file.name}: {error}")
            continue
        _put_in_place(partial, folder, file)
        return
    by_hand = f"put the file with sha256 {file.sha256} at {folder / file.name}"
    todo = f"check the network and run `{PULL}` again, or {by_hand}"
    lines = [f"{file.name} could not be downloaded. Tried:", *failures, f"To do: {todo}"]
    raise ConfigError("\n".join(lines))


def _check_room(file: ModelFile, source: Source, folder: Path) -> None:
    needed_bytes = room_bytes(source, file.size_bytes, folder / WORK / file.name) + SPARE_BYTES
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        have = f"{free_bytes // MEGABYTE_BYTES} MB are free in {folder}"
        todo = "make room or set model.cache_dir to another disk"
        raise ConfigError(f"{file.name} needs {needed_bytes // MEGABYTE_BYTES} MB, {have}: {todo}")


def _put_in_place(partial: Path, folder: Path, file: ModelFile) -> None:
    """Rename a verified file to its name; it is on the disk before its stamp is."""
    with partial.open("rb") as opened:
        os.fsync(opened.fileno())
    partial.replace(folder / file.name)
    _write_stamp(folder, file)


def _is_good(folder: Path, file: ModelFile, *, must_read: bool = False) -> bool:
    """Whether the file is there and the pinned one: by its stamp, or by reading it, which leaves a stamp."""
    if not must_read and _is_stamped(folder, file):
        return True
    path = folder / file.name
    if _size(path) != file.size_bytes or _sha256(path) != file.sha256:
        return False
    _write_stamp(folder, file)
    return True


def _is_stamped(folder: Path, file: ModelFile) -> bool:
    try:
        return _stamp_path(folder, file).read_text() == _stamp_text(folder, file)
    except (OSError, UnicodeDecodeError):
        return False


def _write_stamp(folder: Path, file: ModelFile) -> None:
    stamp = _stamp_path(folder, file)
    fresh = stamp.with_name(f"{stamp.name}.{os.getpid()}")
    try:
        fresh.write_text(_stamp_text(folder, file))
        fresh.replace(stamp)
    except OSError:
        return  # the cache is read-only, by its permissions or its mount: the file is read at each start


def _stamp_path(folder: Path, file: ModelFile) -> Path:
    return folder / f"{file.name}{STAMP_SUFFIX}"


def _stamp_text(folder: Path, file: ModelFile) -> str:
    status = (folder / file.name).stat()
    return f"{file.sha256} {status.st_size} {status.st_mtime_ns}\n"


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
