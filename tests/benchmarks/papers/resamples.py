"""Resamples of what was measured, drawn with replacement, and what 95% of their values lie between.

Checked by tests/unit/benchmarks/papers/test_evidence.py, test_entailment.py and test_dstc11_measures.py.
Source: the percentile bootstrap (Efron 1979).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1_000


def resamples(n: int, seed: int) -> NDArray[np.int64]:
    """Positions 0..n-1, a row a resample."""
    return np.random.default_rng(seed).integers(0, n, size=(RESAMPLES, n))


def middle(values: NDArray[np.float64]) -> tuple[float, float]:
    """What 95% of the values lie between."""
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)
