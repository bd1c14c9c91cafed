"""Loads the numbered documents `policies/NNN-name.md`, the only long texts that customers are sent.

Invariant: a `Document` represents the whole file: `version` is the file's sha256, and `sentences` contain only text of
the file. Nothing is loaded from a file with the line `reviewed: false` in its front matter. Checked by
tests/unit/company/test_documents.py and test_unreviewed.py.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from datetime import date
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Annotated, NamedTuple, NewType

from pydantic import Field

from support_agent.company.front_matter import (
    FILE_NAME,
    FileFindings,
    FrontMatter,
    front_matter_and_body,
    line_of,
    read_head,
)
from support_agent.company.markdown import MarkdownRefused, UnitKind, parse_blocks
from support_agent.company.text import refused_character
from support_agent.core.findings import Finding, Severity
from support_agent.core.frozen import Frozen
from support_agent.core.levels import CUSTOMER, Level
from support_agent.errors import ConfigError

UNREVIEWED = "reviewed: false"
REVIEWED = "reviewed: true"
_UNREVIEWED = re.compile(r"^reviewed[ \t]*:[ \t]*false[ \t]*(?:#.*)?$", re.IGNORECASE | re.MULTILINE)
MAX_EXCERPT_CHARACTERS = 1_200
"""Most characters of an excerpt; a single paragraph is sent whole even if it is longer."""
MOST_REMEMBERED = 256
"""Size of the cache of parsed files."""
DocumentNumber = NewType("DocumentNumber", int)


class Excerpt(Frozen):
    """One whole sentence, list item or table row of a document, as it is stored with an answer.

    `index` counts from 0 over the document; `text` is plain text with inline Markdown removed; `heading` is the nearest
    heading above ("" for none); `paragraph` counts blocks, so that a block's sentences can be rendered together.
    `number`, `depth`, `cells` and `is_header` are those of `markdown.Unit`.
    """

    index: int
    heading: str
    text: str
    paragraph: int
    kind: UnitKind
    number: int | None = None
    depth: int = 0
    cells: tuple[str, ...] = ()
    is_header: bool = False


class Sentence(Excerpt):
    """An excerpt in its file; `line` is the 1-based line where it starts."""

    line: int


class Document(Frozen):
    """One parsed policy file. `path` is its location, `raw` its bytes, `version` their sha256 in hex.

    `language` is the tag of its language; None if only the bytes are known, as in the store.
    """

    head: FrontMatter
    version: str
    path: Path
    raw: Annotated[bytes, Field(repr=False)]
    language: str | None = None
    sentences: tuple[Sentence, ...]

    @property
    def number(self) -> DocumentNumber:
        return DocumentNumber(self.head.number)

    @property
    def sections(self) -> tuple[tuple[Sentence, ...], ...]:
        """The sentences under each heading, in order; if they are too long for an excerpt, each paragraph is a section.

        A paragraph that ends with a colon is joined with the next one.
        """
        by_heading = [tuple(own) for _, own in groupby(self.sentences, key=lambda sentence: sentence.heading)]
        return tuple(
            section
            for own in by_heading
            for section in ([own] if size_of(own) <= MAX_EXCERPT_CHARACTERS else _paragraphs(own))
        )

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings in order; "" for text above the first one."""
        return tuple(heading for heading, _ in groupby(self.sentences, key=lambda sentence: sentence.heading))

    def is_valid_on(self, day: date) -> bool:
        """Whether the document may be sent on that day."""
        return self.head.valid_from <= day and (self.head.valid_until is None or day <= self.head.valid_until)

    def may_be_sent(self, day: date, level: Level) -> bool:
        """Whether a sender of this level may be sent the document, or parts of it, on that day."""
        return self.is_valid_on(day) and (level >= CUSTOMER or self.head.audience == "everyone")

    def with_table_headers(self, positions: Iterable[int]) -> tuple[int, ...]:
        """Sort the positions, remove duplicates, and add the header row of each table that has a row among them.


        Raises:
            IndexError: there is no such position.
        """
        chosen = set(positions)
        for position in tuple(chosen):
            if not 0 <= position < len(self.sentences):
                raise IndexError(f"document {self.number} has no sentence {position}")
            sentence = self.sentences[position]
            if sentence.kind == "row":
                chosen.update(s.index for s in self.sentences if s.is_header and s.paragraph == sentence.paragraph)
        return tuple(sorted(chosen))


def size_of(sentences: Iterable[Sentence]) -> int:
    """The number of characters of some sentences."""
    return sum(len(sentence.text) for sentence in sentences)


