"""Trains the softmax policy: from the rules, then with simulated users, then from what people did.

1. Imitation: the weights that make a rule's actions likeliest on what that rule meets.
2. REINFORCE: episodes are drawn with the policy's own probabilities; what came of an action, less what its state was
   worth on average, moves its probability.
3. People: where a person took over, what they did says what the policy should have done.

Invariant: the same episodes, seed and cases give the same weights, and no held-out user is met. Checked by
tests/unit/facts/learning/test_training.py.
Source: LLM-Augmenter (Peng et al. 2023), policy learning; REINFORCE with a baseline (Williams 1992, equation 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.random import Generator
from pydantic import Field

from support_agent.facts.inquiry.memory import Ending, Memory
from support_agent.facts.inquiry.policy import (
    ACTIONS,
    FEATURES,
    Action,
    Always,
    Floats,
    Limits,
    Policy,
    Softmax,
    features,
    possible,
    softmax,
)
from support_agent.facts.learning.policy_weights import PolicyWeights, weights_of
from support_agent.facts.learning.simulator import Episode, Split, World, case_of, user_of
from support_agent.frozen import Frozen


class Deed(StrEnum):
    """What a person did with an escalated question."""

    SENT_EVIDENCE = "sent_evidence"
    """Answered with what the evidence pointed to: nobody was needed."""
    SENT_OTHER = "sent_other"
    """Answered with a document that the evidence had not found."""
    WROTE = "wrote"
    """Wrote an answer of their own: a person was needed."""


class EscalatedCase(Frozen):
    """A memory as it was when its question was handed over, and what the person did."""

    memory: Memory
    """Of a question that has not ended; see `handed_over`."""
    deed: Deed


class Course(Frozen):
    """How training goes; the defaults were chosen on users of the training split."""

    limits: Limits = Limits()
    world: World = World()
    imitated: int = Field(default=150, ge=1)
    """Simulated users whose questions a rule answers first, to be imitated."""
    imitation_steps: int = Field(default=300, ge=0)
    imitation_rate: float = 2.0
    tries: int = Field(default=4, ge=2)
    """Cases of one user; each is compared with the others, so that a hard question is nobody's fault."""
    batch: int = Field(default=20, ge=1)
    """Users between two changes of the weights."""
    rate: float = 2.0
    entropy: float = 0.01
    """Weight of staying undecided, so that training does not settle too early."""
    people_steps: int = Field(default=50, ge=0)
    people_rate: float = 0.1


def train(
    episodes: int, seed: int, *, course: Course | None = None, escalated: Sequence[EscalatedCase] = ()
) -> PolicyWeights:
    """Train a policy.

    Args:
        episodes: Simulated cases met after imitation, 0 or more; 8,000 take about half a minute on one core.
        seed: Of everything that is drawn, 0 or more.
        course: How training goes.
        escalated: What people did, the oldest first.
    Returns:
        Weights with all that is needed to make them again, but the escalated cases.
    """
    course = course or Course()
    weights = imitated(Always(course.limits), seed, course)
    weights = reinforced(weights, episodes, seed, course)
    weights = taught(weights, escalated, course)
    return weights_of(weights, limits=course.limits, episodes=episodes, seed=seed, people=len(escalated))


def imitated(rule: Policy, seed: int, course: Course) -> Floats:
    """Weights, of shape (actions, features), that do what the rule does, where features allow it."""
    users = (user_of(Split.TRAINING, seed, number, course.world) for number in range(course.imitated))
    steps = [step for user in users for episode in case_of(user, rule) for step in episode.steps]
    rows = np.array([features(step.memory, course.limits) for step in steps])
    open_ = np.array([possible(step.memory, course.limits) for step in steps])
    done = np.array([[step.action is action for action in ACTIONS] for step in steps], dtype=np.float64)
    weights = np.zeros((len(ACTIONS), len(FEATURES)))
    for _ in range(course.imitation_steps):
        wrong = done - softmax(rows @ weights.T, open_)
        weights += course.imitation_rate * wrong.T @ rows / len(rows)
    return weights


