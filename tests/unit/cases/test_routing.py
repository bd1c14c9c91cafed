"""Where a mail belongs, for ever: whatever comes into its thread later, and however often it is placed."""

from __future__ import annotations

import pytest

from support_agent.mail.message import parse
from support_agent.store.records import CaseState
from support_agent.transport.submission import Delivery
from tests.fakes_journey import ANNA, DESK, Office, write
from tests.unit.seen import ANSWER, FAILURE, HUMAN, PACKET, REFUND, one, reason_told, state, text_of


def test_a_mail_stays_in_its_case_when_the_mail_that_it_answers_comes_later(office: Office) -> None:
    """Failure: its lost answer moved it into the other case, and the one that lost the answer went on by machine."""
    first = write(HUMAN)
    office.transport.deliveries = [Delivery(status="failed", detail="550 no")]
    reply, _ = office.handle(write(REFUND, in_reply_to=parse(first).message_id, number=2))
    case_id = one(office, reply).case_id
    assert {FAILURE} <= set(office.sent(reply))
    earlier, _ = office.handle(first)
    assert one(office, earlier).case_id != case_id
    for _ in range(2):
        assert office.stages.routing.routed(reply).route.case_id == case_id
    assert (one(office, reply).case_id, state(office, reply)) == (case_id, CaseState.WITH_PERSON)
    assert office.sent(reply)[ANSWER].case_id == case_id


def test_a_lost_answer_closes_the_case_that_lost_it_for_the_machine(office: Office) -> None:
    """The earlier mail of the thread has opened its case between the answer and its loss."""
    first = write(REFUND)
    office.transport.deliveries = [Delivery(status="retry", detail="451 later")]
    reply, _ = office.handle(write("How do I cancel?", in_reply_to=parse(first).message_id, number=2))
    earlier, _ = office.handle(first)
    answer = office.sent(reply)[ANSWER]
    assert office.store.outbox.claim(answer.id, answer.next_try_at)
    office.store.outbox.mark_failed(answer.id, "550 no", by="")
    office.stages.notices.notify_losses()
    assert (state(office, reply), state(office, earlier)) == (CaseState.WITH_PERSON, CaseState.OPEN)
    assert office.sent(reply)[FAILURE].case_id == one(office, reply).case_id


@pytest.mark.parametrize("proof", ["spf", None])
def test_desk_is_told_that_a_mail_claims_an_address_of_ours(office: Office, proof: str | None) -> None:
    """Failure: it read that mail to the sender had come back."""
    mail_id, outcome = office.handle(write(REFUND, sender=DESK, proof=proof))
    assert (outcome, set(office.sent(mail_id))) == ("escalated", {PACKET})
    code, why = reason_told(office, mail_id)
    assert code == "unproven_ours"
    assert isinstance(why, str)
    assert why.startswith(f"{DESK} is an address of ours")
    assert "says that it is from one of our own addresses" in text_of(office.sent(mail_id)[PACKET])
    assert one(office, mail_id).sender_address == DESK != ANNA


def test_a_mail_of_the_staff_stays_in_its_case_when_the_case_in_its_subject_gets_a_packet_later(
    office: Office,
) -> None:
    """So does one that an earlier version put into a case of its own. Failure: it was moved, and the desk was reminded
    of the case that it had left in each round."""
    first, _ = office.handle(write(REFUND))
    named = one(office, first).case_id
    mail_id, _ = office.handle(write(HUMAN, sender=DESK, subject=f"Re: [{named}] A question", number=2))
    case_id = one(office, mail_id).case_id
    office.handle(write(HUMAN, in_reply_to=office.sent(first)[ANSWER].message_id, number=3))
    assert named is not None
    assert office.stages.routing.threads.packets_of(named)
    for _ in range(2):
        assert office.stages.routing.routed(mail_id).route.case_id == case_id
    assert one(office, mail_id).case_id == case_id != named
