"""A store of each released schema, with work in flight, is upgraded, and the worker finishes the work.

The rows are written at that schema: a mail that nobody has handled, an answer that waits to be sent, one that was being
sent when the process died, and a case that a person has.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import MetaData, select

from support_agent.cases.copies import known_as
from support_agent.config.settings import CompanySettings
from support_agent.core.cursor import Cursor
from support_agent.mail.message import parse
from support_agent.store.database import VERSION_TABLE
from support_agent.store.records import MailStatus, OutboxStatus, OutgoingKind, mail_id_of
from support_agent.store.store import Store
from support_agent.transport.submission import Delivery
from tests.backups import office_on
from tests.fakes_journey import ANNA, CUSTOMERS, DESK, JAMES, Office, office_in, write
from tests.fakes_worker import FakeMailbox, Shift, recipients, rows, status
from tests.integration.store.test_migrations import NAMES

RELEASED = [f"{number:04d}" for number in range(1, 15)]
DAVID, PRIYA = CUSTOMERS[:2]
NEW = write("Can I get a refund?")
READY = write("How do I cancel?", sender=DAVID)
SENDING = write("I forgot my password", sender=PRIYA)
WITH_PERSON = write("Let me talk to a human.", sender=JAMES)
PACKET, ANSWER, FAILURE = OutgoingKind.PACKET, OutgoingKind.ANSWER, OutgoingKind.FAILURE

Tables = dict[str, list[dict[str, Any]]]


def follow_up() -> bytes:
    message_id = parse(WITH_PERSON).message_id
    return write("Can I get a refund, then?", sender=JAMES, in_reply_to=message_id, number=2)


@pytest.fixture(scope="module")
def in_flight(company_settings: CompanySettings, empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """The rows of a store with that work, by the present names of tables and columns."""
    with office_in(tmp_path_factory.mktemp("work"), company_settings, empty_store) as office:
        office.transport.deliveries = [Delivery(status="retry", detail="421 later")] * 2
        Shift(office, FakeMailbox([SENDING, READY, WITH_PERSON])).work()
        (answer,) = office.store.outbox.find(mail_id=mail_id_of(SENDING))
        assert office.store.outbox.claim(answer.id, answer.next_try_at)
        cursor = Cursor(folder="INBOX", uid_validity=1, last_uid=4)
        office.store.mails.record(NEW, known_as(parse(NEW)), cursor, office.clock())
        return contents(office.store)


def contents(store: Store) -> Tables:
    with store.database.read() as connection:
        metadata = MetaData()
        metadata.reflect(connection)
        return {
            name: [dict(row) for row in connection.execute(select(table)).mappings()]
            for name, table in metadata.tables.items()
        }


def write_rows(store: Store, present: Tables) -> None:
    """Write the rows as far as the schema has a place for them."""
    with store.database.write() as connection:
        metadata = MetaData()
        metadata.reflect(connection)
        for table in metadata.sorted_tables:
            names = {column.name: NAMES.get(column.name, column.name) for column in table.columns}
            for row in present.get(NAMES.get(table.name, table.name), []) if table.name != VERSION_TABLE else ():
                values = {name: row[now] for name, now in names.items() if now in row}
                connection.execute(table.insert().values(values))


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.servers)])
def at_revision(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], str]]:
    """Gives the URL of an empty store of a revision: one store is upgraded step by step, and copied at each."""
    folder = tmp_path_factory.mktemp("released")
    file, copies = folder / "store.sqlite3", dict[str, str]()
    cluster = request.getfixturevalue("postgres_cluster") if request.param == "postgresql" else None
    url = cluster.create_database() if cluster is not None else f"sqlite:///{file}"
    for revision in RELEASED:
        with Store.open(url) as store:
            store.database.upgrade(revision)
        if cluster is not None:
            copies[revision] = cluster.create_database(url)
        else:
            copies[revision] = f"sqlite:///{shutil.copy(file, folder / f'{revision}.sqlite3')}"
    yield copies.__getitem__
    if cluster is not None:
        for one in (url, *copies.values()):
            cluster.drop_database(one)


@pytest.mark.parametrize("revision", RELEASED)
def test_the_worker_finishes_the_work_of_a_released_version(
    revision: str, at_revision: Callable[[str], str], in_flight: Tables, company_settings: CompanySettings
) -> None:
    url = at_revision(revision)
    with Store.open(url) as store:
        assert store.database.revision() == revision
        write_rows(store, in_flight)
        store.upgrade()
        assert store.is_current()
    with office_on(url, company_settings) as office:
        later = follow_up()
        Shift(office, FakeMailbox([SENDING, READY, WITH_PERSON, NEW, later])).work()
        assert _ends(office, later) == {
            "new": (MailStatus.ANSWERED, [(ANSWER, OutboxStatus.SENT)]),
            "ready": (MailStatus.ANSWERED, [(ANSWER, OutboxStatus.SENT)]),
            "sending": (MailStatus.ESCALATED, [(ANSWER, OutboxStatus.UNCERTAIN), (FAILURE, OutboxStatus.SENT)]),
            "with person": (MailStatus.ESCALATED, [(PACKET, OutboxStatus.SENT)]),
        }
        assert Counter(recipients(office)) == {ANNA: 1, DAVID: 1, DESK: 2}


def _ends(office: Office, later: bytes) -> dict[str, object]:
    mails = {"new": NEW, "ready": READY, "sending": SENDING, "with person": later}
    return {name: (status(office, raw), rows(office, raw)) for name, raw in mails.items()}
