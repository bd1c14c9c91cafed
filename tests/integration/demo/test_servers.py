"""The demo's servers, through the clients that the agent uses: imapclient and smtplib."""

from __future__ import annotations

import smtplib
import socket
import threading
from collections.abc import Iterator

import pytest
from imapclient import IMAPClient  # type: ignore[import-untyped]
from imapclient.exceptions import LoginError  # type: ignore[import-untyped]

from support_agent.demo import SUPPORT_ADDRESS, read_mails
from support_agent.demo.servers import DemoServers, Received

MAIL = b"From: <anna.keller@example.net>\r\nSubject: Seats\r\nMessage-ID: <m1@example.net>\r\n\r\nMany?\r\n"
HANDLED = "Handled"


@pytest.fixture
def servers() -> Iterator[DemoServers]:
    """Both servers, running."""
    with DemoServers(user=SUPPORT_ADDRESS, password="s3cret with space") as running:
        yield running


@pytest.fixture
def mailbox(servers: DemoServers) -> Iterator[IMAPClient]:
    """A signed-in client with INBOX open."""
    with client(servers) as signed_in:
        signed_in.login(servers.user, servers.password)
        signed_in.select_folder("INBOX")
        yield signed_in


def client(servers: DemoServers) -> IMAPClient:
    return IMAPClient(servers.host, port=servers.imap_port, ssl=False, timeout=10)


def uids(mailbox: IMAPClient) -> list[int]:
    found: list[int] = mailbox.search("ALL")
    return found


def test_each_demo_mail_comes_out_of_the_mailbox_with_its_own_bytes(servers: DemoServers) -> None:
    """What is fetched is what was delivered, byte for byte, in the order of delivery."""
    delivered = {servers.deliver(raw): raw for _, raw in read_mails()}
    with client(servers) as mailbox:
        mailbox.login(servers.user, servers.password)
        mailbox.select_folder("INBOX", readonly=True)
        fetched = mailbox.fetch(uids(mailbox), ["BODY.PEEK[]", "RFC822.SIZE"])
    assert {uid: data[b"BODY[]"] for uid, data in fetched.items()} == delivered
    assert {uid: data[b"RFC822.SIZE"] for uid, data in fetched.items()} == {
        uid: len(raw) for uid, raw in delivered.items()
    }
    assert list(delivered) == sorted(delivered)
    assert len(delivered) >= 12


@pytest.mark.parametrize(
    "raw",
    [b"", b"\r\n", b"no header at all", b"Subject: x\r\n\r\nbare\nLF, NUL \x00, \xff\r\n", b"x" * 300_000],
    ids=["empty", "blank", "no_header", "odd_bytes", "one_long_line"],
)
def test_broken_bytes_stay_as_they_are(servers: DemoServers, mailbox: IMAPClient, raw: bytes) -> None:
    """The mailbox mends nothing: what the agent must cope with reaches it."""
    uid = servers.deliver(raw)
    mailbox.noop()
    assert mailbox.fetch([uid], ["BODY.PEEK[]"])[uid][b"BODY[]"] == raw


def test_a_mail_delivered_while_the_folder_is_open_is_found_by_polling(
    servers: DemoServers, mailbox: IMAPClient
) -> None:
    """UIDs only ever grow, and `n:*` returns the last mail when nothing is new (RFC 3501 6.4.8)."""
    first = servers.deliver(MAIL)
    mailbox.noop()
    assert uids(mailbox) == [first]
    second = servers.deliver(MAIL)
    mailbox.noop()
    assert mailbox.search(["UID", f"{first + 1}:*"]) == [second]
    assert mailbox.search(["UID", f"{second + 1}:*"]) == [second]
    assert second > first


def test_reading_with_peek_leaves_a_mail_unread(servers: DemoServers, mailbox: IMAPClient) -> None:
    """BODY.PEEK[] sets no \\Seen; BODY[] does, so that the difference can be tested here."""
    uid = servers.deliver(MAIL)
    mailbox.noop()
    mailbox.fetch([uid], ["BODY.PEEK[]"])
    assert b"\\Seen" not in mailbox.get_flags([uid])[uid]
    mailbox.fetch([uid], ["BODY[]"])
    assert b"\\Seen" in mailbox.get_flags([uid])[uid]


def test_the_uid_validity_stays_for_as_long_as_the_servers_run(servers: DemoServers) -> None:
    """Two connections see the same UIDVALIDITY, so that a cursor holds."""
    seen = set()
    for _ in range(2):
        with client(servers) as mailbox:
            mailbox.login(servers.user, servers.password)
            seen.add(mailbox.select_folder("INBOX")[b"UIDVALIDITY"])
    assert len(seen) == 1


def test_a_mail_can_be_copied_moved_and_expunged_by_uid(servers: DemoServers, mailbox: IMAPClient) -> None:
    """MOVE and UIDPLUS are there; a folder that is not there must be created first (TRYCREATE)."""
    assert mailbox.has_capability("MOVE")
    assert mailbox.has_capability("UIDPLUS")
    copied, moved, left = (servers.deliver(MAIL) for _ in range(3))
    mailbox.noop()
    with pytest.raises(IMAPClient.Error, match="TRYCREATE"):
        mailbox.move([moved], HANDLED)
    mailbox.create_folder(HANDLED)
    mailbox.move([moved], HANDLED)
    mailbox.copy([copied], HANDLED)
    mailbox.add_flags([copied], [b"\\Deleted"])
    mailbox.uid_expunge([copied])
    assert uids(mailbox) == [left]
    assert mailbox.select_folder(HANDLED)[b"EXISTS"] == 2


