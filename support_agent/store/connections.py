"""Opens the connections to a database, and sets up each kind.

Invariant: what is committed survives a power cut, a SQLite file is private to its owner, deleted rows leave no bytes
behind, and a store that is half restored is not opened. Checked by tests/integration/store/test_database.py.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import cast

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from support_agent.config.database_url import existing_file
from support_agent.core.vanished_server import PROBE_S, PROBES, noticed_within
from support_agent.errors import ConfigError, TransientError

WRITES = "support_agent_writes"
"""Execution option of the connections whose transactions write."""
MOST_CONNECTIONS = 15
"""Of one process to a SQLite file; they stay open."""
PING_AFTER_S = 1.0
"""A connection to PostgreSQL that was not used for so long is tried before it is used. If the server was restarted
within that time, one statement fails, and is tried again as after any failure of the server."""
LAST_USED = "last_used"
"""Under this key a connection has the time of its last use, in seconds of the monotonic clock."""
USED_FILE = "used_file"
"""Under this key a connection to a SQLite file has its device and inode."""
RESTORING = "support_agent_restoring"
"""Schema (PostgreSQL) in which a restored store waits while it is exchanged for the one before."""

PRIVATE = 0o600

_json = partial(json.dumps, allow_nan=False)


def file_exists(path: Path, what: str) -> bool:
    """Whether a file is there.

    Args:
        what: What is in it, for a message.
    Raises:
        ConfigError: nobody can look: its folder is closed to this user, or its name is impossible.
    """
    try:
        return path.exists()
    except OSError as error:
        why = f"{what} {path} cannot be looked at ({error.strerror})"
        raise ConfigError(f"{why}: check its folder and its permissions", code="database") from error


def require_file(url: URL) -> None:
    """Refuse a SQLite store whose file is not there or is empty.

    Raises:
        ConfigError: it is not there, has no byte, or is only half restored.
    """
    path = Path(url.database or "")
    if url.drivername != "sqlite":
        return
    is_there = file_exists(path, "the database")
    if restoring_folder(path).exists():
        raise _half_restored()
    if is_there and path.stat().st_size:
        return
    raise no_store(f"the store {path} is empty" if is_there else f"there is no store {path}")


def no_store(found: str) -> ConfigError:
    """The refusal of a database in which there is no store.

    Args:
        found: What is there instead.
    """
    what = f"{found}: the first `support-agent run` creates it"
    return ConfigError(f"{what}; if there was one, put it back or correct store.url", code="no_store")


class StoreFile:
    """The file of a SQLite store, or of its keys: once this process has used it, no other file takes its place.

    `may_come_back`: this process could write to it, so that it is awaited if it cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode: int | None = None
        self.may_come_back = False

    @property
    def was_used(self) -> bool:
        """Whether a connection has been opened, since the last `close`."""
        return self._inode is not None

    def found(self) -> tuple[int, int] | None:
        """Device and inode of the file that is there now; None: there is none.

        Raises:
            TransientError: it is another one than the file that was used.
        """
        try:
            status = self._path.stat()
        except OSError:
            return None
        if self._inode not in (None, status.st_ino):
            what = f"another file is in the place of {self._path}, which this process has used"
            raise TransientError(f"{what}: put that back, or start again if it is the right one", code="database")
        return status.st_dev, status.st_ino

    def opened(self) -> tuple[int, int] | None:
        """As `found`, of the file that a connection was opened to just now."""
        found = self.found()
        self._inode = found[1] if found is not None else self._inode
        places = (self._path, self._path.resolve().parent)
        self.may_come_back |= all(os.access(place, os.W_OK, effective_ids=True) for place in places)
        return found

    def close(self) -> None:
        """Any file may be opened next."""
        self._inode, self.may_come_back = None, False


