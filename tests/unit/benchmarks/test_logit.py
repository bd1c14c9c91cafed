"""A fit with hidden units: what it minimises, what it learns, and how its companies and starts are weighed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import check_grad  # type: ignore[import-untyped]

from tests.benchmarks.logit import Floats, Layer, Ridges, Shown, _loss, _Rows, fitted_layer

WEAK = Ridges(0.001, 0.001, 0.001)


def scores(layer: Layer, shown: Shown) -> list[float]:
    """Of each option of a list."""
    values: Floats = shown.summed @ layer.linear + np.tanh(shown.hidden @ layer.inner + layer.bias) @ layer.out
    return [float(value) for value in values]


def ahead(layer: Layer, shown: Shown) -> float:
    """By how much the first of two options is ahead."""
    first, second = scores(layer, shown)
    return first - second


def best(layer: Layer, shown: Shown) -> int:
    return int(np.argmax(scores(layer, shown)))


def together(number: int, seed: int = 3) -> list[Shown]:
    """Lists of two options of two signs each; right is the one whose signs agree, which no weighted sum says."""
    chance = np.random.default_rng(seed)
    lists = []
    for _ in range(number):
        rows = chance.choice([-1.0, 1.0], size=(2, 2))
        rows[1, 0] = rows[0, 0] * rows[0, 1] * -rows[1, 1]  # one of the two has signs that agree
        lists.append(Shown(rows, rows, rows[:, 0] == rows[:, 1]))
    return lists


def plain(right: int) -> Shown:
    """A list of two options that one feature tells apart."""
    rows = np.array([[1.0], [0.0]])
    return Shown(rows, rows, np.array([right == 0, right == 1]))


def test_hidden_units_find_what_tells_right_from_wrong_only_together() -> None:
    lists = together(400)
    layer = fitted_layer([lists[:300]], WEAK, 4, 2, [1.0])
    assert all(one.right[best(layer, one)] for one in lists[300:])


def test_the_slope_is_that_of_what_is_minimised() -> None:
    """Of every weight and every ridge, in lists of several lengths and with several right options."""
    chance = np.random.default_rng(5)
    lengths = np.array([3, 1, 4])
    right = np.array([True, False, True, True, False, False, False, True])
    rows = _Rows(
        summed=chance.normal(size=(8, 3)),
        hidden=chance.normal(size=(8, 2)),
        right=right,
        starts=np.array([0, 3, 4]),
        lengths=lengths,
        shares=np.array([0.5, 0.3, 2.0]),
    )
    given = (rows, Ridges(0.7, 0.5, 0.3), 4)
    at = chance.normal(size=3 + 2 * 4 + 4 + 4)
    assert check_grad(lambda x: _loss(x, *given)[0], lambda x: _loss(x, *given)[1], at) < 1e-5


def test_the_scale_and_the_origin_of_what_hidden_units_see_do_not_matter() -> None:
    """Rule: they are fitted to standardised inputs, and the layer that comes out takes the inputs as they are."""
    lists = together(60)
    moved = [one._replace(hidden=20 * one.hidden + [70.0, -30.0]) for one in lists]
    one, other = (fitted_layer([own], Ridges(0.01, 0.01, 0.01), 4, 2, [1.0]) for own in (lists, moved))
    for here, there in zip(lists, moved, strict=True):
        assert ahead(other, there) == pytest.approx(ahead(one, here), abs=0.1)


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_fit_is_as_sure_as_it_is_right_from_one_start_or_from_several(seeds: int) -> None:
    """Three lists of four say that the first option is right."""
    layer = fitted_layer([[plain(int(place % 4 == 0)) for place in range(80)]], WEAK, 4, seeds, [1.0])
    assert 1 / (1 + math.exp(-ahead(layer, plain(0)))) == pytest.approx(0.75, abs=0.02)


@pytest.mark.parametrize(("weights", "right"), [([3.0, 1.0], 0), ([1.0, 3.0], 1)])
def test_a_company_counts_what_it_is_told_to_however_many_questions_it_has(weights: list[float], right: int) -> None:
    layer = fitted_layer([[plain(0)] * 5, [plain(1)] * 20], WEAK, 4, 2, weights)
    assert best(layer, plain(0)) == right
