"""What a restore refuses, before anything is changed, and what it keeps."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, text

from support_agent.config.database_url import normalise_url
from support_agent.config.settings import Settings, StoreSettings
from support_agent.engine.database import engine_url
from support_agent.engine.engine import KNOWN_SCHEMA
from support_agent.engine.schema import refuse_newer
from support_agent.errors import ConfigError, PermanentError
from support_agent.ops.backup.archive import MANIFEST, DatabaseCopy, Manifest, finish, read, write_part
from support_agent.store.audit import AuditEvent
from support_agent.store.keys import key_settings
from support_agent.store.lock import only_process
from support_agent.store.records import mail_id_of
from support_agent.store.store import Store
from tests.backups import HOLDER, back_up, create_engine_tables, put_back
from tests.contract.store.examples import NOON, cursor, outgoing, raw, record


@pytest.fixture
def settings(store_url: str) -> Settings:
    """A store with a mail."""
    with Store.open(store_url) as store:
        record(store, 1)
    return Settings(store=StoreSettings(url=store_url))


@pytest.fixture
def archive(settings: Settings, tmp_path: Path) -> Path:
    return back_up(settings, tmp_path / "backups")


def mails(settings: Settings) -> int:
    with Store.open(settings.store.url) as store:
        return len(store.mails.find())


def rewritten(archive: Path, **changes: object) -> None:
    """The manifest with other values, as another version of the program would have written it."""
    manifest = read(archive)
    (archive / MANIFEST).unlink()
    finish(archive, Manifest.model_validate({**manifest.model_dump(), **changes}))


def test_a_store_with_mails_is_replaced_only_on_request_and_kept(settings: Settings, archive: Path) -> None:
    with Store.open(settings.store.url) as store:
        record(store, 2)
    why = "has mails: restore with --replace, which keeps it aside; nothing was changed"
    with pytest.raises(ConfigError, match=why):
        put_back(archive, settings)
    assert mails(settings) == 2
    (kept,) = put_back(archive, settings, may_replace=True).kept
    assert mails(settings) == 1
    if settings.store.url.startswith("sqlite"):
        with closing(sqlite3.connect(Path(kept) / "old" / "store.sqlite3")) as connection:
            assert connection.execute("SELECT count(*) FROM mails").fetchone() == (2,)
    else:
        with create_engine(normalise_url(settings.store.url), poolclass=NullPool).connect() as server:
            assert server.execute(text(f"SELECT count(*) FROM {kept}.mails")).scalar() == 2


def test_the_engines_records_are_kept_aside_too_and_none_take_their_place(settings: Settings, archive: Path) -> None:
    """Failure: a mail that the lost worker had ended counts as started in the restored store, and nobody handles it."""
    create_engine_tables(settings.store.url)
    url = normalise_url(engine_url(settings.store.url))
    there = "" if url.drivername == "sqlite" else "dbos."
    with create_engine(url, poolclass=NullPool).begin() as engine:
        engine.execute(text(f"INSERT INTO {there}workflow_status (workflow_uuid) VALUES ('ended')"))
    (kept,) = put_back(archive, settings, is_exact=True, may_replace=True).kept
    create_engine_tables(settings.store.url)
    with create_engine(url, poolclass=NullPool).connect() as engine:
        assert engine.execute(text(f"SELECT workflow_uuid FROM {there}workflow_status")).all() == []
        if there:
            aside = engine.execute(text(f"SELECT workflow_uuid FROM {kept}.engine_workflow_status"))
            assert aside.all() == [("ended",)]
    if not there:
        with closing(sqlite3.connect(Path(kept) / "old" / Path(str(url.database)).name)) as before:
            assert before.execute("SELECT workflow_uuid FROM workflow_status").fetchall() == [("ended",)]


def test_the_engines_records_in_an_older_backup_are_not_restored(settings: Settings, archive: Path) -> None:
    """Rule: whatever version of the engine made them, the backup can be restored."""
    part = write_part(archive, "engine/database.sqlite3", [b"records"])
    rewritten(archive, engine=DatabaseCopy(kind="sqlite", schema_version="9999", parts=(part,)).model_dump())
    assert put_back(archive, settings, is_exact=True, may_replace=True).kept
    assert mails(settings) == 1


def test_a_store_that_a_worker_has_is_left_alone(settings: Settings, archive: Path) -> None:
    with only_process(settings.store.url, HOLDER), pytest.raises(ConfigError, match="another support-agent runs"):
        put_back(archive, settings, may_replace=True)
    assert mails(settings) == 1


def test_a_backup_beside_a_worker_is_not_one_to_go_on_from_exactly(settings: Settings, tmp_path: Path) -> None:
    with only_process(settings.store.url, HOLDER):
        archive = back_up(settings, tmp_path / "busy")
    assert not read(archive).is_quiet
    with pytest.raises(ConfigError, match="a worker was running when this backup was made"):
        put_back(archive, settings, is_exact=True, may_replace=True)
    assert put_back(archive, settings, may_replace=True).kept


def test_a_changed_part_is_found_before_anything_is_used(settings: Settings, archive: Path) -> None:
    part = next(part for part in read(archive).parts if part.bytes)
    path = archive / part.path
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(PermanentError, match="has changed since the backup was made"):
        put_back(archive, settings, may_replace=True)
    assert mails(settings) == 1


def test_a_backup_of_a_newer_program_is_refused_with_its_version(settings: Settings, archive: Path) -> None:
    """By its schema, or by a format that this version cannot read."""
    manifest = read(archive)
    newer = manifest.stores[""].model_copy(update={"schema_version": "9999"})
    rewritten(archive, program="9.1.0", stores={"": newer.model_dump()})
    with pytest.raises(ConfigError, match=r"made by support-agent 9\.1\.0, a newer version \(schema 9999\)"):
        put_back(archive, settings, may_replace=True)
    content = json.loads((archive / MANIFEST).read_text())
    (archive / MANIFEST).write_text(json.dumps(content | {"format": 2, "more": 1}))
    with pytest.raises(ConfigError, match=r"made by support-agent 9\.1\.0, a newer version: install that version"):
        put_back(archive, settings, may_replace=True)
    assert mails(settings) == 1


def test_an_older_backup_is_upgraded(settings: Settings, tmp_path: Path) -> None:
    with Store.open(settings.store.url) as store:
        store.database.downgrade("0004")
    archive = back_up(settings, tmp_path / "older")
    assert read(archive).stores[""].schema_version == "0004"
    put_back(archive, settings, may_replace=True)
    with Store.open(settings.store.url) as store:
        assert store.is_current()
        assert [mail.in_doubt for mail in store.mails.find()] == [True]


@pytest.mark.servers
def test_a_backup_of_a_server_is_not_put_into_a_file(postgres_url: str, tmp_path: Path) -> None:
    with Store.open(postgres_url) as store:
        store.upgrade()
    archive = back_up(Settings(store=StoreSettings(url=postgres_url)), tmp_path / "backups")
    with pytest.raises(ConfigError, match="name a database of PostgreSQL"):
        put_back(archive, Settings(store=StoreSettings(url=f"sqlite:///{tmp_path}/other.sqlite3")))


def test_a_store_of_a_newer_program_says_which(settings: Settings, tmp_path: Path) -> None:
    with Store.open(settings.store.url) as store, store.database.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        connection.exec_driver_sql("INSERT INTO programs VALUES ('9999', '9.1.0')")
    with (
        Store.open(settings.store.url) as store,
        pytest.raises(
            ConfigError, match=rf"newer version of the program \(9\.1\.0\), and this one \({version('support-agent')}\)"
        ),
    ):
        store.upgrade()


def test_engine_tables_of_a_newer_program_are_refused_before_the_launch(settings: Settings) -> None:
    url = engine_url(settings.store.url)
    create_engine_tables(settings.store.url)
    refuse_newer(url, KNOWN_SCHEMA)
    with pytest.raises(ConfigError, match=rf"version {KNOWN_SCHEMA}, made by a newer version of support-agent"):
        refuse_newer(url, KNOWN_SCHEMA - 1)


def test_a_file_that_another_process_has_open_is_not_exchanged(empty_store: Path, tmp_path: Path) -> None:
    """The desk's page has no lock of its own; what people do there would end in the store before."""
    settings = Settings(store=StoreSettings(url=f"sqlite:///{shutil.copy(empty_store, tmp_path / 'store.sqlite3')}"))
    archive = back_up(settings, tmp_path / "backups")
    with closing(sqlite3.connect(tmp_path / "store.sqlite3")) as page:
        page.execute("PRAGMA journal_mode=WAL")
        page.execute("SELECT count(*) FROM mails").fetchone()
        with pytest.raises(ConfigError, match="stop the worker and the desk's page"):
            put_back(archive, settings)
    assert put_back(archive, settings).kept


