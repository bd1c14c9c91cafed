"""Migrations with data in place, up and down, on each database."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, RowMapping, inspect, select

from support_agent.config.packaged_files import packaged
from support_agent.core.modes import Mode
from support_agent.errors import ConfigError, PermanentError
from support_agent.store.desk_records import ModeSource
from support_agent.store.records import MailStatus, OutboxId, OutboxRecord, OutgoingKind
from support_agent.store.store import Store
from support_agent.store.tables import TableRow
from tests.contract.store.examples import CASE, DAY, NOON, fill, outgoing, put, queue, record

REVISIONS = sorted(path.name[:4] for path in (packaged("migrations") / "versions").glob("[0-9]*.py"))
NEXT_REVISION = f"{int(REVISIONS[-1]) + 1:04d}"
PINNED = {
    "0001": "6802a17d7ad2de349af87486bd1f86a98783a823f0fa8ff91380b886cfade910",
    "0002": "771c115629beeb2d457aeb76a721456d4b3868bd3ed871d116c4966c0f613737",
    "0003": "28a43e336d3e36f6858b76fe353be2fdd04a725a2cc125419ccaf76252289168",
    "0004": "211da63c04d456897a333372597a092bb1392e6448998391e622b936ba41cf23",
    "0005": "56732704389b5579fe2573c8c220648c023dd0590af51d74c3bf87ffc7a834b5",
    "0006": "d715869d4ef136d80839cfdbe48fd6a254fd0ff915194692a2585ec6176f910e",
    "0007": "a543907ef7ed156b223a3456d92572fa74fd90214fda525dd45078a72b9662c9",
    "0008": "d6a2d4182769a2201e72d03524588ff05bc070b460a5840b8b37d965b120fe1b",
    "0009": "36f545000dc54931c9477f7dfd5724c5f2daafdbcf6c6a29782f2a5c49342b3a",
    "0010": "cf07694837b6bb9b95b7a47b7e2a8c42529f35acaea078e515e9ef90edae9c49",
    "0011": "da1c85757d147d0385737ae93f4a53c154f2f786721868847c71e83d51e75bc3",
    "0012": "8db5005480eef3a7ab0f4fbc7ae2645f8955bfaa88614b6b8025fdc4716eb092",
    "0013": "4b53b8b1821eea09e7fac7a7d80080cd2552004a0e874e7698637f43a7878d14",
    "0014": "63b2ea58bcd8cdcbdbff41aa3101c9a8f08d82f59d520543d436cc8bdb24482e",
    "0015": "72cc2fa5f7b1e74762a690348b4eb8364d46964c0adf4e4cf12e1e50f0c0e63e",
    "0016": "f8da5b27d9dec570809d9b328af6e96357f9de76b553246aea680c872b97cc9b",
    "0017": "e6b2985070e3d12946886e7d3786f47e26232cb363de502df91a733dbf23c40c",
}
"""sha256 of each migration but the newest: databases were made with it, so a change comes in a migration of its own."""
SINCE = {
    "forgotten_mails": "0002",
    "delivery_updates": "0003",
    "suppressions": "0003",
    "mode_changes": "0006",
    "used_keys": "0007",
    "labels": "0008",
    "case_changes": "0009",
    "leases": "0015",
    "alarms": "0016",
    "expiries": "0016",
    "programs": "0017",
    "audit": "0018",
}
"""The migration that brought a table, of those that were not there from the beginning."""
NAMES = {
    "letters": "rendered_mails",
    "settlements": "delivery_updates",
    "told_at": "notified_at",
    "rendered": "spans",
    "settled_at": "updated_at",
}
"""Tables and columns of older schemas, and their present names."""
NEXT = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "{revision}", "{before}"


def upgrade() -> None:
{body}
"""

Tables = dict[str, list[dict[str, Any]]]


@pytest.fixture
def bare(database_url: str) -> Iterator[Store]:
    """A store on an empty database."""
    with Store.open(database_url) as opened:
        yield opened


