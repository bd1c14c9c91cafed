"""Copies of what went out in the Sent folder of a real Dovecot, and what is found there; rows S62 and S66."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, timedelta
from itertools import count
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import col
from structlog.testing import capture_logs

from support_agent.config.mail_servers import ImapSettings, Security
from support_agent.outbound.sent_folder import BREAK, SentFolder
from support_agent.store.outbox import Outbox
from support_agent.store.records import DeliverySource, OutboxRecord, OutboxStatus, OutgoingKind
from support_agent.store.tables import OutboxRow
from support_agent.transport.mailbox import Mailbox
from support_agent.transport.submission import Delivery
from tests.fakes_journey import JAMES, NOON, Clock, Office, write
from tests.integration.transport.test_mailbox import mail, put
from tests.servers.certificates import Certificates
from tests.servers.dovecot import Dovecot, running_dovecot
from tests.servers.tcp_proxy import cutting_proxy

pytestmark = pytest.mark.servers
NUMBERS = count(1)
MARKED = "Gesendete Objekte & Grüße"
"""What the server marks as the folder for sent mail."""
STEP_BYTES = 797
"""Between two cuts; no divisor of anything."""
END_BYTES, END_STEP_BYTES = 300, 53
"""The end of a conversation, where the mail is there already and the client has not heard of it: cut more finely."""
GONE_S = 20.0


@pytest.fixture(scope="module")
def marking(certificates: Certificates) -> Iterator[Dovecot]:
    """A server that says which folder is the one for sent mail (RFC 6154)."""
    with running_dovecot(certificates, sent_folder=MARKED) as server:
        yield server


@pytest.fixture
def user() -> str:
    """A user whose mailbox nobody has touched."""
    return f"sent-{next(NUMBERS)}@harborfile.example"


def answer(office: Office, status: str = "sent", text: str = "Can I get a refund?") -> OutboxRecord:
    """An answer that has come to this."""
    office.transport.deliveries = [Delivery.model_validate({"status": status, "detail": "x"})]
    mail_id, _ = office.handle(write(text, sender=JAMES))
    return office.sent(mail_id)[OutgoingKind.ANSWER]


def look(office: Office, imap: ImapSettings) -> None:
    """What one process does: it knows nothing but the store."""
    SentFolder(office.store, imap, lambda: Mailbox(imap), office.clock).look_after()


def filed(dovecot: Dovecot, user: str, folder: str) -> list[dict[bytes, Any]]:
    """The mails of a folder, with their flags and dates."""
    with dovecot.as_person(user, folder) as person:
        uids = person.search()
        told = person.fetch(uids, ["FLAGS", "INTERNALDATE", "BODY.PEEK[]"]) if uids else {}
    return [told[uid] for uid in sorted(told)]


def is_copied(office: Office, record: OutboxRecord) -> bool:
    return record.id not in [row.id for row in office.store.deliveries.uncopied(NOON - timedelta(days=1), limit=50)]


def assert_copy(copy: dict[bytes, Any], record: OutboxRecord) -> None:
    """Byte by byte what went out, when it went out, and nothing that is new to anybody."""
    assert record.sent_at is not None
    assert copy[b"BODY[]"] == record.raw
    assert b"\\Seen" in copy[b"FLAGS"]
    assert copy[b"INTERNALDATE"].astimezone(UTC) == record.sent_at.replace(microsecond=0)


# Copies (S66)


def test_s66_copy_is_in_the_folder_that_the_server_marks(marking: Dovecot, user: str, office: Office) -> None:
    """RFC 6154, whatever its name; another one that is only called so stays empty. Once, however often it is looked."""
    record, imap = answer(office), marking.settings(user)
    with marking.as_person(user, "Sent"):
        pass  # is there now
    for _ in range(2):
        look(office, imap)
    (copy,) = filed(marking, user, MARKED)
    assert_copy(copy, record)
    assert is_copied(office, record)
    assert filed(marking, user, "Sent") == filed(marking, user, "INBOX") == []


@pytest.mark.parametrize("folder", ["Köln & お問い合わせ", "Archive.Sent & done"])
def test_s66_copy_is_in_the_folder_of_the_settings(marking: Dovecot, user: str, office: Office, folder: str) -> None:
    """In any language (RFC 3501, section 5.1.3), and though the server marks another."""
    record = answer(office)
    with marking.as_person(user, folder):
        pass  # is there now
    look(office, marking.settings(user, sent_folder=folder))
    (copy,) = filed(marking, user, folder)
    assert_copy(copy, record)
    assert filed(marking, user, MARKED) == []


def test_s66_process_that_died_between_copy_and_record_makes_no_second_copy(
    marking: Dovecot, user: str, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one finds the Message-ID in the folder, and records it."""
    record, other, imap = answer(office), answer(office, text="How do I cancel?"), marking.settings(user)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Outbox, "mark_copied", die)
        with pytest.raises(KeyboardInterrupt):
            look(office, imap)
    assert [copy[b"BODY[]"] for copy in filed(marking, user, MARKED)] == [record.raw]
    assert not is_copied(office, record)
    look(office, imap)
    assert [copy[b"BODY[]"] for copy in filed(marking, user, MARKED)] == [record.raw, other.raw]
    assert is_copied(office, record)
    assert is_copied(office, other)


