"""Exact bounds on a share."""

from __future__ import annotations

import pytest

from support_agent.core.proportions import lower_bound


@pytest.mark.parametrize(
    ("hits", "count", "least"),
    [
        (0, 0, 0.0),
        (0, 10, 0.0),
        (10, 10, 0.7411),
        (29, 29, 0.9019),
        (28, 28, 0.8985),
        (45, 46, 0.9010),
        (13, 14, 0.7033),
    ],
)
def test_the_lower_bound_is_that_of_clopper_and_pearson(hits: int, count: int, least: float) -> None:
    """The figures that the settings name; with `count` hits of `count` it is 0.05 to the power of 1 / count."""
    assert lower_bound(hits, count, 0.95) == pytest.approx(least, abs=0.00005)


def test_surer_bounds_are_lower() -> None:
    assert lower_bound(19, 20, 0.99) < lower_bound(19, 20, 0.95) < lower_bound(19, 20, 0.5) < 0.95
