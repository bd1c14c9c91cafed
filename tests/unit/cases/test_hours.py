"""When people work: by the clock on the wall of their time zone, through summer time, midnight and the year's end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from support_agent.cases.hours import Hours
from support_agent.config.hours import DAYS, HoursSettings

OFFICE: dict[str, Any] = {day: ["09:00-12:00", "13:00-17:00"] for day in DAYS[:5]}
ALWAYS: dict[str, Any] = {day: ["00:00-24:00"] for day in DAYS}
INSTANTS = st.datetimes(datetime(2024, 1, 1), datetime(2028, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


def hours(zone: str = "Europe/Berlin", /, **days: Any) -> Hours:
    return Hours(HoursSettings.model_validate({"time_zone": zone, **(days or OFFICE)}))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "opens"),
    [
        ("2026-11-20T08:00", None),  # Friday, 9:00 in Berlin
        ("2026-11-20T07:59:59", "2026-11-20T09:00+01:00"),
        ("2026-11-20T11:00", "2026-11-20T13:00+01:00"),
        ("2026-11-20T15:59:59", None),
        ("2026-11-20T16:00", "2026-11-23T09:00+01:00"),
        ("2026-11-22T23:30", "2026-11-23T09:00+01:00"),  # Monday there, Sunday here
        ("2026-03-27T16:30", "2026-03-30T09:00+02:00"),  # summer time begins on Sunday
        ("2026-10-23T15:30", "2026-10-26T09:00+01:00"),  # and ends
        ("2026-07-01T07:00", None),
    ],
)
def test_closed_until_the_next_hour_on_the_wall(at: str, opens: str | None) -> None:
    found = hours().closed_until(utc(at))
    assert (None if found is None else found.isoformat(timespec="minutes")) == opens


@pytest.mark.parametrize(
    ("zone", "opens"),
    [
        ("America/New_York", "2026-11-20T09:00-05:00"),
        ("Asia/Kolkata", "2026-11-23T09:00+05:30"),
        ("Pacific/Auckland", "2026-11-23T09:00+13:00"),
        ("UTC", None),
    ],
)
def test_each_time_zone_has_its_own_day(zone: str, opens: str | None) -> None:
    """At noon in UTC on a Friday: morning, evening, and Saturday."""
    always_open: dict[str, Any] = {day: ["09:00-17:00"] for day in DAYS[:5]}
    found = hours(zone, **always_open).closed_until(utc("2026-11-20T12:00"))
    assert (None if found is None else found.isoformat(timespec="minutes")) == opens


def test_holidays_at_the_end_of_the_year_are_closed() -> None:
    days = ["2026-12-24", "2026-12-25", "2026-12-31", "2027-01-01"]
    closed = hours(**OFFICE, holidays=days).closed_until
    assert closed(utc("2026-12-23T16:30")) == datetime.fromisoformat("2026-12-28T09:00+01:00")
    assert closed(utc("2026-12-30T16:30")) == datetime.fromisoformat("2027-01-04T09:00+01:00")


def test_hours_to_midnight_go_on_into_those_of_the_next_day() -> None:
    night = hours(friday=["18:00-24:00"], saturday=["00:00-02:00"])
    assert night.closed_until(utc("2026-11-20T23:00")) is None  # midnight in Berlin
    assert night.closed_until(utc("2026-11-20T22:59:59")) is None
    assert night.closed_until(utc("2026-11-21T01:00")) == datetime.fromisoformat("2026-11-27T18:00+01:00")
    assert night.between(utc("2026-11-20T00:00"), utc("2026-11-22T00:00")) == timedelta(hours=8)


def test_without_hours_nothing_is_said_and_all_time_counts() -> None:
    none = hours("UTC", monday=[])
    assert none.closed_until(utc("2026-11-20T12:00")) is None
    assert none.between(utc("2026-11-20T12:00"), utc("2026-11-21T12:00")) == timedelta(days=1)


def test_nobody_says_when_a_company_opens_that_never_does() -> None:
    """Failure: a loop without end, or a date that is made up."""
    every_monday = [(datetime(2026, 11, 2) + timedelta(weeks=n)).date() for n in range(80)]  # noqa: DTZ001
    assert hours(monday=["09:00-17:00"], holidays=every_monday).closed_until(utc("2026-11-20T12:00")) is None


@pytest.mark.parametrize(
    ("since", "until", "worked_h"),
    [
        ("2026-11-20T09:00", "2026-11-20T10:30", 1.5),
        ("2026-11-20T10:30", "2026-11-20T12:30", 1),  # over lunch
        ("2026-11-20T15:00", "2026-11-23T09:00", 2),  # over the weekend
        ("2026-11-21T00:00", "2026-11-22T23:00", 0),
        ("2026-11-20T12:00", "2026-11-20T11:00", 0),  # the clock went back
    ],
)
def test_only_hours_in_which_people_work_count(since: str, until: str, worked_h: float) -> None:
    assert hours().between(utc(since), utc(until)) == timedelta(hours=worked_h)


@pytest.mark.parametrize(("day", "real_h"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-10-24", 24)])
def test_a_day_on_which_the_clock_changes_has_an_hour_less_or_more(day: str, real_h: int) -> None:
    around = hours(**ALWAYS)
    begin = datetime.fromisoformat(f"{day}T00:00").replace(tzinfo=around.zone)
    end = (datetime.fromisoformat(day) + timedelta(days=1)).replace(tzinfo=around.zone)
    assert around.between(begin, end) == timedelta(hours=real_h)


def test_an_hour_that_the_clock_leaves_out_does_no_harm() -> None:
    """From 2:00 to 3:00 there is no such hour on that day."""
    night = hours(sunday=["02:15-02:45", "03:30-04:00"])
    assert night.closed_until(utc("2026-03-29T00:00")) is not None
    assert night.between(utc("2026-03-29T00:00"), utc("2026-03-29T12:00")) >= timedelta(minutes=30)


@given(INSTANTS, st.integers(0, 20 * 24 * 60), st.integers(0, 20 * 24 * 60))
def test_times_add_up_and_who_is_closed_has_not_worked(at: datetime, first_min: int, second_min: int) -> None:
    office = hours()
    middle, end = at + timedelta(minutes=first_min), at + timedelta(minutes=first_min + second_min)
    assert office.between(at, middle) + office.between(middle, end) == office.between(at, end)
    opens = office.closed_until(at)
    if opens is not None:
        assert office.between(at, opens) == timedelta()
        assert office.closed_until(opens) is None


@pytest.mark.parametrize(
    "text", ["9:00-17:00", "09:00", "09:00-08:00", "09:00-09:00", "24:00-24:00", "09:00-25:00", "22:00-02:00"]
)
def test_what_is_no_stretch_of_a_day_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        HoursSettings(monday=(text,))


@pytest.mark.parametrize("texts", [("09:00-12:00", "11:00-13:00"), ("13:00-14:00", "09:00-10:00")])
def test_hours_that_overlap_or_are_out_of_order_are_refused(texts: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError, match="must be in order"):
        HoursSettings(monday=texts)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", "Europe"])
def test_what_is_no_time_zone_is_refused(zone: str) -> None:
    with pytest.raises(ValidationError, match="such as Europe/Berlin"):
        HoursSettings(time_zone=zone)
