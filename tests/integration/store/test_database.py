"""What the databases are set to, and what their errors become."""

from __future__ import annotations

import errno
import os
import socket
import sqlite3
import stat
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from support_agent.errors import ConfigError, PermanentError, TransientError
from support_agent.store import connections
from support_agent.store.store import Store
from tests.contract.store.examples import NOON, cursor, plan, record

NOBODY = 65534
PROCESS = text("SELECT pg_backend_pid()")


def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.sqlite3'}"


def test_sqlite_is_durable_and_strict(tmp_path: Path) -> None:
    """Rule: WAL, each commit on disk, references checked, deleted rows overwritten, locks waited for."""
    expected = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
        "busy_timeout": 1500,
    }
    for _ in ("a new file", "an old one"):
        with (
            Store.open(sqlite_url(tmp_path), timeout_s=1.5) as store,
            store.database.read() as connection,
        ):
            found = {name: connection.scalar(text(f"PRAGMA {name}")) for name in expected}
        assert found == expected


def test_an_empty_file_is_a_new_database(tmp_path: Path) -> None:
    """Rule: a file that somebody made beforehand, with the rights it should have, is used."""
    (tmp_path / "store.sqlite3").touch(mode=0o640)
    with Store.open(sqlite_url(tmp_path)) as store:
        store.upgrade()
        record(store)
        with closing(sqlite3.connect(tmp_path / "store.sqlite3")) as other:
            assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_foreign_keys_are_on_again_after_a_migration(tmp_path: Path) -> None:
    """Failure: the connection that migrated goes back to the pool with its checks off."""
    with Store.open(sqlite_url(tmp_path)) as store:
        store.upgrade()
        with store.database.read() as connection:
            assert connection.scalar(text("PRAGMA foreign_keys")) == 1


def test_the_sqlite_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Rule: customers' mails are not for other users of the machine."""
    with Store.open(sqlite_url(tmp_path)) as store:
        store.upgrade()
        record(store)
        files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert files == {
        "store.sqlite3": 0o600,
        "store.sqlite3-wal": 0o600,
        "store.sqlite3-shm": 0o600,
    }


def test_a_reference_to_nothing_is_refused(store: Store) -> None:
    """Rule: both databases check references."""
    orphan = text("INSERT INTO participants VALUES ('NOCASE', 'a@example.net')")
    with pytest.raises(PermanentError, match=r"(?i)foreign key"), store.database.write() as connection:
        connection.execute(orphan)


def test_an_error_rolls_back_the_whole_transaction(store: Store) -> None:
    """Rule: committed whole or not at all."""

    def write_and_fail() -> None:
        with store.database.write() as connection:
            connection.execute(text("INSERT INTO forgotten_mails VALUES ('x')"))
            raise RuntimeError("later")

    with pytest.raises(RuntimeError, match="later"):
        write_and_fail()
    with store.database.read() as connection:
        assert connection.scalar(text("SELECT count(*) FROM forgotten_mails")) == 0


def test_a_missing_schema_says_so(database_url: str) -> None:
    """Rule: reading and writing before the upgrade is a mistake of the set-up, not an outage."""
    with Store.open(database_url) as store:
        assert not store.is_current()
        for use in (store.traffic.totals, lambda: record(store)):
            with pytest.raises(ConfigError, match="do not fit this version") as refused:
                use()
            assert refused.value.code == "schema"


def test_a_missing_column_says_so(store: Store) -> None:
    """Rule: a schema of an older program is told apart from an outage."""
    with store.database.write() as connection:
        connection.execute(text("ALTER TABLE mails DROP COLUMN sender_why"))
    for use in (store.mails.find, lambda: record(store)):
        with pytest.raises(ConfigError, match="sender_why") as refused:
            use()
        assert refused.value.code == "schema"