def test_s66_connection_that_dies_at_any_byte_leaves_one_copy(marking: Dovecot, office: Office) -> None:
    """Cut after N bytes, for N from nothing to a whole conversation; then a new process looks."""
    record = answer(office)
    with cutting_proxy(marking.imap_port) as proxy:
        settings = {"port": proxy.port, "security": Security.PLAIN}
        look(office, marking.settings("sent-cut-0@harborfile.example", **settings))
        whole = proxy.passed
        for cut_after in (*range(0, whole, STEP_BYTES), *range(whole - END_BYTES, whole, END_STEP_BYTES)):
            user = f"sent-cut-{next(NUMBERS)}@harborfile.example"
            imap = marking.settings(user, **settings)
            forget_copy(office, record)
            proxy.cut_after = cut_after
            look(office, imap)
            wait_until_gone(marking, user)
            proxy.cut_after = None
            look(office, imap)
            assert is_copied(office, record)
            copies = [copy[b"BODY[]"] for copy in filed(marking, user, MARKED)]
            assert copies == [record.raw], f"cut after {cut_after} bytes"
        assert whole > len(record.raw)


def forget_copy(office: Office, record: OutboxRecord) -> None:
    with office.store.database.write() as connection:
        connection.execute(update(OutboxRow).where(col(OutboxRow.id) == record.id).values(copied_at=None))


def wait_until_gone(dovecot: Dovecot, user: str) -> None:
    """Until the server has noticed that a user's connection was cut: what it was told before it still does."""
    end = time.monotonic() + GONE_S
    while (
        user
        in subprocess.run(
            ["doveadm", "-c", dovecot.config, "who", "-1"], capture_output=True, text=True, check=True
        ).stdout
    ):
        assert time.monotonic() < end, "the server keeps a connection that was cut"
        time.sleep(0.01)


def test_s66_mailbox_without_a_folder_for_sent_mail_is_said_and_nothing_is_lost(
    dovecot: Dovecot, user: str, office: Office
) -> None:
    """What to do stands in the log, once a look; the copy is filed when there is one."""
    record, imap = answer(office), dovecot.settings(user)
    with capture_logs() as logs:
        look(office, imap)
    assert [(entry["event"], "set imap.sent_folder" in entry["todo"]) for entry in logs] == [("no_sent_folder", True)]
    assert not is_copied(office, record)
    with dovecot.as_person(user, "Sent"):
        pass  # is there now
    look(office, imap)
    assert_copy(filed(dovecot, user, "Sent")[0], record)


