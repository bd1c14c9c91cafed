"""What is found out about a mail after it was tried, on each database."""

from __future__ import annotations

import pytest

from support_agent.errors import PermanentError
from support_agent.store.records import DeliverySource, OutboxId, OutboxRecord, OutboxStatus, OutgoingKind
from support_agent.store.store import Store
from tests.contract.store.examples import DAY, MINUTE, NOON, outgoing, put, queue, record
from tests.contract.store.test_outbox import MARKS, bring_to, tell

READY, SENT = OutboxStatus.READY, OutboxStatus.SENT
UNCERTAIN, FAILED = OutboxStatus.UNCERTAIN, OutboxStatus.FAILED
OPERATOR, BOUNCE = DeliverySource.OPERATOR, DeliverySource.BOUNCE
LATER = NOON + MINUTE


def update(
    store: Store, row: OutboxRecord, after: OutboxStatus, by: DeliverySource = OPERATOR, *sources: OutboxStatus
) -> bool:
    return store.deliveries.update(row.id, after, by, "why", LATER, sources or tuple(OutboxStatus))


def test_s62_what_is_settled_is_moved_and_written_down_once(store: Store) -> None:
    """Rule: the operator who says it twice has said it once; who said it stands beside the mail."""
    row = bring_to(store, UNCERTAIN)
    assert update(store, row, SENT)
    assert not update(store, row, SENT)
    now = store.outbox.get(row.id)
    assert now is not None
    assert (now.status, now.last_detail, now.sent_at) == (SENT, "why", LATER)
    (told,) = store.deliveries.of(row.id)
    assert (told.number, told.before, told.after, told.by, told.updated_at) == (
        1,
        UNCERTAIN,
        SENT,
        OPERATOR,
        LATER,
    )


def test_s62_a_mail_that_is_to_be_sent_again_begins_anew(store: Store) -> None:
    """Rule: all its tries, due at once, the same bytes and Message-ID (S42)."""
    row = bring_to(store, FAILED)
    assert update(store, row, READY)
    (ready,), due = store.outbox.ready(LATER, limit=10), store.outbox.get(row.id)
    assert due is not None
    assert ready.id == due.id
    assert (due.attempts, due.next_try_at, due.raw, due.message_id) == (0, LATER, row.raw, row.message_id)


def test_our_mails_are_found_by_their_message_id_without_their_bytes(store: Store) -> None:
    """Rule: one that cannot be read hides nothing of what a mail answers."""
    row = bring_to(store, SENT)
    (entry,) = store.deliveries.named(row.message_id)
    assert dict(entry) == {name: getattr(row, name) for name in type(entry).model_fields}
    assert store.deliveries.named("<unknown@example.net>") == ()


def test_what_the_sources_do_not_allow_changes_nothing(store: Store) -> None:
    """Rule: between the look and the change another process may have had it."""
    row = bring_to(store, SENT)
    with pytest.raises(PermanentError, match="is sent and cannot become ready"):
        update(store, row, READY, OPERATOR, UNCERTAIN)
    assert store.deliveries.of(row.id) == ()
    assert store.outbox.get(row.id) == row
    with pytest.raises(PermanentError, match="no mail unknown"):
        store.deliveries.update(OutboxId("unknown"), SENT, BOUNCE, "why", NOON, (SENT,))


@pytest.mark.parametrize("kind", OutgoingKind)
def test_the_desk_did_not_get_what_failed_until_it_was_sent_again_or_given_up(store: Store, kind: OutgoingKind) -> None:
    """Rule: a mail to a customer is none of these, nor one that may still leave or was sent."""
    lost, given_up, uncertain = (put(store, outgoing(record(store, number), kind)) for number in (1, 2, 3))
    for row, status in ((lost, FAILED), (given_up, FAILED), (uncertain, UNCERTAIN)):
        assert store.outbox.claim(row.id, NOON)
        MARKS[status](store, row.id, "")
    assert update(store, given_up, FAILED)
    expected = [lost.id] if kind.is_for_desk and kind is not OutgoingKind.ALARM else []
    assert [entry.id for entry in store.deliveries.lost_to_desk()] == expected
    assert [entry.id for entry in store.deliveries.lost_to_desk(lost.mail_id, limit=1)] == expected
    assert store.deliveries.lost_to_desk(given_up.mail_id) == ()
    assert store.outbox.queue_notice(outgoing(lost.mail_id, kind, number=2), lost.id) is not None
    assert store.deliveries.lost_to_desk() == ()


@pytest.mark.parametrize("status", OutboxStatus)
def test_all_that_is_not_known_to_be_out_is_open(store: Store, status: OutboxStatus) -> None:
    row = bring_to(store, status)
    assert [record.id for record in store.deliveries.unconfirmed()] == [row.id] * (
        status not in (SENT, OutboxStatus.CANCELLED)
    )
    assert [record.id for record in store.deliveries.unconfirmed((status,))] == [row.id]


def test_a_failed_mail_is_open_until_a_person_gives_it_up_and_again_when_it_fails_anew(store: Store) -> None:
    """Rule: a bounce is nobody's decision; a person's is over once the mail was sent again."""
    row = bring_to(store, SENT)
    assert update(store, row, FAILED, BOUNCE)
    assert not update(store, row, FAILED, BOUNCE)
    assert [record.id for record in store.deliveries.unconfirmed()] == [row.id]
    assert update(store, row, FAILED)
    assert not update(store, row, FAILED)
    assert not update(store, row, FAILED, BOUNCE)
    assert store.deliveries.unconfirmed() == ()
    assert update(store, row, READY)
    assert store.outbox.claim(row.id, LATER)
    MARKS[FAILED](store, row.id, "")
    assert [record.id for record in store.deliveries.unconfirmed()] == [row.id]
    assert [told.after for told in store.deliveries.of(row.id)] == [FAILED, FAILED, READY]


@pytest.mark.parametrize("by", DeliverySource)
def test_s64_a_loss_that_became_certain_is_told_again(store: Store, by: DeliverySource) -> None:
    """Rule: once as uncertain, once as failed; a person who gives it up has seen it and is news to nobody."""
    row = bring_to(store, UNCERTAIN)
    assert tell(store, row) is not None
    assert store.deliveries.unnotified_losses() == ()
    assert update(store, row, FAILED, by)
    is_news = by is not OPERATOR
    assert [lost.id for lost in store.deliveries.unnotified_losses()] == [row.id] * is_news
    assert not update(store, row, FAILED, BOUNCE)
    assert (tell(store, row, number=3) is not None) is is_news
    assert store.deliveries.unnotified_losses() == ()


def test_s66_what_was_sent_and_not_copied_is_known_and_copied_once(store: Store) -> None:
    """Rule: sent since an instant only; a copy is remembered."""
    row, waiting = queue(store, 1), queue(store, 2)
    assert store.outbox.claim(row.id, NOON)
    store.outbox.mark_sent(row.id, "250 ok", NOON, by="")
    assert [record.id for record in store.deliveries.uncopied(NOON, limit=10)] == [row.id]
    assert store.deliveries.uncopied(LATER, limit=10) == ()
    store.outbox.mark_copied(row.id, LATER)
    store.outbox.mark_copied(row.id, LATER + DAY)
    assert store.deliveries.uncopied(NOON, limit=10) == ()
    copied = store.outbox.get(row.id)
    assert copied is not None
    assert copied.copied_at == LATER
    assert waiting.copied_at is None
