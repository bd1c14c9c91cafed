"""A store of SQLite moves to PostgreSQL by a backup and a restore: every row is the same there, and its keys open it.

That work goes on there exactly where it was is in test_every_step.py.
"""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import NullPool, create_engine, make_url, select, text

from support_agent.config.database_url import normalise_url
from support_agent.config.settings import Settings, StoreSettings
from support_agent.errors import ConfigError, PermanentError
from support_agent.ops.backup.key_copy import copy_keys
from support_agent.store.audit import AuditEvent
from support_agent.store.keys import Keys, key_settings
from support_agent.store.records import mail_id_of
from support_agent.store.store import Store
from support_agent.store.tables import TableRow
from tests.acceptance.test_older_version import KEPT
from tests.backups import HOLDER, back_up, create_engine_tables, put_back
from tests.contract.store.examples import outgoing, raw, record
from tests.integration.backup.test_refusals import opened

pytestmark = pytest.mark.servers


@pytest.fixture
def old(tmp_path: Path) -> Settings:
    """A SQLite store that an older version made, with mails in all states."""
    path = tmp_path / "store.sqlite3"
    path.write_bytes(gzip.decompress((KEPT / "store.sqlite3.gz").read_bytes()))
    return Settings(store=StoreSettings(url=f"sqlite:///{path}"))


@pytest.fixture
def new(postgres_url: str) -> Settings:
    """An empty database on a server, whose clock is that of another zone."""
    run(postgres_url, "ALTER DATABASE {name} SET timezone = 'Asia/Tokyo'")
    return Settings(store=StoreSettings(url=postgres_url))


def run(url: str, statement: str) -> None:
    """Run a statement; `{name}` is the name of the database."""
    with create_engine(normalise_url(url), poolclass=NullPool).begin() as server:
        server.execute(text(statement.format(name=make_url(url).database)))


def tables(url: str) -> set[tuple[str, str]]:
    """Every table that is there, with its schema."""
    with create_engine(normalise_url(url), poolclass=NullPool).connect() as server:
        found = server.execute(text("SELECT schemaname, tablename FROM pg_tables"))
        return {(schema, name) for schema, name in found}


