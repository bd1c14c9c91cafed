"""One question from its beginning to its end: what is done, and that it always ends."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.errors import PermanentError, SupportAgentError, ToolCallRejected, TransientError
from support_agent.facts.inquiry.loop import Retrieval, advance, inquire
from support_agent.facts.inquiry.memory import Check, Ending, FailedCheck, Memory, Utility, begin
from support_agent.facts.inquiry.policy import ACTIONS, FEATURES, Action, InquiryLimits, Softmax, always
from support_agent.tools.fact_trace import Evidence

LIMITS = InquiryLimits(retrievals=2, drafts=2)
HERE = Evidence(source="document:1", first=3, last=3, grade=0.03)
SOUND = Utility(supported=0.9, answers=0.9)
WRONG = Utility(failures=(FailedCheck(check=Check.NUMBER, token="8"),))


@dataclass
class ScriptedMeans:
    """Finds one passage, writes queued drafts that are worth what is queued; `told` keeps the feedback of each."""

    drafts: list[str | Exception]
    worths: list[Utility]
    told: list[tuple[str, ...]] = field(default_factory=list)

    def retrieve(self, memory: Memory) -> Retrieval:
        return Retrieval((HERE,))

    def write(self, memory: Memory) -> str:
        self.told.append(memory.feedback)
        draft = self.drafts.pop(0)
        if isinstance(draft, Exception):
            raise draft
        return draft

    def evaluate(self, memory: Memory) -> Utility:
        return self.worths.pop(0)


def test_a_good_draft_is_answered_with_pointers() -> None:
    """Rule: what the question ends with is evidence by position; the draft was for us."""
    memory = inquire(begin("case", "How much?"), always(LIMITS), ScriptedMeans(["9 euros."], [SOUND])).memory
    assert memory.ending is Ending.ANSWERED
    assert memory.evidence == (HERE,)


def test_what_was_wrong_is_known_to_the_next_draft() -> None:
    """Rule: feedback in the program's words, and none is left after a draft that passed."""
    means = ScriptedMeans(["8 euros.", "9 euros."], [WRONG, SOUND])
    memory = inquire(begin("case", "How much?"), always(LIMITS), means).memory
    assert memory.ending is Ending.ANSWERED
    assert means.told[0] == ()
    assert "number 8" in means.told[1][0]
    assert memory.feedback == ()


def test_drafts_that_stay_wrong_end_with_a_person_and_the_evidence() -> None:
    memory = inquire(begin("case", "How much?"), always(LIMITS), ScriptedMeans(["8."] * 2, [WRONG] * 2)).memory
    assert memory.ending is Ending.ESCALATED
    assert memory.evidence == (HERE,)
    assert len(memory.drafts) == 2


@pytest.mark.parametrize("error", [PermanentError("too long"), ToolCallRejected("neither"), TransientError("busy")])
def test_what_fails_hands_over_what_was_found(error: SupportAgentError) -> None:
    """Rule: fails closed, says why, and the person finds the evidence."""
    inquiry = inquire(begin("case", "How much?"), always(LIMITS), ScriptedMeans([error], []))
    assert inquiry.memory.ending is Ending.ESCALATED
    assert inquiry.memory.evidence == (HERE,)
    assert inquiry.error is error


def test_a_defect_hands_over_what_was_found() -> None:
    """Rule: what no error of ours foresees costs the answer, and not the evidence; it says no more than its type."""
    inquiry = inquire(begin("case", "How much?"), always(LIMITS), ScriptedMeans([RuntimeError("the draft says")], []))
    assert inquiry.memory.ending is Ending.ESCALATED
    assert inquiry.memory.evidence == (HERE,)
    assert inquiry.error is not None
    assert (inquiry.error.code, "the draft says" in str(inquiry.error)) == ("defect", False)


@pytest.mark.parametrize("action", [Action.DRAFT, Action.ANSWER])
def test_what_is_not_possible_is_not_done(action: Action) -> None:
    """A policy that asks for an answer without evidence gets a person."""
    means = ScriptedMeans([], [])
    memory = advance(begin("case", "?"), action, means, LIMITS)
    assert memory.ending is Ending.ESCALATED
    assert means.told == []


class AnyMeans:
    """Finds, writes and judges as drawn."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def retrieve(self, memory: Memory) -> Retrieval:
        found = [Evidence(source=f"document:{n}", first=0, last=0) for n in range(self.random.integers(3))]
        return Retrieval(found, is_web=self.random.random() < 0.5)

    def write(self, memory: Memory) -> str:
        return "A draft."

    def evaluate(self, memory: Memory) -> Utility:
        failures = (FailedCheck(check=Check.NAME),) if self.random.random() < 0.5 else ()
        return Utility(failures=failures, supported=self.random.random(), answers=self.random.random())


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4))
def test_every_policy_ends_within_its_limits(seed: int, looks: int, drafts: int) -> None:
    """Rule: whatever the weights are, and an answer has evidence and a sound last draft."""
    values = np.random.default_rng(seed).normal(0, 5, size=(len(ACTIONS), len(FEATURES)))
    policy = Softmax(values, InquiryLimits(retrievals=looks, drafts=drafts), "any")
    memory = inquire(begin("case", "?"), policy, AnyMeans(seed)).memory
    assert memory.ending is not None
    assert len(memory.retrievals) <= looks
    assert len(memory.drafts) == len(memory.utilities) <= drafts
    if memory.ending is Ending.ANSWERED:
        assert memory.evidence
        assert memory.utilities[-1].is_sound
