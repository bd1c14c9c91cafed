"""An acknowledgement says when a person answers, by the hours of the configuration, in each language that ships."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from support_agent.answer.templates import Templates
from support_agent.config.hours import DAYS, HoursSettings
from support_agent.ops.explain import why
from support_agent.ops.replay import replay
from tests.fakes_journey import JAMES, Office, write
from tests.unit.seen import ACKNOWLEDGEMENT, HUMAN, one, text_of

TODAYS = (
    "thank you for your message. A person in our team has it now and will answer you by mail.\n"
    "You need not do anything; a reply to this mail is added to your case.\n"
)
WEEK = {day: ["09:00-17:00"] for day in DAYS[:5]}
CLOSED = "We are closed now and open again on Monday, 28 December 2026, at 09:00 (Europe/Berlin).\n"


def at(office: Office, instant: str, **hours: object) -> Office:
    """The office at an instant in UTC, with these hours."""
    made = HoursSettings.model_validate({"time_zone": "Europe/Berlin", **hours})
    settings = office.settings.model_copy(update={"hours": made})
    moment = datetime.fromisoformat(instant).replace(tzinfo=UTC)
    return replace(
        office,
        settings=settings,
        decider=replace(office.decider, settings=settings),
        clock=lambda: moment,
    )


def acknowledged(office: Office, number: int = 1) -> str:
    mail_id, _ = office.handle(write(HUMAN, sender=JAMES, number=number))
    return text_of(office.sent(mail_id)[ACKNOWLEDGEMENT]).replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("instant", "hours", "said"),
    [
        ("2026-12-24T17:00", {}, ""),
        ("2026-12-24T10:00", WEEK, ""),
        ("2026-12-24T17:00", {**WEEK, "holidays": ["2026-12-25"]}, CLOSED),
        (
            "2026-12-24T17:00",
            {**WEEK, "holidays": ["2026-12-25"], "reply_within_h": 4},
            f"{CLOSED}You will have an answer within 4 working hours.\n",
        ),
        ("2026-12-24T10:00", {**WEEK, "reply_within_h": 1}, "You will have an answer within 1 working hour.\n"),
        ("2026-12-24T10:00", {"reply_within_h": 4}, ""),
        ("2026-12-24T10:00", {**WEEK, "holidays": ["2026-12-24", "2026-12-25"]}, CLOSED),
    ],
)
def test_an_acknowledgement_says_when_people_work_and_answer(
    office: Office, instant: str, hours: dict[str, object], said: str
) -> None:
    """Without hours the words are those of before."""
    before, after = TODAYS.split("\n", 1)
    assert f"{before}\n{said}{after}" in acknowledged(at(office, instant, **hours))


def test_what_was_sent_replays_to_the_same_bytes_whatever_the_hours_are_now(office: Office) -> None:
    """Rule: the instant is recorded with the mail; each word of it has a source."""
    closed = at(office, "2026-12-24T17:00", **WEEK, holidays=["2026-12-25"], reply_within_h=4)
    mail_id, _ = closed.handle(write(HUMAN, sender=JAMES))
    later = at(office, "2027-03-01T10:00", monday=["10:00-11:00"])
    assert [entry.is_identical for entry in replay(later.store, [mail_id])] == [True, True]
    case_id = str(one(office, mail_id).case_id)
    (sent,) = [mail for mail in why(later.store, case_id) if mail.kind is ACKNOWLEDGEMENT]
    sources = {part.text: part.what for line in sent.lines for part in line.sources}
    assert sources["Monday, 28 December 2026"] == "computed: open day by hours, when the mail was made"
    assert sources["09:00"] == "computed: open time by hours, when the mail was made"
    assert sources["Europe/Berlin"] == "settings: hours.time_zone"
    assert sources["4"] == "settings: hours.reply_within_h"


def test_an_older_template_goes_on_as_before(office: Office) -> None:
    """Failure: a company's own template cannot say it, the gate refuses the mail, and the customer hears nothing."""
    files = office.decider.templates.as_files()
    older = {
        name: "".join(
            line
            for line in text.splitlines(keepends=True)
            if not any(part in line for part in ("open_day", "reply_hours"))
        )
        if "acknowledgement" in name
        else text
        for name, text in files.items()
    }
    older = {
        name: text.replace("{% endif %}\n", "") if "acknowledgement" in name else text for name, text in older.items()
    }
    templates = Templates.from_files(older)
    closed = at(office, "2026-12-24T17:00", **WEEK, reply_within_h=4)
    closed = replace(closed, decider=replace(closed.decider, templates=templates))
    assert TODAYS in acknowledged(closed)
