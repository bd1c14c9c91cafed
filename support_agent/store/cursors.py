"""How far each folder of the mailbox has been read.

Invariant: a cursor never moves back while the folder's UIDVALIDITY stays the same. Checked by
tests/contract/store/test_mails.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import or_, update
from sqlmodel import Session, col, select

from support_agent.core.cursor import Cursor
from support_agent.store.database import Database
from support_agent.store.rows import affected, upsert
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
