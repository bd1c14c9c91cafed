"""The weekly digest: once a week, late if it was missed, from the numbers of `coverage`, without a customer's words."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from support_agent.answer.templates import Templates
from support_agent.cases.pause import end_pause, write_pause
from support_agent.config.desk import DigestSettings
from support_agent.config.hours import HoursSettings
from support_agent.config.settings import Settings, StoreSettings
from support_agent.desk.coverage import coverage_of
from support_agent.ops.explain import timeline, why
from support_agent.ops.replay import replay
from support_agent.store.records import MailId, OutboxRecord, OutboxStatus, OutgoingKind
from tests.benchmarks.history import statements
from tests.fakes_journey import ANNA, DESK, JAMES, Office, write
from tests.fakes_worker import At, dying_at_the_outbox, work
from tests.unit.seen import CANCEL, HUMAN, OFF_TOPIC, PACKET, REFUND, one, opened, reason_told, text_of

LEAD = "lead@harborfile.example"
MONDAY = datetime(2026, 11, 23, 7, 0, tzinfo=UTC)
"""8:00 in Berlin."""
HOUR = timedelta(hours=1)
DAY = 24 * HOUR


@pytest.fixture
def clock() -> At:
    return At(MONDAY - 2 * DAY)


@pytest.fixture
def weekly(office: Office, clock: At) -> Office:
    """An office that sends the digest on Mondays at 8:00 in Berlin."""
    return with_digest(replace(office, clock=clock), address=LEAD)


def with_digest(office: Office, **values: object) -> Office:
    digest = DigestSettings.model_validate(values)
    hours = HoursSettings(time_zone="Europe/Berlin")
    return replace(office, settings=office.settings.model_copy(update={"digest": digest, "hours": hours}))


def digests(office: Office) -> list[OutboxRecord]:
    return list(office.store.outbox.find(kind=OutgoingKind.DIGEST))


def a_week(office: Office) -> MailId:
    """Two answered, three to people, one filed; people answer one of them after two hours."""
    clock = office.clock
    assert isinstance(clock, At)
    begin = clock.instant
    office.handle(write(REFUND, sender=JAMES))
    office.handle(write(REFUND, sender="david.chen@example.net", number=2))
    asked, _ = office.handle(write(HUMAN, sender=ANNA, number=3))
    office.handle(write(OFF_TOPIC, sender="priya.nair@example.net", subject="Tischreservierung", number=4))
    office.handle(write(CANCEL, sender="noah.williams@example.net", proof=None, number=5))
    office.handle(b"Auto-Submitted: auto-replied\r\n" + write(REFUND, number=6))
    clock.instant = begin + 2 * HOUR
    packet = office.sent(asked)[PACKET].message_id
    office.handle(write("Gern.", sender=DESK, in_reply_to=packet, number=7))
    return asked


def test_nobody_gets_one_unless_it_is_set(office: Office, clock: At) -> None:
    office = replace(office, clock=clock)
    office.handle(write(REFUND))
    clock.instant = MONDAY + HOUR
    work(office)
    assert digests(office) == []


def test_it_has_the_numbers_of_coverage(weekly: Office, clock: At) -> None:
    """The same counts, with the company's titles and words; who waits is counted by age."""
    a_week(weekly)
    clock.instant = MONDAY + HOUR
    work(weekly)
    (digest,) = digests(weekly)
    text, found = text_of(digest), coverage_of(weekly.store, (DESK,), MONDAY, 1)
    assert (found.mails, found.answered, found.escalated) == (6, 2, 3)
    for line in (
        "The week from Monday, 16 November 2026 to Monday, 23 November 2026",
        "Mails:     6",
        "Answered:  2, 0 of them in part",
        "To people: 3",
        "Filed:     1",
        "- 2: document:1 Refund policy",
        "- 1: person_asked_for The customer asks for a person.",
        "- 1: not_covered No document, field, series or record answers the question.",
        "They answered 1 case through the desk, 2 are open.",
        "Half of the customers waited at most 2.0 hours, nine of ten 2.0.",
        "- document:1 Refund policy: 0 the week before, 2 now",
        "CASES THAT WAIT FOR A PERSON'S ANSWER: 2",
        "- 2: 1 to 3 days",
    ):
        assert line in text.splitlines()
    assert opened(digest)["Subject"] == "2 of 6 mails answered in the week from Monday, 16 November 2026"
    assert (digest.recipient, digest.status, digest.case_id) == (LEAD, OutboxStatus.SENT, None)


def test_it_asks_the_store_as_often_for_many_mails_as_for_one(weekly: Office) -> None:
    """Failure: it read the plan and the calls of each mail of two weeks, one after the other."""
    weekly.handle(write(REFUND, sender=JAMES, number=9))
    with statements() as for_one:
        weekly.wired.digest.digest(MONDAY, MONDAY)
    a_week(weekly)
    with statements() as for_many:
        weekly.wired.digest.digest(MONDAY, MONDAY)
    assert len(for_many) == len(for_one) > 0


def test_no_word_of_a_customer_is_in_it(weekly: Office, clock: At) -> None:
    a_week(weekly)
    clock.instant = MONDAY + HOUR
    work(weekly)
    raw = digests(weekly)[0].raw
    for word in (b"Saturday?", b"talk to", b"Tischreservierung", b"@example.net", b"@example.org", b"message/rfc822"):
        assert word not in raw


