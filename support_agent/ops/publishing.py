"""Drafts of documents and templates: checked with the whole company, then written in the place of the file.

Invariant: only a file below the folder of the documents or templates is written, never through a link; it is replaced
whole or not at all, keeps its mode, and is still the one that was edited. A draft with an error that `check` did not
find before is not written. Checked by tests/unit/ops/test_publishing.py.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date
from enum import StrEnum
from functools import lru_cache
from pathlib import Path, PurePosixPath
from threading import Lock

from support_agent.answer.templates import WORDS
from support_agent.company.company import QUESTIONS_FILE
from support_agent.company.front_matter import FILE_NAME
from support_agent.company.importing.unreviewed import name_of
from support_agent.config.packaged_files import packaged
from support_agent.config.settings import CompanySettings, Settings
from support_agent.core.findings import Finding, Severity
from support_agent.core.frozen import Frozen
from support_agent.core.locales import FALLBACK_LOCALE, is_locale
from support_agent.errors import PermanentError
from support_agent.ops.check import check_calibration, check_languages, check_words, tool_codes
from support_agent.ops.template_checks import check_templates

MAX_BYTES = 500_000
"""Largest file that is read for an edit or published."""
NEW = ""
"""In the place of a digest: the file does not exist yet."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_ONE_AT_A_TIME = Lock()


class FileKind(StrEnum):
    """What a file is: its folder is `company.policies` or `company.templates`."""

    DOCUMENT = "document"
    TEMPLATE = "template"


class FilePlace(Frozen):
    """A file; `name` is its path below the folder of its kind: "de/001-refund.md", "en/answer.txt.j2"."""

    kind: FileKind
    name: str

    def folder(self, company: CompanySettings) -> Path:
        """The folder of its kind."""
        return company.policies if self.kind is FileKind.DOCUMENT else company.templates


class Present(Frozen):
    """A file as it is on the disk now; `digest` is its sha256 in hex, `NEW` if there is none."""

    raw: bytes = b""
    digest: str = NEW

    @property
    def text(self) -> str:
        """Its text with LF; bytes that are no UTF-8 are replaced."""
        return self.raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")


