"""Inbound mails: their bytes, their sender, and how each one ended.

Invariant: one transaction stores a mail and moves the cursor past it, and the same bytes are one mail for ever.
Checked by tests/contract/store/test_mails.py.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, or_, update
from sqlalchemy.orm import aliased
from sqlmodel import col, select

from support_agent.core.cursor import Cursor
from support_agent.core.levels import Level
from support_agent.errors import PermanentError
from support_agent.store import cursors
from support_agent.store.database import Database, mapped_errors
from support_agent.store.keys import FORGOTTEN
from support_agent.store.leases import Lease, require
from support_agent.store.records import PAGE_FOLDER, MailId, MailRecord, MailStatus, RecordedMail, mail_id_of
from support_agent.store.rows import affected, columns, equal, insert_if_new
from support_agent.store.tables import ForgottenMailRow, MailRow
from support_agent.store.vault import about

MAY_BECOME: dict[MailStatus, tuple[MailStatus, ...]] = {
    MailStatus.NEW: (),
    MailStatus.ANSWERED: (MailStatus.NEW,),
    MailStatus.ESCALATED: (MailStatus.NEW, MailStatus.ANSWERED),  # answered, but it could not be delivered
    MailStatus.FILED: (MailStatus.NEW,),
    MailStatus.QUARANTINED: (MailStatus.NEW,),
}
"""For each final status, the statuses that may change to it."""

_IS_IT = col(MailRow.id) == bindparam("mail")
_MAILS: Select[Any] = select(*columns(MailRow, "raw")).order_by(
    col(MailRow.received_at), col(MailRow.uid), col(MailRow.id)
)
_MAIL = _MAILS.where(_IS_IT)
_RECEIVED = select(MailRow.raw, MailRow.received_at, MailRow.folder).where(_IS_IT)
_LOCK = select(MailRow.id).where(_IS_IT).with_for_update()
_FORGOTTEN = select(ForgottenMailRow.id).where(col(ForgottenMailRow.id) == bindparam("mail"))
_CHANGE = update(MailRow).where(_IS_IT)
_END = {status: _CHANGE.where(col(MailRow.status).in_(before)) for status, before in MAY_BECOME.items()}


def is_older(earlier: type[MailRow], mine: type[MailRow]) -> ColumnElement[bool]:
    """Build the condition that one mail came before another, for a query over both."""
    is_same_instant = col(earlier.received_at) == col(mine.received_at)
    return or_(
        col(earlier.received_at) < col(mine.received_at), and_(is_same_instant, col(earlier.uid) < col(mine.uid))
    )


def _follows_open() -> Select[Any]:
    mine, earlier = aliased(MailRow), aliased(MailRow)
    return (
        select(earlier.id)
        .join(mine, col(mine.case_id) == col(earlier.case_id))
        .where(
            col(mine.id) == bindparam("mail"),
            col(earlier.id) != col(mine.id),
            col(earlier.status) == MailStatus.NEW,
            is_older(earlier, mine),
        )
        .limit(1)
    )


_FOLLOWS_OPEN = _follows_open()


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
        with self.database.write() as connection:
            if lease is not None:
                require(connection, lease)
            cursors.move(connection, cursor)
            is_forgotten = connection.scalar(_FORGOTTEN, {"mail": mail_id}) is not None
            row = {**dict(record), "raw": raw}
            is_new = not is_forgotten and _insert_unless_forgotten(connection, mail_id, row)
            return RecordedMail(id=mail_id, is_new=is_new)

    def get(self, mail_id: MailId) -> MailRecord | None:
        """Return one mail."""
        with self.database.read() as connection:
            return _mail(connection, mail_id)

    def raw(self, mail_id: MailId) -> bytes:
        """Return a mail's bytes as they were fetched."""
        return self.received(mail_id)[0]

    def received(self, mail_id: MailId) -> tuple[bytes, datetime, bool]:
        """Return a mail's bytes as they were fetched, when it was recorded, and whether the desk's page made it."""
        with self.database.read() as connection:
            row = connection.execute(_RECEIVED, {"mail": mail_id}).first()
        if row is None:
            raise _no_mail(mail_id)
        return row.raw, row.received_at, row.folder == PAGE_FOLDER

    def find(
        self, since: datetime | None = None, status: MailStatus | None = None, message_id: str | None = None
    ) -> tuple[MailRecord, ...]:
        """Return the mails that meet every given condition, the oldest first.

        Args:
            message_id: Senders choose it, so several mails may have the same.
        """
        given = {"since": since, "status": status, "message_id": message_id}
        wanted = {name: value for name, value in given.items() if value is not None}
        with self.database.read() as connection:
            return _records(connection, _found(*wanted), wanted)

    def at(self, cursor: Cursor) -> MailRecord | None:
        """Return the mail that was recorded with this cursor; None: no new mail was."""
        here = equal(
            (MailRow.folder, cursor.folder), (MailRow.uid_validity, cursor.uid_validity), (MailRow.uid, cursor.last_uid)
        )
        with self.database.read() as connection:
            return next(iter(records(connection, *here)), None)

    def follows_open(self, mail_id: MailId) -> bool:
        """Whether an older mail of its case is still `new`."""
        with self.database.read() as connection:
            return connection.scalar(_FOLLOWS_OPEN, {"mail": mail_id}) is not None

    def doubt_open(self) -> int:
        """Put every mail that is `new` in doubt, because the lost store may have handled it; return how many."""
        with self.database.write() as session:
            return affected(session, update(MailRow).where(col(MailRow.status) == MailStatus.NEW).values(in_doubt=True))

    def save_screening(self, mail_id: MailId, verdict: str, rule: str | None) -> None:
        """Record whether a machine may answer the mail, and the rule that decided it."""
        with self.database.write() as connection:
            change(connection, mail_id, screening_verdict=verdict, screening_rule=rule)

    def save_sender(self, mail_id: MailId, address: str, level: Level, why: str) -> None:
        """Record the sender's address ("" for none), the level from 0 to 3, and the reason for the level."""
        with self.database.write() as connection:
            change(connection, mail_id, sender_address=address, level=level, sender_why=why)

    def save_sender_address(self, mail_id: MailId, address: str) -> None:
        """Record the sender's address ("" for none) of a mail whose level cannot be found now."""
        with self.database.write() as connection:
            change(connection, mail_id, sender_address=address)

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
        values = {"status": status, "reason_code": reason_code, "why": why, "handled_at": handled_at}
        with about(mail_id), self.database.write() as connection:
            if affected(connection, _END[status], {"mail": mail_id, **values}) == 1:
                return True
            found = _mail(connection, mail_id)
        if found is None:
            raise _no_mail(mail_id)
        return found.status is status


