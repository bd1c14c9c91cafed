"""Waiting for mail in IDLE on a real Dovecot, and looking after other folders; rows S33, S62 and S66."""

from __future__ import annotations

import io
import threading
import time
from datetime import UTC, datetime
from itertools import count
from threading import Event

import pytest

from support_agent.config.mail_servers import ImapSettings, Security
from support_agent.errors import ConfigError, TransientError
from support_agent.transport import imap
from support_agent.transport.mailbox import Mailbox
from support_agent.transport.mailbox_watcher import Watch
from tests.integration.transport.test_mailbox import mail, put
from tests.servers.certificates import Certificates
from tests.servers.dovecot import NO_MOVE, Dovecot, running_dovecot
from tests.servers.imap_script import scripted_imap

NUMBERS = count(1)
LONG_S = 20.0
SOON_S = 5.0
"""Far less than the half minute after which Dovecot looks by itself, far more than it takes."""
SELECTED = b"* 0 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 1] x\r\n%t OK [READ-WRITE] done\r\n"
CAN_IDLE = ("CAPABILITY", b"* CAPABILITY IMAP4rev1 IDLE\r\n%t OK done\r\n")


@pytest.fixture
def user() -> str:
    """A user whose mailbox nobody has touched."""
    return f"idle-{next(NUMBERS)}@harborfile.example"


def never() -> bool:
    return False


@pytest.mark.servers
@pytest.mark.parametrize("security", [Security.TLS, Security.PLAIN])
def test_s33_mail_that_comes_ends_the_wait(dovecot: Dovecot, user: str, security: Security) -> None:
    """Over TLS too; afterwards the connection reads on, and waits again."""
    port = dovecot.imaps_port if security is Security.TLS else dovecot.imap_port
    with Mailbox(dovecot.settings(user, security=security, port=port)) as mailbox:
        assert mailbox.can_idle
        for number in (1, 2):
            later = threading.Timer(0.2, put, (dovecot, user, mail(number)))
            later.start()
            assert mailbox.wait(LONG_S, never)
            later.join()
            assert len(list(mailbox.fetch_after(mailbox.resume(None)))) == number
        assert not mailbox.wait(0.05, never)
        assert len(list(mailbox.fetch_after(mailbox.resume(None)))) == 2


@pytest.mark.servers
def test_s33_mail_that_came_before_the_wait_ends_it_at_once(dovecot: Dovecot, user: str) -> None:
    """Between the last look and IDLE: the server tells with its first answer, often in the same packet."""
    with Mailbox(dovecot.settings(user)) as mailbox:
        for number in range(1, 6):
            put(dovecot, user, mail(number))
            assert mailbox.wait(LONG_S, never)
            assert len(list(mailbox.fetch_after(mailbox.resume(None)))) == number


def test_s33_what_comes_in_one_packet_with_the_answer_to_idle_is_heard() -> None:
    """It stands in the reader's buffer, where no socket tells of it."""
    rules = (CAN_IDLE, ("SELECT", SELECTED), ("IDLE", b"+ idling\r\n* 1 EXISTS\r\n"), ("DONE", b"%t OK done\r\n"))
    with scripted_imap(*rules) as server, Mailbox(scripted(server.port)) as mailbox:
        assert mailbox.wait(LONG_S, never)


def test_what_is_private_to_the_libraries_is_as_it_was() -> None:
    """What is not read yet is seen in the reader, and stays there for the library; names may go out in UTF-8."""
    rules = (("NOOP", b"* 1 EXISTS\r\n%t OK done\r\n* 2 EXISTS\r\n"),)
    with scripted_imap(*rules) as server:
        client = imap.connect(scripted(server.port))
        assert type(imap._reader(client)) is io.BufferedReader
        assert imap._reader(client) is client._imap.file
        timeout_s = client.socket().gettimeout()
        assert client.noop()[1] == [(1, b"EXISTS")]
        assert imap.wait_for_input(client, 0)
        assert imap._reader(client).peek(1).startswith(b"* 2 EXISTS")
        assert client.socket().gettimeout() == timeout_s == scripted(server.port).timeout_s
        assert client.noop()[1][0] == (2, b"EXISTS")
        assert client._imap._encoding == "ascii"
        imap._speak_utf8(client)
        assert client._imap._encoding == "utf-8"
        client.shutdown()


def test_wait_ends_soon_when_the_program_is_to_stop() -> None:
    """A server that says nothing: a real one may send an untagged line of its own at any time and end the wait."""
    stop = threading.Event()
    rules = (CAN_IDLE, ("SELECT", SELECTED), ("IDLE", b"+ idling\r\n"), ("DONE", b"%t OK done\r\n"))
    with scripted_imap(*rules) as server, Mailbox(scripted(server.port)) as mailbox:
        threading.Timer(0.2, stop.set).start()
        assert not mailbox.wait(3600, stop.is_set)


@pytest.mark.servers
def test_s33_watch_hears_of_mail_long_before_it_would_look(dovecot: Dovecot, user: str) -> None:
    """Mail comes while the agent waits, the next look an hour away: IDLE ends the wait, and that mail is read."""
    assert watch_until_mail(dovecot, user, poll_interval_s=3600.0) < SOON_S