class FileDraft(Frozen):
    """A text for a file, made from the file with the digest `base`."""

    place: FilePlace
    text: str
    base: str = NEW

    @property
    def raw(self) -> bytes:
        """The bytes of the file: UTF-8 with LF, as browsers do not send it."""
        return (self.text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n") + "\n").encode("utf-8", "replace")

    @property
    def digest(self) -> str:
        """Names the draft and its place, in hex."""
        return hashlib.sha256(f"{self.place.kind} {self.place.name}\n".encode() + self.raw).hexdigest()


# Places


def document_files(company: CompanySettings) -> dict[tuple[int, str | None], str]:
    """The files of documents by number and language, None for the company's own; of twins the first."""
    found: dict[tuple[int, str | None], str] = {}
    for name in _names(company.policies, FileKind.DOCUMENT):
        path = PurePosixPath(name)
        language = path.parent.name or None
        match = FILE_NAME.match(path.name)
        if match is not None and (language is None or is_locale(language)):
            found.setdefault((int(match.group(1)), language), name)
    return found


def document_place(company: CompanySettings, number: int, language: str | None, title: str = "") -> FilePlace:
    """The file of a document in a language, None for the company's own; a new one is named by its title.

    Raises:
        PermanentError: the language is none, or the company's own.
    """
    known = document_files(company).get((number, language))
    if known is not None:
        return FilePlace(kind=FileKind.DOCUMENT, name=known)
    if language is not None and (not is_locale(language) or language.lower() == company.locale.lower()):
        raise _refused(f"{language!r} is no other language: write one such as de, or pt-BR")
    name = f"{number:03d}-{name_of(title)}.md"
    return FilePlace(kind=FileKind.DOCUMENT, name=name if language is None else f"{language}/{name}")


def template_files(company: CompanySettings) -> dict[str, bool]:
    """The templates and tables of words that may be edited, by name; False: known to the program, and not there yet.

    A language is added as a folder on the disk, because it needs all of them at once.
    """
    there = set(_names(company.templates, FileKind.TEMPLATE))
    languages = sorted({name.partition("/")[0] for name in there if is_locale(name.partition("/")[0])})
    known = {path.name for path in (packaged("templates") / FALLBACK_LOCALE).iterdir()}
    possible = {f"{language}/{name}" for language in languages for name in known}
    files = {name for name in there if not name.startswith("tests/")}
    return {name: name in there for name in sorted(files | possible)}


def template_place(company: CompanySettings, name: str) -> FilePlace | None:
    """The file of a template; None: there is none of this name, and the program knows none."""
    return FilePlace(kind=FileKind.TEMPLATE, name=name) if name in template_files(company) else None


# Checking


@contextmanager
def tried(company: CompanySettings, draft: FileDraft) -> Iterator[CompanySettings]:
    """The company with the draft in the place of its file, in a folder that is deleted at the end."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / draft.place.folder(company).name
        _write_all(folder, {**_contents(company, draft.place.kind), draft.place.name: draft.raw})
        key = "policies" if draft.place.kind is FileKind.DOCUMENT else "templates"
        yield company.model_copy(update={key: folder})


def check_draft(settings: Settings, draft: FileDraft, today: date) -> tuple[Finding, ...]:
    """What `check` says of the company's files with the draft; the paths are those below the workspace."""
    with tried(settings.company, draft) as company:
        return _checked(settings.model_copy(update={"company": company}), today)


def errors_of(settings: Settings, draft: FileDraft, findings: tuple[Finding, ...], today: date) -> tuple[Finding, ...]:
    """The errors for which a draft is not published: those in its file, and those that are not there without it.

    An error elsewhere that is there already, such as another document that has expired, does not matter.
    """
    errors = tuple(one for one in findings if one.severity is Severity.ERROR)
    if not errors:
        return ()
    own = path_of(settings.company, draft.place)
    before = {(one.path, one.what) for one in _checked(settings, today)}
    return tuple(one for one in errors if one.path == own or (one.path, one.what) not in before)


def not_taken_over(settings: Settings) -> tuple[Finding, ...]:
    """The errors for which a running worker goes on with its old files, see `check.require_sound_files`."""
    accounts = Path(settings.company.accounts.name)
    found = _checked(settings, date.min)
    return tuple(one for one in found if one.severity is Severity.ERROR and one.path != accounts)


def path_of(company: CompanySettings, place: FilePlace) -> Path:
    """The path of a file in the findings about drafts."""
    return Path(place.folder(company).name) / place.name


def _checked(settings: Settings, today: date) -> tuple[Finding, ...]:
    company = settings.company
    findings = [
        *check_words(company, today),
        *check_languages(company, None),
        *check_calibration(settings),
    ]
    templates = tuple(sorted(_contents(company, FileKind.TEMPLATE).items()))
    return (*_below(findings, company), *(_below_folder(one, company) for one in _templates_checked(templates)))


@lru_cache(maxsize=8)
def _templates_checked(files: tuple[tuple[str, bytes], ...]) -> tuple[Finding, ...]:
    """What `check` says of templates and their tests; their samples take seconds, so what was found is remembered."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _write_all(folder, dict(files))
        findings = check_templates(folder, tool_codes())
        return tuple(_moved(one, folder, Path()) for one in findings)


def _below_folder(finding: Finding, company: CompanySettings) -> Finding:
    return finding.model_copy(update={"path": Path(company.templates.name) / (finding.path or "")})


def _below(findings: list[Finding], company: CompanySettings) -> Iterator[Finding]:
    """The findings with paths below the workspace in the place of whole ones."""
    for finding in findings:
        for folder in (company.policies, company.templates, company.accounts):
            finding = _moved(finding, folder, Path(folder.name))
        yield finding


def _moved(finding: Finding, folder: Path, to: Path) -> Finding:
    path = finding.path
    if path is not None and path.is_relative_to(folder):
        path = to / path.relative_to(folder)
    texts = {key: getattr(finding, key).replace(f"{folder}", f"{to}") for key in ("what", "todo")}
    return finding.model_copy(update={"path": path, **texts})


# Reading and writing


def present(company: CompanySettings, place: FilePlace) -> Present:
    """The file as it is now.

    Raises:
        PermanentError: it is a link or no file, too large, or cannot be read.
    """
    try:
        with _opened(company, place) as folder:
            return _read(folder, PurePosixPath(place.name).name)
    except FileNotFoundError:
        return Present()
    except OSError as error:
        raise _not_usable(place, error) from error


def publish(company: CompanySettings, draft: FileDraft) -> None:
    """Write the draft in the place of its file, on the disk when this returns. The caller has checked it.

    Raises:
        PermanentError: the file is no longer the one that was edited (code `edited`), or it cannot be written.
    """
    if len(draft.raw) > MAX_BYTES:
        raise _refused(f"more than {MAX_BYTES} bytes: cut it into several documents")
    try:
        with _ONE_AT_A_TIME, _opened(company, draft.place, is_new=draft.base == NEW) as folder:
            _replace(folder, PurePosixPath(draft.place.name).name, draft)
    except OSError as error:
        raise _not_usable(draft.place, error) from error


@contextmanager
def _opened(company: CompanySettings, place: FilePlace, *, is_new: bool = False) -> Iterator[int]:
    """The open folder of a file; below the folder of the settings no link is followed.

    Everything happens below this descriptor, so a folder that is exchanged meanwhile changes nothing.
    """
    parts = PurePosixPath(place.name).parts
    if not 1 <= len(parts) <= 2 or any(not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", part) for part in parts):
        raise _refused(f"{place.name!r} is no name of a file here")
    handle = os.open(place.folder(company).resolve(), _FOLDER)
    try:
        for part in parts[:-1]:
            if is_new and place.kind is FileKind.DOCUMENT:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=handle)
            inner = os.open(part, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _read(folder: int, name: str) -> Present:
    handle = os.open(name, _FILE, dir_fd=folder)
    with os.fdopen(handle, "rb") as file:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise _refused(f"{name} is no file")
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise _refused(f"{name} has more than {MAX_BYTES} bytes: edit it on the disk")
    return Present(raw=raw, digest=hashlib.sha256(raw).hexdigest())


def _replace(folder: int, name: str, draft: FileDraft) -> None:
    temporary = f".{name}.{secrets.token_hex(8)}.new"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(draft.raw)
            file.flush()
            if draft.base != NEW:
                os.fchmod(handle, stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode))
            os.fsync(handle)
        if draft.base == NEW:  # a link, unlike a rename, replaces nothing
            os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        elif _read(folder, name).digest != draft.base:
            raise PermanentError(f"{name} was changed by somebody else meanwhile", code="edited")
        else:
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            temporary = ""
        os.fsync(folder)
    finally:
        if temporary:
            os.unlink(temporary, dir_fd=folder)


def _not_usable(place: FilePlace, error: OSError) -> PermanentError:
    if isinstance(error, FileExistsError):
        return PermanentError(f"{place.name} was added by somebody else meanwhile", code="edited")
    if isinstance(error, FileNotFoundError):
        return PermanentError(f"{place.name} was deleted by somebody else meanwhile", code="edited")
    return _refused(f"{place.name} cannot be used ({error.strerror}): links are not followed; edit it on the disk")


def _refused(what: str) -> PermanentError:
    return PermanentError(what, code="not_published")


# The files of a folder


def _names(folder: Path, kind: FileKind) -> list[str]:
    """The files that the program reads in a folder."""
    patterns = (
        ("*.md", "*/*.md", QUESTIONS_FILE) if kind is FileKind.DOCUMENT else ("*/*.j2", f"*/{WORDS}", "tests/*.yaml")
    )
    paths = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    return sorted(path.relative_to(folder).as_posix() for path in paths)


def _contents(company: CompanySettings, kind: FileKind) -> dict[str, bytes]:
    folder = company.policies if kind is FileKind.DOCUMENT else company.templates
    found: dict[str, bytes] = {}
    for name in _names(folder, kind):
        try:
            found[name] = (folder / name).read_bytes()
        except OSError:
            found[name] = b""  # `check` of the folder itself says that it cannot be read
    return found


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, raw in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(raw)