def open_sqlite(url: URL, timeout_s: float) -> tuple[Engine, StoreFile]:
    """The connections to a SQLite file, which is created if need be; see `Database` for the arguments."""
    path = Path(url.database or "")
    if not path.parent.is_dir():
        raise ConfigError(f"the folder {path.parent} of store.url does not exist: create it")
    file_exists(path, "the database")
    file = StoreFile(path)
    engine = create_engine(
        existing_file(url),
        connect_args={"timeout": timeout_s},
        pool_size=MOST_CONNECTIONS,  # to open one costs more than a journey's statements
        max_overflow=0,
        pool_timeout=timeout_s,
        hide_parameters=True,
        json_serializer=_json,
    )

    @event.listens_for(engine, "do_connect")
    def _private(*_: object) -> None:
        if restoring_folder(path).exists():
            raise _half_restored()
        if file.found() is None and not file.was_used:
            with suppress(OSError):  # SQLite reports the problem next
                _create_file(path.resolve())  # it may be a link

    event.listen(engine, "connect", make_durable)

    @event.listens_for(engine, "connect")
    def _configure(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # the driver's own BEGIN comes too late to lock rows that were read
        connection.cursor().execute("PRAGMA foreign_keys=ON")

    guard_file(engine, file)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A writer waits for its lock at the start; a reader that becomes a writer would fail at once.
        if connection.get_execution_options().get(WRITES, False):
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:  # does not touch the file yet, so it cannot fail, and needs none of what costs more than a small query
            cast("sqlite3.Connection", connection.connection.driver_connection).execute("BEGIN")

    return engine, file


def guard_file(engine: Engine, file: StoreFile) -> None:
    """Use no connection whose file is away: what it writes might be in a file that nobody sees any more."""

    @event.listens_for(engine, "connect")
    def _note_file(_: DBAPIConnection, record: ConnectionPoolEntry) -> None:
        record.info[USED_FILE] = file.opened()

    @event.listens_for(engine, "checkout")
    def _require_file(_: DBAPIConnection, record: ConnectionPoolEntry, __: PoolProxiedConnection) -> None:
        if (found := file.found()) is None or found != record.info[USED_FILE]:
            raise InvalidatePoolError("the file was away: no connection from before is used again")


def make_durable(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    """Set up a new connection to a SQLite file: what is committed or deleted stays so."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")  # a lost `sending` after a power cut would be a second mail
    cursor.execute("PRAGMA secure_delete=ON")  # retention must delete the data from the file as well
    cursor.close()


def restoring_folder(path: Path) -> Path:
    """The folder in which a restored store waits while it is exchanged for the one before."""
    return path.with_name(f"{path.name}.restoring")


def _half_restored() -> ConfigError:
    return ConfigError(
        "a restore of this store was interrupted: run `support-agent restore` with the same backup again to finish it",
        code="restoring",
    )


def _create_file(path: Path) -> None:
    """Create an empty database, atomically, in WAL mode and private to its owner; an existing one stays.

    Switching an open database to WAL does not wait for a lock, so one of two processes that start together would fail.
    """
    handle, name = tempfile.mkstemp(prefix=f"{path.name}-new-", dir=path.parent)
    os.close(handle)
    try:
        with closing(sqlite3.connect(name)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        try:
            os.link(name, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links: an empty file is a new database, too
            path.touch(PRIVATE, exist_ok=True)
    finally:
        Path(name).unlink()


def open_postgresql(url: URL, timeout_s: float) -> Engine:
    """The connections to PostgreSQL; see `Database` for the arguments."""
    engine = create_engine(
        url,
        connect_args=noticed_within(timeout_s),
        pool_timeout=timeout_s,
        hide_parameters=True,
        json_serializer=_json,
    )

    guard_connections(engine, timeout_s)

    @event.listens_for(engine, "connect")
    def _refuse_half_restored(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        cursor.execute("SELECT to_regnamespace(%s) IS NOT NULL", (RESTORING,))
        is_there = bool((cursor.fetchone() or (False,))[0])
        cursor.close()
        connection.rollback()
        if is_there:
            raise _half_restored()

    return engine


def guard_connections(engine: Engine, timeout_s: float) -> None:
    """Guard the connections to PostgreSQL against a server, and the server against a process, that stopped.

    A connection is tried before it is used again, unless it was used just now: that costs a round trip. A transaction
    whose process sends nothing for `timeout_s` is rolled back, and the connection of a machine that is gone is closed:
    their locks would stay for good, and those who took over their mails would wait for them. A process that is stopped
    in the middle of sending a large statement is not seen.
    """
    settings = {
        "DateStyle": "ISO",  # the driver reads no other
        "idle_in_transaction_session_timeout": math.ceil(timeout_s * 1000),
        "tcp_keepalives_idle": math.ceil(timeout_s),
        "tcp_keepalives_interval": PROBE_S,
        "tcp_keepalives_count": PROBES,
    }
    setting = "SELECT " + ", ".join(f"set_config('{name}', '{value}', false)" for name, value in settings.items())

    @event.listens_for(engine, "connect")
    def _set_limits(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        cursor.execute(setting)
        cursor.close()
        connection.commit()  # a rollback would take the setting back

    @event.listens_for(engine, "checkin")
    def _note_use(_: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
        record.info[LAST_USED] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _ping(connection: DBAPIConnection, record: ConnectionPoolEntry, _: PoolProxiedConnection) -> None:
        last_used = record.info.get(LAST_USED)
        if last_used is None or time.monotonic() - last_used < PING_AFTER_S:  # None: it was opened just now
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError("the server was away: no connection from before is used again") from error


def reader_of(engine: Engine) -> Engine:
    """The same connections for reading: on SQLite in one snapshot, on PostgreSQL each statement alone.

    A transaction of PostgreSQL would take two more round trips and would give no common snapshot either, as it is READ
    COMMITTED; only its locks would last until its end.
    """
    return engine if engine.dialect.name == "sqlite" else engine.execution_options(isolation_level="AUTOCOMMIT")


def purge(engine: Engine, tables: Iterable[str]) -> None:
    """Remove deleted rows from the files as well: from SQLite's write-ahead log, from PostgreSQL's tables."""
    if engine.dialect.name == "sqlite":
        with closing(engine.raw_connection()) as raw:
            raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in tables:
            connection.execute(text(f"VACUUM {table}"))
