"""How far each folder of the mailbox has been read.

Invariant: a cursor never moves back while the folder's UIDVALIDITY stays the same. Checked by
tests/contract/store/test_mails.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import or_, update
from sqlmodel import Session, col, select

from support_agent.core.cursor import UNBOUNDED, Cursor
from support_agent.store.database import Database
from support_agent.store.records import PAGE_FOLDER
from support_agent.store.rows import affected, insert_if_new, upsert
from support_agent.store.tables import CursorRow


@dataclass(frozen=True)
class Cursors:
    """`Store.cursors`."""

    database: Database

    def move(self, cursor: Cursor) -> None:
        """Move a folder's cursor without a mail; see `move`."""
        with self.database.write() as session:
            move(session, cursor)

    def get(self, folder: str) -> Cursor | None:
        """Return how far a folder has been read; None: it was never read."""
        with self.database.read() as session:
            row = session.exec(select(CursorRow).where(col(CursorRow.folder) == folder)).first()
            return None if row is None else Cursor.model_validate(row)

    def doubt(self, cursor: Cursor) -> None:
        """Put the mails after every folder's cursor in doubt: a store that was lost may have handled them.

        Args:
            cursor: Of a folder that may never have been read; stored if so.
        """
        with self.database.write() as session:
            insert_if_new(session, CursorRow(**cursor.model_dump()))
            is_mailbox = col(CursorRow.folder) != PAGE_FOLDER
            affected(session, update(CursorRow).where(is_mailbox).values(in_doubt_until=UNBOUNDED))

    def bound_doubt(self, folder: str, last_uid: int) -> None:
        """Record the newest mail that a lost store may have handled, at the first look into the folder."""
        is_unbounded = (col(CursorRow.folder) == folder, col(CursorRow.in_doubt_until) == UNBOUNDED)
        with self.database.write() as session:
            affected(session, update(CursorRow).where(*is_unbounded).values(in_doubt_until=last_uid))

    def mark_fetched(self, folder: str, at: datetime) -> None:
        """Record when a folder that has a cursor was read to its end."""
        with self.database.write() as session:
            affected(session, update(CursorRow).where(col(CursorRow.folder) == folder).values(fetched_at=at))

    def fetched_at(self, folder: str) -> datetime | None:
        """Return when a folder was last read to its end; None: it never was."""
        with self.database.read() as session:
            return session.exec(select(CursorRow.fetched_at).where(col(CursorRow.folder) == folder)).first()


def move(session: Session, cursor: Cursor) -> None:
    """Move a folder's cursor forward, never back; a changed UIDVALIDITY starts again where `cursor` says.

    Where `cursor` has no `left_before` the stored one stays.
    """
    moves = or_(
        col(CursorRow.uid_validity) != cursor.uid_validity,
        col(CursorRow.last_uid) < cursor.last_uid,
    )
    upsert(session, CursorRow(**cursor.model_dump()), key="folder", where=moves)
