"""The crash matrix in short: every fault, a fixed sample of the places, on both databases; `make crash` tries all."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.config.log import configure_log
from support_agent.config.settings import LogSettings
from tests.crash.crashing import DELIVER
from tests.crash.machine import run_histories
from tests.crash.matrix import COMBINATIONS, Combination, Stores, run, schedules, steps_of_pipeline

EVERY = 13
SQLITE, _, POSTGRESQL = COMBINATIONS
EACH = [SQLITE, pytest.param(POSTGRESQL, marks=pytest.mark.servers)]
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(params=EACH, ids=str)
def on(request: pytest.FixtureRequest) -> Combination:
    """SQLite with one worker, PostgreSQL with four."""
    assert isinstance(request.param, Combination)
    return request.param


@pytest.fixture
def stores(request: pytest.FixtureRequest, on: Combination, empty_store: Path, tmp_path: Path) -> Stores:
    """Stores on that database."""
    if on == SQLITE:
        return Stores(None, tmp_path, empty_store)
    cluster, empty = (request.getfixturevalue(name) for name in ("postgres_cluster", "postgres_empty_store"))
    return Stores(cluster, tmp_path, empty)


@pytest.fixture(autouse=True)
def log_of_a_worker() -> None:
    """The log is written to a file here, on the disk that is full at times."""
    configure_log(LogSettings(level="warning"))


def test_the_matrix_has_every_fault_at_every_step_of_the_pipeline() -> None:
    """And its sample has every fault, and most of the steps."""
    for on in COMBINATIONS:
        everything = {(each.fault, *each.place) for each in schedules(on)}
        places = [(step, when) for step in (*steps_of_pipeline(), DELIVER) for when in ("before", "after")]
        assert everything == {(fault, *place) for fault in on.faults for place in places}
        assert {each.fault for each in schedules(on, EVERY)} == set(on.faults)


def test_whatever_fails_nothing_is_lost_answered_twice_stuck_or_out_of_order(on: Combination, stores: Stores) -> None:
    with stores.new() as (url, folder):
        result = run(on, url, folder, stores.cluster, EVERY)
    assert result.is_good, (result, result.lost, result.stuck)
    assert result.deaths
    assert result.schedules > len(on.faults)


def test_random_histories_end_well(on: Combination, stores: Stores) -> None:
    """The first ones that Hypothesis makes are short."""
    results = run_histories(on, stores, examples=3, steps=15)
    assert all(result.is_good for result in results)
