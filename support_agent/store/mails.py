"""Inbound mails: their bytes, their sender, and how each one ended.

Invariant: one transaction stores a mail and moves the cursor past it, and the same bytes are one mail for ever.
Checked by tests/contract/store/test_mails.py.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from sqlalchemy import ColumnElement, and_, or_, update
from sqlalchemy.orm import QueryableAttribute, aliased, defer
from sqlmodel import Session, col, select

from support_agent.core.cursor import Cursor
from support_agent.core.levels import Level
from support_agent.errors import PermanentError
from support_agent.store import cursors
from support_agent.store.database import Database
from support_agent.store.leases import Lease, require
from support_agent.store.records import MailId, MailRecord, MailStatus, RecordedMail, mail_id_of
from support_agent.store.rows import affected, equal, insert_if_new
from support_agent.store.tables import ForgottenMailRow, MailRow

MAY_BECOME: dict[MailStatus, tuple[MailStatus, ...]] = {
    MailStatus.NEW: (),
    MailStatus.ANSWERED: (MailStatus.NEW,),
    MailStatus.ESCALATED: (MailStatus.NEW, MailStatus.ANSWERED),  # answered, but it could not be delivered
    MailStatus.FILED: (MailStatus.NEW,),
    MailStatus.QUARANTINED: (MailStatus.NEW,),
}
"""For each final status, the statuses that may change to it."""


@dataclass(frozen=True)
class Mails:
    """`Store.mails`."""

    database: Database

    def record(
        self,
        raw: bytes,
        message_id: str,
        cursor: Cursor,
        received_at: datetime,
        sender: tuple[str, Level, str] | None = None,
        lease: Lease | None = None,
    ) -> RecordedMail:
        """Store a mail with the status `new`, and move the folder's cursor past it, in one transaction.

        The same bytes from any folder are one mail, also after retention deleted it. A mail up to the cursor's
        `in_doubt_until` is `in_doubt`.

        Args:
            sender: As in `save_sender`, where it is known already.
            lease: Who fetches mails must still hold this.
        Raises:
            TransientError: somebody else holds the lease; nothing is stored.
        """
        mail_id = mail_id_of(raw)
        address, level, why = sender or (None, None, None)
        record = MailRecord(
            id=mail_id,
            raw_sha256=hashlib.sha256(raw).hexdigest(),
            message_id=message_id,
            folder=cursor.folder,
            uid_validity=cursor.uid_validity,
            uid=cursor.last_uid,
            received_at=received_at,
            sender_address=address,
            level=level,
            sender_why=why,
            in_doubt=cursor.last_uid <= cursor.in_doubt_until,
        )
        with self.database.write() as session:
            if lease is not None:
                require(session, lease)
            cursors.move(session, cursor)
            if session.get(ForgottenMailRow, mail_id) is not None:
                return RecordedMail(id=mail_id, is_new=False)
            return RecordedMail(id=mail_id, is_new=insert_if_new(session, MailRow(**record.model_dump(), raw=raw)))

    def get(self, mail_id: MailId) -> MailRecord | None:
        """Return one mail."""
        with self.database.read() as session:
            return _mail(session, mail_id)

    def raw(self, mail_id: MailId) -> bytes:
        """Return a mail's bytes as they were fetched."""
        with self.database.read() as session:
            raw = session.exec(select(MailRow.raw).where(col(MailRow.id) == mail_id)).first()
        if raw is None:
            raise _no_mail(mail_id)
        return raw

    def find(
        self, since: datetime | None = None, status: MailStatus | None = None, message_id: str | None = None
    ) -> tuple[MailRecord, ...]:
        """Return the mails that meet every given condition, the oldest first.

        Args:
            message_id: Senders choose it, so several mails may have the same.
        """
        conditions = equal((MailRow.status, status), (MailRow.message_id, message_id))
        if since is not None:
            conditions.append(col(MailRow.received_at) >= since)
        with self.database.read() as session:
            return records(session, *conditions)

    def at(self, cursor: Cursor) -> MailRecord | None:
        """Return the mail that was recorded with this cursor; None: no new mail was."""
        here = equal(
            (MailRow.folder, cursor.folder), (MailRow.uid_validity, cursor.uid_validity), (MailRow.uid, cursor.last_uid)
        )
        with self.database.read() as session:
            return next(iter(records(session, *here)), None)

    def follows_open(self, mail_id: MailId) -> bool:
        """Whether an older mail of its case is still `new`."""
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
        with self.database.read() as session:
            return session.exec(query.limit(1)).first() is not None

    def doubt_open(self) -> int:
        """Put every mail that is `new` in doubt, because the lost store may have handled it; return how many."""
        with self.database.write() as session:
            return affected(session, update(MailRow).where(col(MailRow.status) == MailStatus.NEW).values(in_doubt=True))

    def save_screening(self, mail_id: MailId, verdict: str, rule: str | None) -> None:
        """Record whether a machine may answer the mail, and the rule that decided it."""
        with self.database.write() as session:
            change(session, mail_id, screening_verdict=verdict, screening_rule=rule)

    def save_sender(self, mail_id: MailId, address: str, level: Level, why: str) -> None:
        """Record the sender's address ("" for none), the level from 0 to 3, and the reason for the level."""
        with self.database.write() as session:
            change(session, mail_id, sender_address=address, level=level, sender_why=why)

    def end(
        self,
        mail_id: MailId,
        status: MailStatus,
        reason_code: str | None,
        why: str | None,
        handled_at: datetime,
    ) -> bool:
        """Give a `new` mail its final status; `answered` may still become `escalated` (it was not delivered).

        Returns:
            Whether the mail has this status now. The first reason and instant stay.
        """
        statement = (
            update(MailRow)
            .where(col(MailRow.id) == mail_id, col(MailRow.status).in_(MAY_BECOME[status]))
            .values(status=status, reason_code=reason_code, why=why, handled_at=handled_at)
        )
        with self.database.write() as session:
            if affected(session, statement) == 1:
                return True
            found = _mail(session, mail_id)
        if found is None:
            raise _no_mail(mail_id)
        return found.status is status


