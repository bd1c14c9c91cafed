"""The keys of the desk's commands that were used: each works once.

Invariant: the insert is the guard. A key, and a slot that several keys share, has one user; the same mail may use it
again, as a step that runs twice does. Nothing is deleted with a case: a key stays used. Checked by
tests/contract/store/test_used_keys.py and tests/integration/store/test_concurrency.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import or_
from sqlmodel import Session, col, select

from support_agent.store.database import Database
from support_agent.store.desk_records import UsedKey
from support_agent.store.rows import insert_if_new
from support_agent.store.tables import UsedKeyRow


@dataclass(frozen=True)
class UsedKeys:
    """`Store.used_keys`."""

    database: Database

    def use(self, key: UsedKey) -> UsedKey | None:
        """Use a key; None: this mail uses it, now or before. Otherwise return the earlier use that forbids it."""
        with self.database.write() as session:
            if insert_if_new(session, UsedKeyRow(**key.model_dump())):
                return None
            return _earlier(session, key)

    def is_used(self, key: str) -> bool:
        """Whether a mail has used this key."""
        with self.database.read() as session:
            return session.get(UsedKeyRow, key) is not None

    def earlier(self, key: UsedKey) -> UsedKey | None:
        """The earlier use that forbids this one; nothing is used."""
        with self.database.read() as session:
            return _earlier(session, key)


def _earlier(session: Session, key: UsedKey) -> UsedKey | None:
    query = select(UsedKeyRow).where(or_(col(UsedKeyRow.key) == key.key, col(UsedKeyRow.slot) == key.slot))
    others = [UsedKey.model_validate(row) for row in session.exec(query)]
    return next((other for other in others if other.mail_id != key.mail_id), None)
