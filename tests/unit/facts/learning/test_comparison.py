"""A trained policy beside the rules and chance: the same cases for all, within the same limits."""

from __future__ import annotations

import numpy as np

from support_agent.facts.inquiry.policy import ACTIONS, FEATURES, Action
from support_agent.facts.learning.comparison import compared, rewards_of
from support_agent.facts.learning.policy_weights import PolicyWeights, weights_of
from support_agent.facts.learning.recorded import QuestionOutcome
from tests.recorded_cases import LIMITS, made_cases

CASES = made_cases(40)


def gives_up(episodes: int = 0) -> PolicyWeights:
    """Weights of a policy that hands everything over at once."""
    values = np.zeros((len(ACTIONS), len(FEATURES)))
    values[ACTIONS.index(Action.ESCALATE), 0] = 50.0
    return weights_of(values, limits=LIMITS, episodes=episodes, seed=1, people=0)


def test_all_meet_the_same_cases() -> None:
    """Rule: what differs between two rows is the policy."""
    measured = compared(gives_up(), CASES)
    assert [each.policy for each in measured] == ["trained", "always", "self-ask", "never", "random"]
    trained, always, self_ask, never, chance = measured
    assert {each.questions for each in measured} == {40}
    assert (trained.outcomes, trained.retrievals) == (never.outcomes, never.retrievals)
    assert (always.outcomes[QuestionOutcome.HELPED], always.outcomes[QuestionOutcome.MISLED]) == (0.5, 0.5)
    assert self_ask.outcomes == always.outcomes, "the model wants evidence for each"
    assert 0 < chance.outcomes[QuestionOutcome.HELPED] < 0.5
    assert compared(gives_up(), CASES)[-1] == chance


def test_the_learning_curve_has_a_point_for_each_state_of_training() -> None:
    points = rewards_of([gives_up(0), gives_up(80)], CASES)
    assert points == [(0, 0.0), (80, 0.0)]
