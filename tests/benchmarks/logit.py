"""Fits a conditional logit: the weights that make the right ones of each list likeliest; or one with hidden units.

What is minimised is the mean negative log-probability of the right options of each company, times what the company
counts, plus ridges.
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
"""Deviation of what each hidden unit adds to a score when a fit starts."""
MOST_STEPS = 150
"""Of a fit with hidden units."""
Floats = NDArray[np.float64]
Listed = tuple[Floats, NDArray[np.bool_]]
"""A row an option, shape (options, features), and which are right."""


class _Block(NamedTuple):
    """The lists of one company, padded to one length; `real` is minus infinity for what only fills up."""

    features: Floats
    right: NDArray[np.bool_]
    real: Floats


def fitted(companies: Sequence[Sequence[Listed]], ridge: float) -> list[float]:
    """One weight a feature.

    Args:
        companies: Of each the lists, one at least; all have the same features.
    """
    blocks = [_block(lists) for lists in companies]

    def loss(weights: Floats) -> tuple[float, Floats]:
        value, slope = ridge * float(weights @ weights), 2 * ridge * weights
        for features, right, real in blocks:
            chances = softmax(features @ weights + real, axis=1)
            hit = np.maximum((chances * right).sum(axis=1), TINY)
            value -= float(np.log(hit).mean())
            wanted = chances * right / hit[:, None]
            slope = slope + np.einsum("nk,nkf->f", chances - wanted, features) / len(features)
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


class Shown(NamedTuple):
    """One list, a row an option: what the weighted sum sees, what the hidden units see, and which are right."""

    summed: Floats
    """Shape (options, features)."""
    hidden: Floats
    """Shape (options, inputs)."""
    right: NDArray[np.bool_]


class Layer(NamedTuple):
    """With hidden units (tanh) the score of an option is `summed @ linear + tanh(hidden @ inner + bias) @ out`."""

    linear: Floats
    """Shape (features,)."""
    inner: Floats
    """Shape (inputs, units)."""
    bias: Floats
    out: Floats


class Ridges(NamedTuple):
    """What a sum of squares costs, of the weights of a `Layer`; of inner ones after their inputs were standardised."""

    linear: float
    inner: float
    out: float


def fitted_layer(
    companies: Sequence[Sequence[Shown]], ridges: Ridges, units: int, seeds: int, company_weights: Sequence[float]
) -> Layer:
    """The mean of several fits, as one layer with the units of all.

    Args:
        companies: Of each the lists, one at least.
        units: Hidden units of each fit.
        seeds: How many fits, each from another start.
        company_weights: What each company counts.
    """
    lists = [one for company in companies for one in company]
    lengths = [len(one.right) for one in lists]
    shares = [share / len(own) for own, share in zip(companies, company_weights, strict=True) for _ in own]
    hidden = np.vstack([one.hidden for one in lists])
    mean, deviation = hidden.mean(axis=0), hidden.std(axis=0) + SMALL
    rows = _Rows(
        summed=np.vstack([one.summed for one in lists]),
        hidden=(hidden - mean) / deviation,
        right=np.concatenate([one.right for one in lists]),
        starts=np.cumsum([0, *lengths[:-1]]),
        lengths=np.array(lengths),
        shares=np.array(shares),
    )
    fits = [_layer(rows, ridges, units, seed) for seed in range(seeds)]
    inner = np.hstack([one.inner for one in fits]) / deviation[:, None]
    bias = np.concatenate([one.bias for one in fits]) - mean @ inner
    out = np.concatenate([one.out for one in fits]) / seeds
    return Layer(np.mean([one.linear for one in fits], axis=0), inner, bias, out)


class _Rows(NamedTuple):
    """The options of all lists one below the other; of each list where it begins, its length and what it counts."""

    summed: Floats
    hidden: Floats
    right: NDArray[np.bool_]
    starts: NDArray[np.int_]
    lengths: NDArray[np.int_]
    shares: Floats


def _layer(rows: _Rows, ridges: Ridges, units: int, seed: int) -> Layer:
    """One fit; small weights to begin with, that differ from unit to unit."""
    chance = np.random.default_rng(seed)
    features, inputs = rows.summed.shape[1], rows.hidden.shape[1]
    inner = chance.normal(size=inputs * units) / inputs**0.5
    start = np.concatenate([np.zeros(features), inner, np.zeros(units), START_OUT * chance.normal(size=units)])
    found = minimize(
        _loss, start, args=(rows, ridges, units), jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS}
    )
    return _parts(found.x, rows, units)


def _parts(values: Floats, rows: _Rows, units: int) -> Layer:
    """The weights, which the minimiser wants in one row."""
    features, inputs = rows.summed.shape[1], rows.hidden.shape[1]
    linear, inner, bias, out = np.split(values, np.cumsum([features, inputs * units, units]))
    return Layer(linear, inner.reshape(inputs, units), bias, out)


def _loss(values: Floats, rows: _Rows, ridges: Ridges, units: int) -> tuple[float, Floats]:
    """What is minimised, and its slope in each weight."""
    own = _parts(values, rows, units)
    active = np.tanh(rows.hidden @ own.inner + own.bias)
    scores = rows.summed @ own.linear + active @ own.out
    raised = np.exp(scores - np.repeat(np.maximum.reduceat(scores, rows.starts), rows.lengths))
    chances = raised / np.repeat(np.add.reduceat(raised, rows.starts), rows.lengths)
    hit = np.maximum(np.add.reduceat(chances * rows.right, rows.starts), TINY)
    value = -float(rows.shares @ np.log(hit))
    slope = np.repeat(rows.shares, rows.lengths) * (chances - chances * rows.right / np.repeat(hit, rows.lengths))
    through = (slope[:, None] * own.out) * (1 - active**2)
    slopes = Layer(rows.summed.T @ slope, rows.hidden.T @ through, through.sum(axis=0), active.T @ slope)
    for weights, part, ridge in (
        (own.linear, slopes.linear, ridges.linear),
        (own.inner, slopes.inner, ridges.inner),
        (own.out, slopes.out, ridges.out),
    ):
        value += ridge * float((weights**2).sum())
        part += 2 * ridge * weights
    return value, np.concatenate([part.ravel() for part in slopes])
