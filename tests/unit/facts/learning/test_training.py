"""A trained policy: the same from the same seed, better than chance, and not worse than the rule it began with."""

from __future__ import annotations

import numpy as np
import pytest

from support_agent.facts.inquiry.memory import (
    Check,
    Ending,
    FailedCheck,
    Memory,
    Utility,
    begin,
    ended,
    recalled,
    with_draft,
    with_utility,
)
from support_agent.facts.inquiry.policy import (
    ACTIONS,
    FEATURES,
    Action,
    Floats,
    InquiryLimits,
    Softmax,
    always,
    choice,
    possible,
)
from support_agent.facts.learning.comparison import compared
from support_agent.facts.learning.policy_weights import PolicyWeights
from support_agent.facts.learning.recorded import play, returns
from support_agent.facts.learning.training import (
    Course,
    EscalatedCase,
    ReviewOutcome,
    before_escalation,
    imitated,
    sampled,
    taught,
    trained,
)
from support_agent.tools.fact_trace import Evidence
from tests.recorded_cases import LIMITS, made_cases

CASES = made_cases(20)
SMALL = Course(batch=5)


def last(episodes: int, seed: int, escalated: tuple[EscalatedCase, ...] = ()) -> PolicyWeights:
    return tuple(trained(CASES, episodes, seed, course=SMALL, escalated=escalated))[-1]


def test_a_policy_learns_to_give_up_where_an_answer_would_mislead() -> None:
    """Rule: better than the rule it began with, and than chance, on cases that it was not trained on."""
    course = list(trained(CASES, 2_400, 2))
    learned, always, _, never, chance = compared(course[-1], made_cases(40, first=100))
    assert learned.reward > max(always.reward, never.reward) + 0.2
    assert learned.reward > chance.reward + chance.margin
    begun = compared(course[0], made_cases(40, first=100))[0]
    assert begun.outcomes == always.outcomes
    assert [weights.episodes for weights in course[:3]] == [0, 80, 160]


def test_the_same_seed_gives_the_same_weights() -> None:
    """Rule: the file is what its head says: it can be made again, to the last digit."""
    weights = last(40, 5)
    assert last(40, 5).to_json() == weights.to_json()
    assert last(40, 6).values != weights.values
    assert last(80, 5).values != weights.values
    assert (weights.episodes, weights.seed, weights.people, weights.limits) == (40, 5, 0, LIMITS)


def test_imitation_does_what_the_rule_does() -> None:
    """Training begins as good as the rule; measured on cases that it did not imitate."""
    policy = Softmax(imitated(always(LIMITS), CASES, Course()), LIMITS, "imitated")
    steps = [step for case in made_cases(20, first=50) for step in play(case, always(LIMITS)).steps]
    assert all(choice(policy, step.memory) is step.action for step in steps)


def test_what_came_of_a_step_is_its_reward_and_all_after_it() -> None:
    episode = play(CASES[0], always(LIMITS))
    assert returns(episode) == pytest.approx((episode.total, episode.steps[-1].reward))


def test_an_action_is_sampled_as_often_as_it_is_likely() -> None:
    policy = Softmax(np.random.default_rng(1).normal(size=(len(ACTIONS), len(FEATURES))), InquiryLimits(), "any")
    memory = recalled(begin("case", "?"), [Evidence(source="document:1", first=0, last=0)])
    drawn = np.random.default_rng(2)
    actions = [sampled(policy, memory, drawn) for _ in range(2000)]
    shares = [actions.count(action) / len(actions) for action in ACTIONS]
    assert shares == pytest.approx(policy.probabilities(memory), abs=0.04)


def judged(*utilities: Utility) -> Memory:
    memory = recalled(begin("case", "?"), [Evidence(source="document:1", first=0, last=0)])
    for utility in utilities:
        memory = with_utility(with_draft(memory, "Ten."), utility, [])
    return memory


SOUND = Utility(supported=0.6, answers=0.6)
WRONG = Utility(failures=(FailedCheck(check=Check.NUMBER),))


@pytest.mark.parametrize(
    ("memory", "outcome", "action"),
    [
        (judged(SOUND), ReviewOutcome.SENT_EVIDENCE, Action.ANSWER),
        (judged(WRONG), ReviewOutcome.SENT_EVIDENCE, Action.DRAFT),
        (judged(WRONG, WRONG, WRONG), ReviewOutcome.SENT_EVIDENCE, Action.ESCALATE),
        (judged(SOUND), ReviewOutcome.SENT_OTHER, Action.ACQUIRE),
        (judged(SOUND), ReviewOutcome.WROTE, Action.ESCALATE),
    ],
)
def test_a_person_shows_what_should_have_been_done(memory: Memory, outcome: ReviewOutcome, action: Action) -> None:
    """Rule: what the person did becomes likelier in such a state, and with it what can be done at all."""
    before = np.zeros((len(ACTIONS), len(FEATURES)))
    cases = [EscalatedCase(memory=memory, outcome=outcome)] * 3
    after = taught(before, cases, InquiryLimits(), Course(people_steps=300))

    def likely(weights: Floats) -> float:
        return Softmax(weights, InquiryLimits(), "any").probabilities(memory)[ACTIONS.index(action)]

    assert likely(after) >= likely(before)
    assert choice(Softmax(after, InquiryLimits(), "any"), memory) is action


@pytest.mark.parametrize("memory", [judged(), judged(SOUND), judged(WRONG, WRONG)])
def test_a_memory_from_the_store_teaches_as_it_did_when_it_was_before_escalation(memory: Memory) -> None:
    """Failure: an ended question seems to have unread evidence, so that nobody learns that it could be answered."""
    assert before_escalation(memory) is None
    assert before_escalation(ended(memory, Ending.ANSWERED)) is None
    before = before_escalation(ended(memory, Ending.ESCALATED))
    assert before == memory
    assert possible(memory, InquiryLimits())[ACTIONS.index(Action.ANSWER)] == (memory.last_utility == SOUND)


def test_people_are_counted_and_change_the_weights() -> None:
    weights = last(0, 5, (EscalatedCase(memory=judged(SOUND), outcome=ReviewOutcome.WROTE),) * 2)
    assert weights.people == 2
    assert weights.values != last(0, 5).values
