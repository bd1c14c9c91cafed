"""Fits a conditional logit: the weights that make the right ones of each list likeliest; or one with hidden units.

What is minimised is the mean negative log-probability of the right options of each company, times what the company
counts, plus a ridge.
Source: conditional logit as in McFadden 1974; one hidden layer as in Bridle 1990, softmax on top.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize  # type: ignore[import-untyped]
from scipy.special import softmax  # type: ignore[import-untyped]

TINY = 1e-12
SMALL = 1e-3
"""Added to a standard deviation, as a feature may be the same everywhere."""
START_OUT = 0.1
MOST_STEPS = 150
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


class Layer(NamedTuple):
    """A fit with hidden units (tanh): the score of an option is `x @ linear + tanh(z @ inner + bias) @ out`."""

    linear: Floats
    """Of `x`, shape (features,)."""
    inner: Floats
    """Of `z`, shape (inputs, units)."""
    bias: Floats
    out: Floats


class Ridges(NamedTuple):
    """What a sum of squares costs, of the weights of a `Layer`; of inner ones after `z` has been standardised."""

    linear: float
    inner: float
    out: float


def fitted_layer(
    companies: Sequence[Sequence[tuple[Floats, Floats, NDArray[np.bool_]]]],
    ridges: Ridges,
    units: int,
    seeds: int,
    company_weights: Sequence[float],
) -> Layer:
    """The mean of fits from several starts, as one layer.

    Args:
        companies: Of each the lists: of each option a row of `x` and one of `z`, and whether it is right.
        units: Hidden units of each fit.
    """
    lists = [one for company in companies for one in company]
    x, z = np.vstack([one[0] for one in lists]), np.vstack([one[1] for one in lists])
    right = np.concatenate([one[2] for one in lists])
    lengths = [len(one[2]) for one in lists]
    shares = [share / len(own) for own, share in zip(companies, company_weights, strict=True) for _ in own]
    mean, deviation = z.mean(axis=0), z.std(axis=0) + SMALL
    rows = _Rows(x, (z - mean) / deviation, right, np.cumsum([0, *lengths[:-1]]), np.repeat(shares, lengths))
    fits = [_layer(rows, ridges, units, seed) for seed in range(seeds)]
    inner = np.hstack([one.inner for one in fits]) / deviation[:, None]
    bias = np.concatenate([one.bias for one in fits]) - mean @ inner
    out = np.concatenate([one.out for one in fits]) / seeds
    return Layer(np.mean([one.linear for one in fits], axis=0), inner, bias, out)


class _Rows(NamedTuple):
    """All options one below the other; a list begins at each of `starts`, and `share` is what its list counts."""

    x: Floats
    z: Floats
    right: NDArray[np.bool_]
    starts: NDArray[np.int_]
    share: Floats


def _layer(rows: _Rows, ridges: Ridges, units: int, seed: int) -> Layer:
    """One fit; small weights to begin with, that differ from unit to unit."""
    chance = np.random.default_rng(seed)
    features, inputs = rows.x.shape[1], rows.z.shape[1]
    sizes = np.cumsum([features, inputs * units, units])
    lengths = np.diff([*rows.starts, len(rows.right)])

    def parts(values: Floats) -> Layer:
        linear, inner, bias, out = np.split(values, sizes)
        return Layer(linear, inner.reshape(inputs, units), bias, out)

    def loss(values: Floats) -> tuple[float, Floats]:
        own = parts(values)
        hidden = np.tanh(rows.z @ own.inner + own.bias)
        scores = rows.x @ own.linear + hidden @ own.out
        raised = np.exp(scores - np.repeat(np.maximum.reduceat(scores, rows.starts), lengths))
        chances = raised / np.repeat(np.add.reduceat(raised, rows.starts), lengths)
        hit = np.maximum(np.add.reduceat(chances * rows.right, rows.starts), TINY)
        value = -float(rows.share[rows.starts] @ np.log(hit))
        slope = rows.share * (chances - chances * rows.right / np.repeat(hit, lengths))
        through = (slope[:, None] * own.out) * (1 - hidden**2)
        slopes = [rows.x.T @ slope, (rows.z.T @ through).ravel(), through.sum(axis=0), hidden.T @ slope]
        for part, weights, ridge in (
            (0, own.linear, ridges.linear),
            (1, own.inner, ridges.inner),
            (3, own.out, ridges.out),
        ):
            value += ridge * float((weights**2).sum())
            slopes[part] = slopes[part] + 2 * ridge * weights.ravel()
        return value, np.concatenate(slopes)

    inner = chance.normal(size=inputs * units) / inputs**0.5
    start = np.concatenate([np.zeros(features), inner, np.zeros(units), START_OUT * chance.normal(size=units)])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS})
    return parts(found.x)
