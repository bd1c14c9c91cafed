"""The audit log, on each database: what it says, that nothing can be changed in it, and that its chain never forks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from threading import Thread
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support_agent.core.modes import Mode
from support_agent.store.audit import BEGINNING, AuditEvent, delete_before, hash_of, verified
from support_agent.store.desk_records import ModeSource, UsedKey
from support_agent.store.records import CaseState, DeliverySource, OutboxStatus, OutgoingKind
from support_agent.store.store import Store
from support_agent.store.tables import AuditRow
from tests.contract.store.examples import ANNA, CASE, DAY, MINUTE, NOON, case, fill, outgoing, put, queue, record


def chain(entries: int) -> list[AuditRow]:
    """A log with this many entries, made without a database."""
    rows, previous = [], BEGINNING
    for number in range(1, entries + 1):
        said = {
            "number": number,
            "act": AuditEvent.MAIL_SENT.value,
            "at": "",
            "who": "",
            "about": {"mail_id": f"m{number}"},
        }
        entry = json.dumps(said)
        rows.append(
            row := AuditRow(number=number, act=AuditEvent.MAIL_SENT.value, entry=entry, previous=previous, hash="")
        )
        row.hash = previous = hash_of(previous, entry)
    return rows


def copy_of(row: AuditRow, **changed: object) -> AuditRow:
    return AuditRow(**{**row.model_dump(), **changed})


@given(st.data())
def test_whatever_is_changed_removed_inserted_or_moved_is_found(data: st.DataObject) -> None:
    """Rule: with a published head, no other log than the one that it names is whole."""
    rows = chain(data.draw(st.integers(2, 8)))
    head = rows[-1].hash
    assert verified(rows, head).problem == ""
    place = data.draw(st.integers(0, len(rows) - 1))
    row = rows[place]
    other = data.draw(st.integers(0, len(rows) - 1).filter(lambda n: n != place))
    before, after = rows[:place], rows[place + 1 :]
    said = row.entry.replace('"mail_id"', '"mail_ID"')
    attacks: dict[str, Callable[[], list[AuditRow]]] = {
        "entry": lambda: [*before, copy_of(row, entry=said), *after],
        "act": lambda: [*before, copy_of(row, act=AuditEvent.FORGOTTEN.value), *after],
        "hash": lambda: [*before, copy_of(row, hash=hash_of(row.hash, "")), *after],
        "previous": lambda: [*before, copy_of(row, previous=hash_of(row.hash, "")), *after],
        "removed": lambda: [*before, *after],
        "renumbered": lambda: [copy_of(one, number=number) for number, one in enumerate([*before, *after], 1)],
        "inserted": lambda: [*before, copy_of(row), *rows[place:]],
        "swapped": lambda: [rows[{place: other, other: place}.get(n, n)] for n in range(len(rows))],
        "beginning cut": lambda: rows[min(place + 1, len(rows) - 1) :],
        "end cut": lambda: before,
        "written anew": lambda: _rehashed([*before, copy_of(row, entry=said), *after]),
    }
    attack = data.draw(st.sampled_from(sorted(attacks)))
    assert verified(attacks[attack](), head).problem != "", attack


def _rehashed(rows: list[AuditRow]) -> list[AuditRow]:
    previous, made = BEGINNING, []
    for row in rows:
        made.append(copy_of(row, previous=previous, hash=(previous := hash_of(previous, row.entry))))
    return made


def acts(store: Store) -> list[tuple[str, str]]:
    return [(entry.act.value, entry.who) for entry in reversed(store.audit.entries())]


def test_an_empty_log_is_whole(store: Store) -> None:
    """Rule: a head can be published before the first entry."""
    assert store.audit.head().hash == BEGINNING
    assert store.audit.verify(BEGINNING).problem == ""
    assert store.audit.entries() == ()


def test_a_mail_that_left_is_named_with_the_digest_of_its_bytes_and_its_documents(store: Store) -> None:
    """Rule: an auditor can tell from the bytes of a mail whether it was sent; packets are not listed."""
    mail = outgoing(record(store))
    document = {"kind": "document", "number": 7, "language": "en", "version": "v7", "title": "Refund"}
    items: list[Any] = [document, {"kind": "field"}]
    row = put(store, mail.model_copy(update={"payload": {"answers": [{"items": items}]}}))
    packet = put(store, outgoing(mail.mail_id, OutgoingKind.PACKET))
    for one in (row, packet):
        assert store.outbox.claim(one.id, NOON)
        store.outbox.mark_sent(one.id, "250 ok", NOON + MINUTE, by="")
    (entry,) = store.audit.entries(AuditEvent.MAIL_SENT)
    assert (entry.at, entry.who, entry.about["outbox_id"]) == (NOON + MINUTE, "the worker", row.id)
    assert entry.about["documents"] == [{"number": 7, "language": "en", "version": "v7"}]
    assert entry.about["sha256"] == hashlib.sha256(row.raw).hexdigest()
    assert store.audit.verify(entry.hash).problem == ""


def test_what_people_decide_is_in_the_log_with_who_did_it(store: Store) -> None:
    """Rule: commands, approvals, modes and who has a case; a repeated order is not a second entry."""
    mail_id = record(store)
    store.cases.open(case(), mail_id)
    row = put(store, outgoing(mail_id, case_id=CASE).model_copy(update={"is_proposed": True}))
    who = "ada@h.example"
    key = UsedKey(key="K", slot="S", command="approve", case_id=CASE, mail_id=mail_id, who=who, used_at=NOON)
    for _ in range(2):
        store.used_keys.use(key)
        store.deliveries.update(
            row.id, OutboxStatus.READY, DeliverySource.STAFF, "approved", NOON, (OutboxStatus.PROPOSED,)
        )
        store.cases.change(CASE, CaseState.WITH_PERSON, who, who, "hers", NOON)
        store.modes.change("document:1", Mode.AUTO, ModeSource.BY_HAND, "the operator", "known", NOON, mail_id)
    store.modes.undo("document:1", "the operator", NOON)
    assert acts(store) == [
        ("desk command", who),
        ("mail decided", "a person at the desk"),
        ("case changed", who),
        ("mode changed", "the operator"),
        ("mode undone", "the operator"),
    ]


def test_nothing_of_a_customer_is_in_the_log(store: Store) -> None:
    """Rule: the log survives forgetting, so it must not need it: no address, no subject, no server's words."""
    fill(store)
    said = "".join(str(entry) for entry in store.audit.entries(limit=50) if entry.act is not AuditEvent.CASE_CHANGED)
    assert "keller" not in said
    assert "Refund" not in said
    assert "5.1.1" not in said


