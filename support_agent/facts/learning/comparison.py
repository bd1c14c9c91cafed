"""Trains a policy, and compares it with the rules and with chance on other recorded cases.

Invariant: all policies get the same questions. Checked by tests/unit/facts/learning/test_comparison.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from support_agent.core.frozen import Frozen
from support_agent.facts.inquiry.memory import Memory
from support_agent.facts.inquiry.policy import ACTIONS, FEATURES, Action, Policy, Softmax, always, never, self_ask
from support_agent.facts.learning.policy_weights import PolicyWeights, save
from support_agent.facts.learning.recorded import Measured, RecordedCase, measure
from support_agent.facts.learning.training import EscalatedCase, sampled, trained

TRAINED = "trained"
Point = tuple[float, float]


class TrainedPolicy(Frozen):
    """A file of weights, its origin and its results; `measured` starts with it, then come the rules.

    It learned from `recorded` cases, none of which is measured.
    """

    policy_file: Path
    recorded: int
    episodes: int
    seed: int
    people: int
    measured: tuple[Measured, ...]


def train_policy(
    learned: Sequence[RecordedCase],
    held_out: Sequence[RecordedCase],
    escalated: Sequence[EscalatedCase],
    episodes: int,
    seed: int,
    folder: Path,
) -> tuple[TrainedPolicy, list[Point]]:
    """Train a policy, write its weights, and compare it on other cases; returns the learning curve on these, too.

    Raises:
        ConfigError: the weights cannot be written.
    """
    course = tuple(trained(learned, episodes, seed, escalated=escalated))
    measured = compared(course[-1], held_out)  # before the weights are written: it may fail
    policy = TrainedPolicy(
        policy_file=save(course[-1], folder.absolute()),
        recorded=len(learned),
        episodes=episodes,
        seed=seed,
        people=len(escalated),
        measured=measured,
    )
    return policy, rewards_of(course, held_out)


def compared(weights: PolicyWeights, cases: Sequence[RecordedCase]) -> tuple[Measured, ...]:
    """Measure the weights, the rules and chance on these cases, 2 or more, within the same limits."""
    limits = weights.limits
    drawn = np.random.default_rng([weights.seed, 2])
    chance = Softmax(np.zeros((len(ACTIONS), len(FEATURES))), limits, "random")

    def pick(policy: Policy, memory: Memory) -> Action:
        return sampled(policy, memory, drawn)

    return (
        _trained(weights, cases),
        measure("always", lambda _: always(limits), cases),
        measure("self-ask", lambda model: self_ask(model, limits), cases),
        measure("never", lambda _: never(limits), cases),
        measure("random", lambda _: chance, cases, pick),
    )


def rewards_of(course: Sequence[PolicyWeights], cases: Sequence[RecordedCase]) -> list[Point]:
    """The learning curve: episodes of training, and the mean reward on these cases after them."""
    return [(weights.episodes, _trained(weights, cases).reward) for weights in course]


def _trained(weights: PolicyWeights, cases: Sequence[RecordedCase]) -> Measured:
    policy = weights.policy()
    return measure(TRAINED, lambda _: policy, cases)
