"""Questions that no document answers, grouped."""

from __future__ import annotations

from support_agent.ops.backtest.clusters import Cluster, clusters_of
from support_agent.ops.backtest.results import PastResult
from tests.unit.ops.backtest.made import MEANING, result

TRAINING = ("offer training courses", "training course staff", "training course dates")
BATTERY = ("app drains battery", "battery empty app update", "app uses battery")
OTHER = ("late father left files", "greetings mountains")


def asked(*texts: str) -> list[PastResult]:
    return [result(number, subject="", question=text, said="We do.") for number, text in enumerate(texts)]


def found(results: list[PastResult], fewest: int = 3) -> tuple[Cluster, ...]:
    return clusters_of(results, MEANING.vectors([one.text for one in results]), 0.3, fewest, 20)


def test_questions_alike_are_together_and_the_largest_group_comes_first() -> None:
    groups = found(asked(*TRAINING, *BATTERY, *OTHER, "one more training course"))
    assert [(one.size, one.words[0]) for one in groups] == [(4, "training"), (3, "battery")]
    assert [one.share for one in groups] == [0.2, 0.15]
    assert set(groups[1].examples) == set(BATTERY)
    assert groups[0].said == "We do."


def test_a_group_of_too_few_is_not_shown() -> None:
    assert found(asked(*TRAINING, *OTHER), fewest=4) == ()
    assert found(asked(TRAINING[0])) == ()


def test_the_same_questions_have_the_same_groups() -> None:
    assert found(asked(*TRAINING, *BATTERY)) == found(asked(*TRAINING, *BATTERY))
