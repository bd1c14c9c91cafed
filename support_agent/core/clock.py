"""The clock; everything else takes the time as an argument."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The clock."""
    return datetime.now(UTC)