def contents(store: Store) -> Tables:
    """Every row of every table under its present name, by reflection, so that no model hides a difference."""
    with store.database.read() as connection:
        metadata = MetaData()
        metadata.reflect(connection)
        return {
            NAMES.get(name, name): sorted(map(renamed, connection.execute(select(table)).mappings()), key=repr)
            for name, table in metadata.tables.items()
            if name != "alembic_version"
        }


def renamed(row: RowMapping) -> dict[str, Any]:
    """A row with the present names of its columns."""
    return {NAMES.get(name, name): value for name, value in row.items()}


def left_out(revision: str) -> set[str]:
    """Tables that an older schema has no place for."""
    return {table for table, since in SINCE.items() if since > revision}


def only(rows: list[dict[str, Any]], columns: set[str]) -> list[dict[str, Any]]:
    """The rows as far as an older schema has a place for them."""
    return sorted(({name: value for name, value in row.items() if name in columns} for row in rows), key=repr)


def differences(store: Store) -> list[Any]:
    """What autogenerate would add, and the primary keys that are others, which it does not look at."""
    with store.database.read() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        found = list(compare_metadata(context, TableRow.metadata))
        there, inspector = set(inspect(connection).get_table_names()), inspect(connection)
        for table in TableRow.metadata.sorted_tables:
            wanted = {column.name for column in table.primary_key.columns}
            if table.name in there and set(inspector.get_pk_constraint(table.name)["constrained_columns"]) != wanted:
                found.append(("primary_key", table.name))
        return found


def with_next(folder: Path, url: str, body: str) -> Store:
    """The store of a later version of the program, with one migration more."""
    shutil.copytree(packaged("migrations"), folder)
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    text = NEXT.format(revision=NEXT_REVISION, before=REVISIONS[-1], body=indented)
    (folder / "versions" / f"{NEXT_REVISION}_next.py").write_text(text)
    return with_migrations(folder, url)


def with_migrations(folder: Path, url: str) -> Store:
    """The store of a program whose migrations are in this folder."""
    store = Store.open(url)
    store.database.migrations_dir = folder
    return store


def test_the_models_and_the_migrations_are_the_same_schema(store: Store) -> None:
    """Rule: autogenerate has nothing to add; one revision earlier it has."""
    assert store.is_current()
    assert differences(store) == []
    store.database.downgrade("0001")
    assert not store.is_current()
    changed = differences(store)
    added = {change[1].name for change in changed if change[0] == "add_table"}
    assert added == left_out("0001") | {"rendered_mails"}


def test_every_step_down_and_up_keeps_the_data(store: Store) -> None:
    """Rule: what the older schema has a place for survives both ways."""
    mail_id = fill(store)
    store.mails.end(record(store, 2), MailStatus.FILED, "S2", None, NOON)
    store.retention.delete_older_than(NOON + DAY)
    store.leases.take("mailbox", "a", DAY, NOON)
    before, timeline = contents(store), store.cases.timeline(CASE)
    assert all(before.values()), "an empty table proves nothing"

    kept: Tables = before
    for revision in reversed(REVISIONS[:-1]):
        store.database.downgrade(revision)
        kept = contents(store)
        assert kept == {name: only(before[name], set(rows[0])) for name, rows in kept.items()}
        assert set(before) - set(kept) == left_out(revision)
    for revision in REVISIONS[1:]:
        store.database.upgrade(revision)
    after = contents(store)
    assert {name: only(after[name], set(rows[0])) for name, rows in kept.items()} == kept
    assert {name for name, rows in after.items() if not rows} == left_out("0001")
    found = store.cases.timeline(CASE)
    assert timeline is not None
    assert found is not None
    assert [mail.outbox for mail in found.mails] == [mail.outbox for mail in timeline.mails]
    assert [mail.rendered_mails for mail in found.mails] == [mail.rendered_mails for mail in timeline.mails]
    assert store.mails.raw(mail_id)


def lost(store: Store, number: int) -> OutboxRecord:
    """An answer that the server refused."""
    row = queue(store, number)
    assert store.outbox.claim(row.id, NOON)
    store.outbox.mark_failed(row.id, "550 no", by="")
    return row


