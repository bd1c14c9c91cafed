"""The outbox: `ready -> sending -> sent | uncertain | failed`, or back to `ready` for another try.

Invariant: a row is claimed by exactly one caller per try, and a row whose sender died is never sent again by
the machine. Checked by tests/contract/store/test_outbox.py and tests/integration/store/test_concurrency.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import update
from sqlmodel import Session, col, select

from support_agent.errors import PermanentError
from support_agent.store.records import (
    AnswerKind,
    MailId,
    OutboxId,
    OutboxRecord,
    OutboxStatus,
    OutgoingMail,
    outbox_id_of,
)
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import OutboxRow

DIED_WHILE_SENDING = "the sender stopped before the server's answer was recorded"


def queue(session: Session, mail: OutgoingMail) -> OutboxRecord:
    """See `Store.queue`."""
    outbox_id = outbox_id_of(mail.mail_id, mail.kind)
    record = OutboxRecord(
        **mail.model_dump(),
        id=outbox_id,
        status=OutboxStatus.READY,
        attempts=0,
        next_try_at=mail.created_at,
        last_detail=None,
        sent_at=None,
    )
    insert_if_new(session, OutboxRow(**record.model_dump()))
    stored = outgoing(session, mail_id=mail.mail_id, kind=mail.kind)
    if not stored:
        raise PermanentError(
            f"{outbox_id} has the Message-ID of another mail: it must be made from the mail and the kind",
            code="message_id_taken",
        )
    return stored[0]


def ready(session: Session, now: datetime, limit: int) -> tuple[OutboxRecord, ...]:
    query = (
        select(OutboxRow)
        .where(col(OutboxRow.status) == OutboxStatus.READY, col(OutboxRow.next_try_at) <= now)
        .order_by(col(OutboxRow.next_try_at), col(OutboxRow.created_at), col(OutboxRow.id))
        .limit(limit)
    )
    return tuple(OutboxRecord.model_validate(row) for row in session.exec(query))


def outgoing(
    session: Session,
    status: OutboxStatus | None = None,
    mail_id: MailId | None = None,
    kind: AnswerKind | None = None,
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


def recover_sending(session: Session) -> tuple[OutboxRecord, ...]:
    """See `Store.recover_sending`."""
    left = outgoing(session, status=OutboxStatus.SENDING)
    for row in left:
        move(session, row.id, (row.status,), OutboxStatus.UNCERTAIN, last_detail=DIED_WHILE_SENDING)
    changed = {"status": OutboxStatus.UNCERTAIN, "last_detail": DIED_WHILE_SENDING}
    return tuple(row.model_copy(update=changed) for row in left)
