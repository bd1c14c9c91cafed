"""Finds the texts that share words with a question: a very cheap preselection.

Checked by tests/unit/facts/web/test_shared_words.py.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

MIN_WORD = 3
"""Least letters of a compared word; shorter ones say little about the topic."""
STEM = 5
"""Words with this many equal first letters count as one: "refunds" and "refund"."""
_WORD = re.compile(r"[^\W_]+")


def most_alike(question: str, texts: Sequence[str], n: int) -> list[int]:
    """Indices of the n texts that share most with the question, best first; of equal ones, the earlier.

    Words in many texts count less. Texts without shared words fill the rest.
    """
    asked = _stems(question)
    shared = [asked & _stems(text) for text in texts]
    counts = Counter(stem for stems in shared for stem in stems)
    weights = {stem: math.log((len(texts) + 1) / count) for stem, count in counts.items()}
    scores = [math.fsum(weights[stem] for stem in stems) for stems in shared]  # exact, as a set has no order
    return sorted(range(len(texts)), key=lambda index: -scores[index])[:n]


def _stems(text: str) -> set[str]:
    return {word[:STEM] for word in _WORD.findall(text.lower()) if len(word) >= MIN_WORD}
