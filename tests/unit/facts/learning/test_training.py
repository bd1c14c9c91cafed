"""A trained policy: the same from the same seed, better than chance, and not worse than the rule it began with."""

from __future__ import annotations

import numpy as np
import pytest

from support_agent.facts.inquiry.memory import (
    Check,
    Ending,
    Evidence,
    Failure,
    Memory,
    Utility,
    begin,
    ended,
    with_draft,
    with_utility,
)
from support_agent.facts.inquiry.policy import (
    ACTIONS,
    FEATURES,
    Action,
    Always,
    Floats,
    Limits,
    Never,
    SelfAsk,
    Softmax,
    choice,
    possible,
)
from support_agent.facts.learning.policy_weights import PolicyWeights
from support_agent.facts.learning.simulator import Measured, Split, case_of, measure, user_of
from support_agent.facts.learning.training import (
    Course,
    Deed,
    EscalatedCase,
    handed_over,
    imitated,
    sampled,
    taught,
    train,
)

USERS = 250
HELD_OUT = 11
SMALL = Course(imitated=20, imitation_steps=40, batch=5)


@pytest.fixture(scope="module")
def trained() -> PolicyWeights:
    return train(800, seed=2)


@pytest.fixture(scope="module")
def measured(trained: PolicyWeights) -> Measured:
    return measure(lambda model: trained.policy(), seed=HELD_OUT, users=USERS)


def test_a_trained_policy_beats_chance(measured: Measured) -> None:
    """Chance: every possible action as likely as the others."""
    drawn = np.random.default_rng(1)
    untrained = Softmax(np.zeros((len(ACTIONS), len(FEATURES))), Limits(), "chance")
    chance = measure(lambda model: untrained, seed=HELD_OUT, users=USERS, pick=lambda p, m: sampled(p, m, drawn))
    assert measured.reward > chance.reward + 4 * chance.standard_error


def test_a_trained_policy_is_not_worse_than_the_best_rule(measured: Measured) -> None:
    """On the same held-out users, within one standard error."""
    rules = [
        measure(lambda model: Always(), seed=HELD_OUT, users=USERS),
        measure(lambda model: Never(), seed=HELD_OUT, users=USERS),
        measure(lambda model: SelfAsk(model), seed=HELD_OUT, users=USERS),
    ]
    best = max(rules, key=lambda rule: rule.reward)
    assert measured.reward >= best.reward - best.standard_error
    assert best.reward > min(rule.reward for rule in rules) + best.standard_error, "the rules differ"


def test_the_same_seed_gives_the_same_weights() -> None:
    """Rule: the file is what its head says: it can be made again, to the last digit."""
    weights = train(40, seed=5, course=SMALL)
    assert train(40, seed=5, course=SMALL).to_json() == weights.to_json()
    assert train(40, seed=6, course=SMALL).values != weights.values
    assert train(80, seed=5, course=SMALL).values != weights.values
    assert (weights.episodes, weights.seed, weights.people) == (40, 5, 0)


def test_imitation_does_what_the_rule_does() -> None:
    """Training begins as good as the rule; measured on users that it did not imitate."""
    course = Course(imitated=80)
    policy = Softmax(imitated(Always(), 3, course), course.limits, "imitated")
    people = [user_of(Split.TRAINING, 4, number, course.world) for number in range(60)]
    steps = [step for user in people for episode in case_of(user, Always()) for step in episode.steps]
    same = sum(choice(policy, step.memory) is step.action for step in steps)
    assert same / len(steps) > 0.9


def test_an_action_is_sampled_as_often_as_it_is_likely() -> None:
    policy = Softmax(np.random.default_rng(1).normal(size=(len(ACTIONS), len(FEATURES))), Limits(), "any")
    memory = begin("case", "?", [Evidence(source="document:1", first=0, last=0)])
    drawn = np.random.default_rng(2)
    actions = [sampled(policy, memory, drawn) for _ in range(2000)]
    shares = [actions.count(action) / len(actions) for action in ACTIONS]
    assert shares == pytest.approx(policy.probabilities(memory), abs=0.04)


def judged(*utilities: Utility) -> Memory:
    memory = begin("case", "?", [Evidence(source="document:1", first=0, last=0)])
    for utility in utilities:
        memory = with_utility(with_draft(memory, "Ten."), utility, [])
    return memory


SOUND = Utility(supported=0.6, answers=0.6)
WRONG = Utility(failures=(Failure(check=Check.NUMBER),))


@pytest.mark.parametrize(
    ("memory", "deed", "action"),
    [
        (judged(SOUND), Deed.SENT_EVIDENCE, Action.ANSWER),
        (judged(WRONG), Deed.SENT_EVIDENCE, Action.DRAFT),
        (judged(WRONG, WRONG, WRONG), Deed.SENT_EVIDENCE, Action.ESCALATE),
        (judged(SOUND), Deed.SENT_OTHER, Action.ACQUIRE),
        (judged(SOUND), Deed.WROTE, Action.ESCALATE),
    ],
)
def test_a_person_shows_what_should_have_been_done(memory: Memory, deed: Deed, action: Action) -> None:
    """Rule: what the person did becomes likelier in such a state, and with it what can be done at all."""
    before = imitated(Always(), 3, SMALL)
    cases = [EscalatedCase(memory=memory, deed=deed)] * 3
    after = taught(before, cases, Course(people_steps=300))

    def likely(weights: Floats) -> float:
        return Softmax(weights, Limits(), "any").probabilities(memory)[ACTIONS.index(action)]

    assert likely(after) >= likely(before)
    assert choice(Softmax(after, Limits(), "any"), memory) is action


@pytest.mark.parametrize("memory", [judged(), judged(SOUND), judged(WRONG, WRONG)])
def test_a_memory_from_the_store_teaches_as_it_did_when_it_was_handed_over(memory: Memory) -> None:
    """Failure: an ended question seems to have unread evidence, so that nobody learns that it could be answered."""
    assert handed_over(memory) is None
    assert handed_over(ended(memory, Ending.ANSWERED)) is None
    before = handed_over(ended(memory, Ending.ESCALATED))
    assert before == memory
    assert possible(memory, Limits())[ACTIONS.index(Action.ANSWER)] == (memory.last_utility == SOUND)


def test_people_are_counted_and_change_the_weights() -> None:
    cases = [EscalatedCase(memory=judged(SOUND), deed=Deed.WROTE)] * 2
    plain = train(0, seed=5, course=SMALL)
    weights = train(0, seed=5, course=SMALL, escalated=cases)
    assert weights.people == 2
    assert weights.values != plain.values


def test_nobody_to_learn_from_changes_nothing() -> None:
    before = imitated(Always(), 3, SMALL)
    assert (taught(before, [], SMALL) == before).all()
