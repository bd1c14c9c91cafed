"""Plans, and the versions that mails are made with, on each database."""

from __future__ import annotations

import hashlib

import pytest
from pydantic import JsonValue
from sqlalchemy import update

from support_agent.errors import PermanentError
from support_agent.store.plans import RecordedChoice
from support_agent.store.records import MailId
from support_agent.store.store import Store
from support_agent.store.tables import PlanRow
from tests.contract.store.examples import MINUTE, NOON, call, outgoing, plan, put, record


def test_a_plan_comes_back_as_it_was(store: Store) -> None:
    """Rule: replay reads exactly what was decided, the calls in their order."""
    mail_id = record(store)
    saved = plan(mail_id, calls=(call(0), call(1), call(2)))
    store.plans.save(saved)
    assert store.plans.get(mail_id) == saved


def test_saving_the_same_plan_twice_changes_nothing(store: Store) -> None:
    """Rule: the step may run again after a crash, also when the answer is on its way."""
    mail_id = record(store)
    for _ in range(2):
        store.plans.save(plan(mail_id))
        put(store, outgoing(mail_id))
    assert store.plans.get(mail_id) == plan(mail_id)
    assert len(store.outbox.find()) == 1


def test_another_plan_replaces_the_first(store: Store) -> None:
    """Failure: a crash before the outbox, and a second plan with fewer calls beside those of the first."""
    mail_id = record(store)
    store.plans.save(plan(mail_id))
    store.plans.save(plan(mail_id, model="other", calls=(call(0),)))
    assert store.plans.get(mail_id) == plan(mail_id, model="other", calls=(call(0),))


def test_what_is_in_the_outbox_keeps_its_plan(store: Store) -> None:
    """Rule: how a mail was decided that may have gone out is never told otherwise."""
    mail_id = record(store)
    store.plans.save(plan(mail_id))
    put(store, outgoing(mail_id))
    with pytest.raises(PermanentError, match="in the outbox"):
        store.plans.save(plan(mail_id, model="other"))
    assert store.plans.get(mail_id) == plan(mail_id)


def test_a_plan_needs_its_mail(store: Store) -> None:
    """Rule: nothing is stored about a mail that is not."""
    unknown = MailId("f" * 32)
    with pytest.raises(PermanentError, match="not in the store"):
        store.plans.save(plan(unknown))
    assert store.plans.get(unknown) is None


def test_the_choices_of_all_mails_since_an_instant_are_read_at_once(store: Store) -> None:
    """Rule: what another version of the program wrote beside them stops nothing."""
    first, second = record(store, 1), record(store, 2, NOON + MINUTE)
    record(store, 3, NOON + MINUTE)
    calls = (call(0), call(1).model_copy(update={"tool": "escalate", "votes": []}))
    for mail_id in (first, second):
        store.plans.save(plan(mail_id, calls=calls))
    chosen = [RecordedChoice(one.tool, one.status, one.votes) for one in calls]
    assert store.plans.choices(NOON) == {first: chosen, second: chosen}
    assert store.plans.choices(NOON + MINUTE) == {second: chosen}
    with store.database.write() as connection:
        connection.execute(update(PlanRow).values(outcome="unheard of"))
    assert store.plans.choices(NOON + MINUTE) == {second: chosen}


def test_a_document_version_is_stored_once(store: Store) -> None:
    """Rule: a version is the sha256 of the file's bytes; two versions of a number live side by side."""
    version = store.versions.save_document(1, b"# Refunds\r\n\x00")
    assert version == hashlib.sha256(b"# Refunds\r\n\x00").hexdigest()
    assert store.versions.save_document(1, b"# Refunds\r\n\x00") == version
    other = store.versions.save_document(1, b"# Refunds, new")
    found = [store.versions.document(version), store.versions.document(other)]
    assert [(kept.number, kept.raw) for kept in found if kept] == [
        (1, b"# Refunds\r\n\x00"),
        (1, b"# Refunds, new"),
    ]
    assert store.versions.document("0" * 64) is None


def test_the_queries_of_a_version_are_stored_once(store: Store) -> None:
    """Rule: what a value came from never changes, whatever is declared later."""
    queries: dict[str, JsonValue] = {"fields": {"plan": "SELECT plan\nFROM subscriptions"}, "series": {}}
    store.versions.save_queries("v1", queries)
    store.versions.save_queries("v1", {"fields": {}, "series": {}})
    assert store.versions.queries("v1") == queries
    assert store.versions.queries("v2") is None


def test_a_template_version_stands_for_one_set_of_files(store: Store) -> None:
    """Rule: what a version renders never changes."""
    files = {"answer.txt.j2": "Hello {{ name }}\r\n", "_item.html.j2": "<p>\x00ä</p>"}
    store.versions.save_templates("t1", files)
    store.versions.save_templates("t1", dict(files))
    assert store.versions.templates("t1") == files
    assert store.versions.templates("t2") is None
    with pytest.raises(PermanentError, match="other files"):
        store.versions.save_templates("t1", {"answer.txt.j2": "Bye"})
    assert store.versions.templates("t1") == files
