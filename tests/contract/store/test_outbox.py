"""The outbox, on each database."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime
from threading import Event, Thread

import pytest

from support_agent.errors import PermanentError, TransientError
from support_agent.store.outbox import DIED_WHILE_SENDING, TAKEN_OVER
from support_agent.store.records import (
    DeliverySource,
    Due,
    MailId,
    OutboxId,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
    OutgoingMail,
)
from support_agent.store.store import Store
from tests.contract.store.examples import ANNA, CASE, DAY, MINUTE, NOON, case, outgoing, put, queue, record, rendered

MARKS: dict[OutboxStatus, Callable[[Store, OutboxId, str], None]] = {
    OutboxStatus.SENT: lambda store, row, by: store.outbox.mark_sent(row, "250 ok", NOON, by=by),
    OutboxStatus.UNCERTAIN: lambda store, row, by: store.outbox.mark_uncertain(row, "lost after the dot", NOON, by=by),
    OutboxStatus.FAILED: lambda store, row, by: store.outbox.mark_failed(row, "550 no such user", by=by),
    OutboxStatus.READY: lambda store, row, by: store.outbox.mark_retry(row, "451 later", NOON + MINUTE, by=by),
}


def only(store: Store) -> OutboxRecord:
    (row,) = store.outbox.find()
    return row


def unsent(store: Store, status: OutboxStatus) -> OutboxRecord:
    """A mail that waits for a person, or that a person did not want."""
    row = put(store, outgoing(record(store)).model_copy(update={"is_proposed": True}))
    if status is OutboxStatus.CANCELLED:
        sources = (OutboxStatus.PROPOSED,)
        assert store.deliveries.update(row.id, status, DeliverySource.STAFF, "not this", NOON, sources)
    return only(store)


def bring_to(store: Store, status: OutboxStatus) -> OutboxRecord:
    if status.is_unsent:
        return unsent(store, status)
    row = queue(store)
    if status is not OutboxStatus.READY:
        assert store.outbox.claim(row.id, NOON)
    if status in (OutboxStatus.SENT, OutboxStatus.UNCERTAIN, OutboxStatus.FAILED):
        MARKS[status](store, row.id, "")
    assert only(store).status is status
    return only(store)


def test_a_queued_mail_is_kept_byte_for_byte_and_due_at_once(store: Store) -> None:
    """Rule: what is sent is what was composed."""
    mail_id = record(store)
    store.cases.open(case(), mail_id)
    mail = outgoing(mail_id, case_id=CASE)
    row = put(store, mail)
    kept = OutgoingMail.model_fields.keys() & OutboxRecord.model_fields.keys()
    assert {name: getattr(row, name) for name in kept} == {name: getattr(mail, name) for name in kept}
    assert (row.status, row.attempts, row.next_try_at) == (OutboxStatus.READY, 0, NOON)
    assert store.outbox.ready(NOON, limit=10) == (Due(next_try_at=NOON, created_at=NOON, id=row.id),)
    assert store.outbox.find(message_id=mail.message_id) == (row,)


def test_queueing_again_keeps_the_first_bytes(store: Store) -> None:
    """Rule: one mail of a kind for a mail; a step that runs again sends no other text and explains no other one."""
    row = bring_to(store, OutboxStatus.SENT)
    again = store.outbox.queue(outgoing(row.mail_id, body=b"other", subject="other"))
    assert again == row
    assert only(store) == row
    assert store.outbox.rendered_mail(row.mail_id, row.kind) == rendered(row.mail_id)


def test_what_is_decided_about_a_mail_is_queued_all_or_none(store: Store) -> None:
    """Failure: the desk has the rest of a mail whose answer never came into the outbox."""
    taken = queue(store, 1).message_id
    mail_id = record(store, 2)
    packet = outgoing(mail_id, OutgoingKind.PACKET)
    answer = outgoing(mail_id).model_copy(update={"message_id": taken})
    with pytest.raises(PermanentError, match="Message-ID"):
        store.outbox.queue_first(packet, answer)
    assert store.outbox.find(mail_id=mail_id) == ()
    assert store.outbox.rendered_mail(mail_id, OutgoingKind.PACKET) is None


@pytest.mark.parametrize("decided", [OutgoingKind.ANSWER, OutgoingKind.PACKET])
@pytest.mark.parametrize("second", [OutgoingKind.ANSWER, OutgoingKind.PACKET])
def test_a_mail_that_is_answered_or_with_the_desk_is_not_decided_again(
    store: Store, decided: OutgoingKind, second: OutgoingKind
) -> None:
    """Rule: another run that decided otherwise adds nothing: no answer after the packet, no packet after the answer."""
    mail_id = record(store)
    assert store.outbox.queue_first(outgoing(mail_id, decided))
    assert not store.outbox.queue_first(outgoing(mail_id, second, body=b"other"))
    assert [row.kind for row in store.outbox.find(mail_id=mail_id)] == [decided]


def test_the_notice_of_a_failure_decides_nothing_about_its_mail(store: Store) -> None:
    """Rule: a mail whose first run failed is answered by the next."""
    mail_id = record(store)
    put(store, outgoing(mail_id, OutgoingKind.FAILURE))
    assert store.outbox.queue_first(outgoing(mail_id))


def test_mail_that_is_not_in_the_store_has_nothing_in_the_outbox(store: Store) -> None:
    """Rule: nothing is stored about a mail that is not."""
    with pytest.raises(PermanentError, match="not in the store"):
        put(store, outgoing(MailId("f" * 32)))
    assert store.outbox.find() == ()


def test_each_kind_goes_out_once(store: Store) -> None:
    """Rule: an acknowledgement to the customer and a packet to the desk are two mails."""
    mail_id = record(store)
    rows = [put(store, outgoing(mail_id, kind)) for kind in (OutgoingKind.ACKNOWLEDGEMENT, OutgoingKind.PACKET)]
    assert {row.id for row in store.outbox.find(mail_id=mail_id)} == {row.id for row in rows}
    assert [row.kind for row in store.outbox.find(kind=OutgoingKind.PACKET)] == [OutgoingKind.PACKET]


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
    assert [row.id for row in store.outbox.ready(NOON + 2 * MINUTE, limit=10)] == [first, soon]
    assert [row.id for row in store.outbox.ready(NOON + DAY, limit=10)] == [first, soon, late]
    assert [row.id for row in store.outbox.ready(NOON + DAY, limit=2)] == [first, soon]


def page_through(store: Store, now: datetime, limit: int, *taken: OutboxId) -> list[OutboxId]:
    """The ids of what is due, batch by batch; those `taken` are claimed when they come up."""
    ids: list[OutboxId] = []
    last: Due | None = None
    while due := store.outbox.ready(now, limit, last):
        assert len(due) <= limit
        for last in due:
            ids.append(last.id)
            assert last.id not in taken or store.outbox.claim(last.id, now)
    return ids


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_what_is_due_is_read_in_batches_each_mail_once(store: Store, limit: int) -> None:
    """Rule: a batch begins behind the last mail of the one before, also among mails of one instant, and whatever
    became of them: those that are still due there, because they are held, keep no other from being read.
    """
    ids = sorted(put(store, outgoing(record(store, n))).id for n in range(1, 5))
    ids += [queue(store, n, at=NOON + n * MINUTE).id for n in (5, 6)]
    queue(store, 7, at=NOON + DAY)
    assert page_through(store, NOON + 10 * MINUTE, limit) == ids
    assert page_through(store, NOON + 10 * MINUTE, limit, ids[0], ids[2], ids[5]) == ids
    assert page_through(store, NOON + 10 * MINUTE, limit) == [ids[1], ids[3], ids[4]]


def test_of_what_was_put_off_alike_the_oldest_is_due_first(store: Store) -> None:
    """Rule: the instant of the next try, then the age, and a batch begins there too."""
    young, old = queue(store, 1, at=NOON + MINUTE).id, queue(store, 2, at=NOON).id
    for row in (young, old):
        assert store.outbox.claim(row, NOON + MINUTE)
        store.outbox.mark_retry(row, "451 later", NOON + 2 * MINUTE, by="")
    assert page_through(store, NOON + DAY, 1) == [old, young]


def test_only_the_kinds_that_are_asked_for_are_due(store: Store) -> None:
    """Rule: what is held by its kind fills no batch."""
    mail_id = record(store)
    rows = {kind: put(store, outgoing(mail_id, kind)).id for kind in OutgoingKind}
    assert {due.id for due in store.outbox.ready(NOON, 10)} == set(rows.values())
    kinds = [OutgoingKind.PACKET, OutgoingKind.PERSON_REPLY]
    assert {due.id for due in store.outbox.ready(NOON, 10, kinds=kinds)} == {rows[kind] for kind in kinds}
    assert store.outbox.ready(NOON, 10, kinds=[]) == ()


def test_a_row_is_claimed_once_per_try(store: Store) -> None:
    """Rule: save, then act: only the caller that moved the row may send."""
    row = queue(store)
    assert not store.outbox.claim(row.id, NOON - MINUTE)
    assert store.outbox.claim(row.id, NOON)
    assert not store.outbox.claim(row.id, NOON)
    assert (only(store).status, only(store).attempts) == (OutboxStatus.SENDING, 1)
    assert store.outbox.ready(NOON + DAY, limit=10) == ()

    store.outbox.mark_retry(row.id, "451 later", NOON + MINUTE, by="")
    assert not store.outbox.claim(row.id, NOON)
    assert store.outbox.claim(row.id, NOON + MINUTE)
    assert (only(store).attempts, only(store).last_detail) == (2, "451 later")
    assert not store.outbox.claim(OutboxId("unknown"), NOON)


@pytest.mark.parametrize("target", MARKS)
@pytest.mark.parametrize("source", OutboxStatus)
def test_a_row_takes_no_way_but_the_drawn_ones(store: Store, source: OutboxStatus, target: OutboxStatus) -> None:
    """Rule (S62): sending goes anywhere, the rest nowhere; whoever knows more of a mail settles it, and is named."""
    before = bring_to(store, source)
    if source is OutboxStatus.SENDING:
        MARKS[target](store, before.id, "")
        assert only(store).status is target
        assert only(store).last_detail != before.last_detail
        assert (only(store).sent_at == NOON) is (target is OutboxStatus.SENT)
    elif source is target:
        MARKS[target](store, before.id, "")
        assert only(store) == before
    else:
        with pytest.raises(PermanentError, match=f"is {source} and cannot become {target}"):
            MARKS[target](store, before.id, "")
        assert only(store) == before


def test_marking_an_unknown_row_is_an_error(store: Store) -> None:
    """Rule: a write that hits no row says so."""
    with pytest.raises(PermanentError, match="not in the outbox"):
        store.outbox.mark_sent(OutboxId("unknown"), "250 ok", NOON, by="")


def test_what_a_dead_sender_left_is_uncertain_and_never_ready(store: Store) -> None:
    """Rule (S62): after a crash nobody knows whether the final dot was sent; a person decides."""
    left, waiting = queue(store, 1), queue(store, 2)
    assert store.outbox.claim(left.id, NOON)

    (recovered,) = store.outbox.recover_sending()

    assert (recovered.id, recovered.status) == (left.id, OutboxStatus.UNCERTAIN)
    (uncertain,) = store.outbox.find(status=OutboxStatus.UNCERTAIN)
    assert (uncertain.id, uncertain.last_detail) == (left.id, DIED_WHILE_SENDING)
    assert [row.id for row in store.outbox.ready(NOON + DAY, limit=10)] == [waiting.id]
    assert store.outbox.recover_sending() == ()


def test_the_living_workers_are_read_after_the_mails_being_sent(store: Store) -> None:
    """Failure: a worker that began between the two was not known, and the mail that it sent became uncertain."""
    left, claimed = queue(store, 1), queue(store, 2)
    assert store.outbox.recover_sending(alive=lambda: pytest.fail("nothing is being sent")) == ()
    assert store.outbox.claim(left.id, NOON, by="the dead")
    assert store.outbox.claim(claimed.id, NOON, by="the living")
    assert [row.id for row in store.outbox.recover_sending(alive=lambda: {"the living"})] == [left.id]


def test_a_later_try_is_not_recovered_for_an_earlier_one(store: Store) -> None:
    """Rule: what was read as being sent may be done since, and be sent anew under the same name."""
    row = queue(store)
    assert store.outbox.claim(row.id, NOON, by="a worker")

    def goes_on() -> set[str]:
        store.outbox.mark_retry(row.id, "451 later", NOON, by="a worker")
        assert store.outbox.claim(row.id, NOON, by="a worker")
        return set()

    assert store.outbox.recover_sending(alive=goes_on) == ()
    assert (only(store).status, only(store).attempts) == (OutboxStatus.SENDING, 2)
    store.outbox.mark_sent(row.id, "250 ok", NOON, by="a worker")


@pytest.mark.parametrize("target", MARKS)
@pytest.mark.parametrize("is_claimed_again", [False, True])
def test_a_sender_that_was_taken_for_dead_marks_nothing(
    store: Store, target: OutboxStatus, is_claimed_again: bool
) -> None:
    """Rule: what the others have recorded stays, also while another worker sends the same mail to the desk again."""
    row = put(store, outgoing(record(store), OutgoingKind.PACKET))
    assert store.outbox.claim(row.id, NOON, by="the first")
    store.outbox.recover_sending(desk_tries=9 if is_claimed_again else 0, alive=lambda: {"the second"})
    assert store.outbox.claim(row.id, NOON, by="the second") is is_claimed_again
    before = only(store)
    if before.status is target:  # it says the same
        MARKS[target](store, row.id, "the first")
    else:
        with pytest.raises(PermanentError) as caught:
            MARKS[target](store, row.id, "the first")
        assert caught.value.code == TAKEN_OVER
    assert only(store) == before
    if is_claimed_again:
        MARKS[target](store, row.id, "the second")
        assert only(store).status is target


def test_what_is_due_later_than_anything_can_be_is_called_in(store: Store) -> None:
    """Rule: put off while the clock was ahead, it does not wait until the clock is there; the others wait."""
    ahead, waiting = queue(store, 1, at=NOON + DAY + MINUTE), queue(store, 2, at=NOON + DAY)
    assert store.outbox.reset_retry_times(NOON, NOON + DAY) == 1
    assert [row.id for row in store.outbox.ready(NOON, limit=10)] == [ahead.id]
    assert store.outbox.reset_retry_times(NOON, NOON + DAY) == 0
    assert waiting in store.outbox.find()


@pytest.mark.parametrize("kind", OutgoingKind)
@pytest.mark.parametrize("tries", [1, 2])
def test_what_a_dead_sender_left_for_the_desk_is_ready_again_while_it_has_tries(
    store: Store, kind: OutgoingKind, tries: int
) -> None:
    """Rule (S62): the same packet twice harms nobody, a case of which nobody hears does; the tries are bounded."""
    row = put(store, outgoing(record(store), kind))
    assert store.outbox.claim(row.id, NOON)
    (recovered,) = store.outbox.recover_sending(desk_tries=tries)
    is_again = kind.is_for_desk and tries > 1
    assert recovered.status is (OutboxStatus.READY if is_again else OutboxStatus.UNCERTAIN)
    assert (only(store).id, only(store).status, only(store).attempts) == (recovered.id, recovered.status, 1)
    assert store.outbox.claim(row.id, NOON) is is_again


@pytest.mark.parametrize("kind", OutgoingKind)
@pytest.mark.parametrize("status", [status for status in OutboxStatus if not status.is_unsent])
def test_a_customers_mail_that_was_lost_is_untold_until_the_desk_is_told(
    store: Store, status: OutboxStatus, kind: OutgoingKind
) -> None:
    """Rule: failed or uncertain; a mail to the desk is not, for it could only be told to the desk again."""
    mail_id = record(store)
    row = put(store, outgoing(mail_id, kind))
    if status is not OutboxStatus.READY:
        assert store.outbox.claim(row.id, NOON)
        if status is not OutboxStatus.SENDING:
            MARKS[status](store, row.id, "")
    is_lost = status in (OutboxStatus.FAILED, OutboxStatus.UNCERTAIN) and not kind.is_for_desk
    assert [lost.id for lost in store.deliveries.unnotified_losses()] == [row.id] * is_lost
    assert store.deliveries.unnotified_losses(mail_id) == store.deliveries.unnotified_losses()
    assert store.deliveries.unnotified_losses(record(store, 2)) == ()

    queued = tell(store, row)
    assert (queued is not None) is (status in (OutboxStatus.FAILED, OutboxStatus.UNCERTAIN))
    assert store.deliveries.unnotified_losses() == ()
    assert tell(store, row, 3) is None


@pytest.mark.parametrize(("by", "is_told"), [(DeliverySource.OPERATOR, False), (DeliverySource.STAFF, True)])
def test_the_desk_is_told_what_an_operator_undid_and_not_what_it_cancelled_itself(
    store: Store, by: DeliverySource, is_told: bool
) -> None:
    """Rule: nobody at the desk knows of an operator's word at the machine."""
    row = unsent(store, OutboxStatus.PROPOSED)
    assert store.deliveries.update(row.id, OutboxStatus.CANCELLED, by, "undone", NOON, (OutboxStatus.PROPOSED,))
    assert [lost.id for lost in store.deliveries.unnotified_losses()] == [row.id] * (not is_told)
    assert (tell(store, row) is not None) is not is_told
    assert store.deliveries.unnotified_losses() == ()


