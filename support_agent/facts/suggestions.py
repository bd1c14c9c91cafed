"""Example questions that the language model proposes for a document, for a person to read and copy.

They are model text: they go to a file that no part of the program reads, never among the company's words. Proposals
that would be harmful or useless as examples are left out, with the reason.

Invariant: a proposal is one line, asks something, is nearest to its own document and unlike every existing example.
Checked by tests/unit/facts/test_suggestions.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import date
from itertools import chain, zip_longest
from pathlib import Path
from typing import Protocol

from support_agent.company.documents import Document
from support_agent.company.text import collapse, refused_character
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.facts.topics import section_texts
from support_agent.models.writer import Material, Writer
from support_agent.tools.base import Match

INSTRUCTION = (
    "Write {count} different questions that customers might send by mail and that this text answers. "
    "Write them in the language of the text, short, in the customers' everyday words, "
    "one on each line, and nothing else."
)
TEMPERATURE = 0.7
SPARE = 2
"""Factor of questions to ask for: about half of them are refused."""
MOST_ORDERS = 8
"""Most texts to write for one document; each is about one section."""
A_TEXT = 3
"""Questions per text: in a longer list the model repeats itself."""
TOKENS_A_QUESTION = 30
SECTION_CHARACTERS = 1_200
MIN_CHARACTERS, MAX_CHARACTERS = 8, 160
ALIKE = 0.85
"""Cosine from which two questions ask the same; one of 1,820 pairs of the demo's examples is above it."""
ENDS = ("?", "\uff1f", "\u061f", "\u037e")
"""Question marks: Latin, Chinese, Arabic, Greek."""
_MARKER = re.compile(r"^(?:[-*\u2022]+|\(?\d+[.):]|[Qq]\d*[.:])\s*")
_QUOTES = "\"'\u201c\u201d\u201e\u00ab\u00bb"
HEADER = """\
# Example questions that a language model ({model}) proposed on {day}. Nobody has read them yet.
#
# No part of the program reads this file, and nothing in it is one of the company's words. Read each line beside its
# document: does the document answer it, and do customers ask it like that? Copy what is good into `questions:` in the
# head of the document, correct it there, run `support-agent check`, and delete this file.
"""


class Compared(Protocol):
    """The company's search, as far as it is needed here."""

    def nearest(self, text: str) -> tuple[Match, ...]: ...

    def similarities(self, text: str, others: Sequence[str]) -> Sequence[float]: ...


class LeftOut(Frozen):
    """A line of the model that is not proposed, with the reason."""

    text: str
    why: str


class Suggested(Frozen):
    """The proposals for one document; all of it is model text."""

    number: int
    title: str
    path: Path
    questions: tuple[str, ...]
    left_out: tuple[LeftOut, ...]


class Suggestions(Frozen):
    """The content of a file of proposals, and the model that wrote them."""

    file: Path
    model: str
    documents: tuple[Suggested, ...]


def suggest(document: Document, search: Compared, writer: Writer, count: int, seed: int) -> Suggested:
    """Questions that a document answers, at most `count`: the first one about each section, then the second, ...

    Args:
        document: As the search knows it.
        search: Of the company's topics: documents, account values, records.
        writer: Writes them.
        count: 1 or more.
        seed: Seed of the choice of tokens; each further text uses the next number.
    Raises:
        TransientError: the model did not answer in time.
        PermanentError: the model cannot be used.
    """
    sections = section_texts(document)
    orders = min(MOST_ORDERS, -(-count * SPARE // A_TEXT))
    texts = [_written(writer, document, sections[place % len(sections)], seed + place) for place in range(orders)]
    kept: list[str] = []
    left_out: list[LeftOut] = []
    for line in filter(None, chain.from_iterable(zip_longest(*texts))):
        if len(kept) == count:
            break
        if why := _objection(line, document, search, kept):
            left_out.append(LeftOut(text=line, why=why))
        else:
            kept.append(line)
    return Suggested(
        number=document.number,
        title=document.head.title,
        path=document.path,
        questions=tuple(kept),
        left_out=tuple(left_out),
    )


def _written(writer: Writer, document: Document, section: str, seed: int) -> list[str]:
    """The lines of one text, without their numbers, bullets and quotation marks."""
    material: Material = (("Title", document.head.title), ("Text", section[:SECTION_CHARACTERS]))
    instruction = INSTRUCTION.format(count=A_TEXT)
    draft = writer.generate(
        instruction, material, temperature=TEMPERATURE, max_tokens=A_TEXT * TOKENS_A_QUESTION, seed=seed
    )
    lines = (_MARKER.sub("", collapse(line)).strip(_QUOTES + " ") for line in draft.text.splitlines())
    return [line for line in lines if line]


def _objection(text: str, document: Document, search: Compared, kept: Sequence[str]) -> str:
    """Why a line is not proposed, or ""."""
    if not text.endswith(ENDS) or not MIN_CHARACTERS <= len(text) <= MAX_CHARACTERS:
        return "not a question"
    if refused := refused_character(text, is_one_line=True):
        return f"forbidden character {refused[1]}"
    others = [*document.head.questions, *kept]
    likeness = search.similarities(text, others) if others else ()
    if others and (most := max(likeness)) >= ALIKE:
        return f"like {others[list(likeness).index(most)]!r}"
    nearest = next((match.topic for match in search.nearest(text)), "nothing")
    return "" if nearest == f"document:{document.number}" else f"nearer to {nearest}"


def write_suggestions(file: Path, policies: Path, model: str, day: date, documents: Sequence[Suggested]) -> Suggestions:
    """Write the proposals to a new file.

    Raises:
        ConfigError: it exists, cannot be written, or lies among the documents.
    """
    check_file(file, policies)
    text = HEADER.format(model=collapse(model), day=day) + "".join(map(_block, documents))
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise _refused(file, f"cannot be written: {error.strerror}: name another file") from error
    return Suggestions(file=file, model=model, documents=tuple(documents))


def check_file(file: Path, policies: Path) -> None:
    """Refuse an unusable file before the model is asked.

    Raises:
        ConfigError: it exists, or lies among the documents.
    """
    if file.exists():
        raise _refused(file, "exists: read it and delete it, or name another file with --out")
    if file.resolve().is_relative_to(policies.resolve()):
        raise _refused(file, "is among the documents, where only the company's own words lie: name a file elsewhere")


def _refused(file: Path, what: str) -> ConfigError:
    return ConfigError(f"{file}: {what}", code="suggestions")


def _block(suggested: Suggested) -> str:
    """The lines of one document: `questions:` as in its front matter, then the refused proposals."""
    lines = ["", f"# {suggested.path}: {collapse(suggested.title)}"]
    lines += ["questions:", *(f"  - {quoted(text)}" for text in suggested.questions)] if suggested.questions else []
    lines += [f"# left out: {quoted(one.text)}: {one.why}" for one in suggested.left_out]
    return "".join(f"{line}\n" for line in lines)


def quoted(text: str) -> str:
    """Any text as one YAML string in one line."""
    return json.dumps(text, ensure_ascii=refused_character(text) is not None)


def chosen(documents: Sequence[Document], number: int | None) -> tuple[Document, ...]:
    """The document of that number, or all of them.

    Raises:
        ConfigError: there is no such document.
    """
    found = tuple(document for document in documents if number in (None, document.number))
    if not found:
        raise ConfigError(f"--document {number}: there is no such document", code="suggestions")
    return found
