"""Database URLs: which are taken, what they become, and what is said about the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url
from sqlalchemy.exc import OperationalError

from support_agent.config.database_url import existing_file, normalise_url, shown_url
from support_agent.config.settings import StoreSettings
from support_agent.errors import ConfigError
from support_agent.store.keys import key_settings
from support_agent.store.store import Store


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_postgresql_urls_use_psycopg(scheme: str) -> None:
    """Rule: the usual spellings work; the rest of the URL stays, the password too."""
    url = normalise_url(f"{scheme}://agent:s%40cret@db.example:5433/cases?sslmode=verify-full")
    assert url.drivername == "postgresql+psycopg"
    assert (url.username, url.password, url.host, url.port, url.database) == (
        "agent", "s@cret", "db.example", 5433, "cases",
    )  # fmt: skip
    assert url.query == {"sslmode": "verify-full"}


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///store.sqlite3", "{cwd}/store.sqlite3"),
        ("sqlite:///data/store.sqlite3", "{cwd}/data/store.sqlite3"),
        ("sqlite:////var/lib/store.sqlite3", "/var/lib/store.sqlite3"),
        ("sqlite+pysqlite:///store.sqlite3", "{cwd}/store.sqlite3"),
    ],
)
def test_sqlite_paths_become_absolute(url: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: a process that changes its folder later keeps its database."""
    monkeypatch.chdir(tmp_path)
    assert normalise_url(url).database == path.format(cwd=tmp_path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "store.sqlite3",
        "mysql://agent:hunter2@db.example/cases",
        "postgresql+asyncpg://agent:hunter2@db.example/cases",
        "postgresql://agent:hunter2@db.example:port/cases",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:store?mode=memory&uri=true",
    ],
)
def test_other_urls_are_refused_without_repeating_them(url: str) -> None:
    """Rule: the message says what to write and never holds a password."""
    with pytest.raises(ConfigError, match=r"store\.url") as refused:
        normalise_url(url)
    assert "hunter2" not in str(refused.value)
    assert "sqlite" in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_an_at_sign_in_a_password_must_be_escaped() -> None:
    """Failure: what follows it was taken for a part of the host, and shown."""
    with pytest.raises(ConfigError, match="%40") as refused:
        normalise_url("postgresql://agent:hun@ter2@db.example/cases")
    assert "ter2" not in str(refused.value)


@pytest.mark.parametrize("secret", [":hunter2@db.example/cases", "@db.example/cases?sslpassword=hunter2"])
def test_a_shown_url_has_no_password(secret: str) -> None:
    shown = shown_url(f"postgresql://agent{secret}")
    assert "hunter2" not in shown
    assert "db.example/cases" in shown


def test_keys_of_a_store_that_cannot_be_are_refused_like_the_store() -> None:
    """Failure: `sqlite://` ended with a ValueError, as the keys were looked for before the store."""
    with pytest.raises(ConfigError, match=r"store\.url"):
        key_settings(StoreSettings(url="sqlite://"))


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    """Rule: no folder is made by guessing."""
    with pytest.raises(ConfigError, match=r"missing of store\.url does not exist"):
        Store.open(f"sqlite:///{tmp_path}/missing/store.sqlite3")
    assert not (tmp_path / "missing").exists()


def test_the_parameters_of_a_url_stay() -> None:
    """Failure: a longer wait for a lock, which the URL asked for, was forgotten."""
    url = existing_file(normalise_url("sqlite:////srv/store.sqlite3?timeout=30"))
    assert url.query == {"timeout": "30", "mode": "rw", "uri": "true"}


@pytest.mark.parametrize("name", ["store.sqlite3", "a store?x%41#y&mode=rwc", "läden"])
def test_a_file_that_must_be_there_is_opened_by_any_name_and_never_created(tmp_path: Path, name: str) -> None:
    """Rule: also by the text of its URL, which the engine's library gets."""
    path = tmp_path / name
    path.touch()
    url = existing_file(normalise_url(make_url("sqlite://").set(database=str(path))))
    for one in (url, make_url(url.render_as_string())):
        engine = create_engine(one)
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS used (one)")
        engine.dispose()
    assert [(found.name, found.stat().st_size > 0) for found in tmp_path.iterdir()] == [(name, True)]
    path.unlink()
    with pytest.raises(OperationalError):
        create_engine(url).connect()
    assert [*tmp_path.iterdir()] == []
