"""Inbound mails and cursors, on each database."""

from __future__ import annotations

import pytest

from support_agent.core.levels import PROVEN
from support_agent.errors import PermanentError
from support_agent.store.records import MailId, MailStatus, mail_id_of
from support_agent.store.store import Store
from tests.contract.store.examples import CASE, DAY, MINUTE, NOON, case, cursor, raw, record

UNKNOWN = MailId("0" * 32)


def test_a_recorded_mail_is_kept_byte_for_byte_and_new(store: Store) -> None:
    """Rule: the raw bytes are the truth; the id follows from them alone."""
    recorded = store.mails.record(raw(), "<1@example.net>", cursor(1), NOON)

    assert recorded.is_new
    assert recorded.id == mail_id_of(raw())
    assert store.mails.raw(recorded.id) == raw()
    mail = store.mails.get(recorded.id)
    assert mail is not None
    assert (mail.status, mail.message_id, mail.received_at) == (MailStatus.NEW, "<1@example.net>", NOON)


def test_the_same_bytes_are_one_mail(store: Store) -> None:
    """Rule (S31): a mail fetched again, under another UID, is recognised and not new."""
    first = store.mails.record(raw(), "<1@example.net>", cursor(1), NOON)
    again = store.mails.record(raw(), "<1@example.net>", cursor(9), NOON + DAY)

    assert (again.id, again.is_new) == (first.id, False)
    assert [mail.uid for mail in store.mails.find()] == [1]
    assert store.cursors.get("INBOX") == cursor(9)


def test_a_mail_is_recorded_with_its_sender_at_once(store: Store) -> None:
    """Rule: an act on the desk's page is never seen without who did it."""
    recorded = store.mails.record(raw(), "<1@page.invalid>", cursor(1), NOON, ("ada@example.net", PROVEN, "signed in"))
    mail = store.mails.get(recorded.id)
    assert mail is not None
    assert (mail.sender_address, mail.level, mail.sender_why) == ("ada@example.net", PROVEN, "signed in")


def test_the_cursor_moves_with_the_mail(store: Store) -> None:
    """Rule (S30): a folder never read has no cursor; each folder has its own."""
    assert store.cursors.get("INBOX") is None
    record(store, 4)
    store.cursors.move(cursor(2, folder="Other"))
    assert store.cursors.get("INBOX") == cursor(4)
    assert store.cursors.get("Other") == cursor(2, folder="Other")


def test_a_mail_that_cannot_be_stored_does_not_move_the_cursor(store: Store) -> None:
    """Rule: mail and cursor are one transaction; a cursor that moved alone would lose the mail."""
    record(store, 1)
    with pytest.raises(ValueError, match="timezone"):
        store.mails.record(raw(2), "<2@example.net>", cursor(2), NOON.replace(tzinfo=None))
    assert store.cursors.get("INBOX") == cursor(1)
    assert len(store.mails.find()) == 1


def test_the_cursor_never_moves_back(store: Store) -> None:
    """Rule: a step that runs again after a crash must not cause a rescan."""
    store.cursors.move(cursor(9))
    store.cursors.move(cursor(4))
    assert store.cursors.get("INBOX") == cursor(9)


def test_another_uid_validity_starts_the_folder_again(store: Store) -> None:
    """Rule (S31): UIDs of another UIDVALIDITY cannot be compared with the old ones."""
    store.cursors.move(cursor(9))
    store.cursors.move(cursor(2, uid_validity=8))
    assert store.cursors.get("INBOX") == cursor(2, uid_validity=8)


def test_mails_are_found_by_instant_status_and_message_id(store: Store) -> None:
    """Rule: the oldest first; all conditions given must hold."""
    first, second = record(store, 1), record(store, 2, at=NOON + MINUTE)
    third = record(store, 3, at=NOON + DAY, message_id="<1@example.net>")
    store.mails.end(second, MailStatus.FILED, "S2", "Auto-Submitted", NOON)

    assert [mail.id for mail in store.mails.find()] == [first, second, third]
    assert [mail.id for mail in store.mails.find(since=NOON + MINUTE)] == [second, third]
    assert [mail.id for mail in store.mails.find(status=MailStatus.NEW)] == [first, third]
    assert store.mails.find(since=NOON + 2 * DAY, status=MailStatus.NEW) == ()
    assert [mail.id for mail in store.mails.find(message_id="<1@example.net>")] == [first, third]


