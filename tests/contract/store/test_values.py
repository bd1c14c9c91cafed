"""Any text, instant and JSON value survives, alike on each database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy.exc import StatementError

from support_agent.store.columns import MAX_KEY_BYTES
from support_agent.store.store import Store
from tests.contract.store.examples import CASE, NOON, case, cursor, outgoing, queue, raw, record, rendered

NASTY = "a\x00b \ud800 \u202e Größe 😀 '; DROP TABLE mails; -- {{ 7*7 }}"


def test_text_that_postgresql_refuses_does_not_lose_the_mail(store: Store) -> None:
    """Failure (S37): a NUL or a lone surrogate in a header fails the insert, and blocks every later mail."""
    message_id = f"<{NASTY}@example.net>"
    mail_id = record(store, message_id=message_id)
    opened = store.cases.open(case().model_copy(update={"subject": NASTY}), mail_id)
    assert opened.subject == NASTY.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert [mail.id for mail in store.mails.find(message_id=message_id)] == [mail_id]
    found = next(iter(store.cases.for_thread([message_id])), None)
    assert found is not None
    assert found.id == CASE


def test_a_message_id_too_long_for_an_index_is_still_found(store: Store) -> None:
    """Failure: PostgreSQL refuses index entries over 2,700 bytes, and a header may be of any length."""
    # Not compressible, or the database would make room for it.
    long = "".join(f"{number * 7919 % 999_983:06d}" for number in range(20_000))
    assert len(long) > MAX_KEY_BYTES
    mail_id = record(store, message_id=f"<{long}@example.net>")
    other = record(store, 2, message_id=f"<{long}@example.org>")
    assert [mail.id for mail in store.mails.find(message_id=f"<{long}@example.net>")] == [mail_id]
    assert [mail.id for mail in store.mails.find(message_id=f"<{long}@example.org>")] == [other]


def test_json_comes_back_equal(store: Store) -> None:
    """Rule: spans are rendered bytes; every character of them must come back, in order."""
    saved = rendered(record(store)).model_copy(
        update={"spans": {"z": NASTY, "a": [1, 2**60, 0.1, -0.0, 1e-300, True, None, "", {"": []}]}}
    )
    store.outbox.queue(outgoing(saved.mail_id).model_copy(update={"spans": saved.spans}))
    loaded = store.outbox.rendered_mail(saved.mail_id, saved.kind)
    assert loaded == saved
    assert loaded is not None
    assert list(loaded.spans) == ["z", "a"]


def test_an_instant_of_any_zone_is_the_same_instant_in_utc(store: Store) -> None:
    """Rule: aware UTC out, whatever the database can hold."""
    tokyo = datetime(2025, 1, 1, 8, 30, 0, 123_456, tzinfo=timezone(timedelta(hours=9)))
    mail = store.mails.get(record(store, at=tokyo))
    assert mail is not None
    assert mail.received_at == tokyo
    assert mail.received_at.tzinfo is UTC


def test_an_instant_without_a_zone_is_refused(store: Store) -> None:
    """Rule: nobody guesses a zone."""
    row = queue(store)
    with pytest.raises(StatementError, match="no time zone"):
        store.outbox.claim(row.id, NOON.replace(tzinfo=None))


def test_a_mail_of_many_megabytes_is_kept(store: Store) -> None:
    """Rule: up to the mailbox's own limit."""
    big = raw() + bytes(range(256)) * 4 * 10_240
    recorded = store.mails.record(big, "<big@example.net>", cursor(1), NOON)
    assert store.mails.raw(recorded.id) == big
