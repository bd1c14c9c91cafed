"""One instant of the stores and of the engine's records, while workers go on.

The engine's database is held for the moment in which every database is pinned: no step can be recorded then, so what is
copied is what a `kill -9` at that instant would have left, and a start goes on from it as from that. Were the engine
newer than a store, a step would count as done whose rows are missing, and a mail would be lost; were it older, steps
would run again that decide anew. Writers wait some milliseconds; the copies are made from the pinned state.

Checked by tests/integration/backup/test_every_step.py: a backup at every step and write of a journey, on each database.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Protocol

from sqlalchemy import URL, Connection, NullPool, create_engine, inspect, text

from support_agent.engine import schema as engine_schema
from support_agent.engine.database import engine_url
from support_agent.errors import ConfigError, TransientError
from support_agent.ops.backup.archive import DatabaseCopy, Part, part_of, write_part
from support_agent.ops.backup.copying import copy_out, tables_of
from support_agent.store.connections import normalise_url
from support_agent.store.database import VERSION_TABLE, mapped_errors

FILE = "database.sqlite3"
STEPS_TABLE = f"{engine_schema.SCHEMA}.operation_outputs"
"""The engine records each step in this table."""


class Snapshot(Protocol):
    """A pinned database."""

    def copy(self, made: Path, folder: str) -> DatabaseCopy:
        """Copy it into a folder of the backup."""


@contextmanager
def pinned(urls: Mapping[str, str], timeout_s: float) -> Iterator[tuple[dict[str, Snapshot], Snapshot | None]]:
    """Pin every store and the engine's database at one instant.

    Args:
        urls: The stores by brand; the engine is beside that of "".
        timeout_s: Longest wait for a lock or a connection.
    Yields:
        The stores by brand, and the engine; None if no worker has ever run.
    Raises:
        ConfigError: there is no store. TransientError: a database did not answer.
    """
    with ExitStack() as opened, _mapped_sqlite_errors(), mapped_errors():
        with _no_step_recorded(urls, timeout_s):
            engine, stores = _pin_all(urls, timeout_s, opened)
        yield stores, engine


def _pin_all(
    urls: Mapping[str, str], timeout_s: float, opened: ExitStack
) -> tuple[Snapshot | None, dict[str, Snapshot]]:
    stores: dict[str, Snapshot] = {}
    engine: Snapshot | None = None
    for brand, url in urls.items():
        parsed = normalise_url(url)
        if parsed.drivername == "sqlite":
            stores[brand] = opened.enter_context(_pinned_file(Path(str(parsed.database)), timeout_s))
            beside = _engine_file(url)
            if brand == "" and beside.exists():
                engine = opened.enter_context(_pinned_file(beside, timeout_s, is_engine=True))
        else:
            connection = opened.enter_context(_pinned_server(parsed, timeout_s))
            stores[brand] = ServerSnapshot(connection)
            if brand == "" and engine_schema.version_of(connection) is not None:
                engine = ServerSnapshot(connection, is_engine=True)
    return engine, stores


# Holding the engine


@contextmanager
def _no_step_recorded(urls: Mapping[str, str], timeout_s: float) -> Iterator[None]:
    """Let nobody record a step inside the block; one snapshot of one server needs no such lock."""
    parsed = normalise_url(urls[""])
    if parsed.drivername == "sqlite":
        file = _engine_file(urls[""])
        with _write_lock(file, timeout_s) if file.exists() else ExitStack():
            yield
    elif len(urls) == 1:
        yield
    else:
        with closing(_connect(parsed, timeout_s)) as connection:
            if engine_schema.version_of(connection) is not None:
                for limit in ("lock_timeout", "idle_in_transaction_session_timeout"):
                    connection.execute(text(f"SET LOCAL {limit} = {math.ceil(timeout_s * 1000)}"))
                connection.execute(text(f"LOCK TABLE {STEPS_TABLE} IN SHARE MODE"))
            yield
            connection.execute(text("SELECT 1"))  # fails if the lock was lost: this process was stopped for too long


@contextmanager
def _write_lock(file: Path, timeout_s: float) -> Iterator[None]:
    with closing(_open_file(file, timeout_s)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.rollback()


def _engine_file(store_url: str) -> Path:
    return Path(str(normalise_url(engine_url(store_url)).database))


# SQLite


@contextmanager
def _pinned_file(file: Path, timeout_s: float, *, is_engine: bool = False) -> Iterator[FileSnapshot]:
    if not file.is_file():
        raise ConfigError(f"there is no store at {file}: nothing to back up; check store.url", code="backup")
    with closing(_open_file(file, timeout_s)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # only a read pins the state
        yield FileSnapshot(connection, is_engine)


def _open_file(file: Path, timeout_s: float) -> sqlite3.Connection:
    return sqlite3.connect(file, timeout=timeout_s, isolation_level=None)


class FileSnapshot:
    """A SQLite file, pinned by the read transaction of a connection."""

    def __init__(self, connection: sqlite3.Connection, is_engine: bool) -> None:
        self._connection = connection
        self._is_engine = is_engine

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
        table, column = (engine_schema.VERSION_TABLE, "version") if self._is_engine else (VERSION_TABLE, "version_num")
        if not self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
            return None
        (found,) = self._connection.execute(f"SELECT max({column}) FROM {table}").fetchone()
        return None if found is None else str(found)


@contextmanager
def _mapped_sqlite_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise TransientError(f"a database did not answer ({error}): try again", code="database") from error
    except sqlite3.DatabaseError as error:
        raise ConfigError(f"a database cannot be read ({error}): check store.url", code="database") from error


# PostgreSQL


def _connect(url: URL, timeout_s: float, **options: str) -> Connection:
    engine = create_engine(
        url, poolclass=NullPool, connect_args={"connect_timeout": math.ceil(timeout_s)}, hide_parameters=True, **options
    )
    return engine.connect()


@contextmanager
def _pinned_server(url: URL, timeout_s: float) -> Iterator[Connection]:
    with closing(_connect(url, timeout_s, isolation_level="REPEATABLE READ")) as connection:
        connection.execute(text("SET TRANSACTION READ ONLY"))
        if not inspect(connection).has_table(VERSION_TABLE):  # the first query pins the state
            raise ConfigError("there is no store at store.url: nothing to back up", code="backup")
        yield connection


class ServerSnapshot:
    """Tables of a PostgreSQL database, pinned by a transaction: the store's, or the engine's in their schema."""

    def __init__(self, connection: Connection, *, is_engine: bool = False) -> None:
        self._connection = connection
        self._schema = engine_schema.SCHEMA if is_engine else None

    def copy(self, made: Path, folder: str) -> DatabaseCopy:
        """Copy the rows of each table, one part a table; the migrations make the tables again."""
        (made / folder).mkdir(parents=True)
        parts = tuple(
            self._rows(made, folder, table.name, [column.name for column in table.columns])
            for table in tables_of(self._connection, self._schema)
        )
        return DatabaseCopy(kind="postgresql", schema_version=self._version(), parts=parts)

    def _rows(self, made: Path, folder: str, table: str, columns: list[str]) -> Part:
        copied = copy_out(self._connection, table, columns, self._schema)
        return write_part(made, f"{folder}/{table}.copy", copied, table=table, columns=columns)

    def _version(self) -> str | None:
        if self._schema is None:
            found = self._connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
        else:
            found = engine_schema.version_of(self._connection)
        return None if found is None else str(found)
