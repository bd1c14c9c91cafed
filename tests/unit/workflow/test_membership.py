"""One worker among those on a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import copy
from threading import Event

import pytest

from support_agent.store.store import Store
from support_agent.workflow.membership import Membership
from tests.fakes_journey import NOON, Clock

LEASE_S = 30.0


class Seconds:
    """A monotonic clock that is set by the test."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def store(empty_store: Path, tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{copy(empty_store, tmp_path / 'store.sqlite3')}") as opened:
        yield opened


def member(store: Store, name: str, seconds: Seconds | None = None) -> Membership:
    clock = Clock(NOON)
    return Membership(store.leases, name, LEASE_S, lambda: clock.instant, seconds or Seconds())


def test_the_first_leads_and_both_are_alive(store: Store) -> None:
    first, second = member(store, "a"), member(store, "b")
    first.renew()
    second.renew()
    assert first.lead() is not None
    assert second.lead() is None
    assert first.alive() == second.alive() == {"a", "b"}


def test_who_could_not_renew_does_not_trust_its_lease_to_the_end(store: Store) -> None:
    """A process that was stopped, or a database that is away: before others may lead, this one has ceased to."""
    seconds = Seconds()
    first = member(store, "a", seconds)
    first.renew()
    seconds.now_s += LEASE_S * 0.6
    assert first.lead() is not None
    seconds.now_s += LEASE_S * 0.1
    assert first.lead() is None
    first.renew()
    assert first.lead() is not None


def test_who_stops_lets_another_lead_at_once(store: Store) -> None:
    first, second = member(store, "a"), member(store, "b")
    with first.renewing():
        second.renew()
        assert second.lead() is None
    assert first.lead() is None
    second.renew()
    assert second.lead() is not None
    assert second.alive() == {"b"}


def test_nobody_leads_before_the_first_renewal(store: Store) -> None:
    assert member(store, "a").lead() is None


def test_an_error_of_what_the_leader_does_does_not_end_its_renewals(store: Store) -> None:
    """Else the worker would lose its lease after one odd error, and nobody would fetch the mailbox any more."""
    tries = iter([RuntimeError("not launched yet"), RuntimeError("again")])
    has_gone_on = Event()

    def led() -> None:
        for error in tries:
            raise error
        has_gone_on.set()

    first = Membership(store.leases, "a", 0.06, lambda: NOON, lambda: 0.0)
    with first.renewing(led):
        assert has_gone_on.wait(60)
