"""Counts and retention, on each database."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from support_agent.config.settings import StoreSettings
from support_agent.core.size_limits import MOST_PARAMETERS
from support_agent.store.records import CaseId, CaseState, MailStatus, OutboxStatus, OutgoingKind
from support_agent.store.retention import Deleted
from support_agent.store.store import Store
from tests.contract.store.examples import CASE, DAY, NOON, case, cursor, fill, outgoing, put, raw, record

OTHER = CaseId("AAAAAAAAAA")


def finish(store: Store) -> None:
    """Leave no work: every mail settled, everything sent."""
    for mail in store.mails.find(status=MailStatus.NEW):
        store.mails.end(mail.id, MailStatus.ANSWERED, None, None, NOON)
    for row in store.outbox.ready(NOON + 100 * DAY, limit=100):
        store.outbox.claim(row.id, NOON + 100 * DAY)
        store.outbox.mark_sent(row.id, "250 ok", NOON, by="")


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
    for number in range(MOST_PARAMETERS + 1):
        store.mails.end(record(store, number), MailStatus.FILED, None, None, NOON)
    assert store.retention.delete_older_than(NOON + DAY) == Deleted(cases=0, mails=MOST_PARAMETERS + 1)


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
        store.outbox.mark_uncertain(row.id, "lost", NOON, by="")
    assert store.retention.delete_older_than(NOON + DAY) == Deleted(cases=0, mails=0)
    assert len(store.outbox.find()) == 1


def days(**kinds: int) -> StoreSettings:
    return StoreSettings(**{f"{kind}_retention_days": number for kind, number in kinds.items()})


def sizes(store: Store) -> dict[str, int]:
    """How much of each kind there is."""
    mails = store.mails.find()
    return {
        "raw": sum(len(store.mails.raw(mail.id)) for mail in mails),
        "plan": sum(store.plans.get(mail.id) is not None for mail in mails),
        "outbox": sum(len(row.raw) for row in store.outbox.find()),
        "label": sum(len(store.labels.of(mail.id)) for mail in mails),
        "audit": len(store.audit.entries(limit=100)),
    }


@pytest.mark.parametrize("kind", ["raw", "plan", "outbox", "label", "audit"])
def test_each_kind_goes_after_its_own_time(store: Store, kind: str) -> None:
    """Rule: only this kind goes, the case stays; the day before, nothing does."""
    fill(store)
    finish(store)
    before = sizes(store)
    assert all(before.values())
    settings = days(**{kind: 30})
    assert store.retention.run(settings, NOON + 30 * DAY) == Deleted(cases=0, mails=0)
    assert sizes(store) == before
    assert store.retention.run(settings, NOON + 31 * DAY) == Deleted(cases=0, mails=0)
    after = sizes(store)
    assert after == before | {kind: 1 if kind == "audit" else 0}
    store.retention.run(settings, NOON + 32 * DAY)
    assert sizes(store) == after
    assert store.audit.verify().problem == ""


@pytest.mark.parametrize("kind", ["raw", "plan", "outbox", "label"])
@pytest.mark.parametrize("work", ["new mail", "due", "proposed"])
def test_no_kind_goes_while_a_case_has_work(store: Store, kind: str, work: str) -> None:
    """Rule: what a person or the worker still needs stays, however old."""
    mail_id = fill(store)
    finish(store)
    if work == "new mail":
        store.cases.join(record(store, 2), CASE)
    else:
        mail = outgoing(mail_id, OutgoingKind.ACKNOWLEDGEMENT, CASE)
        put(store, mail.model_copy(update={"is_proposed": work == "proposed"}))
    before = sizes(store)
    store.retention.run(days(**{kind: 30}), NOON + 100 * DAY)
    assert sizes(store) == before


@pytest.mark.parametrize("kind", ["raw", "plan", "outbox", "label"])
@pytest.mark.parametrize("is_about_later_mail", [False, True])
def test_no_kind_goes_while_a_person_must_still_answer(store: Store, kind: str, *, is_about_later_mail: bool) -> None:
    """Failure: a person answered a case after some weeks, and was told that its packet or its mail is gone."""
    mail_id = fill(store)
    if is_about_later_mail:
        mail_id = record(store, 2)
        store.cases.join(mail_id, CASE)
    put(store, outgoing(mail_id, OutgoingKind.PACKET, CASE))
    finish(store)
    before = sizes(store)
    store.retention.run(days(**{kind: 30}), NOON + 100 * DAY)
    assert sizes(store) == before

    put(store, outgoing(record(store, 3), OutgoingKind.PERSON_REPLY, CASE, NOON + DAY, parent=mail_id))
    finish(store)
    store.retention.run(days(**{kind: 30}), NOON + 100 * DAY)
    assert sizes(store)[kind] == 0


def test_without_a_setting_each_kind_is_kept_as_long_as_its_case(store: Store) -> None:
    """Rule: the old setting is the default for all."""
    fill(store)
    finish(store)
    before = sizes(store)
    store.retention.run(StoreSettings(), NOON + 3_650 * DAY)
    assert sizes(store) == before
    assert store.retention.run(StoreSettings(), NOON + 3_651 * DAY) == Deleted(cases=1, mails=1)
    assert len(store.audit.entries(limit=100)) == 1


def test_each_of_our_mails_goes_after_its_own_time(store: Store) -> None:
    """Failure: the digest of the week lost its bytes a minute after it left: it is stored with an old mail."""
    mail_id = fill(store)
    put(store, outgoing(mail_id, OutgoingKind.DIGEST, at=NOON + 40 * DAY))
    finish(store)
    store.retention.run(days(outbox=30), NOON + 41 * DAY)
    kept = {row.kind: bool(row.raw) for row in store.outbox.find()}
    assert kept == {OutgoingKind.ANSWER: False, OutgoingKind.DIGEST: True}
    assert store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER, 1) is None
    assert store.outbox.rendered_mail(mail_id, OutgoingKind.DIGEST, 1) is not None
    store.retention.run(days(outbox=30), NOON + 71 * DAY)
    assert not any(row.raw for row in store.outbox.find())
    assert store.outbox.rendered_mail(mail_id, OutgoingKind.DIGEST, 1) is None
