"""Passages and what finds them, and how they are shown to the model.

Checked by tests/unit/facts/test_material.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from support_agent.facts.grading_words import PASSAGE
from support_agent.tools.fact_trace import SentenceRange


class Passage(SentenceRange):
    """Sentences that were found, with their text.

    `score` orders the passages of one search and says nothing across searches; of a web page it is the cosine with the
    question, -1..1. A web page's `source` is its address, `heading` its title, and `found_by` names the web sources
    that found it. With `is_excerpt`, `text` is what these show of the page, and the positions count in that.
    """

    heading: str = ""
    text: str
    score: float = 0.0
    found_by: tuple[str, ...] = ()
    is_excerpt: bool = False

    @property
    def shown(self) -> str:
        """What the model reads of it: its heading says what its sentences are about."""
        return f"{self.heading}. {self.text}" if self.heading else self.text


class Retriever(Protocol):
    """Finds the passages of an index, or of the web, nearest to a question."""

    def find(self, question: str, n: int) -> Sequence[Passage]:
        """At most `n` passages, the nearest to the question first."""
        ...


AnyRange = TypeVar("AnyRange", bound=SentenceRange)


def distinct(ranges: Iterable[AnyRange]) -> list[AnyRange]:
    """Each place once, in the order of its first; of two at one place the later."""
    return list({one.place: one for one in ranges}.values())


def named(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Passages as material, all under one name.

    Where they were named "Passage 1" and so on, drafts began with "Passage 2 says", and were refused for the number.
    """
    return [(PASSAGE, text) for text in texts]
