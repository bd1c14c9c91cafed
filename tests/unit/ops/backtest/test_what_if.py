"""Which past mails another setting would change."""

from __future__ import annotations

import pytest

from support_agent.errors import ConfigError
from support_agent.ops.backtest.what_if import compare, thresholds_in
from support_agent.ops.dry_run import DryRunAnswer
from tests.unit.ops.backtest.made import choice, result

OTHER = DryRunAnswer(subject="Re: A question", text="Good day", html="<p>Good day</p>")


def test_only_mails_whose_end_or_words_change_are_listed_with_both_sides() -> None:
    before = [result(0, choice()), result(1, choice()), result(2), result(3), result(4, choice())]
    after = [
        result(0, choice()),
        result(1, choice(), answer=OTHER),
        result(2, reason="unsure"),
        result(3, choice("document:2"), answered_with=(2,)),
        result(4, reason="unsure"),
    ]
    found = compare(before, after)
    assert (found.mails, found.newly_answered, found.no_longer_answered) == (5, 1, 1)
    assert [one.place for one in found.changed] == ["made:1", "made:3", "made:4"]
    assert [(one.before.text, one.after.text) for one in found.changed] == [
        ("Hello", "Good day"),
        ("", "Hello"),
        ("Hello", ""),
    ]
    newly = found.changed[1].after
    assert (newly.topics, newly.label) == (("document:2",), "same")


def test_thresholds_are_read_as_settings() -> None:
    assert thresholds_in("answer=0.7, section=0.6") == {
        "planner.threshold_answer": 0.7,
        "planner.threshold_section": 0.6,
    }
    assert thresholds_in("") == {}


@pytest.mark.parametrize("text", ["answer", "answer=high", "answer=1.5", "answer=nan", "other=0.5"])
def test_other_thresholds_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError, match=r"answer=0\.7,section=0\.6"):
        thresholds_in(text)