def _paragraphs(section: Iterable[Sentence]) -> list[tuple[Sentence, ...]]:
    joined: list[tuple[Sentence, ...]] = []
    for _, group in groupby(section, key=lambda sentence: sentence.paragraph):
        if joined and joined[-1][-1].text.endswith(":"):
            joined[-1] += tuple(group)
        else:
            joined.append(tuple(group))
    return joined


class DirectoryFound(NamedTuple):
    """The valid documents of a directory, by number, the errors of its files, and the unreviewed files.

    `has_files`: whether there is a reviewed file, valid or not.
    """

    documents: tuple[Document, ...]
    findings: tuple[Finding, ...]
    unreviewed: tuple[Path, ...]
    has_files: bool


def parse_document(path: Path, raw: bytes) -> Document:
    """Parse a policy file's bytes; `path` is not read.

    Raises:
        ConfigError: lists every error with its line and what to do.
    """
    findings: list[Finding] = []
    document = _inspect(FileFindings(path, findings), raw)
    if document is None or findings:
        raise config_error(findings)
    return document


def load_documents(directory: Path) -> tuple[Document, ...]:
    """Load every reviewed document of a directory, by number, valid today or not.

    Errors in unreviewed files do not matter. `document_languages` also loads other languages.

    Raises:
        ConfigError: lists the errors of all files; there is no partial load.
    """
    found = inspect_directory(directory)
    if errors := errors_of(directory, found):
        raise config_error(errors)
    return found.documents


def errors_of(directory: Path, found: DirectoryFound) -> list[Finding]:
    """The errors in a directory of documents, including that it has none."""
    errors = list(found.findings)
    report = FileFindings(directory, errors)
    if not directory.is_dir():
        report.add(None, "no such directory", "set company.policies to the folder of the documents")
    elif not found.has_files:
        todo = "review one of the files" if found.unreviewed else "add a file such as 001-refund-policy.md"
        report.add(None, "no documents", todo)
    return errors


def check_documents(directory: Path, today: date) -> list[Finding]:
    """All errors of `load_documents`, and documents that are not valid on `today`.

    An expired document is an error, because customers silently stop getting it. A document that is not valid yet is a
    warning, and so is an unreviewed one, with everything that is still missing in it. So is a numbered file of another
    type.
    """
    found = inspect_directory(directory)
    return [*errors_of(directory, found), *warnings_of(found, today), *_not_read(directory)]


def _not_read(directory: Path) -> Iterator[Finding]:
    for path in sorted(directory.glob("[0-9]*")):
        if path.is_file() and path.suffix != ".md":
            what = f"{path.suffix or 'such a file'} is not read, so no customer gets it"
            yield Finding.warning(path, None, what, "give it the ending .md, or move it out of the folder")


def warnings_of(found: DirectoryFound, today: date) -> list[Finding]:
    """Further findings of `check`: documents that are unreviewed, expired (an error) or not valid yet."""
    findings: list[Finding] = []
    for path in found.unreviewed:
        findings += _unreviewed_findings(path, found.documents)
    for document in found.documents:
        head, report = document.head, FileFindings(document.path, findings)
        if head.valid_until is not None and head.valid_until < today:
            what, todo = f"expired on {head.valid_until}", "renew valid_until, or delete the file"
            report.add(line_of(document.path, "valid_until"), what, todo)
        elif head.valid_from > today:
            what, todo = (
                f"not sent before {head.valid_from}",
                "set an earlier valid_from if it should be sent now",
            )
            report.add(line_of(document.path, "valid_from"), what, todo, severity=Severity.WARNING)
    return findings


def is_unreviewed(raw: bytes) -> bool:
    """Whether the front matter marks the file as unreviewed.

    Only that line is read, so that an unfinished file is recognised even if its YAML is invalid.
    """
    head, _, _ = front_matter_and_body(_lenient(raw))
    return head is not None and _UNREVIEWED.search(head) is not None


def numbers_in(directory: Path) -> frozenset[int]:
    """The numbers of all reviewed files, valid or not."""
    found = set()
    for path in directory.glob("*.md"):
        match = FILE_NAME.match(path.name)
        if match and path.is_file() and not (os.access(path, os.R_OK) and is_unreviewed(path.read_bytes())):
            found.add(int(match.group(1)))
    return frozenset(found)


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def _unreviewed_findings(path: Path, documents: tuple[Document, ...]) -> list[Finding]:
    """Warnings that a file is unreviewed, and of the errors that it would have if it were reviewed."""
    raw, findings = path.read_bytes(), list[Finding]()
    report = FileFindings(path, findings)
    head = front_matter_and_body(_lenient(raw))[0] or ""
    line = next((number for number, text in enumerate(head.split("\n"), 2) if _UNREVIEWED.match(text)), None)
    todo = f"compare it with the original, add what is missing, then change that line to `{REVIEWED}`"
    report.add(line, "not reviewed, so no customer gets it", todo)
    document = _inspect(report, re.sub(rb"(?im)^(reviewed[ \t]*:[ \t]*)false", rb"\g<1>true", raw, count=1))
    if document is not None and any(document.number == other.number for other in documents):
        what = f"number {document.number} is the number of another document"
        report.add(line_of(path, "number"), what, "give it a free one, in the file's name and in the front matter")
    return [finding.model_copy(update={"severity": Severity.WARNING}) for finding in findings]


