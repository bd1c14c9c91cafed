"""Computes with the hours in which people work: whether they do, when they do next, and how long they have had.

Invariant: intervals are those of the clock on the wall, elapsed time is real time, so a day on which the clock changes
has an hour less or more where people work through the change. Checked by tests/unit/cases/test_hours.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from support_agent.config.hours import HoursSettings

DAY = timedelta(days=1)
LOOKED_AHEAD = timedelta(days=400)
"""Where no hour comes within this time, nobody says when one does."""


class Span(NamedTuple):
    """A stretch of time in which people work; aware, in UTC."""

    begin: datetime
    end: datetime


@dataclass(frozen=True)
class Hours:
    """The hours of the configuration."""

    settings: HoursSettings

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of the hours."""
        return ZoneInfo(self.settings.time_zone)

    def closed_until(self, at: datetime) -> datetime | None:
        """When people work next, in the time zone of the hours; None: they work now, or no hours are known."""
        if not self.settings.has_hours:
            return None
        for span in self._spans(at, at + LOOKED_AHEAD):
            if span.end > at:
                return None if span.begin <= at else span.begin.astimezone(self.zone)
        return None

    def between(self, since: datetime, until: datetime) -> timedelta:
        """How long people have worked between two instants; all the time, where no hours are known."""
        if not self.settings.has_hours:
            return max(until - since, timedelta())
        worked = (min(span.end, until) - max(span.begin, since) for span in self._spans(since, until))
        return sum((one for one in worked if one > timedelta()), timedelta())

    def _spans(self, since: datetime, until: datetime) -> Iterator[Span]:
        """The spans of the days from one instant to another, in order."""
        day, last = since.astimezone(self.zone).date(), until.astimezone(self.zone).date()
        while day <= last:
            yield from self._on(day)
            day += DAY

    def _on(self, day: date) -> Iterator[Span]:
        if day in self.settings.holidays:
            return
        for begin, end in self.settings.on(day.weekday()):
            last = self._instant(day, end) if end is not None else self._instant(day + DAY, time())
            yield Span(self._instant(day, begin), last)

    def _instant(self, day: date, at: time) -> datetime:
        return datetime.combine(day, at, self.zone).astimezone(UTC)