def reinforced(weights: Floats, episodes: int, seed: int, course: Course) -> Floats:
    """The weights after so many more simulated cases."""
    drawn = np.random.default_rng([seed, 1])

    def pick(policy: Policy, memory: Memory) -> Action:
        return sampled(policy, memory, drawn)

    n_users = episodes // course.tries
    for start in range(0, n_users, course.batch):
        policy = Softmax(weights, course.limits, "in training")
        gradients = [np.zeros_like(weights)]
        for number in range(start, min(start + course.batch, n_users)):
            users = [user_of(Split.TRAINING, seed, course.imitated + number, course.world) for _ in range(course.tries)]
            gradients += _gradients(policy, [list(case_of(user, policy, pick)) for user in users], course)
        weights = weights + course.rate * np.sum(gradients, axis=0) / max(len(gradients) - 1, 1)
    return weights


def taught(weights: Floats, escalated: Sequence[EscalatedCase], course: Course) -> Floats:
    """The weights after learning from people: more likely what they showed, as far as it was possible."""
    shown = [(case.memory, _shown(case, course.limits)) for case in escalated]
    if not shown:
        return weights
    rows = np.array([features(memory, course.limits) for memory, _ in shown])
    open_ = np.array([possible(memory, course.limits) for memory, _ in shown])
    done = np.array([[action is each for each in ACTIONS] for _, action in shown], dtype=np.float64)
    weights = weights.copy()
    for _ in range(course.people_steps):
        weights += course.people_rate * (done - softmax(rows @ weights.T, open_)).T @ rows / len(rows)
    return weights


def handed_over(memory: Memory) -> Memory | None:
    """The memory as it was when the policy handed its question over; None: it did not.

    An ended question looks, to `features` and `possible`, like one that nothing was written on.
    """
    if memory.ending is not Ending.ESCALATED:
        return None
    return Memory(**{**dict(memory), "history": memory.history[:-1], "ending": None})


def sampled(policy: Policy, memory: Memory, drawn: Generator) -> Action:
    """An action by the policy's probabilities."""
    sums = np.cumsum(policy.probabilities(memory))
    index = int(np.searchsorted(sums, drawn.random() * sums[-1], side="right"))
    return ACTIONS[min(index, len(ACTIONS) - 1)]


def returns(episode: Episode) -> tuple[float, ...]:
    """What came of each step: its reward and all after it, undiscounted; the first is the episode's total."""
    rewards = np.array([step.reward for step in episode.steps])
    return tuple(float(value) for value in rewards[::-1].cumsum()[::-1])


def _gradients(policy: Softmax, cases: Sequence[Sequence[Episode]], course: Course) -> list[Floats]:
    """The policy gradient of each episode; what the same user's other cases came to is what it is compared with."""
    gradients = []
    for index, case in enumerate(cases):
        others = [other for number, other in enumerate(cases) if number != index]
        for nth, episode in enumerate(case):
            baseline = float(np.mean([other[nth].total for other in others]))
            gradients.append(_gradient(policy, episode, baseline, course))
    return gradients


def _gradient(policy: Softmax, episode: Episode, baseline: float, course: Course) -> Floats:
    """Each action's log-probability, by how much more came of it than of others, and a little for staying undecided."""
    gradient = np.zeros_like(policy.weights)
    for step, came in zip(episode.steps, returns(episode), strict=True):
        row = features(step.memory, course.limits)
        shares = np.array(policy.probabilities(step.memory))
        chosen = np.array([step.action is action for action in ACTIONS], dtype=np.float64)
        surprise = -np.log(np.maximum(shares, 1e-12))
        undecided = shares * (surprise - float(shares @ surprise))
        gradient += np.outer((came - baseline) * (chosen - shares) + course.entropy * undecided, row)
    return gradient


def _shown(case: EscalatedCase, limits: Limits) -> Action:
    """What the policy should have done where it gave up; giving up, where that was not possible."""
    may_look, may_draft, may_answer, _ = possible(case.memory, limits)
    match case.deed:
        case Deed.SENT_EVIDENCE if may_answer:
            return Action.ANSWER
        case Deed.SENT_EVIDENCE if may_draft:
            return Action.DRAFT
        case Deed.SENT_OTHER if may_look:
            return Action.ACQUIRE
    return Action.ESCALATE
