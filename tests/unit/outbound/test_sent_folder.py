"""The Sent folder: copies of what went out, and what is found of the uncertain (S62, S66)."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from support_agent.config.mail_servers import ImapSettings, SentCopies
from support_agent.errors import TransientError
from support_agent.outbound.sent_folder import BREAK, MAX_FAILURES, SentFolder
from support_agent.store.records import DeliverySource, OutboxRecord, OutboxStatus, OutgoingKind
from support_agent.transport.submission import Delivery
from tests.fakes_journey import JAMES, NOON, Clock, Office, write


class FakeFolders:
    """`outbound.sent_folder.Folders`: one folder, `Sent`; `broken` are Message-IDs that it cannot file."""

    def __init__(self) -> None:
        self.filed: list[tuple[str, bytes, datetime]] = []
        self.there: set[str] = set()
        self.broken: set[str] = set()
        self.sent: str | None = "Sent"
        self.opened = 0

    def __enter__(self) -> FakeFolders:
        self.opened += 1
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def special_folder(self, use: str) -> str | None:
        assert use == "\\Sent"
        return self.sent

    def has_message_id(self, folder: str, message_id: str) -> bool:
        if message_id in self.broken:
            raise TransientError("refused")
        return message_id in self.there

    def append(self, folder: str, raw: bytes, sent_at: datetime) -> None:
        self.filed.append((folder, raw, sent_at))


def answer(office: Office, status: str = "sent", number: int = 1) -> OutboxRecord:
    office.transport.deliveries = [Delivery.model_validate({"status": status, "detail": "x"})]
    topic = ("can I get a refund?", "how do I cancel?")[number - 1]
    mail_id, _ = office.handle(write(topic, sender=JAMES, number=number))
    return office.sent(mail_id)[OutgoingKind.ANSWER]


def keeper(office: Office, folders: FakeFolders, **imap: object) -> SentFolder:
    return SentFolder(office.store, ImapSettings.model_validate(imap), lambda: folders, office.clock)


def test_s66_a_sent_mail_is_filed_once_with_its_bytes_and_date(office: Office) -> None:
    """S66: in the folder that the server names, or in the one of the settings; the store remembers it."""
    folders, record = FakeFolders(), answer(office)
    keeper(office, folders).look_after()
    keeper(office, folders).look_after()
    assert folders.filed == [("Sent", record.raw, record.sent_at)]
    assert folders.opened == 1
    other = answer(office, number=2)
    keeper(office, folders, sent_folder="Gesendet").look_after()
    assert folders.filed[1:] == [("Gesendet", other.raw, other.sent_at)]


def test_s66_a_copy_that_is_there_already_is_not_filed_again(office: Office) -> None:
    """The process died between the copy and its record: the folder is asked for the Message-ID first."""
    folders, record = FakeFolders(), answer(office)
    folders.there = {record.message_id}
    keeper(office, folders).look_after()
    assert folders.filed == []
    assert office.store.deliveries.uncopied(NOON, limit=10) == ()


@pytest.mark.parametrize("copies", [SentCopies.PROVIDER, SentCopies.NONE])
def test_s66_nothing_is_filed_where_the_provider_does_it_or_nobody_shall(office: Office, copies: SentCopies) -> None:
    folders = FakeFolders()
    answer(office)
    keeper(office, folders, sent_copies=copies).look_after()
    assert (folders.filed, folders.opened) == ([], 0)


@pytest.mark.parametrize("status", ["retry", "uncertain", "failed"])
def test_s66_what_is_not_known_to_be_out_is_not_filed(office: Office, status: str) -> None:
    folders, record = FakeFolders(), answer(office, status)
    keeper(office, folders).look_after()
    assert record.raw not in [raw for _, raw, _ in folders.filed]


def test_s66_one_that_cannot_be_filed_keeps_no_other_from_it_and_is_tried_later(office: Office) -> None:
    folders, first, second = FakeFolders(), answer(office), answer(office, number=2)
    folders.broken = {first.message_id}
    sent_folder = keeper(office, folders)
    sent_folder.look_after()
    assert [raw for _, raw, _ in folders.filed] == [second.raw]
    folders.broken = set()
    sent_folder.look_after()
    assert folders.opened == 1
    sent_folder.now = Clock(NOON + BREAK * 2)
    sent_folder.look_after()
    assert [raw for _, raw, _ in folders.filed] == [second.raw, first.raw]


def test_s66_a_mailbox_without_such_a_folder_or_that_is_away_stops_nothing(office: Office) -> None:
    folders = FakeFolders()
    answer(office)
    folders.sent = None
    keeper(office, folders).look_after()

    def away() -> FakeFolders:
        raise TransientError("away")

    SentFolder(office.store, ImapSettings(), away, office.clock).look_after()
    assert folders.filed == []
    old = SentFolder(office.store, ImapSettings(), away, Clock(NOON + timedelta(days=4)))
    old.open_mailbox = lambda: folders
    old.look_after()
    assert folders.opened == 1  # what is too old is not tried for ever


def test_s66_mails_that_are_refused_time_and_again_keep_no_others_out(office: Office) -> None:
    """As many as end a round, and the oldest: at the next the others come first; so it is where all look the same."""
    folders = FakeFolders()
    customers = [f"customer{number}@example.net" for number in range(MAX_FAILURES + 4)]
    for customer in customers:
        office.handle(write("can I get a refund?", sender=customer))
    rows = office.store.deliveries.uncopied(NOON, limit=100)
    refused, others = rows[:MAX_FAILURES], rows[MAX_FAILURES:]
    folders.broken = {record.message_id for record in refused}
    sent_folder = keeper(office, folders)
    for number in range(3):
        sent_folder.now = Clock(NOON + timedelta(hours=1 + number))
        sent_folder.look_after()
    stored = [office.store.outbox.get(record.id) for record in others]
    assert [raw for _, raw, _ in folders.filed] == [record.raw for record in stored if record is not None]
    folders.broken = set()
    sent_folder.now = Clock(NOON + timedelta(hours=5))
    sent_folder.look_after()
    assert len(folders.filed) == len(rows)


def test_s66_more_refused_mails_than_one_round_takes_keep_none_out(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("support_agent.outbound.sent_folder.BATCH", MAX_FAILURES)
    test_s66_mails_that_are_refused_time_and_again_keep_no_others_out(office)


def test_s66_a_clock_that_is_set_back_makes_no_break_longer(office: Office) -> None:
    folders, record = FakeFolders(), answer(office)
    folders.broken = {record.message_id}
    sent_folder = keeper(office, folders)
    sent_folder.now = Clock(NOON + timedelta(days=2))
    sent_folder.look_after()
    folders.broken = set()
    sent_folder.now = Clock(NOON + timedelta(days=1))
    sent_folder.look_after()
    assert [raw for _, raw, _ in folders.filed] == [record.raw]


@pytest.mark.parametrize(("days", "is_looked_for"), [(3, False), (6, True)])
def test_s66_the_period_is_a_setting(office: Office, days: int, is_looked_for: bool) -> None:
    folders = FakeFolders()
    answer(office)
    sent_folder = keeper(office, folders, sent_search_days=days)
    sent_folder.now = Clock(NOON + timedelta(days=5))
    sent_folder.look_after()
    assert bool(folders.filed) is is_looked_for


def test_s62_an_uncertain_mail_that_waited_for_days_is_looked_for(office: Office) -> None:
    """A pause, or a server that was away: the period begins with the last try."""
    folders, record = FakeFolders(), answer(office, "retry")
    office.clock = Clock(NOON + timedelta(days=4))
    office.transport.deliveries = [Delivery(status="uncertain", detail="lost after the dot")]
    office.stages.send(record.mail_id)
    folders.there = {record.message_id}
    keeper(office, folders, sent_copies="provider").look_after()
    now = office.store.outbox.get(record.id)
    assert now is not None
    assert now.status is OutboxStatus.SENT


@pytest.mark.parametrize("is_there", [True, False])
def test_s62_an_uncertain_mail_that_the_provider_filed_went_out(office: Office, is_there: bool) -> None:
    """S62: only where the provider files what it sends; what is not there proves nothing."""
    folders, record = FakeFolders(), answer(office, "uncertain")
    folders.there = {record.message_id} if is_there else set()
    keeper(office, folders, sent_copies="provider").look_after()
    now = office.store.outbox.get(record.id)
    assert now is not None
    assert now.status is (OutboxStatus.SENT if is_there else OutboxStatus.UNCERTAIN)
    assert [told.by for told in office.store.deliveries.of(record.id)] == [DeliverySource.SENT_FOLDER] * is_there


def test_s62_a_copy_of_an_uncertain_mail_that_we_would_have_filed_shows_that_it_went_out(office: Office) -> None:
    """The agent files a copy only of what was sent: a store that was lost knew it."""
    folders, record = FakeFolders(), answer(office, "uncertain")
    folders.there = {record.message_id}
    keeper(office, folders).look_after()
    now = office.store.outbox.get(record.id)
    assert now is not None
    assert now.status is OutboxStatus.SENT
