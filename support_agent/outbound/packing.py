"""Packs a case for a person: the decision's calls, runners-up and documents, as closed data."""

from __future__ import annotations

from support_agent.answer.packet import Considered, Packet, RunnerUp
from support_agent.cases.decision import Decision
from support_agent.cases.route import RoutedMail
from support_agent.config.settings import Settings
from support_agent.outbound.story import NO_STORY, Story
from support_agent.planner.plan import INTERNAL, Call, call_text
from support_agent.tools.ending import Reason

RUNNERS_UP = 3
MAIL_LINES = 500
MAIL_CHARACTERS = 20_000
"""A packet shows this much of the mail; the whole mail is attached."""


def packet_of(
    mail: RoutedMail, decision: Decision, answered: str | None, settings: Settings, story: Story = NO_STORY
) -> Packet:
    """Everything that a person needs to continue the case.

    Args:
        answered: The text that goes to the customer, if a part is answered.
        story: The case before this mail, where a person needs it.
    """
    shown = "\n".join(mail.message.text[:MAIL_CHARACTERS].split("\n", MAIL_LINES)[:MAIL_LINES])
    return Packet(
        locale=settings.company.locale,
        case_id=mail.route.case_id,
        customer_address=mail.sender.address or "(no single sender)",
        level=mail.sender.level,
        level_why=mail.sender.why,
        subject=mail.message.subject,
        mail_text=shown,
        left_out=len(mail.message.text) - len(shown) or None,
        reason_code=decision.plan.reason or Reason.NOT_COVERED,
        why=decision.why,
        considered=tuple(_considered(call) for call in decision.plan.calls if call.tool not in INTERNAL),
        found=decision.found,
        retrievals=tuple(one for one in decision.retrievals if one.number in _for_a_person(decision)),
        answered_text=answered,
        story=story.entries,
        story_left_out=story.left_out or None,
        reply_address=settings.agent.address,
    )


def _for_a_person(decision: Decision) -> frozenset[int]:
    """Numbers of the questions that are left open: all of them if there is no answer."""
    if decision.final is None:
        return frozenset(one.number for one in decision.retrievals)
    return frozenset(call.question for call in decision.plan.calls if call.tool == "escalate")


def _considered(call: Call) -> Considered:
    others = sorted(call.considered, key=lambda vote: -vote.probability)[1 : RUNNERS_UP + 1]
    return Considered(
        call=call_text(call.tool, call.args),
        confidence=min(call.confidence, 1.0),
        outcome=call.status if call.status != "done" else call.result,
        runners_up=tuple(RunnerUp(call=vote.key, confidence=min(vote.probability, 1.0)) for vote in others),
    )
