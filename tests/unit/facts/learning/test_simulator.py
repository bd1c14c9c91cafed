"""Simulated users: the same from the same seed, measured on others than are learned from, and paid what is due."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from support_agent.facts.inquiry.memory import Ending, Evidence, Memory, begin, ended
from support_agent.facts.inquiry.policy import ACTIONS, Action, Always, Never, Policy, SelfAsk
from support_agent.facts.learning.simulator import (
    Outcome,
    Rewards,
    Split,
    User,
    World,
    case_of,
    measure,
    play,
    summed,
    user_of,
)
from support_agent.facts.learning.training import returns, sampled

WORLD = World()
SURE = World(blur=0.0, slip=0.0, doubt=0.0, names_product=1.0, asks_again=0.0)
"""Where nothing goes wrong by chance."""


def users(split: Split, seed: int, world: World = WORLD, n: int = 30) -> list[User]:
    return [user_of(split, seed, number, world) for number in range(n)]


def fingerprint(user: User) -> tuple[str, ...]:
    """What the user asks first, and what the company's documents say."""
    return (user.ask(is_first=True), *(sentence.text for sentence in user.sentences.values()))


def test_a_user_is_the_same_from_the_same_seed() -> None:
    again = [list(case_of(user, Always())) for user in users(Split.TRAINING, 3)]
    assert [list(case_of(user, Always())) for user in users(Split.TRAINING, 3)] == again


def test_no_held_out_user_is_one_that_is_learned_from() -> None:
    """Rule: a policy is measured on people it has not met, at other companies."""
    groups = [users(split, seed) for split in Split for seed in (3, 4)]
    seen = {fingerprint(user) for group in groups for user in group}
    assert len(seen) == sum(map(len, groups))


def test_rewards_add_up_to_what_was_spent_and_what_came_of_it() -> None:
    """Rule: nothing is paid twice or for nothing: looks, drafts and one outcome a question."""
    drawn = np.random.default_rng(1)

    def pick(policy: Policy, memory: Memory) -> Action:
        return sampled(policy, memory, drawn) if drawn.random() < 0.8 else any_of(drawn)

    rewards = Rewards(helped=100, misled=-1000, handed_over=10, made_to_wait=-10, look=-1, draft=-0.1)
    episodes = [
        episode
        for user in users(Split.TRAINING, 3, WORLD.model_copy(update={"rewards": rewards}), n=60)
        for episode in case_of(
            user, Always(), lambda p, m: sampled(p, m, drawn) if drawn.random() < 0.8 else any_of(drawn)
        )
    ]
    assert {episode.outcome for episode in episodes} >= {Outcome.HELPED, Outcome.HANDED_OVER, Outcome.MADE_TO_WAIT}
    for episode in episodes:
        looks, drafts = len(episode.memory.looks), len(episode.memory.drafts)
        due = -1.0 * looks - 0.1 * drafts + getattr(rewards, episode.outcome)
        assert episode.total == pytest.approx(due)
        assert returns(episode)[0] == pytest.approx(due)
        assert returns(episode)[-1] == episode.steps[-1].reward


def any_of(drawn: np.random.Generator) -> Action:
    """Also what is not possible: then the question ends, and nothing is paid for what was not done."""
    return ACTIONS[int(drawn.integers(len(ACTIONS)))]


def test_an_outcome_is_what_the_user_got() -> None:
    """Rule: an answer without the sentence that answers misleads, whatever else it holds."""
    answered = next(user for user in users(Split.TRAINING, 3) if user.ask(is_first=True) and user.gold)
    gold = answered.gold
    assert gold is not None
    right = Evidence(source=gold.source, first=gold.first, last=gold.last)
    wrong = Evidence(source=gold.source, first=gold.first + 1, last=gold.first + 1)

    def outcome(user: User, evidence: tuple[Evidence, ...], ending: Ending) -> Outcome:
        return user.outcome(ended(begin("case", user.question, evidence), ending))

    assert outcome(answered, (wrong, right), Ending.ANSWERED) is Outcome.HELPED
    assert outcome(answered, (wrong,), Ending.ANSWERED) is Outcome.MISLED
    assert outcome(answered, (right,), Ending.ESCALATED) is Outcome.MADE_TO_WAIT
    unanswerable = next(user for user in users(Split.TRAINING, 3) if user.ask(is_first=True) and not user.gold)
    assert outcome(unanswerable, (right,), Ending.ANSWERED) is Outcome.MISLED
    assert outcome(unanswerable, (), Ending.ESCALATED) is Outcome.HANDED_OVER


