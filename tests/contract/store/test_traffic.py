"""The outbox, counted: what the limits of automatic mail rest on."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from support_agent.core.levels import Level
from support_agent.store.records import (
    CaseId,
    DeliverySource,
    MailId,
    MailStatus,
    OutboxId,
    OutboxStatus,
    OutgoingKind,
)
from support_agent.store.store import Store
from support_agent.store.traffic import EarlierAnswer
from tests.contract.store.examples import ANNA, CASE, DAY, MINUTE, NOON, case, outgoing, put, record, rendered

LEVELS: tuple[Level, ...] = (0, 1, 2, 3)
NONE = MailId("other")
ANSWERS = (OutgoingKind.ANSWER,)
OTHER = CaseId("BBBBBBBBBB")


def answered(store: Store, number: int = 1, *, level: Level = 2, at: datetime = NOON, case_id: CaseId = CASE) -> MailId:
    """A mail of Anna's at that level, and the answer to it in the outbox."""
    mail_id = record(store, number)
    store.cases.open(case(case_id), mail_id)
    store.mails.save_sender(mail_id, ANNA, level, "dmarc=pass")
    put(store, outgoing(mail_id, case_id=case_id, at=at))
    return mail_id


def answers(
    store: Store,
    address: str = ANNA,
    level: Level = 0,
    *,
    case_id: CaseId | None = None,
    since: datetime = NOON,
    but_for: MailId = NONE,
) -> tuple[EarlierAnswer, ...]:
    return store.traffic.answers(case_id, address, level, since=since, but_for=but_for)


def test_mails_of_a_case_are_counted_but_for_one_mails_own(store: Store) -> None:
    """Rule: the kinds asked for, in this case; a step that runs again does not count what it made."""
    mail_id, other = answered(store), MailId("other")
    assert store.traffic.for_case(ANSWERS, CASE, but_for=other) == 1
    assert store.traffic.for_case(ANSWERS, CASE, but_for=mail_id) == 0
    assert store.traffic.for_case((OutgoingKind.PACKET,), CASE, but_for=other) == 0
    assert store.traffic.for_case(ANSWERS, OTHER, but_for=other) == 0


@pytest.mark.parametrize(("level", "counted"), [(2, 1), (3, 0)])
def test_a_notice_counts_for_its_sender_if_its_mail_was_quarantined(store: Store, level: Level, counted: int) -> None:
    """Rule: its level may not be known, as while the company's database is away: then it is proven, and no more."""
    mail_id, kinds = record(store), (OutgoingKind.PACKET, OutgoingKind.FAILURE)
    store.cases.open(case(), mail_id)
    store.mails.save_sender_address(mail_id, ANNA)
    put(store, outgoing(mail_id, OutgoingKind.FAILURE))
    assert store.traffic.for_sender(kinds, ANNA, level, NOON, but_for=NONE) == 0
    store.mails.end(mail_id, MailStatus.QUARANTINED, "accounts", "away", NOON)
    assert store.traffic.for_sender(kinds, ANNA, level, NOON, but_for=NONE) == counted
    assert store.traffic.for_sender((OutgoingKind.PACKET,), ANNA, level, NOON, but_for=NONE) == 0
    assert store.traffic.ended_for("accounts", NOON, ANNA, level) == counted


BOUNDS: list[tuple[str, Level, datetime, int]] = [
    (ANNA, 0, NOON, 1),
    (ANNA, 2, NOON, 1),
    (ANNA, 3, NOON, 0),
    (ANNA, 0, NOON + MINUTE, 0),
    ("other@example.net", 0, NOON, 0),
]


@pytest.mark.parametrize(("address", "level", "since", "count"), BOUNDS)
def test_mails_and_answers_of_a_sender_are_told_by_address_level_and_time(
    store: Store, address: str, level: Level, since: datetime, count: int
) -> None:
    """Rule: what less proven mails caused does not count for a proven one, nor a mail's own mail for itself."""
    mail_id, other = answered(store), MailId("other")
    assert store.traffic.for_sender(ANSWERS, address, level, since, other) == count
    assert len(answers(store, address, level, since=since, but_for=other)) == count
    assert store.traffic.for_sender(ANSWERS, address, level, since, mail_id) == 0
    assert answers(store, address, level, since=since, but_for=mail_id) == ()