def tell(store: Store, lost: OutboxRecord, number: int = 2, body: bytes = b"notice") -> OutboxRecord | None:
    """The desk's notice number so many that this is lost."""
    kind = OutgoingKind.FAILURE
    notice = outgoing(lost.mail_id, kind, number=number, body=body, at=NOON + DAY)
    return store.outbox.queue_notice(notice, lost.id)


def test_a_notice_and_the_record_that_the_desk_was_told_are_one(store: Store) -> None:
    """Failure: the process dies between the two, and the desk hears of it twice or never."""
    row = bring_to(store, OutboxStatus.FAILED)
    put(store, outgoing(row.mail_id, OutgoingKind.FAILURE, number=2, body=b"of something else"))
    with pytest.raises(TransientError, match="another notice took the number of"):
        tell(store, row)
    assert [lost.id for lost in store.deliveries.unnotified_losses()] == [row.id]
    assert tell(store, row, 3) is not None
    told = store.outbox.get(row.id)
    assert told is not None
    assert told.notified_at == NOON + DAY


def test_notices_of_one_mail_are_mails_of_their_own(store: Store) -> None:
    """Rule: each with its rendered mail and its id; the first bears no number, as those of any other kind."""
    mail_id, kind = record(store), OutgoingKind.FAILURE
    for number in (1, 2):
        subject = f"notice {number}"
        store.outbox.queue(outgoing(mail_id, kind, number=number, subject=subject))
    assert [row.id for row in store.outbox.find()] == [f"{mail_id}-failure", f"{mail_id}-failure-2"]
    for number in (1, 2):
        assert store.outbox.rendered_mail(mail_id, kind, number) == rendered(mail_id, kind, f"notice {number}", number)


