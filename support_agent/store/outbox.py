"""The outbox: `ready -> sending -> sent | uncertain | failed`, or back to `ready` for another try.

Invariant: what is in the outbox is there together with the letter it was made from, a row is claimed by exactly one
caller per try, and a row whose sender died stays `sending` until it is recovered: to `uncertain`, which the machine
does not send again, or to `ready` where it is the desk's own. Checked by tests/contract/store/test_outbox.py and
tests/integration/store/test_concurrency.py.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import tuple_, update
from sqlmodel import Session, col, select

from support_agent.errors import PermanentError, TransientError
from support_agent.store import mails
from support_agent.store.records import (
    Due,
    LetterKind,
    LetterRecord,
    MailId,
    OutboxId,
    OutboxRecord,
    OutboxStatus,
)
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import LetterRow, OutboxRow

DIED_WHILE_SENDING = "the sender stopped before the server's answer was recorded"
LOST = (OutboxStatus.UNCERTAIN, OutboxStatus.FAILED)
"""What a mail is of which nobody may think that the customer has it."""


def queue(session: Session, letter: LetterRecord, mail: OutboxRecord) -> OutboxRecord:
    """See `Store.queue`."""
    mails.lock(session, mail.mail_id)
    if insert_if_new(session, OutboxRow(**mail.model_dump(), id=mail.id)):
        insert_if_new(session, LetterRow(**letter.model_dump()))
    stored = [row for row in outgoing(session, mail_id=mail.mail_id, kind=mail.kind) if row.number == mail.number]
    if not stored:
        raise PermanentError(
            f"{mail.id} has the Message-ID of another mail: it must be made from the mail and the kind",
            code="message_id_taken",
        )
    return stored[0]


def queue_notice(session: Session, letter: LetterRecord, notice: OutboxRecord, lost: OutboxId) -> OutboxRecord | None:
    """See `Store.queue_notice`."""
    statement = (
        update(OutboxRow)
        .where(col(OutboxRow.id) == lost, col(OutboxRow.status).in_(LOST), col(OutboxRow.told_at).is_(None))
        .values(told_at=notice.created_at)
    )
    if affected(session, statement) != 1:
        return None
    queued = queue(session, letter, notice)
    if queued.raw != notice.raw:
        raise TransientError(f"{notice.id} became another notice in between", code="number_taken")
    return queued


def letter_for(session: Session, mail_id: MailId, kind: LetterKind, number: int) -> LetterRecord | None:
    row = session.get(LetterRow, (mail_id, kind.value, number))
    return None if row is None else LetterRecord.model_validate(row)


def letters(session: Session, mail_id: MailId) -> tuple[LetterRecord, ...]:
    query = (
        select(LetterRow)
        .where(col(LetterRow.mail_id) == mail_id)
        .order_by(col(LetterRow.created_at), col(LetterRow.kind), col(LetterRow.number))
    )
    return tuple(LetterRecord.model_validate(row) for row in session.exec(query))


def ready(
    session: Session, now: datetime, limit: int, after: Due | None, kinds: Collection[LetterKind]
) -> tuple[Due, ...]:
    """See `Store.ready`."""
    place = (col(OutboxRow.next_try_at), col(OutboxRow.created_at), col(OutboxRow.id))
    query = select(OutboxRow.next_try_at, OutboxRow.created_at, OutboxRow.id).where(
        col(OutboxRow.status) == OutboxStatus.READY,
        col(OutboxRow.next_try_at) <= now,
        col(OutboxRow.kind).in_(kinds),
    )
    if after is not None:
        query = query.where(tuple_(*place) > (after.next_try_at, after.created_at, after.id))
    rows = session.exec(query.order_by(*place).limit(limit))
    return tuple(Due.model_validate(row, from_attributes=True) for row in rows)


def outgoing(
    session: Session,
    status: OutboxStatus | None = None,
    mail_id: MailId | None = None,
    kind: LetterKind | None = None,
    message_id: str | None = None,
) -> tuple[OutboxRecord, ...]:
    query = select(OutboxRow).order_by(col(OutboxRow.created_at), col(OutboxRow.id))
    if status is not None:
        query = query.where(col(OutboxRow.status) == status)
    if mail_id is not None:
        query = query.where(col(OutboxRow.mail_id) == mail_id)
    if kind is not None:
        query = query.where(col(OutboxRow.kind) == kind)
    if message_id is not None:
        query = query.where(col(OutboxRow.message_id) == message_id)
    return tuple(OutboxRecord.model_validate(row) for row in session.exec(query))


def untold_losses(session: Session, mail_id: MailId | None) -> tuple[OutboxRecord, ...]:
    """See `Store.untold_losses`."""
    query = select(OutboxRow).where(
        col(OutboxRow.status).in_(LOST),
        col(OutboxRow.kind).in_([kind for kind in LetterKind if not kind.is_for_desk]),
        col(OutboxRow.told_at).is_(None),
    )
    if mail_id is not None:
        query = query.where(col(OutboxRow.mail_id) == mail_id)
    return tuple(OutboxRecord.model_validate(row) for row in session.exec(query))


def call_in(session: Session, now: datetime, latest: datetime) -> int:
    """See `Store.call_in`."""
    statement = (
        update(OutboxRow)
        .where(col(OutboxRow.status) == OutboxStatus.READY, col(OutboxRow.next_try_at) > latest)
        .values(next_try_at=now)
    )
    return affected(session, statement)


def claim(session: Session, outbox_id: OutboxId, now: datetime) -> bool:
    statement = (
        update(OutboxRow)
        .where(
            col(OutboxRow.id) == outbox_id,
            col(OutboxRow.status) == OutboxStatus.READY,
            col(OutboxRow.next_try_at) <= now,
        )
        .values(status=OutboxStatus.SENDING, attempts=col(OutboxRow.attempts) + 1)
    )
    return affected(session, statement) == 1


def move(
    session: Session,
    outbox_id: OutboxId,
    sources: Sequence[OutboxStatus],
    target: OutboxStatus,
    **values: object,
) -> None:
    """Move a row from one of `sources` to `target`; a row that is there already stays as it is."""
    statement = (
        update(OutboxRow)
        .where(col(OutboxRow.id) == outbox_id, col(OutboxRow.status).in_(sources))
        .values(status=target, **values)
    )
    if affected(session, statement) == 1:
        return
    status = session.exec(select(OutboxRow.status).where(col(OutboxRow.id) == outbox_id)).first()
    if status != target:
        raise PermanentError(
            f"{outbox_id} is {status or 'not in the outbox'} and cannot become {target}", code="outbox_status"
        )


def recover_sending(session: Session, desk_tries: int) -> tuple[OutboxRecord, ...]:
    """See `Store.recover_sending`."""
    recovered = []
    for row in outgoing(session, status=OutboxStatus.SENDING):
        is_due_again = row.kind.is_for_desk and row.attempts < desk_tries
        after = OutboxStatus.READY if is_due_again else OutboxStatus.UNCERTAIN
        move(session, row.id, (row.status,), after, last_detail=DIED_WHILE_SENDING)
        recovered.append(row.model_copy(update={"status": after, "last_detail": DIED_WHILE_SENDING}))
    return tuple(recovered)
