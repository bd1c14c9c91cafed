"""The engine's database: where it is, how it opens a SQLite file, and how it maps errors.

Invariant: no message contains a password or quotes a row. Checked by tests/integration/engine/test_launch_and_stop.py
and tests/integration/engine/test_database_errors.py.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import Pool

from support_agent.config.database_url import existing_file, normalise_url
from support_agent.core.database_errors import sqlite_code, what_to_do
from support_agent.core.size_limits import first_line
from support_agent.errors import ConfigError, TransientError

BUSY_TIMEOUT_S = 30.0
"""How long a writer waits for SQLite's lock; DBOS sets the same on each of its own connections."""

SQLITE_WITH_SUBSEC = (3, 42)
"""The first version of SQLite that supports `unixepoch('subsec')`; Debian 12 has 3.40."""


def engine_url(store_url: str) -> str:
    """Where the engine keeps its tables: a file of its own beside a SQLite store, else the same database.

    Raises:
        ConfigError: the URL names neither a SQLite file nor PostgreSQL.
    """
    url = normalise_url(store_url)
    if url.drivername == "sqlite":
        path = Path(cast(str, url.database))
        url = url.set(database=str(path.with_name(f"{path.stem}-engine.sqlite3")))
    return url.render_as_string(hide_password=False)


def prepare(url: str) -> None:
    """Switch a SQLite file to WAL mode for good, so that readers and the writer do not block each other."""
    parsed = normalise_url(url)
    if parsed.drivername != "sqlite":
        return
    add_unixepoch()
    path = cast(str, parsed.database)
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)) as connection:
            (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
    except sqlite3.Error as error:
        raise ConfigError(
            f"the engine's database {path} cannot be opened ({error}): check the folder and its permissions",
            code="engine_database",
        ) from error
    if mode != "wal":
        raise ConfigError(
            f"the engine's database {path} cannot use write-ahead logging: put it on a local disk",
            code="engine_database",
        )


def library_url(url: str) -> str:
    """The URL for the engine's library, which opens a SQLite file only where `prepare` has made it."""
    parsed = normalise_url(url)
    return existing_file(parsed).render_as_string() if parsed.drivername == "sqlite" else url


def add_unixepoch() -> None:
    """Let an older SQLite tell the time in milliseconds, as DBOS asks for on Python 3.12 and newer.

    DBOS opens connections in places where it takes no options, so all connections of the process get it.
    """
    if sqlite3.sqlite_version_info < SQLITE_WITH_SUBSEC and not event.contains(Pool, "connect", _add_unixepoch):
        event.listen(Pool, "connect", _add_unixepoch)


def _add_unixepoch(connection: object, record: object) -> None:
    if isinstance(connection, sqlite3.Connection):
        connection.create_function("unixepoch", 1, _unixepoch)


def _unixepoch(instant: str | float | None) -> float | None:
    """`unixepoch` of one argument, which hides SQLite's own: a query of the company may need that."""
    if instant == "subsec":
        return round(time.time(), 3)
    with closing(sqlite3.connect(":memory:")) as own:
        (seconds,) = own.execute("SELECT unixepoch(?)", (instant,)).fetchone()
    return cast(float | None, seconds)


@contextmanager
def mapped_errors() -> Iterator[None]:
    """Map errors of an open database to one that is tried again: even a full disk gets space some day.

    Raises:
        TransientError: the database refused something.
    """
    try:
        yield
    except SQLAlchemyError as error:
        # Only the first line: the others may quote the row.
        cause = error.orig if isinstance(error, DBAPIError) else error
        todo = what_to_do(error, is_sqlite=bool(sqlite_code(error)))
        raise TransientError(
            f"the engine's database did not answer ({first_line(cause)}): {todo}", code="engine_database"
        ) from error
