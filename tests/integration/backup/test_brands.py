"""Backups of two mailboxes that share a worker: both or none, of one instant, with the files of both."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support_agent.config.settings import Settings, StoreSettings
from support_agent.errors import ConfigError
from support_agent.ops.backup.archive import read, verify
from support_agent.ops.backup.company_files import Configured, restore_files
from support_agent.ops.backup.making import make_backup
from support_agent.ops.backup.restoring import Restored, restore
from support_agent.store.keys import key_settings
from support_agent.store.lock import only_process
from support_agent.store.records import mail_id_of
from support_agent.store.store import Store
from tests.backups import HOLDER, configured, create_engine_tables
from tests.contract.store.examples import NOON, raw, record
from tests.integration.backup.test_kills import is_refused
from tests.kills import changes_of, killed_before

Brands = dict[str, Configured]


def brands_in(folder: Path, empty_store: Path) -> Brands:
    """The first mailbox, and the shop in a folder below; the stores encrypt, and have no mail."""
    found = {}
    for brand, place in (("", folder), ("shop", folder / "shop")):
        place.mkdir(exist_ok=True)
        url = f"sqlite:///{shutil.copy(empty_store, place / 'store.sqlite3')}"
        found[brand] = configured(place, Settings(store=StoreSettings(url=url)))
    create_engine_tables(found[""].settings.store.url)
    return found


def put_mails(brands: Brands, *numbers: int) -> None:
    """Give the first mailbox the mail of the first number, the shop that of the second, and so on."""
    for one, number in zip(brands.values(), numbers, strict=True):
        with opened(one) as store:
            record(store, number)


def opened(one: Configured) -> Store:
    store = one.settings.store
    return Store.open(store.url, keys=key_settings(store))


def mails(brands: Brands) -> list[list[bytes]]:
    found = []
    for one in brands.values():
        with opened(one) as store:
            found.append([store.mails.raw(mail.id) for mail in store.mails.find()])
    return found


def put_back(archive: Path, brands: Brands, *, is_exact: bool = False) -> Restored:
    settings = {brand: one.settings for brand, one in brands.items()}
    return restore(archive, settings, NOON, HOLDER, may_replace=True, is_exact=is_exact)


@pytest.fixture
def brands(empty_store: Path, tmp_path: Path) -> Brands:
    (tmp_path / "place").mkdir()
    found = brands_in(tmp_path / "place", empty_store)
    put_mails(found, 1, 2)
    return found


@pytest.fixture
def archive(brands: Brands, tmp_path: Path) -> Path:
    return make_backup(brands, tmp_path / "backups", NOON).path


def test_both_mailboxes_are_restored_each_with_its_own_mails(brands: Brands, archive: Path, tmp_path: Path) -> None:
    assert set(verify(archive).stores) == {"", "shop"}
    for is_exact in (False, True):
        put_mails(brands, 3, 4)
        assert len(put_back(archive, brands, is_exact=is_exact).kept) == 2
        assert mails(brands) == [[raw(1)], [raw(2)]]


def test_the_files_of_both_keep_their_places_and_the_keys_of_both_are_named(archive: Path, tmp_path: Path) -> None:
    found = read(archive)
    restore_files(archive, found.files, tmp_path / "to")
    for place in (tmp_path / "to", tmp_path / "to" / "shop"):
        assert (place / "policies" / "001-refund.md").is_file()
        assert (place / "support-agent.toml").is_file()
    places = (tmp_path / "place", tmp_path / "place" / "shop")
    named = {str(place / name) for place in places for name in ("store-keys.sqlite3", "store-master.key")}
    assert named <= set(found.left_out)


def test_a_worker_on_either_store_is_seen(brands: Brands, archive: Path, tmp_path: Path) -> None:
    """Rule: a backup beside it is not one to go on from exactly, and nothing is restored below it."""
    with only_process(brands["shop"].settings.store.url, "pid 2 on here"):
        assert not make_backup(brands, tmp_path / "busy", NOON).manifest.is_quiet
        with pytest.raises(ConfigError, match="another support-agent runs on this store"):
            put_back(archive, brands)
    assert mails(brands) == [[raw(1)], [raw(2)]]


def test_other_brands_than_those_of_the_backup_are_refused(brands: Brands, archive: Path) -> None:
    with pytest.raises(ConfigError, match="the backup has the brands shop, the configuration none"):
        put_back(archive, {"": brands[""]})
    assert mails(brands) == [[raw(1)], [raw(2)]]


def test_what_one_brand_forgot_is_deleted_from_its_store_alone(brands: Brands, tmp_path: Path) -> None:
    """Rule: the same mail to both is one id with a key in each."""
    for one in brands.values():
        with opened(one) as store:
            record(store, 5)
    archive = make_backup(brands, tmp_path / "more", NOON).path
    with opened(brands["shop"]) as store:
        store.database.vault.destroy([mail_id_of(raw(5))])
    assert put_back(archive, brands).forgotten == 1
    assert mails(brands) == [[raw(1), raw(5)], [raw(2)]]


def test_a_restore_that_was_killed_leaves_both_stores_as_they_were_or_is_finished_for_both(
    archive: Path, brands: Brands, empty_store: Path, tmp_path: Path
) -> None:
    """Rule: never the one of the backup beside the one before; a worker could open both."""
    place, kept = tmp_path / "place", tmp_path / "kept"
    put_mails(brands, 3, 4)
    before = mails(brands)
    shutil.copytree(place, kept)

    def restoring() -> Callable[[], object]:
        shutil.rmtree(place)
        shutil.copytree(kept, place)
        return lambda: put_back(archive, brands)

    changes = changes_of(restoring())
    refused = 0
    for number in range(max(1, changes - 24), changes + 1):  # from before the first pledge on
        killed_before(number, restoring())
        is_pending = [is_refused(one.settings.store.url) for one in brands.values()]
        refused += any(is_pending)
        if not any(is_pending):
            assert mails(brands) in (before, [[raw(1)], [raw(2)]]), number
        put_back(archive, brands)
        assert mails(brands) == [[raw(1)], [raw(2)]], number
    assert refused >= 3