def inspect_directory(directory: Path, language: str | None = None) -> DirectoryFound:
    """Read the files of a directory as documents in a language."""
    findings: list[Finding] = []
    unreviewed: list[Path] = []
    documents: dict[int, Document] = {}
    paths = sorted(path for path in directory.glob("*.md") if path.is_file())
    for path in paths:
        report = FileFindings(path, findings)
        try:
            raw = path.read_bytes()
        except OSError as error:
            report.add(None, f"cannot be read: {error.strerror}", "allow reading it")
            continue
        if is_unreviewed(raw):
            unreviewed.append(path)
            continue
        document = _inspect(report, raw, language)
        if document is None:
            continue
        if other := documents.get(document.number):
            what = f"number {document.number} is also the number of {other.path.name}"
            todo = "give one of them another number, in the file's name and in the front matter"
            report.add(line_of(path, "number"), what, todo)
        else:
            documents[document.number] = document
    by_number = tuple(documents[number] for number in sorted(documents))
    return DirectoryFound(by_number, tuple(findings), tuple(unreviewed), has_files=len(unreviewed) < len(paths))


def _inspect(report: FileFindings, raw: bytes, language: str | None = None) -> Document | None:
    """The document, or None if it cannot be parsed; errors are added to `report`."""
    document, findings = _inspected(report.path.name, raw, language)
    place = {"path": report.path}
    report.findings.extend(finding.model_copy(update=place) for finding in findings)
    return document and document.model_copy(update=place)


@lru_cache(maxsize=MOST_REMEMBERED)
def _inspected(name: str, raw: bytes, language: str | None) -> tuple[Document | None, tuple[Finding, ...]]:
    """The document and its errors, in any folder; cached, as `check`, the start and drafts read the same files."""
    findings: list[Finding] = []
    return _read(FileFindings(Path(name), findings), raw, language), tuple(findings)


def _read(report: FileFindings, raw: bytes, language: str | None) -> Document | None:
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        report.add(raw.count(b"\n", 0, error.start) + 1, "not UTF-8 text", "save the file as UTF-8")
        return None
    if refused := refused_character(text):
        report.add(text.count("\n", 0, refused[0]) + 1, f"forbidden character {refused[1]}")
        return None
    head_text, body, body_line = front_matter_and_body(text)
    if head_text is None:
        todo = "begin with a line ---, the keys (number, title, summary, url, valid_from), and a line ---"
        report.add(1, "no front matter", todo)
        return None
    head = read_head(report, head_text)
    sentences = _body(report, body, body_line)
    if head is None:
        return None
    version = hashlib.sha256(raw).hexdigest()
    return Document(head=head, version=version, path=report.path, raw=raw, sentences=sentences, language=language)


def _body(report: FileFindings, body: str, first_line: int) -> tuple[Sentence, ...]:
    """The numbered sentences of the body; lines count from the start of the file."""
    try:
        blocks = parse_blocks(body)
    except MarkdownRefused as error:
        report.add(error.line + first_line - 1, error.what, error.todo)
        return ()
    if not blocks:
        report.add(first_line, "the body is empty", "write what the document says below the ---")
    units = [(unit, block.heading, number) for number, block in enumerate(blocks) for unit in block.units]
    sentences = []
    for index, (unit, heading, paragraph) in enumerate(units):
        line = unit.line + first_line - 1
        if refused := refused_character(unit.text + heading):
            report.add(line, f"forbidden character {refused[1]}, written as an entity")
        sentences.append(
            Sentence(
                index=index,
                text=unit.text,
                heading=heading,
                paragraph=paragraph,
                kind=unit.kind,
                line=line,
                number=unit.number,
                depth=unit.depth,
                cells=unit.cells,
                is_header=unit.is_header,
            )
        )
    return tuple(sentences)


def config_error(findings: Iterable[Finding]) -> ConfigError:
    """One error for all findings."""
    return ConfigError("\n".join(str(finding) for finding in findings), code="documents")