def test_keywords_and_idle_are_not_offered(servers: DemoServers, mailbox: IMAPClient) -> None:
    """Only system flags are kept: no `\\*` in PERMANENTFLAGS; a keyword is dropped, not refused."""
    uid = servers.deliver(MAIL)
    opened = mailbox.select_folder("INBOX")
    assert b"\\*" not in opened[b"PERMANENTFLAGS"]
    mailbox.add_flags([uid], ["$Handled", b"\\Flagged"])
    assert mailbox.get_flags([uid])[uid] == (b"\\Flagged",)
    assert not mailbox.has_capability("IDLE")
    assert not mailbox.has_capability("UNSELECT")


def test_sent_takes_a_copy_that_is_found_by_its_message_id(servers: DemoServers, mailbox: IMAPClient) -> None:
    """A folder Sent exists and is empty; what is appended is found again by its Message-ID."""
    assert mailbox.select_folder("Sent")[b"EXISTS"] == 0
    mailbox.append("Sent", MAIL, flags=[b"\\Seen"])
    found = mailbox.search(["HEADER", "Message-ID", "<m1@example.net>"])
    assert mailbox.fetch(found, ["BODY.PEEK[]", "FLAGS"])[found[0]][b"BODY[]"] == MAIL
    assert mailbox.search(["HEADER", "Message-ID", "<m2@example.net>"]) == []


@pytest.mark.parametrize(("user", "password"), [(SUPPORT_ADDRESS, "wrong"), ("nobody", "s3cret with space")])
def test_a_wrong_user_or_password_is_refused(servers: DemoServers, user: str, password: str) -> None:
    """IMAP and SMTP refuse the same wrong sign-ins."""
    mailbox = client(servers)
    with pytest.raises(LoginError):
        mailbox.login(user, password)
    mailbox.shutdown()
    with smtp(servers) as sender, pytest.raises(smtplib.SMTPAuthenticationError):
        sender.login(user, password)


def test_accepted_mail_is_kept_for_each_of_its_recipients(servers: DemoServers) -> None:
    """Envelope and bytes are kept in the order of arrival, leading dots included (RFC 5321 4.5.2)."""
    dots = b"Subject: dots\r\n\r\n.one\r\n..two\r\n.\r\nend\r\n"
    with smtp(servers) as sender:
        sender.login(servers.user, servers.password)
        sender.sendmail(SUPPORT_ADDRESS, ["anna.keller@example.net"], dots)
        sender.sendmail("", ["Desk@harborfile.example", "anna.keller@example.net"], MAIL)
    first = Received(SUPPORT_ADDRESS, ("anna.keller@example.net",), dots)
    second = Received("", ("Desk@harborfile.example", "anna.keller@example.net"), MAIL)
    assert servers.received() == (first, second)
    assert servers.received_by("desk@harborfile.example") == (second,)
    assert servers.received_by("anna.keller@example.net") == (first, second)
    assert servers.received_by("tom.becker@example.com") == ()


def test_a_line_too_long_for_smtp_is_refused(servers: DemoServers) -> None:
    """RFC 5321 4.5.3.1.6: a body line over 998 octets is the sender's mistake, and it shows."""
    with smtp(servers) as sender, pytest.raises(smtplib.SMTPDataError):
        sender.sendmail(SUPPORT_ADDRESS, ["anna.keller@example.net"], b"\r\n" + b"x" * 1_500 + b"\r\n")
    assert servers.received() == ()


def test_nothing_is_printed_by_the_libraries(servers: DemoServers, capfd: pytest.CaptureFixture[str]) -> None:
    """stdout and stderr belong to the demo, also when a client goes away without a word."""
    mailbox = client(servers)
    mailbox.login(servers.user, servers.password)
    with smtp(servers) as sender:
        sender.login(servers.user, servers.password)
    mailbox.shutdown()
    servers.close()
    assert capfd.readouterr() == ("", "")


def test_closing_ends_connections_frees_the_ports_and_leaves_no_thread() -> None:
    """Clients in the middle of something do not hold the servers up."""
    before = set(threading.enumerate())
    with DemoServers() as servers:
        mailbox = client(servers)
        mailbox.login(servers.user, servers.password)
        sender = smtp(servers)
        sender.docmd("MAIL", "FROM:<a@example.net>")
        assert set(threading.enumerate()) != before
    assert set(threading.enumerate()) == before
    for port in (servers.imap_port, servers.smtp_port):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((servers.host, port), timeout=5)
    with pytest.raises((ConnectionError, IMAPClient.AbortError)):
        mailbox.noop()
    with pytest.raises(smtplib.SMTPServerDisconnected):
        sender.noop()
    mailbox.shutdown()
    sender.close()
    servers.close()


def test_delivering_to_servers_that_do_not_run_says_so() -> None:
    """No hanging, no silent loss."""
    servers = DemoServers()
    with pytest.raises(RuntimeError, match="not running"):
        servers.deliver(MAIL)
    assert servers.received() == ()


def test_two_pairs_of_servers_run_beside_each_other() -> None:
    """Ports are free ones, and neither sees the other's mails."""
    with DemoServers() as one, DemoServers() as other:
        assert len({one.imap_port, one.smtp_port, other.imap_port, other.smtp_port}) == 4
        one.deliver(MAIL)
        with client(other) as mailbox:
            mailbox.login(other.user, other.password)
            assert mailbox.select_folder("INBOX")[b"EXISTS"] == 0


def smtp(servers: DemoServers) -> smtplib.SMTP:
    return smtplib.SMTP(servers.host, servers.smtp_port, timeout=10)
