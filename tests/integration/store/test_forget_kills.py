"""`kill -9` in the middle of `forget`, before each change; a second run leaves nothing of the person.

The person has mails in a case and a bounce outside of any, records of the real engine, exported mails and results of
backtests; the store encrypts.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from support_agent.config.settings import CompanySettings, Settings
from support_agent.engine import deletion
from support_agent.engine.database import engine_url
from support_agent.ops.forgetting import forget
from support_agent.ops.people_labels import export as export_labels
from support_agent.ops.person import person_of, traces_of
from support_agent.store.database import Database
from support_agent.store.desk_records import Label, LabelOutcome, LabelSource
from support_agent.store.keys import Keys, KeySettings
from support_agent.store.records import MailId, mail_id_of
from support_agent.store.store import Store
from tests.backups import live
from tests.fakes_journey import DESK, JAMES, NOON, company_store, open_office, write
from tests.fakes_worker import FakeMailbox
from tests.kills import changes_of, killed_before
from tests.unit.ops.test_forgetting import NEEDLES, RECEIPT, VERA, files_with, of_vera

SEALS = KeySettings(seals=True)
PURGES = ((deletion, "_purge"), (Keys, "purge"), (Database, "purge"))
"""What ends in a statement of the driver, without a commit that is counted."""
ASKED, OTHERS = of_vera("Can I get a refund?"), write("Can I get a refund?", sender=JAMES)
BOUNCE = b"From: MAILER-DAEMON@mx.example\r\nTo: x\r\nSubject: failed\r\n\r\nno such user: <mistralNEEDLE@example.net>"


class Place(NamedTuple):
    """A folder and a store with all that is kept of two people."""

    folder: Path
    url: str
    settings: Settings

    def forget(self) -> None:
        person, results = person_of([VERA], self.settings), self.folder / "backtest-work"
        with Store.open(self.url, keys=SEALS) as store:
            traces = traces_of(store, person, self.folder, results)
            records = engine_url(self.url)
            forget(store, person, traces, results, lambda ids: deletion.delete_records(records, ids), RECEIPT, NOON)

    def assert_forgotten(self, killed_at: int) -> None:
        for needle in NEEDLES:
            assert files_with(self.folder, needle) == [], (killed_at, needle)
        with Store.open(self.url, keys=SEALS) as store:
            assert [mail.id for mail in store.mails.find()] == [mail_id_of(OTHERS)], killed_at
            gone = {mail_id_of(raw) for raw in (ASKED, BOUNCE)}
            assert store.database.vault.keys.lost(gone).destroyed == gone, killed_at
            assert store.mails.raw(mail_id_of(OTHERS)) == OTHERS
            assert store.audit.verify().problem == ""
        assert deletion.delete_records(engine_url(self.url), sorted(gone)) == 0, killed_at


def filled(folder: Path, url: str, company: CompanySettings) -> Place:
    with Store.open(url, keys=SEALS) as store:
        office = open_office(company, store)
        settings = office.settings.store.model_copy(update={"url": url})
        office.settings = office.settings.model_copy(update={"store": settings})
        live(office, FakeMailbox([ASKED, OTHERS, BOUNCE]))
        for mail_id in map(mail_id_of, (ASKED, OTHERS)):
            store.labels.add(label(mail_id))
        export_labels(store, folder)
        office.decider.company.accounts.close()
        found = office.settings
    work = folder / "backtest-work" / "desk-page"
    work.mkdir(parents=True)
    (work / "mails.mbox").write_text(NEEDLES[0])
    return Place(folder, url, found)


def label(mail_id: MailId) -> Label:
    same, by_command = LabelOutcome.SAME, LabelSource.COMMAND
    return Label(mail_id=mail_id, outcome=same, keys=("document:1",), who=DESK, how=by_command, made_at=NOON)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.servers)])
def copied(
    request: pytest.FixtureRequest, company_settings: CompanySettings, empty_store: Path, tmp_path: Path
) -> Callable[[], Place]:
    """Gives the same place again, as it was before anything was forgotten."""
    kept, used = tmp_path / "kept", tmp_path / "used"
    kept.mkdir()
    is_file = request.param == "sqlite"
    if is_file:
        url = f"sqlite:///{shutil.copy(company_store(company_settings, empty_store), kept / 'store.sqlite3')}"
    else:
        cluster = request.getfixturevalue("postgres_cluster")
        url = cluster.create_database(request.getfixturevalue("postgres_empty_store"))
    place = filled(kept, url, company_settings)

    def again() -> Place:
        shutil.rmtree(used, ignore_errors=True)
        shutil.copytree(kept, used)
        return place._replace(folder=used, url=url.replace(str(kept), str(used)) if is_file else copy_of(url))

    def copy_of(url: str) -> str:
        return str(cluster.create_database(url))

    return again


def test_a_person_is_forgotten_though_the_first_run_was_killed(copied: Callable[[], Place]) -> None:
    """Failure: the rows were gone, and nobody knew any more which files and records were the person's."""
    place = copied()
    assert all(files_with(place.folder, needle) for needle in NEEDLES[:1])
    changes = changes_of(place.forget, PURGES)
    place.assert_forgotten(0)
    is_file = place.url.startswith("sqlite")
    for number in range(1, changes + 1) if is_file else (changes - 5, changes - 3, changes - 1):
        place = copied()
        killed_before(number, place.forget, PURGES)
        place.forget()
        place.assert_forgotten(number)
