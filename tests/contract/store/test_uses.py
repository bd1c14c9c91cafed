"""In which answers documents and templates were sent, on both databases."""

from __future__ import annotations

from pydantic import JsonValue

from support_agent.store.records import CaseId, OutboxStatus, OutgoingKind
from support_agent.store.store import Store
from tests.contract.store.examples import CASE, DAY, NOON, case, outgoing, put, record


def _answer(store: Store, number: int, *documents: tuple[int, str], day: int = 0, status: str = "sent") -> None:
    """Mail `number` was answered with these documents, each a number and a version."""
    items: list[JsonValue] = [
        {"kind": "document", "number": n, "version": version, "language": "en"} for n, version in documents
    ]
    payload: dict[str, JsonValue] = {"answers": [{"items": items}, {"items": [{"kind": "account_field", "number": 1}]}]}
    mail_id, at = record(store, number, NOON + day * DAY), NOON + day * DAY
    case_id = CaseId(f"{CASE}{number}")
    store.cases.open(case(case_id), mail_id)
    made = outgoing(mail_id, case_id=case_id, at=at)
    row = put(store, made.model_copy(update={"payload": payload, "templates_version": f"t{number}"}))
    if status != OutboxStatus.READY:
        assert store.outbox.claim(row.id, at)
        if status == OutboxStatus.SENT:
            store.outbox.mark_sent(row.id, "250 ok", at, by="")


def test_documents_are_counted_by_their_versions_in_answers_that_were_sent(store: Store) -> None:
    _answer(store, 1, (1, "a"), (2, "x"))
    _answer(store, 2, (1, "b"), (1, "b"), day=1)
    _answer(store, 3, (1, "b"), day=2)
    _answer(store, 4, (1, "b"), day=3, status="sending")
    found = [(use.number, use.version, use.mails, use.last_at) for use in store.uses.documents()]
    assert found == [(1, "b", 2, NOON + 2 * DAY), (1, "a", 1, NOON), (2, "x", 1, NOON)]
    assert [(use.number, use.mails) for use in store.uses.documents(since=NOON + 2 * DAY)] == [(1, 1)]
    (use,) = store.uses.documents(number=2)
    assert (use.language, use.first_at) == ("en", NOON)


def test_the_cases_of_a_document_are_the_newest_first_and_no_more_than_asked_for(store: Store) -> None:
    for number in range(1, 4):
        _answer(store, number, (1, "a"), day=number)
    _answer(store, 9, (2, "x"), day=9)
    found = store.uses.cases(1, 2)
    assert [one.case_id for one in found] == [f"{CASE}3", f"{CASE}2"]
    assert [one.case_id for one in store.uses.cases(1, 2, found[0].last_at)] == [f"{CASE}3"]


def test_versions_of_a_document_are_those_of_its_number_the_last_sent_first(store: Store) -> None:
    a, b = (store.versions.save_document(1, text) for text in (b"one", b"two"))
    store.versions.save_document(2, b"other")
    _answer(store, 1, (1, b))
    found = store.uses.document_versions(1)
    assert [(one.version, one.text, one.last_at) for one in found] == [(b, b"two", NOON), (a, b"one", None)]
    assert [one.language for one in found] == ["en", None]


def test_each_text_of_a_template_is_listed_once_with_when_it_was_used(store: Store) -> None:
    for version, text in (("t1", "old"), ("t2", "new"), ("t3", "new")):
        store.versions.save_templates(version, {"en/answer.txt.j2": text, "en/other.txt.j2": version})
    for number in (1, 2, 3):
        _answer(store, number, (1, "a"), day=number)
    found = store.uses.template_versions("en/answer.txt.j2")
    days = [(one.text, one.first_at, one.last_at) for one in found]
    assert days == [(b"new", NOON + 2 * DAY, NOON + 3 * DAY), (b"old", NOON + DAY, NOON + DAY)]
    assert store.uses.template_versions("en/none.txt.j2") == ()


def test_packets_and_other_mails_count_for_nothing(store: Store) -> None:
    put(store, outgoing(record(store), OutgoingKind.PACKET))
    assert store.uses.documents() == ()
