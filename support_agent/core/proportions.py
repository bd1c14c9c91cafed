"""Exact bounds on a share, from counts.

Checked by tests/unit/core/test_proportions.py and tests/unit/ops/evals.
Source: Clopper and Pearson 1934, each side with the whole uncertainty.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, lgamma, log

HALVINGS = 60
"""Of the interval that contains a bound: more digits than a float has."""


def lower_bound(hits: int, count: int, confidence: float) -> float:
    """The share of hits is above this with this confidence; 0 without a hit."""
    return 0.0 if hits == 0 else share_where(lambda p: 1 - at_most(hits - 1, count, p), 1 - confidence)


def share_where(rising: Callable[[float], float], wanted: float) -> float:
    """The share at which a rising function has the wanted value."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < wanted else (low, middle)
    return high


def at_most(most: int, count: int, share: float) -> float:
    """The probability of at most `most` hits in `count` tries, each with probability `share`, above 0 and below 1."""
    whole = lgamma(count + 1)
    return sum(
        exp(whole - lgamma(hits + 1) - lgamma(count - hits + 1) + hits * log(share) + (count - hits) * log(1 - share))
        for hits in range(most + 1)
    )