@pytest.mark.parametrize("after", [OutboxStatus.READY, OutboxStatus.SENT])
def test_a_loss_that_is_over_is_told_again_when_it_comes_back(store: Store, after: OutboxStatus) -> None:
    """Failure: a person sends it again, or it was found to be out, then it fails or bounces, and nobody hears of it."""
    row = bring_to(store, OutboxStatus.UNCERTAIN)
    assert tell(store, row, 1) is not None
    store.deliveries.update(row.id, after, DeliverySource.OPERATOR, "why", NOON, (OutboxStatus.UNCERTAIN,))
    assert store.deliveries.unnotified_losses() == ()
    store.deliveries.update(row.id, OutboxStatus.FAILED, DeliverySource.BOUNCE, "why", NOON, (after,))
    assert [lost.id for lost in store.deliveries.unnotified_losses()] == [row.id]
    assert tell(store, row) is not None
    assert store.deliveries.unnotified_losses() == ()


@pytest.mark.parametrize("status", [OutboxStatus.PROPOSED, OutboxStatus.CANCELLED])
def test_what_waits_for_a_person_is_never_due(store: Store, status: OutboxStatus) -> None:
    """Rule: no sender takes it, however long it waits and whatever process died."""
    row = unsent(store, status)
    assert store.outbox.ready(NOON + DAY, limit=10) == ()
    assert not store.outbox.claim(row.id, NOON + DAY)
    assert (store.outbox.recover_sending(), store.outbox.reset_retry_times(NOON + DAY, NOON)) == ((), 0)
    assert only(store) == row


