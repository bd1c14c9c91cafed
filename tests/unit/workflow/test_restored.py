"""After a restore: what the lost store may have done is not done again by itself, and the Sent folder may say more."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from support_agent.cases.copies import COPY_RULE, DOUBT_RULE
from support_agent.cases.route import case_id_of
from support_agent.config.mail_servers import SentCopies
from support_agent.core.cursor import UNBOUNDED
from support_agent.core.modes import Mode
from support_agent.mail.keys import message_id
from support_agent.ops.backup.restoring import put_in_doubt
from support_agent.outbound.outbox_choices import OutboxChoice, apply_choice
from support_agent.outbound.sent_folder import SentFolder
from support_agent.store.records import MailStatus, OutboxStatus, OutgoingKind, mail_id_of
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, Clock, Office, with_autonomy, write
from tests.fakes_worker import FakeMailbox, Shift, recipients, rows, status, with_imap
from tests.unit.seen import CANCEL, HUMAN, REFUND, one

ANSWER, FAILURE = OutgoingKind.ANSWER, OutgoingKind.FAILURE
SENT, UNCERTAIN = OutboxStatus.SENT, OutboxStatus.UNCERTAIN


def disaster(office: Office, *, days: int = 1) -> int:
    """The store is lost and restored as it is now; how many mails became uncertain."""
    office.clock = Clock(NOON + timedelta(days=days))
    office.transport.given.clear()
    return put_in_doubt(office.store, NOON, office.clock(), office.settings.imap)


def answer_id(office: Office, raw: bytes) -> str:
    agent, mail_id = office.settings.agent, mail_id_of(raw)
    domain = agent.address.rpartition("@")[2]
    return message_id(agent.secret, domain, case_id_of(mail_id), mail_id, ANSWER.value)


def test_mails_that_came_before_the_first_look_go_to_a_person_and_later_ones_are_answered(office: Office) -> None:
    """The lost store may have answered the first; when the mailbox is opened again it is known which ones these are."""
    before, lost, after = write(REFUND), write(CANCEL, sender=JAMES), write(CANCEL, number=3)
    Shift(office, FakeMailbox([before])).work()
    assert disaster(office) == 0
    Shift(office, FakeMailbox([before, lost])).work()
    assert (recipients(office), one(office, mail_id_of(lost)).screening_rule) == ([DESK], DOUBT_RULE)
    Shift(office, FakeMailbox([before, lost, after])).work()
    assert (recipients(office)[1:], status(office, after)) == ([ANNA], MailStatus.ANSWERED)


def test_a_mailbox_that_the_restored_store_never_read_is_in_doubt_as_a_whole(office: Office) -> None:
    """Failure: a backup of the first day knows of no folder, so all that was answered since is answered again."""
    disaster(office)
    Shift(office, FakeMailbox([write(REFUND)])).work()
    assert recipients(office) == [DESK]


def test_with_skip_existing_old_mail_stays_left_alone(office: Office) -> None:
    """The mailbox was full before the agent was started for the first time, after the backup."""
    office = with_imap(office, skip_existing=True)
    disaster(office)
    mailbox = FakeMailbox([write(REFUND), write(CANCEL)], arrivals={1: NOON - timedelta(days=9), 2: NOON})
    Shift(office, mailbox).work()
    assert [mail.uid for mail in office.store.mails.find()] == [2]


def test_a_folder_that_is_renumbered_as_well_stays_in_doubt(office: Office) -> None:
    """The mailbox was restored, too."""
    disaster(office)
    Shift(office, FakeMailbox([write(REFUND)], uid_validity=2)).work()
    assert recipients(office) == [DESK]
    cursor = office.store.cursors.get("INBOX")
    assert cursor is not None
    assert cursor.in_doubt_until == 1 != UNBOUNDED


def test_an_open_mail_goes_to_a_person(office: Office) -> None:
    """It was new in the backup; the lost store went on with it."""
    office.receive(write(REFUND))
    disaster(office)
    Shift(office, FakeMailbox([write(REFUND)])).work()
    assert recipients(office) == [DESK]


def test_a_staff_reply_is_not_passed_on_again(office: Office) -> None:
    """It is read a second time, and the customer has had it."""
    Shift(office, FakeMailbox([write(HUMAN)])).work()
    (packet,) = office.store.outbox.find(kind=OutgoingKind.PACKET)
    disaster(office)
    reply = write("Dear James, all is well again.", sender=DESK, in_reply_to=packet.message_id)
    Shift(office, FakeMailbox([write(HUMAN), reply])).work()
    assert set(recipients(office)) == {DESK}


def test_a_waiting_answer_becomes_uncertain_and_the_desk_hears_of_it(office: Office) -> None:
    held = with_autonomy(office, hold_s=7200.0)
    Shift(held, FakeMailbox([write(REFUND)])).work()
    assert disaster(held) == 1
    Shift(held, FakeMailbox([write(REFUND)])).work()
    assert (ANSWER, UNCERTAIN) in rows(held, write(REFUND))
    assert (FAILURE, SENT) in rows(held, write(REFUND))
    assert recipients(held) == [DESK]
    (row,) = held.store.outbox.find(kind=ANSWER)
    apply_choice(held.store, row.id, OutboxChoice.RETRY, held.clock())
    Shift(held, FakeMailbox([])).work()
    assert recipients(held) == [DESK, ANNA]  # a person has chosen it


def test_a_proposal_cannot_be_approved_as_if_nothing_had_happened(office: Office) -> None:
    """A person may have approved it before the disaster."""
    office = with_autonomy(office, start=Mode.APPROVE)
    Shift(office, FakeMailbox([write(REFUND)])).work()
    assert disaster(office) == 1
    (row,) = office.store.outbox.find(kind=ANSWER)
    with pytest.raises(Exception, match="only a proposed answer is approved"):
        apply_choice(office.store, row.id, OutboxChoice.APPROVE, office.clock())


def test_a_mail_whose_answer_is_in_the_sent_folder_is_filed(office: Office) -> None:
    disaster(office)
    answered, escalated = write(REFUND), write(HUMAN, sender=JAMES)
    mailbox = FakeMailbox([answered, escalated], sent={answer_id(office, answered)})
    Shift(office, mailbox).work()
    assert recipients(office) == [DESK]
    found = one(office, mail_id_of(answered))
    assert (found.status, found.screening_rule) == (MailStatus.FILED, COPY_RULE)
    assert status(office, escalated) is MailStatus.ESCALATED


@pytest.mark.parametrize("copies", [SentCopies.AGENT, SentCopies.PROVIDER])
def test_an_uncertain_answer_that_is_in_the_sent_folder_was_sent(office: Office, copies: SentCopies) -> None:
    held = with_autonomy(office, hold_s=7200.0)
    Shift(held, FakeMailbox([write(REFUND)])).work()
    disaster(held)
    held = with_imap(held, sent_copies=copies)
    mailbox = FakeMailbox([], sent={answer_id(held, write(REFUND))})
    SentFolder(held.store, held.settings.imap, lambda: mailbox, held.clock).look_after()
    assert rows(held, write(REFUND)) == [(ANSWER, SENT)]


def test_without_a_word_from_the_sent_folder_a_person_decides(office: Office) -> None:
    """It cannot be read, or nobody files copies there."""
    disaster(office)
    Shift(office, FakeMailbox([write(REFUND)], is_sent_away=True)).work()
    disaster(office)
    none = with_imap(replace(office), sent_copies=SentCopies.NONE)
    other = write(CANCEL)
    Shift(none, FakeMailbox([write(REFUND), other], sent={answer_id(office, other)})).work()
    assert ANNA not in recipients(office)
