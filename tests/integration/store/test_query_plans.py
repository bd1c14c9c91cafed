"""What is done for each mail, in each round and by each command does not read the whole history."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from sqlmodel import select

from support_agent.store import traffic
from support_agent.store.store import Store
from support_agent.store.tables import MailRow
from tests.benchmarks.history import acts_on, measured, scans


def test_no_act_reads_a_whole_table_that_grows(tmp_path: Path) -> None:
    """The database explains each statement of a mail, a round and the commands.

    `autonomy` may read all labels: it says what each item has earned by all that people judged.
    """
    file = tmp_path / "store.sqlite3"
    with closing(Store.open(f"sqlite:///{file}")) as store:
        store.upgrade()
        with acts_on(store, tmp_path) as acts:
            assert len(acts) > 5
            assert scans(acts, file) == {"autonomy": ["labels"]}


def test_a_statement_that_reads_a_whole_table_is_found(tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite3"
    with closing(Store.open(f"sqlite:///{file}")) as store:
        store.upgrade()
        assert scans({"all": store.mails.find}, file) == {"all": ["mails"]}
        assert scans({"by reason": lambda: _by_reason(store)}, file) == {"by reason": ["mails"]}


def _by_reason(store: Store) -> None:
    with store.database.read() as connection:
        connection.exec_driver_sql("SELECT id FROM mails WHERE why = 'none'").all()


@pytest.mark.servers
def test_the_mails_of_a_sender_with_any_tag_are_found_by_their_index(postgres_store_url: str) -> None:
    """Failure: PostgreSQL orders an index by its language, so each limit by sender read all mails."""
    with closing(Store.open(postgres_store_url)) as store, store.database.read() as connection:
        connection.exec_driver_sql("SET enable_seqscan = off")  # a table without a row is read whole otherwise
        query = select(MailRow.id).where(traffic._is_of("postgresql")).compile(dialect=connection.dialect)
        values = query.construct_params(traffic._tagged("anna+news@example.org"))
        plan = connection.exec_driver_sql(f"EXPLAIN {query}", values).scalars().all()
    assert "ix_mails_sender_address" in str(plan)
    assert "~>=~ 'anna+'" in str(plan)


def test_the_costs_of_a_history_are_measured() -> None:
    lines = list(measured(20, 100, 1))
    assert lines[0].startswith("100 mails in 20 cases beside an empty store")
    assert {line.split()[0] for line in lines[1:]} >= {"answered", "filed", "empty", "cases", "replay"}
