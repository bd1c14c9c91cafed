"""Causes of alarms: each begins at its bound, says what to do, and ends when it is over."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from support_agent.cases.pause import write_pause
from support_agent.core.cursor import Cursor
from support_agent.store.records import MailStatus, OutboxStatus, OutgoingKind
from support_agent.store.watch_records import AlarmKind, Expiring
from support_agent.tools.ending import Reason
from support_agent.watch.causes import Cause, causes
from tests.contract.store.examples import cursor, raw
from tests.fakes_journey import NOON, Office, with_agent, write
from tests.fakes_watch import with_watch
from tests.fakes_worker import At
from tests.unit.seen import REFUND

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def found(office: Office, at: datetime = NOON) -> dict[AlarmKind, Cause]:
    return {cause.kind: cause for cause in causes(office.store, office.settings, at)}


def came_in(office: Office, number: int, at: datetime, status: MailStatus, reason: str | None = None) -> None:
    """A mail from the mailbox that ended a minute later, if it has."""
    mail_id = office.store.mails.record(raw(number), f"<{number}@x>", cursor(number), at).id
    if status is not MailStatus.NEW:
        office.store.mails.end(mail_id, status, reason, None, at + timedelta(minutes=1))


def test_a_fresh_store_has_none(office: Office) -> None:
    assert found(office) == {}


def test_a_mailbox_that_is_not_read(office: Office) -> None:
    office.store.cursors.move(Cursor(folder="INBOX", uid_validity=1, last_uid=1))
    office.store.cursors.mark_fetched("INBOX", NOON)
    late = NOON + timedelta(seconds=office.settings.imap.alarm_after_s)
    assert found(office, late) == {}
    cause = found(office, late + timedelta(seconds=1))[AlarmKind.MAILBOX_UNREACHABLE]
    assert cause.what == "INBOX was last read to its end 901 seconds ago, at 2026-11-20 12:00 UTC"


@pytest.mark.parametrize(
    ("weeks", "today", "is_silent"),
    [((1, 2, 3, 4), False, True), ((1, 2, 4), False, False), ((1, 2, 3, 4), True, False), ((), False, False)],
    ids=["usual", "a week had none", "mail came", "a new mailbox"],
)
def test_a_mailbox_is_silent_only_where_mail_is_usual(
    office: Office, weeks: tuple[int, ...], today: bool, is_silent: bool
) -> None:
    """Failure: each quiet weekend is an alarm."""
    for week in weeks:
        came_in(office, week, NOON - week * 7 * DAY - 23 * HOUR, MailStatus.FILED)
    if today:
        came_in(office, 9, NOON - 23 * HOUR, MailStatus.FILED)
    came_in(office, 10, NOON - 25 * HOUR, MailStatus.FILED)
    assert (AlarmKind.MAILBOX_SILENT in found(office)) is is_silent
    assert AlarmKind.MAILBOX_SILENT not in found(with_watch(office, silent_after_h=0))


def test_a_silent_mailbox_that_is_not_read_is_one_alarm(office: Office) -> None:
    """Nobody knows whether mail came."""
    for week in (1, 2, 3, 4):
        came_in(office, week, NOON - week * 7 * DAY - HOUR, MailStatus.FILED)
    office.store.cursors.mark_fetched("INBOX", NOON - DAY)
    assert set(found(office)) == {AlarmKind.MAILBOX_UNREACHABLE}


def test_a_backlog(office: Office) -> None:
    came_in(office, 1, NOON, MailStatus.NEW)
    came_in(office, 2, NOON - HOUR, MailStatus.FILED)
    after = NOON + timedelta(seconds=office.settings.watch.backlog_after_s)
    assert found(office, after) == {}
    cause = found(office, after + timedelta(seconds=1))[AlarmKind.BACKLOG]
    assert cause.what == "1 mail not decided yet, the oldest since 2026-11-20 12:00 UTC"


def test_as_many_mails_as_may_wait_are_a_backlog_at_once(office: Office) -> None:
    """Rule: nothing more is fetched then, and the desk is told."""
    engine = office.settings.engine.model_copy(update={"max_waiting": 2})
    full = replace(office, settings=office.settings.model_copy(update={"engine": engine}))
    came_in(full, 1, NOON, MailStatus.NEW)
    assert found(full) == {}
    came_in(full, 2, NOON, MailStatus.NEW)
    assert found(full)[AlarmKind.BACKLOG].what == (
        "2 mails not decided yet, the oldest since 2026-11-20 12:00 UTC; "
        "by engine.max_waiting further ones stay in the mailbox meanwhile"
    )


def test_a_backlog_of_a_paused_agent_says_how_to_go_on(office: Office) -> None:
    came_in(office, 1, NOON, MailStatus.NEW)
    write_pause(office.settings.agent, "the weekend")
    try:
        paused = found(office, NOON + DAY)
    finally:
        office.settings.agent.pause_file.unlink()
    assert set(paused) == {AlarmKind.BACKLOG, AlarmKind.PAUSED}
    assert paused[AlarmKind.BACKLOG].todo == "`support-agent resume` ends it"
    assert "the weekend" in paused[AlarmKind.PAUSED].what


def test_a_limit_is_no_backlog(office: Office) -> None:
    """Rule: `outbound.notices` tells the desk of it, once an hour."""
    limited = with_agent(replace(office, clock=At(NOON)), max_mails_per_hour=1)
    limited.handle(write(REFUND))
    came_in(limited, 5, NOON - HOUR, MailStatus.NEW)
    cause = found(limited)[AlarmKind.LIMITED]
    assert set(found(limited)) == {AlarmKind.LIMITED}
    assert cause.what == "everything automatic waits: 1 automatic mails within an hour, the limit (S12)"


def test_an_uncertain_mail_that_nobody_decides_about(office: Office) -> None:
    mail_id, _ = office.handle(write(REFUND))
    row = office.sent(mail_id)[OutgoingKind.ANSWER]
    with office.store.database.write() as connection:
        connection.exec_driver_sql("UPDATE outbox SET status = 'uncertain'")
    later = row.created_at + timedelta(hours=office.settings.watch.uncertain_after_h)
    assert found(office, later - HOUR) == {}
    assert found(office, later)[AlarmKind.UNCERTAIN].what.startswith("1 mail may or may not have been sent")
    with office.store.database.write() as connection:
        connection.exec_driver_sql(f"UPDATE outbox SET status = '{OutboxStatus.SENT}'")
    assert found(office, later) == {}


def test_a_language_model_that_fails(office: Office) -> None:
    for number, reason in enumerate((Reason.MODEL_FAILED, "model", Reason.UNSURE, Reason.MODEL_FAILED), start=1):
        assert AlarmKind.MODEL not in found(office, NOON + 2 * timedelta(minutes=1))
        came_in(office, number, NOON, MailStatus.ESCALATED, reason)
    assert found(office, NOON + HOUR)[AlarmKind.MODEL].what.startswith("3 mails went to people within an hour")
    assert AlarmKind.MODEL not in found(office, NOON + 2 * HOUR)


def test_certificates_and_a_token_that_end_soon(office: Office) -> None:
    imap = office.settings.imap.model_copy(update={"host": "imap.example.com"})
    office = replace(office, settings=office.settings.model_copy(update={"imap": imap}))
    office.store.watching.note_expiry(Expiring.IMAP_CERTIFICATE, NOON + 14 * DAY)
    office.store.watching.note_expiry(Expiring.SMTP_CERTIFICATE, NOON + 90 * DAY)
    office.store.watching.note_expiry(Expiring.REFRESH_TOKEN, NOON - HOUR)
    assert set(found(office)) == {AlarmKind.TOKEN}
    certificate = found(office, NOON + HOUR)[AlarmKind.CERTIFICATE]
    assert certificate.what == "the certificate of imap.example.com ends on 2026-12-04 12:00 UTC"