def test_a_lock_that_is_not_let_go_is_tried_later(tmp_path: Path) -> None:
    """Rule: another writer is waited for, `timeout_s` at most; then the step is tried again."""
    with Store.open(sqlite_url(tmp_path), timeout_s=0.05) as store:
        store.upgrade()
        other = sqlite3.connect(tmp_path / "store.sqlite3", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(TransientError, match="locked"):
            record(store)
        assert store.mails.find() == ()
        other.close()
        record(store)


@pytest.mark.servers
def test_a_server_that_is_away_is_tried_later_and_its_password_stays_secret(postgres_url: str) -> None:
    """Rule: an outage is no reason to stop; the message may be logged."""
    password = postgres_url.split(":")[2].split("@")[0]
    away = f"postgresql://postgres:{password}@127.0.0.1:1/nothing"
    wrong = postgres_url.replace(password, "hunter2")
    for url in (away, wrong):
        with Store.open(url, timeout_s=5) as store, pytest.raises(TransientError) as refused:
            store.traffic.totals()
        assert not {password, "hunter2"} & set(str(refused.value).replace(":", " ").replace("@", " ").split())
        assert "\n" not in str(refused.value)


@pytest.mark.servers
def test_a_connection_that_the_server_closed_while_nobody_used_it_is_opened_again(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: the first command after a restart of the server does not fail, if the connection was idle before."""
    monkeypatch.setattr(connections, "PING_AFTER_S", 0.0)
    closed = text("SELECT pg_terminate_backend(:pid)")
    with Store.open(postgres_url) as store, Store.open(postgres_url) as other:
        for begin in (store.database.read, store.database.write):
            with begin() as connection:
                process = connection.scalar(PROCESS)
            with other.database.read() as connection:
                assert connection.scalar(closed, {"pid": process})
            with begin() as connection:
                assert connection.scalar(PROCESS) != process


@pytest.mark.servers
def test_the_locks_of_a_process_that_is_stopped_end(postgres_url: str) -> None:
    """Rule: others wait for it no longer than `timeout_s`; nothing of what it wrote is kept, and it tries again."""
    with Store.open(postgres_url, timeout_s=0.5) as store, ThreadPoolExecutor(1) as other:
        with pytest.raises(TransientError, match="idle-in-transaction"):
            _lock(store, meanwhile=lambda: other.submit(_lock, store).result(timeout=60))
        _lock(store)


@pytest.mark.servers
def test_a_server_whose_machine_is_gone_is_noticed_within_the_timeout(postgres_url: str) -> None:
    """Failure: after a failover a statement waited for up to two hours, the system's own limit."""
    with Store.open(postgres_url, timeout_s=7.5) as store, store.database.read() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        with socket.socket(fileno=os.dup(driver.fileno())) as wire:
            assert wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 7500
            assert wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 8


def _lock(store: Store, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Lock, do something else without asking the database, and lock again, in one transaction."""
    locked = text("SELECT pg_advisory_xact_lock(1)")
    with store.database.write() as connection:
        connection.execute(locked)
        meanwhile()
        connection.execute(locked)


@pytest.mark.servers
def test_a_plan_is_stored_without_a_pipeline(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: a process that is stopped in a pipeline does not count as idle, and its locks would stay."""
    with Store.open(postgres_url) as store:
        store.upgrade()
        made = plan(record(store))
        monkeypatch.delattr(psycopg.Cursor, "executemany")
        store.plans.save(made)
        assert store.plans.get(made.mail_id) == made


@pytest.mark.servers
def test_a_reader_keeps_no_transaction_open_on_postgresql(postgres_url: str) -> None:
    """Rule: each statement is alone, without the round trips of a transaction."""
    began = text("SELECT now()")
    with Store.open(postgres_url) as store:
        with store.database.read() as connection:
            assert connection.scalar(began) < connection.scalar(began)
        with store.database.write() as connection:
            assert connection.scalar(began) == connection.scalar(began)


@pytest.mark.servers
def test_an_internal_error_of_the_server_is_tried_later(postgres_url: str) -> None:
    """Rule: a server that cannot write to a file, for example, has not refused the data."""
    raising = text("DO $$ BEGIN RAISE 'could not extend file' USING ERRCODE = 'internal_error'; END $$")
    tried_later = pytest.raises(TransientError, match="could not extend")
    with Store.open(postgres_url) as store, tried_later, store.database.write() as connection:
        connection.execute(raising)


def test_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    """Rule: the wrong file is a mistake of the configuration."""
    (tmp_path / "store.sqlite3").write_bytes(b"not a database " * 100)
    store = Store.open(sqlite_url(tmp_path))
    with store, pytest.raises(ConfigError, match=r"store\.url"):
        store.upgrade()


def test_a_folder_in_place_of_the_file_says_so(tmp_path: Path) -> None:
    """Rule: so is a path that cannot be opened."""
    (tmp_path / "store.sqlite3").mkdir()
    store = Store.open(sqlite_url(tmp_path))
    with store, pytest.raises(ConfigError, match=r"store\.url"):
        store.traffic.totals()


def test_a_file_that_nobody_can_look_at_says_so(tmp_path: Path) -> None:
    """As in a folder that is closed to this user. Failure: an unexpected PermissionError."""
    with (
        pytest.raises(ConfigError, match=r"cannot be looked at .*: check its folder and its permissions"),
        Store.open(f"sqlite:///{tmp_path / ('x' * 300)}"),
    ):
        pass


def test_an_error_shows_nothing_of_the_row(store: Store) -> None:
    """Rule: no body and no address reaches a log, not even through a traceback."""
    with store.database.write() as connection:
        connection.execute(text("ALTER TABLE mails DROP COLUMN sender_why"))
    body, message_id = b"private body", "<private@example.net>"
    with pytest.raises(ConfigError) as refused:
        store.mails.record(body, message_id, cursor(1), NOON)
    shown = "".join(traceback.format_exception(refused.value))
    assert "INSERT INTO mails" in shown
    assert "private" not in shown


@pytest.mark.parametrize("away", ["volume", "volume/store.sqlite3"])
def test_a_file_that_was_used_is_awaited_while_it_is_away(tmp_path: Path, away: str) -> None:
    """Failure: while its volume was away for a moment, the worker ended for good. Where the folder had stayed, an empty
    store was made in the place of the file, and the log of what was not written back yet was lost with it."""
    volume = tmp_path / "volume"
    volume.mkdir()
    with Store.open(sqlite_url(volume)) as store:
        store.upgrade()
        mail = record(store)
        before = {path.name for path in volume.iterdir()}
        (tmp_path / away).rename(tmp_path / "elsewhere")
        with ThreadPoolExecutor(3) as pool:  # more connections than are open
            tries = [pool.submit(store.mails.find) for _ in range(3)]
        for one in tries:
            with pytest.raises(TransientError, match="unable to open database file\\): bring its file back"):
                one.result()
        with pytest.raises(TransientError, match="unable to open database file\\): bring its file back"):
            store.cursors.move(cursor(2))
        assert not (tmp_path / away).exists()
        (tmp_path / "elsewhere").rename(tmp_path / away)
        assert [found.id for found in store.mails.find()] == [mail]
        assert {path.name for path in volume.iterdir()} == before


def test_no_other_file_takes_the_place_of_one_that_was_used(tmp_path: Path) -> None:
    """Failure: what was open wrote on into the file that nobody sees any more, and the rest used the other one, in
    which nothing was answered yet.
    """
    path = tmp_path / "store.sqlite3"
    with Store.open(sqlite_url(tmp_path)) as store:
        store.upgrade()
        path.rename(tmp_path / "elsewhere")
        path.write_bytes((tmp_path / "elsewhere").read_bytes())
        with pytest.raises(TransientError, match="another file is in the place"):
            record(store)
        (tmp_path / "elsewhere").rename(path)
        assert record(store)


def test_a_file_whose_folder_may_not_be_written_to_any_more_is_awaited(tmp_path: Path) -> None:
    """A volume that is mounted read-only for a while."""
    with Store.open(sqlite_url(tmp_path)) as store:
        store.upgrade()
        error = sqlite3.OperationalError("attempt to write a readonly database")
        error.sqlite_errorname = "SQLITE_READONLY"
        with pytest.raises(TransientError, match="readonly database\\): bring its file back"), store.database.read():
            raise DBAPIError.instance("UPDATE", None, error, sqlite3.Error)


def test_a_link_to_a_file_that_is_not_there_yet_is_a_new_database(tmp_path: Path) -> None:
    """Failure: the first start ended, as the link took the name that the new file was to have."""
    (tmp_path / "store.sqlite3").symlink_to(tmp_path / "elsewhere.sqlite3")
    with Store.open(sqlite_url(tmp_path)) as store:
        store.upgrade()
        assert record(store)
    assert stat.S_IMODE((tmp_path / "elsewhere.sqlite3").stat().st_mode) == 0o600


def test_a_volume_without_hard_links_has_a_new_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failure: on exFAT, and on many network volumes, the first start ended."""

    def refused(*_: object) -> NoReturn:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    with Store.open(sqlite_url(tmp_path)) as store:
        store.upgrade()
        assert record(store)
    assert [path.name for path in tmp_path.iterdir()] == ["store.sqlite3"]
    assert stat.S_IMODE((tmp_path / "store.sqlite3").stat().st_mode) == 0o600


@contextmanager
def another_user() -> Iterator[None]:
    """Permissions count in the block: they do not for root."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.parametrize("closed", ["store.sqlite3", ""], ids=["the file", "its folder"])
def test_a_file_that_this_user_may_not_write_to_is_not_awaited(closed: str) -> None:
    """Failure: a worker whose store another user had put back waited for ever, instead of ending with what is wrong."""
    with TemporaryDirectory() as folder:
        path = Path(folder)
        with Store.open(sqlite_url(path)) as store:
            store.upgrade()
        path.chmod(0o777)
        (path / "store.sqlite3").chmod(0o666)
        (path / closed).chmod(0o555)
        try:
            with (
                another_user(),
                Store.open(sqlite_url(path)) as store,
                pytest.raises(ConfigError, match="cannot be used"),
            ):
                record(store)
        finally:
            path.chmod(0o777)