# Parts of other tables' transactions


def lock(session: Session, mail_id: MailId) -> None:
    """Let one transaction at a time decide about a mail (SQLite: the write lock does that already)."""
    if session.exec(select(MailRow.id).where(col(MailRow.id) == mail_id).with_for_update()).first() is None:
        raise _no_mail(mail_id)


def records(session: Session, *conditions: ColumnElement[bool]) -> tuple[MailRecord, ...]:
    """Return the mails that meet all conditions, without their bytes, the oldest first."""
    raw = cast("QueryableAttribute[bytes]", MailRow.raw)
    query = (
        select(MailRow)
        .options(defer(raw, raiseload=True))
        .where(*conditions)
        .order_by(col(MailRow.received_at), col(MailRow.uid), col(MailRow.id))
    )
    return tuple(MailRecord.model_validate(row) for row in session.exec(query))


def is_older(earlier: type[MailRow], mine: type[MailRow]) -> ColumnElement[bool]:
    """Build the condition that one mail came before another, for a query over both."""
    is_same_instant = col(earlier.received_at) == col(mine.received_at)
    return or_(
        col(earlier.received_at) < col(mine.received_at), and_(is_same_instant, col(earlier.uid) < col(mine.uid))
    )


def change(session: Session, mail_id: MailId, **values: object) -> None:
    """Set columns of a mail that must exist."""
    if affected(session, update(MailRow).where(col(MailRow.id) == mail_id).values(**values)) != 1:
        raise _no_mail(mail_id)


def _mail(session: Session, mail_id: MailId) -> MailRecord | None:
    return next(iter(records(session, col(MailRow.id) == mail_id)), None)


def _no_mail(mail_id: MailId) -> PermanentError:
    return PermanentError(f"mail {mail_id} is not in the store", code="no_mail")
