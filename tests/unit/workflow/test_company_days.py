"""Which day is today: that of the company's time zone; and what a mail means that was written on another day."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from support_agent.core.modes import Mode
from support_agent.errors import PermanentError
from support_agent.ops.replay import chosen, plan_again, replay
from support_agent.pipeline import handle
from support_agent.workflow.approval import THE_OPERATOR
from tests.fakes_desk import lines_of, told
from tests.fakes_journey import ANNA, DESK, JAMES, Clock, Office, once, with_autonomy, write
from tests.journey.test_hold_window import with_document
from tests.unit.seen import ANSWER, HUMAN, PACKET, REFUND, one, text_of

THIS_MONTH, LAST_YEAR = "What did I pay this month?", "What did I pay last year?"
HALLOWEEN, ALL_SOULS = datetime(2026, 10, 31, 12, tzinfo=UTC), datetime(2026, 11, 2, 9, tzinfo=UTC)


def at(office: Office, when: datetime, zone: str = "UTC") -> Office:
    """The office at an instant, in a time zone."""
    settings = office.settings
    settings = settings.model_copy(update={"company": settings.company.model_copy(update={"time_zone": zone})})
    return replace(office, clock=Clock(when), settings=settings, decider=replace(office.decider, settings=settings))


def undated(mail: bytes) -> bytes:
    return re.sub(rb"^Date: .*\r\n", b"", mail, count=1, flags=re.MULTILINE)


def dated(text: str, date_field: str) -> bytes:
    """Anna's mail with this Date; "" for none."""
    mail = undated(write(text, sender=ANNA))
    return f"Date: {date_field}\r\n".encode() + mail if date_field else mail


@pytest.mark.parametrize(
    ("when", "zone", "question", "period"),
    [
        (datetime(2026, 12, 31, 23, 30, tzinfo=UTC), "Asia/Tokyo", LAST_YEAR, ("1. Januar 2026", "31. Dezember 2026")),
        (datetime(2026, 12, 31, 23, 30, tzinfo=UTC), "UTC", LAST_YEAR, ("1. Januar 2025", "31. Dezember 2025")),
        (
            datetime(2026, 11, 1, 0, 30, tzinfo=UTC),
            "America/Los_Angeles",
            THIS_MONTH,
            ("1. Oktober 2026", "31. Oktober 2026"),
        ),
        (datetime(2026, 11, 1, 0, 30, tzinfo=UTC), "UTC", THIS_MONTH, ("1. November 2026", "30. November 2026")),
    ],
)
def test_a_period_counts_from_the_companys_day(
    office: Office, when: datetime, zone: str, question: str, period: tuple[str, str]
) -> None:
    """Failure: at half past eight in Tokyo on New Year's Day last year was the year before last."""
    mail_id, outcome = at(office, when, zone).handle(dated(question, ""))
    assert outcome == "answered"
    assert f"(vom {period[0]} bis {period[1]})" in text_of(office.sent(mail_id)[ANSWER])


@pytest.mark.parametrize(("zone", "outcome"), [("America/Los_Angeles", "answered"), ("UTC", "escalated")])
def test_a_document_is_valid_until_the_end_of_the_companys_day(office: Office, zone: str, outcome: str) -> None:
    """Failure: it ended up to 14 hours early or late."""
    there = with_document(at(office, datetime(2026, 11, 1, 0, 30, tzinfo=UTC), zone), 1, valid_until=date(2026, 10, 31))
    assert there.handle(write(REFUND, sender=JAMES))[1] == outcome


def test_what_is_approved_is_valid_on_the_companys_day(office: Office) -> None:
    """Half past five in Los Angeles is still the last day of a document."""
    there = at(with_autonomy(office, start=Mode.APPROVE), datetime(2026, 11, 1, 0, 30, tzinfo=UTC))
    mail_id, _ = there.handle(write(REFUND, sender=JAMES))
    there = with_document(there, 1, valid_until=date(2026, 10, 31))
    proposal = there.sent(mail_id)[ANSWER].id
    with pytest.raises(PermanentError, match="not valid any more"):
        there.wired.desk.approval.of(proposal, THE_OPERATOR)
    at(there, there.clock(), "America/Los_Angeles").wired.desk.approval.of(proposal, THE_OPERATOR)


