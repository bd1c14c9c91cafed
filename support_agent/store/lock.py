"""The lock on a store: workers share it on PostgreSQL, and one process has it alone on SQLite or to exchange the store.

Invariant: the operating system (SQLite) or the database's server (PostgreSQL) holds the lock, so it ends with its
process, even if that is killed. Checked by tests/integration/store/test_lock.py, with processes that are killed.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import URL, NullPool, create_engine, text
from sqlalchemy.exc import SQLAlchemyError

from support_agent.config.database_url import normalise_url
from support_agent.core.vanished_server import noticed_within
from support_agent.errors import ConfigError, TransientError
from support_agent.store.database import mapped_errors

RUN_LOCK = 1_903_462_912
"""Key of the PostgreSQL advisory lock; below 2**32, so that `pg_locks` shows it whole as `objid`."""
HOLDER = text(
    "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted"
    " AND objid = :key AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
RELEASE = text("SELECT pg_advisory_unlock_all()")
HAS_LEASES = text("SELECT to_regclass('leases') IS NOT NULL")
RENEWED_S = 200
"""A worker renews its lease within so many seconds: a third of the longest `engine.lease_s`."""
ALIVE = text(
    "SELECT holder, expires_at < started_until AS was_started, ceil(extract(epoch FROM greatest(expires_at,"
    " started_until) - clock_timestamp()))::int AS wait_s FROM leases, (SELECT pg_postmaster_start_time() +"
    f" interval '{RENEWED_S} seconds' AS started_until) AS server WHERE name LIKE 'worker:%' AND expires_at >"
    " to_timestamp(0) AND greatest(expires_at, started_until) >= clock_timestamp() ORDER BY wait_s DESC LIMIT 1"
)
"""Of the workers that may be alive without their lock, the one to wait for longest, and for how many seconds. Its lease
is valid; or it was never given up, and the server was just started, so that its holder could not renew it."""


def this_process(doing: str = "") -> str:
    """This process as a holder of the lock, and what it does, as others are told who must wait for it."""
    return ", ".join(filter(None, (f"pid {os.getpid()} on {socket.gethostname()}", doing)))


@contextmanager
def among_workers(url: str, holder: str, *, timeout_s: float) -> Iterator[bool]:
    """Work on a store, on PostgreSQL beside other workers; yields whether there can be others.

    A restart of the server, or a cut connection, ends the lock, and it is not taken again. That is safe without a new
    connection: workers share the lock, so they need it only against `only_process`, which also asks the leases. A
    worker that goes on renews its lease, and so shortly after a start of the server `only_process` takes each lease
    that was not given up for a living worker's. A lock that is taken again would leave a gap of the same length.

    Args and errors: as of `only_process`.
    """
    parsed = normalise_url(url)
    is_file = parsed.drivername == "sqlite"
    lock = _file_lock(parsed, holder) if is_file else _server_lock(parsed, holder, timeout_s, is_shared=True)
    with lock:
        yield not is_file


@contextmanager
def only_process(url: str, holder: str, *, timeout_s: float = 30.0) -> Iterator[None]:
    """Keep every worker off a store until the block ends. A process that only reads needs no lock.

    Args:
        url: As for `Store.open`.
        holder: Describes this process to others: its pid and host.
        timeout_s: Longest wait for a connection; there is no wait for the lock itself.
    Raises:
        ConfigError: another process has the store, or the lock's file cannot be opened.
        TransientError: the database did not answer, or the disk is full.
    """
    parsed = normalise_url(url)
    is_file = parsed.drivername == "sqlite"
    with _file_lock(parsed, holder) if is_file else _server_lock(parsed, holder, timeout_s, is_shared=False):
        yield


@contextmanager
def _file_lock(url: URL, holder: str) -> Iterator[None]:
    """Hold a lock file beside the database. The file is never removed: a removed one could be locked twice."""
    database = Path(url.database or "").resolve()  # one file under two names is one store
    path = database.with_name(f"{database.name}.lock")
    if not path.parent.is_dir():  # the library would create it
        raise ConfigError(f"the folder {path.parent} of store.url does not exist: create it")
    try:
        lock = FileLock(path).acquire(timeout=0)
    except Timeout:
        raise _taken(path.read_text("utf-8")) from None
    except OSError as error:
        why = f"{path} cannot be locked ({error.strerror})"
        raise ConfigError(f"{why}: check the folder and its permissions") from error
    with lock:
        try:
            path.write_text(holder, "utf-8")
        except OSError as error:
            raise TransientError(f"{path} cannot be written ({error.strerror}): free space on its disk") from error
        yield


@contextmanager
def _server_lock(url: URL, holder: str, timeout_s: float, *, is_shared: bool) -> Iterator[None]:
    """Hold an advisory lock on a connection that does nothing else."""
    options = {**noticed_within(timeout_s), "application_name": holder}
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT", connect_args=options)
    with mapped_errors():
        connection = engine.connect()
    try:
        with mapped_errors():
            lock = "pg_try_advisory_lock_shared" if is_shared else "pg_try_advisory_lock"
            if not connection.scalar(text(f"SELECT {lock}(:key)"), {"key": RUN_LOCK}):
                raise _taken(connection.scalar(HOLDER, {"key": RUN_LOCK}) or "")
            if not is_shared and connection.scalar(HAS_LEASES) and (alive := connection.execute(ALIVE).first()):
                raise _may_live(alive.holder, alive.wait_s, was_started=alive.was_started)
        yield
    finally:
        with suppress(SQLAlchemyError):  # a cut connection has no lock
            connection.execute(RELEASE)  # the server ends a closed connection, with its lock, only a moment later
        connection.close()


def _taken(holder: str) -> ConfigError:
    who = f" ({holder})" if holder else ""
    return ConfigError(f"another support-agent runs on this store{who}: stop it first", code="store_taken")


def _may_live(worker: str, wait_s: int, *, was_started: bool) -> ConfigError:
    """The error that a worker may be alive: it has no lock, but a restart of the server takes that away."""
    when = f"its lease ends in {wait_s} s"
    if was_started:
        when = f"the server was just started, and within {wait_s} s a living worker renews its lease"
    what = f"a support-agent may run on this store ({worker}): {when}"
    return ConfigError(f"{what}: stop it, or, if it has died, run this again after that time", code="store_taken")
