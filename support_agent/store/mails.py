"""Inbound mails and how far each folder has been read.

Invariant: a mail and the cursor that passes it are one transaction, and the same bytes are one mail for ever.
Checked by tests/contract/store/test_mails.py.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import cast

from sqlalchemy import ColumnElement, and_, or_, update
from sqlalchemy.orm import QueryableAttribute, aliased, defer
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from support_agent.core.cursor import Cursor
from support_agent.core.levels import Level
from support_agent.errors import PermanentError
from support_agent.store.records import (
    CaseId,
    MailId,
    MailRecord,
    MailStatus,
    RecordedMail,
    mail_id_of,
)
from support_agent.store.rows import affected, insert_if_new, upsert
from support_agent.store.tables import CursorRow, ForgottenMailRow, MailRow

MAY_BECOME: dict[MailStatus, tuple[MailStatus, ...]] = {
    MailStatus.NEW: (),
    MailStatus.ANSWERED: (MailStatus.NEW,),
    MailStatus.ESCALATED: (MailStatus.NEW, MailStatus.ANSWERED),  # answered, but it could not be delivered
    MailStatus.FILED: (MailStatus.NEW,),
    MailStatus.SET_ASIDE: (MailStatus.NEW,),
}
"""Which statuses a mail may come from, for each it may go to."""


def record_mail(session: Session, raw: bytes, message_id: str, cursor: Cursor, received_at: datetime) -> RecordedMail:
    """Store a mail if its bytes are new, and move the cursor past it."""
    move_cursor(session, cursor)
    mail_id = mail_id_of(raw)
    if session.get(ForgottenMailRow, mail_id) is not None:
        return RecordedMail(id=mail_id, is_new=False)
    record = MailRecord(
        id=mail_id,
        raw_sha256=hashlib.sha256(raw).hexdigest(),
        message_id=message_id,
        folder=cursor.folder,
        uid_validity=cursor.uid_validity,
        uid=cursor.last_uid,
        received_at=received_at,
    )
    return RecordedMail(id=mail_id, is_new=insert_if_new(session, MailRow(**record.model_dump(), raw=raw)))


def move_cursor(session: Session, cursor: Cursor) -> None:
    """Move a folder's cursor forward, never back; a changed UIDVALIDITY starts again where `cursor` says.

    Where `cursor` has no `left_before` the stored one stays.
    """
    moves = or_(
        col(CursorRow.uid_validity) != cursor.uid_validity,
        col(CursorRow.last_uid) < cursor.last_uid,
    )
    upsert(session, CursorRow(**cursor.model_dump()), key="folder", where=moves)


def cursor(session: Session, folder: str) -> Cursor | None:
    row = session.exec(select(CursorRow).where(col(CursorRow.folder) == folder)).first()
    return None if row is None else Cursor.model_validate(row)


def mark_fetched(session: Session, folder: str, at: datetime) -> None:
    affected(session, update(CursorRow).where(col(CursorRow.folder) == folder).values(fetched_at=at))


def fetched_at(session: Session, folder: str) -> datetime | None:
    return session.exec(select(CursorRow.fetched_at).where(col(CursorRow.folder) == folder)).first()


def mail_at(session: Session, cursor: Cursor) -> MailRecord | None:
    here = (
        col(MailRow.folder) == cursor.folder,
        col(MailRow.uid_validity) == cursor.uid_validity,
        col(MailRow.uid) == cursor.last_uid,
    )
    found = records(session, without_raw().where(*here))
    return found[0] if found else None


def without_raw() -> SelectOfScalar[MailRow]:
    """Select mails without their bytes; reading those by mistake raises."""
    return select(MailRow).options(defer(cast("QueryableAttribute[bytes]", MailRow.raw), raiseload=True))


def mail(session: Session, mail_id: MailId) -> MailRecord | None:
    found = records(session, without_raw().where(col(MailRow.id) == mail_id))
    return found[0] if found else None


def lock(session: Session, mail_id: MailId) -> None:
    """Let one transaction at a time decide about a mail (SQLite: the write lock does that already)."""
    if session.exec(select(MailRow.id).where(col(MailRow.id) == mail_id).with_for_update()).first() is None:
        raise _no_mail(mail_id)


def raw_mail(session: Session, mail_id: MailId) -> bytes:
    raw = session.exec(select(MailRow.raw).where(col(MailRow.id) == mail_id)).first()
    if raw is None:
        raise _no_mail(mail_id)
    return raw


def mails(session: Session, since: datetime | None = None, status: MailStatus | None = None) -> tuple[MailRecord, ...]:
    query = without_raw()
    if since is not None:
        query = query.where(col(MailRow.received_at) >= since)
    if status is not None:
        query = query.where(col(MailRow.status) == status)
    return records(session, query)


def mails_with_message_id(session: Session, message_id: str) -> tuple[MailRecord, ...]:
    return records(session, without_raw().where(col(MailRow.message_id) == message_id))


def follows_open_mail(session: Session, mail_id: MailId) -> bool:
    """See `Store.follows_open_mail`."""
    mine, earlier = aliased(MailRow), aliased(MailRow)
    query = (
        select(earlier.id)
        .join(mine, col(mine.case_id) == col(earlier.case_id))
        .where(
            col(mine.id) == mail_id,
            col(earlier.id) != mail_id,
            col(earlier.status) == MailStatus.NEW,
            is_older(earlier, mine),
        )
    )
    return session.exec(query.limit(1)).first() is not None


def is_older(earlier: type[MailRow], mine: type[MailRow]) -> ColumnElement[bool]:
    """That a mail came before another, as a condition of a query over both."""
    is_same_instant = col(earlier.received_at) == col(mine.received_at)
    return or_(
        col(earlier.received_at) < col(mine.received_at), and_(is_same_instant, col(earlier.uid) < col(mine.uid))
    )


def records(session: Session, query: SelectOfScalar[MailRow]) -> tuple[MailRecord, ...]:
    """Run a `without_raw` query, the oldest mail first."""
    ordered = query.order_by(col(MailRow.received_at), col(MailRow.uid), col(MailRow.id))
    return tuple(MailRecord.model_validate(row) for row in session.exec(ordered))


def save_screening(session: Session, mail_id: MailId, verdict: str, rule: str | None) -> None:
    _set(session, mail_id, screening_verdict=verdict, screening_rule=rule)


def save_sender(session: Session, mail_id: MailId, address: str, level: Level, why: str) -> None:
    _set(session, mail_id, sender_address=address, level=level, sender_why=why)


def set_case(session: Session, mail_id: MailId, case_id: CaseId) -> None:
    _set(session, mail_id, case_id=case_id)


def end_mail(
    session: Session,
    mail_id: MailId,
    status: MailStatus,
    reason_code: str | None,
    why: str | None,
    handled_at: datetime,
) -> bool:
    """Guarded by `MAY_BECOME`; see `Store.end_mail`."""
    statement = (
        update(MailRow)
        .where(col(MailRow.id) == mail_id, col(MailRow.status).in_(MAY_BECOME[status]))
        .values(status=status, reason_code=reason_code, why=why, handled_at=handled_at)
    )
    if affected(session, statement) == 1:
        return True
    now = mail(session, mail_id)
    if now is None:
        raise _no_mail(mail_id)
    return now.status is status


def _set(session: Session, mail_id: MailId, **values: object) -> None:
    if affected(session, update(MailRow).where(col(MailRow.id) == mail_id).values(**values)) != 1:
        raise _no_mail(mail_id)


def _no_mail(mail_id: MailId) -> PermanentError:
    return PermanentError(f"mail {mail_id} is not in the store", code="no_mail")
