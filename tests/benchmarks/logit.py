"""Fits a conditional logit: the weights that make the right ones of each list likeliest.

What is minimised is the mean negative log-probability of the right options of each company, times what the company
counts, plus a ridge.
Source: conditional logit as in McFadden 1974.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize  # type: ignore[import-untyped]
from scipy.special import softmax  # type: ignore[import-untyped]

TINY = 1e-12
Floats = NDArray[np.float64]
Listed = tuple[Floats, NDArray[np.bool_]]
"""A row an option, shape (options, features), and which are right."""


class _Block(NamedTuple):
    """The lists of one company, padded to one length; `real` is minus infinity for what only fills up."""

    features: Floats
    right: NDArray[np.bool_]
    real: Floats


def fitted(
    companies: Sequence[Sequence[Listed]], ridge: float, company_weights: Sequence[float] | None = None
) -> list[float]:
    """One weight a feature.

    Args:
        companies: Of each the lists, one at least; all have the same features.
        company_weights: What each company counts; 1 without them.
    """
    blocks = [_block(lists) for lists in companies]
    shares = company_weights or [1.0] * len(blocks)

    def loss(weights: Floats) -> tuple[float, Floats]:
        value, slope = ridge * float(weights @ weights), 2 * ridge * weights
        for (features, right, real), share in zip(blocks, shares, strict=True):
            chances = softmax(features @ weights + real, axis=1)
            hit = np.maximum((chances * right).sum(axis=1), TINY)
            value -= share * float(np.log(hit).mean())
            wanted = chances * right / hit[:, None]
            slope = slope + share * np.einsum("nk,nkf->f", chances - wanted, features) / len(features)
        return value, slope

    start = np.zeros(blocks[0].features.shape[2])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    return [round(float(value), 4) for value in found.x]


def _block(lists: Sequence[Listed]) -> _Block:
    most = max(len(right) for _, right in lists)
    features = np.zeros((len(lists), most, lists[0][0].shape[1]))
    right = np.zeros((len(lists), most), dtype=bool)
    real = np.full((len(lists), most), -np.inf)
    for place, (own, is_right) in enumerate(lists):
        features[place, : len(own)], right[place, : len(own)], real[place, : len(own)] = own, is_right, 0.0
    return _Block(features, right, real)
