"""Mails are taken at once, however long the interval of the polls, and no more at a time than allowed."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from support_agent.engine.steps import Steps
from tests.integration.engine.conftest import IDLE_TIMEOUT_S, Gate, Launch

SELDOM_S = 60
"""Far more than a test waits."""


def test_a_started_mail_and_the_next_of_its_thread_are_taken_at_once(database_url: str, launch: Launch) -> None:
    journeys = launch(database_url, lambda _mail_id, _steps: "answered", poll_interval_s=SELDOM_S)
    for number in range(5):
        journeys.start(f"mail-{number}", "case")
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)


def test_a_process_has_no_more_mails_in_hand_than_it_may(database_url: str, launch: Launch) -> None:
    """A claimed mail counts from its claim on, not from the moment at which a thread begins with it."""
    running, most, lock = Counter[str](), 0, threading.Lock()
    both = threading.Barrier(2)

    def handle(mail_id: str, steps: Steps) -> str:
        nonlocal most
        with lock:
            running[mail_id] += 1
            most = max(most, running.total())
        if mail_id in ("mail-0", "mail-1"):
            both.wait(IDLE_TIMEOUT_S)
        steps.step("wait", lambda: None)
        with lock:
            del running[mail_id]
        return "answered"

    journeys = launch(database_url, handle, concurrency=2, poll_interval_s=SELDOM_S)
    for number in range(30):
        journeys.start(f"mail-{number}", f"case-{number}")
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    assert most == 2


def test_a_mail_claimed_while_lost_ones_are_looked_for_keeps_its_place(
    sqlite_url: str, launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records of this process are read before its hands; a mail may be claimed between the two looks."""
    gate, begun = Gate(), list[str]()

    def handle(mail_id: str, steps: Steps) -> str:
        begun.append(mail_id)
        steps.step("wait", gate.work)
        return "answered"

    journeys = launch(sqlite_url, handle, concurrency=1)

    def claimed_before_its_thread_began() -> frozenset[str]:
        monkeypatch.undo()
        journeys.start("first", "a")
        assert gate.reached.wait(IDLE_TIMEOUT_S)
        return frozenset()

    monkeypatch.setattr(journeys.engine.hands, "all", claimed_before_its_thread_began)
    journeys.requeue_lost()
    journeys.start("second", "b")
    assert not journeys.wait_until_idle(0.2)
    assert begun == ["first"]
    gate.opened.set()
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)


def test_keeping_still_lets_the_running_journey_end_and_holds_the_next(sqlite_url: str, launch: Launch) -> None:
    gate, ended = Gate(), list[str]()

    def handle(mail_id: str, steps: Steps) -> str:
        if mail_id == "first":
            steps.step("wait", gate.work)
        ended.append(mail_id)
        return "answered"

    journeys = launch(sqlite_url, handle)
    journeys.start("first", "a")
    assert gate.reached.wait(IDLE_TIMEOUT_S)
    journeys.start("second", "b")
    with journeys.still(0) as is_still:
        assert not is_still
    gate.opened.set()
    with journeys.still(IDLE_TIMEOUT_S) as is_still:
        assert is_still
        assert ended == ["first"]
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    assert ended == ["first", "second"]
