"""Plans, answers and the versions they were made from, on each database."""

from __future__ import annotations

import hashlib

import pytest

from support_agent.errors import PermanentError
from support_agent.store.records import AnswerKind, MailId
from support_agent.store.store import Store
from tests.contract.store.examples import answer, call, outgoing, plan, record


def test_a_plan_comes_back_as_it_was(store: Store) -> None:
    """Rule: replay reads exactly what was decided, the calls in their order."""
    mail_id = record(store)
    saved = plan(mail_id, calls=(call(0), call(1), call(2)))
    store.save_plan(saved)
    assert store.plan(mail_id) == saved


def test_saving_the_same_plan_twice_changes_nothing(store: Store) -> None:
    """Rule: the step may run again after a crash, also when the answer is on its way."""
    mail_id = record(store)
    for _ in range(2):
        store.save_plan(plan(mail_id))
        store.save_answer(answer(mail_id))
        store.queue(outgoing(mail_id))
    assert store.plan(mail_id) == plan(mail_id)
    assert store.answer_for(mail_id, AnswerKind.ANSWER) == answer(mail_id)
    assert len(store.outgoing()) == 1


def test_a_new_plan_discards_what_was_composed_from_the_old_one(store: Store) -> None:
    """Failure: a crash before the outbox, a second plan that escalates, and the first answer still stored."""
    mail_id = record(store)
    store.save_plan(plan(mail_id))
    store.save_answer(answer(mail_id))
    store.save_plan(plan(mail_id, model="other", calls=(call(0),)))
    assert store.plan(mail_id) == plan(mail_id, model="other", calls=(call(0),))
    assert store.answer_for(mail_id, AnswerKind.ANSWER) is None


def test_what_is_in_the_outbox_keeps_its_plan_and_its_answer(store: Store) -> None:
    """Rule: the bytes in the outbox can be rebuilt from what is stored, always."""
    mail_id = record(store)
    store.save_plan(plan(mail_id))
    store.save_answer(answer(mail_id))
    store.queue(outgoing(mail_id))
    with pytest.raises(PermanentError, match="in the outbox"):
        store.save_plan(plan(mail_id, model="other"))
    with pytest.raises(PermanentError, match="in the outbox"):
        store.save_answer(answer(mail_id, subject="Re: other"))
    assert store.plan(mail_id) == plan(mail_id)
    assert store.answer_for(mail_id, AnswerKind.ANSWER) == answer(mail_id)


def test_an_answer_is_replaced_until_it_is_in_the_outbox(store: Store) -> None:
    """Rule: one answer of a kind; kinds do not disturb each other."""
    mail_id = record(store)
    store.save_answer(answer(mail_id))
    store.save_answer(answer(mail_id, subject="Re: other"))
    assert store.answer_for(mail_id, AnswerKind.ANSWER) == answer(mail_id, subject="Re: other")

    store.queue(outgoing(mail_id))
    packet = answer(mail_id, AnswerKind.PACKET, subject="[case]")
    store.save_answer(packet)
    assert store.answer_for(mail_id, AnswerKind.PACKET) == packet
    assert store.answer_for(mail_id, AnswerKind.ACKNOWLEDGEMENT) is None


def test_a_plan_or_an_answer_needs_its_mail(store: Store) -> None:
    """Rule: nothing is stored about a mail that is not."""
    unknown = MailId("f" * 32)
    with pytest.raises(PermanentError, match="not in the store"):
        store.save_plan(plan(unknown))
    with pytest.raises(PermanentError, match="not in the store"):
        store.save_answer(answer(unknown))
    assert store.plan(unknown) is None


def test_a_document_version_is_stored_once(store: Store) -> None:
    """Rule: a version is the sha256 of the file's bytes; two versions of a number live side by side."""
    version = store.save_document(1, b"# Refunds\r\n\x00")
    assert version == hashlib.sha256(b"# Refunds\r\n\x00").hexdigest()
    assert store.save_document(1, b"# Refunds\r\n\x00") == version
    other = store.save_document(1, b"# Refunds, new")
    found = [store.document(version), store.document(other)]
    assert [(kept.number, kept.raw) for kept in found if kept] == [
        (1, b"# Refunds\r\n\x00"),
        (1, b"# Refunds, new"),
    ]
    assert store.document("0" * 64) is None


def test_a_template_version_stands_for_one_set_of_files(store: Store) -> None:
    """Rule: what a version renders never changes."""
    files = {"answer.txt.j2": "Hello {{ name }}\r\n", "_item.html.j2": "<p>\x00ä</p>"}
    store.save_templates("t1", files)
    store.save_templates("t1", dict(files))
    assert store.templates("t1") == files
    assert store.templates("t2") is None
    with pytest.raises(PermanentError, match="other files"):
        store.save_templates("t1", {"answer.txt.j2": "Bye"})
    assert store.templates("t1") == files
