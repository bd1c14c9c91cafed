"""Which cases wait for a person, on each database."""

from __future__ import annotations

import pytest
from pydantic import JsonValue
from sqlalchemy import delete

from support_agent.core.levels import PROVEN
from support_agent.store.desk_records import LabelOutcome
from support_agent.store.records import (
    CaseId,
    CaseState,
    DeliverySource,
    MailId,
    MailStatus,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
)
from support_agent.store.store import Store
from support_agent.store.tables import RenderedMailRow
from support_agent.store.waiting import WaitingCase
from tests.contract.store.examples import ANNA, CASE, DAY, MINUTE, NOON, case, label, outgoing, put, record

PACKET, FAILURE, REMINDER = OutgoingKind.PACKET, OutgoingKind.FAILURE, OutgoingKind.REMINDER
ANSWER, REPLY = OutgoingKind.ANSWER, OutgoingKind.PERSON_REPLY
WHOLE: dict[str, JsonValue] = {
    "company": "Harborfile",
    "locale": "en",
    "greeting_name": None,
    "subject": None,
    "asked": 1,
    "answers": [],
    "answered": 1,
    "support_address": "support@harborfile.example",
}
"""An answer that leaves no question open."""


def waiting(store: Store) -> tuple[WaitingCase, ...]:
    return store.waits.cases(NOON - DAY)


def escalated(store: Store, number: int = 1, case_id: CaseId = CASE) -> MailId:
    """A mail of a case that a person has, with a packet `number` minutes after noon."""
    mail_id = record(store, number)
    store.cases.open(case(case_id), mail_id)
    store.cases.escalate(case_id)
    put(store, outgoing(mail_id, PACKET, case_id, NOON + number * MINUTE))
    return mail_id


def test_a_case_waits_from_its_first_packet_that_nobody_answered(store: Store) -> None:
    """Its mail is that of the last packet; the longest waiting comes first."""
    escalated(store, 2, CaseId("BBBBBBBBBB"))
    escalated(store, 1)
    last = escalated(store, 3)
    found = waiting(store)
    assert [(one.case_id, one.since) for one in found] == [
        (CASE, NOON + MINUTE),
        ("BBBBBBBBBB", NOON + 2 * MINUTE),
    ]
    assert (found[0].mail_id, found[0].reminders, found[0].reminded_at) == (last, 0, None)


@pytest.mark.parametrize("state", [CaseState.OPEN, CaseState.CLOSED])
def test_a_case_that_is_closed_or_given_back_waits_for_nobody(store: Store, state: CaseState) -> None:
    escalated(store)
    store.cases.change(CASE, state, None, ANNA, "done", NOON)
    assert waiting(store) == ()


@pytest.mark.parametrize("kind", [REPLY, ANSWER])
def test_a_persons_answer_ends_the_wait_until_the_next_packet(store: Store, kind: OutgoingKind) -> None:
    """Words that were passed on, or a document sent by command, each for a mail of the person's own."""
    mail_id = escalated(store)
    put(store, outgoing(record(store, 7), kind, CASE, NOON + 5 * MINUTE, parent=mail_id))
    assert waiting(store) == ()
    again = escalated(store, 9)
    assert [(one.since, one.mail_id) for one in waiting(store)] == [(NOON + 9 * MINUTE, again)]


def test_an_answer_of_the_machine_to_the_same_mail_does_not_end_it(store: Store) -> None:
    """It answered a part, and the packet has the rest; or it is a proposal."""
    mail_id = escalated(store)
    put(store, outgoing(mail_id, ANSWER, CASE, NOON + MINUTE))
    assert len(waiting(store)) == 1


@pytest.mark.parametrize("is_sure", [True, False])
def test_a_reply_that_the_customer_may_not_have_is_none(store: Store, *, is_sure: bool) -> None:
    mail_id = escalated(store)
    reply = put(store, outgoing(record(store, 7), REPLY, CASE, NOON + 5 * MINUTE, parent=mail_id))
    assert waiting(store) == ()
    assert store.outbox.claim(reply.id, NOON + DAY)
    if is_sure:
        store.outbox.mark_failed(reply.id, "550 no", by="")
    else:
        store.outbox.mark_uncertain(reply.id, "550 no", NOON + DAY, by="")
    assert len(waiting(store)) == 1


@pytest.mark.parametrize("outcome", LabelOutcome)
def test_a_judgement_is_no_answer(store: Store, outcome: LabelOutcome) -> None:
    """Failure: a case in which a held answer was undone, or a part judged, was never reminded of."""
    mail_id = escalated(store)
    store.labels.add(label(mail_id, outcome))
    assert len(waiting(store)) == 1