# Parts of other tables' transactions


def lock(connection: Connection, mail_id: MailId) -> None:
    """Let one transaction at a time decide about a mail (SQLite: the write lock does that already)."""
    if connection.scalar(_LOCK, {"mail": mail_id}) is None:
        raise _no_mail(mail_id)


def records(connection: Connection, *conditions: ColumnElement[bool]) -> tuple[MailRecord, ...]:
    """Return the mails that meet all conditions, without their bytes, the oldest first."""
    return _records(connection, _MAILS.where(*conditions))


def change(connection: Connection, mail_id: MailId, **values: object) -> None:
    """Set columns of a mail that must exist."""
    with about(mail_id):
        if affected(connection, _CHANGE, {"mail": mail_id, **values}) != 1:
            raise _no_mail(mail_id)


def _mail(connection: Connection, mail_id: MailId) -> MailRecord | None:
    return next(iter(_records(connection, _MAIL, {"mail": mail_id})), None)


@cache
def _found(*names: str) -> Select[Any]:
    """The query of `find` for the conditions with these names."""
    conditions = {
        "since": col(MailRow.received_at) >= bindparam("since"),
        "status": col(MailRow.status) == bindparam("status"),
        "message_id": col(MailRow.message_id) == bindparam("message_id"),
    }
    return _MAILS.where(*(conditions[name] for name in names))


def _records(
    connection: Connection, query: Select[Any], values: dict[str, Any] | None = None
) -> tuple[MailRecord, ...]:
    return tuple(MailRecord.model_validate(row) for row in connection.execute(query, values))


def _no_mail(mail_id: MailId) -> PermanentError:
    return PermanentError(f"mail {mail_id} is not in the store", code="no_mail")


def _insert_unless_forgotten(connection: Connection, mail_id: MailId, row: dict[str, object]) -> bool:
    """Insert a mail and return whether it is new; one whose key was destroyed is forgotten, also if a restore brought
    back the time before.
    """
    try:
        with about(mail_id), mapped_errors():
            return insert_if_new(connection, MailRow, row)
    except PermanentError as error:  # raised while the bytes are sealed: no statement has failed
        if error.code != FORGOTTEN:
            raise
    insert_if_new(connection, ForgottenMailRow, {"id": mail_id})
    return False
