"""CONDSTORE (RFC 7162): a folder that has not changed is not searched; without it, it is searched each time."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from support_agent.config.mail_servers import ImapSettings, Security
from support_agent.transport.mailbox import HANDLED_KEYWORD, Mailbox
from tests.servers.dovecot import Dovecot
from tests.servers.imap_script import OK, scripted_imap

USER = "condstore@harborfile.example"


def mail(number: int) -> bytes:
    return f"From: a@example.net\r\nSubject: mail {number}\r\nMessage-ID: <{number}@t>\r\n\r\nhello\r\n".encode()


def uids_of(mailbox: Mailbox, last_uid: int) -> list[int]:
    cursor = mailbox.resume(None).model_copy(update={"last_uid": last_uid})
    return [fetched.uid for fetched in mailbox.fetch_after(cursor)]


@pytest.mark.servers
def test_a_real_server_tells_what_has_changed(dovecot: Dovecot) -> None:
    """New mail is always found; a flag of somebody else costs one search and finds nothing."""
    settings = dovecot.settings(USER, sent_folder="Sent")
    with dovecot.as_person(USER, "Sent") as person, Mailbox(settings) as mailbox:
        before = mailbox.folder_state("Sent")
        assert before == mailbox.folder_state("Sent")
        assert before.modseq is not None
        person.append("Sent", mail(1))
        assert mailbox.folder_state("Sent") != before

        searches: list[object] = []
        real = mailbox._client.search

        def search(*what: object) -> object:
            searches.append(what)
            return real(*what)

        mailbox._client.search = search
        person.append("INBOX", mail(1))
        assert uids_of(mailbox, 0) == [1]
        assert (uids_of(mailbox, 1), len(searches)) == ([], 1)
        mailbox.mark_handled(1)
        assert (uids_of(mailbox, 1), len(searches)) == ([], 2)
        assert (uids_of(mailbox, 1), len(searches)) == ([], 2)
        person.append("INBOX", mail(2))
        assert (uids_of(mailbox, 1), len(searches)) == ([2], 3)
        person.select_folder("INBOX")
        assert HANDLED_KEYWORD in person.get_flags([1])[1]


SELECTED = "* 1 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\n* OK [UIDNEXT 2] x\r\n"


@pytest.mark.parametrize(("modseq", "searches"), [("* OK [HIGHESTMODSEQ 9] x\r\n", 1), ("", 2)])
def test_only_a_server_that_counts_changes_is_believed(modseq: str, searches: int) -> None:
    """Rule: a wrong UIDNEXT alone never hides a mail."""
    selected = f"{SELECTED}{modseq}%t OK [READ-WRITE] in\r\n".encode()
    rules = (("SELECT", selected), ("UID SEARCH", b"* SEARCH 1\r\n%t OK done\r\n"))
    with scripted_imap(*rules) as server, Mailbox(scripted(server.port)) as mailbox:
        assert [uids_of(mailbox, 1), uids_of(mailbox, 1)] == [[], []]
    assert len([line for line in server.heard if "UID SEARCH" in line]) == searches


@pytest.mark.parametrize(("capability", "has_modseq"), [("CONDSTORE", True), ("QRESYNC", True), ("IDLE", False)])
def test_a_server_is_asked_only_for_what_it_has(capability: str, has_modseq: bool) -> None:
    status = b'* STATUS "Sent" (UIDVALIDITY 1 UIDNEXT 5 HIGHESTMODSEQ 12)\r\n%t OK done\r\n'
    rules = (
        ("CAPABILITY", f"* CAPABILITY IMAP4rev1 {capability}\r\n%t OK done\r\n".encode()),
        ("SELECT", f"{SELECTED}%t OK in\r\n".encode()),
        ("STATUS", status if has_modseq else status.replace(b" HIGHESTMODSEQ 12", b"")),
        ("LOGIN", OK("in")),
    )
    with scripted_imap(*rules) as server, Mailbox(scripted(server.port)) as mailbox:
        assert mailbox.folder_state("Sent").modseq == (12 if has_modseq else None)
    (asked,) = (line for line in server.heard if "STATUS" in line)
    assert ("HIGHESTMODSEQ" in asked) is has_modseq


def scripted(port: int) -> ImapSettings:
    return ImapSettings(
        host="127.0.0.1", port=port, security=Security.PLAIN, user="u", password=SecretStr("p"), timeout_s=20.0
    )
