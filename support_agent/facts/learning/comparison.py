"""A trained policy beside the rules, on simulated users that it has not met.

Invariant: all of them meet the same people. Checked by tests/unit/facts/learning/test_comparison.py.
"""

from __future__ import annotations

from pathlib import Path

from support_agent.facts.inquiry.policy import Always, Never, SelfAsk
from support_agent.facts.learning.policy_weights import PolicyWeights
from support_agent.facts.learning.simulator import Measured, World, measure
from support_agent.frozen import Frozen

USERS = 500
"""Held-out users that each policy is measured on; about two seconds a policy on one core."""
TRAINED = "trained"


class TrainedPolicy(Frozen):
    """A file of weights: how it was made, and how it does; `measured` begins with it, the rules follow."""

    policy_file: Path
    episodes: int
    seed: int
    people: int
    measured: tuple[Measured, ...]


def compared(weights: PolicyWeights, *, users: int = USERS, world: World | None = None) -> tuple[Measured, ...]:
    """How the weights and the rules, with the same limits, do on so many held-out users, 2 or more."""
    seed, limits = weights.seed, weights.limits
    trained = measure(lambda _: weights.policy(), seed=seed, users=users, world=world)
    return (
        trained.model_copy(update={"policy": TRAINED}),  # the name of weights is 64 hex digits
        measure(lambda _: Never(limits), seed=seed, users=users, world=world),
        measure(lambda model: SelfAsk(model, limits), seed=seed, users=users, world=world),
        measure(lambda _: Always(limits), seed=seed, users=users, world=world),
    )