@pytest.mark.parametrize(
    ("after", "by", "is_answered"),
    [
        (OutboxStatus.READY, DeliverySource.STAFF, True),
        (OutboxStatus.READY, DeliverySource.OPERATOR, True),
        (OutboxStatus.CANCELLED, DeliverySource.SENT_FOLDER, True),
        (OutboxStatus.CANCELLED, DeliverySource.STAFF, False),
        (OutboxStatus.CANCELLED, DeliverySource.OPERATOR, False),
        (OutboxStatus.CANCELLED, DeliverySource.RULE, False),
    ],
)
def test_a_proposal_ends_it_where_a_person_approved_it_or_answered_elsewhere(
    store: Store, after: OutboxStatus, by: DeliverySource, *, is_answered: bool
) -> None:
    mail_id = escalated(store)
    answer = outgoing(mail_id, ANSWER, CASE).model_copy(update={"is_proposed": True, "payload": WHOLE})
    row = put(store, answer)
    store.deliveries.update(row.id, after, by, "a test", NOON + DAY, (OutboxStatus.PROPOSED,))
    assert bool(waiting(store)) is not is_answered


BLOCK: JsonValue = {"items": []}


@pytest.mark.parametrize(
    ("data", "is_waiting"),
    [
        ({"asked": 2, "answered": 1}, True),
        ({"asked": 2, "answered": 2}, False),
        ({"asked": 2, "answered": None, "answers": [BLOCK]}, True),
        ({"asked": 2, "answered": None, "answers": [BLOCK, BLOCK]}, False),
    ],
    ids=["a part", "all", "a part, stored earlier", "all, stored earlier"],
)
def test_an_approved_part_leaves_the_rest_to_answer(
    store: Store, data: dict[str, JsonValue], *, is_waiting: bool
) -> None:
    approved(store, escalated(store), {**WHOLE, **data})
    assert bool(waiting(store)) is is_waiting


def test_an_approved_answer_whose_data_are_deleted_counts_as_whole(store: Store) -> None:
    """Retention deleted them in earlier versions, though the rest of the mail waited."""
    row = approved(store, escalated(store), {**WHOLE, "asked": 2})
    assert len(waiting(store)) == 1
    with store.database.write() as connection:
        connection.execute(delete(RenderedMailRow))
    assert store.outbox.rendered_mail(row.mail_id, ANSWER) is None
    assert waiting(store) == ()


def approved(store: Store, mail_id: MailId, data: dict[str, JsonValue]) -> OutboxRecord:
    """The answer to a mail that a person has approved."""
    answer = outgoing(mail_id, ANSWER, CASE).model_copy(update={"is_proposed": True, "payload": data})
    row = put(store, answer)
    by, before = DeliverySource.STAFF, (OutboxStatus.PROPOSED,)
    store.deliveries.update(row.id, OutboxStatus.READY, by, "a test", NOON + DAY, before)
    return row


def written_by(store: Store, address: str, number: int, status: OutboxStatus | None = None) -> MailId:
    """A mail of this author that waits, recorded and packed `number` minutes after noon; perhaps its packet is lost."""
    mail_id = record(store, number, NOON + number * MINUTE)
    store.mails.save_sender(mail_id, address, PROVEN, "signed")
    store.cases.open(case(), mail_id)
    store.cases.escalate(CASE)
    packet = put(store, outgoing(mail_id, PACKET, CASE, NOON + number * MINUTE))
    if status is not None:
        store.deliveries.update(packet.id, status, DeliverySource.BOUNCE, "552", NOON, tuple(OutboxStatus))
    return mail_id


def test_a_document_is_for_its_mail_and_words_are_for_what_their_reader_wrote_before(store: Store) -> None:
    """Whoever answers a mail in own words has read the earlier ones of its author; later ones perhaps not."""
    first, second, third = (written_by(store, ANNA, number) for number in (1, 2, 3))
    put(store, outgoing(record(store, 7), ANSWER, CASE, NOON + 5 * MINUTE, parent=third))
    assert store.waits.mails(CASE) == {first, second}
    put(store, outgoing(record(store, 8), REPLY, CASE, NOON + 6 * MINUTE, parent=first))
    assert store.waits.mails(CASE) == {second}
    put(store, outgoing(record(store, 9), REPLY, CASE, NOON + 7 * MINUTE, parent=third))
    assert waiting(store) == ()


def test_words_to_one_participant_answer_no_other(store: Store) -> None:
    written_by(store, "james@example.net", 1)
    second = written_by(store, ANNA, 2)
    put(store, outgoing(record(store, 8), REPLY, CASE, NOON + 6 * MINUTE, parent=second))
    assert [one.since for one in waiting(store)] == [NOON + MINUTE]


