"""The outbox, on each database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from support_agent.errors import PermanentError
from support_agent.levels import Level
from support_agent.store.records import CaseId, LetterKind, MailId, OutboxId, OutboxRecord, OutboxStatus
from support_agent.store.store import Store
from tests.contract.store.examples import ANNA, CASE, DAY, MINUTE, NOON, case, letter, outgoing, put, queue, record

MARKS: dict[OutboxStatus, Callable[[Store, OutboxId], None]] = {
    OutboxStatus.SENT: lambda store, row: store.mark_sent(row, "250 ok", NOON),
    OutboxStatus.UNCERTAIN: lambda store, row: store.mark_uncertain(row, "lost after the dot"),
    OutboxStatus.FAILED: lambda store, row: store.mark_failed(row, "550 no such user"),
    OutboxStatus.READY: lambda store, row: store.mark_retry(row, "451 later", NOON + MINUTE),
}


def only(store: Store) -> OutboxRecord:
    (row,) = store.outgoing()
    return row


def bring_to(store: Store, status: OutboxStatus) -> OutboxRecord:
    row = queue(store)
    if status is not OutboxStatus.READY:
        assert store.claim(row.id, NOON)
    if status in (OutboxStatus.SENT, OutboxStatus.UNCERTAIN, OutboxStatus.FAILED):
        MARKS[status](store, row.id)
    assert only(store).status is status
    return only(store)


def test_a_queued_mail_is_kept_byte_for_byte_and_due_at_once(store: Store) -> None:
    """Rule: what is sent is what was composed."""
    mail_id = record(store)
    store.open_case(case(), mail_id)
    mail = outgoing(mail_id, case_id=CASE)
    row = put(store, mail)
    assert row == mail
    assert (row.status, row.attempts, row.next_try_at) == (OutboxStatus.READY, 0, NOON)
    assert store.ready(NOON, limit=10) == (row,)
    assert store.outgoing(message_id=mail.message_id) == (row,)


def test_queueing_again_keeps_the_first_bytes(store: Store) -> None:
    """Rule: one mail of a kind for a mail; a step that runs again sends no other text and explains no other one."""
    row = bring_to(store, OutboxStatus.SENT)
    again = store.queue((letter(row.mail_id, subject="other"), outgoing(row.mail_id, body=b"other")))
    assert again == (row,)
    assert only(store) == row
    assert store.letter_for(row.mail_id, row.kind) == letter(row.mail_id)


def test_mails_are_queued_all_or_none(store: Store) -> None:
    """Failure: the desk has the rest of a mail whose answer never came into the outbox."""
    taken = queue(store, 1).message_id
    mail_id = record(store, 2)
    packet = outgoing(mail_id, LetterKind.PACKET)
    answer = outgoing(mail_id).model_copy(update={"message_id": taken})
    with pytest.raises(PermanentError, match="Message-ID"):
        store.queue((letter(mail_id, LetterKind.PACKET), packet), (letter(mail_id), answer))
    assert store.outgoing(mail_id=mail_id) == ()
    assert store.letter_for(mail_id, LetterKind.PACKET) is None


def test_mail_that_is_not_in_the_store_has_nothing_in_the_outbox(store: Store) -> None:
    """Rule: nothing is stored about a mail that is not."""
    with pytest.raises(PermanentError, match="not in the store"):
        put(store, outgoing(MailId("f" * 32)))
    assert store.outgoing() == ()


def test_each_kind_goes_out_once(store: Store) -> None:
    """Rule: an acknowledgement to the customer and a packet to the desk are two mails."""
    mail_id = record(store)
    rows = [put(store, outgoing(mail_id, kind)) for kind in (LetterKind.ACKNOWLEDGEMENT, LetterKind.PACKET)]
    assert {row.id for row in store.outgoing(mail_id=mail_id)} == {row.id for row in rows}
    assert [row.kind for row in store.outgoing(kind=LetterKind.PACKET)] == [LetterKind.PACKET]


def test_a_message_id_belongs_to_one_mail(store: Store) -> None:
    """Rule: the Message-ID says which mail a bounce or a copy in Sent is about."""
    row = queue(store, 1)
    copy = outgoing(record(store, 2)).model_copy(update={"message_id": row.message_id})
    with pytest.raises(PermanentError, match="Message-ID"):
        put(store, copy)
    assert only(store) == row


def test_only_what_is_due_is_ready_and_the_longest_due_first(store: Store) -> None:
    """Rule: a retry waits for its instant; the limit holds."""
    late, soon, first = (queue(store, n, at=NOON + n * MINUTE).id for n in (3, 2, 1))
    assert [row.id for row in store.ready(NOON + 2 * MINUTE, limit=10)] == [first, soon]
    assert [row.id for row in store.ready(NOON + DAY, limit=10)] == [first, soon, late]
    assert [row.id for row in store.ready(NOON + DAY, limit=2)] == [first, soon]


def test_letters_of_a_case_are_counted_but_for_one_mails_own(store: Store) -> None:
    """Rule: the kinds asked for, in this case; a step that runs again does not count what it made."""
    first, second = record(store, 1), record(store, 2)
    for mail_id in (first, second):
        store.open_case(case(), mail_id)
    store.queue((letter(first), outgoing(first, case_id=CASE)))
    assert store.count_for_case((LetterKind.ANSWER,), CASE, but_for=second) == 1
    assert store.count_for_case((LetterKind.ANSWER,), CASE, but_for=first) == 0
    assert store.count_for_case((LetterKind.PACKET,), CASE, but_for=second) == 0
    assert store.count_for_case((LetterKind.ANSWER,), CaseId("other"), but_for=second) == 0


@pytest.mark.parametrize(
    ("address", "level", "since", "count"),
    [
        (ANNA, 0, NOON, 1),
        (ANNA, 2, NOON, 1),
        (ANNA, 3, NOON, 0),
        (ANNA, 0, NOON + MINUTE, 0),
        ("other@example.net", 0, NOON, 0),
    ],
)
def test_letters_for_a_sender_are_counted_by_address_level_and_time(
    store: Store, address: str, level: Level, since: datetime, count: int
) -> None:
    """Rule: what less proven mails caused does not count for a proven one."""
    mail_id = record(store)
    store.open_case(case(), mail_id)
    store.save_sender(mail_id, 2, "dmarc=pass")
    store.queue((letter(mail_id), outgoing(mail_id, case_id=CASE)))
    assert store.count_for_sender((LetterKind.ANSWER,), address, level, since, MailId("other")) == count
    assert store.count_for_sender((LetterKind.ANSWER,), address, level, since, mail_id) == 0


def test_a_row_is_claimed_once_per_try(store: Store) -> None:
    """Rule: save, then act: only the caller that moved the row may send."""
    row = queue(store)
    assert not store.claim(row.id, NOON - MINUTE)
    assert store.claim(row.id, NOON)
    assert not store.claim(row.id, NOON)
    assert (only(store).status, only(store).attempts) == (OutboxStatus.SENDING, 1)
    assert store.ready(NOON + DAY, limit=10) == ()

    store.mark_retry(row.id, "451 later", NOON + MINUTE)
    assert not store.claim(row.id, NOON)
    assert store.claim(row.id, NOON + MINUTE)
    assert (only(store).attempts, only(store).last_detail) == (2, "451 later")
    assert not store.claim(OutboxId("unknown"), NOON)


@pytest.mark.parametrize("target", MARKS)
@pytest.mark.parametrize("source", OutboxStatus)
def test_a_row_takes_no_way_but_the_drawn_ones(store: Store, source: OutboxStatus, target: OutboxStatus) -> None:
    """Rule: sending goes anywhere, uncertain only to sent or failed, the rest nowhere."""
    before = bring_to(store, source)
    may = source is OutboxStatus.SENDING or (
        source is OutboxStatus.UNCERTAIN and target in (OutboxStatus.SENT, OutboxStatus.FAILED)
    )
    if may:
        MARKS[target](store, before.id)
        assert only(store).status is target
        assert only(store).last_detail != before.last_detail
        assert (only(store).sent_at == NOON) is (target is OutboxStatus.SENT)
    elif source is target:
        MARKS[target](store, before.id)
        assert only(store) == before
    else:
        with pytest.raises(PermanentError, match=f"is {source} and cannot become {target}"):
            MARKS[target](store, before.id)
        assert only(store) == before


def test_marking_an_unknown_row_is_an_error(store: Store) -> None:
    """Rule: a write that hits no row says so."""
    with pytest.raises(PermanentError, match="not in the outbox"):
        store.mark_sent(OutboxId("unknown"), "250 ok", NOON)


def test_what_a_dead_sender_left_is_uncertain_and_never_ready(store: Store) -> None:
    """Rule (S62): after a crash nobody knows whether the final dot was sent; a person decides."""
    left, waiting = queue(store, 1), queue(store, 2)
    assert store.claim(left.id, NOON)

    (recovered,) = store.recover_sending()

    assert (recovered.id, recovered.status) == (left.id, OutboxStatus.UNCERTAIN)
    assert store.outgoing(status=OutboxStatus.UNCERTAIN) == (recovered,)
    assert recovered.last_detail
    assert [row.id for row in store.ready(NOON + DAY, limit=10)] == [waiting.id]
    assert store.recover_sending() == ()


@pytest.mark.parametrize("kind", LetterKind)
@pytest.mark.parametrize("status", OutboxStatus)
def test_a_customers_mail_that_was_lost_is_untold_until_the_desk_has_a_failure(
    store: Store, status: OutboxStatus, kind: LetterKind
) -> None:
    """Rule: failed or uncertain; a mail to the desk is not, for it could only be told to the desk again."""
    mail_id = record(store)
    row = put(store, outgoing(mail_id, kind))
    if status is not OutboxStatus.READY:
        assert store.claim(row.id, NOON)
        if status is not OutboxStatus.SENDING:
            MARKS[status](store, row.id)
    is_lost = status in (OutboxStatus.FAILED, OutboxStatus.UNCERTAIN) and not kind.is_for_desk
    assert [lost.id for lost in store.untold_losses()] == [row.id] * is_lost
    assert store.untold_losses(mail_id) == store.untold_losses()
    assert store.untold_losses(record(store, 2)) == ()

    put(store, outgoing(mail_id, LetterKind.FAILURE))
    assert store.untold_losses() == ()
