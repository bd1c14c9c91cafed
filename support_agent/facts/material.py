"""Passages, their port, and how they are shown to the model.

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
    that found it.
    """

    heading: str = ""
    text: str
    score: float = 0.0
    found_by: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The text that the model reads, with its heading."""
        return f"{self.heading}. {self.text}" if self.heading else self.text


class Retriever(Protocol):
    """Finds the passages of an index, or of the web, nearest to a question."""

    def find(self, question: str, n: int) -> Sequence[Passage]:
        """At most `n` passages, the nearest to the question first."""
        ...


AnyRange = TypeVar("AnyRange", bound=SentenceRange)


def distinct(ranges: Iterable[AnyRange]) -> list[AnyRange]:
    """One range per place, in the order of the first occurrence; the later of two replaces the earlier."""
    return list({one.place: one for one in ranges}.values())


def named(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Passages as material, all under one name.

    With names such as "Passage 2", drafts began with "Passage 2 says", and the number check refused them.
    """
    return [(PASSAGE, text) for text in texts]