def test_where_nothing_goes_wrong_always_helps_everybody_who_can_be_helped() -> None:
    """The parts of the program fit each other: linker, chainer, checks and memory, on a retriever that is right."""
    episodes = [episode for user in users(Split.TRAINING, 5, SURE, n=60) for episode in case_of(user, Always())]
    outcomes = {episode.outcome for episode in episodes}
    assert outcomes == {Outcome.HELPED, Outcome.HANDED_OVER}
    helped = [episode for episode in episodes if episode.outcome is Outcome.HELPED]
    assert all(len({each.source for each in episode.memory.evidence}) == 1 for episode in helped), "one product each"


def test_a_wrong_number_is_seen_and_written_less_often_after_feedback() -> None:
    """The rule check sees each slip, for the number stands in no evidence, and feedback reaches the writer."""
    world = SURE.model_copy(update={"slip": 1.0})
    failed = {False: 0, True: 0}
    drafted = {False: 0, True: 0}
    for user in users(Split.TRAINING, 5, world, n=60):
        for episode in case_of(user, Always()):
            for nth, utility in enumerate(episode.memory.utilities[:2]):
                drafted[nth > 0] += 1
                failed[nth > 0] += any(failure.check == "number" for failure in utility.failures)
    assert failed[False] >= 0.9 * drafted[False] > 0
    assert failed[True] < 0.6 * drafted[True]


def test_never_finds_nothing_and_self_ask_asks_the_users_model() -> None:
    never = measure(lambda model: Never(), seed=1, users=40)
    self_ask = measure(lambda model: SelfAsk(model), seed=1, users=40)
    assert (never.looks, never.drafts, never.outcomes[Outcome.HELPED]) == (0, 0, 0)
    assert self_ask.looks > 0
    assert sum(self_ask.outcomes.values()) == pytest.approx(1)
    assert never.questions == self_ask.questions, "both meet the same people"


def test_a_later_question_is_about_the_same_product() -> None:
    """Rule: one case, one memory; what the first question found and bears on the second is known from the start."""
    world = SURE.model_copy(update={"asks_again": 1.0})
    cases = [list(case_of(user, Always())) for user in users(Split.TRAINING, 5, world)]
    assert all(len(case) == 2 for case in cases)
    helped = [second for _, second in cases if second.outcome is Outcome.HELPED]
    assert len(helped) > len(cases) / 4
    for first, second in cases:
        assert second.memory.history[: len(first.memory.history)] == first.memory.history
        assert second.memory.earlier_questions == (first.memory.question,)


def test_a_policy_that_only_wants_what_is_not_possible_gets_a_person() -> None:
    class Hasty:
        name, limits = "hasty", Always().limits

        def probabilities(self, memory: Memory) -> tuple[float, ...]:
            return (0.0, 0.0, 1.0, 0.0)

    user = users(Split.TRAINING, 3)[0]
    episode = play(user, begin("case", user.ask(is_first=True)), cast(Policy, Hasty()))
    assert (episode.memory.ending, episode.memory.evidence) == (Ending.ESCALATED, ())


def test_the_standard_error_is_that_of_the_mean() -> None:
    episodes = [episode for user in users(Split.TRAINING, 3) for episode in case_of(user, Always())]
    totals = np.array([episode.total for episode in episodes])
    measured = summed("always", episodes)
    assert measured.reward == pytest.approx(float(totals.mean()))
    assert measured.standard_error == pytest.approx(float(np.sqrt(totals.var(ddof=1) / len(totals))))
