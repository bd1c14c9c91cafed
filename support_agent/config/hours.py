"""The configuration's section for the hours in which people work; part of `settings.Settings`."""

from __future__ import annotations

import re
from datetime import date, time, timedelta
from itertools import pairwise
from typing import Annotated, NamedTuple
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, field_validator

from support_agent.core.frozen import Frozen

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
INTERVAL = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|24:00)")


class Interval(NamedTuple):
    """A stretch of a day by the clock on the wall; an `end` of None is the midnight after it."""

    begin: time
    end: time | None


def interval_of(text: str) -> Interval:
    """An interval such as "09:00-17:30", or to the end of the day, "18:00-24:00".

    Raises:
        ValueError: it is none; one that goes on after midnight is two.
    """
    match = INTERVAL.fullmatch(text)
    if match is None:
        raise ValueError('write hours as "09:00-17:30", at most to "24:00"')
    begin = time(int(match[1]), int(match[2]))
    end = time(int(match[3]), int(match[4])) if match[3] is not None else None
    if end is not None and end <= begin:
        raise ValueError(f'"{text}" ends before it begins: what goes on after midnight belongs to the next day')
    return Interval(begin, end)


def _is_interval(text: str) -> str:
    interval_of(text)
    return text


def _is_zone(name: str) -> str:
    try:
        zone = ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # as different systems say that there is no such file
        raise ValueError("no time zone: write one of the IANA database, such as Europe/Berlin") from None
    is_utc = zone.utcoffset(None) == timedelta(0)  # Etc/UTC, GMT and others: databases know some by this name alone
    return "UTC" if is_utc else name


ZoneName = Annotated[str, AfterValidator(_is_zone)]
IntervalText = Annotated[str, AfterValidator(_is_interval)]
Intervals = tuple[IntervalText, ...]


class HoursSettings(Frozen):
    """When people work: acknowledgements say it, reminders count by it, the digest is sent by it.

    Without any hours nothing is said of them, and reminders count all hours.
    """

    time_zone: ZoneName = "UTC"
    """A time zone of the IANA database, such as `Europe/Berlin`; summer time included. Left out:
    `company.time_zone`."""
    monday: Intervals = ()
    """Hours of each Monday by the clock on the wall, in order: `["09:00-12:30", "13:30-17:00"]`; empty: closed. The
    same for the other days."""
    tuesday: Intervals = ()
    wednesday: Intervals = ()
    thursday: Intervals = ()
    friday: Intervals = ()
    saturday: Intervals = ()
    sunday: Intervals = ()
    holidays: tuple[date, ...] = ()
    """Days without hours: `[2026-12-25, 2026-12-26]`."""
    reply_within_h: Annotated[int, Field(ge=0, le=1000)] = 0
    """Within how many working hours people answer, as acknowledgements say; 0: they do not say it."""

    @field_validator(*DAYS)
    @classmethod
    def _in_order(cls, texts: Intervals) -> Intervals:
        found = [interval_of(text) for text in texts]
        for before, after in pairwise(found):
            if before.end is None or before.end > after.begin:
                raise ValueError("the hours of a day must be in order, and must not overlap")
        return texts

    @property
    def has_hours(self) -> bool:
        """Whether any day has hours."""
        return any(self.on(weekday) for weekday in range(len(DAYS)))

    def on(self, weekday: int) -> tuple[Interval, ...]:
        """The intervals of a day of the week, 0 for Monday."""
        texts: Intervals = getattr(self, DAYS[weekday])
        return tuple(map(interval_of, texts))
