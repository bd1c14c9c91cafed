"""Which whole sentences of a document are sent with `delivery: excerpt`: those of the section nearest to the question.

Positions only: the text is the document's own. A section is sent whole where it fits, so that an exception stays with
its rule; of a longer one the nearest paragraphs are sent, each whole. Checked by tests/unit/tools/test_excerpts.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Protocol

from support_agent.company.documents import Document, Sentence

MAX_CHARACTERS = 1_200
"""Of one excerpt; the nearest paragraph is sent whole even if it alone is longer."""
NEARLY_AS_GOOD = 0.08
"""A second section this close in similarity is sent too, where both fit. Chosen on the tuning mails and three made-up
companies: right for 123 of 153 questions, with 0.05 for 119."""


class Similarity(Protocol):
    """Compares a text with others, -1..1 each."""

    def similarities(self, text: str, others: Sequence[str]) -> Sequence[float]: ...


def choose_sentences(document: Document, question: str, similarity: Similarity) -> tuple[int, ...]:
    """Positions of the sentences to send, in document order, at least one.

    Args:
        document: One with at least one sentence.
        question: The customer's question, any length.
        similarity: Gives a score in -1..1 for each sentence.
    """
    with_heading = [f"{sentence.heading}. {sentence.text}" for sentence in document.sentences]
    scores = list(similarity.similarities(question, with_heading))
    sections = [list(group) for _, group in groupby(document.sentences, key=lambda sentence: sentence.heading)]
    ranked = sorted(sections, key=lambda section: -_near(section, scores))
    best = _near(ranked[0], scores)
    chosen: list[Sentence] = []
    for section in ranked[:2]:
        if chosen and (best - _near(section, scores) > NEARLY_AS_GOOD or _size([*chosen, *section]) > MAX_CHARACTERS):
            break
        chosen += section if _size(section) <= MAX_CHARACTERS else _nearest_paragraphs(section, scores)
    return document.with_table_headers(sentence.index for sentence in chosen)


def _near(section: Sequence[Sentence], scores: Sequence[float]) -> float:
    """How near a section is: the mean of its two nearest sentences."""
    top = sorted((scores[sentence.index] for sentence in section), reverse=True)[:2]
    return sum(top) / len(top)


def _nearest_paragraphs(section: Sequence[Sentence], scores: Sequence[float]) -> list[Sentence]:
    chosen: list[Sentence] = []
    for paragraph in sorted(_paragraphs(section), key=lambda paragraph: -_near(paragraph, scores)):
        if chosen and _size([*chosen, *paragraph]) > MAX_CHARACTERS:
            break
        chosen += paragraph
    return chosen


def _paragraphs(section: Sequence[Sentence]) -> list[list[Sentence]]:
    """The paragraphs of a section; one that announces the next with a colon is one with it."""
    joined: list[list[Sentence]] = []
    for _, group in groupby(section, key=lambda sentence: sentence.paragraph):
        if joined and joined[-1][-1].text.endswith(":"):
            joined[-1] += group
        else:
            joined.append(list(group))
    return joined


def _size(sentences: Sequence[Sentence]) -> int:
    return sum(len(sentence.text) for sentence in sentences)
