"""The keys of the desk's commands that were used: each works once.

Invariant: the insert is the guard. A key, and a slot that several keys share, has one user; the same mail may use it
again, as a step that runs twice does. Nothing is deleted with a case: a key stays used. Checked by
tests/contract/store/test_used_keys.py and tests/integration/store/test_concurrency.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, or_
from sqlmodel import col, select

from support_agent.store import audit
from support_agent.store.audit import AuditEvent
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
        with self.database.write() as connection:
            if insert_if_new(connection, UsedKeyRow, dict(key)):
                what = {"command": key.command, "case_id": key.case_id, "mail_id": key.mail_id}
                audit.append(connection, AuditEvent.DESK_COMMAND, key.who, key.used_at, what)
                return None
            return _earlier(connection, key)

    def is_used(self, key: str) -> bool:
        """Whether a mail has used this key."""
        with self.database.read() as connection:
            return connection.scalar(select(UsedKeyRow.key).where(col(UsedKeyRow.key) == key)) is not None

    def earlier(self, key: UsedKey) -> UsedKey | None:
        """The earlier use that forbids this one; nothing is used."""
        with self.database.read() as connection:
            return _earlier(connection, key)


def _earlier(connection: Connection, key: UsedKey) -> UsedKey | None:
    query = select(UsedKeyRow).where(or_(col(UsedKeyRow.key) == key.key, col(UsedKeyRow.slot) == key.slot))
    others = [UsedKey.model_validate(row) for row in connection.execute(query)]
    return next((other for other in others if other.mail_id != key.mail_id), None)
