"""A store that encrypts: a whole journey with words that nobody else uses, old rows, and backups that forget.

The journey's other rules hold on a store that does not encrypt; here is what a key for each mail adds.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_agent.config.packaged_files import packaged
from support_agent.config.settings import CompanySettings, StoreSettings
from support_agent.engine.steps import Steps
from support_agent.errors import PermanentError
from support_agent.ops.person import person_of
from support_agent.ops.person_export import export, opened
from support_agent.ops.replay import chosen, replay
from support_agent.store.keys import KeySettings
from support_agent.store.records import Deleted
from support_agent.store.store import Store
from tests.contract.store.examples import MIGRATIONS, NOON, fill
from tests.fakes_journey import ANNA, JAMES, Office, company_store, open_office, write

SEALS = KeySettings(seals=True)
NEEDLE = "zanzibarneedle"


@pytest.fixture
def office(company_settings: CompanySettings, empty_store: Path, tmp_path: Path) -> Iterator[Office]:
    """An office whose store encrypts."""
    file = shutil.copy(company_store(company_settings, empty_store), tmp_path / "store.sqlite3")
    with Store.open(f"sqlite:///{file}", packaged("migrations"), keys=SEALS) as store:
        opened_ = open_office(company_settings, store)
        yield opened_
        opened_.decider.company.accounts.close()


def asks(sender: str = ANNA, number: int = 1) -> bytes:
    return write(f"Can I get a refund? {NEEDLE}", sender=sender, subject=NEEDLE, number=number)


def files_with(folder: Path, word: str) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes())


def test_no_words_of_a_customer_are_in_the_files(office: Office, tmp_path: Path) -> None:
    """Rule: bytes, subject, plan, answer and record are encrypted; the journey, replay and export read them."""
    recorded: list[object] = []
    vault = office.store.database.vault

    def record(_name: str, work: object) -> object:
        recorded.append(result := work())  # type: ignore[operator]
        return result

    steps = Steps(record, office.stages.settings.engine, lambda _s: None)  # type: ignore[arg-type]
    raw = asks()
    mail_id = office.receive(raw)
    from support_agent.pipeline import handle

    sealed = steps.sealed(lambda value: vault.record(mail_id, value), vault.recorded)
    assert handle(mail_id, sealed, office.stages) == "answered"
    office.handle(write("I want a person.", sender=JAMES, subject=NEEDLE))
    assert recorded
    assert not any(NEEDLE in str(one) for one in recorded)
    assert files_with(tmp_path, NEEDLE) == []
    assert office.store.mails.raw(mail_id) == raw
    assert office.store.cases.recent(1)[0].case.subject == NEEDLE
    assert all(one.is_identical for one in replay(office.store, chosen(office.store)))
    (use,) = office.store.uses.documents()
    assert use.number == 1
    with opened(tmp_path / "anna.zip") as archive:
        export(office.store, person_of([ANNA], office.settings), archive, "", NOON)


def test_a_backup_made_before_cannot_be_read_after(office: Office, tmp_path: Path) -> None:
    """Rule: beside the keys of today, an old copy of the store has lost the forgotten person, and nobody else."""
    anna, _ = office.handle(asks())
    james, _ = office.handle(asks(JAMES, 2))
    office.store.database.purge()
    backup = tmp_path / "backup.sqlite3"
    shutil.copy(tmp_path / "store.sqlite3", backup)
    kept = office.store.persons.find([ANNA])
    office.store.persons.forget(kept, NOON, {})
    assert office.store.database.vault.lost([anna, james]) == ({anna}, set())

    keys = SEALS._replace(
        url=f"sqlite:///{tmp_path / 'store-keys.sqlite3'}", master_key_file=tmp_path / "store-master.key"
    )
    with Store.open(f"sqlite:///{backup}", packaged("migrations"), keys=keys) as restored:
        assert NEEDLE.encode() in restored.mails.raw(james)
        with pytest.raises(PermanentError) as refused:
            restored.mails.raw(anna)
        assert refused.value.code == "forgotten"
        assert restored.sealing.delete_unreadable(NOON, dry_run=True) == Deleted(cases=1, mails=1)
        assert restored.sealing.delete_unreadable(NOON) == Deleted(cases=1, mails=1)
        assert [mail.id for mail in restored.mails.find()] == [james]
        assert restored.sealing.delete_unreadable(NOON) == Deleted(cases=0, mails=0)


def test_retention_destroys_the_keys_as_well(office: Office) -> None:
    """Rule: what is too old to be kept is too old to be read in a backup."""
    mail_id, _ = office.handle(asks())
    office.store.retention.run(StoreSettings(retention_days=7), office.clock().replace(year=2027))
    assert office.store.mails.find() == ()
    assert office.store.database.vault.lost([mail_id]) == ({mail_id}, set())


def test_rows_of_an_earlier_version_are_read_and_then_encrypted(office: Office, tmp_path: Path) -> None:
    """Rule: plain and sealed rows stand side by side; `keys seal` changes what is in the file, and no answer."""
    plain = Store.open(office.store.database.url.render_as_string(), packaged("migrations"))
    with plain:
        old = open_office(office.settings.company, plain)
        mail_id, _ = old.handle(asks())
        old.decider.company.accounts.close()
    assert office.store.mails.raw(mail_id) == asks()
    office.handle(asks(JAMES, 2))
    before = office.store.cases.timeline(office.store.cases.found(ANNA, 1)[0].id)
    assert office.store.sealing.seal_plain() == 1
    assert office.store.sealing.seal_plain() == 0
    office.store.database.purge()
    assert files_with(tmp_path, NEEDLE) == []
    assert office.store.cases.timeline(office.store.cases.found(ANNA, 1)[0].id) == before
    assert all(one.is_identical for one in replay(office.store, chosen(office.store)))


@pytest.mark.servers
def test_on_postgresql_the_keys_are_in_a_schema_of_their_own(postgres_store_url: str) -> None:
    """Rule: the same rows come back; a dump without the schema has no key."""
    with Store.open(postgres_store_url, MIGRATIONS, keys=SEALS) as store:
        mail_id = fill(store)
        assert b"mail 1" in store.mails.raw(mail_id)
        with store.database.read() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM support_agent_keys.mail_keys").scalar() == 2
            stored = connection.exec_driver_sql("SELECT raw FROM mails").scalar()
        assert b"mail 1" not in bytes(stored or b"")
        store.database.vault.destroy([mail_id])
        with pytest.raises(PermanentError):
            store.mails.raw(mail_id)