def test_the_mail_of_an_older_correction_is_read_from_its_reason(store: Store) -> None:
    """Else the step that it took could not be given back."""
    store.modes.change("document:1", Mode.APPROVE, ModeSource.CORRECTED, "ada", f"own words, mail {'a' * 32}", NOON)
    store.modes.change("document:1", Mode.AUTO, ModeSource.BY_HAND, "ada", "as told by, mail b", NOON)
    store.database.downgrade("0009")
    store.upgrade()
    assert [change.mail_id for change in store.modes.history()] == ["a" * 32, None]


def test_a_loss_that_an_older_version_told_is_not_told_again_after_the_upgrade(store: Store) -> None:
    """Failure: the desk gets a notice of each mail that was ever lost. One that it was not told of it still gets."""
    told, untold = lost(store, 1), lost(store, 2)
    put(store, outgoing(told.mail_id, OutgoingKind.FAILURE))
    store.database.downgrade("0002")
    store.upgrade()
    assert [row.id for row in store.deliveries.unnotified_losses()] == [untold.id]
    assert [row.notified_at for row in store.outbox.find(mail_id=told.mail_id, kind=OutgoingKind.ANSWER)] == [NOON]


def test_the_way_down_leaves_one_notice_of_a_mail(store: Store) -> None:
    """Rule: the older schema has a place for one, and is usable."""
    row = lost(store, 1)
    for number in (1, 2):
        notice = outgoing(row.mail_id, OutgoingKind.FAILURE, number=number)
        store.outbox.queue(notice)
    store.database.downgrade("0002")
    found = contents(store)
    assert sorted(row["kind"] for row in found["outbox"]) == sorted(row["kind"] for row in found["rendered_mails"])
    assert sorted(row["kind"] for row in found["outbox"]) == ["answer", "failure"]


def test_a_migration_that_databases_were_made_with_is_never_changed() -> None:
    """Failure: two installations of one revision have other tables, and one of them ends with "no such table"."""
    files = {path.name[:4]: path.read_bytes() for path in (packaged("migrations") / "versions").glob("*.py")}
    assert {revision: hashlib.sha256(files[revision]).hexdigest() for revision in REVISIONS[:-1]} == PINNED


@pytest.mark.parametrize(
    "change",
    ["DROP TABLE delivery_updates", "ALTER TABLE delivery_updates RENAME COLUMN detail TO why"],
    ids=["table", "column"],
)
def test_tables_that_do_not_fit_say_what_helps(store: Store, change: str) -> None:
    """Failure: "upgrade it first", and no word of how."""
    with store.database.write() as connection:
        connection.exec_driver_sql(change)
    with pytest.raises(ConfigError, match="`support-agent cases` upgrades") as refused:
        store.deliveries.of(OutboxId("any"))
    assert refused.value.code == "schema"


@pytest.mark.parametrize(
    "change",
    ["ALTER TABLE mails ADD COLUMN sender_address TEXT", "CREATE TABLE settlements (outbox_id TEXT)"],
    ids=["column", "table"],
)
def test_tables_that_are_there_before_their_migration_say_what_helps(store: Store, change: str) -> None:
    """Failure: a database of an unfinished version is "tried again" for ever."""
    store.database.downgrade("0002")
    with store.database.write() as connection:
        connection.exec_driver_sql(change)
    with pytest.raises(ConfigError, match="name a new database"):
        store.upgrade()


def test_the_revisions_tested_are_all_there_are(bare: Store) -> None:
    """Rule: a new migration enters the tests above."""
    files = sorted(path.name[:4] for path in (packaged("migrations") / "versions").glob("*.py"))
    assert files == REVISIONS
    assert bare.database.head() == REVISIONS[-1]


def test_down_to_the_base_with_data_leaves_nothing_and_comes_back(store: Store) -> None:
    """Rule: no reference stops the way down, and the way up works again."""
    fill(store)
    store.database.downgrade("base")
    assert contents(store) == {}
    assert store.database.revision() is None
    store.upgrade()
    assert differences(store) == []
    fill(store)


