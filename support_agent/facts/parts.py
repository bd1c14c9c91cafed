"""A question as it is compared: whole, and sentence by sentence, so that a long story does not drown what is asked.

Checked by tests/unit/facts/test_parts.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from support_agent.company.text import split_sentences

MIN_WORDS = 3
"""Shorter sentences ("Thanks.") say nothing by themselves."""
MAX_SENTENCES = 24
Floats = NDArray[np.floating[Any]]


def whole_and_sentences(text: str) -> list[str]:
    """The whole text and, where it has several sentences, each that says something."""
    sentences = [sentence for sentence in split_sentences(text) if len(sentence.split()) >= MIN_WORDS]
    return [text, *(sentences[:MAX_SENTENCES] if len(sentences) > 1 else [])]


def nearness(found: Floats) -> Floats:
    """The mean of what is found for the whole and for the part that is nearest.

    Args:
        found: A row for each part, the whole first; any further axes.
    """
    return np.asarray(found[0] if len(found) == 1 else (found[0] + found[1:].max(axis=0)) / 2)
