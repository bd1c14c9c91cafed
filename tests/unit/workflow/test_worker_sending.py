"""The worker's loop: what goes out when it is due, and what a dead process, or one that failed, has left behind."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from support_agent.errors import PermanentError, TransientError
from support_agent.outbound.sender import MARK_WAITS_S
from support_agent.pipeline import handle
from support_agent.store.outbox import Outbox
from support_agent.store.records import MailId, MailStatus, OutboxStatus, OutgoingKind, mail_id_of
from support_agent.transport.submission import Delivery, Status
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, Clock, Office, once, write
from tests.fakes_worker import FakeMailbox, Shift, fails_once, left_in_sending, recipients, rows, status, with_imap

ANSWER, ACKNOWLEDGEMENT = OutgoingKind.ANSWER, OutgoingKind.ACKNOWLEDGEMENT
PACKET, FAILURE = OutgoingKind.PACKET, OutgoingKind.FAILURE
REFUND, CANCEL, HUMAN = "Can I get a refund?", "How do I cancel?", "Let me talk to a human."

# Sending


def test_mail_that_could_not_go_out_goes_out_when_it_is_due(office: Office) -> None:
    """Also while the mailbox is away: an IMAP server that is down keeps no answer back."""
    office.transport.deliveries = [Delivery(status="retry", detail="421 later")]
    raw = write(REFUND)
    Shift(office, FakeMailbox([raw])).work()
    assert rows(office, raw) == [(ANSWER, OutboxStatus.READY)]
    office.clock = Clock(NOON + timedelta(days=1))
    with pytest.raises(TransientError):
        Shift(office, FakeMailbox([], is_away=True)).work()
    assert rows(office, raw) == [(ANSWER, OutboxStatus.SENT)]


def test_mailbox_that_is_away_does_not_end_the_loop(office: Office) -> None:
    office = with_imap(office, poll_interval_s=0.0)
    shift = Shift(office, FakeMailbox([write(REFUND)], is_away=True))

    def come_back() -> None:
        shift.mailbox.is_away = opened.pop()

    opened = [False, True, True]
    shift.mailbox.on_open = come_back
    shift.mailbox.after_mail = shift.stop.set
    with capture_logs() as logs:
        shift.agent.run(shift.stop)
    assert [entry["code"] for entry in logs if entry["event"] == "poll_failed"] == ["transient", "transient"]
    assert recipients(office) == [ANNA]


def test_mail_that_must_wait_stands_in_nobodys_way(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The desk's server is away: acknowledgements wait, other people's answers do not."""
    monkeypatch.setattr("support_agent.workflow.due_mails.OUTBOX_BATCH", 1)
    later = Delivery(status="retry", detail="421 later")
    office.transport.deliveries = [later] * 5
    mails = [write(HUMAN), write(HUMAN, sender=JAMES), write(REFUND)]
    Shift(office, FakeMailbox(mails)).work()
    office.clock = Clock(NOON + timedelta(days=1))
    Shift(office, FakeMailbox([])).work()
    assert rows(office, mails[2]) == [(ANSWER, OutboxStatus.SENT)]
    assert rows(office, mails[0]) == [(ACKNOWLEDGEMENT, OutboxStatus.READY), (PACKET, OutboxStatus.READY)]


