"""A person at the desk: reads the packet of a case, and sends its commands by mail."""

from __future__ import annotations

import re
from typing import NamedTuple

from support_agent.cases.decision import escalated
from support_agent.cases.escalation import EscalationReason
from support_agent.core.modes import Mode
from support_agent.store.records import MailId, OutboxRecord, OutgoingKind
from tests.fakes_journey import DESK, JAMES, Office, with_autonomy, write
from tests.fakes_worker import FakeMailbox, Shift
from tests.unit.seen import REFUND, one, text_of

LINE = re.compile(r"^- (\[[a-z0-9]+\] (.+) ([A-Z2-7]{26}))$", re.MULTILINE)


class Proposed(NamedTuple):
    """An office, a customer's mail, its answer that waits for a person, and the lines of its packet by command."""

    office: Office
    mail_id: MailId
    answer: OutboxRecord
    lines: dict[str, str]


def lines_of(packet: OutboxRecord) -> dict[str, str]:
    """The lines of a packet's commands, by command ("approve", "document 1"), as a person copies them."""
    return {command: line for line, command, _ in LINE.findall(text_of(packet))}


def proposed_in(
    office: Office, mode: Mode = Mode.APPROVE, text: str = REFUND, sender: str = JAMES, number: int = 1
) -> Proposed:
    """A mail that was handled where everything is in this mode."""
    office = with_autonomy(office, start=mode)
    mail_id, _ = office.handle(write(text, sender=sender, number=number))
    sent = office.sent(mail_id)
    return Proposed(office, mail_id, sent[OutgoingKind.ANSWER], lines_of(sent[OutgoingKind.PACKET]))


def held_in(office: Office, sender: str = JAMES, number: int = 1) -> Proposed:
    """A mail whose answer leaves by itself in ten minutes, unless a person undoes it."""
    office = with_autonomy(office, hold_s=600.0, hold_notice=True)
    mail_id, _ = office.handle(write(REFUND, sender=sender, number=number))
    sent = office.sent(mail_id)
    return Proposed(office, mail_id, sent[OutgoingKind.ANSWER], lines_of(sent[OutgoingKind.HELD]))


def order(
    office: Office, line: str, text: str = "", *, sender: str = DESK, proof: str | None = "dmarc", number: int = 50
) -> MailId:
    """A mail with a command as its subject, as the packet's link writes it, and one round of the worker."""
    raw = write(text, subject=line, sender=sender, proof=proof, number=number)
    mail_id, _ = office.handle(raw)
    Shift(office, FakeMailbox([])).work()
    return mail_id


def status_of(office: Office, row: OutboxRecord) -> str:
    """The status of a mail of ours now."""
    found = office.store.outbox.get(row.id)
    assert found is not None
    return found.status.value


def told(office: Office, mail_id: MailId) -> str:
    """Why the desk was told that its mail had no effect; "" if it was not told."""
    record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.FAILURE)
    return str(record.payload["why"]) if record is not None else ""


def reason(office: Office, mail_id: MailId) -> str | None:
    """The reason code of a mail."""
    return one(office, mail_id).reason_code


def digest(office: Office, mail_id: MailId) -> OutboxRecord:
    """A digest that a mail carries."""
    wired, now = office.wired, office.clock()
    return wired.stages.queue.digest(wired.digest.digest(now, now), mail_id, DESK)


def remind(office: Office, mail_id: MailId) -> OutboxRecord:
    """A reminder of a mail's case, whether or not one is due."""
    stages = office.stages
    decision = escalated(EscalationReason.REMINDER, office.clock(), "waiting")
    return stages.queue.remind(stages.routing.routed(mail_id), decision)