def test_s66_folder_of_the_settings_that_is_missing_is_named_and_nothing_is_lost(
    dovecot: Dovecot, user: str, office: Office
) -> None:
    """A misspelt name makes no folder; said once a look, however many mails wait, and the way on is named."""
    records = [answer(office), answer(office, text="How do I cancel?")]
    imap, clock = dovecot.settings(user, sent_folder="Grüße"), Clock(NOON + timedelta(minutes=1))
    sent_folder = SentFolder(office.store, imap, lambda: Mailbox(imap), clock)
    with capture_logs() as logs:
        sent_folder.look_after()
    (entry,) = logs
    assert (entry["event"], entry["code"]) == ("sent_folder_failed", "imap_folder")
    assert "'Grüße'" in entry["error"]
    with dovecot.as_person(user) as person:
        assert not person.folder_exists("Grüße")
        person.create_folder("Grüße")
    sent_folder.look_after()  # too soon
    assert filed(dovecot, user, "Grüße") == []
    clock.instant += BREAK
    sent_folder.look_after()
    assert [copy[b"BODY[]"] for copy in filed(dovecot, user, "Grüße")] == [record.raw for record in records]


# What the provider has filed (S62)


def test_s62_uncertain_mail_that_the_provider_filed_went_out(marking: Dovecot, user: str, office: Office) -> None:
    """In the folder that the server marks; one that is not there stays uncertain, and nothing is filed by us."""
    found, missing = answer(office, "uncertain"), answer(office, "uncertain", "How do I cancel?")
    sent = answer(office, "sent", "I forgot my password")
    put(marking, user, mail(1), found.raw, folder=MARKED)
    look(office, marking.settings(user, sent_copies="provider"))
    assert [status_of(office, record) for record in (found, missing)] == [OutboxStatus.SENT, OutboxStatus.UNCERTAIN]
    (settled,) = office.store.deliveries.of(found.id)
    assert settled.by is DeliverySource.SENT_FOLDER
    assert MARKED in settled.detail
    assert office.store.deliveries.of(missing.id) == ()
    assert sent.raw not in [copy[b"BODY[]"] for copy in filed(marking, user, MARKED)]


@pytest.mark.parametrize("where", ["INBOX", "a reply"])
def test_s62_mail_that_only_names_ours_proves_nothing(marking: Dovecot, user: str, office: Office, where: str) -> None:
    """A customer's copy in another folder, or a mail in reply to it: only our own Message-ID in that folder counts."""
    record = answer(office, "uncertain")
    if where == "INBOX":
        put(marking, user, record.raw)
    else:
        put(marking, user, f"In-Reply-To: {record.message_id}\r\n".encode() + mail(1), folder=MARKED)
    look(office, marking.settings(user, sent_copies="provider"))
    assert status_of(office, record) is OutboxStatus.UNCERTAIN


def test_s62_copy_that_comes_later_is_found_later(marking: Dovecot, user: str, office: Office) -> None:
    """The provider takes its time; it is looked at again after a pause, not at each round."""
    record, imap = answer(office, "uncertain"), marking.settings(user, sent_copies="provider")
    clock, opened = Clock(NOON + timedelta(minutes=1)), count()
    sent_folder = SentFolder(office.store, imap, opening(imap, opened), clock)
    for _ in range(3):
        sent_folder.look_after()
    assert next(opened) == 1
    put(marking, user, record.raw, folder=MARKED)
    clock.instant += BREAK
    sent_folder.look_after()
    assert status_of(office, record) is OutboxStatus.SENT


def opening(imap: ImapSettings, opened: Iterator[int]) -> Callable[[], Mailbox]:
    """Opens a mailbox and counts it."""

    def open_mailbox() -> Mailbox:
        next(opened)
        return Mailbox(imap)

    return open_mailbox


def status_of(office: Office, record: OutboxRecord) -> OutboxStatus:
    found = office.store.outbox.get(record.id)
    assert found is not None
    return found.status
