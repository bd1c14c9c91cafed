"""A database in which there is no store is not made one by who only looks."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import inspect

from support_agent.app.wiring import existing_store, require_store
from support_agent.config.settings import Settings
from support_agent.errors import ConfigError
from support_agent.store.store import Store


def settings_of(url: str) -> Settings:
    """The default settings with this store."""
    return Settings.model_validate({"store": {"url": url}})


def tables_of(url: str) -> list[str]:
    """The names of the tables in a database."""
    with Store.of(settings_of(url).store) as store, store.database.read() as connection:
        return inspect(connection).get_table_names()


@pytest.mark.servers
def test_a_postgresql_database_without_tables_is_refused_and_stays_without(postgres_url: str) -> None:
    """Failure: a database that was made anew said that nothing was kept of a person, until a run or a restore."""
    with pytest.raises(ConfigError, match=r"has no store.*if there was one") as refused:
        existing_store(settings_of(postgres_url))
    assert (refused.value.code, tables_of(postgres_url)) == ("no_store", [])


def test_a_file_with_the_tables_of_another_program_is_refused_and_stays_as_it_was(tmp_path: Path) -> None:
    """Failure: a wrong `store.url`."""
    with closing(sqlite3.connect(tmp_path / "other.sqlite3")) as other:
        other.execute("CREATE TABLE songs (title TEXT)")
    url = f"sqlite:///{tmp_path / 'other.sqlite3'}"
    with pytest.raises(ConfigError, match="has no store"):
        require_store(settings_of(url))
    assert tables_of(url) == ["songs"]


def test_a_store_that_is_there_is_opened_on_each_database(store_url: str) -> None:
    with existing_store(settings_of(store_url)) as store:
        assert store.cases.recent(1) == ()
