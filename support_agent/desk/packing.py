"""Packs a case for a person: the decision's calls, runners-up and documents, as closed data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

from support_agent.decide import Decision
from support_agent.desk.packet import Considered, Packet, RunnerUp
from support_agent.mail.identity import Sender
from support_agent.mail.message import Message
from support_agent.planner.plan import Call
from support_agent.settings import Settings

RUNNERS_UP = 3
INTERNAL = frozenset({"find_documents", "finish"})
"""Calls that tell a person nothing."""
GATE_REFUSED = "gate_refused"
"""Reason code of a case whose answer was made and did not pass the gate."""


def packet_of(
    message: Message,
    sender: Sender,
    case_id: str,
    decision: Decision,
    why: str,
    answered: str | None,
    settings: Settings,
) -> Packet:
    """Everything a person needs to go on where the machine stopped.

    Args:
        why: Why the gate refused the answer that was made, or "".
        answered: The text that was sent to the customer, where part was answered.
    """
    return Packet(
        locale=settings.company.locale,
        case_id=case_id,
        customer_address=sender.address or "(no single sender)",
        level=cast(Literal[0, 1, 2, 3], sender.level),
        level_reason=sender.why,
        subject=message.subject,
        mail_text=message.text,
        reason_code=GATE_REFUSED if why else decision.plan.reason or "not_covered",
        reason_sentence=why or decision.why,
        considered=tuple(_considered(call) for call in decision.plan.calls if call.tool not in INTERNAL),
        found=decision.found,
        answered_text=answered,
        reply_address=settings.agent.address,
    )


def call_text(tool: str, arguments: Mapping[str, object]) -> str:
    """A call as a person reads it: `send_document(6)`."""
    return f"{tool}({', '.join(str(value) for value in arguments.values())})"


def _considered(call: Call) -> Considered:
    others = sorted(call.considered, key=lambda vote: -vote.probability)[1 : RUNNERS_UP + 1]
    return Considered(
        call=call_text(call.tool, call.args),
        confidence=min(call.confidence, 1.0),
        outcome=call.status if call.status != "done" else call.result,
        runners_up=tuple(RunnerUp(call=vote.key, confidence=min(vote.probability, 1.0)) for vote in others),
    )
