"""What the grading workflow needs of a passage and of what finds passages, and how it shows them to the model.

Checked by tests/unit/facts/test_material.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from support_agent.facts.grading_words import PASSAGE
from support_agent.facts.trace import Pointer

NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


class Passage(Protocol):
    """Whole sentences of a source, as the retriever gives them."""

    @property
    def source(self) -> str: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...
    @property
    def heading(self) -> str: ...
    @property
    def text(self) -> str: ...


class Retriever(Protocol):
    """Finds the passages nearest to a question, nearest first: in the index, or in the web."""

    @property
    def version(self) -> str: ...

    def find(self, question: str, n: int) -> Sequence[Passage]: ...


def pointer_of(passage: Passage) -> Pointer:
    """Where a passage stands."""
    return Pointer(source=passage.source, first=passage.first, last=passage.last)


def text_of(passage: Passage) -> str:
    """What the model reads of a passage: its heading says what its sentences are about."""
    return f"{passage.heading}. {passage.text}" if passage.heading else passage.text


def numbered(passages: Iterable[Passage]) -> list[tuple[str, str]]:
    """Passages as material, named from 1 on."""
    return [(f"{PASSAGE} {number}", text_of(passage)) for number, passage in enumerate(passages, start=1)]


def has_new_number(draft: str, texts: Iterable[str]) -> bool:
    """Whether a draft has a number in digits that none of the texts has.

    A small model takes 90 days for 30: it gave a draft that said so, and promised a voucher too, a grade of 0.60.
    """
    known = {number for text in texts for number in NUMBER.findall(text)}
    return any(number not in known for number in NUMBER.findall(draft))