def test_a_damaged_store_is_replaced_on_request(empty_store: Path, tmp_path: Path) -> None:
    store = Path(shutil.copy(empty_store, tmp_path / "store.sqlite3"))
    settings = Settings(store=StoreSettings(url=f"sqlite:///{store}"))
    archive = back_up(settings, tmp_path / "backups")
    store.write_bytes(b"not a database" * 1000)
    with pytest.raises(ConfigError, match="--replace"):
        put_back(archive, settings)
    assert put_back(archive, settings, may_replace=True).kept
    assert mails(settings) == 0


@pytest.fixture(params=["beside", "elsewhere"])
def encrypted(request: pytest.FixtureRequest, store_url: str, tmp_path: Path) -> Settings:
    """A store with the mails 1 and 2, each with an answer that waits, and its keys."""
    values: dict[str, object] = {"url": store_url}
    if request.param == "elsewhere":
        (tmp_path / "vault").mkdir()
        (tmp_path / "vault" / "master").write_text("ab" * 32)
        values |= {
            "keys_url": f"sqlite:///{tmp_path}/vault/k.sqlite3",
            "master_key_file": tmp_path / "vault" / "master",
        }
    settings = Settings(store=StoreSettings.model_validate(values))
    with opened(settings) as store:
        store.outbox.queue(outgoing(record(store, 1)))
        store.outbox.queue(outgoing(record(store, 2)))
    return settings


