"""`kill -9` in the middle of a backup and of a restore, before each change of a file and each commit."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support_agent.config.settings import Settings, StoreSettings
from support_agent.errors import ConfigError
from support_agent.ops.backup.archive import verify
from support_agent.store.store import Store
from tests.backups import back_up, put_back
from tests.contract.store.examples import record
from tests.kills import changes_of, killed_before


def settings_for(url: str) -> Settings:
    return Settings(store=StoreSettings(url=url))


def mails_in(url: str) -> list[bytes]:
    with Store.open(url) as store:
        return [store.mails.raw(mail.id) for mail in store.mails.find()]


def is_refused(url: str) -> bool:
    """Whether nobody can open the store, because a restore must be finished."""
    try:
        mails_in(url)
    except ConfigError as error:
        return error.code == "restoring" and "run `support-agent restore`" in str(error)
    return False


def put_mail(url: str, number: int) -> list[bytes]:
    with Store.open(url) as store:
        record(store, number)
    return mails_in(url)


def test_a_backup_that_was_killed_is_none(empty_store: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{shutil.copy(empty_store, tmp_path / 'store.sqlite3')}"
    settings, folder = settings_for(url), tmp_path / "backups"
    archive = back_up(settings, folder)
    changes = changes_of(lambda: back_up(settings, folder))
    assert changes > 15
    for number in range(1, changes + 1):
        found = set(folder.glob("support-agent-*"))
        killed_before(number, lambda: back_up(settings, folder))
        new = set(folder.glob("support-agent-*")) - found
        assert all(verify(path) for path in new)
        assert not new or number == changes  # the name is there, and only the folder of backups was not synced yet
    verify(back_up(settings, folder))
    assert not list(folder.glob(".unfinished*"))
    verify(archive)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.servers)])
def fresh_url(request: pytest.FixtureRequest, empty_store: Path, tmp_path: Path) -> Callable[[], str]:
    """Gives a store without a mail, always at the same place on SQLite."""
    if request.param == "sqlite":
        folder = tmp_path / "place"

        def on_disk() -> str:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            return f"sqlite:///{shutil.copy(empty_store, folder / 'store.sqlite3')}"

        return on_disk
    cluster, empty = request.getfixturevalue("postgres_cluster"), request.getfixturevalue("postgres_empty_store")
    return lambda: str(cluster.create_database(empty))


def test_a_restore_that_was_killed_left_the_store_as_it_was_or_is_finished_by_the_next(
    fresh_url: Callable[[], str], tmp_path: Path
) -> None:
    """Rule: never half a store that a worker would open."""
    url = fresh_url()
    backed_up = put_mail(url, 1)
    archive = back_up(settings_for(url), tmp_path / "backups")

    def restoring(url: str) -> Callable[[], object]:
        return lambda: put_back(archive, settings_for(url), may_replace=True)

    url = fresh_url()
    changes = changes_of(restoring(url))
    # On a server a restore takes a second: only the last changes, where the tables are exchanged, and one before.
    numbers = range(1, changes + 1) if url.startswith("sqlite") else (changes // 2, changes - 1, changes)
    refused = 0
    for number in numbers:
        url = fresh_url()
        before = put_mail(url, 2)
        killed_before(number, restoring(url))
        if is_refused(url):
            refused += 1
        else:
            assert mails_in(url) in (before, backed_up)
        restoring(url)()
        assert mails_in(url) == backed_up, number
    assert refused >= (3 if url.startswith("sqlite") else 1)
