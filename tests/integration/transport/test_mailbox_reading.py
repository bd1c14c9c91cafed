"""Reading large, changing, read-only and foreign-named folders of a real Dovecot; rows S30, S32 and S37."""

from __future__ import annotations

import tracemalloc
from itertools import count

import pytest
from structlog.testing import capture_logs

from support_agent.config.mail_servers import ImapSettings, Security
from support_agent.mail.message import parse
from support_agent.transport import reading
from support_agent.transport.mailbox import Fetched, Mailbox
from tests.integration.transport.test_mailbox import mail, put
from tests.servers.certificates import Certificates
from tests.servers.dovecot import Dovecot, running_dovecot
from tests.servers.tcp_proxy import cutting_proxy

pytestmark = pytest.mark.servers
NUMBERS = count(1)
MANY = 3_000


@pytest.fixture
def user() -> str:
    """A user whose mailbox nobody has touched."""
    return f"reader-{next(NUMBERS)}@harborfile.example"


def fetch(settings: ImapSettings) -> list[Fetched]:
    with Mailbox(settings) as mailbox:
        return list(mailbox.fetch_after(mailbox.resume(None)))


def subjects(fetched: list[Fetched]) -> list[str]:
    return [parse(item.raw).subject for item in fetched]


def test_s30_a_large_mailbox_is_read_whole_and_in_order(dovecot: Dovecot, user: str) -> None:
    """Each once, in few commands; and a first start that leaves them alone asks for none of them."""
    dovecot.fill(user, (mail(number) for number in range(MANY)))
    with cutting_proxy(dovecot.imap_port) as proxy:
        settings = dovecot.settings(user, port=proxy.port, security=Security.PLAIN)
        with Mailbox(settings) as mailbox:
            end = mailbox.end()
            assert list(mailbox.fetch_after(end)) == []
            assert proxy.passed < 5_000
            assert mailbox.count_after(None) == MANY
            uids, raws = zip(*((item.uid, item.raw) for item in mailbox.fetch_after(mailbox.resume(None))), strict=True)
    assert list(raws) == [mail(number) for number in range(MANY)]
    assert list(uids) == sorted(set(uids))
    assert (uids[-1], end.last_uid) == (end.last_uid, MANY)


def test_memory_holds_one_batch_however_large_the_folder_is(dovecot: Dovecot, user: str) -> None:
    """60 mails of 0.9 MB are read with a few of them in memory at a time."""
    dovecot.fill(user, (mail(number, "word " * 180_000) for number in range(60)))
    with Mailbox(dovecot.settings(user)) as mailbox:
        tracemalloc.start()
        try:
            sizes = [len(item.raw) for item in mailbox.fetch_after(mailbox.resume(None))]
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert sum(sizes) > 54_000_000
    assert peak_bytes < 10_000_000


def test_s30_a_folder_is_searched_in_windows_that_meet_without_a_gap(
    dovecot: Dovecot, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to a search is one line, whose length is bounded; windows may be empty."""
    monkeypatch.setattr(reading, "SEARCH_WINDOW", 4)
    monkeypatch.setattr(reading, "LIST_BATCH", 2)
    monkeypatch.setattr(reading, "READ_BATCH", 2)
    put(dovecot, user, *(mail(number) for number in range(1, 25)))
    gone = (1, 4, 5, 9, 10, 11, 12, 13, 24)
    with dovecot.as_person(user) as person:
        person.delete_messages(gone)
        person.expunge()
    left = [number for number in range(1, 25) if number not in gone]
    with Mailbox(dovecot.settings(user)) as mailbox:
        for last_uid in (0, 3, 4, 8, 22, 23, 24, 99, 2**32 - 1):
            cursor = mailbox.resume(None).model_copy(update={"last_uid": last_uid})
            wanted = [number for number in left if number > last_uid]
            assert [item.uid for item in mailbox.fetch_after(cursor)] == wanted
            assert mailbox.count_after(cursor) == len(wanted)


def test_mail_that_arrives_while_the_folder_is_read_comes_once(dovecot: Dovecot, user: str) -> None:
    """In this round or in the next one."""
    put(dovecot, user, mail(1), mail(2))
    got = []
    with Mailbox(dovecot.settings(user)) as mailbox:
        for number, item in enumerate(mailbox.fetch_after(mailbox.resume(None)), start=3):
            got.append(item)
            put(dovecot, user, mail(number))
        while more := list(mailbox.fetch_after(mailbox.resume(got[-1].cursor))):
            got += more
    assert subjects(got) == ["mail 1", "mail 2", "mail 3", "mail 4"]


def test_mails_that_another_client_takes_away_are_no_mails_that_cannot_be_read(
    dovecot: Dovecot, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Listed and then expunged, one by one or all together: nobody is told of them, and the rest comes."""
    monkeypatch.setattr(reading, "READ_BATCH", 2)
    put(dovecot, user, *(mail(number) for number in range(1, 8)))
    got = []
    with Mailbox(dovecot.settings(user)) as mailbox:
        for item in mailbox.fetch_after(mailbox.resume(None)):
            got.append(item)
            if len(got) == 1:
                with dovecot.as_person(user) as person:
                    person.delete_messages([3, 5, 6])
                    person.expunge()
    assert subjects(got) == ["mail 1", "mail 2", "mail 4", "mail 7"]


def test_a_folder_that_may_only_be_read_is_read_and_left_as_it_is(certificates: Certificates, user: str) -> None:
    """[READ-ONLY]: what cannot be marked or moved is said once, and ends nothing."""
    with running_dovecot(certificates, has_acl=True) as dovecot:
        dovecot.fill(user, [mail(1), mail(2)])
        (dovecot.folder / "acl").write_text("INBOX owner lr\n")
        with capture_logs() as logs, Mailbox(dovecot.settings(user, move_handled_to="Handled")) as mailbox:
            for _ in range(2):
                got = list(mailbox.fetch_after(mailbox.resume(None)))
                mailbox.mark_handled(got[0].uid)
        assert subjects(got) == ["mail 1", "mail 2"]
        assert [entry["event"] for entry in logs] == ["mailbox_read_only"]
        (dovecot.folder / "acl").write_text("")
        with dovecot.as_person(user) as person:
            assert not person.folder_exists("Handled")
            flags = person.get_flags(person.search())
        assert [set(of_one) - {b"\\Recent"} for of_one in flags.values()] == [set(), set()]


@pytest.mark.parametrize("name", ["Anfragen & Köln", "お問い合わせ", 'with "quotes" and \\ more', "&-"])
def test_names_of_folders_may_be_in_any_language(dovecot: Dovecot, user: str, name: str) -> None:
    """RFC 3501, section 5.1.3: modified UTF-7, of the folder that is read and of the one that mails are moved to."""
    put(dovecot, user, mail(1), folder=name)
    settings = dovecot.settings(user, folder=name, move_handled_to=f"{name} fertig")
    with Mailbox(settings) as mailbox:
        (item,) = mailbox.fetch_after(mailbox.resume(None))
        mailbox.mark_handled(item.uid)
        assert mailbox.has_message_id(f"{name} fertig", "<1@t>")
        assert list(mailbox.fetch_after(mailbox.resume(None))) == []
    with dovecot.as_person(user, f"{name} fertig") as person:
        assert len(person.search()) == 1