def opened(settings: Settings) -> Store:
    return Store.open(settings.store.url, keys=key_settings(settings.store))


def test_a_backup_has_no_key_and_names_where_they_are(encrypted: Settings, tmp_path: Path) -> None:
    found = read(back_up(encrypted, tmp_path / "backups"))
    assert not [part.path for part in found.parts if "mail_keys" in part.path or "master" in part.path]
    if encrypted.store.keys_url:
        assert {str(tmp_path / "vault" / name) for name in ("k.sqlite3", "master")} <= set(found.left_out)
    elif encrypted.store.url.startswith("sqlite"):
        beside = ("store-keys.sqlite3", "store-master.key")
        assert {str(tmp_path / name) for name in beside} <= set(found.left_out)
    else:
        assert any("support_agent_keys" in name for name in found.left_out)


def test_what_was_forgotten_since_the_backup_is_deleted_again_by_the_restore(
    encrypted: Settings, tmp_path: Path
) -> None:
    """Rule: also where an answer to the forgotten person waited to be sent; others are read with the same keys."""
    archive = back_up(encrypted, tmp_path / "backups")
    kept, forgotten = mail_id_of(raw(1)), mail_id_of(raw(2))
    with opened(encrypted) as store:
        store.database.vault.destroy([forgotten])
    done = put_back(archive, encrypted, may_replace=True)
    assert (done.forgotten, done.unreadable, done.uncertain) == (1, 0, 1)
    with opened(encrypted) as store:
        assert [mail.id for mail in store.mails.find()] == [kept]
        assert store.mails.raw(kept) == raw(1)
        assert not store.mails.record(raw(2), "<2@example.net>", cursor(9), NOON).is_new
        assert [entry.act for entry in store.audit.entries(limit=2)] == [AuditEvent.RESTORED, AuditEvent.FORGOTTEN]
        assert store.audit.verify().problem == ""


def test_a_mail_whose_key_is_only_missing_stays_and_is_counted(encrypted: Settings, tmp_path: Path) -> None:
    """Rule: beside an older copy of the keys nothing is taken for forgotten: its mail would never be handled again."""
    with opened(encrypted) as store, store.database.vault.keys._open() as keys, keys.begin() as connection:
        schema = "" if keys.dialect.name == "sqlite" else "support_agent_keys."
        connection.execute(text(f"DELETE FROM {schema}mail_keys WHERE mail_id = '{mail_id_of(raw(2))}'"))
    done = put_back(back_up(encrypted, tmp_path / "backups"), encrypted, may_replace=True)
    assert (done.forgotten, done.unreadable, done.uncertain) == (0, 1, 2)
    with opened(encrypted) as store:
        assert len(store.mails.find()) == 2


def test_encrypted_mails_are_not_restored_without_their_keys(encrypted: Settings, tmp_path: Path) -> None:
    """Rule: nothing is changed until the keys are there, and the error says where."""
    archive = back_up(encrypted, tmp_path / "backups")
    moved = encrypted.store.model_copy(update={"keys_url": f"sqlite:///{tmp_path}/empty.sqlite3"})
    with pytest.raises(ConfigError, match=r"there are no keys in sqlite:.*put back the keys of this store"):
        put_back(archive, Settings(store=moved), may_replace=True)
    assert not (tmp_path / "empty.sqlite3").exists()
    with opened(encrypted) as store:
        assert store.mails.raw(mail_id_of(raw(2))) == raw(2)
        assert store.audit.entries(AuditEvent.RESTORED) == ()