def rows(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, as the program reads it."""
    tables = [table for table in TableRow.metadata.sorted_tables if table.name != "programs"]
    with store.database.read() as connection:
        return {table.name: sorted(map(tuple, connection.execute(select(table))), key=repr) for table in tables}


@pytest.mark.parametrize("is_current", [False, True])
def test_every_row_is_the_same_on_the_server(old: Settings, new: Settings, tmp_path: Path, is_current: bool) -> None:
    """Rule: whichever version of the program made the store; the audit log holds, with the restore as its last."""
    if is_current:
        with opened(old) as store:
            store.upgrade()
    put_back(back_up(old, tmp_path / "backups"), new, is_exact=True)
    with opened(old) as before, opened(new) as after:
        before.upgrade()
        assert after.audit.verify().problem == ""
        assert [entry.act for entry in after.audit.entries(limit=1)] == [AuditEvent.RESTORED]
        there, here = rows(before), rows(after)
        assert len(here.pop("audit")) == len(there.pop("audit")) + 1
        assert here == there
        assert {name for name, found in here.items() if found} >= {"mails", "cases", "outbox", "plans", "tool_calls"}


def test_what_only_one_of_the_databases_can_hold_arrives(new: Settings, empty_store: Path, tmp_path: Path) -> None:
    """Failure: text with quotes, tabs, backslashes or a word for NULL is read as something else; so is NUL in JSON."""
    path = tmp_path / "store.sqlite3"
    path.write_bytes(empty_store.read_bytes())
    odd = Settings(store=StoreSettings(url=f"sqlite:///{path}", encrypt=False))
    words = ["\\N", "a\tb\\n\r\n", 'it\'s "quoted"', "", "\U0001f600 größer", "\\.", "{1,2}"]
    with opened(odd) as store:
        for number, word in enumerate(words):
            record(store, number, message_id=f"<{number}{word}>")
            store.versions.save_templates(f"{number}", {word: f"{word}\x00\ud800", "none": word})
            store.outbox.queue(outgoing(mail_id_of(raw(number))))
    put_back(back_up(odd, tmp_path / "backups"), new, is_exact=True)
    with opened(odd) as before, opened(new) as after:
        for number in range(len(words)):
            assert after.versions.templates(f"{number}") == before.versions.templates(f"{number}")
            assert after.mails.raw(mail_id_of(raw(number))) == raw(number)
        assert {**rows(after), "audit": []} == {**rows(before), "audit": []}


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_the_keys_move_too_and_what_was_forgotten_stays_forgotten(
    new: Settings, empty_store: Path, tmp_path: Path, is_wrapped: bool
) -> None:
    """Rule: without the keys nothing is restored; with them each mail is read, also where another master key wraps."""
    path = tmp_path / "store.sqlite3"
    path.write_bytes(empty_store.read_bytes())
    old = Settings(store=StoreSettings(url=f"sqlite:///{path}"))
    if is_wrapped:
        (tmp_path / "master").write_text("cd" * 32)
        store_settings = new.store.model_copy(update={"master_key_file": tmp_path / "master"})
        new = new.model_copy(update={"store": store_settings})
    with opened(old) as store:
        record(store, 1)
        record(store, 2)
        archive = back_up(old, tmp_path / "backups")
        store.database.vault.destroy([mail_id_of(raw(2))])
    with pytest.raises(ConfigError, match="put back the keys of this store"):
        put_back(archive, new, is_exact=True)
    for _ in range(2):
        copied = copy_keys(str(tmp_path / "store-keys.sqlite3"), None, new.store, HOLDER)
        assert (copied.keys, copied.is_wrapped) == (2, is_wrapped)
    done = put_back(archive, new, is_exact=True)
    assert (done.forgotten, done.unreadable) == (1, 0)
    with opened(new) as store:
        assert store.mails.raw(mail_id_of(raw(1))) == raw(1)
        assert [mail.id for mail in store.mails.find()] == [mail_id_of(raw(1))]


@pytest.mark.parametrize("wrong", ["missing", "empty", "store", "text"])
def test_a_file_without_keys_is_none_to_copy_from(new: Settings, empty_store: Path, tmp_path: Path, wrong: str) -> None:
    """Rule: it stays as it is, no file is made beside it, and no keys are begun on the server."""
    content = {"empty": b"", "store": empty_store.read_bytes(), "text": b"x" * 5000}.get(wrong)
    file = tmp_path / "wrong%20?.sqlite3"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"there are no keys in|keys cannot be read"):
        copy_keys(str(file), None, new.store, HOLDER)
    assert content is None or file.read_bytes() == content
    assert {path.name.removesuffix("-wal").removesuffix("-shm") for path in tmp_path.iterdir()} <= {file.name}
    with closing(Keys(normalise_url(new.store.url), key_settings(new.store), 5.0)) as here:
        assert not here.is_there()


def test_keys_of_other_mails_stay_and_another_key_of_a_mail_is_refused(
    new: Settings, empty_store: Path, tmp_path: Path
) -> None:
    """Rule: after the keys of another desk the right ones can be copied; after the server has handled the same mail
    none are, as one of its two keys would be lost."""
    for name in ("one", "two", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "store.sqlite3").write_bytes(empty_store.read_bytes())
        with opened(Settings(store=StoreSettings(url=f"sqlite:///{tmp_path}/{name}/store.sqlite3"))) as store:
            record(store, 2 if name == "other" else 1)
    keys = {name: str(tmp_path / name / "store-keys.sqlite3") for name in ("one", "two", "other")}
    assert copy_keys(keys["other"], None, new.store, HOLDER).keys == 1
    assert copy_keys(keys["one"], None, new.store, HOLDER).keys == 1
    with pytest.raises(ConfigError, match=r"has another key .* nothing was copied"):
        copy_keys(keys["two"], None, new.store, HOLDER)
    assert copy_keys(keys["one"], None, new.store, HOLDER).keys == 1


def test_a_key_that_is_destroyed_after_a_copy_is_destroyed_by_the_next(empty_store: Path, tmp_path: Path) -> None:
    """Rule: whoever is forgotten while the store still works in its old place is forgotten in the new one, too."""
    path = tmp_path / "store.sqlite3"
    path.write_bytes(empty_store.read_bytes())
    to = StoreSettings(url=f"sqlite:///{tmp_path}/new.sqlite3")
    with opened(Settings(store=StoreSettings(url=f"sqlite:///{path}"))) as store:
        record(store, 1)
        record(store, 2)
        copy_keys(str(tmp_path / "store-keys.sqlite3"), None, to, HOLDER)
        store.database.vault.destroy([mail_id_of(raw(2))])
    with closing(Keys(normalise_url(to.url), key_settings(to), 5.0)) as here:
        assert here.lost([mail_id_of(raw(2))]).destroyed == frozenset()
        with closing(sqlite3.connect(tmp_path / "new-keys.sqlite3")) as file:
            (key,) = file.execute("SELECT key FROM mail_keys WHERE mail_id = ?", (mail_id_of(raw(2)),)).fetchone()
        assert any(key in path.read_bytes() for path in tmp_path.glob("new-keys*"))
        copy_keys(str(tmp_path / "store-keys.sqlite3"), None, to, HOLDER)
        assert not any(key in path.read_bytes() for path in tmp_path.glob("new-keys*"))
        assert here.lost([mail_id_of(raw(1)), mail_id_of(raw(2))]).destroyed == {mail_id_of(raw(2))}


def test_a_master_key_of_the_settings_opens_the_old_keys(new: Settings, empty_store: Path, tmp_path: Path) -> None:
    """Rule: keys that the environment's master key wraps have none beside their file."""
    path = tmp_path / "store.sqlite3"
    path.write_bytes(empty_store.read_bytes())
    master = {"master_key": SecretStr("ef" * 32)}
    with opened(Settings(store=StoreSettings.model_validate({"url": f"sqlite:///{path}", **master}))) as store:
        record(store, 1)
    to = new.store.model_copy(update=master)
    assert copy_keys(str(tmp_path / "store-keys.sqlite3"), None, to, HOLDER).is_wrapped
    with pytest.raises(ConfigError, match="master key"):
        copy_keys(str(tmp_path / "store-keys.sqlite3"), None, new.store, HOLDER)


def test_a_server_that_has_handled_mails_is_not_taken_for_an_exact_copy(
    old: Settings, new: Settings, tmp_path: Path
) -> None:
    """Rule: something has happened there since the backup, so it is left to people what becomes of it."""
    with Store.open(new.store.url) as store:
        store.upgrade()
        record(store, 1)
    archive = back_up(old, tmp_path / "backups")
    with pytest.raises(ConfigError, match="without --exact, with --replace"):
        put_back(archive, new, is_exact=True, may_replace=True)
    assert put_back(archive, new, may_replace=True).kept


OTHER_PROGRAM = "CREATE TABLE cases (id text); INSERT INTO cases VALUES ('theirs')"
UNFIT = {
    "search path": ("ALTER DATABASE {name} SET search_path = nowhere", "search_path"),
    "rights": ("ALTER DATABASE {name} SET role = pg_monitor", "may not create tables"),
    "other program": (OTHER_PROGRAM, "tables of another program: cases"),
}


@pytest.mark.parametrize("why", UNFIT)
def test_a_database_that_cannot_take_a_store_is_refused_before_anything_is_changed(
    old: Settings, new: Settings, tmp_path: Path, why: str
) -> None:
    """Failure: it is found out when the staged store takes its place, and nobody can open it any more."""
    statement, said = UNFIT[why]
    run(new.store.url, statement)
    before = tables(new.store.url)
    with pytest.raises(ConfigError, match=said):
        put_back(back_up(old, tmp_path / "backups"), new, may_replace=True)
    assert tables(new.store.url) == before


@pytest.mark.parametrize("setting", ["standard_conforming_strings = off", "DateStyle = 'German'"])
def test_bytes_and_times_arrive_as_they_were_however_the_server_writes_them(
    old: Settings, new: Settings, tmp_path: Path, setting: str
) -> None:
    """Failure: the driver doubles the backslashes, and every mail becomes the text of its own digits; or it reads no
    time of the store."""
    run(new.store.url, "ALTER DATABASE {name} SET " + setting)
    put_back(back_up(old, tmp_path / "backups"), new, is_exact=True)
    with opened(old) as before, opened(new) as after:
        before.upgrade()
        assert rows(after)["mails"] == rows(before)["mails"]


def test_a_move_into_an_empty_database_keeps_nothing_aside(old: Settings, new: Settings, tmp_path: Path) -> None:
    create_engine_tables(old.store.url)
    assert put_back(back_up(old, tmp_path / "backups"), new, is_exact=True).kept == ()


def test_a_row_that_the_server_refuses_leaves_everything_as_it_was(
    old: Settings, new: Settings, tmp_path: Path
) -> None:
    """Failure: a file with a value of a wrong kind, which SQLite takes, ends in half a store or an unknown error."""
    with opened(old) as store, store.database.write() as connection:
        connection.exec_driver_sql("UPDATE mails SET uid = 'many'")
    archive = back_up(old, tmp_path / "backups")
    with pytest.raises(PermanentError, match="the database refused the data"):
        put_back(archive, new, is_exact=True)
    with Store.open(new.store.url) as store:
        assert store.database.revision() is None
