"""The measures of labelled questions, on cases that can be counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.errors import ConfigError
from support_agent.evals.intents import (
    Decided,
    Line,
    answered_right,
    auroc,
    calibration_error,
    read_lines,
    report_of,
    risk_coverage,
    table,
    topics_of_lines,
)


def decided(label: str, topic: str, confidence: float, *, is_asked: bool = False) -> Decided:
    return Decided(
        label=label, topic=topic, confidence=confidence, is_asked=is_asked, forward_passes=int(is_asked), tokens=0
    )


CASES = [
    decided("a", "a", 0.9),
    decided("b", "b", 0.8, is_asked=True),
    decided("oos", "a", 0.7),
    decided("b", "a", 0.6),
    decided("a", "a", 0.5),
]


def test_lines_are_read_and_others_are_refused_with_their_number(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text('{"text": "refund?", "label": "a"}\n\n{"text": "hi"}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"lines\.jsonl:2"):
        read_lines(path)
    path.write_text('{"text": "refund?", "label": "a"}\n', encoding="utf-8")
    assert read_lines(path) == [Line(text="refund?", label="a")]


def test_a_label_is_a_topic_and_out_of_scope_is_none() -> None:
    lines = [Line(text="x", label="card_arrival"), Line(text="y", label="card_arrival"), Line(text="z", label="oos")]
    (topic,) = topics_of_lines(lines)
    assert (topic.title, topic.questions) == ("card arrival", ("x", "y"))


def test_the_report_counts_what_is_right_in_scope_and_what_is_answered() -> None:
    report = report_of(CASES, threshold=0.65, seconds=1.0)
    assert (report.lines, report.in_scope, report.accuracy) == (5, 4, 0.75)
    assert report.coverage == 0.6
    assert report.precision == pytest.approx(2 / 3)
    assert report.out_of_scope_answered == 1.0
    assert [(step.lines, step.right) for step in report.steps] == [(4, 2), (1, 1)]
    assert "0.750" in table(report)


def test_answered_right_is_the_most_that_keeps_the_precision() -> None:
    assert answered_right(CASES, 0.95) == 0.5
    assert answered_right(CASES, 0.6) == 0.75
    assert answered_right([], 0.9) == 0.0


def test_equal_confidences_are_answered_together() -> None:
    """No threshold parts them, so the right ones of them cannot be counted alone."""
    same = [decided("a", "a", 0.9), decided("b", "a", 0.9)]
    assert answered_right(same, 0.95) == 0.0
    assert risk_coverage(same) == [(1.0, 0.5)]


def test_auroc_is_the_share_of_pairs_in_the_right_order() -> None:
    assert auroc([0.9, 0.4], [0.5]) == 0.5
    assert auroc([0.9], [0.1]) == 1.0
    assert auroc([0.5], [0.5]) == 0.5
    assert auroc([], [0.5]) is None


def test_who_is_as_sure_as_right_has_no_calibration_error() -> None:
    assert calibration_error([decided("a", "a", 1.0)] * 3) == 0.0
    assert calibration_error([decided("a", "b", 1.0)] * 3) == 1.0