def test_a_proposal_is_approved_for_its_own_bytes_and_once(store: Store) -> None:
    """Rule: the digest is checked in the transaction that makes it ready."""
    row = unsent(store, OutboxStatus.PROPOSED)
    ready, by, sources = OutboxStatus.READY, DeliverySource.STAFF, (OutboxStatus.PROPOSED,)
    with pytest.raises(PermanentError, match="has other bytes than those that were approved"):
        store.deliveries.update(row.id, ready, by, "approved", NOON, sources, "0" * 64)
    assert only(store) == row
    digest = hashlib.sha256(row.raw).hexdigest()
    assert store.deliveries.update(row.id, ready, by, "approved", NOON, sources, digest)
    assert not store.deliveries.update(row.id, ready, by, "approved", NOON, sources, digest)
    assert store.outbox.claim(row.id, NOON)
    with pytest.raises(PermanentError, match="is sending and cannot become ready"):
        store.deliveries.update(row.id, ready, by, "approved", NOON, sources, digest)


def test_a_held_mail_is_due_at_its_time(store: Store) -> None:
    row = put(store, outgoing(record(store)).model_copy(update={"due_at": NOON + MINUTE}))
    assert (row.next_try_at, store.outbox.claim(row.id, NOON)) == (NOON + MINUTE, False)
    assert store.outbox.claim(row.id, NOON + MINUTE)


def test_answers_to_one_sender_are_queued_one_at_a_time(store: Store) -> None:
    """Rule: who looks for earlier answers to a sender sees what others queued; other senders do not wait."""
    entered, may_leave, order = Event(), Event(), list[str]()

    def first() -> None:
        with store.database.together():
            store.outbox.lock_sender(ANNA)
            entered.set()
            may_leave.wait(10)
            order.append("first")

    def second() -> None:
        with store.database.together():
            store.outbox.lock_sender(ANNA)
            order.append("second")

    threads = [Thread(target=first), Thread(target=second)]
    threads[0].start()
    assert entered.wait(10)
    threads[1].start()
    threads[1].join(0.3)
    assert order == []
    may_leave.set()
    for thread in threads:
        thread.join(10)
    assert order == ["first", "second"]
