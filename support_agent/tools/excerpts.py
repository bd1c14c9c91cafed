"""Which whole sentences of a document are sent with `delivery: excerpt`: those of the section likeliest to answer.

Positions only: the text is the document's own. A section is sent whole where it fits, so that an exception stays with
its rule; of a longer one the nearest paragraphs are sent, each whole. Where the likeliest section is not sure, the next
one goes with it. Checked by tests/unit/tools/test_excerpts.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

from support_agent.company.documents import Document, Sentence

MAX_CHARACTERS = 1_200
"""Of one excerpt; the nearest paragraph is sent whole even if it alone is longer."""
SURE_SECTION = 0.9
"""A section that is so sure is sent alone; chosen where the vote was fitted, each company left out."""


class Similarity(Protocol):
    """Compares a text with others, -1..1 each."""

    def similarities(self, text: str, others: Sequence[str]) -> Sequence[float]: ...


class Reader(Similarity, Protocol):
    """Tells also how likely each section of a document answers a question."""

    def sections(self, text: str, document: Document) -> Sequence[float]: ...


class Chosen(NamedTuple):
    """Positions of the sentences to send, in document order, one at least, and how likely they answer, 0..1."""

    positions: tuple[int, ...]
    probability: float


def choose_sentences(document: Document, question: str, reader: Reader) -> Chosen:
    """What of a document answers a question.

    Args:
        document: One with at least one sentence.
        question: The customer's question, any length.
        reader: Gives a probability for each section.
    """
    places, probability = among_likeliest(document, reader.sections(question, document))
    chosen: list[Sentence] = []
    for section in (document.sections[place] for place in places):
        chosen += section if _size(section) <= MAX_CHARACTERS else _nearest_paragraphs(section, question, reader)
    return Chosen(document.with_table_headers(sentence.index for sentence in chosen), probability)


def among_likeliest(document: Document, chances: Sequence[float]) -> tuple[tuple[int, ...], float]:
    """The sections to send, the likeliest and, where that is not sure and both fit, the next; and what they amount to.

    Args:
        chances: Of each section, 0..1.
    """
    sections = document.sections
    first, *others = sorted(range(len(sections)), key=lambda place: -chances[place])
    if others and chances[first] < SURE_SECTION and _size([*sections[first], *sections[others[0]]]) <= MAX_CHARACTERS:
        return (first, others[0]), chances[first] + chances[others[0]]
    return (first,), chances[first]


def _nearest_paragraphs(section: Sequence[Sentence], question: str, reader: Reader) -> list[Sentence]:
    with_heading = [f"{sentence.heading}. {sentence.text}" for sentence in section]
    scores = dict(zip([one.index for one in section], reader.similarities(question, with_heading), strict=True))
    chosen: list[Sentence] = []
    for paragraph in sorted(_paragraphs(section), key=lambda paragraph: -_near(paragraph, scores)):
        if chosen and _size([*chosen, *paragraph]) > MAX_CHARACTERS:
            break
        chosen += paragraph
    return chosen


def _near(paragraph: Sequence[Sentence], scores: Mapping[int, float]) -> float:
    """How near a paragraph is: the mean of its two nearest sentences."""
    top = sorted((scores[sentence.index] for sentence in paragraph), reverse=True)[:2]
    return sum(top) / len(top)


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
