"""What the program knows of the time by itself."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from support_agent.app import workers
from support_agent.config.settings import Settings
from support_agent.core.clock import RELEASED, utc_now, why_impossible
from support_agent.errors import TransientError

CHANGELOG = Path(__file__).parents[3] / "CHANGELOG.md"


def test_the_day_of_the_release_is_that_of_the_changelog() -> None:
    newest = re.search(r"^## \[\d[^]]*\] - (\S+)$", CHANGELOG.read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    assert RELEASED.date() == date.fromisoformat(newest[1])
    assert not why_impossible(utc_now()), "a release that is dated ahead starts nowhere until then"


def test_no_worker_starts_by_a_clock_before_the_programs_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failure: a machine that starts in 1970 answered by the dates of 1970. The service manager tries again."""
    monkeypatch.setattr(workers, "utc_now", lambda: datetime(1970, 1, 1, tzinfo=UTC))
    with pytest.raises(TransientError, match="the clock is wrong: it is 1970-01-01"), workers.open_workers(Settings()):
        pass
