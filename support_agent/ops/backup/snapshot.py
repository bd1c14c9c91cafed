"""One instant of each store, while workers go on: the copy is made from what a transaction has pinned.

The engine's records are not copied: a mail that has not ended is started again from the store, as the first start of a
new version does with journeys of an older one, and what it has put into the outbox already stays as it is.

Checked by tests/integration/backup/test_every_step.py: a backup at every step and write of a journey, on each database.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Protocol

from sqlalchemy import URL, Connection, NullPool, create_engine, inspect, text

from support_agent.config.database_url import normalise_url
from support_agent.errors import ConfigError, TransientError
from support_agent.ops.backup.archive import ArchivePart, DatabaseCopy, part_of, write_part
from support_agent.ops.backup.copying import copy_out, tables_of
from support_agent.store.database import VERSION_TABLE, mapped_errors

FILE = "database.sqlite3"


class Snapshot(Protocol):
    """A pinned database."""

    def copy(self, made: Path, folder: str) -> DatabaseCopy:
        """Copy it into a folder of the backup."""


@contextmanager
def pinned(urls: Mapping[str, str], timeout_s: float) -> Iterator[dict[str, Snapshot]]:
    """Pin every store.

    Args:
        urls: The stores by brand.
        timeout_s: Longest wait for a lock or a connection.
    Yields:
        The stores by brand.
    Raises:
        ConfigError: there is no store. TransientError: a database did not answer.
    """
    with ExitStack() as opened, _mapped_sqlite_errors(), mapped_errors():
        yield {brand: opened.enter_context(_pinned(normalise_url(url), timeout_s)) for brand, url in urls.items()}


def _pinned(url: URL, timeout_s: float) -> AbstractContextManager[Snapshot]:
    if url.drivername == "sqlite":
        return _pinned_file(Path(str(url.database)), timeout_s)
    return _pinned_server(url, timeout_s)


# SQLite


@contextmanager
def _pinned_file(file: Path, timeout_s: float) -> Iterator[FileSnapshot]:
    if not file.is_file():
        raise ConfigError(f"there is no store at {file}: nothing to back up; check store.url", code="backup")
    with closing(sqlite3.connect(file, timeout=timeout_s, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # only a read pins the state
        yield FileSnapshot(connection)


class FileSnapshot:
    """A SQLite file, pinned by the read transaction of a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def copy(self, made: Path, folder: str) -> DatabaseCopy:
        """Copy it with SQLite's online backup, and check that the copy is sound."""
        (made / folder).mkdir(parents=True)
        target = made / folder / FILE
        with closing(sqlite3.connect(target)) as copied:
            self._connection.backup(copied)
            copied.execute("PRAGMA journal_mode=DELETE")  # the copy is one file
            (found,) = copied.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise ConfigError(f"the database is damaged ({found}): restore an earlier backup", code="backup")
        return DatabaseCopy(kind="sqlite", schema_version=self._version(), parts=(part_of(made, f"{folder}/{FILE}"),))

    def _version(self) -> str | None:
        if not self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (VERSION_TABLE,)).fetchone():
            return None
        found = self._connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
        return None if found is None else str(found[0])


@contextmanager
def _mapped_sqlite_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise TransientError(f"a database did not answer ({error}): try again", code="database") from error
    except sqlite3.DatabaseError as error:
        raise ConfigError(f"a database cannot be read ({error}): check store.url", code="database") from error


# PostgreSQL


@contextmanager
def _pinned_server(url: URL, timeout_s: float) -> Iterator[ServerSnapshot]:
    limits = {"connect_timeout": math.ceil(timeout_s)}
    engine = create_engine(
        url, poolclass=NullPool, connect_args=limits, hide_parameters=True, isolation_level="REPEATABLE READ"
    )
    with closing(engine.connect()) as connection:
        connection.execute(text("SET TRANSACTION READ ONLY"))
        if not inspect(connection).has_table(VERSION_TABLE):  # the first query pins the state
            raise ConfigError("there is no store at store.url: nothing to back up", code="backup")
        yield ServerSnapshot(connection)


class ServerSnapshot:
    """The store's tables in a PostgreSQL database, pinned by a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def copy(self, made: Path, folder: str) -> DatabaseCopy:
        """Copy the rows of each table, one part a table; the migrations make the tables again."""
        (made / folder).mkdir(parents=True)
        parts = tuple(
            self._rows(made, folder, table.name, [column.name for column in table.columns])
            for table in tables_of(self._connection)
        )
        found = self._connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
        return DatabaseCopy(kind="postgresql", schema_version=None if found is None else str(found), parts=parts)

    def _rows(self, made: Path, folder: str, table: str, columns: list[str]) -> ArchivePart:
        copied = copy_out(self._connection, table, columns)
        return write_part(made, f"{folder}/{table}.copy", copied, table=table, columns=columns)
