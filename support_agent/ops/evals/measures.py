"""Measures of answers with a confidence: risk and coverage, AUROC, calibration, bounds on a share.

Checked by tests/unit/ops/evals/test_measures.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Protocol

from support_agent.core.proportions import lower_bound, upper_bound

CERTAINTY = 0.95
"""Certainty of the bounds on a share."""
BINS = 15


class Ranked(Protocol):
    """An answer that was or could have been given."""

    @property
    def confidence(self) -> float: ...

    @property
    def is_right(self) -> bool: ...


def answered_right(answers: Sequence[Ranked], precision: float, answerable: int) -> float:
    """The largest share of answerable questions answered right while a share `precision` of the answers is right."""
    found = (right for wrong, right in _curve(answers) if right >= precision * (right + wrong))
    return max(found, default=0) / max(1, answerable)


def risk_coverage(answers: Sequence[Ranked], asked: int) -> list[tuple[float, float]]:
    """Pairs of coverage (share answered) and risk (share of wrong answers), from the highest threshold down."""
    return [((right + wrong) / max(1, asked), wrong / (right + wrong)) for wrong, right in _curve(answers)]


def _curve(answers: Sequence[Ranked]) -> Iterator[tuple[int, int]]:
    """Counts of wrong and right answers at each threshold between two confidences, the highest first."""
    wrong = right = 0
    ranked = sorted(answers, key=lambda one: -one.confidence)
    for _, alike in groupby(ranked, key=lambda one: one.confidence):
        hits = [one.is_right for one in alike]
        right, wrong = right + sum(hits), wrong + len(hits) - sum(hits)
        yield wrong, right


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    """How often a value of the first is above one of the second; ties count half. None if one is empty."""
    from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]  # slow to import

    if not higher or not lower:
        return None
    return float(roc_auc_score([1] * len(higher) + [0] * len(lower), [*higher, *lower]))


def reliability(answers: Sequence[Ranked]) -> list[tuple[float, float, int]]:
    """Mean confidence, share right and number of the answers in each bin of confidence that has any."""
    bins: dict[int, list[Ranked]] = defaultdict(list)
    for one in answers:
        bins[min(int(one.confidence * BINS), BINS - 1)].append(one)
    return [
        (sum(one.confidence for one in of) / len(of), sum(one.is_right for one in of) / len(of), len(of))
        for _, of in sorted(bins.items())
    ]


def calibration_error(answers: Sequence[Ranked]) -> float:
    """Expected calibration error: the mean distance of confidence and share right over fifteen bins."""
    bins = reliability(answers)
    return sum(count * abs(sure - right) for sure, right, count in bins) / max(1, len(answers))


def share(hits: Sequence[bool]) -> float | None:
    """0..1; None if there are no hits to count."""
    return sum(hits) / len(hits) if hits else None


def bounds(wrong: int, answers: int) -> tuple[float, float]:
    """The share of wrong answers is above the first and below the second with 95 % certainty each.

    Source: Clopper and Pearson 1934, each side with the whole uncertainty.
    """
    return lower_bound(wrong, answers, CERTAINTY), upper_bound(wrong, answers, CERTAINTY)
