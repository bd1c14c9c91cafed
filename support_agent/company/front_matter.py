"""Reads the front matter of a policy file: title, summary, and when and to whom the document may be sent.

Invariant: a `FrontMatter` is complete and of the right types; every error is reported with its line. Checked by
tests/unit/company/test_documents.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import Field, ValidationError

from support_agent.company.text import REMOVE, refused_character
from support_agent.core.findings import Finding, Severity, nearest
from support_agent.core.frozen import Frozen
from support_agent.core.yaml_text import load_with_nodes

FILE_NAME = re.compile(r"^(\d{3,5})-[a-z0-9][a-z0-9-]*\.md$")
_FENCE = "---"
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
    "reviewed": "true once a person has read it; until then false, so that it is not sent",
}


class DocumentDelivery(StrEnum):
    """How much of a document is sent; the link is always included."""

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
    delivery: DocumentDelivery = DocumentDelivery.EXCERPT
    questions: tuple[str, ...] = ()
    """A few questions as customers ask them; shown to the similarity vote."""
    valid_from: date
    valid_until: date | None = None
    audience: Literal["everyone", "customers"] = "everyone"
    """`customers`: sent only to senders of level 3."""
    reviewed: Literal[True] = True
    """A person has approved it. Files with `false` are skipped before their front matter is parsed."""


@dataclass(frozen=True)
class FileFindings:
    """Adds findings about one file to a list."""

    path: Path
    findings: list[Finding]

    def add(self, line: int | None, what: str, todo: str = REMOVE, *, severity: Severity = Severity.ERROR) -> None:
        self.findings.append(Finding(severity=severity, path=self.path, line=line, what=what, todo=todo))


def front_matter_and_body(text: str) -> tuple[str | None, str, int]:
    """A file's front matter (None: there is none), its body, and the body's first line, 1-based."""
    lines = text.split("\n")
    if lines[0].rstrip() == _FENCE:
        for number, line in enumerate(lines[1:], start=1):
            if line.rstrip() == _FENCE:
                return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]), number + 2
    return None, text, 1


def read_head(report: FileFindings, text: str) -> FrontMatter | None:
    """The front matter; None, with the errors reported, if it is invalid."""
    try:
        data, keys = _data_and_keys(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
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
            report.add(line, f"{key} occurs twice", "keep one of the two")
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


def _check_head(report: FileFindings, lines: dict[str, int], head: FrontMatter) -> None:
    """Check what pydantic cannot: forbidden characters, the order of the days, the file's name."""
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


def _report_key(report: FileFindings, lines: dict[str, int], key: str, error_type: str) -> None:
    """Report a key that pydantic refused, in words for authors of documents."""
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


def _data_and_keys(text: str) -> tuple[object, list[tuple[str, int]]]:
    """The YAML data, and (key, 1-based line in the file) of its top-level keys in order, including duplicates."""
    data, node = load_with_nodes(text)
    return data, _keys(node)


def _keys(node: yaml.Node | None) -> list[tuple[str, int]]:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return [(str(key.value), key.start_mark.line + 2) for key, _ in pairs]


def line_of(path: Path, key: str) -> int | None:
    """The line of a key in a file with valid front matter."""
    head, _, _ = front_matter_and_body(path.read_text("utf-8-sig"))
    return dict(_keys(yaml.compose(head or "", Loader=yaml.SafeLoader))).get(key)
