"""What the grading workflow needs of a passage and of what finds passages, and how it shows them to the model.

Checked by tests/unit/facts/test_material.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from support_agent.facts.grading_words import PASSAGE
from support_agent.tools.fact_trace import Pointer


class Span(Protocol):
    """Whole sentences of a source, by position, both ends inclusive."""

    @property
    def source(self) -> str: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...


class Passage(Span, Protocol):
    """Whole sentences of a source, as the retriever gives them; `score` orders those of one search."""

    @property
    def heading(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float: ...


class WebPassage(Passage, Protocol):
    """A passage of the web, and the sources that named its page."""

    @property
    def found_by(self) -> tuple[str, ...]: ...


class WebRetriever(Protocol):
    """Finds the passages of the web nearest to a question, nearest first."""

    @property
    def version(self) -> str: ...

    def find(self, question: str, n: int) -> Sequence[WebPassage]: ...


class Retriever(Protocol):
    """Finds the passages of the index nearest to a question; `version` names what is searched, and how."""

    @property
    def version(self) -> str: ...

    def find(self, question: str, n: int) -> Sequence[Passage]:
        """At most `n` passages, the nearest to the question first."""
        ...


AnySpan = TypeVar("AnySpan", bound=Span)


def distinct(spans: Iterable[AnySpan]) -> list[AnySpan]:
    """Each place once, in the order of its first; of two at one place the later."""
    return list({(span.source, span.first, span.last): span for span in spans}.values())


def pointer_of(passage: Span) -> Pointer:
    """Where a passage stands."""
    return Pointer(source=passage.source, first=passage.first, last=passage.last)


def text_of(passage: Passage) -> str:
    """What the model reads of a passage: its heading says what its sentences are about."""
    return f"{passage.heading}. {passage.text}" if passage.heading else passage.text


def named(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Passages as material, all under one name.

    Where they were named "Passage 1" and so on, drafts began with "Passage 2 says", and were refused for the number.
    """
    return [(PASSAGE, text) for text in texts]
