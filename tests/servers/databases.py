"""The databases that the store must behave alike on: `database_url` and `store_url` run a test once on each.

The schema is made once for the whole run and copied for each test, in a tenth of the time of an upgrade.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_agent.store.store import Store
from tests.servers.postgres import Cluster

EACH_DATABASE = ["sqlite", pytest.param("postgresql", marks=pytest.mark.servers)]


@pytest.fixture(params=EACH_DATABASE)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database of this test alone."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.sqlite3'}"
    url = request.getfixturevalue("postgres_url")
    assert isinstance(url, str)
    return url


@pytest.fixture(params=EACH_DATABASE)
def store_url(request: pytest.FixtureRequest, empty_store: Path, tmp_path: Path) -> str:
    """The URL of a store without a mail, of this test alone."""
    if request.param == "sqlite":
        return f"sqlite:///{shutil.copy(empty_store, tmp_path / 'store.sqlite3')}"
    url = request.getfixturevalue("postgres_store_url")
    assert isinstance(url, str)
    return url


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SQLite file of a store without a mail, to be copied."""
    path = tmp_path_factory.mktemp("store") / "empty.sqlite3"
    with Store.open(f"sqlite:///{path}") as store:
        store.upgrade()
    return path


@pytest.fixture(scope="session")
def postgres_empty_store(postgres_cluster: Cluster) -> str:
    """The URL of a PostgreSQL store without a mail, to be copied; nobody may be connected to it."""
    url = postgres_cluster.create_database()
    with Store.open(url) as store:
        store.upgrade()
    return url


@pytest.fixture
def postgres_store_url(postgres_cluster: Cluster, postgres_empty_store: str) -> Iterator[str]:
    """The URL of a store without a mail on PostgreSQL, of this test alone."""
    url = postgres_cluster.create_database(postgres_empty_store)
    yield url
    postgres_cluster.drop_database(url)