def test_answers_come_with_what_they_said_the_newest_first(store: Store) -> None:
    """Rule: all cases of the sender."""
    first = answered(store)
    answered(store, 2, at=NOON + MINUTE, case_id=OTHER)
    found = answers(store)
    assert [(entry.case_id, entry.queued_at) for entry in found] == [(OTHER, NOON + MINUTE), (CASE, NOON)]
    assert found[1].payload == rendered(first).payload


def test_answers_of_the_case_are_known_whoever_asked_and_however_long_ago(store: Store) -> None:
    """Rule: those bounds are for what a sender was answered elsewhere."""
    mail_id = answered(store)
    nobody = ("", "other@example.net", ANNA)
    for address in nobody:
        assert len(answers(store, address, 3, case_id=CASE, since=NOON + DAY)) == 1
        assert answers(store, address, 3, case_id=OTHER, since=NOON + DAY) == ()
    assert answers(store, case_id=CASE, but_for=mail_id) == ()
    assert len(answers(store, case_id=CASE)) == 1, "what is of both is one"


def test_mails_without_a_sender_have_no_answers_in_common(store: Store) -> None:
    """Rule: they are not one sender."""
    mail_id = record(store)
    store.mails.save_sender(mail_id, "", 0, "no address")
    put(store, outgoing(mail_id))
    assert answers(store, "") == ()


def test_answer_that_failed_is_none(store: Store) -> None:
    """Rule: what is known not to have gone out was not said."""
    mail_id = answered(store)
    (row,) = store.outbox.find(mail_id=mail_id)
    assert store.outbox.claim(row.id, NOON)
    store.outbox.mark_failed(row.id, "550 no", by="")
    assert answers(store) == answers(store, case_id=CASE) == ()


def test_an_answer_of_unknown_fate_was_given(store: Store) -> None:
    """Rule: nobody is answered twice, so what may have gone out counts as said until a person says that it failed."""
    mail_id = answered(store)
    (row,) = store.outbox.find(mail_id=mail_id)
    assert store.outbox.claim(row.id, NOON)
    assert len(answers(store)) == 1
    store.outbox.mark_uncertain(row.id, "cut", NOON, by="")
    assert len(answers(store)) == len(answers(store, case_id=CASE)) == 1


def test_a_packet_that_is_sent_once_more_by_us_counts_once_for_its_sender(store: Store) -> None:
    """Rule: the limit of packets counts a sender's mails; that the desk's server took no attachment is not theirs."""
    mail_id = record(store)
    store.cases.open(case(), mail_id)
    store.mails.save_sender(mail_id, ANNA, 2, "dmarc=pass")
    for number in (1, 2):
        put(store, outgoing(mail_id, OutgoingKind.PACKET, number=number))
    assert store.traffic.for_sender((OutgoingKind.PACKET,), ANNA, 2, NOON, NONE) == 1


@pytest.mark.parametrize("status", [OutboxStatus.READY, OutboxStatus.SENDING, OutboxStatus.UNCERTAIN])
def test_what_passed_is_what_came_in_and_what_left(store: Store, status: OutboxStatus) -> None:
    """Rule: a mail that may have gone out counts as sent; one that waits does not."""
    (row,) = store.outbox.find(mail_id=answered(store))
    if status is not OutboxStatus.READY:
        assert store.outbox.claim(row.id, NOON)
    if status is OutboxStatus.UNCERTAIN:
        store.outbox.mark_uncertain(row.id, "cut", NOON, by="")
    passed = store.traffic.passed(ANSWERS, NOON)
    assert (passed.queued, passed.sent) == (1, 0 if status is OutboxStatus.READY else 1)
    assert store.traffic.passed((OutgoingKind.PACKET,), NOON).queued == 0


def test_what_passed_is_told_by_the_level_of_the_mails(store: Store) -> None:
    """Rule: of those that prove less; a mail whose sender nobody knows yet proves nothing."""
    answered(store, level=1)
    answered(store, 2, level=2)
    put(store, outgoing(record(store, 3)))
    assert [store.traffic.passed(ANSWERS, NOON, level).queued for level in LEVELS] == [0, 1, 2, 3]
    assert store.traffic.passed(ANSWERS, NOON).queued == 3


def test_what_a_clock_that_was_ahead_wrote_is_left_out_where_an_end_is_named(store: Store) -> None:
    """Rule: of a limit; an answer that was given is given."""
    (row,) = store.outbox.find(mail_id=answered(store, at=NOON + DAY))
    assert store.outbox.claim(row.id, NOON + DAY)
    store.outbox.mark_sent(row.id, "250 ok", NOON + DAY, by="")
    traffic = store.traffic
    for until, count in ((NOON, 0), (NOON + DAY, 1)):
        assert traffic.passed(ANSWERS, NOON, until=until) == (count, count)
        assert traffic.for_sender(ANSWERS, ANNA, 0, NOON, NONE, until) == count
        assert traffic.busiest_sender(ANSWERS, NOON, until) == ((ANNA, 1) if count else None)
    assert len(traffic.answers(None, ANNA, 0, since=NOON, but_for=NONE)) == 1


