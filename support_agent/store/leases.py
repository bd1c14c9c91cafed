"""Leases: who among the workers on one store does what only one may do, and which workers are alive.

A lease ends by itself when its holder does not renew it. Its token grows with each new holder, so that a holder that
was taken for dead and goes on is refused where it matters (`require`): fencing.

Invariant: a lease has one holder at a time. Checked by tests/contract/store/test_leases.py, and with processes that
are killed and stopped by tests/journey/test_workers.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, cast

from sqlalchemy import Connection, case, func, or_, update
from sqlmodel import col, select

from support_agent.errors import TransientError
from support_agent.store.database import Database
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import LeaseRow

ENDED = datetime.fromtimestamp(0, UTC)


class Lease(NamedTuple):
    """A lease that somebody held when it was taken."""

    name: str
    token: int


@dataclass(frozen=True)
class Leases:
    """`Store.leases`. The clock is the database's on PostgreSQL, so that clocks of machines may differ."""

    database: Database

    def take(self, name: str, holder: str, lasts: timedelta, now: datetime) -> Lease | None:
        """Take a lease that is free or has ended, or renew one's own; None: somebody else holds it.

        Args:
            now: The instant, on SQLite.
        """
        with self.database.write() as connection:
            now = _now(connection, now)
            row = {"name": name, "holder": holder, "token": 1, "expires_at": now + lasts}
            if insert_if_new(connection, LeaseRow, row):
                return Lease(name, 1)
            is_own = col(LeaseRow.holder) == holder
            statement = (
                update(LeaseRow)
                .where(col(LeaseRow.name) == name, or_(is_own, col(LeaseRow.expires_at) < now))
                .values(holder=holder, expires_at=now + lasts, token=col(LeaseRow.token) + case((is_own, 0), else_=1))
            )
            if affected(connection, statement) != 1:
                return None
            return Lease(name, cast("int", _token(connection, name)))

    def release(self, name: str, holder: str) -> None:
        """End one's own lease."""
        with self.database.write() as connection:
            mine = (col(LeaseRow.name) == name, col(LeaseRow.holder) == holder)
            affected(connection, update(LeaseRow).where(*mine).values(expires_at=ENDED))

    def holders(self, prefix: str, now: datetime) -> frozenset[str]:
        """Return who holds a lease whose name begins with `prefix`."""
        with self.database.read() as connection:
            is_valid = col(LeaseRow.expires_at) >= _now(connection, now)
            query = select(LeaseRow.holder).where(col(LeaseRow.name).startswith(prefix, autoescape=True), is_valid)
            return frozenset(connection.scalars(query))

    def end_all(self) -> None:
        """End all leases; for a process that knows it is alone on the store."""
        with self.database.write() as connection:
            affected(connection, update(LeaseRow).values(expires_at=ENDED))


# Parts of other tables' transactions


def require(connection: Connection, lease: Lease) -> None:
    """Refuse the transaction of a holder whose lease somebody else has taken since.

    Raises:
        TransientError: the lease has another holder.
    """
    if _token(connection, lease.name) != lease.token:
        raise TransientError(f"another worker has taken over {lease.name}", code="lease_lost")


def _token(connection: Connection, name: str) -> int | None:
    """The token of a lease; nobody else can take the lease until the transaction ends."""
    return connection.scalar(select(LeaseRow.token).where(col(LeaseRow.name) == name).with_for_update(read=True))


def _now(connection: Connection, now: datetime) -> datetime:
    is_sqlite = connection.dialect.name == "sqlite"
    return now if is_sqlite else cast("datetime", connection.scalar(select(func.clock_timestamp())))
