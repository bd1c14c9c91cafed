"""What is watched in the store, on each database: counts that end at a limit, alarms told once, what ends some day."""

from __future__ import annotations

import pytest

from support_agent.errors import TransientError
from support_agent.store.records import MailStatus, OutboxStatus, OutgoingKind
from support_agent.store.store import Store
from support_agent.store.watch_records import AlarmKind, AlarmState, Expiring, WaitCount
from tests.contract.store.examples import CASE, DAY, MINUTE, NOON, alarm, outgoing, put, record
from tests.contract.store.test_queue import OTHER, THIRD
from tests.contract.store.test_waiting import escalated

ALARM = OutgoingKind.ALARM


def test_undecided_mails_are_counted_up_to_a_limit_with_the_age_of_the_oldest(store: Store) -> None:
    assert store.watching.undecided(10) == WaitCount(0, None)
    store.mails.end(record(store, 1), MailStatus.FILED, "S2", None, NOON)
    for number in (2, 3, 4):
        record(store, number, NOON + number * MINUTE)
    assert store.watching.undecided(10) == WaitCount(3, NOON + 2 * MINUTE)
    assert store.watching.undecided(2) == WaitCount(2, NOON + 2 * MINUTE)


def test_the_outbox_is_counted_by_status_up_to_a_limit(store: Store) -> None:
    for number in (1, 2, 3):
        put(store, outgoing(record(store, number)))
    counted = store.watching.outbox((OutboxStatus.READY, OutboxStatus.FAILED), 2)
    assert counted == {OutboxStatus.READY: 2, OutboxStatus.FAILED: 0}


def test_the_cases_that_wait_are_those_that_people_are_reminded_of(store: Store) -> None:
    """Rule: two of three cases wait for a person, from the minutes of their packets on."""
    cases = enumerate((CASE, OTHER, THIRD), start=1)
    mail_ids = [escalated(store, number, case_id) for number, case_id in cases]
    reply = record(store, 7)
    put(store, outgoing(reply, OutgoingKind.PERSON_REPLY, OTHER, NOON + 5 * MINUTE, parent=mail_ids[1]))
    for since, number, oldest in (
        (NOON, 2, NOON + MINUTE),
        (NOON + 2 * MINUTE, 1, NOON + 3 * MINUTE),
        (NOON + DAY, 0, None),
    ):
        assert len(store.waits.cases(since)) == number
        assert store.queue.waiting(since, 10) == WaitCount(number, oldest)
    assert store.queue.waiting(NOON, 1).number == 1


def test_mail_of_a_folder_within_a_time(store: Store) -> None:
    record(store, 1)
    assert store.watching.has_come("INBOX", NOON, NOON + MINUTE)
    assert not store.watching.has_come("INBOX", NOON + MINUTE, NOON + DAY)
    assert not store.watching.has_come("INBOX", NOON - DAY, NOON)
    assert not store.watching.has_come("Archive", NOON, NOON + MINUTE)
    newest = record(store, 2, NOON + DAY)
    record(store, 3, NOON + MINUTE)
    assert store.watching.newest_mail() == (newest, NOON + DAY)


def test_of_two_workers_one_tells_the_desk(store: Store) -> None:
    """Rule: the number of the alarm decides, in the transaction that queues the mail."""
    carrier = record(store, 1)
    first = store.outbox.queue_alarm(outgoing(carrier, ALARM), alarm())
    assert first is not None
    other = outgoing(carrier, ALARM, number=2, body=b"Subject: the same alarm, seen elsewhere\r\n\r\n")
    assert store.outbox.queue_alarm(other, alarm()) is None
    assert store.outbox.find(kind=ALARM) == (first,)
    assert store.watching.alarm(AlarmKind.BACKLOG) == alarm()
    assert store.watching.alarm(AlarmKind.MODEL) is None


def test_an_alarm_whose_mail_cannot_be_queued_was_not_told(store: Store) -> None:
    """Failure: another alarm has taken the mail's number, and the desk hears of only one of the two."""
    carrier = record(store, 1)
    put(store, outgoing(carrier, ALARM))
    other = outgoing(carrier, ALARM, body=b"Subject: another alarm\r\n\r\n")
    with pytest.raises(TransientError, match="another notice took the number"):
        store.outbox.queue_alarm(other, alarm())
    assert store.watching.alarm(AlarmKind.BACKLOG) is None


def test_alarms_are_counted_since_an_instant(store: Store) -> None:
    for number in (1, 2, 3):
        mail = outgoing(record(store, number), ALARM)
        store.outbox.queue_alarm(mail, alarm(number, AlarmState.LASTS, NOON + number * MINUTE))
    assert store.watching.notified_since(NOON + 2 * MINUTE) == 2
    last = store.watching.alarm(AlarmKind.BACKLOG)
    assert last is not None
    assert last.number == 3


def test_the_newest_end_of_a_certificate_counts(store: Store) -> None:
    store.watching.note_expiry(Expiring.IMAP_CERTIFICATE, NOON)
    store.watching.note_expiry(Expiring.REFRESH_TOKEN, NOON)
    store.watching.note_expiry(Expiring.IMAP_CERTIFICATE, NOON + DAY)
    store.watching.note_expiry(Expiring.REFRESH_TOKEN, None)
    store.watching.note_expiry(Expiring.SMTP_CERTIFICATE, None)
    assert store.watching.expiries() == {Expiring.IMAP_CERTIFICATE: NOON + DAY}
