"""The loop for one question: the policy chooses an action, the means do it, the memory records it.

Invariant: it ends with an answer or with a person, and keeps all evidence, even if the model or a source fails. Checked
by tests/unit/facts/inquiry/test_loop.py.
Source: LLM-Augmenter (Peng et al. 2023), figure 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, assert_never

import structlog

from support_agent.errors import PermanentError, SupportAgentError, raised_at
from support_agent.facts.inquiry.memory import (
    Ending,
    Memory,
    Utility,
    ended,
    with_draft,
    with_evidence,
    with_utility,
)
from support_agent.facts.inquiry.policy import ACTIONS, Action, InquiryLimits, Policy, choice, possible
from support_agent.facts.inquiry.utility import feedback_of
from support_agent.tools.fact_trace import Evidence

log = structlog.get_logger(__name__)
Pick = Callable[[Policy, Memory], Action]


class Retrieval(NamedTuple):
    """The evidence of one retrieval, from the documents or the web."""

    found: Sequence[Evidence]
    is_web: bool = False


class Means(Protocol):
    """Carries out the actions of a policy."""

    def retrieve(self, memory: Memory) -> Retrieval:
        """Evidence for the question, by one more retrieval."""
        ...

    def write(self, memory: Memory) -> str:
        """A draft from the evidence and the feedback."""
        ...

    def evaluate(self, memory: Memory) -> Utility:
        """The evaluation of the last draft."""
        ...


@dataclass(frozen=True)
class Inquiry:
    """How a question ended, and the error that ended it, if one did."""

    memory: Memory
    error: SupportAgentError | None = None


def inquire(memory: Memory, policy: Policy, means: Means, pick: Pick = choice) -> Inquiry:
    """Work on the current question until it ends; a failure escalates it.

    Args:
        memory: Of a question that has not ended.
        policy: Chooses what to do.
        means: Carries out the actions.
        pick: Chooses an action by the policy's probabilities.
    """
    for _ in range(2 * policy.limits.retrievals + policy.limits.drafts + 1):  # the web once for each question asked
        try:
            memory = advance(memory, pick(policy, memory), means, policy.limits)
        except SupportAgentError as error:
            return Inquiry(ended(memory, Ending.ESCALATED), error)
        except Exception as error:  # of a library, or of ours: the evidence so far matters more than a trace
            # without its words, which may be a model's
            log.error("inquiry_failed", error=type(error).__name__, at=raised_at(error))
            defect = PermanentError(f"the inquiry failed with {type(error).__name__}", code="defect")
            return Inquiry(ended(memory, Ending.ESCALATED), defect)
        if memory.ending is not None:
            return Inquiry(memory)
    return Inquiry(ended(memory, Ending.ESCALATED))


def advance(memory: Memory, action: Action, means: Means, limits: InquiryLimits) -> Memory:
    """Do one action; an impossible action escalates the question.

    Raises:
        SupportAgentError: as the means.
    """
    if not possible(memory, limits)[ACTIONS.index(action)]:
        action = Action.ESCALATE
    match action:
        case Action.ACQUIRE:
            retrieval = means.retrieve(memory)
            return with_evidence(memory, retrieval.found, is_web=retrieval.is_web)
        case Action.DRAFT:
            drafted = with_draft(memory, means.write(memory))
            utility = means.evaluate(drafted)
            return with_utility(drafted, utility, feedback_of(utility))
        case Action.ANSWER:
            return ended(memory, Ending.ANSWERED)
        case Action.ESCALATE:
            return ended(memory, Ending.ESCALATED)
        case _:
            assert_never(action)
