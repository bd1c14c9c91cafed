"""The policy that the settings name is the one that decides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support_agent.config.facts import FactSettings, PolicyKind
from support_agent.errors import ConfigError
from support_agent.facts.inquiry.memory import begin, with_evidence
from support_agent.facts.inquiry.policy import ACTIONS, FEATURES, Action, InquiryLimits, choice
from support_agent.facts.learning.configured_policy import policy_for
from support_agent.facts.learning.policy_weights import save, weights_of
from support_agent.models.judge import Grade
from support_agent.models.language_model import Usage
from support_agent.models.writer import Material
from support_agent.tools.fact_trace import Evidence


class SureJudge:
    """Says yes to everything, and counts."""

    def __init__(self) -> None:
        self.asked = 0

    def yes(self, question: str, material: Material) -> Grade:
        self.asked += 1
        return Grade(probability=0.9, usage=Usage())


@pytest.mark.parametrize(
    ("kind", "policy", "asked"), [(PolicyKind.ALWAYS, "always", 0), (PolicyKind.SELF_ASK, "self-ask", 1)]
)
def test_a_rule_decides_with_the_limits_it_is_given(kind: PolicyKind, policy: str, asked: int) -> None:
    judge = SureJudge()
    chosen = policy_for(FactSettings(policy=kind))(judge, InquiryLimits(retrievals=2))
    assert chosen.name == policy
    assert chosen.limits == InquiryLimits(retrievals=2)
    assert choice(chosen, begin("case", "How much?")) is Action.ACQUIRE
    assert judge.asked == asked


def test_never_looks_for_nothing() -> None:
    chosen = policy_for(FactSettings(policy=PolicyKind.NEVER))(SureJudge(), InquiryLimits())
    assert chosen.name == "never"
    assert choice(chosen, begin("case", "How much?")) is Action.ESCALATE


def test_a_trained_policy_decides_by_its_file(tmp_path: Path) -> None:
    """Rule: its limits are those it was trained for, where no narrower ones are set."""
    values = np.zeros((len(ACTIONS), len(FEATURES)))
    values[ACTIONS.index(Action.ESCALATE), 0] = 5.0
    weights = weights_of(values, limits=InquiryLimits(drafts=1), episodes=0, seed=1, people=0)
    settings = FactSettings(policy=PolicyKind.TRAINED, policy_file=save(weights, tmp_path))
    chosen = policy_for(settings)(SureJudge(), InquiryLimits(retrievals=2))
    assert (chosen.name, chosen.limits) == (weights.name, InquiryLimits(retrievals=2, drafts=1))
    assert choice(chosen, begin("case", "How much?")) is Action.ESCALATE


def test_a_policy_file_cannot_answer_without_a_graded_draft(tmp_path: Path) -> None:
    """Failure: a file whose limits allow no draft made evidence alone an answer, and one with wide limits lifted them.

    Its checksum holds: whoever makes such a file can name it, too.
    """
    values = np.zeros((len(ACTIONS), len(FEATURES)))
    values[ACTIONS.index(Action.ANSWER), 0] = 5.0
    weights = weights_of(values, limits=InquiryLimits(retrievals=11, drafts=0), episodes=0, seed=1, people=0)
    settings = FactSettings(policy=PolicyKind.TRAINED, policy_file=save(weights, tmp_path))
    chosen = policy_for(settings)(SureJudge(), InquiryLimits(retrievals=2, drafts=2))
    assert chosen.limits == InquiryLimits(retrievals=2, drafts=2)
    found = with_evidence(begin("case", "How much?"), [Evidence(source="document:1", first=0, last=0)])
    assert chosen.probabilities(found)[ACTIONS.index(Action.ANSWER)] == 0


def test_a_trained_policy_without_its_file_is_refused(tmp_path: Path) -> None:
    """Rule: the program stops at its start, not at the first mail."""
    settings = FactSettings(policy=PolicyKind.TRAINED, policy_file=tmp_path / "policy-x.json")
    with pytest.raises(ConfigError, match="train the policy again"):
        policy_for(settings)
    with pytest.raises(ConfigError, match="facts train"):
        policy_for(settings.model_copy(update={"policy_file": None}))
