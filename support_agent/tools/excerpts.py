"""Chooses the sentences of a document that are sent with `delivery: excerpt`: the sections likeliest to answer.

Sections are sent whole, so that an exception stays with its rule; of a section that is too long, the likeliest whole
paragraphs that fit. While they are not sure enough to answer, the next likeliest are added as long as they fit, and
always the sections that the chosen sentences refer to ("except as in Limits"). Checked by
tests/unit/tools/test_excerpts.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from support_agent.company.documents import MAX_EXCERPT_CHARACTERS, Document, Sentence, size_of
from support_agent.company.references import referred_to

SURE_SECTION = 0.95
"""From this probability on no further section is added. By this rule 384 of 409 excerpts of eight companies have the
right section, each company left out of the fit (`tests.benchmarks.sections`)."""
MAX_REFERRED_CHARACTERS = 2_400
"""Most characters of the sections referred to; beyond, the excerpt is not sent."""


class ChosenSections(NamedTuple):
    """The chosen sections by place, 1..n, the likeliest first, and the probability that they answer, 0..1."""

    places: tuple[int, ...]
    probability: float


def choose_sections(document: Document, chances: Sequence[float], least: float) -> ChosenSections:
    """Choose the sections of a document that answer a question.

    Args:
        document: Has at least one sentence.
        chances: Probability of each section, together 1.
        least: Least probability for sending, 0..1.
    """
    sections = document.sections
    runs = _runs([section[0].heading for section in sections])
    first, *others = sorted(range(len(sections)), key=lambda place: -chances[place])
    places, sure, size = [first], chances[first], size_of(sections[first])
    headings = {runs[first]}
    for place in others:
        if runs[place] not in headings and sure >= max(SURE_SECTION, least):
            continue
        if size + size_of(sections[place]) > MAX_EXCERPT_CHARACTERS:
            break
        places.append(place)
        headings.add(runs[place])
        sure, size = sure + chances[place], size + size_of(sections[place])
    referred = referred_to(document, sentences_at(document, places))
    return ChosenSections(tuple(places), sure if size_of(referred) <= MAX_REFERRED_CHARACTERS else 0.0)


def _runs(headings: Sequence[str]) -> list[int]:
    """The number of each section's heading; separate headings with the same words are counted separately."""
    starts = [place == 0 or heading != headings[place - 1] for place, heading in enumerate(headings)]
    return list(accumulate(map(int, starts)))


def sentences_at(document: Document, places: Sequence[int]) -> list[Sentence]:
    """The sentences of these sections, in the order of the places."""
    sections = document.sections
    return [sentence for place in places for sentence in sections[place]]


def positions_of(document: Document, chosen: ChosenSections) -> tuple[int, ...]:
    """Positions of the chosen sentences and those they refer to, in document order, table rows with their header."""
    sentences = sentences_at(document, chosen.places)
    return document.with_table_headers(s.index for s in (*sentences, *referred_to(document, sentences)))
