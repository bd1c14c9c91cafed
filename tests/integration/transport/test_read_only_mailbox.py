"""Past mail over IMAP: INBOX and Sent are read whole, and no flag of any mail changes, not even \\Recent."""

from __future__ import annotations

from itertools import count

import pytest

from support_agent.app.dry_runs import read_past
from support_agent.config.settings import Settings
from support_agent.transport.mailbox import Mailbox
from tests.servers.dovecot import Dovecot
from tests.unit.ops.backtest.made import ANNA, OWN, raw

pytestmark = pytest.mark.servers
NUMBERS = count(1)


@pytest.fixture
def user() -> str:
    return f"past-{next(NUMBERS)}@harborfile.example"


def flags(dovecot: Dovecot, user: str, folder: str) -> dict[int, tuple[bytes, ...]]:
    """The flags as EXAMINE tells them, which takes no \\Recent away."""
    with dovecot.as_person(user) as person:
        person.select_folder(folder, readonly=True)
        return {uid: data[b"FLAGS"] for uid, data in person.fetch(person.search(), ["FLAGS"]).items()}


def test_inbox_and_sent_are_read_and_no_flag_changes(dovecot: Dovecot, user: str) -> None:
    with dovecot.as_person(user) as person:
        person.append("INBOX", raw(1, subject="unseen"))
        person.append("INBOX", raw(2, subject="seen", hours=1), flags=[b"\\Seen", b"\\Flagged"])
        person.create_folder("Sent")
        person.append("Sent", raw(3, subject="Re: unseen", sender=OWN, to=ANNA, hours=2, parent=1))
    with dovecot.as_person(user) as person:
        person.select_folder("INBOX", readonly=True)
    before = {folder: flags(dovecot, user, folder) for folder in ("INBOX", "Sent")}
    past = read_past(Settings(imap=dovecot.settings(user)), [], None)
    assert [mail.message.subject for mail in past.mails] == ["unseen", "seen", "Re: unseen"]
    assert {folder: flags(dovecot, user, folder) for folder in ("INBOX", "Sent")} == before


def test_a_mailbox_without_a_sent_folder_is_read_alone(dovecot: Dovecot, user: str) -> None:
    with dovecot.as_person(user) as person:
        person.append("INBOX", raw(1))
    assert len(read_past(Settings(imap=dovecot.settings(user)), [], None).mails) == 1


def test_a_read_only_mailbox_marks_and_moves_nothing(dovecot: Dovecot, user: str) -> None:
    """Rule: even if it were asked to."""
    with dovecot.as_person(user) as person:
        person.append("INBOX", raw(1))
    settings = dovecot.settings(user, move_handled_to="Handled")
    with Mailbox(settings, read_only=True) as mailbox:
        (mail,) = mailbox.fetch_after(mailbox.resume(None))
        mailbox.mark_handled(mail.uid)
        assert not mailbox.is_writable
        assert not mailbox.has_folder("Handled")
    assert len(flags(dovecot, user, "INBOX")) == 1
