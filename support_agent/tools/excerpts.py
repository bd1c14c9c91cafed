"""Which whole sentences of a document are sent with `delivery: excerpt`: the evidence, or the section that is nearest.

Positions only: the text is the document's own. A section is sent whole where it fits, so that an exception stays with
its rule: the one that the fact room's evidence stands in or, where it has not looked, the nearest. Of a longer section
the paragraphs of the evidence are sent, or the nearest ones, each whole. Checked by tests/unit/tools/test_excerpts.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby
from typing import Protocol

from support_agent.company.documents import Document, Sentence
from support_agent.errors import ToolCallRejected

MAX_CHARACTERS = 1_200
"""Of one excerpt; the nearest paragraph, or the surest evidence, is sent whole even if it alone is longer."""
NEARLY_AS_GOOD = 0.05
"""A second section this close in similarity is sent too, where both fit."""


class Similarity(Protocol):
    """Compares a text with others, -1..1 each."""

    def similarities(self, text: str, others: Sequence[str]) -> Sequence[float]: ...


def evidence_sentences(document: Document, passages: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Positions of the sentences to send, in document order: the passages with all of their sections or paragraphs.

    A paragraph that announces the next with a colon is sent with it, and the next with it.

    Args:
        passages: Positions of each passage, the surest first, at least one; what is over `MAX_CHARACTERS` is left out
            from the end.
    Raises:
        ToolCallRejected: the document has no such sentence (code `no_evidence`): it was another when it was read.
    """
    paragraphs = [list(group) for _, group in groupby(document.sentences, key=lambda sentence: sentence.paragraph)]
    chosen: set[int] = set()
    for passage in passages:
        if outside := [position for position in passage if not 0 <= position < len(document.sentences)]:
            raise ToolCallRejected(f"document {document.number} has no sentence {outside[0]}", code="no_evidence")
        section = chosen | _sections(document, frozenset(passage))
        more = chosen | {sentence.index for sentence in _with_announced(paragraphs, frozenset(passage))}
        if _fits(document, section):
            chosen = section
        elif not chosen or _fits(document, more):
            chosen = more
        else:
            break
    return document.with_table_headers(chosen)


def _fits(document: Document, positions: AbstractSet[int]) -> bool:
    return _size([document.sentences[position] for position in positions]) <= MAX_CHARACTERS


def _sections(document: Document, positions: AbstractSet[int]) -> set[int]:
    """The sections that hold these positions, whole."""
    sections = [list(group) for _, group in groupby(document.sentences, key=lambda sentence: sentence.heading)]
    indices = [{sentence.index for sentence in section} for section in sections]
    return set().union(*(section for section in indices if section & positions))


def _with_announced(paragraphs: Sequence[list[Sentence]], positions: frozenset[int]) -> list[Sentence]:
    """The paragraphs that hold these positions, and what a colon ties to them."""
    chosen: list[Sentence] = []
    run: list[Sentence] = []
    for place, paragraph in enumerate(paragraphs):
        run += paragraph
        following = paragraphs[place + 1] if place + 1 < len(paragraphs) else []
        last = paragraph[-1]
        if last.text.endswith(":") and following and following[0].heading == last.heading:
            continue
        if positions.intersection(sentence.index for sentence in run):
            chosen += run
        run = []
    return chosen


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
    paragraphs = [list(group) for _, group in groupby(section, key=lambda sentence: sentence.paragraph)]
    chosen: list[Sentence] = []
    for paragraph in sorted(paragraphs, key=lambda paragraph: -_near(paragraph, scores)):
        if chosen and _size([*chosen, *paragraph]) > MAX_CHARACTERS:
            break
        chosen += paragraph
    return chosen


def _size(sentences: Sequence[Sentence]) -> int:
    return sum(len(sentence.text) for sentence in sentences)
