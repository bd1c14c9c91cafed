"""The worker's loop: what it reads, in which order it records and acts, and what it makes up for after a death."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from support_agent.mail.message import parse
from support_agent.store.records import MailStatus, OutboxStatus, OutgoingKind, mail_id_of
from support_agent.workflow.worker import IDLE_MARGIN_S
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, Clock, Office, write
from tests.fakes_worker import (
    FakeClient,
    FakeMailbox,
    Shift,
    left_in_sending,
    read_all,
    recipients,
    rows,
    status,
    with_imap,
)

ANSWER, ACKNOWLEDGEMENT = OutgoingKind.ANSWER, OutgoingKind.ACKNOWLEDGEMENT
PACKET, FAILURE = OutgoingKind.PACKET, OutgoingKind.FAILURE
REFUND, CANCEL, HUMAN = "Can I get a refund?", "How do I cancel?", "Let me talk to a human."

# Reading


def test_new_mail_is_handled_marked_and_not_read_again(office: Office) -> None:
    shift = Shift(office, FakeMailbox([write(REFUND, sender=JAMES)]))
    shift.work()
    shift.mailbox.mails.append(write(CANCEL))
    shift.work()
    shift.work()
    assert recipients(office) == [JAMES, ANNA]
    assert shift.mailbox.handled == [1, 2]


def test_mail_that_was_recorded_before_a_death_is_taken_up_by_the_next_process(office: Office) -> None:
    """The cursor has passed it already, and the engine has not heard of it."""
    raw = write(REFUND)
    first = Shift(office, FakeMailbox([raw]))
    first.engine.dies_at_start = True
    with pytest.raises(KeyboardInterrupt):
        first.work()
    assert (first.mailbox.handled, status(office, raw)) == ([], MailStatus.NEW)
    Shift(office, first.mailbox).work()
    assert (recipients(office), status(office, raw)) == ([ANNA], MailStatus.ANSWERED)


def test_mails_of_one_thread_have_one_key_which_is_no_header(office: Office) -> None:
    """They are handled one after the other; the key stands in the log, a Message-ID is a stranger's text."""
    first = write(REFUND)
    reply = write(CANCEL, in_reply_to=parse(first).message_id, number=2)
    shift = Shift(office, FakeMailbox([first, reply, write(REFUND, sender=JAMES)]))
    shift.work()
    one, two, other = shift.engine.keys.values()
    assert one == two != other
    assert "@" not in one


def test_first_start_may_leave_old_mail_alone(office: Office) -> None:
    office = with_imap(office, skip_existing=True)
    shift = Shift(office, FakeMailbox([write(REFUND), write(CANCEL)]))
    with capture_logs() as logs:
        shift.work()
        assert (office.store.mails.find(), shift.mailbox.handled) == ((), [])
        shift.mailbox.mails.append(write(REFUND, sender=JAMES))
        shift.work()
    assert recipients(office) == [JAMES]
    counted = [(entry["folder"], entry["mails"]) for entry in logs if entry["event"] == "existing_mails_left_alone"]
    assert counted == [("INBOX", 2)], "only the first start counts them"


def test_mail_left_alone_at_the_first_start_stays_so_when_the_folder_is_renumbered(office: Office) -> None:
    """It was never recorded, so only its age tells; what arrived while nobody looked is answered."""
    office = with_imap(office, skip_existing=True)
    shift = Shift(office, FakeMailbox([write(REFUND)]))
    shift.work()
    shift.mailbox.mails.append(write(REFUND, sender=JAMES))
    shift.work()
    anew = shift.mailbox.numbered_anew()
    anew.mails.append(write(CANCEL, sender=ANNA))
    anew.arrivals = {1: office.clock() - timedelta(days=300), 2: office.clock(), 3: office.clock()}
    Shift(office, anew).work()
    assert recipients(office) == [JAMES, ANNA]


def test_mail_that_came_while_the_agent_was_away_is_answered_however_old(office: Office) -> None:
    """Only what arrived before the first start is left alone."""
    office = with_imap(office, skip_existing=True)
    shift = Shift(office, FakeMailbox([]))
    shift.work()
    started_at = office.clock()
    office.clock = Clock(NOON + timedelta(days=3))
    mailbox = FakeMailbox([write(REFUND), write(CANCEL, sender=JAMES)])
    mailbox.arrivals = {1: started_at + timedelta(hours=1), 2: started_at + timedelta(days=2)}
    Shift(office, mailbox).work()
    assert recipients(office) == [ANNA, JAMES]


def test_stop_ends_after_the_mail_in_hand(office: Office) -> None:
    """SIGTERM: what is recorded is handled, the rest waits in the mailbox for the next start."""
    shift = Shift(office, FakeMailbox([write(REFUND), write(CANCEL, sender=JAMES)]))
    shift.mailbox.after_mail = shift.stop.set
    shift.agent.run(shift.stop)
    assert (recipients(office), shift.mailbox.handled) == ([ANNA], [1])
    shift.mailbox.after_mail = lambda: None
    Shift(office, shift.mailbox).work()
    assert recipients(office) == [ANNA, JAMES]


