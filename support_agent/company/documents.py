"""The numbered documents: `policies/NNN-name.md`, the only long text a customer is ever sent.

Invariant: a `Document` is the file, whole: its `version` is the file's sha256, and joining `sentences` by
position gives back only text that stands in the file. A file with the line `reviewed: false` in its front matter
is no document: nothing of it is loaded, whatever else is in it. Checked by tests/unit/company/test_documents.py and
test_unreviewed.py.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, NewType

import yaml
from pydantic import Field, ValidationError

from support_agent.company.markdown import MarkdownRefused, parse_blocks
from support_agent.company.text import REMOVE, refused_character
from support_agent.errors import ConfigError
from support_agent.findings import Finding, Severity, nearest
from support_agent.frozen import Frozen
from support_agent.levels import CUSTOMER, Level

FILE_NAME = re.compile(r"^(\d{3,5})-[a-z0-9][a-z0-9-]*\.md$")
_FENCE = "---"
UNREVIEWED = "reviewed: false"
REVIEWED = "reviewed: true"
_UNREVIEWED = re.compile(r"^reviewed[ \t]*:[ \t]*false[ \t]*(?:#.*)?$", re.IGNORECASE | re.MULTILINE)
_KEY_HELP = {
    "number": "a whole number from 1 to 99999, the same as in the file's name",
    "title": "1 to 120 characters",
    "summary": "1 to 500 characters on what the document answers",
    "url": "an address that begins with https://",
    "delivery": "full, excerpt or link",
    "questions": "a list of questions as customers ask them",
    "valid_from": "a day such as 2025-01-31",
    "valid_until": "a day such as 2025-12-31, on or after valid_from, or leave it out",
    "audience": "everyone or customers",
    "reviewed": "true once a person has read it, and until then false, which keeps it from everybody",
}

DocumentNumber = NewType("DocumentNumber", int)


class Delivery(StrEnum):
    """How much of a document a customer is sent; the link always goes along."""

    FULL = "full"
    EXCERPT = "excerpt"
    LINK = "link"


class FrontMatter(Frozen):
    """The YAML head of a policy file; unknown keys are errors."""

    number: Annotated[int, Field(ge=1, le=99_999)]
    title: Annotated[str, Field(min_length=1, max_length=120)]
    summary: Annotated[str, Field(min_length=1, max_length=500)]
    """What the document answers; shown to the model, never to the customer."""
    url: Annotated[str, Field(pattern=r"^https://")]
    delivery: Delivery = Delivery.EXCERPT
    questions: tuple[str, ...] = ()
    """A few questions as customers ask them; shown to the similarity vote."""
    valid_from: date
    valid_until: date | None = None
    audience: Literal["everyone", "customers"] = "everyone"
    """`customers`: sent only to senders of level 3."""
    reviewed: Literal[True] = True
    """That a person has approved it. `false` is seen before anything else is read, and is no value here."""


class Sentence(Frozen):
    """One whole sentence (or list item, or table row) of a document.

    `index` counts from 0 over the document; `text` is plain text with inline Markdown removed; `heading` is
    the nearest heading above ("" for none); `paragraph` counts blocks, so that neighbours can be set
    together; `line` is the 1-based line of the file where it starts. `number`, `depth`, `cells` and `is_header` are
    those of `markdown.Unit`.
    """

    index: int
    text: str
    heading: str
    paragraph: int
    kind: Literal["sentence", "item", "row"]
    line: int
    number: int | None = None
    depth: int = 0
    cells: tuple[str, ...] = ()
    is_header: bool = False


class Document(Frozen):
    """One policy file, parsed. `path` is where it was read, `raw` its bytes, `version` their sha256, in hex."""

    head: FrontMatter
    version: str
    path: Path
    raw: Annotated[bytes, Field(repr=False)]
    sentences: tuple[Sentence, ...]

    @property
    def number(self) -> DocumentNumber:
        return DocumentNumber(self.head.number)

    def is_valid_on(self, day: date) -> bool:
        """Whether the document may be sent on that day."""
        return self.head.valid_from <= day and (self.head.valid_until is None or day <= self.head.valid_until)

    def may_be_sent(self, day: date, level: Level) -> bool:
        """Whether a sender of this level may be sent the document, or anything that it says, on that day."""
        return self.is_valid_on(day) and (level >= CUSTOMER or self.head.audience == "everyone")

    def with_table_headers(self, positions: Iterable[int]) -> tuple[int, ...]:
        """The positions in document order, each once, with the header row, if any, of each table that has a row in it.

        A row without its header says nothing to a reader.

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


