"""Migrations with data in place, up and down, on each database."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import MetaData, inspect, select

from support_agent.errors import ConfigError, PermanentError
from support_agent.store.records import MailStatus
from support_agent.store.store import Store
from support_agent.store.tables import Row
from tests.contract.store.examples import CASE, DAY, MIGRATIONS, NOON, fill, record

REVISIONS = ["0001", "0002"]
NEXT = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "0003", "0002"


def upgrade() -> None:
{body}
"""

Tables = dict[str, list[tuple[Any, ...]]]


@pytest.fixture
def bare(database_url: str) -> Iterator[Store]:
    """A store on an empty database."""
    with Store.open(database_url, MIGRATIONS) as opened:
        yield opened


def contents(store: Store) -> Tables:
    """Every row of every table, by reflection, so that no model hides a difference."""
    with store.database.read() as session:
        metadata = MetaData()
        metadata.reflect(session.connection())
        return {
            name: sorted(map(tuple, session.connection().execute(select(table))), key=repr)
            for name, table in metadata.tables.items()
            if name != "alembic_version"
        }


def differences(store: Store) -> list[Any]:
    with store.database.read() as session:
        options = {"compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(session.connection(), opts=options)
        return list(compare_metadata(context, Row.metadata))


def with_next(folder: Path, url: str, body: str) -> Store:
    """The store of a later version of the program, with one migration more."""
    shutil.copytree(MIGRATIONS, folder)
    indented = "\n".join(f"    {line}" for line in body.splitlines())
    (folder / "versions" / "0003_next.py").write_text(NEXT.format(body=indented))
    return Store.open(url, folder)


def test_the_models_and_the_migrations_are_the_same_schema(store: Store) -> None:
    """Rule: autogenerate has nothing to add; one revision earlier it has."""
    assert store.is_current()
    assert differences(store) == []
    store.database.downgrade("0001")
    assert not store.is_current()
    assert [change[0] for change in differences(store)] == ["add_table"]


def test_every_step_down_and_up_keeps_the_data(store: Store) -> None:
    """Rule: what the older schema has a place for survives both ways."""
    mail_id = fill(store)
    store.settle_mail(record(store, 2), MailStatus.FILED, "S2", None, NOON)
    store.delete_older_than(NOON + DAY)
    before, timeline = contents(store), store.timeline(CASE)
    assert all(before.values()), "an empty table proves nothing"

    for revision in reversed(REVISIONS[:-1]):
        store.database.downgrade(revision)
        kept = contents(store)
        assert kept == {name: before[name] for name in kept}
        assert set(before) - set(kept) == {"forgotten_mails"}
    for revision in REVISIONS[1:]:
        store.database.upgrade(revision)
    assert contents(store) == before | {"forgotten_mails": []}
    assert store.timeline(CASE) == timeline
    assert store.raw_mail(mail_id)


def test_the_revisions_tested_are_all_there_are(bare: Store) -> None:
    """Rule: a new migration enters the tests above."""
    files = sorted(path.name[:4] for path in (MIGRATIONS / "versions").glob("*.py"))
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


def test_a_migration_that_fails_leaves_the_schema_as_it_was(store: Store, database_url: str, tmp_path: Path) -> None:
    """Rule: one transaction, on SQLite too: no half-made schema to repair by hand."""
    fill(store)
    before = contents(store)
    body = (
        'op.create_table("half", sa.Column("id", sa.Integer))\n'
        'op.execute("DELETE FROM outbox")\n'
        'raise RuntimeError("half-way")'
    )
    later = with_next(tmp_path / "next", database_url, body)
    with later, pytest.raises(RuntimeError, match="half-way"):
        later.upgrade()
    assert store.database.revision() == "0002"
    assert contents(store) == before


def test_a_table_made_anew_keeps_the_rows_that_refer_to_it(store: Store, database_url: str, tmp_path: Path) -> None:
    """Rule: SQLite changes a table by copying it; its children must not go with the old one."""
    fill(store)
    before = contents(store)
    body = (
        'with op.batch_alter_table("mails") as mails:\n'
        '    mails.alter_column("folder", existing_type=sa.Text, nullable=True)'
    )
    with with_next(tmp_path / "next", database_url, body) as later:
        later.upgrade()
        assert contents(later) == before
        assert [change[0][0] for change in differences(later)] == ["modify_nullable"]


def test_a_migration_that_breaks_references_is_refused(tmp_path: Path) -> None:
    """Rule: checks that were off during the migration are made up for at its end."""
    url = f"sqlite:///{tmp_path / 'store.sqlite3'}"
    with Store.open(url, MIGRATIONS) as store:
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


def test_a_database_of_a_newer_program_is_left_alone(store: Store, database_url: str, tmp_path: Path) -> None:
    """Rule: an older program says so and changes nothing."""
    with with_next(tmp_path / "next", database_url, "pass") as later:
        later.upgrade()
    with pytest.raises(ConfigError, match="newer version") as refused:
        store.upgrade()
    assert refused.value.code == "schema"
    assert not store.is_current()


def test_migrations_work_from_any_folder(database_url: str, tmp_path: Path) -> None:
    """Rule: in a wheel they lie inside the package; the path may hold what configuration files quote."""
    folder = tmp_path / "site packages %(here)s 100%" / "migrations"
    shutil.copytree(MIGRATIONS, folder)
    with Store.open(database_url, folder) as store:
        store.upgrade()
        assert differences(store) == []


def test_a_folder_without_migrations_is_named(database_url: str, tmp_path: Path) -> None:
    """Rule: a broken installation says where it looked."""
    with Store.open(database_url, tmp_path) as store, pytest.raises(ConfigError, match=tmp_path.name):
        store.upgrade()


def test_two_processes_may_upgrade_at_once(bare: Store, database_url: str) -> None:
    """Failure: two workers start together, and the second fails on a table that the first just made."""
    program = (
        "import sys, pathlib; from support_agent.store.store import Store;"
        "store = Store.open(sys.argv[1], pathlib.Path(sys.argv[2]));"
        "print('ready', flush=True); sys.stdin.readline(); store.upgrade(); store.close()"
    )
    command = [sys.executable, "-W", "error", "-c", program, database_url, str(MIGRATIONS)]
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
    with store.database.read() as session:
        return inspect(session.connection()).get_table_names()
