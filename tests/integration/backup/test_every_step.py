"""Backups at every step and every write of journeys, taken while the agent works: each is safe to go on from.

If nothing has happened since, each mail that was not ended is handled again and ends as it would have. After a
disaster no customer hears of the restored agent, and a person has each mail that was not ended.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlalchemy import NullPool, create_engine, text

from support_agent.config.database_url import normalise_url
from support_agent.config.settings import CompanySettings
from support_agent.ops.backup.archive import read
from support_agent.store.records import MailStatus, OutboxStatus, OutgoingKind, mail_id_of
from support_agent.store.store import Store
from tests.backups import back_up, live, office_on, put_back
from tests.fakes_journey import ANNA, DESK, JAMES, Office, company_store, write
from tests.fakes_worker import FakeMailbox, Shift, recipients
from tests.journey.lives import Kill

ANSWERED = write("Can I get a refund?")
ESCALATED = write("Let me talk to a human.", sender=JAMES)
STATUSES = {mail_id_of(ANSWERED): MailStatus.ANSWERED, mail_id_of(ESCALATED): MailStatus.ESCALATED}
CUSTOMERS = {mail_id_of(ANSWERED): ANNA, mail_id_of(ESCALATED): JAMES}
FEW = (Kill("answer", 1), Kill("send", 2), Kill("send", 3))
STEPS = {"parse", "screen", "identify", "route", "hold", "plan", "answer", "send", "end"}


class Taken(NamedTuple):
    """A backup: at which place of which journey, and how many mails each recipient had by then."""

    archive: Path
    mail_id: str
    place: Kill
    arrived: Counter[str]


class Life(NamedTuple):
    """A whole life, its backups, the folder of its mails, and where the backups are restored."""

    taken: tuple[Taken, ...]
    mailbox: FakeMailbox
    url: str

    places: frozenset[Kill]
    """All places, and not only those of the backups."""

    @property
    def different(self) -> list[Taken]:
        """One of those backups whose stores are equal."""
        return list({str(list(read(taken.archive).stores[""].parts)): taken for taken in self.taken}.values())


ON_SERVERS = [pytest.param(name, marks=pytest.mark.servers) for name in ("postgresql", "moved to postgresql")]


@pytest.fixture(scope="module", params=["sqlite", *ON_SERVERS])
def life(
    request: pytest.FixtureRequest,
    company_settings: CompanySettings,
    empty_store: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Life]:
    folder = tmp_path_factory.mktemp("life")
    (folder / "restored").mkdir()
    file = f"sqlite:///{shutil.copy(company_store(company_settings, empty_store), folder / 'store.sqlite3')}"
    if request.param == "sqlite":
        yield _lived(file, f"sqlite:///{folder}/restored/store.sqlite3", folder, company_settings)
        return
    cluster = request.getfixturevalue("postgres_cluster")
    other = cluster.create_database()
    if request.param == "postgresql":
        url = cluster.create_database(request.getfixturevalue("postgres_empty_store"))
        yield _lived(url, other, folder, company_settings)
        cluster.drop_database(url)
    else:
        yield _lived(file, other, folder, company_settings)
    cluster.drop_database(other)


def _lived(url: str, other: str, folder: Path, company: CompanySettings) -> Life:
    mailbox, taken, places = FakeMailbox([ANSWERED, ESCALATED]), list[Taken](), set[Kill]()
    with office_on(url, company) as office:

        def at(mail_id: str, place: Kill) -> None:
            places.add(place)
            # On a server each takes a second: a few try the same rules.
            if other.startswith("postgresql") and (place not in FEW or mail_id != mail_id_of(ANSWERED)):
                return
            archive = back_up(office.settings, folder / f"backups-{len(taken)}")
            taken.append(Taken(archive, mail_id, place, Counter(recipients(office))))

        live(office, mailbox, at)
        assert {mail.id: mail.status for mail in office.store.mails.find()} == STATUSES
        assert Counter(recipients(office)) == {ANNA: 1, DESK: 1, JAMES: 1}
    return Life(tuple(taken), mailbox, other, frozenset(places))


@pytest.fixture
def restored(life: Life, company_settings: CompanySettings) -> Iterator[Office]:
    """An agent where the backups are restored."""
    with office_on(life.url, company_settings) as office:
        yield office


def test_every_step_is_a_place_for_a_backup(life: Life) -> None:
    assert {place.step for place in life.places} == STEPS
    assert Kill("send", 6) in life.places


def test_work_goes_on_from_wherever_a_backup_was_taken(life: Life, restored: Office) -> None:
    """Rule: a mail in hand is decided again, and what it has put into the outbox stays: nothing lost, nothing twice."""
    ended = 0
    for taken in life.different:
        _restored(restored, taken, is_exact=True)
        was_sending = bool(restored.store.outbox.find(status=OutboxStatus.SENDING))
        live(restored, life.mailbox)
        arrived = taken.arrived + Counter(recipients(restored))
        assert all(arrived[customer] <= 1 for customer in CUSTOMERS.values()), taken
        for mail_id in STATUSES:
            _is_cared_for(restored.store, mail_id, taken)
        if not was_sending:  # else nobody knows whether that mail has gone out
            assert arrived == {ANNA: 1, JAMES: 1, DESK: 1}, taken
            assert {mail.id: mail.status for mail in restored.store.mails.find()} == STATUSES, taken
            ended += 1
    assert ended > len(life.different) / 2


def test_after_a_disaster_no_customer_hears_of_the_restored_agent(life: Life, restored: Office) -> None:
    """Rule: the lost agent went on to the end; what it may have done is left to people."""
    for taken in life.different:
        _restored(restored, taken)
        Shift(restored, life.mailbox).work()
        assert set(recipients(restored)) <= {DESK}, taken
        assert {row.status for row in restored.store.outbox.find()} <= {OutboxStatus.SENT, OutboxStatus.UNCERTAIN}
        for mail_id in STATUSES:
            _is_cared_for(restored.store, mail_id, taken)


def _restored(office: Office, taken: Taken, *, is_exact: bool = False) -> None:
    office.store.close()
    _empty(office.settings.store.url)
    put_back(taken.archive, office.settings, is_exact=is_exact, may_replace=True)
    office.transport.given.clear()


def _empty(url: str) -> None:
    """Make a database of PostgreSQL as it was created: an exact restore of a file replaces no store there."""
    if url.startswith("sqlite"):
        return
    with create_engine(normalise_url(url), poolclass=NullPool).begin() as server:
        schemas = server.execute(text("SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'"))
        for name in list(schemas.scalars()):
            server.execute(text(f"DROP SCHEMA {name} CASCADE"))
        server.execute(text("CREATE SCHEMA public"))


def _is_cared_for(store: Store, mail_id: str, taken: Taken) -> None:
    """The customer was answered before the backup, or the desk has the mail."""
    (mail,) = (one for one in store.mails.find() if one.id == mail_id)
    rows = store.outbox.find(mail_id=mail.id)
    kinds = {row.kind for row in rows if row.status is OutboxStatus.SENT}
    assert mail.status in (MailStatus.ANSWERED, MailStatus.ESCALATED), taken
    was_answered = mail.status is MailStatus.ANSWERED
    assert kinds & ({OutgoingKind.ANSWER} if was_answered else {OutgoingKind.PACKET, OutgoingKind.FAILURE}), taken
    uncertain = [row for row in rows if row.status is OutboxStatus.UNCERTAIN]
    assert all(row.recipient == CUSTOMERS[mail.id] and row.notified_at for row in uncertain), taken
