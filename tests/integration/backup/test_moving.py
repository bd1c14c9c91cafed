"""A store of SQLite moves to PostgreSQL by a backup and a restore: every row is the same there, and its keys open it.

That work goes on there exactly where it was is in test_every_step.py.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, make_url, select, text

from support_agent.config.settings import Settings, StoreSettings
from support_agent.engine.database import engine_url
from support_agent.engine.engine import create_tables
from support_agent.errors import ConfigError, PermanentError
from support_agent.ops.backup.archive import read
from support_agent.store.audit import Act
from support_agent.store.connections import normalise_url
from support_agent.store.keys import Keys, KeySettings, key_settings
from support_agent.store.records import mail_id_of
from support_agent.store.store import Store
from support_agent.store.tables import Row
from tests.acceptance.test_older_version import KEPT
from tests.backups import back_up, put_back
from tests.contract.store.examples import MIGRATIONS, outgoing, raw, record
from tests.integration.backup.test_refusals import opened, rewritten

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
    with create_engine(normalise_url(postgres_url), poolclass=NullPool).begin() as server:
        server.execute(text(f"ALTER DATABASE {make_url(postgres_url).database} SET timezone = 'Asia/Tokyo'"))
    return Settings(store=StoreSettings(url=postgres_url))


def rows(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, as the program reads it."""
    tables = [table for table in Row.metadata.sorted_tables if table.name != "programs"]
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
        assert [entry.act for entry in after.audit.entries(limit=1)] == [Act.RESTORED]
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
    here = Keys(normalise_url(new.store.url), key_settings(new.store), 5.0)
    there = Keys(normalise_url(old.store.url), KeySettings(), 5.0)
    assert here.copy_from(there) == 2
    assert here.is_wrapped is is_wrapped
    with pytest.raises(ConfigError, match="already: nothing was copied"):
        here.copy_from(there)
    here.close()
    done = put_back(archive, new, is_exact=True)
    assert (done.forgotten, done.unreadable) == (1, 0)
    with opened(new) as store:
        assert store.mails.raw(mail_id_of(raw(1))) == raw(1)
        assert [mail.id for mail in store.mails.find()] == [mail_id_of(raw(1))]


def test_keys_that_are_not_there_are_not_copied(new: Settings, tmp_path: Path) -> None:
    """Rule: a wrong name of the file is an error, and creates neither file nor table."""
    here = Keys(normalise_url(new.store.url), key_settings(new.store), 5.0)
    wrong = Keys(normalise_url(f"sqlite:///{tmp_path}/store.sqlite3"), KeySettings(), 5.0)
    with pytest.raises(ConfigError, match="there are no keys in"):
        here.copy_from(wrong)
    assert list(tmp_path.iterdir()) == []
    assert not here.is_there()


def test_records_of_an_older_engine_are_not_moved_exactly(old: Settings, new: Settings, tmp_path: Path) -> None:
    """Rule: their tables would not be those of the server; the error says how they become so."""
    create_tables(engine_url(old.store.url))
    archive = back_up(old, tmp_path / "backups")
    engine = read(archive).engine
    assert engine is not None
    rewritten(archive, engine=engine.model_copy(update={"schema_version": "1"}).model_dump())
    with pytest.raises(ConfigError, match="start this version once on the SQLite store"):
        put_back(archive, new, is_exact=True)
    assert put_back(archive, new).kept == ()


def test_a_row_that_the_server_refuses_leaves_everything_as_it_was(
    old: Settings, new: Settings, tmp_path: Path
) -> None:
    """Failure: a file with a value of a wrong kind, which SQLite takes, ends in half a store or an unknown error."""
    with opened(old) as store, store.database.write() as connection:
        connection.exec_driver_sql("UPDATE mails SET uid = 'many'")
    archive = back_up(old, tmp_path / "backups")
    with pytest.raises(PermanentError, match="the database refused the data"):
        put_back(archive, new, is_exact=True)
    with Store.open(new.store.url, MIGRATIONS) as store:
        assert store.database.revision() is None
