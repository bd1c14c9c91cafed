"""The database in which the engine keeps its records: which URLs it may have, how a SQLite file is opened, its errors.

Invariant: no message names a password, or quotes a row. Checked by tests/integration/engine/test_launch_and_stop.py and
tests/integration/engine/test_database_errors.py.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from support_agent.errors import ConfigError, TransientError

BUSY_TIMEOUT_S = 30.0
"""How long a writer waits for SQLite's lock; DBOS sets the same on each of its own connections."""


def parsed_url(url: str) -> URL:
    """The URL of a SQLite file or of PostgreSQL.

    Raises:
        ConfigError: it is neither.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ConfigError("store.url is no database URL: write sqlite:///file or postgresql://...") from error
    backend = parsed.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise ConfigError(f"store.url names {backend!r}: write sqlite:///file or postgresql://...")
    if backend == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise ConfigError("store.url is a database in memory, which dies with the process: name a file")
    return parsed


def engine_url(store_url: str) -> str:
    """Where the engine keeps its tables: a file of its own beside a SQLite store, else the same database.

    Raises:
        ConfigError: The URL is not that of a SQLite file or of PostgreSQL.
    """
    url = parsed_url(store_url)
    if url.get_backend_name() != "sqlite":
        return store_url
    path = Path(cast(str, url.database))
    url = url.set(database=str(path.with_name(f"{path.stem}-engine.sqlite3")))
    return url.render_as_string(hide_password=False)


def prepare(url: str) -> None:
    """Put a SQLite file into WAL mode, which it keeps: readers and the writer do not block each other."""
    parsed = parsed_url(url)
    if parsed.get_backend_name() != "sqlite":
        return
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


def shown(url: str) -> str:
    """The URL as it may stand in a log: without its password."""
    return make_url(url).render_as_string(hide_password=True)


@contextmanager
def mapped_errors() -> Iterator[None]:
    """Turn the errors of a database that could be opened into one that is tried again: a full disk is emptied some day.

    Raises:
        TransientError: for whatever the database refused.
    """
    try:
        yield
    except SQLAlchemyError as error:
        # The first line only: the next ones may quote the row.
        cause = error.orig if isinstance(error, DBAPIError) else error
        what = (str(cause).strip().splitlines() or [type(cause).__name__])[0]
        raise TransientError(
            f"the engine's database did not answer ({what}): it is tried again", code="engine_database"
        ) from error
