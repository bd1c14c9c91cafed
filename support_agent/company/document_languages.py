"""Loads the documents in other languages: `policies/TAG/NNN-name.md` is document NNN in the language TAG.

Invariant: a translation is only sent to senders who may have the document itself: it has the number of a document in
the company's own language, and the same audience and delivery. Checked by
tests/unit/company/test_document_languages.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from support_agent.company.documents import (
    DirectoryFound,
    Document,
    config_error,
    errors_of,
    inspect_directory,
    warnings_of,
)
from support_agent.company.front_matter import FILE_NAME, FileFindings, line_of
from support_agent.core.findings import Finding, Severity
from support_agent.core.locales import is_locale, nearest_tag
from support_agent.errors import ConfigError


class Library(NamedTuple):
    """All documents in the company's language, by number, and their translations, by number and language."""

    documents: tuple[Document, ...]
    translations: tuple[Document, ...]


def load_library(policies: Path, locale: str) -> Library:
    """Every document in every language, by number and language.

    Args:
        policies: The folder of the documents; its folders named after languages contain translations.
        locale: The company's locale, the language of the documents outside these folders.

    Raises:
        ConfigError: lists the errors of all files; there is no partial load.
    """
    own = inspect_directory(policies, locale)
    folders = [inspect_directory(policies / language, language) for language in languages_of(policies)]
    errors = [*errors_of(policies, own), *_errors(policies, locale, own, folders)]
    if errors:
        raise config_error(errors)
    return Library(own.documents, _usable(own, folders))


def check_translations(policies: Path, locale: str, today: date) -> Iterator[Finding]:
    """The errors of translations that `load_library` raises, and warnings."""
    own = inspect_directory(policies, locale)
    folders = [inspect_directory(policies / language, language) for language in languages_of(policies)]
    yield from _no_languages(policies)
    yield from _errors(policies, locale, own, folders)
    for found in folders:
        yield from warnings_of(found, today)
    originals = {document.number: document for document in own.documents}
    for translation in _usable(own, folders):
        yield from _differences(translation, originals[translation.number])


def in_language(library: Library, locale: str, today: date) -> Mapping[int, Document]:
    """The translations for readers of a locale on a day, by document number.

    Documents that are missing here are sent in the company's language.
    """
    sent: dict[int, Document] = {}
    originals = {document.number: document for document in library.documents}
    for number, versions in groupby(library.translations, key=lambda version: version.number):
        document = originals[number]
        others = (version for version in versions if version.is_valid_on(today))
        by_tag = {one.language: one for one in (document, *others) if one.language is not None}
        tag = nearest_tag(locale, by_tag)
        if tag is not None and by_tag[tag] is not document:
            sent[number] = by_tag[tag]
    return sent


def languages_of(policies: Path) -> list[str]:
    """The languages that have a folder with documents, in order of name."""
    return [folder.name for folder in _folders(policies) if is_locale(folder.name)]


def _folders(policies: Path) -> list[Path]:
    """The folders with documents, by name, without hidden ones."""
    try:
        found = [*policies.iterdir()] if policies.is_dir() else []
    except OSError as error:
        raise ConfigError(f"{policies}: cannot be read: {error.strerror}: allow reading it") from error
    shown = sorted(path for path in found if path.is_dir() and not path.name.startswith("."))
    return [folder for folder in shown if any(FILE_NAME.match(path.name) for path in folder.glob("*.md"))]


def _no_languages(policies: Path) -> Iterator[Finding]:
    for folder in _folders(policies):
        if not is_locale(folder.name):
            what = f"{folder.name!r} is not a language, so nobody is sent the documents in it"
            todo = "name the folder after a language, de, or what a country has of its own, pt-BR; or move it elsewhere"
            yield Finding(severity=Severity.ERROR, path=folder, line=None, what=what, todo=todo)


def _errors(policies: Path, locale: str, own: DirectoryFound, folders: Sequence[DirectoryFound]) -> Iterator[Finding]:
    """The errors of translations."""
    known = {int(match[1]) for path in policies.glob("*.md") if (match := FILE_NAME.match(path.name))}
    originals = {document.number: document for document in own.documents}
    first = {(document.number, locale.lower()): document for document in own.documents}
    versions = {document.version: document for document in own.documents}
    for found in folders:
        yield from found.findings
        for translation in found.documents:
            findings: list[Finding] = []
            report = FileFindings(translation.path, findings)
            number, tag = translation.number, str(translation.language)
            twin = first.setdefault((number, tag.lower()), translation)
            if twin is not translation:
                what = f"document {number} in {tag!r} is also {twin.path.relative_to(policies)}"
                todo = f"keep one of the two; documents outside such folders are in company.locale, {locale!r}"
                report.add(None, what, todo)
            elif number not in known:
                what = f"there is no document {number} in the company's own language, {locale!r}"
                todo = f"add {policies.name}/{translation.path.name}, or correct the number"
                report.add(line_of(translation.path, "number"), what, todo)
            elif number in originals:
                _compare(report, translation, originals[number])
            same = versions.setdefault(translation.version, translation)
            if same is not translation:
                what = f"it is {same.path.relative_to(policies)}, byte for byte"
                report.add(None, what, "translate it, or delete the file")
            yield from findings


def _compare(report: FileFindings, translation: Document, original: Document) -> None:
    """Report differences that are errors."""
    for key in ("audience", "delivery"):
        ours, theirs = getattr(translation.head, key), getattr(original.head, key)
        if ours != theirs:
            what = f"{key} is {ours}, and that of {original.path.name} is {theirs}"
            report.add(line_of(translation.path, key), what, "make both the same")


def _usable(own: DirectoryFound, folders: Sequence[DirectoryFound]) -> tuple[Document, ...]:
    """The translations of valid, reviewed documents, by number and language."""
    numbers = {document.number for document in own.documents}
    found = (document for folder in folders for document in folder.documents if document.number in numbers)
    return tuple(sorted(found, key=lambda document: (document.number, str(document.language))))


def _differences(translation: Document, original: Document) -> list[Finding]:
    """Warn about differences that are often mistakes: other days, other sections."""
    findings: list[Finding] = []
    report = FileFindings(translation.path, findings)
    for key in ("valid_from", "valid_until"):
        ours, theirs = getattr(translation.head, key), getattr(original.head, key)
        if ours != theirs:
            what = f"{key} is {ours or 'not set'}, and that of {original.path.name} is {theirs or 'not set'}"
            todo = "see whether the translation says what the document says now"
            report.add(line_of(translation.path, key), what, todo, severity=Severity.WARNING)
    ours, theirs = len(translation.headings), len(original.headings)
    if ours != theirs:
        what = f"{ours} sections, and {original.path.name} has {theirs}"
        todo = "see whether a section is missing in one of them"
        report.add(None, what, todo, severity=Severity.WARNING)
    return findings