def parse_document(path: Path, raw: bytes) -> Document:
    """Turn a policy file's bytes into a `Document`; `path` names it and is not read.

    Raises:
        ConfigError: listing everything that is wrong, each with its line and what to do.
    """
    findings: list[Finding] = []
    document = _inspect(_Report(path, findings), raw)
    if document is None or findings:
        raise _config_error(findings)
    return document


def load_documents(directory: Path) -> tuple[Document, ...]:
    """Every document of a directory, by number; which of them are valid on a day is asked later.

    Files that are not reviewed are left out, and nothing that is wrong with one stops the others.

    Raises:
        ConfigError: listing the errors of all files; there is no partial load.
    """
    documents, findings, _ = _inspect_directory(directory)
    if findings:
        raise _config_error(findings)
    return documents


def check_documents(directory: Path, today: date) -> list[Finding]:
    """What is wrong: all that `load_documents` refuses, and documents that are not valid on `today`.

    An expired document is an error (customers silently stop getting it); one not valid yet is a warning, and so is one
    that is not reviewed, with all that a person must still write in it.
    """
    documents, findings, unreviewed = _inspect_directory(directory)
    for path in unreviewed:
        findings += _unreviewed_findings(path, documents)
    for document in documents:
        head, report = document.head, _Report(document.path, findings)
        if head.valid_until is not None and head.valid_until < today:
            what, todo = f"expired on {head.valid_until}", "renew valid_until, or delete the file"
            report.add(_line_of(document.path, "valid_until"), what, todo)
        elif head.valid_from > today:
            what, todo = (
                f"not sent before {head.valid_from}",
                "set an earlier valid_from if that is not meant",
            )
            report.add(_line_of(document.path, "valid_from"), what, todo, severity=Severity.WARNING)
    return findings


@dataclass(frozen=True)
class _Report:
    """Adds findings on one file to a list."""

    path: Path
    findings: list[Finding]

    def add(self, line: int | None, what: str, todo: str = REMOVE, *, severity: Severity = Severity.ERROR) -> None:
        self.findings.append(Finding(severity=severity, path=self.path, line=line, what=what, todo=todo))


def is_unreviewed(raw: bytes) -> bool:
    """Whether a file says in its front matter that nobody is to be sent it yet.

    Asked of the line alone, so that a file which is half written and no YAML is kept back all the same.
    """
    head, _, _ = front_matter_and_body(_lenient(raw))
    return head is not None and _UNREVIEWED.search(head) is not None


def numbers_in(directory: Path) -> frozenset[int]:
    """The numbers of the files that are, or with their faults mended would be, documents."""
    found = set()
    for path in directory.glob("*.md"):
        match = FILE_NAME.match(path.name)
        if match and path.is_file() and not (os.access(path, os.R_OK) and is_unreviewed(path.read_bytes())):
            found.add(int(match.group(1)))
    return frozenset(found)


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def _unreviewed_findings(path: Path, documents: tuple[Document, ...]) -> list[Finding]:
    """That it is not reviewed, and what would be wrong with it if it were; all warnings."""
    raw, findings = path.read_bytes(), list[Finding]()
    report = _Report(path, findings)
    head = front_matter_and_body(_lenient(raw))[0] or ""
    line = next((number for number, text in enumerate(head.split("\n"), 2) if _UNREVIEWED.match(text)), None)
    todo = f"read it beside the original, write what is missing, then change that line to `{REVIEWED}`"
    report.add(line, "not reviewed, so nobody is sent it", todo)
    document = _inspect(report, re.sub(rb"(?im)^(reviewed[ \t]*:[ \t]*)false", rb"\g<1>true", raw, count=1))
    if document is not None and any(document.number == other.number for other in documents):
        what = f"number {document.number} is the number of another document"
        report.add(_line_of(path, "number"), what, "give it a free one, in the file's name and in the front matter")
    return [finding.model_copy(update={"severity": Severity.WARNING}) for finding in findings]


def _inspect_directory(directory: Path) -> tuple[tuple[Document, ...], list[Finding], tuple[Path, ...]]:
    """The documents that can be used, by number, the errors, and the files not reviewed."""
    findings: list[Finding] = []
    unreviewed: list[Path] = []
    documents: dict[int, Document] = {}
    paths = sorted(path for path in directory.glob("*.md") if path.is_file())
    if not directory.is_dir():
        _Report(directory, findings).add(None, "no such directory", "set company.policies to the documents'")
    for path in paths:
        report = _Report(path, findings)
        try:
            raw = path.read_bytes()
        except OSError as error:
            report.add(None, f"cannot be read: {error.strerror}", "allow reading it")
            continue
        if is_unreviewed(raw):
            unreviewed.append(path)
            continue
        document = _inspect(report, raw)
        if document is None:
            continue
        if other := documents.get(document.number):
            what = f"number {document.number} is also the number of {other.path.name}"
            todo = "give one of them another number, in the file's name and in the front matter"
            report.add(_line_of(path, "number"), what, todo)
        else:
            documents[document.number] = document
    if directory.is_dir() and len(unreviewed) == len(paths):
        todo = "review one of the files" if unreviewed else "add a file such as 001-refund-policy.md"
        _Report(directory, findings).add(None, "no documents", todo)
    return tuple(documents[number] for number in sorted(documents)), findings, tuple(unreviewed)