def test_mail_that_waited_counts_as_sent_when_it_went(store: Store) -> None:
    """Failure: an hour of waiting, and the limit of the hour counts nothing of what goes out at once."""
    (row,) = store.outbox.find(mail_id=answered(store))
    later = NOON + timedelta(hours=3)
    assert store.outbox.claim(row.id, later)
    store.outbox.mark_sent(row.id, "250 ok", later, by="")
    passed = store.traffic.passed(ANSWERS, later)
    assert (passed.queued, passed.sent) == (0, 1)


def proposed(store: Store) -> OutboxId:
    """An answer to a mail of Anna's that waits for a person."""
    mail_id = record(store)
    store.cases.open(case(CASE), mail_id)
    store.mails.save_sender(mail_id, ANNA, 2, "dmarc=pass")
    return put(store, outgoing(mail_id, case_id=CASE).model_copy(update={"is_proposed": True})).id


def counts(store: Store, since: datetime) -> tuple[int, ...]:
    """What each limit counts since an instant."""
    traffic, until = store.traffic, since + timedelta(hours=1)
    busiest = (traffic.busiest_case(ANSWERS), traffic.busiest_sender(ANSWERS, NOON - DAY))
    return (
        traffic.for_case(ANSWERS, CASE, NONE),
        traffic.for_sender(ANSWERS, ANNA, 0, since, NONE, until),
        traffic.passed(ANSWERS, since, until=until).queued,
        *(number for _, number in filter(None, busiest)),
    )


def test_a_proposal_counts_towards_no_limit_until_a_person_approves_it(store: Store) -> None:
    """Failure: in `shadow` answers that never left used up the limits of those that do."""
    row, later, by = proposed(store), NOON + DAY, DeliverySource.STAFF
    assert counts(store, NOON) == (0, 0, 0)
    store.deliveries.update(row, OutboxStatus.READY, by, "approved", later, (OutboxStatus.PROPOSED,))
    assert counts(store, later) == counts(store, NOON) == (1, 1, 1, 1, 1)
    assert counts(store, NOON + timedelta(hours=2)) == (1, 0, 0, 1, 1)


def test_what_a_person_cancelled_counts_towards_no_limit(store: Store) -> None:
    row, by = proposed(store), DeliverySource.STAFF
    store.deliveries.update(row, OutboxStatus.CANCELLED, by, "no", NOON, (OutboxStatus.PROPOSED,))
    assert counts(store, NOON) == (0, 0, 0)


def test_the_busiest_are_named(store: Store) -> None:
    """Rule: of the cases an open one; of senders those of the time that is asked for."""
    assert store.traffic.busiest_case(ANSWERS) is None
    assert store.traffic.busiest_sender(ANSWERS, NOON) is None
    answered(store)
    answered(store, 2)
    answered(store, 3, case_id=OTHER)
    assert store.traffic.busiest_case(ANSWERS) == (CASE, 2)
    assert store.traffic.busiest_sender(ANSWERS, NOON) == (ANNA, 3)
    assert store.traffic.busiest_sender(ANSWERS, NOON + MINUTE) is None
    store.cases.escalate(CASE)
    assert store.traffic.busiest_case(ANSWERS) == (OTHER, 1)


def test_mails_are_counted_by_the_reason_of_their_end(store: Store) -> None:
    """Rule: since an instant, of everybody or of one sender at a level."""
    mail_id = record(store)
    store.mails.save_sender(mail_id, ANNA, 1, "spf=pass")
    store.mails.end(mail_id, MailStatus.ESCALATED, "repeated", None, NOON)
    count = store.traffic.ended_for
    assert (count("repeated", NOON), count("repeated", NOON + MINUTE), count("other", NOON)) == (1, 0, 0)
    assert [count("repeated", NOON, ANNA, level) for level in LEVELS] == [1, 1, 0, 0]
    assert count("repeated", NOON, "other@example.net", 0) == 0
    assert (count("repeated", NOON, until=NOON), count("repeated", NOON - DAY, until=NOON - MINUTE)) == (1, 0)
