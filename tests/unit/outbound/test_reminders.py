"""People are reminded of cases that nobody has answered: once for each interval, a few times, and never a customer."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from support_agent.cases.handling import Handling, Order
from support_agent.cases.pause import end_pause, write_pause
from support_agent.config.desk import ReminderSettings
from support_agent.config.hours import DAYS, HoursSettings
from support_agent.ops.explain import timeline, why
from support_agent.ops.replay import replay
from support_agent.store.records import CaseId, MailId, OutboxRecord, OutboxStatus, OutgoingKind
from support_agent.transport.submission import Delivery
from tests.fakes_desk import lines_of, order
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, Office, with_agent, write
from tests.fakes_worker import At, dying_at_the_outbox, work
from tests.unit.seen import HUMAN, PACKET, PERSON_REPLY, one, text_of

REMINDER = OutgoingKind.REMINDER
LEAD = "lead@harborfile.example"
FRIDAY_NOON = NOON.replace(microsecond=0)


class Friday(At):
    """A clock that is set by hours from Friday noon on."""

    def after(self, hours: float) -> None:
        self.instant = FRIDAY_NOON + timedelta(hours=hours)


@pytest.fixture
def clock() -> Friday:
    return Friday()


@pytest.fixture
def patient(office: Office, clock: Friday) -> Office:
    """Reminds after 4 hours, every 8, at most twice."""
    return with_reminders(replace(office, clock=clock), after_h=4, every_h=8, most=2)


def with_reminders(office: Office, **values: object) -> Office:
    reminders = ReminderSettings.model_validate({**dict(office.settings.reminders), **values})
    return replace(office, settings=office.settings.model_copy(update={"reminders": reminders}))


def reminders(office: Office) -> list[OutboxRecord]:
    return list(office.store.outbox.find(kind=REMINDER))


def case_of(office: Office, mail_id: MailId) -> CaseId:
    case_id = one(office, mail_id).case_id
    assert case_id is not None
    return case_id


def test_nobody_is_reminded_unless_it_is_set(office: Office, clock: Friday) -> None:
    office = replace(office, clock=clock)
    office.handle(write(HUMAN))
    clock.after(1000)
    work(office)
    assert reminders(office) == []


def test_the_desk_is_reminded_once_for_each_interval_and_at_most_so_often(patient: Office, clock: Friday) -> None:
    mail_id, _ = patient.handle(write(HUMAN))
    counts = []
    for hours in (3.9, 4.1, 4.2, 12, 12.2, 20.3, 100):
        clock.after(hours)
        work(patient)
        counts.append(len(reminders(patient)))
    assert counts == [0, 1, 1, 1, 2, 2, 2]
    first, second = reminders(patient)
    assert [(row.recipient, row.mail_id, row.status) for row in (first, second)] == [(DESK, mail_id, "sent")] * 2
    assert "No person has answered the customer yet. [reminder] waiting since 2026-11-20 12:00 UTC, 4 hours" in text_of(
        first
    )
    assert "12 hours; reminder 2 of 2" in text_of(second)
    assert ANNA not in [to for to, _ in patient.transport.given[2:]]


def test_a_reminder_tells_the_case_and_can_be_answered_like_its_packet(patient: Office, clock: Friday) -> None:
    """Each line works, a reply is passed on, and `replay` makes the same bytes."""
    mail_id, _ = patient.handle(write(HUMAN))
    clock.after(5)
    work(patient)
    (reminder,) = reminders(patient)
    assert "THE CASE SO FAR" not in text_of(reminder)  # nothing was before
    assert "close" in lines_of(reminder)
    reply, _ = patient.handle(write("We call you.", sender=DESK, in_reply_to=reminder.message_id, number=2))
    assert patient.sent(reply)[PERSON_REPLY].recipient == ANNA
    assert all(entry.is_identical for entry in replay(patient.store, [mail_id]))
    clock.after(100)
    work(patient)
    assert len(reminders(patient)) == 1


@pytest.mark.parametrize("command", ["close", "give back", "spam", "document 1"])
def test_who_has_acted_is_not_reminded(patient: Office, clock: Friday, command: str) -> None:
    mail_id, _ = patient.handle(write(f"{HUMAN} About a refund.", sender=JAMES))
    order(patient, lines_of(patient.sent(mail_id)[PACKET])[command])
    clock.after(100)
    work(patient)
    assert reminders(patient) == []


def test_who_has_claimed_a_case_is_the_one_who_is_reminded(patient: Office, clock: Friday) -> None:
    desk = patient.settings.desk.model_copy(update={"staff": ("ada@harborfile.example",)})
    patient = replace(patient, settings=patient.settings.model_copy(update={"desk": desk}))
    mail_id, _ = patient.handle(write(HUMAN))
    handling = Handling(patient.store, patient.settings)
    handling.order(case_of(patient, mail_id), Order.CLAIM, "x", NOON, to="ada@harborfile.example")
    clock.after(5)
    work(patient)
    assert [row.recipient for row in reminders(patient)] == ["ada@harborfile.example"]


def test_later_reminders_go_to_another_address_whose_people_are_staff(patient: Office, clock: Friday) -> None:
    patient = with_reminders(patient, address=LEAD, address_from=2)
    mail_id, _ = patient.handle(write(HUMAN))
    for hours in (5, 14):
        clock.after(hours)
        work(patient)
    assert [row.recipient for row in reminders(patient)] == [DESK, LEAD]
    told = [mail.desk for mail in why(patient.store, case_of(patient, mail_id)) if mail.kind is REMINDER]
    assert told == ["settings: desk.address", "settings: reminders.address"]
    sent = [sent.record.kind for sent in timeline(patient.store, case_of(patient, mail_id)).mails[0].sent]
    assert sent.count(REMINDER) == 2
    order(patient, lines_of(reminders(patient)[1])["close"], sender=LEAD)
    assert patient.store.cases.get_one(case_of(patient, mail_id)).state == "closed"


def test_only_hours_in_which_people_work_count(patient: Office, clock: Friday) -> None:
    """From Friday noon in UTC, 13:00 in Berlin: 4 hours are over at 17:00, the 8 after that on Tuesday."""
    days = {day: ["09:00-13:00", "14:00-17:00"] for day in DAYS[:5]}
    hours = HoursSettings.model_validate({"time_zone": "Europe/Berlin", **days})
    patient = replace(patient, settings=patient.settings.model_copy(update={"hours": hours}))
    patient.handle(write(HUMAN))
    counts = []
    for at in ("2026-11-22T12:00", "2026-11-23T08:59", "2026-11-23T09:01", "2026-11-24T09:00", "2026-11-24T10:02"):
        clock.instant = datetime.fromisoformat(at).replace(tzinfo=UTC)
        work(patient)
        counts.append(len(reminders(patient)))
    assert counts == [0, 0, 1, 1, 2]
    assert "4 working hours; reminder 1 of 2" in text_of(reminders(patient)[0])


def test_what_was_missed_is_not_made_up_for(patient: Office, clock: Friday) -> None:
    """Failure: a program that was off for a week sends all of its reminders at once."""
    patient.handle(write(HUMAN))
    clock.after(100)
    for _ in range(3):
        work(patient)
    assert len(reminders(patient)) == 1


@pytest.mark.parametrize("dies_after", [False, True])
def test_a_reminder_is_sent_once_though_the_process_dies(patient: Office, clock: Friday, dies_after: bool) -> None:
    """Before, or right after, it comes into the outbox."""
    patient.handle(write(HUMAN))
    clock.after(5)
    with dying_at_the_outbox(after=dies_after):
        patient.wired.reminders.look_after()
    for _ in range(2):
        work(patient)
    assert [row.status for row in reminders(patient)] == [OutboxStatus.SENT]
    assert [to for to, _ in patient.transport.given].count(DESK) == 2


def test_one_that_the_server_does_not_take_is_tried_again_like_any_mail(patient: Office, clock: Friday) -> None:
    patient.handle(write(HUMAN))
    clock.after(5)
    patient.transport.deliveries = [Delivery(status="retry", detail="421 later")]
    work(patient)
    clock.after(6)
    work(patient)
    assert [row.status for row in reminders(patient)] == [OutboxStatus.SENT]


def test_the_agent_is_quiet_while_it_is_paused(patient: Office, clock: Friday) -> None:
    patient.handle(write(HUMAN))
    clock.after(5)
    write_pause(patient.settings.agent, "a test")
    work(patient)
    assert reminders(patient) == []
    end_pause(patient.settings.agent)
    work(patient)
    assert len(reminders(patient)) == 1


def test_half_of_the_hourly_limit_is_left_to_other_mail(patient: Office, clock: Friday) -> None:
    """Failure: reminders are turned on, many cases are open, and no customer is answered for an hour."""
    for number in range(9):
        patient.handle(write(HUMAN, sender=f"{number}@example.net", number=number))
    patient = with_agent(patient, max_mails_per_hour=8)
    clock.after(5)
    work(patient)
    assert len(reminders(patient)) == 4
    clock.after(7)
    work(patient)
    assert len(reminders(patient)) == 8


def test_old_cases_are_left_alone(patient: Office, clock: Friday) -> None:
    patient.handle(write(HUMAN))
    clock.after(31 * 24)
    work(patient)
    assert reminders(patient) == []


def test_reminders_are_looked_for_every_few_minutes_only(patient: Office, clock: Friday) -> None:
    """The worker's rounds are short; the query is not free."""
    patient = with_reminders(patient, after_h=0.01)
    looking = patient.wired.reminders
    assert looking.look_after() == 0
    patient.handle(write(HUMAN))
    found = []
    for minutes in (4, 6, 7):
        clock.instant = NOON + timedelta(minutes=minutes)
        found.append(looking.look_after())
    assert found == [0, 1, 0]
