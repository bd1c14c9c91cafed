"""Packs a case for a person: the decision's calls, runners-up and documents, as closed data."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from support_agent.answer.packet import ConsideredCall, FoundDocument, Offered, Packet, RunnerUp
from support_agent.cases.commands import Subjects, Ticket, digest_of, offered
from support_agent.cases.decision import Decision
from support_agent.cases.route import RoutedMail
from support_agent.config.agent import AgentSettings
from support_agent.config.settings import Settings
from support_agent.mail.message import Message
from support_agent.mail.senders.identity import Sender
from support_agent.outbound.story import NO_STORY, Story
from support_agent.planner.choice import ranked
from support_agent.planner.plan import INTERNAL, Call, call_text
from support_agent.store.records import CaseId, MailId, OutboxId
from support_agent.tools.ending import Reason

RUNNERS_UP = 3
ANY_DOCUMENT = (FoundDocument(number=1, title="", score=0.0),)
"""Stands for any document where none was found: a person puts its number in the place of 1."""
MOST_REPLY_TO_ADDRESSES = 3
MAIL_LINES = 500
MAIL_CHARACTERS = 20_000
"""A packet shows this much of the mail; the whole mail is attached."""


class Proposed(NamedTuple):
    """An answer that waits for a person: its id in the outbox, its digest, and its subject and text as they would
    arrive. `leaves_at`: it waits for nobody, and leaves then.
    """

    id: OutboxId
    digest: str
    text: str
    leaves_at: datetime | None = None

    @classmethod
    def of(
        cls, outbox_id: OutboxId, raw: bytes, subject: str, text: str, leaves_at: datetime | None = None
    ) -> Proposed:
        """A proposal with these bytes."""
        return cls(outbox_id, digest_of(raw), f"Subject: {subject}\n\n{text}", leaves_at)


class CommandScope(NamedTuple):
    """What a packet says of commands: the id of its row, the customer's mail, the company's version, the expiry."""

    packet_id: OutboxId
    mail_id: MailId
    company: str
    until: datetime


def packet_of(
    mail: RoutedMail,
    decision: Decision,
    answered: str | None,
    settings: Settings,
    scope: CommandScope | None,
    proposed: Proposed | None = None,
    story: Story = NO_STORY,
    customer: Sender | None = None,
) -> Packet:
    """Everything that a person needs to continue the case.

    Args:
        answered: The text that goes to the customer, if a part is answered.
        scope: What its commands are about; None: no customer's mail that is known, so it offers none.
        proposed: The answer that waits for a person, if there is one.
        story: The case before this mail, where a person needs it.
        customer: The author of the mail that a staff mail is about; None: who wrote the mail itself.
    """
    customer = customer or mail.sender
    shown = "\n".join(mail.message.text[:MAIL_CHARACTERS].split("\n", MAIL_LINES)[:MAIL_LINES])
    return Packet(
        locale=settings.company.locale,
        case_id=mail.route.case_id,
        about_mail_id=scope.mail_id if scope is not None else "",
        customer_address=customer.address or "(no single sender)",
        customer_reply_to=reply_to_of(mail.message) if not mail.route.is_staff_reply else None,
        level=customer.level,
        level_why=customer.why,
        subject=mail.message.subject.replace(f"[{mail.route.case_id}] ", ""),  # a staff reply to a packet has it
        mail_text=shown,
        left_out=len(mail.message.text) - len(shown) or None,
        reason_code=decision.plan.reason or Reason.NOT_COVERED,
        why=decision.why,
        vote=decision.vote,
        considered=tuple(_considered(call) for call in decision.plan.calls if call.tool not in INTERNAL),
        found=decision.found,
        retrievals=tuple(one for one in decision.retrievals if one.number in _for_a_person(decision)),
        answered_text=answered,
        proposed_text=proposed.text if proposed is not None else None,
        proposed_id=proposed.id if proposed is not None else None,
        leaves_at=proposed.leaves_at if proposed is not None else None,
        offered=_offered(mail, decision, settings.agent, scope, proposed) if scope is not None else (),
        offered_until=scope.until if scope is not None else None,
        story=story.entries,
        story_left_out=story.left_out or None,
        reply_address=settings.agent.address,
    )


def reply_to_of(message: Message) -> str | None:
    """The first addresses in a mail's Reply-To that are not its sender's: what a person writes does not go there."""
    found = message.other_reply_to
    shown = [*found[:MOST_REPLY_TO_ADDRESSES], *(["[...]"] if len(found) > MOST_REPLY_TO_ADDRESSES else [])]
    return ", ".join(shown) or None


def _offered(
    mail: RoutedMail, decision: Decision, agent: AgentSettings, scope: CommandScope, proposed: Proposed | None
) -> tuple[Offered, ...]:
    """The commands of a packet; a notice about a staff mail is about a customer whose level is not at hand here."""
    digest = proposed.digest if proposed is not None else None
    ticket = ticket_of(mail.route.case_id, scope, digest, proposed.leaves_at if proposed is not None else None)
    may_answer = agent.may_answer(mail.sender.level) or mail.route.is_staff_reply
    found = decision.found or ANY_DOCUMENT
    return tuple(offered(ticket, agent.secret, agent.address, found, may_answer=may_answer))


def ticket_of(case_id: CaseId, scope: CommandScope, proposal: str | None, leaves_at: datetime | None) -> Ticket:
    """What the keys of a packet are bound to.

    Args:
        proposal: The digest of the answer that waits, if there is one.
        leaves_at: When it leaves by itself; None: it waits for a person.
    """
    held = proposal if leaves_at is not None else None
    subjects = Subjects(proposal=proposal, company=scope.company, mail=scope.mail_id, held=held)
    return Ticket(case_id=case_id, packet_id=scope.packet_id, until=scope.until, subjects=subjects)


def _for_a_person(decision: Decision) -> frozenset[int]:
    """Numbers of the questions that are left open: all of them if there is no answer."""
    if decision.final is None:
        return frozenset(one.number for one in decision.retrievals)
    return frozenset(call.question for call in decision.plan.calls if call.tool == "escalate")


def _considered(call: Call) -> ConsideredCall:
    others = ranked(call.considered)[1 : RUNNERS_UP + 1]
    return ConsideredCall(
        call=call_text(call.tool, call.args),
        confidence=min(call.confidence, 1.0),
        outcome=call.status if call.status != "done" else call.result,
        runners_up=tuple(RunnerUp(call=vote.key, confidence=min(vote.probability, 1.0)) for vote in others),
    )
