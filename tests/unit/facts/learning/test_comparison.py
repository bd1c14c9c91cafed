"""A trained policy beside the rules: the same people for all, and none that was learned from."""

from __future__ import annotations

import numpy as np

from support_agent.facts.inquiry.policy import ACTIONS, FEATURES, Action, Limits
from support_agent.facts.learning.comparison import compared
from support_agent.facts.learning.policy_weights import PolicyWeights, weights_of
from support_agent.facts.learning.simulator import Outcome, World

NEVER_LOOKS = Limits(looks=1, drafts=1)


def gives_up(seed: int = 1) -> PolicyWeights:
    """Weights of a policy that hands everything over at once."""
    values = np.zeros((len(ACTIONS), len(FEATURES)))
    values[ACTIONS.index(Action.ESCALATE), 0] = 50.0
    return weights_of(values, limits=NEVER_LOOKS, episodes=0, seed=seed, people=0)


def test_all_meet_the_same_people_within_the_same_limits() -> None:
    """Rule: what differs between two rows is the policy."""
    measured = compared(gives_up(), users=20)
    assert [each.policy for each in measured] == ["trained", "never", "self-ask", "always"]
    assert len({each.questions for each in measured}) == 1
    trained, never, _, always = measured
    assert trained.outcomes == never.outcomes
    assert (trained.looks, trained.drafts) == (0, 0)
    assert 0 < always.looks <= 1
    assert always.outcomes[Outcome.HELPED] > 0


def test_other_seeds_and_worlds_are_other_people() -> None:
    known = World(documented=1.0)
    assert compared(gives_up(), users=20, world=known)[0].outcomes[Outcome.HANDED_OVER] == 0
    assert compared(gives_up(2), users=20) != compared(gives_up(), users=20)
