"""What is watched in the store: what waits and since when, alarms that the desk was notified of, what ends some day.

Invariant: a count is over an index and ends at the caller's limit, so that it costs the same whatever is stored.
Checked by tests/contract/store/test_watching.py, and its query plans by tests/unit/watch/test_observed_journeys.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TypeVar

from sqlalchemy import delete, func
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col, select

from support_agent.store.database import Database
from support_agent.store.records import MailId, MailStatus, OutboxStatus
from support_agent.store.rows import affected, insert_into
from support_agent.store.tables import AlarmRow, ExpiryRow, MailRow, OutboxRow
from support_agent.store.watch_records import AlarmKind, AlarmRecord, ClockTrust, Expiring, WaitCount

E = TypeVar("E", Expiring, ClockTrust)


@dataclass(frozen=True)
class Watching:
    """`Store.watching`."""

    database: Database

    def undecided(self, most: int) -> WaitCount:
        """Count the mails that are `new`, up to a limit."""
        is_new = col(MailRow.status) == MailStatus.NEW
        listed = select(MailRow.id).where(is_new).limit(most).subquery()
        with self.database.read() as connection:
            return WaitCount(
                number=connection.scalar(select(func.count()).select_from(listed)) or 0,
                since=connection.scalar(select(func.min(MailRow.received_at)).where(is_new)),
            )

    def outbox(self, statuses: Collection[OutboxStatus], most: int) -> dict[OutboxStatus, int]:
        """Count the mails of the outbox with each of these statuses, each up to a limit."""
        listed = {
            status: select(OutboxRow.id).where(col(OutboxRow.status) == status).limit(most).subquery()
            for status in statuses
        }
        with self.database.read() as connection:
            return {
                status: connection.scalar(select(func.count()).select_from(rows)) or 0
                for status, rows in listed.items()
            }

    def newest_mail(self) -> tuple[MailId, datetime] | None:
        """Return the mail that came in last and when; None: none did."""
        query = select(MailRow.id, MailRow.received_at).order_by(col(MailRow.received_at).desc()).limit(1)
        with self.database.read() as connection:
            found = connection.execute(query).first()
            return None if found is None else (MailId(found[0]), found[1])

    def newest_mails(self, most: int) -> tuple[MailId, ...]:
        """Return the mails that came in last, the newest first."""
        query = select(MailRow.id).order_by(col(MailRow.received_at).desc()).limit(most)
        with self.database.read() as connection:
            return tuple(map(MailId, connection.scalars(query)))

    def quarantined(self, codes: Collection[str], most: int) -> tuple[MailId, ...]:
        """Return mails that were quarantined for these reasons, up to a limit."""
        is_its = (col(MailRow.status) == MailStatus.QUARANTINED, col(MailRow.reason_code).in_(codes))
        with self.database.read() as connection:
            return tuple(map(MailId, connection.scalars(select(MailRow.id).where(*is_its).limit(most))))

    def has_come(self, folder: str, since: datetime, until: datetime) -> bool:
        """Whether any mail of a folder was recorded from an instant on, before another."""
        query = select(MailRow.id).where(
            col(MailRow.received_at) >= since, col(MailRow.received_at) < until, col(MailRow.folder) == folder
        )
        with self.database.read() as connection:
            return connection.scalar(query.limit(1)) is not None

    def alarm(self, kind: AlarmKind) -> AlarmRecord | None:
        """Return the last mail about an alarm of this kind; None: there was none."""
        query = select(AlarmRow).where(col(AlarmRow.kind) == kind).order_by(col(AlarmRow.number).desc()).limit(1)
        with self.database.read() as connection:
            row = connection.execute(query).first()
            return None if row is None else AlarmRecord.model_validate(row)

    def notified_since(self, instant: datetime) -> int:
        """Count the mails about alarms since an instant."""
        query = select(func.count()).select_from(AlarmRow).where(col(AlarmRow.notified_at) >= instant)
        with self.database.read() as connection:
            return connection.scalar(query) or 0

    def note_expiry(self, what: Expiring | ClockTrust, ends_at: datetime | None) -> None:
        """Record when something ends; None: it is not known any more."""
        with self.database.write() as connection:
            if ends_at is None:
                affected(connection, delete(ExpiryRow).where(col(ExpiryRow.name) == what))
            else:
                affected(connection, _keep(connection.dialect.name), {"name": what, "ends_at": ends_at})

    def expiries(self) -> Mapping[Expiring, datetime]:
        """Return when each thing ends, as far as it is known."""
        return self._ends(Expiring)

    def clock_trust(self) -> Mapping[ClockTrust, datetime]:
        """Return when the trust and the doubt in the clock end."""
        return self._ends(ClockTrust)

    def _ends(self, kind: type[E]) -> dict[E, datetime]:
        query = select(ExpiryRow).where(col(ExpiryRow.name).in_(list(kind)))
        with self.database.read() as connection:
            return {kind(row.name): row.ends_at for row in connection.execute(query)}


@cache
def _keep(dialect: str) -> postgresql.Insert | sqlite.Insert:
    insert = insert_into(ExpiryRow, dialect)
    new = insert.excluded
    is_news = col(ExpiryRow.ends_at) != new.ends_at
    return insert.on_conflict_do_update(index_elements=["name"], set_={"ends_at": new.ends_at}, where=is_news)
