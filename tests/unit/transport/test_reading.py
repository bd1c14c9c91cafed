"""A folder on a server that lies: bounded memory, no place in the folder that cannot be, nothing unmapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from support_agent.config.mail_servers import ImapSettings
from support_agent.errors import TransientError
from support_agent.mail.message import parse
from support_agent.transport.imap import ImapRefused, mapped
from support_agent.transport.reading import FolderReader

LIMIT = 10_000
SETTINGS = ImapSettings(host="imap.example.net", user="u", max_message_bytes=LIMIT)
HEAD = b"From: <anna@example.net>\r\nSubject: hi\r\n\r\n"


class LyingServer:
    """The commands of an `imapclient.IMAPClient` that a folder is read with; each mail is said to have 100 bytes."""

    def __init__(self, mails: dict[int, bytes], failing: Callable[[], None] = lambda: None) -> None:
        self.mails = mails
        self.failing = failing

    def search(self, criteria: Sequence[str]) -> list[int]:
        return list(self.mails)

    def fetch(self, uids: Sequence[int], items: Sequence[str]) -> dict[int, dict[bytes, Any]]:
        if items[0] == "RFC822.SIZE":
            return {uid: {b"RFC822.SIZE": 100} for uid in uids}
        if len(uids) > 1 or 2 in uids:
            self.failing()
        return {uid: {items[0].replace(".PEEK", "").encode(): self.mails[uid]} for uid in uids}

    def noop(self) -> None:
        pass


def read(mails: dict[int, bytes], failing: Callable[[], None] = lambda: None) -> dict[int, bytes]:
    reader = FolderReader(LyingServer(mails, failing), SETTINGS, {b"EXISTS": len(mails)})
    return {listed.uid: raw for listed, raw in reader.mails_after(0)}


@pytest.mark.parametrize("others", [{}, {8: HEAD + b"short"}])
def test_a_mail_that_is_larger_than_the_server_said_is_cut_to_its_header(others: dict[int, bytes]) -> None:
    raw = read({7: HEAD + b"a" * 1_000_000, **others})[7]
    message = parse(raw)
    assert message.defects == (f"limit: {len(HEAD) + 1_000_000} bytes, only the header of a mail over {LIMIT} is read",)
    assert (message.subject, message.text) == ("hi", "")
    assert read({7: HEAD + b"a" * 100, **others})[7] == HEAD + b"a" * 100


@pytest.mark.parametrize("blank", [b"\n", b"\r\n"])
def test_what_is_kept_of_a_mail_that_is_too_large_ends_with_its_blank_line(blank: bytes) -> None:
    """Also where its line ends differ."""
    head = b"From: <anna@example.net>\nSubject: hi\n"
    assert read({7: head + blank + b"a" * 1_000_000})[7].endswith(b"is read\r\n" + head + blank)


def test_a_header_without_an_end_is_cut() -> None:
    assert len(read({7: b"X: " + b"a" * 1_000_000})[7]) < LIMIT + 200


@pytest.mark.parametrize("uid", [2**32, 10**26])
def test_a_uid_that_cannot_be_is_refused(uid: int) -> None:
    """Recorded as the last one read, it would have every mail after it passed over."""
    with pytest.raises(TransientError, match=r"a UID outside 0\.\.4294967295"):
        read({uid: HEAD})
    with pytest.raises(TransientError, match=r"a UID outside 0\.\.4294967295"):
        FolderReader(LyingServer({}), SETTINGS, {b"UIDNEXT": uid + 1}).newest_uid()
    with pytest.raises(TransientError, match=r"a UID outside 0\.\.4294967295"):
        FolderReader(LyingServer({uid: b""}), SETTINGS, {}).newest_uid()


def test_the_greatest_uid_is_none_too_many() -> None:
    assert read({2**32 - 1: HEAD}) == {2**32 - 1: HEAD}
    assert FolderReader(LyingServer({}), SETTINGS, {b"UIDNEXT": 2**32}).newest_uid() == 2**32 - 1


@pytest.mark.parametrize("kind", [ValueError, RecursionError, UnicodeDecodeError])
def test_an_answer_that_the_library_cannot_read_spoils_one_mail_only(kind: type[Exception]) -> None:
    """S37: it has been read to its end, so the connection stands; a person gets a note of the mail."""

    def fail() -> None:
        raise kind("utf-8", b"", 0, 1, "x") if kind is UnicodeDecodeError else kind("nonsense")

    raws = read({1: HEAD, 2: HEAD, 3: HEAD}, fail)
    assert (raws[1], raws[3]) == (HEAD, HEAD)
    assert parse(raws[2]).defects[0].startswith("limit: the server cannot give UID 2")


def test_a_server_that_sends_more_than_there_is_memory_for_is_left() -> None:
    with pytest.raises(TransientError, match="memory") as caught, mapped(SETTINGS):
        raise MemoryError
    assert not isinstance(caught.value, ImapRefused)


def test_a_uidnext_of_none_is_asked_for_and_an_impossible_one_is_refused() -> None:
    """Failure: a place of -1 in the folder was stored, and could not be read again: no worker started any more."""
    server = LyingServer({7: HEAD})
    assert FolderReader(server, SETTINGS, {b"UIDNEXT": 0}).newest_uid() == 7
    with pytest.raises(ImapRefused, match=r"a UID outside 0\.\.4294967295"):
        FolderReader(server, SETTINGS, {b"UIDNEXT": -5}).newest_uid()