def test_screening_and_sender_are_kept_with_the_mail(store: Store) -> None:
    """Rule: `show` and `why` name the rule and the level a mail was handled under."""
    mail_id = record(store)
    store.mails.save_screening(mail_id, "file", "S2")
    store.mails.save_sender(mail_id, "anna.keller@example.net", 2, "dmarc=pass of mx.harborfile.example")
    mail = store.mails.get(mail_id)
    assert mail is not None
    assert (mail.screening_verdict, mail.screening_rule) == ("file", "S2")
    assert (mail.sender_address, mail.level) == ("anna.keller@example.net", 2)
    assert mail.sender_why == "dmarc=pass of mx.harborfile.example"


def test_an_address_may_be_recorded_before_the_level(store: Store) -> None:
    """Rule: who looks up the level later still finds that nobody did."""
    mail_id = record(store)
    store.mails.save_sender_address(mail_id, "anna.keller@example.net")
    mail = store.mails.get(mail_id)
    assert mail is not None
    assert (mail.sender_address, mail.level, mail.sender_why) == ("anna.keller@example.net", None, None)


def test_a_mail_follows_the_older_open_mails_of_its_case_alone(store: Store) -> None:
    """Rule: the mails of a case are decided in their order; at one instant, in that of the mailbox."""
    first, second, third, other = (record(store, number, at=NOON + DAY * (number == 3)) for number in range(1, 5))
    store.cases.open(case(), first)
    for mail_id in (second, third):
        store.cases.join(mail_id, CASE)
    assert [store.mails.follows_open(mail_id) for mail_id in (first, second, third, other)] == [
        False,
        True,
        True,
        False,
    ]
    store.mails.end(first, MailStatus.ANSWERED, None, None, NOON)
    assert [store.mails.follows_open(mail_id) for mail_id in (first, second, third)] == [False, False, True]
    assert not store.mails.follows_open(UNKNOWN)


def test_ending_twice_keeps_the_first_reason(store: Store) -> None:
    """Rule: a step that runs again changes nothing and is no error."""
    mail_id = record(store)
    assert store.mails.end(mail_id, MailStatus.ESCALATED, "low_confidence", "below 0.5", NOON)
    assert store.mails.end(mail_id, MailStatus.ESCALATED, "timeout", "other", NOON + DAY)
    mail = store.mails.get(mail_id)
    assert mail is not None
    assert (mail.reason_code, mail.why, mail.handled_at) == ("low_confidence", "below 0.5", NOON)


@pytest.mark.parametrize(
    ("before", "after", "may"),
    [
        (MailStatus.ANSWERED, MailStatus.ESCALATED, True),
        (MailStatus.ESCALATED, MailStatus.ANSWERED, False),
        (MailStatus.FILED, MailStatus.ANSWERED, False),
        (MailStatus.QUARANTINED, MailStatus.ANSWERED, False),
        (MailStatus.ANSWERED, MailStatus.NEW, False),
    ],
)
def test_an_ended_mail_is_not_handled_again(store: Store, before: MailStatus, after: MailStatus, may: bool) -> None:
    """Rule: what a person has is not answered by the machine; an answer that bounced goes to a person."""
    mail_id = record(store)
    assert store.mails.end(mail_id, before, None, None, NOON)
    assert store.mails.end(mail_id, after, None, None, NOON) is may
    mail = store.mails.get(mail_id)
    assert mail is not None
    assert mail.status is (after if may else before)


def test_an_unknown_mail_is_an_error_not_a_silent_nothing(store: Store) -> None:
    """Rule: a write that hits no row says so."""
    assert store.mails.get(UNKNOWN) is None
    for write in (
        lambda: store.mails.raw(UNKNOWN),
        lambda: store.mails.save_screening(UNKNOWN, "answer", None),
        lambda: store.mails.save_sender(UNKNOWN, "", 0, ""),
        lambda: store.mails.save_sender_address(UNKNOWN, ""),
        lambda: store.mails.end(UNKNOWN, MailStatus.FILED, None, None, NOON),
    ):
        with pytest.raises(PermanentError, match="not in the store"):
            write()
