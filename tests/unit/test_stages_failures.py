"""What fails ends with a person who hears of it: lost mails, failed decisions, journeys that were set aside."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from email import message_from_bytes, policy

import pytest

from support_agent.errors import PermanentError
from support_agent.mail.outbox import Delivery
from support_agent.store.records import (
    AnswerKind,
    CaseState,
    MailId,
    MailRecord,
    MailStatus,
    OutboxRecord,
    OutboxStatus,
)
from support_agent.tools.base import Match
from tests.fakes_journey import DESK, JAMES, NOON, Clock, Office, WordSearch, write

ANSWER, ACKNOWLEDGEMENT = AnswerKind.ANSWER, AnswerKind.ACKNOWLEDGEMENT
PACKET, PERSON_REPLY = AnswerKind.PACKET, AnswerKind.PERSON_REPLY
REFUND = "Can I get a refund?"
SEATS = "How many seats have we paid for?"
HUMAN = "Let me talk to a human."


def one(office: Office, mail_id: MailId) -> MailRecord:
    mail = office.store.mail(mail_id)
    assert mail is not None
    return mail


def text_of(row: OutboxRecord) -> str:
    body = message_from_bytes(row.raw, policy=policy.default).get_body(("plain",))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


def reason_told(office: Office, mail_id: MailId) -> tuple[object, object]:
    """Code and sentence of the packet for a mail."""
    record = office.store.answer_for(mail_id, PACKET)
    assert record is not None
    return record.payload["reason_code"], record.payload["reason_sentence"]


@pytest.mark.parametrize("status", ["failed", "uncertain"])
def test_answer_that_did_not_arrive_goes_to_a_person(office: Office, status: str) -> None:
    """The desk hears of it with the server's word; the mail counts as escalated, the case is a person's."""
    office.transport.deliveries = [Delivery.model_validate({"status": status, "detail": "550 no such user"})]
    mail_id, outcome = office.handle(write(REFUND, sender=JAMES))
    mail = one(office, mail_id)
    assert (outcome, mail.status) == ("escalated", MailStatus.ESCALATED)
    assert reason_told(office, mail_id) == ("undelivered", f"the answer to {JAMES} is {status}: 550 no such user")
    assert (mail.reason_code, mail.reason_text) == reason_told(office, mail_id)
    assert set(office.sent(mail_id)) == {ANSWER, PACKET}
    assert mail.case_id is not None
    case = office.store.case(mail.case_id)
    assert case is not None
    assert case.state is CaseState.WITH_PERSON


def test_acknowledgement_waits_until_the_desk_has_the_packet(office: Office) -> None:
    """The desk's server is away: no customer reads that a person has the case while none has."""
    office.transport.deliveries = [Delivery(status="retry", detail="later")]
    mail_id, _ = office.handle(write(HUMAN, sender=JAMES))
    assert [recipient for recipient, _ in office.transport.given] == [DESK]
    assert office.sent(mail_id)[ACKNOWLEDGEMENT].status is OutboxStatus.READY
    office.clock = Clock(NOON + timedelta(days=1))
    office.stages.send(mail_id)
    assert [recipient for recipient, _ in office.transport.given] == [DESK, DESK, JAMES]


def test_lost_packet_is_not_told_by_another_packet(office: Office) -> None:
    """Nothing can be sent to a desk that cannot be reached: it stays `failed`, for the log and `doctor`."""
    office.transport.deliveries = [Delivery(status="failed", detail="550")]
    mail_id, _ = office.handle(write(HUMAN, proof=None))
    assert [(row.kind, row.status) for row in office.store.outgoing(mail_id=mail_id)] == [(PACKET, OutboxStatus.FAILED)]


class BrokenSearch(WordSearch):
    """A search whose index is gone."""

    def nearest(self, text: str) -> tuple[Match, ...]:
        """Never answers."""
        raise PermanentError("the index is gone", code="index")


def test_decision_that_fails_goes_to_a_person(office: Office) -> None:
    """Neither silence nor a guess: the packet says what failed."""
    broken = replace(office, decider=replace(office.decider, search=BrokenSearch()))
    mail_id, outcome = broken.handle(write(f"{REFUND}\r\n\r\n{SEATS}", sender=JAMES))
    assert (outcome, set(broken.sent(mail_id))) == ("escalated", {PACKET, ACKNOWLEDGEMENT})
    assert reason_told(broken, mail_id) == ("failed", "index: the index is gone")


def test_mail_that_is_set_aside_is_told_to_the_desk_once(office: Office) -> None:
    """Its journey failed outside of every stage: a person reads it, however often that is found out."""
    mail_id = office.receive(write(REFUND, sender=JAMES))
    for _ in range(2):
        office.stages.set_aside(mail_id, PermanentError("the record does not fit", code="journey_changed"))
    assert one(office, mail_id).status is MailStatus.SET_ASIDE
    assert [row.kind for row in office.store.outgoing(mail_id=mail_id)] == [PACKET]
    assert reason_told(office, mail_id) == ("failed", "journey_changed: the record does not fit")


def test_reply_that_is_not_passed_on_is_told_to_the_desk(office: Office) -> None:
    """Nobody may think that the customer has an answer."""
    first, _ = office.handle(write(HUMAN, sender=JAMES))
    packet = office.sent(first)[PACKET].message_id
    reply, _ = office.handle(write("> the packet", sender=DESK, in_reply_to=packet))
    assert reason_told(office, reply)[0] == "not_passed_on"


def test_copied_packet_is_not_passed_on(office: Office) -> None:
    """A quotation in a form that nobody knows: what the packet says of the customer is for staff."""
    first, _ = office.handle(write(HUMAN, sender=JAMES))
    packet = office.sent(first)[PACKET]
    copied = "\r\n".join(["We look at it.", "", "The packet was:", *text_of(packet).split("\n")])
    reply, _ = office.handle(write(copied, sender=DESK, in_reply_to=packet.message_id))
    passed_on = text_of(office.sent(reply)[PERSON_REPLY])
    assert passed_on.startswith("We look at it.")
    assert "dmarc=pass" in text_of(packet)
    assert "dmarc=pass" not in passed_on


def test_differing_reply_to_gets_nothing_private(office: Office) -> None:
    """RFC 3834, section 4: mail goes to From alone; and no account value is told to a mail that asks elsewhere."""
    mail_id, outcome = office.handle(b"Reply-To: eve@elsewhere.example\r\n" + write(SEATS, sender=JAMES))
    assert (outcome, reason_told(office, mail_id)[0]) == ("escalated", "level")
    assert {row.recipient for row in office.sent(mail_id).values()} == {DESK, JAMES}
