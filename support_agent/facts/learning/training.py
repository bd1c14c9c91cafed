"""Trains the softmax policy: from a rule, then on recorded cases, then from human feedback.

1. Imitation: fit the weights to the actions of a rule in the states that the rule reaches.
2. REINFORCE: play recorded cases with the policy's own probabilities; the return of an action, minus the mean return
   of the case's other plays, changes its probability.
3. People: for an escalated case, the person's action shows what the policy should have done.

Invariant: the same episodes, seed and cases give the same weights. Checked by
tests/unit/facts/learning/test_training.py.
Source: LLM-Augmenter (Peng et al. 2023), policy learning; REINFORCE with a baseline (Williams 1992, equation 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

import numpy as np
from numpy.random import Generator
from pydantic import Field

from support_agent.core.frozen import Frozen
from support_agent.facts.inquiry.memory import Ending, Memory
from support_agent.facts.inquiry.policy import (
    ACTIONS,
    FEATURES,
    Action,
    Floats,
    InquiryLimits,
    Policy,
    Softmax,
    always,
    features,
    possible,
    softmax,
)
from support_agent.facts.learning.policy_weights import PolicyWeights, weights_of
from support_agent.facts.learning.recorded import Episode, RecordedCase, play, returns


class ReviewOutcome(StrEnum):
    """A person's handling of an escalated question."""

    SENT_EVIDENCE = "sent_evidence"
    """Answered with the evidence: no person was needed."""
    SENT_OTHER = "sent_other"
    """Answered with a document that is not in the evidence."""
    WROTE = "wrote"
    """Wrote another answer: a person was needed."""


class EscalatedCase(Frozen):
    """A memory at the time of the escalation, and what the person did."""

    memory: Memory
    """The memory of a question that has not ended; see `before_escalation`."""
    outcome: ReviewOutcome


class Course(Frozen):
    """The parameters of training."""

    imitation_steps: int = Field(default=20, ge=0)
    """Few steps: training starts close to the rule, but still tries other actions."""
    imitation_rate: float = 0.2
    tries: int = Field(default=4, ge=2)
    """Plays per case; each is compared with the others, so that hard questions do not count against an action."""
    batch: int = Field(default=20, ge=1)
    """Cases per change of the weights."""
    rate: float = 2.0
    entropy: float = 0.1
    """Weight of the entropy, so that training does not converge too early."""
    people_steps: int = Field(default=50, ge=0)
    people_rate: float = 0.1


def trained(
    cases: Sequence[RecordedCase],
    episodes: int,
    seed: int,
    *,
    course: Course | None = None,
    escalated: Sequence[EscalatedCase] = (),
) -> Iterator[PolicyWeights]:
    """Train a policy: its weights after imitation and after each batch; the last ones include human feedback.

    Args:
        cases: 1 or more, of the same limits.
        episodes: Plays after imitation, 0 or more.
        seed: Seed of all random numbers, 0 or more.
        course: The parameters.
        escalated: What people did, the oldest first.
    """
    course, limits = course or Course(), cases[0].limits

    def saved(values: Floats, done: int, people: int = 0) -> PolicyWeights:
        return weights_of(values, limits=limits, episodes=done, seed=seed, people=people)

    weights = imitated(always(limits), cases, course)
    yield saved(weights, 0)
    for done, learned in reinforced(weights, cases, episodes, seed, course):
        weights = learned
        yield saved(weights, done)
    yield saved(taught(weights, escalated, limits, course), episodes, len(escalated))


def imitated(rule: Policy, cases: Sequence[RecordedCase], course: Course) -> Floats:
    """Weights, shape (actions, features), that imitate the rule as far as the features allow."""
    steps = [step for case in cases for step in play(case, rule).steps]
    shown = [(step.memory, step.action) for step in steps]
    start = np.zeros((len(ACTIONS), len(FEATURES)))
    return _fitted(start, shown, rule.limits, course.imitation_steps, course.imitation_rate)


