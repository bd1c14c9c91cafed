"""Exact bounds on a share, from counts.

Checked by tests/unit/core/test_proportions.py and tests/unit/ops/evals.
Source: Clopper and Pearson 1934, each side with the whole uncertainty.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, lgamma, log

HALVINGS = 60
"""Of the interval that contains a bound: more digits than a float has."""
NEGLIGIBLE = 1e-18
"""Part of a sum from which on further terms change no digit of it."""


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
    """The probability of at most `most` hits in `count` tries, each with probability `share`, above 0 and below 1.

    The terms of the shorter tail are added from the largest on, so thousands of tries take about a hundred terms.
    """
    if most >= count:
        return 1.0
    if most <= count * share:
        return _tail(most, count, share)
    return 1.0 - _tail(count - most - 1, count, 1.0 - share)


def _tail(most: int, count: int, share: float) -> float:
    """The same for a `most` that is not above the mean: each term is smaller than the one before it."""
    if share <= 0.0 or share >= 1.0:
        return 1.0 if share <= 0.0 else 0.0
    chosen = lgamma(count + 1) - lgamma(most + 1) - lgamma(count - most + 1)
    term = exp(chosen + most * log(share) + (count - most) * log(1 - share))
    total, odds = term, (1 - share) / share
    for hits in range(most, 0, -1):
        term *= hits / (count - hits + 1) * odds
        total += term
        if term <= total * NEGLIGIBLE:
            break
    return total
