"""The decision about a mail, as it is stored and as a person reads it.

Checked by tests/unit/workflow/test_stages.py.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from pydantic import ConfigDict, Field

from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.packet import FoundDocument, QuestionRetrieval
from support_agent.cases.escalation import EscalationReason
from support_agent.cases.intentions import Intention
from support_agent.cases.route import Route
from support_agent.core.frozen import Frozen
from support_agent.errors import GateRefused, SupportAgentError
from support_agent.mail.machines.screening import PERSON_RULE, Screening
from support_agent.mail.senders.identity import Sender
from support_agent.planner.plan import Call, Plan, unplanned
from support_agent.store.records import MailId, PlanRecord, ToolCallRecord, ToolCallStatus
from support_agent.tools.ending import Reason
from support_agent.tools.fact_room import RetrievalResult

MODEL_CODE = "model"
"""The code of errors of the language model."""


class Decision(Frozen):
    """The decision about a mail, with everything that is stored of it.

    `final` is set if the plan's outcome is `answer`; `found` holds the documents of the search; `why` explains the
    reason in one sentence, or is "", and `vote` is the version of the screening's fitted vote that it is by, or "".
    `findings` holds the findings of the fact room with its records, by question number from 1; `retrievals` (stored as
    `looked`) has the same for people, with the sentences of the documents at that time; `memory` is what the fact room
    knows of the case now, None if it was not asked. `intention` is what the customer means by a reply in the case; None
    if that was not asked.
    """

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    plan: Plan
    final: FinalAnswer | None
    found: tuple[FoundDocument, ...]
    decided_at: datetime
    why: str = ""
    vote: str = ""
    findings: dict[int, RetrievalResult] = Field(default_factory=dict)
    retrievals: tuple[QuestionRetrieval, ...] = Field(default=(), alias="looked")
    memory: str | None = None
    intention: Intention | None = None

    @property
    def forward_passes(self) -> int:
        """Of the choices and of the fact room."""
        return self.plan.usage.forward_passes + sum(found.forward_passes for found in self.findings.values())

    @property
    def tokens(self) -> int:
        """Read and written, of both."""
        return self.plan.usage.tokens + sum(found.tokens for found in self.findings.values())

    def record(self, mail_id: MailId, company_version: str, index_version: str) -> PlanRecord:
        """The plan as it is stored."""
        plan = self.plan
        return PlanRecord(
            mail_id=mail_id,
            planned_at=self.decided_at,
            model=plan.model,
            combiner_version=plan.combiner,
            company_version=company_version,
            index_version=index_version,
            outcome=plan.outcome,
            reason=plan.reason,
            seconds=plan.seconds,
            forward_passes=self.forward_passes,
            tokens=self.tokens,
            trace=self.model_dump(mode="json", exclude={"memory"}),
            calls=tuple(_call_record(seq, call) for seq, call in enumerate(plan.calls)),
        )

    def because(self, reason: str, why: str) -> Decision:
        """The same, but without an answer: a person must read the mail for this reason."""
        plan = self.plan.model_copy(update={"outcome": "escalate", "reason": reason})
        return self.model_copy(update={"plan": plan, "final": None, "why": why, "vote": ""})

    def stopped_by(self, error: SupportAgentError) -> Decision:
        """The same, but its answer failed: a person must read the mail, and why."""
        return self.because(*reason_of(error))


class Decided(NamedTuple):
    """Whose mail it is, its case, and the decision; None: the mail must wait, or is of the staff."""

    sender: Sender
    route: Route
    decision: Decision | None


def escalated(reason: str, now: datetime, why: str = "") -> Decision:
    """No plan at all: a person must read the mail.

    Args:
        reason: A `Reason`, an `EscalationReason`, or the code of an error.
        why: One sentence that explains it.
    """
    return Decision(plan=unplanned(reason), final=None, found=(), decided_at=now, why=why)


def intended(intention: Intention, besides: str, now: datetime) -> Decision:
    """No plan, because of what the customer means: the case is closed, or a person must read the mail.

    Args:
        besides: Why no automatic mail may go to the sender anyway, or "".
    """
    plan = unplanned(intention.intent, "close" if intention.intent.closes else "escalate")
    why = "; ".join(filter(None, (intention.why, besides)))
    return Decision(plan=plan, final=None, found=(), decided_at=now, why=why, intention=intention)


def failed(error: SupportAgentError, now: datetime) -> Decision:
    """No plan because of an error: a person must read the mail."""
    reason, why = reason_of(error)
    return escalated(reason, now, why)


def reason_of(error: SupportAgentError) -> tuple[str, str]:
    """Code and sentence of an error, as the reason for a person; all refusals of the gate have one code.

    A model that did not answer in all tries is one that gave no usable choice.
    """
    if isinstance(error, GateRefused) and error.code != GateRefused.code:
        return GateRefused.code, f"{error.code}: {error}"
    return (Reason.MODEL_FAILED if error.code == MODEL_CODE else error.code), str(error)


def screened_out(screening: Screening, now: datetime) -> Decision:
    """No plan, because a screening sends the mail to the desk: a person must read it."""
    if screening.rule == PERSON_RULE:
        return escalated(Reason.PERSON_ASKED_FOR, now, screening.why)
    decision = escalated(EscalationReason.SCREENING, now, f"{screening.rule}: {screening.why}")
    return decision.model_copy(update={"vote": screening.vote})


def _call_record(seq: int, call: Call) -> ToolCallRecord:
    return ToolCallRecord(
        seq=seq,
        tool=call.tool,
        args=dict(call.args),
        confidence=min(call.confidence, 1.0),
        threshold=call.threshold,
        votes=[vote.model_dump(mode="json") for vote in call.considered],
        result=call.result,
        status=ToolCallStatus(call.status),
        seconds=call.seconds,
    )