def reinforced(
    weights: Floats, cases: Sequence[RecordedCase], episodes: int, seed: int, course: Course
) -> Iterator[tuple[int, Floats]]:
    """The number of plays and the weights after each batch."""
    drawn = np.random.default_rng([seed, 1])

    def pick(policy: Policy, memory: Memory) -> Action:
        return sampled(policy, memory, drawn)

    for start in range(0, episodes // course.tries, course.batch):
        policy = Softmax(weights, cases[0].limits, "in training")
        numbers = range(start, min(start + course.batch, episodes // course.tries))
        gradient = np.zeros_like(weights)
        for case in (cases[int(drawn.integers(len(cases)))] for _ in numbers):
            gradient += _gradient([play(case, policy, pick) for _ in range(course.tries)], policy, course)
        weights = weights + course.rate * gradient / (len(numbers) * course.tries)
        yield numbers.stop * course.tries, weights


def taught(weights: Floats, escalated: Sequence[EscalatedCase], limits: InquiryLimits, course: Course) -> Floats:
    """The weights after learning from people: their actions become likelier, if they were possible."""
    shown = [(case.memory, _shown(case, limits)) for case in escalated]
    return _fitted(weights, shown, limits, course.people_steps, course.people_rate) if shown else weights


def _fitted(
    weights: Floats, shown: Sequence[tuple[Memory, Action]], limits: InquiryLimits, steps: int, rate: float
) -> Floats:
    """The weights after some gradient steps towards these actions."""
    rows = np.array([features(memory, limits) for memory, _ in shown])
    open_ = np.array([possible(memory, limits) for memory, _ in shown])
    done = np.array([[action is each for each in ACTIONS] for _, action in shown], dtype=np.float64)
    for _ in range(steps):
        weights = weights + rate * (done - softmax(rows @ weights.T, open_)).T @ rows / len(rows)
    return weights


def before_escalation(memory: Memory) -> Memory | None:
    """The memory before the policy escalated its question; None: it did not escalate.

    For `features` and `possible`, an ended question looks like one without drafts.
    """
    if memory.ending is not Ending.ESCALATED:
        return None
    return Memory(**{**dict(memory), "history": memory.history[:-1], "ending": None})


def sampled(policy: Policy, memory: Memory, drawn: Generator) -> Action:
    """Draw an action by the policy's probabilities."""
    sums = np.cumsum(policy.probabilities(memory))
    index = int(np.searchsorted(sums, drawn.random() * sums[-1], side="right"))
    return ACTIONS[min(index, len(ACTIONS) - 1)]


def _gradient(plays: Sequence[Episode], policy: Softmax, course: Course) -> Floats:
    """The gradient: each action's log-probability times its advantage over the case's other plays, plus a small entropy
    term.
    """
    gradient = np.zeros_like(policy.weights)
    whole = sum(one.total for one in plays)
    for one in plays:
        baseline = (whole - one.total) / (len(plays) - 1)
        for step, came in zip(one.steps, returns(one), strict=True):
            row = features(step.memory, policy.limits)
            shares = np.array(policy.probabilities(step.memory))
            chosen = np.array([step.action is action for action in ACTIONS], dtype=np.float64)
            surprise = -np.log(np.maximum(shares, 1e-12))
            undecided = shares * (surprise - float(shares @ surprise))
            gradient += np.outer((came - baseline) * (chosen - shares) + course.entropy * undecided, row)
    return gradient


def _shown(case: EscalatedCase, limits: InquiryLimits) -> Action:
    """The action that the policy should have taken in place of escalating; escalating, if that was impossible."""
    may_retrieve, may_draft, may_answer, _ = possible(case.memory, limits)
    match case.outcome:
        case ReviewOutcome.SENT_EVIDENCE if may_answer:
            return Action.ANSWER
        case ReviewOutcome.SENT_EVIDENCE if may_draft:
            return Action.DRAFT
        case ReviewOutcome.SENT_OTHER if may_retrieve:
            return Action.ACQUIRE
    return Action.ESCALATE
