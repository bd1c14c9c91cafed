"""Counts and retention, on each database."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from support_agent.store.records import CaseId, CaseState, Deleted, MailStatus, OutboxStatus
from support_agent.store.retention import CHUNK
from support_agent.store.store import Store
from tests.contract.store.examples import CASE, DAY, NOON, case, cursor, fill, outgoing, put, raw, record

OTHER = CaseId("AAAAAAAAAA")


def finish(store: Store) -> None:
    """Leave no work: every mail settled, everything sent."""
    for mail in store.mails.find(status=MailStatus.NEW):
        store.mails.end(mail.id, MailStatus.ANSWERED, None, None, NOON)
    for row in store.outbox.ready(NOON + 100 * DAY, limit=100):
        store.outbox.claim(row.id, NOON + 100 * DAY)
        store.outbox.mark_sent(row.id, "250 ok", NOON)


def test_counts_name_every_status(store: Store) -> None:
    """Rule: a status that nothing has is 0, not missing."""
    empty = store.traffic.totals()
    assert set(empty.mails) == set(MailStatus)
    assert set(empty.cases) == set(CaseState)
    assert set(empty.outbox) == set(OutboxStatus)
    assert {*empty.mails.values(), *empty.cases.values(), *empty.outbox.values()} == {0}

    fill(store)
    record(store, 2)
    counts = store.traffic.totals()
    assert counts.mails[MailStatus.NEW] == 2
    assert counts.cases[CaseState.OPEN] == 1
    assert counts.outbox[OutboxStatus.READY] == 1


def test_an_old_case_goes_whole(store: Store) -> None:
    """Rule: nothing of a customer stays; the company's own documents and templates do."""
    fill(store)
    finish(store)
    assert store.retention.delete_older_than(NOON + DAY) == Deleted(cases=1, mails=1)

    with store.database.read() as connection:
        for table in ("mails", "cases", "participants", "plans", "tool_calls", "rendered_mails", "outbox", "labels"):
            assert connection.scalar(text(f"SELECT count(*) FROM {table}")) == 0, table
    assert store.versions.templates("t1") is not None
    assert store.retention.delete_older_than(NOON + DAY) == Deleted(cases=0, mails=0)


def test_a_deleted_mail_is_not_new_when_it_is_fetched_again(store: Store) -> None:
    """Failure: retention, a rescan after a UIDVALIDITY change, and an old mail is answered again."""
    fill(store)
    finish(store)
    store.retention.delete_older_than(NOON + DAY)
    again = store.mails.record(raw(1), "<1@example.net>", cursor(5, uid_validity=8), NOON + DAY)
    assert not again.is_new
    assert store.mails.find() == ()
    assert store.cursors.get("INBOX") == cursor(5, uid_validity=8)


def test_a_case_with_a_recent_mail_stays_whole(store: Store) -> None:
    """Rule: a case goes whole or not at all."""
    store.cases.open(case(), record(store, 1, at=NOON))
    store.cases.join(record(store, 2, at=NOON + DAY), CASE)
    finish(store)
    assert store.retention.delete_older_than(NOON + DAY) == Deleted(cases=0, mails=0)
    assert len(store.mails.find()) == 2


def test_old_mails_without_a_case_go(store: Store) -> None:
    """Rule: filed mail ages too; the instant itself is not older."""
    for number, at in ((1, NOON), (2, NOON + DAY)):
        record(store, number, at=at)
    finish(store)
    assert store.retention.delete_older_than(NOON + DAY) == Deleted(cases=0, mails=1)
    assert [mail.uid for mail in store.mails.find()] == [2]


def test_more_than_one_statement_holds_goes_as_well(store: Store) -> None:
    """Rule: any number of mails is deleted in one run."""
    for number in range(CHUNK + 1):
        store.mails.end(record(store, number), MailStatus.FILED, None, None, NOON)
    assert store.retention.delete_older_than(NOON + DAY) == Deleted(cases=0, mails=CHUNK + 1)


@pytest.mark.parametrize("has_case", [True, False])
def test_an_unhandled_mail_never_goes(store: Store, has_case: bool) -> None:
    """Rule: nothing is lost, however old."""
    mail_id = record(store)
    if has_case:
        store.cases.open(case(), mail_id)
    assert store.retention.delete_older_than(NOON + DAY) == Deleted(cases=0, mails=0)


@pytest.mark.parametrize("has_case", [True, False])
@pytest.mark.parametrize("status", [OutboxStatus.READY, OutboxStatus.SENDING, OutboxStatus.UNCERTAIN])
def test_what_still_waits_to_be_sent_never_goes(store: Store, status: OutboxStatus, has_case: bool) -> None:
    """Rule: a mail that is due, on its way or in doubt keeps its case."""
    mail_id = record(store)
    if has_case:
        store.cases.open(case(), mail_id)
    store.mails.end(mail_id, MailStatus.ANSWERED, None, None, NOON)
    row = put(store, outgoing(mail_id))
    if status is not OutboxStatus.READY:
        assert store.outbox.claim(row.id, NOON)
    if status is OutboxStatus.UNCERTAIN:
        store.outbox.mark_uncertain(row.id, "lost")
    assert store.retention.delete_older_than(NOON + DAY) == Deleted(cases=0, mails=0)
    assert len(store.outbox.find()) == 1