def test_words_about_a_later_mail_leave_a_proposal_in_the_queue(store: Store) -> None:
    first, second = (written_by(store, ANNA, number) for number in (1, 2))
    put(store, outgoing(first, ANSWER, CASE).model_copy(update={"is_proposed": True}))
    put(store, outgoing(record(store, 8), REPLY, CASE, NOON + 6 * MINUTE, parent=second))
    assert store.waits.mails(CASE) == {first}


def test_words_answer_no_mail_whose_packet_never_arrived(store: Store) -> None:
    """But the mail that they answer themselves."""
    lost = written_by(store, ANNA, 1, OutboxStatus.FAILED)
    second = written_by(store, ANNA, 2, OutboxStatus.FAILED)
    put(store, outgoing(record(store, 8), REPLY, CASE, NOON + 6 * MINUTE, parent=second))
    assert store.waits.mails(CASE) == {lost}


@pytest.mark.parametrize(
    ("states", "is_waiting"),
    [
        ((CaseState.CLOSED, CaseState.WITH_PERSON), True),
        ((CaseState.OPEN, CaseState.WITH_PERSON), False),
        ((CaseState.CLOSED, None), False),
        ((CaseState.CLOSED, CaseState.WITH_PERSON, CaseState.CLOSED, None), False),
    ],
    ids=["closed by mistake", "given back and claimed", "its customer wrote again", "closed twice"],
)
def test_what_came_before_a_case_was_done_needs_no_answer(
    store: Store, states: tuple[CaseState | None, ...], *, is_waiting: bool
) -> None:
    """None: its customer opens it again. A new packet waits in any case."""
    escalated(store)
    for number, after in enumerate(states):
        if after is None:
            store.cases.reopen(CASE)
        else:
            store.cases.change(CASE, after, None, ANNA, "a test", NOON + (2 + number) * MINUTE)
    assert bool(waiting(store)) is is_waiting
    escalated(store, 9)
    assert len(waiting(store)) == 1


def test_a_notice_about_a_customers_mail_waits_and_one_about_a_persons_does_not(store: Store) -> None:
    """An answer that was lost; and a command that was not carried out, which is told to who sent it."""
    for number, status in ((1, MailStatus.ESCALATED), (2, MailStatus.FILED)):
        case_id = CaseId(f"CASE{number}")
        mail_id = record(store, number)
        store.cases.open(case(case_id), mail_id)
        store.cases.escalate(case_id)
        put(store, outgoing(mail_id, FAILURE, case_id))
        store.mails.end(mail_id, status, "undelivered", None, NOON)
    assert [one.case_id for one in waiting(store)] == ["CASE1"]


def test_a_packet_about_a_filed_mail_waits_for_nobody(store: Store) -> None:
    """Failure: the packet of "It works again" waited for ever, as its case was closed within the same second."""
    store.mails.end(escalated(store), MailStatus.FILED, "solved", None, NOON)
    assert waiting(store) == ()


def test_a_lost_mail_of_staff_is_answered_by_words_about_what_its_notice_is_about(store: Store) -> None:
    asked = written_by(store, ANNA, 1)
    order = record(store, 5, NOON + 5 * MINUTE)
    store.mails.save_sender(order, "desk@harborfile.example", PROVEN, "signed")
    store.cases.join(order, CASE)
    notice = outgoing(order, FAILURE, CASE, NOON + 6 * MINUTE)
    put(store, notice.model_copy(update={"payload": {**notice.payload, "about_mail_id": asked}}))
    store.mails.end(order, MailStatus.ESCALATED, "undelivered", None, NOON)
    assert store.waits.mails(CASE) == {asked, order}
    put(store, outgoing(record(store, 8), REPLY, CASE, NOON + 7 * MINUTE, parent=asked))
    assert waiting(store) == ()


def test_reminders_are_counted_from_the_wait_on(store: Store) -> None:
    """Those of an earlier wait of the case are over."""
    old = escalated(store)
    put(store, outgoing(old, REMINDER, CASE, NOON + 2 * MINUTE))
    put(store, outgoing(record(store, 7), REPLY, CASE, NOON + 5 * MINUTE, parent=old))
    mail_id = escalated(store, 9)
    for number in (1, 2):
        put(store, outgoing(mail_id, REMINDER, CASE, NOON + (10 + number) * MINUTE, number=number))
    (found,) = waiting(store)
    assert (found.reminders, found.reminded_at) == (2, NOON + 12 * MINUTE)


def test_what_came_in_too_long_ago_does_not_wait(store: Store) -> None:
    escalated(store)
    assert store.waits.cases(NOON + DAY) == ()