@pytest.mark.parametrize(
    ("received_at", "written", "question"),
    [
        (HALLOWEEN, "Sat, 31 Oct 2026 12:00:00 +0000", THIS_MONTH),  # the agent was paused
        (HALLOWEEN, "", THIS_MONTH),
        (ALL_SOULS, "Sat, 31 Oct 2026 12:00:00 +0000", THIS_MONTH),  # it was off, and the mail waited in the mailbox
        (HALLOWEEN, "", "What did I pay in November?"),  # of last year
        (HALLOWEEN, "", "How many seats do I have this month?"),
    ],
)
def test_a_period_that_was_another_one_when_the_mail_was_written_goes_to_a_person(
    office: Office, received_at: datetime, written: str, question: str
) -> None:
    """Failure: "this month", written on 31 October and decided on 2 November, was answered with November."""
    mail_id = at(office, received_at).receive(dated(question, written))
    there = at(office, ALL_SOULS)
    assert handle(mail_id, once(), there.stages) == "escalated"
    mail = one(office, mail_id)
    assert (mail.reason_code, str(mail.why)[:28]) == ("not_covered", "it was written on 2026-10-31")


@pytest.mark.parametrize(
    ("received_at", "written", "question"),
    [
        (HALLOWEEN, "", LAST_YEAR),  # another day, the same year
        (HALLOWEEN, "", "What did I pay in 2025?"),
        (HALLOWEEN, "", "What did I pay in total, all time?"),
        (HALLOWEEN, "", "How many seats do I have?"),
        (ALL_SOULS, "Thu, 01 Jan 1970 00:00:00 +0000", THIS_MONTH),  # a wrong clock
        (ALL_SOULS, "Thu, 31 Dec 2026 00:00:00 +0000", THIS_MONTH),  # one that is ahead
    ],
)
def test_a_period_that_is_still_the_same_is_answered(
    office: Office, received_at: datetime, written: str, question: str
) -> None:
    """Also years later: all time begins on the same day; and a Date that cannot be is not believed."""
    mail_id = at(office, received_at).receive(dated(question, written))
    assert handle(mail_id, once(), at(office, ALL_SOULS).stages) == "answered"


def test_a_replay_decides_for_the_days_of_the_decision(office: Office) -> None:
    """The same instants and the same zone: the same answers, whenever it is replayed."""
    there = at(office, datetime(2026, 12, 31, 23, 30, tzinfo=UTC), "Asia/Tokyo")
    there.handle(dated(LAST_YEAR, ""))
    late = at(office, HALLOWEEN).receive(dated(THIS_MONTH, ""))
    there = at(office, ALL_SOULS, "Asia/Tokyo")
    handle(late, once(), there.stages)
    there = at(there, ALL_SOULS + timedelta(days=800), "Asia/Tokyo")
    mails = chosen(there.store)
    assert [one.status for one in plan_again(there.store, there.dry_run, mails)] == ["same", "same"]
    assert all(one.is_identical for one in replay(there.store, mails))


def test_a_persons_order_of_another_month_is_refused(office: Office) -> None:
    """It waited while the agent was paused; the same order, written now, is carried out."""
    asked, _ = at(office, HALLOWEEN).handle(dated(HUMAN, ""))
    line = lines_of(office.sent(asked)[PACKET])["document 1"].replace("document 1", "send series:payments@this_month")
    late, now = (undated(write("", subject=line, sender=DESK, number=number)) for number in (50, 51))
    mail_id = at(office, HALLOWEEN).receive(late)
    there = at(office, ALL_SOULS)
    handle(mail_id, once(), there.stages)
    assert "this_month was another one when the mail was written" in told(there, mail_id)
    mail_id, _ = there.handle(now)
    assert told(there, mail_id) == ""
    assert "(vom 1. November 2026 bis 30. November 2026)" in text_of(there.sent(mail_id)[ANSWER])
