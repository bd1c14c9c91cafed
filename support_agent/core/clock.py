"""The system clock; all other modules take the time as an argument. Checked by tests/unit/core/test_clock.py."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

RELEASED = datetime(2026, 11, 25, tzinfo=UTC)
"""The day of the newest release in CHANGELOG.md: a clock that is earlier is wrong."""
SET_CLOCK = "set this machine's clock, best by NTP"


def utc_now() -> datetime:
    """The current time, aware, in UTC."""
    return datetime.now(UTC)


def why_impossible(now: datetime, released: datetime = RELEASED) -> str:
    """Why a reading of the clock cannot be right, or "": it is before the program's own release.

    By such a clock "last month" would be another month. That a clock is ahead cannot be seen in this way.
    """
    if now >= released - timedelta(days=1):  # the day of a release is that of some time zone
        return ""
    return f"it is {now:%Y-%m-%d %H:%M} UTC here, and this program was released on {released:%Y-%m-%d}"
