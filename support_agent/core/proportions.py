"""Exact bounds on a share, from counts.

Checked by tests/unit/core/test_proportions.py and tests/unit/ops/evals.
Source: Clopper and Pearson 1934, each side with the whole uncertainty.
"""

from __future__ import annotations


def lower_bound(hits: int, count: int, confidence: float) -> float:
    """The share of hits is above this with this confidence; 0 without a hit."""
    from scipy.special import betaincinv  # type: ignore[import-untyped]  # slow to import

    return 0.0 if hits == 0 else float(betaincinv(hits, count - hits + 1, 1 - confidence))


def upper_bound(hits: int, count: int, confidence: float) -> float:
    """The share of hits is below this with this confidence; 1 where all are hits."""
    return 1 - lower_bound(count - hits, count, confidence)
