"""How far each folder of the mailbox has been read.

Invariant: a cursor never moves back while the folder's UIDVALIDITY stays the same. Checked by
tests/contract/store/test_mails.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import NamedTuple

from sqlalchemy import Connection, and_, bindparam, func, or_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col, select

from support_agent.core.cursor import UNBOUNDED, Cursor
from support_agent.store.database import Database
from support_agent.store.records import PAGE_FOLDER, MailId
from support_agent.store.rows import affected, insert_if_new, insert_into
from support_agent.store.tables import CursorRow, MailRow

_IS_IT = col(CursorRow.folder) == bindparam("of")
_CURSOR = select(CursorRow).where(_IS_IT)
_IS_RESCANNED = and_(
    col(CursorRow.folder) == col(MailRow.folder),
    col(CursorRow.uid_validity) == col(MailRow.uid_validity),
    col(CursorRow.rescan_until) >= col(MailRow.uid),
)
_REREAD = (
    select(MailRow.in_doubt, col(CursorRow.folder).is_not(None))
    .select_from(MailRow)
    .outerjoin(CursorRow, _IS_RESCANNED)
    .where(col(MailRow.id) == bindparam("mail"))
)


class Reread(NamedTuple):
    """Why a recorded mail may have been handled before."""

    in_doubt: bool
    """The store was restored from a backup, and the lost one may have handled it."""
    is_rescanned: bool
    """It is one of those that its folder is read a second time for."""


@dataclass(frozen=True)
class Cursors:
    """`Store.cursors`."""

    database: Database

    def move(self, cursor: Cursor) -> None:
        """Move a folder's cursor without a mail; see `move`."""
        with self.database.write() as connection:
            move(connection, cursor)

    def get(self, folder: str) -> Cursor | None:
        """Return how far a folder has been read; None: it was never read."""
        with self.database.read() as connection:
            row = connection.execute(_CURSOR, {"of": folder}).first()
            return None if row is None else Cursor.model_validate(row)

    def reread(self, mail_id: MailId) -> Reread:
        """Why a mail may have been handled before; nothing if it is not recorded."""
        with self.database.read() as connection:
            row = connection.execute(_REREAD, {"mail": mail_id}).first()
        return Reread(*(row or (False, False)))

    def doubt(self, cursor: Cursor) -> None:
        """Put the mails after every folder's cursor in doubt: a store that was lost may have handled them.

        Args:
            cursor: Of a folder that may never have been read; stored if so.
        """
        with self.database.write() as connection:
            insert_if_new(connection, CursorRow, cursor.model_dump())
            is_mailbox = col(CursorRow.folder) != PAGE_FOLDER
            affected(connection, update(CursorRow).where(is_mailbox).values(in_doubt_until=UNBOUNDED))

    def bound_doubt(self, folder: str, last_uid: int) -> None:
        """Record the newest mail that a lost store may have handled, at the first look into the folder."""
        is_unbounded = (col(CursorRow.folder) == folder, col(CursorRow.in_doubt_until) == UNBOUNDED)
        with self.database.write() as connection:
            affected(connection, update(CursorRow).where(*is_unbounded).values(in_doubt_until=last_uid))

    def mark_fetched(self, folder: str, at: datetime) -> None:
        """Record when a folder that has a cursor was read to its end."""
        with self.database.write() as connection:
            affected(connection, update(CursorRow).where(_IS_IT), {"of": folder, "fetched_at": at})

    def fetched_at(self, folder: str) -> datetime | None:
        """Return when a folder was last read to its end; None: it never was."""
        with self.database.read() as connection:
            return connection.scalar(select(CursorRow.fetched_at).where(_IS_IT), {"of": folder})


def move(connection: Connection, cursor: Cursor) -> None:
    """Move a folder's cursor forward, never back; a changed UIDVALIDITY starts again where `cursor` says.

    Where `cursor` has no `left_before` the stored one stays.
    """
    affected(connection, _move(connection.dialect.name), dict(cursor))


@cache
def _move(dialect: str) -> postgresql.Insert | sqlite.Insert:
    insert = insert_into(CursorRow, dialect)
    new = insert.excluded
    moves = or_(col(CursorRow.uid_validity) != new.uid_validity, col(CursorRow.last_uid) < new.last_uid)
    values = {name: new[name] for name in ("uid_validity", "last_uid", "rescan_until", "in_doubt_until")}
    left_before = func.coalesce(new.left_before, col(CursorRow.left_before))
    return insert.on_conflict_do_update(
        index_elements=["folder"], set_={**values, "left_before": left_before}, where=moves
    )