def test_stop_does_not_wait_for_a_mail_that_takes_long(office: Office) -> None:
    """The engine's own stop has the patience; the loop ends, and nothing is sent meanwhile."""
    shift = Shift(office, FakeMailbox([]))
    shift.engine.is_busy = True
    shift.stop.set()
    shift.agent.run_once(shift.stop)
    assert shift.engine.deleted_before == []


def waits(logs: Sequence[Mapping[str, object]]) -> list[object]:
    """How long the rounds waited in vain."""
    return [entry["waited_s"] for entry in logs if entry["event"] == "mails_still_in_hand"]


def test_mail_that_does_not_come_to_its_end_does_not_make_the_agent_deaf(office: Office) -> None:
    """The loop waits a bounded time, says so, and polls again; what is in hand may still be in sending."""
    office = with_imap(office, poll_interval_s=0.0)
    raw = write(REFUND)
    left_in_sending(office, raw)
    shift = Shift(office, FakeMailbox([]))
    shift.engine.is_busy = True
    with capture_logs() as logs:
        shift.mailbox.on_fetch = lambda: shift.stop.set() if len(waits(logs)) == 2 else None
        shift.agent.run(shift.stop)
    assert waits(logs) == [office.settings.planner.max_s + IDLE_MARGIN_S] * 2
    assert rows(office, raw) == [(ANSWER, OutboxStatus.SENDING)]


def test_when_the_folder_was_last_read_to_its_end_is_kept(office: Office) -> None:
    """S33: seconds_since_last_fetch, for `doctor`; also of a folder without a mail, and not of one that was left."""
    mailbox = FakeMailbox([])
    Shift(office, mailbox).work()
    first = office.store.cursors.fetched_at("INBOX")
    assert first is not None
    assert first > NOON
    mailbox.mails += [write(REFUND), write(CANCEL)]
    shift = Shift(office, mailbox)
    mailbox.after_mail = shift.stop.set
    shift.work()
    assert office.store.cursors.fetched_at("INBOX") == first


def test_the_mail_that_was_recorded_last_is_marked_after_a_death(office: Office) -> None:
    """S32: the process died between the record and the mark; the cursor has passed the mail."""
    shift = Shift(office, FakeMailbox([write(REFUND)]))
    shift.engine.dies_at_start = True
    with pytest.raises(KeyboardInterrupt):
        shift.work()
    assert shift.mailbox.handled == []
    Shift(office, shift.mailbox).work()
    assert shift.mailbox.handled == [1]


def test_the_last_of_the_mails_that_are_left_alone_is_never_marked(office: Office) -> None:
    """It was never recorded, so nobody has handled it."""
    office = with_imap(office, skip_existing=True)
    mailbox = FakeMailbox([write(REFUND)])
    for _ in range(2):
        Shift(office, mailbox).work()
    assert mailbox.handled == []


