"""Which of many texts share words with a question: a first look that costs next to nothing.

Checked by tests/unit/facts/web/test_shared_words.py.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

MIN_WORD = 3
"""Shorter words say little of what a text is about."""
STEM = 5
"""Letters by which two words count as one: "refunds" and "refund"."""
_WORD = re.compile(r"[^\W_]+")


def most_alike(question: str, texts: Sequence[str], n: int) -> list[int]:
    """Indices of the texts that share most with the question, the most first; of as many, the earlier ones.

    A shared word counts the less the more of the texts have it. Also texts that share none are among the n, where
    there are no others.
    """
    asked = _stems(question)
    shared = [asked & _stems(text) for text in texts]
    counts = Counter(stem for stems in shared for stem in stems)
    weights = {stem: math.log((len(texts) + 1) / count) for stem, count in counts.items()}
    scores = [math.fsum(weights[stem] for stem in stems) for stems in shared]  # exact: the order of a set is none
    return sorted(range(len(texts)), key=lambda index: -scores[index])[:n]


def _stems(text: str) -> set[str]:
    return {word[:STEM] for word in _WORD.findall(text.lower()) if len(word) >= MIN_WORD}
