"""The outbox: `ready -> sending -> sent | uncertain | failed`, or back to `ready` for another try.

Invariant: what is in the outbox is there together with the letter it was made from, a row is claimed by exactly one
caller per try, and a row whose sender died is never sent again by the machine. Checked by
tests/contract/store/test_outbox.py and tests/integration/store/test_concurrency.py.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import func, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from support_agent.errors import PermanentError
from support_agent.levels import Level
from support_agent.store import mails
from support_agent.store.records import (
    CaseId,
    LetterKind,
    LetterRecord,
    MailId,
    OutboxId,
    OutboxRecord,
    OutboxStatus,
)
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import CaseRow, LetterRow, MailRow, OutboxRow

DIED_WHILE_SENDING = "the sender stopped before the server's answer was recorded"


def queue(session: Session, letter: LetterRecord, mail: OutboxRecord) -> OutboxRecord:
    """See `Store.queue`."""
    mails.lock(session, mail.mail_id)
    if insert_if_new(session, OutboxRow(**mail.model_dump(), id=mail.id)):
        insert_if_new(session, LetterRow(**letter.model_dump()))
    stored = outgoing(session, mail_id=mail.mail_id, kind=mail.kind)
    if not stored:
        raise PermanentError(
            f"{mail.id} has the Message-ID of another mail: it must be made from the mail and the kind",
            code="message_id_taken",
        )
    return stored[0]


def letter_for(session: Session, mail_id: MailId, kind: LetterKind) -> LetterRecord | None:
    row = session.get(LetterRow, (mail_id, kind.value))
    return None if row is None else LetterRecord.model_validate(row)


def letters(session: Session, mail_id: MailId) -> tuple[LetterRecord, ...]:
    query = (
        select(LetterRow)
        .where(col(LetterRow.mail_id) == mail_id)
        .order_by(col(LetterRow.created_at), col(LetterRow.kind))
    )
    return tuple(LetterRecord.model_validate(row) for row in session.exec(query))


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


def count_for_case(session: Session, kinds: Collection[LetterKind], case_id: CaseId, but_for: MailId) -> int:
    """See `Store.count_for_case`."""
    query = select(func.count(col(OutboxRow.id))).where(
        col(OutboxRow.kind).in_(kinds), col(OutboxRow.case_id) == case_id, col(OutboxRow.mail_id) != but_for
    )
    return session.exec(query).one()


def count_for_sender(
    session: Session, kinds: Collection[LetterKind], address: str, level: Level, since: datetime, but_for: MailId
) -> int:
    """See `Store.count_for_sender`."""
    query = (
        select(func.count(col(OutboxRow.id)))
        .join(CaseRow, col(CaseRow.id) == col(OutboxRow.case_id))
        .join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id))
        .where(
            col(OutboxRow.kind).in_(kinds),
            col(OutboxRow.created_at) >= since,
            col(OutboxRow.mail_id) != but_for,
            col(CaseRow.customer_address) == address,
            col(MailRow.level) >= level,
        )
    )
    return session.exec(query).one()


def untold_losses(session: Session, mail_id: MailId | None) -> tuple[OutboxRecord, ...]:
    """See `Store.untold_losses`."""
    failure = aliased(OutboxRow)
    told = select(failure.id).where(
        col(failure.mail_id) == col(OutboxRow.mail_id), col(failure.kind) == LetterKind.FAILURE
    )
    query = select(OutboxRow).where(
        col(OutboxRow.status).in_((OutboxStatus.UNCERTAIN, OutboxStatus.FAILED)),
        col(OutboxRow.kind).in_([kind for kind in LetterKind if not kind.is_for_desk]),
        ~told.exists(),
    )
    if mail_id is not None:
        query = query.where(col(OutboxRow.mail_id) == mail_id)
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
