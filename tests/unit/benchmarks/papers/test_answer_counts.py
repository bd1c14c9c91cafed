"""Right, wrong and no answer as precision, recall and F1, against values worked out by hand."""

from __future__ import annotations

import pytest

from tests.benchmarks.papers.answer_counts import Verdict, is_no_answer, scores_of, verdict_of, wilson

RIGHT, WRONG, NONE = Verdict


def test_wrong_answers_cost_precision_and_missing_ones_recall() -> None:
    """Rule: 6 right, 2 wrong, 4 unanswered: 6 of 8, 6 of 10, and their harmonic mean."""
    scores = scores_of([RIGHT] * 6 + [WRONG] * 2 + [NONE] * 4)
    assert (scores.right, scores.wrong, scores.none) == (6, 2, 4)
    assert (scores.precision.value, scores.recall.value) == (0.75, 0.6)
    assert scores.f1.value == pytest.approx(2 * 0.75 * 0.6 / (0.75 + 0.6))


def test_intervals_are_wilsons() -> None:
    """5 of 10 is 0.237 to 0.763 (Newcombe 1998's method 3); none of 10 reaches 0.278, and that of F1 follows."""
    half, never = wilson(5, 10), wilson(0, 10)
    assert half.low == pytest.approx(0.2366, abs=1e-4)
    assert half.high == pytest.approx(0.7634, abs=1e-4)
    assert never.low == 0.0
    assert never.high == pytest.approx(0.2775, abs=1e-4)
    f1 = scores_of([RIGHT] * 5 + [NONE] * 5).f1
    assert f1.low == pytest.approx(2 * half.low / (1 + half.low))
    assert f1.high == pytest.approx(2 * half.high / (1 + half.high))


def test_where_nothing_is_counted_nothing_is_known() -> None:
    """Rule: the precision of no answers is 0, and could be anything."""
    precision = scores_of([NONE, NONE]).precision
    assert (precision.value, precision.low, precision.high) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    "draft",
    [
        "",
        " \n",
        "I do not know.",
        "I don\u2019t know who won it.",
        "I'm sorry, but I cannot answer that.",
        "The passages do not say who won.",
        "The provided passage doesn't mention it.",
        "The information about it is not in the text, and is not specified.",
        "There is no information about that.",
        "As an AI, I was trained earlier.",
    ],
)
def test_a_draft_that_does_not_know_is_no_answer(draft: str) -> None:
    assert is_no_answer(draft)
    assert verdict_of(draft, is_right=False) is NONE


@pytest.mark.parametrize(
    "draft", ["Ilse Varnhout won it.", "It is not made of plastic.", "The bridge is not open.", "No, it runs weekly."]
)
def test_a_draft_that_says_something_is_an_answer(draft: str) -> None:
    """A negation is no ignorance."""
    assert verdict_of(draft, is_right=False) is WRONG


def test_a_right_answer_counts_whatever_stands_around_it() -> None:
    assert verdict_of("I do not know more than that it has 318 seats.", is_right=True) is RIGHT