def test_upgrading_again_changes_nothing(store: Store) -> None:
    """Rule: every start may upgrade."""
    fill(store)
    before = contents(store)
    store.upgrade()
    assert contents(store) == before


def test_a_migration_that_fails_leaves_the_schema_as_it_was(store: Store, store_url: str, tmp_path: Path) -> None:
    """Rule: one transaction, on SQLite too: no half-made schema to repair by hand."""
    fill(store)
    before = contents(store)
    body = (
        'op.create_table("half", sa.Column("id", sa.Integer))\n'
        'op.execute("DELETE FROM delivery_updates")\n'
        'raise RuntimeError("half-way")'
    )
    later = with_next(tmp_path / "next", store_url, body)
    with later, pytest.raises(RuntimeError, match="half-way"):
        later.upgrade()
    assert store.database.revision() == REVISIONS[-1]
    assert contents(store) == before


def test_a_table_made_anew_keeps_the_rows_that_refer_to_it(store: Store, store_url: str, tmp_path: Path) -> None:
    """Rule: SQLite changes a table by copying it; its children must not go with the old one."""
    fill(store)
    before = contents(store)
    body = (
        'with op.batch_alter_table("mails") as mails:\n'
        '    mails.alter_column("folder", existing_type=sa.Text, nullable=True)'
    )
    with with_next(tmp_path / "next", store_url, body) as later:
        later.upgrade()
        after = contents(later)
        assert [row.get("revision") for row in after.pop("programs")] == [REVISIONS[-1], NEXT_REVISION]
        assert after == {table: rows for table, rows in before.items() if table != "programs"}
        assert [change[0][0] for change in differences(later)] == ["modify_nullable"]


def test_a_migration_that_breaks_references_is_refused(tmp_path: Path) -> None:
    """Rule: checks that were off during the migration are made up for at its end."""
    url = f"sqlite:///{tmp_path / 'store.sqlite3'}"
    with Store.open(url) as store:
        store.upgrade()
        fill(store)
        before = contents(store)
        body = 'op.execute("DELETE FROM mails")'
        with (
            with_next(tmp_path / "next", url, body) as later,
            pytest.raises(PermanentError, match="would lose their mails"),
        ):
            later.upgrade()
        assert contents(store) == before


def test_a_database_of_a_newer_program_is_left_alone(store: Store, store_url: str, tmp_path: Path) -> None:
    """Rule: an older program says so and changes nothing."""
    with with_next(tmp_path / "next", store_url, "pass") as later:
        later.upgrade()
    with pytest.raises(ConfigError, match="newer version") as refused:
        store.upgrade()
    assert refused.value.code == "schema"
    assert not store.is_current()


def test_migrations_work_from_any_folder(database_url: str, tmp_path: Path) -> None:
    """Rule: in a wheel they lie inside the package; the path may hold what configuration files quote."""
    folder = tmp_path / "site packages %(here)s 100%" / "migrations"
    shutil.copytree(packaged("migrations"), folder)
    with with_migrations(folder, database_url) as store:
        store.upgrade()
        assert differences(store) == []


def test_a_folder_without_migrations_is_named(database_url: str, tmp_path: Path) -> None:
    """Rule: a broken installation says where it looked."""
    with with_migrations(tmp_path, database_url) as store, pytest.raises(ConfigError, match=tmp_path.name):
        store.upgrade()


def test_two_processes_may_upgrade_at_once(bare: Store, database_url: str) -> None:
    """Failure: two workers start together, and the second fails on a table that the first just made."""
    program = (
        "import sys; from support_agent.store.store import Store;"
        "store = Store.open(sys.argv[1]);"
        "print('ready', flush=True); sys.stdin.readline(); store.upgrade(); store.close()"
    )
    command = [sys.executable, "-W", "error", "-c", program, database_url]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    processes = [subprocess.Popen(command, text=True, **pipes) for _ in range(2)]  # type: ignore[call-overload]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], ends
    assert bare.is_current()
    assert "mails" in inspect_tables(bare)


def inspect_tables(store: Store) -> list[str]:
    with store.database.read() as connection:
        return inspect(connection).get_table_names()
