"""The measures of answers that say how sure they are, on cases that can be counted by hand."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from support_agent.ops.evals.measures import (
    answered_right,
    auroc,
    bounds,
    calibration_error,
    reliability,
    risk_coverage,
    share,
)


@dataclass(frozen=True)
class Said:
    """An answer."""

    confidence: float
    is_right: bool = True


CASES = [Said(0.9), Said(0.8), Said(0.7, False), Said(0.6, False), Said(0.5)]


def test_answered_right_is_the_most_that_keeps_the_precision() -> None:
    assert answered_right(CASES, 0.95, 4) == 0.5
    assert answered_right(CASES, 0.6, 4) == 0.75
    assert answered_right([], 0.9, 0) == 0.0


def test_equal_confidences_are_answered_together() -> None:
    """No threshold parts them, so the right ones of them cannot be counted alone."""
    same = [Said(0.9), Said(0.9, False)]
    assert answered_right(same, 0.95, 2) == 0.0
    assert risk_coverage(same, 2) == [(1.0, 0.5)]


def test_what_nobody_answers_counts_for_the_coverage() -> None:
    assert risk_coverage([Said(0.9), Said(0.8, False)], 4) == [(0.25, 0.0), (0.5, 0.5)]


def test_auroc_is_the_share_of_pairs_in_the_right_order() -> None:
    assert auroc([0.9, 0.4], [0.5]) == 0.5
    assert auroc([0.9], [0.1]) == 1.0
    assert auroc([0.5], [0.5]) == 0.5
    assert auroc([], [0.5]) is None


def test_who_is_as_sure_as_right_has_no_calibration_error() -> None:
    assert calibration_error([Said(1.0)] * 3) == 0.0
    assert calibration_error([Said(1.0, False)] * 3) == 1.0
    assert reliability([Said(0.5), Said(0.5, False)]) == [(0.5, 0.5, 2)]


def test_a_share_of_nothing_is_unknown() -> None:
    assert share([]) is None
    assert share([True, False]) == 0.5


@pytest.mark.parametrize(
    ("wrong", "answers", "low", "high"),
    [
        (0, 149, 0.0, 0.019905),
        (0, 148, 0.0, 0.020038),
        (1, 30, 0.001708, 0.148596),
        (5, 80, 0.024947, 0.126926),
        (10, 10, 0.741134, 1.0),
        (30, 2000, 0.010817, 0.020291),
    ],
)
def test_a_share_is_bounded_as_clopper_and_pearson_do(wrong: int, answers: int, low: float, high: float) -> None:
    """The quantiles of the beta distribution, as tables have them."""
    assert bounds(wrong, answers) == pytest.approx((low, high), abs=1e-6)
