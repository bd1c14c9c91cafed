"""Addresses that bounced for good: they get no automatic mail for a while (S64).

Invariant: an address is stored only with the id of one of our own mails that went to it; of two suppressions the one
that ends later stays. Checked by tests/contract/store/test_suppressions.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, delete
from sqlmodel import col, select

from support_agent.store.database import Database
from support_agent.store.records import Instant, OutboxEntry, OutboxId, Record
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import SuppressionRow

_IS_ITS = col(SuppressionRow.address) == bindparam("of")
_VALID = select(SuppressionRow).where(_IS_ITS, col(SuppressionRow.until) > bindparam("now"))
_LIFT = delete(SuppressionRow).where(_IS_ITS)


class Suppression(Record):
    """An address that gets no automatic mail until an instant, and the mail of ours that bounced there."""

    address: str
    outbox_id: OutboxId
    detail: str
    since: Instant
    until: Instant

    @property
    def why(self) -> str:
        """Why the address gets no automatic mail, one sentence."""
        return f"{self.address} gets no automatic mail until {self.until:%Y-%m-%d}: {self.detail}"


@dataclass(frozen=True)
class Suppressions:
    """`Store.suppressions`."""

    database: Database

    def add(self, record: OutboxEntry, detail: str, since: datetime, until: datetime) -> None:
        """Suppress automatic mail to the address that this mail of ours went to, until an instant."""
        suppression = Suppression(
            address=record.recipient, outbox_id=record.id, detail=detail, since=since, until=until
        )
        with self.database.write() as connection:
            earlier = connection.scalar(select(SuppressionRow.until).where(_IS_ITS), {"of": suppression.address})
            if earlier is not None and earlier >= until:
                return
            affected(connection, _LIFT, {"of": suppression.address})
            insert_if_new(connection, SuppressionRow, dict(suppression))

    def of(self, address: str, now: datetime) -> Suppression | None:
        """Return the suppression of an address now; None: there is none."""
        with self.database.read() as connection:
            row = connection.execute(_VALID, {"of": address, "now": now}).first()
            return None if row is None else Suppression.model_validate(row)

    def all(self, now: datetime) -> tuple[Suppression, ...]:
        """Return the current suppressions, ordered by address."""
        query = select(SuppressionRow).where(col(SuppressionRow.until) > now).order_by(col(SuppressionRow.address))
        with self.database.read() as connection:
            return tuple(Suppression.model_validate(row) for row in connection.execute(query))

    def lift(self, address: str) -> None:
        """End a suppression: a person asked for it, or an authenticated mail came from the address."""
        with self.database.write() as connection:
            affected(connection, _LIFT, {"of": address})

    def delete_expired(self, instant: datetime) -> None:
        """Delete the suppressions that ended at or before an instant."""
        with self.database.write() as connection:
            affected(connection, delete(SuppressionRow).where(col(SuppressionRow.until) <= instant))
