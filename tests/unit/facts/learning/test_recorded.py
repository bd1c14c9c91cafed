"""Recorded cases: what is played is what was recorded, paid once, and read back as it was written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support_agent.errors import ConfigError
from support_agent.facts.inquiry.memory import Memory
from support_agent.facts.inquiry.policy import Action, InquiryLimits, Policy, always, never, self_ask
from support_agent.facts.learning.recorded import (
    REWARDS,
    SECOND,
    QuestionOutcome,
    RecordedCase,
    apart,
    measure,
    play,
    read_cases,
)
from tests.recorded_cases import LIMITS, LOOK, made_case, made_cases

ANSWERABLE, OTHER = made_cases(2)


def takes(*actions: Action) -> tuple[Policy, object]:
    """A pick of these actions, in turn."""
    queue = list(actions)

    def pick(policy: Policy, memory: Memory) -> Action:
        return queue.pop(0)

    return always(LIMITS), pick


@pytest.mark.parametrize(
    ("case", "actions", "outcome", "seconds"),
    [
        (ANSWERABLE, (LOOK, Action.ANSWER), QuestionOutcome.HELPED, 2.0),
        (OTHER, (LOOK, LOOK, Action.ANSWER), QuestionOutcome.MISLED, 4.0),
        (ANSWERABLE, (Action.ESCALATE,), QuestionOutcome.MADE_TO_WAIT, 0.0),
        (OTHER, (LOOK, Action.ESCALATE), QuestionOutcome.ESCALATED, 2.0),
    ],
)
def test_rewards_add_up_to_what_was_spent_and_what_came_of_it(
    case: RecordedCase, actions: tuple[Action, ...], outcome: QuestionOutcome, seconds: float
) -> None:
    """Rule: nothing is paid twice or for nothing."""
    policy, pick = takes(*actions)
    episode = play(case, policy, pick)  # type: ignore[arg-type]
    assert [step.action for step in episode.steps] == list(actions)
    assert (episode.outcome, episode.seconds) == (outcome, seconds)
    assert episode.total == pytest.approx(REWARDS[outcome] + SECOND * seconds)


@pytest.mark.parametrize("actions", [(Action.ANSWER,), (Action.DRAFT,), (LOOK, LOOK, LOOK)])
def test_what_is_not_possible_or_failed_ends_with_a_person(actions: tuple[Action, ...]) -> None:
    """Rule: as `advance` and `inquire` have it."""
    policy, pick = takes(*actions)
    assert play(ANSWERABLE, policy, pick).outcome is QuestionOutcome.MADE_TO_WAIT  # type: ignore[arg-type]


def test_a_policy_that_asks_hears_what_the_model_said() -> None:
    assert play(ANSWERABLE, self_ask(ANSWERABLE, LIMITS)).outcome is QuestionOutcome.HELPED
    doubting = ANSWERABLE.model_copy(update={"opinions": {"0 passages": 0.1}})
    assert play(doubting, self_ask(doubting, LIMITS)).outcome is QuestionOutcome.MADE_TO_WAIT


def test_the_margin_is_that_of_the_mean() -> None:
    cases = made_cases(10)
    measured = measure("always", lambda _: always(LIMITS), cases)
    totals = np.array([play(case, always(LIMITS)).total for case in cases])
    assert measured.reward == pytest.approx(totals.mean())
    assert measured.margin == pytest.approx(1.96 * np.sqrt(totals.var(ddof=1) / 10))
    assert (measured.outcomes[QuestionOutcome.HELPED], measured.retrievals, measured.seconds) == (0.5, 1.0, 2.0)
    assert measure("never", lambda _: never(LIMITS), cases).retrievals == 0


def test_cases_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Rule: a line that was cut off is as if it had not been begun."""
    path = tmp_path / "cases.jsonl"
    cases = made_cases(3)
    path.write_text("".join(f"{case.model_dump_json()}\n" for case in cases) + '{"key": "cu', "utf-8")
    assert read_cases(path) == cases


@pytest.mark.parametrize(
    "text", ["{}\n", made_case(1, is_answerable=True, limits=InquiryLimits()).model_dump_json() + "\n" + "{1}\n"]
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "cases.jsonl").write_text(text, "utf-8")
    with pytest.raises(ConfigError, match="facts record"):
        read_cases(tmp_path / "cases.jsonl")
    with pytest.raises(ConfigError, match="facts record"):
        read_cases(tmp_path / "none.jsonl")


@pytest.mark.parametrize("states", [slice(1, None), slice(0, 0)])
def test_a_case_whose_paths_are_not_whole_is_refused(states: slice) -> None:
    """Rule: a damaged line is told when it is read, not when it is played."""
    case = made_case(1, is_answerable=True)
    with pytest.raises(ValueError, match=r"paths do not begin|at least 1 item"):
        RecordedCase.model_validate({**case.model_dump(), "states": case.model_dump()["states"][states]})


def test_what_is_reported_was_not_learned_from() -> None:
    """Rule: no question in both, and the same limits."""
    learned, reported = apart(made_cases(4), made_cases(4, first=4))
    assert (len(learned), len(reported)) == (4, 4)
    drafting = [made_case(number, is_answerable=True, limits=InquiryLimits()) for number in (8, 9)]
    for wrong in (made_cases(4, first=3), made_cases(1, first=4), drafting):
        with pytest.raises(ConfigError):
            apart(made_cases(4), wrong)
