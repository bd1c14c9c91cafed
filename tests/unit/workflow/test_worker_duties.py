"""The duties of a round of the worker besides new mail: one duty that cannot be done now keeps no other waiting."""

from __future__ import annotations

from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from support_agent.engine.journeys import FailedJourney
from support_agent.errors import PermanentError, TransientError
from support_agent.store.outbox import Outbox
from support_agent.store.records import MailId, MailStatus, OutboxRecord, OutboxStatus, OutgoingMail, mail_id_of
from support_agent.transport.submission import Delivery
from support_agent.workflow.digest import WeeklyDigest
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, Clock, Office, write
from tests.fakes_worker import FakeMailbox, Shift, status
from tests.unit.seen import ANSWER, FAILURE, REFUND, one


def with_failed_mail(office: Office) -> tuple[Shift, bytes]:
    """A shift after the journey of a mail has failed."""
    raw = write(REFUND, sender=JAMES)
    shift = Shift(office, FakeMailbox([]))
    mail_id = office.receive(raw)
    shift.engine.keys[mail_id] = "its thread"
    shift.engine.failures.append(FailedJourney(mail_id, PermanentError("it was lost", code="interrupted")))
    return shift, raw


def without_notices_of(mail_id: MailId, patch: pytest.MonkeyPatch) -> None:
    """Let no notice about this mail be queued."""
    queue = Outbox.queue

    def busy(outbox: Outbox, mail: OutgoingMail) -> OutboxRecord:
        if mail.mail_id == mail_id:
            raise TransientError("the database does not answer", code="database")
        return queue(outbox, mail)

    patch.setattr(Outbox, "queue", busy)


def test_s37_mail_that_cannot_be_set_aside_now_stops_nothing_else(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: while a notice could not be made, no answer, packet or notice left the outbox.

    The round says that it failed; the mail is escalated as soon as that can be done.
    """
    office.transport.deliveries = [Delivery(status="retry", detail="451 later")]
    waiting, _ = office.handle(write("How do I cancel?"))
    office.clock = Clock(NOON + timedelta(days=1))
    shift, failed = with_failed_mail(office)
    with monkeypatch.context() as patched:
        without_notices_of(mail_id_of(failed), patched)
        with pytest.raises(TransientError, match="does not answer"):
            shift.work()
        assert (office.sent(waiting)[ANSWER].status, status(office, failed)) == (OutboxStatus.SENT, MailStatus.NEW)
    shift.work()
    assert status(office, failed) is MailStatus.QUARANTINED
    assert [recipient for recipient, _ in office.transport.given] == [ANNA, ANNA, DESK]


def test_a_duty_that_meets_a_defect_of_the_program_keeps_no_other_from_being_done(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: the worker ended at it, again after each start, and nothing left the outbox any more."""
    office.transport.deliveries = [Delivery(status="retry", detail="451 later")]
    waiting, _ = office.handle(write("How do I cancel?"))
    office.clock = Clock(NOON + timedelta(days=1))

    def broken(_: object) -> None:
        raise ValueError("a defect")

    monkeypatch.setattr(WeeklyDigest, "look_after", broken)
    with capture_logs() as logs:
        Shift(office, FakeMailbox([])).work()
    assert office.sent(waiting)[ANSWER].status is OutboxStatus.SENT
    assert [entry["code"] for entry in logs if entry["event"] == "duty_failed_for_good"] == ["unexpected"]


def test_s37_mail_that_cannot_be_set_aside_now_stops_no_other_that_can(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    shift, first = with_failed_mail(office)
    second = office.receive(write("How do I cancel?", proof=None))
    shift.engine.failures.append(FailedJourney(second, PermanentError("it was lost", code="interrupted")))
    shift.engine.keys[second] = "another thread"
    without_notices_of(mail_id_of(first), monkeypatch)
    with pytest.raises(TransientError):
        shift.work()
    assert (status(office, first), one(office, second).status) == (MailStatus.NEW, MailStatus.QUARANTINED)
    assert set(office.sent(second)) == {FAILURE}


@pytest.mark.parametrize(("rule", "levels"), [("S9", ["warning", "critical"]), ("S11", ["critical", "critical"])])
def test_s9_s11_mail_that_is_dropped_is_told_to_the_operator(office: Office, rule: str, levels: list[str]) -> None:
    """A loop, or a web form that writes in our name: an alarm, for our own mail when it is repeated."""
    sender = office.settings.agent.address if rule == "S9" else ANNA
    hops = b"" if rule == "S9" else b"Received: from a by b\r\n" * 51
    with capture_logs() as logs:
        for number in range(2):
            office.handle(hops + write(REFUND, sender=sender, number=number))
    dropped = [entry for entry in logs if entry["event"] == "mail_dropped"]
    assert [(entry["rule"], entry["log_level"]) for entry in dropped] == [(rule, level) for level in levels]
    assert office.store.traffic.ended_for(rule, NOON) == 2