def test_the_same_versions_again_are_no_new_entry(store: Store) -> None:
    """Rule: a restart with the same files says nothing."""
    for version, is_new in (("a", True), ("a", False), ("b", True), ("a", True)):
        assert store.audit.add_if_new(AuditEvent.COMPANY_VERSION, "the worker", NOON, {"company": version}) is is_new
    assert store.audit.verify().entries == 3


def test_entries_of_many_workers_are_one_chain(store: Store) -> None:
    """Rule: the chain does not fork, and no act fails because another one was first."""
    rows = [queue(store, number) for number in range(1, 13)]

    def send(part: int) -> None:
        for row in rows[part::4]:
            store.outbox.claim(row.id, NOON)
            store.outbox.mark_sent(row.id, "250 ok", NOON, by="")

    threads = [Thread(target=send, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = store.audit.verify()
    assert (found.entries, found.problem) == (12, "")


def test_a_log_whose_beginning_retention_deleted_is_whole(store: Store) -> None:
    """Rule: the log says itself what was deleted of it; a beginning that somebody else deleted is missing."""
    for day in range(4):
        store.audit.add(AuditEvent.PUBLISHED, ANNA, NOON + day * DAY, {"day": day})
    head = store.audit.head()
    with store.database.write() as connection:
        assert delete_before(connection, NOON + 2 * DAY, NOON + 9 * DAY) == 2
    found = store.audit.verify(head.hash)
    assert (found.entries, found.problem, found.head.number) == (3, "", 5)
    with store.database.write() as connection:
        assert delete_before(connection, NOON, NOON + 9 * DAY) == 0
        connection.exec_driver_sql("DELETE FROM audit WHERE number = 3")
    assert "missing" in store.audit.verify().problem


def test_a_changed_row_is_named(store: Store) -> None:
    """Rule: `audit verify` says which entry is wrong."""
    for day in range(3):
        store.audit.add(AuditEvent.PUBLISHED, ANNA, NOON + timedelta(days=day), {"day": day})
    with store.database.write() as connection:
        connection.exec_driver_sql("""UPDATE audit SET entry = replace(entry, '"day":1', '"day":7')""")
    assert store.audit.verify().problem.startswith("entry 2 does not have the hash")
