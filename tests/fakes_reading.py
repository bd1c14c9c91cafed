"""A reader of the pieces of a mail without a model: what they do by a few words, their topics as each test says.

It tells by the letters alone how a text is phrased.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from support_agent.company.documents import Document
from support_agent.facts.phrasing import Phrasing
from support_agent.facts.reading import is_marked
from support_agent.models.embedding.port import Vectors
from support_agent.tools.base import Acts, Examples, SegmentReading, Similarity

SURE = 0.92
AS_NEAR = 0.08
_WORDS: Mapping[str, str] = {
    "greets": r"(hi|hello|hey|dear|good morning|hallo|guten tag|sehr geehrte\w*|liebes|hola|buenos|estimados|to whom)\b"
    r"[^.?]{0,40}[.!]?$",
    "parts": r"(thanks|thank you|many thanks|kind regards|best (?:regards|wishes)|cheers|mit freundlichen|danke|"
    r"vielen dank|viele grüße|un saludo|gracias)\b[^?]{0,60}$",
    "footer": r".*\b(intended recipient|before printing)",
    "asks": r"(.*\b(please|i want|i would like|tell me|kündige|quiero|bitte)\b|(how|what|when|where|can i|is it|cómo|"
    r"wie|cancel|reduce|change|and please|i need|which|¿?cuánt\w+)\b)",
    "reports": r".*\b(fails|error|broken|stuck|grey|forgot)\b",
}


def reading(text: str, near: Mapping[str, float]) -> SegmentReading:
    """A piece, by its words; it tells where it holds none of them."""
    found = [act for act, words in _WORDS.items() if re.match(words, text, re.IGNORECASE)]
    is_asked = "asks" in found or is_marked(text)
    asked = ["asks"] if is_asked else []
    first = next(
        act for act in ("footer", "asks", "reports", "greets", "parts", "tells") if act in [*found, *asked, "tells"]
    )
    rest = (1 - SURE) / 5
    acts = Acts(**{act: SURE if act == first else rest for act in Acts.model_fields})
    return SegmentReading(acts=acts, near=near, is_marked=is_marked(text))


def read_apart(pieces: Sequence[str]) -> tuple[SegmentReading, ...]:
    """Each piece is about a topic of its own."""
    return tuple(reading(piece, {f"document:{piece}": 0.8}) for piece in pieces)


def read_by(near: Callable[[str], Mapping[str, float]]) -> Callable[[Sequence[str]], tuple[SegmentReading, ...]]:
    """Each piece is about what `near` says."""
    return lambda pieces: tuple(reading(piece, near(piece)) for piece in pieces)


@lru_cache(maxsize=2)
def _phrasing(examples: Examples) -> Phrasing:
    def blind(texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), 1), dtype=np.float32)

    return Phrasing(examples, blind)


def phrased_by_letters(text: str, examples: Examples) -> Mapping[str, float]:
    """How likely a text is phrased as each class, by its character n-grams."""
    return _phrasing(examples).chances(text)


def nearest_sections(search: Similarity, text: str, document: Document) -> list[float]:
    """As a vote on sections that is sure of the one with the two nearest sentences, and of a second that is as near."""
    scores = search.similarities(text, [f"{sentence.heading}. {sentence.text}" for sentence in document.sentences])
    nearest = [sorted(scores[sentence.index] for sentence in section)[-2:] for section in document.sections]
    near = [sum(own) / len(own) for own in nearest]
    first, *others = sorted(range(len(near)), key=lambda place: -near[place])
    are_two = bool(others) and near[first] - near[others[0]] <= AS_NEAR
    chances = {first: 0.5, others[0]: 0.45} if are_two else {first: 0.95}
    return [chances.get(place, 0.05 / len(near)) for place in range(len(near))]
