"""A duty that pauses between its rounds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from support_agent.core.rounds import Rounds

NOON = datetime(2026, 11, 25, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def begun() -> Rounds:
    rounds = Rounds(5 * MINUTE)
    rounds.begin(NOON)
    return rounds


def test_a_duty_is_due_at_first_and_again_when_its_pause_is_over() -> None:
    assert Rounds(5 * MINUTE).is_due(NOON)
    assert [begun().is_due(NOON + minutes * MINUTE) for minutes in (0, 4, 5, 60)] == [False, False, True, True]


def test_a_clock_that_is_set_back_makes_no_pause_longer() -> None:
    """Failure: the clock was a year ahead for a moment, and nobody was reminded of anything for a year."""
    assert [begun().is_due(NOON - back) for back in (MINUTE, timedelta(days=365))] == [True, True]


def test_a_duty_that_has_more_to_do_needs_no_pause() -> None:
    rounds = begun()
    rounds.skip_pause()
    assert rounds.is_due(NOON)
