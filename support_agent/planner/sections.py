"""The sections of a document as the language model picks among them, and what its pick counts beside the search.

Checked by tests/unit/planner/test_sections.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from support_agent.company.documents import Document

SECTION_ASK = "Which of these parts answers it? They are of: "
MOST_SECTIONS = 12
"""At most so many sections of a document, the likeliest before, are on the list."""
TITLE_CHARACTERS = 80
"""Of what the model reads of a section."""
UNASKED_SECTION, PICKED_SECTION = 0.97, 0.29
"""What the search's log-probability of a section and the model's pick by heading count: fitted to the questions of
several companies (`python -m tests.benchmarks.sections`)."""
MOST_BELOW = 10.0
"""A pick counts no further below the first one: however sure the model says it is, it sends nothing that the search
takes to be out of the question."""
LEAST_CHANCE = 1e-9
"""Of which there is a logarithm."""


def titles_of(document: Document) -> list[str]:
    """What the model reads of each section, no two alike: its heading, and where several have it, how each begins."""
    sections = document.sections
    headings = [section[0].heading or document.head.title for section in sections]
    titles = [
        heading if headings.count(heading) == 1 else f"{heading}: {section[0].text}"
        for heading, section in zip(headings, sections, strict=True)
    ]
    short = [title[:TITLE_CHARACTERS] for title in titles]
    are_apart = len(set(short)) == len(short)
    return short if are_apart else [f"{place}. {title}" for place, title in enumerate(short, start=1)]


def signs_of(chances: Sequence[float], picks: Sequence[float | None]) -> list[tuple[float, float]]:
    """Of each section the log-probability before, and how far the model's pick is below the first one.

    What was not on the list counts as the least picked.

    Args:
        chances: Before the model is asked, 0..1.
        picks: Log-odds-like; one at least.
    """
    said = [pick for pick in picks if pick is not None]
    below = [max((min(said) if pick is None else pick) - max(said), -MOST_BELOW) for pick in picks]
    return [(log(max(chance, LEAST_CHANCE)), pick) for chance, pick in zip(chances, below, strict=True)]


def joined(chances: Sequence[float], picks: Sequence[float | None]) -> list[float]:
    """What the search and the model say of each section, as scores for a softmax; arguments as above."""
    return [UNASKED_SECTION * before + PICKED_SECTION * pick for before, pick in signs_of(chances, picks)]