def test_one_mail_that_cannot_be_sent_at_all_stops_no_other(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect in the record of one try is logged; the next mail is due all the same."""
    office.transport.deliveries = [Delivery(status="retry", detail="421 later")] * 2
    mails = [write(REFUND), write(REFUND, sender=JAMES)]
    Shift(office, FakeMailbox(mails)).work()
    office.clock = Clock(NOON + timedelta(days=1))
    defect = PermanentError("it is not `sending` any more", code="outbox_status")
    monkeypatch.setattr(Outbox, "mark_sent", fails_once(Outbox.mark_sent, defect))
    with capture_logs() as logs:
        Shift(office, FakeMailbox([])).work()
    assert [entry["code"] for entry in logs if entry["event"] == "delivery_failed"] == ["outbox_status"]
    assert rows(office, mails[1]) == [(ANSWER, OutboxStatus.SENT)]


# What is left behind


def test_s62_answer_that_may_have_gone_out_is_not_sent_again_and_told_to_the_desk(office: Office) -> None:
    raw = write(REFUND)
    left_in_sending(office, raw)
    Shift(office, FakeMailbox([])).work()
    assert recipients(office) == [ANNA, DESK]
    assert rows(office, raw) == [(ANSWER, OutboxStatus.UNCERTAIN), (FAILURE, OutboxStatus.SENT)]
    assert status(office, raw) is MailStatus.ESCALATED


def test_desk_is_told_even_if_the_process_died_before_it_could_be(office: Office) -> None:
    """Between the record that a mail is lost and the packet that says so; and it is told once."""
    lost, unknown = write(REFUND), write(REFUND, sender=JAMES)
    left_in_sending(office, lost, unknown)
    office.store.outbox.mark_failed(office.store.outbox.find(mail_id=mail_id_of(lost))[0].id, "550 no such user", by="")
    office.store.outbox.recover_sending()
    for _ in range(2):
        Shift(office, FakeMailbox([])).work()
    assert recipients(office)[2:] == [DESK, DESK]
    packet = office.store.outbox.rendered_mail(mail_id_of(lost), FAILURE)
    assert packet is not None
    assert packet.payload["why"] == f"the answer to {ANNA} is failed: 550 no such user"


def test_answer_whose_end_could_not_be_recorded_does_not_stay_in_sending(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database was away after the server's word: found when nothing is in hand, without a restart."""
    raw = write(REFUND)
    away, waits = TransientError("the database did not answer", code="database"), list[float]()
    monkeypatch.setattr("support_agent.outbound.sender.time.sleep", waits.append)
    marks = Outbox.mark_sent
    for _ in range(1 + len(MARK_WAITS_S)):
        marks = fails_once(marks, away)
    monkeypatch.setattr(Outbox, "mark_sent", marks)
    Shift(office, FakeMailbox([raw])).work()
    assert recipients(office) == [ANNA, DESK]
    assert rows(office, raw) == [(ANSWER, OutboxStatus.UNCERTAIN), (FAILURE, OutboxStatus.SENT)]
    assert tuple(waits) == MARK_WAITS_S


@pytest.mark.parametrize("ends_as", ["sent", "retry", "failed", "uncertain"])
def test_worker_that_was_taken_for_dead_while_it_sent_goes_on(
    office: Office, monkeypatch: pytest.MonkeyPatch, ends_as: Status
) -> None:
    """Stopped for longer than its lease: what the others recorded of the mail stays, and the desk is told once."""
    raw = write(REFUND)

    def deliver(*_: object) -> Delivery:
        monkeypatch.undo()
        office.store.outbox.recover_sending()
        return Delivery(status=ends_as, detail="as it is told at last")

    monkeypatch.setattr(office.transport, "deliver", deliver)
    Shift(office, FakeMailbox([raw])).work()
    assert recipients(office) == [DESK]
    assert rows(office, raw) == [(ANSWER, OutboxStatus.UNCERTAIN), (FAILURE, OutboxStatus.SENT)]
    assert status(office, raw) is MailStatus.ESCALATED


def test_answer_whose_end_could_not_be_recorded_at_once_is_sent(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database was locked for a moment: nobody is told of an uncertain mail that the server has taken."""
    raw, waits = write(REFUND), list[float]()
    locked = TransientError("the database is locked", code="database")
    monkeypatch.setattr("support_agent.outbound.sender.time.sleep", waits.append)
    monkeypatch.setattr(Outbox, "mark_sent", fails_once(Outbox.mark_sent, locked))
    Shift(office, FakeMailbox([raw])).work()
    assert (recipients(office), len(waits)) == ([ANNA], 1)
    assert rows(office, raw) == [(ANSWER, OutboxStatus.SENT)]


def test_answer_that_is_refused_at_a_later_try_makes_the_mail_escalated(office: Office) -> None:
    """It counted as answered while it was waiting; it never was."""
    raw = write(REFUND)
    office.transport.deliveries = [
        Delivery(status="retry", detail="421 later"),
        Delivery(status="failed", detail="550 no such user"),
    ]
    shift = Shift(office, FakeMailbox([raw]))
    shift.work()
    assert status(office, raw) is MailStatus.ANSWERED
    office.clock = Clock(NOON + timedelta(days=1))
    shift.work()
    assert status(office, raw) is MailStatus.ESCALATED


def test_mail_whose_journey_failed_is_set_aside_and_told_once(office: Office) -> None:
    """S37: the next mail is handled all the same."""
    bad, good = write(REFUND), write(REFUND, sender=JAMES)

    def journey(mail_id: MailId) -> object:
        if mail_id == mail_id_of(bad):
            raise PermanentError("the record does not fit", code="unexpected")
        return handle(mail_id, once(), office.stages)

    shift = Shift(office, FakeMailbox([bad, good]))
    shift.engine.journey = journey
    for _ in range(2):
        shift.work()
    assert (status(office, bad), status(office, good)) == (MailStatus.QUARANTINED, MailStatus.ANSWERED)
    assert sorted(recipients(office)) == [DESK, JAMES]


def test_mail_is_set_aside_only_when_the_desk_has_been_told(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that is away for a moment loses nobody's mail: it is told at the next look."""
    raw = write(REFUND)
    shift = Shift(office, FakeMailbox([raw]))

    def failing(_: MailId) -> object:
        raise PermanentError("the record does not fit", code="unexpected")

    def away(*_: object) -> None:
        raise TransientError("the database did not answer", code="database")

    shift.engine.journey = failing
    with monkeypatch.context() as patched:
        patched.setattr(Outbox, "queue", away)
        with pytest.raises(TransientError):
            shift.work()
    assert status(office, raw) is MailStatus.NEW
    shift.work()
    assert (status(office, raw), recipients(office)) == (MailStatus.QUARANTINED, [DESK])


def test_old_records_are_forgotten_after_their_own_times(office: Office) -> None:
    """The engine's after `engine.retention_days`, a case after `store.retention_days`; never answered again."""
    raw = write(REFUND)
    shift = Shift(office, FakeMailbox([raw]))
    shift.work()
    settings = office.settings
    office.clock = Clock(NOON + timedelta(days=settings.store.retention_days - 1))
    shift.work()
    assert status(office, raw) is MailStatus.ANSWERED
    office.clock = Clock(NOON + timedelta(days=settings.store.retention_days + 1))
    shift.work()
    assert office.store.mails.find() == ()
    age = office.clock() - shift.engine.deleted_before[-1]
    assert timedelta() < age - timedelta(days=settings.engine.retention_days) < timedelta(minutes=1)
    Shift(office, replace(shift.mailbox, uid_validity=2)).work()
    assert recipients(office) == [ANNA]