def test_it_is_sent_once_a_week_and_late_if_it_was_missed(weekly: Office, clock: At) -> None:
    """The program is off from Wednesday on, and for two weeks later: one is late, and one is not made up for."""
    counts = []
    weekly.handle(write(REFUND))
    for at in (
        MONDAY - HOUR,
        MONDAY,
        MONDAY + 6 * HOUR,
        MONDAY + 6 * DAY,
        MONDAY + 9 * DAY,
        MONDAY + 10 * DAY,
        MONDAY + 24 * DAY,
        MONDAY + 25 * DAY,
    ):
        clock.instant = at
        if at.weekday() != 0:
            weekly.handle(write(REFUND, sender=f"{at:%d%H}@example.net", number=at.day))
        work(weekly)
        counts.append(len(digests(weekly)))
    assert counts == [0, 1, 1, 1, 2, 2, 3, 3]


def test_a_quiet_week_has_its_own(weekly: Office, clock: At) -> None:
    """Failure: the last mail carried a digest already, so that one was found in the place of the new one."""
    weekly.handle(write(REFUND))
    for week in range(3):
        clock.instant = MONDAY + week * 7 * DAY + HOUR
        for _ in range(2):
            work(weekly)
    assert [row.status for row in digests(weekly)] == [OutboxStatus.SENT] * 3
    assert ["Mails:     1" in text_of(row) for row in digests(weekly)] == [True, False, False]
    assert all(entry.is_identical for entry in replay(weekly.store, [digests(weekly)[0].mail_id]))


@pytest.mark.parametrize("dies_after", [False, True])
def test_it_is_sent_once_though_the_process_dies(weekly: Office, clock: At, dies_after: bool) -> None:
    """Before, or right after, it comes into the outbox."""
    weekly.handle(write(REFUND))
    clock.instant = MONDAY + HOUR
    with dying_at_the_outbox(after=dies_after):
        weekly.wired.digest.look_after()
    for _ in range(2):
        work(weekly)
    assert [to for to, _ in weekly.transport.given].count(LEAD) == 1


@pytest.mark.parametrize(
    ("at", "end"),
    [
        ("2026-11-23T06:59", "2026-11-16T07:00"),
        ("2026-11-23T07:00", "2026-11-23T07:00"),
        ("2026-11-22T23:30", "2026-11-16T07:00"),  # Monday there, before 8:00
        ("2026-10-26T06:59", "2026-10-19T06:00"),  # summer time ended the day before
        ("2026-03-30T06:00", "2026-03-30T06:00"),  # and began
        ("2027-01-01T12:00", "2026-12-28T07:00"),
    ],
)
def test_a_week_ends_by_the_clock_on_the_wall(weekly: Office, at: str, end: str) -> None:
    now, expected = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (at, end))
    assert weekly.wired.digest.last_end(now) == expected


def test_it_is_quiet_while_the_agent_is_paused_and_late_then(weekly: Office, clock: At) -> None:
    weekly.handle(write(REFUND))
    clock.instant = MONDAY + HOUR
    write_pause(weekly.settings.agent, "a test")
    work(weekly)
    assert digests(weekly) == []
    end_pause(weekly.settings.agent)
    work(weekly)
    assert len(digests(weekly)) == 1


def test_a_week_without_a_mail_has_none(weekly: Office, clock: At) -> None:
    clock.instant = MONDAY + HOUR
    work(weekly)
    assert digests(weekly) == []


def test_it_replays_and_is_no_part_of_the_case_whose_mail_carries_it(weekly: Office, clock: At) -> None:
    mail_id, _ = weekly.handle(write(REFUND))
    clock.instant = MONDAY + HOUR
    work(weekly)
    assert all(entry.is_identical for entry in replay(weekly.store, [mail_id]))
    assert OutgoingKind.DIGEST in [entry.kind for entry in replay(weekly.store, [mail_id])]
    case_id = str(one(weekly, mail_id).case_id)
    assert {mail.kind for mail in why(weekly.store, case_id)} == {OutgoingKind.ANSWER}
    assert [sent.record.kind for sent in timeline(weekly.store, case_id).mails[0].sent] == [OutgoingKind.ANSWER]


def test_an_answer_to_it_goes_to_the_desk_and_gets_nothing(weekly: Office, clock: At) -> None:
    """Rule: no loop with an automatic reply of the lead's that looks like a person's."""
    weekly.handle(write(REFUND))
    clock.instant = MONDAY + HOUR
    work(weekly)
    (digest,) = digests(weekly)
    before = len(weekly.transport.given)
    reply, outcome = weekly.handle(write(REFUND, sender=LEAD, in_reply_to=digest.message_id, number=9))
    assert outcome == "escalated"
    assert reason_told(weekly, reply) == ("about_no_case", f"it answers our digest to {LEAD}")
    assert [to for to, _ in weekly.transport.given[before:]] == [DESK]


def test_without_a_template_of_ones_own_the_programs_is_used(weekly: Office, clock: At) -> None:
    """Older workspaces have none."""
    files = {name: text for name, text in weekly.decider.templates.as_files().items() if "digest" not in name}
    weekly = replace(weekly, decider=replace(weekly.decider, templates=Templates.from_files(files)))
    weekly.handle(write(REFUND))
    clock.instant = MONDAY + HOUR
    work(weekly)
    assert "Mails:     1" in text_of(digests(weekly)[0])


def test_the_store_must_remember_two_weeks() -> None:
    """Failure: retention deletes the digest, and it is sent again."""
    with pytest.raises(ValidationError, match=r"must not be below 15 with digest\.address"):
        Settings(digest=DigestSettings(address=LEAD), store=StoreSettings(retention_days=14))
