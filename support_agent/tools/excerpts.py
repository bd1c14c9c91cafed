"""Which whole sentences of a document are sent with `delivery: excerpt`: those of the section likeliest to answer.

Positions only: the text is the document's own. A section is sent whole, so that an exception stays with its rule; of
one that is too long, the likeliest paragraphs, each whole, as many as fit. Where one section is not sure to answer, the
next two go with it, and always what their sentences name ("except as in Limits"). Checked by
tests/unit/tools/test_excerpts.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from support_agent.company.documents import MAX_EXCERPT_CHARACTERS, Document, Sentence, size_of
from support_agent.company.references import referred_to

SURE_SECTION = 0.8
"""What is so sure goes without a further section; chosen where the vote was fitted, each company left out."""
MAX_REFERRED_CHARACTERS = 2_400
"""Of what the sections of an excerpt refer to; where that is longer, the excerpt is not sent."""
MOST_HEADINGS = 3
"""Sections of further headings are not sent, however likely; chosen in the same way."""


class Chosen(NamedTuple):
    """What is sent: the places of the sections, one at least, the likeliest first, and how likely they answer, 0..1."""

    places: tuple[int, ...]
    probability: float


def choose_sections(document: Document, chances: Sequence[float], least: float) -> Chosen:
    """What of a document answers a question.

    Args:
        document: One with at least one sentence.
        chances: Of each of its sections, 0..1, together 1.
        least: How likely it must answer to be sent, 0..1.
    """
    sections = document.sections
    runs = _runs([section[0].heading for section in sections])
    first, *others = sorted(range(len(sections)), key=lambda place: -chances[place])
    places, sure, size = [first], chances[first], size_of(sections[first])
    headings = {runs[first]}
    for place in others:
        if runs[place] not in headings and (sure >= max(SURE_SECTION, least) or len(headings) == MOST_HEADINGS):
            continue
        if size + size_of(sections[place]) > MAX_EXCERPT_CHARACTERS:
            break
        places.append(place)
        headings.add(runs[place])
        sure, size = sure + chances[place], size + size_of(sections[place])
    referred = referred_to(document, sentences_at(document, places))
    return Chosen(tuple(places), sure if size_of(referred) <= MAX_REFERRED_CHARACTERS else 0.0)


def _runs(headings: Sequence[str]) -> list[int]:
    """The number of the heading that each section stands under: two that have the same words are two."""
    starts = [place == 0 or heading != headings[place - 1] for place, heading in enumerate(headings)]
    return list(accumulate(map(int, starts)))


def sentences_at(document: Document, places: Sequence[int]) -> list[Sentence]:
    """The sentences of these sections, in the order of the places."""
    sections = document.sections
    return [sentence for place in places for sentence in sections[place]]


def positions_of(document: Document, chosen: Chosen) -> tuple[int, ...]:
    """The positions of what is sent and of what it refers to, in document order, a table's rows with their header."""
    sentences = sentences_at(document, chosen.places)
    return document.with_table_headers(s.index for s in (*sentences, *referred_to(document, sentences)))
