"""Addresses that bounced for good: they get no automatic mail for a while (S64).

Invariant: an address is stored only with the id of one of our own mails that went to it; of two suppressions the one
that ends later stays. Checked by tests/contract/store/test_suppressions.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete
from sqlmodel import col, select

from support_agent.store.database import Database
from support_agent.store.records import OutboxRecord, Suppression
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import SuppressionRow


@dataclass(frozen=True)
class Suppressions:
    """`Store.suppressions`."""

    database: Database

    def add(self, record: OutboxRecord, detail: str, since: datetime, until: datetime) -> None:
        """Suppress automatic mail to the address that this mail of ours went to, until an instant."""
        suppression = Suppression(
            address=record.recipient, outbox_id=record.id, detail=detail, since=since, until=until
        )
        with self.database.write() as session:
            earlier = session.get(SuppressionRow, suppression.address)
            if earlier is not None and earlier.until >= until:
                return
            affected(session, delete(SuppressionRow).where(col(SuppressionRow.address) == suppression.address))
            insert_if_new(session, SuppressionRow(**suppression.model_dump()))

    def of(self, address: str, now: datetime) -> Suppression | None:
        """Return the suppression of an address now; None: there is none."""
        query = select(SuppressionRow).where(col(SuppressionRow.address) == address, col(SuppressionRow.until) > now)
        with self.database.read() as session:
            row = session.exec(query).first()
            return None if row is None else Suppression.model_validate(row)

    def all(self, now: datetime) -> tuple[Suppression, ...]:
        """Return the current suppressions, ordered by address."""
        query = select(SuppressionRow).where(col(SuppressionRow.until) > now).order_by(col(SuppressionRow.address))
        with self.database.read() as session:
            return tuple(Suppression.model_validate(row) for row in session.exec(query))

    def lift(self, address: str) -> None:
        """End a suppression: a person asked for it, or an authenticated mail came from the address."""
        with self.database.write() as session:
            affected(session, delete(SuppressionRow).where(col(SuppressionRow.address) == address))

    def delete_expired(self, instant: datetime) -> None:
        """Delete the suppressions that ended at or before an instant."""
        with self.database.write() as session:
            affected(session, delete(SuppressionRow).where(col(SuppressionRow.until) <= instant))
