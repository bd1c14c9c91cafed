"""The store: one object per table, which takes and returns frozen records.

Invariant: each method of `mails`, `cases` and the others is one transaction, and a step that runs twice after a crash,
with the same input, leaves the same rows and no error. Checked by tests/contract/store on SQLite and PostgreSQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Self

from support_agent.config.database_url import normalise_url
from support_agent.config.settings import StoreSettings
from support_agent.store.audit import Audit
from support_agent.store.cases import Cases
from support_agent.store.cursors import Cursors
from support_agent.store.database import Database
from support_agent.store.deliveries import Deliveries
from support_agent.store.keys import KeySettings, key_settings
from support_agent.store.labels import Labels
from support_agent.store.leases import Leases
from support_agent.store.mails import Mails
from support_agent.store.modes import Modes
from support_agent.store.outbox import Outbox
from support_agent.store.persons import Persons
from support_agent.store.plans import Plans
from support_agent.store.quality import Quality
from support_agent.store.queue import Queue
from support_agent.store.retention import Retention
from support_agent.store.sealing import Sealing
from support_agent.store.suppressions import Suppressions
from support_agent.store.traffic import Traffic
from support_agent.store.used_keys import UsedKeys
from support_agent.store.uses import Uses
from support_agent.store.versions import Versions
from support_agent.store.waiting import Waits
from support_agent.store.watching import Watching


@dataclass(frozen=True)
class Store:
    """The tables of one company's agent.

    Any method of a table may raise `TransientError` (the database is busy or away), `ConfigError` (the file cannot be
    used, or the schema is not upgraded) or `PermanentError` (no such row, or a change that the rules do not allow).
    """

    database: Database
    mails: Mails
    cursors: Cursors
    leases: Leases
    cases: Cases
    plans: Plans
    versions: Versions
    outbox: Outbox
    deliveries: Deliveries
    suppressions: Suppressions
    modes: Modes
    labels: Labels
    used_keys: UsedKeys
    traffic: Traffic
    waits: Waits
    queue: Queue
    quality: Quality
    uses: Uses
    retention: Retention
    watching: Watching
    persons: Persons
    sealing: Sealing
    audit: Audit

    @classmethod
    def of(cls, settings: StoreSettings) -> Self:
        """Open the store of the settings; see `open`."""
        return cls.open(settings.url, timeout_s=settings.timeout_s, keys=key_settings(settings))

    @classmethod
    def open(cls, url: str, *, timeout_s: float = 30.0, keys: KeySettings | None = None) -> Self:
        """Open a store; nothing is read or created yet.

        Args:
            url: SQLite or PostgreSQL, see `config.database_url`.
            timeout_s: Longest wait for a lock, a connection or a free connection.
            keys: As for `Database`.
        Raises:
            ConfigError: the URL cannot be used.
        """
        database = Database(normalise_url(url), timeout_s, keys)
        return cls(
            database=database,
            mails=Mails(database),
            cursors=Cursors(database),
            leases=Leases(database),
            cases=Cases(database),
            plans=Plans(database),
            versions=Versions(database),
            outbox=Outbox(database),
            deliveries=Deliveries(database),
            suppressions=Suppressions(database),
            modes=Modes(database),
            labels=Labels(database),
            used_keys=UsedKeys(database),
            traffic=Traffic(database),
            waits=Waits(database),
            queue=Queue(database),
            quality=Quality(database),
            uses=Uses(database),
            retention=Retention(database),
            watching=Watching(database),
            persons=Persons(database),
            sealing=Sealing(database),
            audit=Audit(database),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; the next use opens them again."""
        self.database.close()

    def upgrade(self) -> None:
        """Create or upgrade the schema; simultaneous upgrades wait for each other."""
        self.database.upgrade()

    def is_current(self) -> bool:
        """Whether the schema is current for this version of the program."""
        return self.database.revision() == self.database.head()
