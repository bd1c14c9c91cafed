"""Addresses that bounced for good: for a while they get no automatic mail (S64).

Invariant: only an address that one of our own mails went to is ever here, with that mail's id; the later end of two
stays. Checked by tests/contract/store/test_suppression.py.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete
from sqlmodel import col, select

from support_agent.store.database import Database
from support_agent.store.records import OutboxRecord, Suppression
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import SuppressionRow


class Suppressions:
    """`Store.suppressions`. Any method may raise what those of `Store` may."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, record: OutboxRecord, detail: str, since: datetime, until: datetime) -> None:
        """The address that this mail of ours went to gets no automatic mail until an instant."""
        suppression = Suppression(
            address=record.recipient, outbox_id=record.id, detail=detail, since=since, until=until
        )
        with self._database.write() as session:
            earlier = session.get(SuppressionRow, suppression.address)
            if earlier is not None and earlier.until >= until:
                return
            affected(session, delete(SuppressionRow).where(col(SuppressionRow.address) == suppression.address))
            insert_if_new(session, SuppressionRow(**suppression.model_dump()))

    def of(self, address: str, now: datetime) -> Suppression | None:
        """Return why an address gets no automatic mail now; None: it does."""
        query = select(SuppressionRow).where(col(SuppressionRow.address) == address, col(SuppressionRow.until) > now)
        with self._database.read() as session:
            row = session.exec(query).first()
            return None if row is None else Suppression.model_validate(row)

    def all(self, now: datetime) -> tuple[Suppression, ...]:
        """Return what is suppressed now, by address."""
        query = select(SuppressionRow).where(col(SuppressionRow.until) > now).order_by(col(SuppressionRow.address))
        with self._database.read() as session:
            return tuple(Suppression.model_validate(row) for row in session.exec(query))

    def lift(self, address: str) -> None:
        """A person wants the address to be written to, or a proven mail came from it."""
        with self._database.write() as session:
            affected(session, delete(SuppressionRow).where(col(SuppressionRow.address) == address))

    def forget_old(self, instant: datetime) -> None:
        """Delete what was over by an instant."""
        with self._database.write() as session:
            affected(session, delete(SuppressionRow).where(col(SuppressionRow.until) <= instant))
