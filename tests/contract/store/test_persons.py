"""What is kept about a person, on each database: found by every spelling, deleted whole, and not while it is needed."""

from __future__ import annotations

import pytest
from sqlalchemy import MetaData, select

from support_agent.errors import PermanentError
from support_agent.store.audit import AuditEvent
from support_agent.store.records import CaseId, MailStatus
from support_agent.store.store import Store
from tests.contract.store.examples import ANNA, CASE, NOON, case, cursor, fill, outgoing, put, raw, record

STAYS = {
    *("alarms", "alembic_version", "cursors", "document_versions", "expiries", "forgotten_mails", "mode_changes"),
    *("programs", "query_sets"),
}
"""Tables without anything of a customer."""


def finish(store: Store) -> None:
    for mail in store.mails.find(status=MailStatus.NEW):
        store.mails.end(mail.id, MailStatus.ANSWERED, None, None, NOON)
    for row in store.outbox.ready(NOON, limit=100):
        assert store.outbox.claim(row.id, NOON)
        store.outbox.mark_sent(row.id, "250 ok", NOON, by="")


def filled(store: Store) -> set[str]:
    """The tables that have rows."""
    with store.database.read() as connection:
        metadata = MetaData()
        metadata.reflect(connection)
        return {
            table.name
            for table in metadata.sorted_tables
            if connection.execute(select(table).limit(1)).first() is not None
        }


def test_every_table_is_empty_of_a_forgotten_person(store: Store) -> None:
    """Rule: a new table that refers to a mail or a case cannot be left out without this failing."""
    mail_id = fill(store)
    finish(store)
    kept = store.persons.find([ANNA])
    assert (kept.cases, kept.mails, kept.others) == ((CASE,), (mail_id,), ("second@example.net",))
    assert all(kept.counts.values())
    assert store.persons.forget(kept, NOON, {"persons": ["p"]}).counts == kept.counts
    store.database.purge()
    assert filled(store) == STAYS | {"template_sets", "audit"}
    found = store.persons.find([ANNA])
    assert (found.cases, found.mails, found.suppressions) == ((), (), ())
    (entry,) = store.audit.entries(AuditEvent.FORGOTTEN)
    assert entry.about["persons"] == ["p"]
    assert not store.mails.record(raw(1), "<1@example.net>", cursor(9), NOON).is_new


@pytest.mark.parametrize("sender", ["anna.keller+shop@example.net", ANNA])
def test_a_mail_without_a_case_is_found_by_its_sender(store: Store, sender: str) -> None:
    """Rule: filed mail counts; another person's does not."""
    for number, address in ((1, sender), (2, "anna@example.net")):
        store.mails.save_sender(record(store, number), address, 2, "dmarc=pass")
    finish(store)
    kept = store.persons.find([ANNA])
    assert len(kept.mails) == 1
    store.persons.forget(kept, NOON, {})
    assert [mail.uid for mail in store.mails.find()] == [2]


def test_what_came_since_it_was_found_stops_it(store: Store) -> None:
    """Rule: between the list and the deletion the worker goes on: a new mail of the case is not lost unanswered, and
    one that is finished has records and files that the list does not have.
    """
    store.cases.open(case(), record(store, 1))
    finish(store)
    kept = store.persons.find([ANNA])
    store.cases.join(record(store, 2), CASE)
    with pytest.raises(PermanentError, match="still being handled"):
        store.persons.forget(kept, NOON, {})
    assert len(store.mails.find()) == 2
    finish(store)
    with pytest.raises(PermanentError, match="come in meanwhile: run it again"):
        store.persons.forget(kept, NOON, {})
    assert len(store.mails.find()) == 2
    assert len(store.persons.forget(store.persons.find([ANNA]), NOON, {}).mails) == 2


def test_a_mail_that_may_still_leave_stops_it(store: Store) -> None:
    """Rule: an answer is not unsent by forgetting, and one in doubt needs a person first."""
    mail_id = record(store)
    store.cases.open(case(CaseId("BBBBBBBBBB")), mail_id)
    store.mails.end(mail_id, MailStatus.ANSWERED, None, None, NOON)
    row = put(store, outgoing(mail_id, case_id=CaseId("BBBBBBBBBB")))
    with pytest.raises(PermanentError, match=f"{row.id} may still leave"):
        store.persons.forget(store.persons.find([ANNA]), NOON, {})
    finish(store)
    store.persons.forget(store.persons.find([ANNA]), NOON, {})
    assert store.mails.find() == ()


def test_the_bytes_of_every_mail_are_read_once(store: Store) -> None:
    """Rule: a search by bytes leaves nothing out, and reads no more than one mail at a time."""
    ids = {record(store, number) for number in range(1, 6)}
    assert {stored.mail_id for stored in store.persons.raws()} == ids
    assert len(list(store.persons.raws())) == 5