def _inspect(report: _Report, raw: bytes) -> Document | None:
    """The document as far as it can be made; every error goes to `report`."""
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
    head = _head(report, head_text)
    sentences = _body(report, body, body_line)
    if head is None:
        return None
    version = hashlib.sha256(raw).hexdigest()
    return Document(head=head, version=version, path=report.path, raw=raw, sentences=sentences)


def _body(report: _Report, body: str, first_line: int) -> tuple[Sentence, ...]:
    """The body's units, numbered; their lines count from the file's beginning."""
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


def front_matter_and_body(text: str) -> tuple[str | None, str, int]:
    """A file's front matter (None: there is none), its body, and the body's first line, 1-based."""
    lines = text.split("\n")
    if lines[0].rstrip() == _FENCE:
        for number, line in enumerate(lines[1:], start=1):
            if line.rstrip() == _FENCE:
                return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]), number + 2
    return None, text, 1


def _head(report: _Report, text: str) -> FrontMatter | None:
    """The front matter, where its YAML and its keys can be read."""
    try:
        data = yaml.safe_load(text)
        keys = _top_level_keys(text)
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "a value that cannot be read"
        line = mark.line + 2 if mark else 2
        report.add(line, f"the front matter is not YAML: {problem}", "put such a value in quotes")
        return None
    if not isinstance(data, dict):
        report.add(2, "the front matter has no keys", "write lines such as `number: 1`")
        return None
    lines: dict[str, int] = {}
    for key, line in keys:
        if key in lines:
            report.add(line, f"{key} stands twice", "keep one of the two")
        lines[key] = line
    try:
        head = FrontMatter.model_validate({str(key): value for key, value in data.items()})
    except ValidationError as error:
        for detail in error.errors(include_input=False):
            key = str(detail["loc"][0])
            _report_key(
                report, lines, key, "empty" if key in _KEY_HELP and data.get(key, "") is None else detail["type"]
            )
        return None
    _check_head(report, lines, head)
    return head


def _check_head(report: _Report, lines: dict[str, int], head: FrontMatter) -> None:
    """What pydantic cannot see: characters that no mail may carry, the order of the days, the file's name."""
    for key, value in head:
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, str) and (refused := refused_character(part, is_one_line=True)):
                report.add(lines.get(key), f"forbidden character {refused[1]} in {key}")
    if head.valid_until is not None and head.valid_until < head.valid_from:
        report.add(lines.get("valid_until"), "valid_until is before valid_from", "swap the two")
    match = FILE_NAME.match(report.path.name)
    if match is None or int(match.group(1)) != head.number:
        begin = f"{head.number:03d}-"
        todo = f"rename it to {begin}NAME.md, NAME in small letters, digits and hyphens, or correct the number"
        report.add(lines.get("number"), f"the file's name does not begin with {begin}", todo)


def _report_key(report: _Report, lines: dict[str, int], key: str, error_type: str) -> None:
    """One key that pydantic refused, in the words of someone who writes documents."""
    if error_type == "missing":
        report.add(1, f"{key} is missing", f"add {key}: {_KEY_HELP[key]}")
    elif error_type == "extra_forbidden":
        known = FrontMatter.model_fields
        todo = f"delete it{nearest(key, known)}; known keys: {', '.join(known)}"
        report.add(lines.get(key), f"unknown key {key}", todo)
    elif error_type == "empty":
        report.add(lines.get(key), f"{key} is empty", f"write {_KEY_HELP[key]}")
    else:
        report.add(lines.get(key), f"{key} cannot be used", f"write {_KEY_HELP[key]}")


def _top_level_keys(text: str) -> list[tuple[str, int]]:
    """(key, 1-based line in the file) of the front matter's own keys, in order, duplicates included."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(node, yaml.MappingNode):
        return []
    return [(str(key.value), key.start_mark.line + 2) for key, _ in node.value]


def _line_of(path: Path, key: str) -> int | None:
    """The line of a key in a file whose front matter has been read before."""
    head, _, _ = front_matter_and_body(path.read_text("utf-8-sig"))
    return dict(_top_level_keys(head or "")).get(key)


def _config_error(findings: Iterable[Finding]) -> ConfigError:
    return ConfigError("\n".join(str(finding) for finding in findings), code="documents")
