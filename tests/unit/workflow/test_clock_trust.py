"""What is old is not deleted by a clock that may run ahead."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from support_agent.store.store import Store
from support_agent.store.watch_records import ClockTrust
from support_agent.workflow.clock_trust import DOUBT_LASTS, TRUST_LASTS, is_trusted
from tests.fakes_journey import NOON, Clock, Office, write
from tests.fakes_worker import FakeMailbox, Shift

HOUR, DAY, YEAR = timedelta(hours=1), timedelta(days=1), timedelta(days=365)


@pytest.fixture
def store(office: Office) -> Store:
    """One whose clock was trusted at noon."""
    watching = office.store.watching
    assert not is_trusted(watching, NOON - DOUBT_LASTS), "nothing is known of the clock yet"
    assert is_trusted(watching, NOON)
    return office.store


def test_a_clock_that_goes_on_is_trusted(store: Store) -> None:
    """Also after a weekend without the agent, and after it was set back."""
    for now in (NOON, NOON + 2 * HOUR, NOON + 2 * HOUR + TRUST_LASTS, NOON + DAY, NOON - YEAR, NOON - YEAR + DAY):
        assert is_trusted(store.watching, now)


def test_a_clock_that_leaps_ahead_is_doubted_for_a_day(store: Store) -> None:
    """Failure: an agent that started with a clock in the next year deleted what was to be kept for months."""
    ahead = NOON + YEAR
    with capture_logs() as logs:
        assert [is_trusted(store.watching, ahead + later) for later in (0 * HOUR, HOUR, DAY - HOUR)] == [False] * 3
    assert [entry["event"] for entry in logs] == ["clock_doubted"], "said once"
    assert is_trusted(store.watching, ahead + DAY), "the agent was off for long: it goes on"
    assert is_trusted(store.watching, ahead + DAY + HOUR)


def test_a_clock_that_was_corrected_is_trusted_and_the_leap_forgotten(store: Store) -> None:
    assert not is_trusted(store.watching, NOON + YEAR)
    assert is_trusted(store.watching, NOON + HOUR)
    assert not is_trusted(store.watching, NOON + YEAR + DAY), "a second leap is doubted anew"


def test_a_clock_that_was_corrected_by_a_part_is_doubted_anew(store: Store) -> None:
    assert not is_trusted(store.watching, NOON + YEAR)
    assert not is_trusted(store.watching, NOON + 30 * DAY)
    assert is_trusted(store.watching, NOON + 31 * DAY)


def test_a_clock_that_leaps_on_the_first_day_is_doubted_anew(office: Office) -> None:
    """Failure: any reading after the first day was trusted, however far ahead."""
    watching = office.store.watching
    for now, trusted in ((NOON, False), (NOON + YEAR, False), (NOON + YEAR + DAY, True)):
        assert is_trusted(watching, now) is trusted


def test_a_worker_deletes_nothing_by_a_doubted_clock(office: Office, store: Store) -> None:
    """Neither mails nor records of the engine; the next day it does."""
    mailbox = FakeMailbox([write("Can I get a refund?")])
    Shift(office, mailbox).work()
    for leap, kept in ((11 * YEAR, 1), (11 * YEAR + DAY + HOUR, 0)):
        shift = Shift(replace(office, clock=Clock(NOON + leap)), mailbox)
        shift.work()
        assert len(office.store.mails.find()) == kept
        assert (shift.engine.deleted_before == []) is bool(kept)


def test_a_clock_that_leaps_ahead_while_it_is_doubted_is_doubted_anew(store: Store) -> None:
    """Failure: in the day of doubt after a pause, or in a store's first, a single wrong reading deleted everything."""
    after_pause, ahead = NOON + 7 * DAY, NOON + 11 * YEAR
    assert not is_trusted(store.watching, after_pause)
    assert not is_trusted(store.watching, ahead)
    assert is_trusted(store.watching, ahead + DAY)


def test_an_agent_that_runs_rarely_deletes_each_second_time(store: Store) -> None:
    """Nobody starts it within three days, so it is doubted each time; personal data must go nevertheless."""
    for pause in (7 * DAY, 31 * DAY):
        store.watching.note_expiry(ClockTrust.DOUBT, None)
        store.watching.note_expiry(ClockTrust.TRUST, NOON)
        assert [is_trusted(store.watching, NOON + times * pause) for times in range(1, 5)] == [False, True] * 2
