"""The mailbox against a real Dovecot; rows S30 to S32, S36 and S37."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from threading import Event

import pytest
from pydantic import SecretStr

from support_agent.config.mail_servers import ImapSettings, Security
from support_agent.core.cursor import Cursor
from support_agent.errors import ConfigError, TransientError
from support_agent.mail.message import parse
from support_agent.pipeline import handle
from support_agent.transport.mailbox import HANDLED_KEYWORD, Fetched, Mailbox
from support_agent.workflow.worker import Worker
from tests.fakes_journey import ANNA, JAMES, Office, once, write
from tests.fakes_worker import InlineEngine
from tests.servers.certificates import Certificates
from tests.servers.dovecot import NO_MOVE, NO_MOVE_NO_UIDPLUS, Dovecot, free_port, running_dovecot
from tests.servers.imap_script import DRIPPING, OK, scripted_imap

pytestmark = pytest.mark.servers
NUMBERS = count(1)


@pytest.fixture
def user() -> str:
    """A user whose mailbox nobody has touched."""
    return f"user-{next(NUMBERS)}@harborfile.example"


def mail(number: int, body: str = "hello") -> bytes:
    head = f"From: a@example.net\r\nSubject: mail {number}\r\nMessage-ID: <{number}@t>\r\n\r\n"
    return f"{head}{body}\r\n".encode()


def put(dovecot: Dovecot, user: str, *raws: bytes, folder: str = "INBOX") -> None:
    with dovecot.as_person(user, folder) as person:
        for raw in raws:
            person.append(folder, raw)


def fetch(settings: ImapSettings, cursor: Cursor | None) -> list[Fetched]:
    with Mailbox(settings) as mailbox:
        return list(mailbox.fetch_after(mailbox.resume(cursor)))


def test_s30_reads_what_comes_after_the_cursor_and_nothing_twice(dovecot: Dovecot, user: str) -> None:
    """RFC 3501, 6.4.8: "n:*" names the newest mail even when nothing is new; that one is dropped."""
    put(dovecot, user, mail(1), mail(2))
    settings = dovecot.settings(user)
    first = fetch(settings, None)
    assert [parse(item.raw).subject for item in first] == ["mail 1", "mail 2"]
    assert [item.cursor.last_uid for item in first] == [item.uid for item in first]
    assert fetch(settings, first[-1].cursor) == []
    put(dovecot, user, mail(3))
    assert [parse(item.raw).subject for item in fetch(settings, first[-1].cursor)] == ["mail 3"]
    assert [parse(item.raw).subject for item in fetch(settings, first[0].cursor)] == ["mail 2", "mail 3"]


def test_s30_an_open_connection_sees_mail_that_comes_later(dovecot: Dovecot, user: str) -> None:
    with Mailbox(dovecot.settings(user)) as mailbox:
        assert list(mailbox.fetch_after(mailbox.resume(None))) == []
        put(dovecot, user, mail(1))
        assert len(list(mailbox.fetch_after(mailbox.resume(None)))) == 1


def test_s30_the_raw_bytes_are_those_of_the_mail(dovecot: Dovecot, user: str) -> None:
    raw = mail(1, "caf\u00e9 " * 5000)
    put(dovecot, user, raw)
    assert fetch(dovecot.settings(user), None)[0].raw == raw


def test_s31_a_changed_uid_validity_reads_all_again_and_says_so(dovecot: Dovecot, user: str) -> None:
    put(dovecot, user, mail(1), mail(2), folder="Support")
    settings = dovecot.settings(user, folder="Support")
    before = fetch(settings, None)[-1].cursor
    stale = before.model_copy(update={"uid_validity": before.uid_validity - 1, "last_uid": 999})
    again = fetch(settings, stale)
    assert [parse(item.raw).message_id for item in again] == ["<1@t>", "<2@t>"]
    assert all(item.is_rescan and item.cursor.uid_validity == before.uid_validity for item in again)
    assert fetch(settings, again[-1].cursor) == []


def test_s31_folder_that_was_made_anew_is_read_again_and_nothing_is_answered_again(
    dovecot: Dovecot, user: str, office: Office
) -> None:
    """Restored from a backup: other UIDVALIDITY, the mails in another order and with other bytes. What is new there
    is answered.
    """
    office.clock = lambda: datetime.now(UTC)  # as the server's, which dates the mails
    mails = [write("Can I get a refund?"), write("How do I cancel?", sender=JAMES)]
    put(dovecot, user, *mails, folder="Support")
    live(dovecot.settings(user, folder="Support"), office)
    assert [recipient for recipient, _ in office.transport.given] == [ANNA, JAMES]
    before = office.store.cursors.get("Support")
    with dovecot.as_person(user) as person:
        person.delete_folder("Support")
    put(dovecot, user, *(b"X-Restored: yes\r\n" + raw for raw in reversed(mails)), folder="Support")
    put(dovecot, user, write("Can I get a refund?", sender="new@example.net"), folder="Support")
    for _ in range(2):
        live(dovecot.settings(user, folder="Support"), office)
    after = office.store.cursors.get("Support")
    assert before is not None
    assert after is not None
    assert before.uid_validity != after.uid_validity
    assert [recipient for recipient, _ in office.transport.given] == [ANNA, JAMES, "new@example.net"]


def live(imap: ImapSettings, office: Office) -> None:
    """One life of an agent on the mailbox."""
    settings = office.settings.model_copy(update={"imap": imap})
    engine = InlineEngine(lambda mail_id: handle(mail_id, once(), office.stages))
    agent = Worker(settings, office.store, office.wired, engine, lambda: Mailbox(imap), office.clock)
    agent.run_once(Event())


def test_s32_reading_leaves_the_unread_state_and_marking_sets_only_the_keyword(dovecot: Dovecot, user: str) -> None:
    """BODY.PEEK[]: what is unread for a person stays unread."""
    put(dovecot, user, mail(1))
    with Mailbox(dovecot.settings(user)) as mailbox:
        (item,) = mailbox.fetch_after(mailbox.resume(None))
        mailbox.mark_handled(item.uid)
    with dovecot.as_person(user) as person:
        flags = person.get_flags(person.search())
        assert [set(of_one) - {b"\\Recent"} for of_one in flags.values()] == [{HANDLED_KEYWORD}]


def test_s32_a_handled_mail_moves_to_the_folder_which_is_made_where_missing(dovecot: Dovecot, user: str) -> None:
    check_move(dovecot, user)


def test_s32_without_move_one_uid_is_copied_and_expunged_and_others_deleted_mails_stay(
    certificates: Certificates, user: str
) -> None:
    """RFC 4315: UID EXPUNGE. A bare EXPUNGE would take the mail that a person has marked."""
    with running_dovecot(certificates, NO_MOVE) as dovecot:
        check_move(dovecot, user)


def check_move(dovecot: Dovecot, user: str) -> None:
    put(dovecot, user, mail(1), mail(2))
    with dovecot.as_person(user) as person:
        person.add_flags(person.search(["SUBJECT", "mail 1"]), [b"\\Deleted"])
    with Mailbox(dovecot.settings(user, move_handled_to="Handled")) as mailbox:
        for item in mailbox.fetch_after(mailbox.resume(None)):
            if parse(item.raw).subject == "mail 2":
                mailbox.mark_handled(item.uid)
    with dovecot.as_person(user) as person:
        assert len(person.search(["SUBJECT", "mail 1"])) == 1
        assert len(person.search()) == 1
        person.select_folder("Handled")
        (uid,) = person.search()
        assert set(person.get_flags([uid])[uid]) - {b"\\Recent"} == {HANDLED_KEYWORD}


def test_s32_without_uidplus_the_mail_stays_in_place(certificates: Certificates, user: str) -> None:
    with running_dovecot(certificates, NO_MOVE_NO_UIDPLUS) as dovecot:
        put(dovecot, user, mail(1))
        with Mailbox(dovecot.settings(user, move_handled_to="Handled")) as mailbox:
            (item,) = mailbox.fetch_after(mailbox.resume(None))
            mailbox.mark_handled(item.uid)
        with dovecot.as_person(user) as person:
            (uid,) = person.search()
            assert HANDLED_KEYWORD in person.get_flags([uid])[uid]


def test_s37_a_mail_over_the_size_limit_comes_as_its_header_with_a_defect(dovecot: Dovecot, user: str) -> None:
    put(dovecot, user, mail(1, "x" * 20_000), mail(2))
    big, small = fetch(dovecot.settings(user, max_message_bytes=10_000), None)
    assert parse(big.raw).subject == "mail 1"
    assert [defect for defect in parse(big.raw).defects if defect.startswith("limit: ")]
    assert len(big.raw) < 300
    assert (parse(small.raw).subject, parse(small.raw).defects) == ("mail 2", ())


def test_a_mail_that_goes_while_the_folder_is_read_is_left_out(dovecot: Dovecot, user: str) -> None:
    """Three mails that are too large to be read together; another client takes the second one away."""
    put(dovecot, user, *(mail(number, "word " * 150_000) for number in (1, 2, 3)))
    with Mailbox(dovecot.settings(user)) as mailbox:
        mails = mailbox.fetch_after(mailbox.resume(None))
        assert parse(next(mails).raw).subject == "mail 1"
        with dovecot.as_person(user) as person:
            person.delete_messages(person.search(["SUBJECT", "mail 2"]))
            person.expunge()
        assert [parse(item.raw).subject for item in mails] == ["mail 3"]


def test_a_first_start_can_leave_old_mail_alone(dovecot: Dovecot, user: str) -> None:
    put(dovecot, user, mail(1), mail(2))
    with Mailbox(dovecot.settings(user)) as mailbox:
        end = mailbox.end()
        put(dovecot, user, mail(3))
        assert [parse(item.raw).subject for item in mailbox.fetch_after(mailbox.resume(end))] == ["mail 3"]


def test_s36_starttls_works_and_is_verified(dovecot: Dovecot, user: str, certificates: Certificates) -> None:
    put(dovecot, user, mail(1))
    starttls = {"port": dovecot.imap_port, "security": Security.STARTTLS}
    assert len(fetch(dovecot.settings(user, **starttls), None)) == 1
    with pytest.raises(ConfigError, match=r"imap\.ca_file"):
        fetch(dovecot.settings(user, ca_file=certificates.stranger, **starttls), None)


def test_s36_a_certificate_of_a_stranger_or_for_another_name_is_refused(
    dovecot: Dovecot, user: str, certificates: Certificates
) -> None:
    for wrong in ({"ca_file": certificates.stranger}, {"ca_file": None}, {"host": "127.0.0.1"}):
        with pytest.raises(ConfigError, match=r"certificate of .* cannot be verified"):
            fetch(dovecot.settings(user, **wrong), None)


def test_a_wrong_password_says_what_to_check_and_does_not_show_it(dovecot: Dovecot, user: str) -> None:
    with pytest.raises(ConfigError, match=r"imap\.user and imap\.password") as caught:
        fetch(dovecot.settings(user, password=SecretStr("wrong-secret")), None)
    assert "wrong-secret" not in str(caught.value)
    assert "([AUTHENTICATIONFAILED] Authentication failed.)" in str(caught.value)


def test_a_password_need_not_be_ascii(certificates: Certificates, user: str) -> None:
    """RFC 4616. Failure: the login ended as "answered what is not IMAP: UnicodeEncodeError", for ever."""
    password = "pässwort-€"
    with running_dovecot(certificates, password=password) as server:
        fetch(server.settings(user, password=SecretStr(password)), None)
        with pytest.raises(ConfigError, match=r"imap\.user and imap\.password"):
            fetch(server.settings(user, password=SecretStr("wröng")), None)


def test_a_folder_that_is_not_there_is_a_matter_of_configuration(dovecot: Dovecot, user: str) -> None:
    with pytest.raises(ConfigError, match="folder 'Nowhere'"):
        fetch(dovecot.settings(user, folder="Nowhere"), None)


def test_a_server_that_is_not_there_may_come_back(dovecot: Dovecot, user: str) -> None:
    with pytest.raises(TransientError, match="cannot be used now"):
        fetch(dovecot.settings(user, port=free_port()), None)


def test_a_file_that_holds_no_certificates_is_a_matter_of_configuration(
    dovecot: Dovecot, user: str, tmp_path: Path
) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    with pytest.raises(ConfigError, match=r"imap\.ca_file"):
        fetch(dovecot.settings(user, ca_file=tmp_path / "ca.pem"), None)


@pytest.fixture
def dead_port() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


def test_a_server_that_hangs_is_given_up_after_the_timeout(dead_port: int) -> None:
    settings = ImapSettings(host="localhost", port=dead_port, security=Security.PLAIN, timeout_s=0.2)
    with pytest.raises(TransientError):
        fetch(settings, None)


@pytest.mark.parametrize("uid_validity", [b"-1", b"4294967296", b"99999999999999999999"])
def test_a_uidvalidity_that_cannot_be_is_refused(uid_validity: bytes) -> None:
    """Failure: an error that nobody expected ended the worker."""
    selected = b"* 1 EXISTS\r\n* OK [UIDVALIDITY %b] x\r\n%%t OK [READ-WRITE] in\r\n" % uid_validity
    with scripted_imap(("SELECT", selected)) as server:
        plain = {"host": "127.0.0.1", "port": server.port, "security": Security.PLAIN, "user": "u", "password": "p"}
        with Mailbox(ImapSettings.model_validate(plain)) as mailbox, pytest.raises(TransientError, match="UIDVALIDITY"):
            mailbox.resume(None)


@pytest.mark.parametrize("command", ["LOGIN", "SELECT"])
def test_a_server_that_says_a_little_now_and_then_is_given_up(command: str) -> None:
    """Failure: the limit began anew with each byte, and the worker's loop waited, also with what was to be sent."""
    with scripted_imap((command, DRIPPING * 2 + OK("at last"))) as server:
        plain = {"host": "127.0.0.1", "port": server.port, "security": Security.PLAIN, "user": "u", "password": "p"}
        mailbox = Mailbox(ImapSettings.model_validate({**plain, "timeout_s": 0.1}))
        with pytest.raises(TransientError):
            mailbox.__enter__()