def test_s37_mail_that_finds_a_defect_in_the_parser_blocks_no_other(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is recorded and handed to the engine, whose failure is told; the mail after it is recorded too."""
    bad, good = write(REFUND, sender=JAMES), write(REFUND)

    def fails_on_bad(raw: bytes) -> object:
        if raw == bad:
            raise RecursionError
        return parse(raw)

    monkeypatch.setattr("support_agent.workflow.starts.parse", fails_on_bad)
    shift = Shift(office, FakeMailbox([bad, good]))
    with capture_logs() as logs:
        shift.work()
    named = [entry["mail_id"] for entry in logs if entry["event"] == "mail_not_parsed"]
    assert set(named) == {mail_id_of(bad)}
    assert list(shift.engine.keys) == [mail_id_of(bad), mail_id_of(good)]
    assert office.store.mails.raw(mail_id_of(bad)) == bad
    assert shift.mailbox.handled == [1, 2]


# Mails that cannot be read whole


def test_s37_mail_that_the_server_cannot_give_reaches_a_person(office: Office) -> None:
    """Nothing of it is known, so nobody can be told but the desk; the mail after it is answered."""
    bad, good = read_all(office, FakeClient([write(REFUND, sender=JAMES), write(REFUND)], broken=frozenset({1})))
    assert recipients(office) == [DESK, ANNA]
    packet = office.store.outbox.rendered_mail(bad, PACKET)
    assert packet is not None
    assert "S37: limit: the server cannot give UID 1 of INBOX" in str(packet.payload["why"])
    mails = (office.store.mails.get(mail_id) for mail_id in (bad, good))
    assert [mail.status for mail in mails if mail] == [MailStatus.ESCALATED, MailStatus.ANSWERED]


def test_s15_mail_over_the_size_limit_reaches_a_person_and_is_not_answered_by_its_subject(office: Office) -> None:
    """Only its header was read; the sender is known from it, and is told that a person has the mail."""
    office = with_imap(office, max_message_bytes=10_000)
    big = write("See the list. " + "x" * 20_000, subject=REFUND)
    (mail_id,) = read_all(office, FakeClient([big]))
    assert recipients(office) == [DESK, ANNA]
    assert {row.kind for row in office.store.outbox.find(mail_id=mail_id)} == {PACKET, ACKNOWLEDGEMENT}
    packet = office.store.outbox.rendered_mail(mail_id, PACKET)
    assert packet is not None
    assert "S15: limit: " in str(packet.payload["why"])


# A folder that is numbered anew (RFC 3501, section 2.3.1.1)


def test_s31_mail_of_a_folder_renumbered_is_not_answered_again(office: Office) -> None:
    """Not even with other bytes; what is really new is."""
    shift = Shift(office, FakeMailbox([write(REFUND), write(HUMAN, sender=JAMES)]))
    shift.work()
    before = recipients(office)
    moved = shift.mailbox.numbered_anew()
    moved.mails.append(write(CANCEL, number=9))
    with capture_logs() as logs:
        Shift(office, moved).work()
    assert recipients(office) == [*before, ANNA]
    assert [entry["log_level"] for entry in logs if entry["event"] == "folder_renumbered"] == ["critical"]


def test_s31_not_even_after_a_death_in_the_middle(office: Office) -> None:
    """The mark of the rescan is stored before its first mail: the next process goes on with it, and alarms no more."""
    shift = Shift(office, FakeMailbox([write(REFUND), write(CANCEL, sender=JAMES), write(REFUND, number=3)]))
    shift.work()
    before = recipients(office)
    moved = shift.mailbox.numbered_anew()

    def die() -> None:
        raise KeyboardInterrupt

    moved.after_mail = die
    with pytest.raises(KeyboardInterrupt):
        Shift(office, moved).work()
    moved.after_mail = lambda: None
    with capture_logs() as logs:
        Shift(office, moved).work()
    assert [entry for entry in logs if entry["event"] == "folder_renumbered"] == []
    assert recipients(office) == before
    assert moved.handled == [1, 2, 3]
    cursor = office.store.cursors.get("INBOX")
    assert cursor is not None
    assert (cursor.rescan_until, cursor.last_uid) == (3, 3)


def test_s31_text_and_date_that_the_move_changed_make_no_new_mail(office: Office) -> None:
    """By Message-ID and author; for mail that was there when the folder was numbered anew, also after a death."""
    mails = [write(REFUND), write(CANCEL, sender=JAMES)]
    Shift(office, FakeMailbox(mails)).work()
    before = recipients(office)
    changed = [raw.replace(b"Fri, 20 Nov", b"Thu, 19 Nov").rstrip() + b"\r\n-- \r\nmoved\r\n" for raw in mails]
    moved = FakeMailbox(changed, uid_validity=2)
    moved.after_mail = lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        Shift(office, moved).work()
    moved.after_mail = lambda: None
    Shift(office, moved).work()
    assert recipients(office) == before
    assert [status(office, raw) for raw in changed] == [MailStatus.FILED, MailStatus.FILED]


def test_s31_another_authors_mail_is_no_copy_in_a_rescan_either(office: Office) -> None:
    """Senders make Message-IDs: whoever bears a known one is answered, unless the author is the same."""
    first = write(REFUND)
    Shift(office, FakeMailbox([first])).work()
    other = write(REFUND, sender=JAMES)
    own, known = (parse(raw).message_id.encode() for raw in (other, first))
    Shift(office, FakeMailbox([first, other.replace(own, known)], uid_validity=2)).work()
    assert recipients(office) == [ANNA, JAMES]


def test_s31_mail_older_than_what_the_store_remembers_is_left_alone_in_a_rescan(office: Office) -> None:
    """Retention has forgotten it, so that it would look like new; what came since is answered."""
    Shift(office, FakeMailbox([write(REFUND)])).work()
    moved = FakeMailbox([write(CANCEL), write(CANCEL, sender=JAMES)], uid_validity=2)
    long_ago = office.clock() - timedelta(days=office.settings.store.retention_days + 1)
    moved.arrivals = {1: long_ago, 2: office.clock()}
    Shift(office, moved).work()
    assert recipients(office) == [ANNA, JAMES]


def test_s31_unchanged_bytes_are_not_even_recorded(office: Office) -> None:
    shift = Shift(office, FakeMailbox([write(REFUND)]))
    shift.work()
    Shift(office, replace(shift.mailbox, uid_validity=2)).work()
    assert (len(office.store.mails.find()), recipients(office)) == (1, [ANNA])