@pytest.mark.servers
@pytest.mark.parametrize("idle", [True, False])
def test_s33_watch_looks_by_itself_where_the_server_does_not_tell(
    certificates: Certificates, user: str, idle: bool
) -> None:
    """Poll as the safety net: where IDLE is not offered, or the settings forbid it."""
    with running_dovecot(certificates, NO_MOVE) as dovecot:
        assert watch_until_mail(dovecot, user, poll_interval_s=0.1, idle=idle) < LONG_S


def watch_until_mail(dovecot: Dovecot, user: str, **imap: object) -> float:
    """A watch of a mailbox into which a mail comes while it waits: the seconds from there until it is read."""
    settings, stop = dovecot.settings(user, **imap), Event()
    came_at: list[float] = []
    read: list[bytes] = []

    def look(mailbox: Mailbox) -> int:
        mails = list(mailbox.fetch_after(mailbox.resume(None)))
        read.extend(item.raw for item in mails)
        return len(mails)

    def come() -> None:
        came_at.append(time.monotonic())
        put(dovecot, user, mail(1))

    with Watch(settings, lambda: Mailbox(settings), time.monotonic, lambda: 0.5) as watch:
        watch.fetch(look)
        assert read == []
        later = threading.Timer(0.3, come)
        later.start()
        while not read:
            watch.wait(stop)
            watch.fetch(look)
            assert not came_at or time.monotonic() - came_at[0] < LONG_S
        seen_at = time.monotonic()
        later.join()
    assert read == [mail(1)]
    return seen_at - came_at[0]


@pytest.mark.servers
def test_server_that_does_not_offer_idle_is_known(certificates: Certificates, user: str) -> None:
    with running_dovecot(certificates, NO_MOVE) as dovecot, Mailbox(dovecot.settings(user)) as mailbox:
        assert not mailbox.can_idle


def scripted(port: int) -> ImapSettings:
    return ImapSettings(host="localhost", port=port, security=Security.PLAIN, user="a", timeout_s=0.3)


@pytest.mark.parametrize(
    "answer", [b"", b"%t NO not now\r\n", b"%t BAD what\r\n", b"* 3 EXISTS\r\n", b"nonsense\r\n", b"* BYE\r\n"]
)
def test_s33_idle_that_the_server_only_says_it_can_fails_soon(answer: bytes) -> None:
    """As an error that passes: the loop goes on by polling."""
    rules = (CAN_IDLE, ("SELECT", SELECTED), ("IDLE", answer))
    with scripted_imap(*rules) as server, Mailbox(scripted(server.port)) as mailbox, pytest.raises(TransientError):
        mailbox.wait(0.3, never)


@pytest.mark.servers
def test_s66_copy_is_filed_as_read_and_found_by_its_message_id(dovecot: Dovecot, user: str) -> None:
    """And the folder that is read stays open."""
    put(dovecot, user, mail(1))
    put(dovecot, user, mail(2), folder="Sent")
    sent_at = datetime(2026, 11, 20, 12, tzinfo=UTC)
    with Mailbox(dovecot.settings(user)) as mailbox:
        sent = mailbox.special_folder("\\Sent")
        assert sent == "Sent"
        assert [mailbox.has_message_id(sent, id_) for id_ in ("<2@t>", "<7@t>", "<ü@t>")] == [True, False, False]
        mailbox.append(sent, mail(7), sent_at)
        assert mailbox.has_message_id(sent, "<7@t>")
        assert [item.raw for item in mailbox.fetch_after(mailbox.resume(None))] == [mail(1)]
        with pytest.raises(ConfigError, match="folder 'Nowhere'"):
            mailbox.has_message_id("Nowhere", "<7@t>")
        assert len(list(mailbox.fetch_after(mailbox.resume(None)))) == 1
    with dovecot.as_person(user, "Sent") as person:
        told = person.fetch(person.search(["HEADER", "Message-ID", "<7@t>"]), ["FLAGS", "INTERNALDATE", "BODY.PEEK[]"])
        (filed,) = told.values()
    assert b"\\Seen" in filed[b"FLAGS"]
    assert filed[b"BODY[]"] == mail(7)
    assert filed[b"INTERNALDATE"].astimezone(UTC) == sent_at


@pytest.mark.servers
@pytest.mark.parametrize("id_", ["<(7)@t>", "<{7}@t>", "<7)%*@t>", '<"7\\"@t>', "<7]@t>"])
def test_s66_any_message_id_that_a_customer_may_write_is_found(dovecot: Dovecot, user: str, id_: str) -> None:
    """Characters that IMAP reserves made the server refuse the search, and with it every later one of the round."""
    put(dovecot, user, mail(7).replace(b"<7@t>", id_.encode()), folder="Sent")
    answer = b"In-Reply-To: " + id_.encode() + b"\r\n" + mail(8)
    put(dovecot, user, answer, folder="Sent")
    with Mailbox(dovecot.settings(user)) as mailbox:
        assert mailbox.has_message_id("Sent", id_)
        assert mailbox.answers_to("Sent", id_) == [answer]


@pytest.mark.servers
def test_s66_folder_that_is_not_there_is_none(dovecot: Dovecot, user: str) -> None:
    with Mailbox(dovecot.settings(user)) as mailbox:
        assert mailbox.special_folder("\\Archive") is None
