"""How an engine comes up over what the one before left, and how it goes down leaving nothing half done."""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
import structlog
from sqlalchemy import NullPool, create_engine, text

from support_agent.config.settings import EngineSettings
from support_agent.engine.database import prepare
from support_agent.engine.engine import Engine, executor_id
from support_agent.engine.steps import Steps
from support_agent.errors import ConfigError, TransientError
from tests.integration.engine.conftest import IDLE_TIMEOUT_S, Gate, Launch, join_journeys


def test_stop_lets_the_mail_in_hand_finish_and_takes_no_other(sqlite_url: str, launch: Launch) -> None:
    """What was queued behind it is done by the next process."""
    gate = Gate()
    ended: list[str] = []

    def handle(mail_id: str, steps: Steps) -> str:
        steps.step("wait", gate.work)
        steps.step("end", lambda: ended.append(mail_id))
        return "answered"

    journeys = launch(sqlite_url, handle)
    journeys.start("first", "case")
    journeys.start("second", "case")
    assert gate.reached.wait(IDLE_TIMEOUT_S)
    opener = threading.Timer(0.2, gate.opened.set)
    opener.start()
    journeys.engine.stop(timeout_s=IDLE_TIMEOUT_S)
    opener.join()
    assert ended == ["first"]
    assert launch(sqlite_url, handle).wait_until_idle(IDLE_TIMEOUT_S)
    assert ended == ["first", "second"]


def test_a_mail_that_is_started_while_an_older_one_of_its_case_runs_stays_behind_it(
    sqlite_url: str, launch: Launch
) -> None:
    """Failure: who began to start mails counted places behind those that wait only. If the process of one that ran then
    died, its successor overtook it.
    """
    gate = Gate()
    begun: list[str] = []

    def handle(mail_id: str, steps: Steps) -> str:
        begun.append(mail_id)
        steps.step("wait", gate.work)
        steps.step("last", lambda: None)
        return "answered"

    journeys = launch(sqlite_url, handle, concurrency=2)
    journeys.start("other", "other case")
    journeys.start("first", "case")
    assert gate.reached.wait(IDLE_TIMEOUT_S)
    journeys.engine.follow_queued()
    journeys.start("second", "case")
    opener = threading.Timer(0.3, gate.opened.set)
    opener.start()
    journeys.engine.stop(timeout_s=0.0)
    opener.join()
    join_journeys()
    begun.clear()
    assert launch(sqlite_url, handle).wait_until_idle(IDLE_TIMEOUT_S)
    assert [mail_id for mail_id in begun if mail_id != "other"] == ["first", "second"]


@pytest.mark.parametrize("late_s", [0.3, 2.0], ids=["while the engine closes", "after it has closed"])
def test_a_mail_that_does_not_finish_in_time_goes_on_where_it_was_at_the_next_launch(
    late_s: float, sqlite_url: str, launch: Launch
) -> None:
    """It stops before its next step, is not taken for failed, and its recorded steps do not run again."""
    gate = Gate()
    done: list[str] = []

    def handle(_mail_id: str, steps: Steps) -> str:
        steps.step("first", lambda: done.append("first"))
        steps.step("wait", gate.work)
        steps.step("last", lambda: done.append("last"))
        return "answered"

    journeys = launch(sqlite_url, handle)
    journeys.start("mail", "case")
    assert gate.reached.wait(IDLE_TIMEOUT_S)
    opener = threading.Timer(late_s, gate.opened.set)
    opener.start()
    with structlog.testing.capture_logs() as events:
        journeys.engine.stop(timeout_s=0)
        opener.join()
        join_journeys()
    assert done == ["first"]
    assert "mail_failed" not in {event["event"] for event in events}
    journeys = launch(sqlite_url, handle)
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    assert journeys.failed() == []
    assert done == ["first", "last"]


def test_stop_does_not_wait_for_the_next_try_of_a_step(sqlite_url: str, launch: Launch) -> None:
    """A server is down and the next try is an hour away: the process ends now, the mail is not lost."""
    tried = threading.Event()
    up: list[bool] = []

    def handle(_mail_id: str, steps: Steps) -> str:
        def work() -> str:
            tried.set()
            if not up:
                raise TransientError("the server is down")
            return "sent"

        return steps.step("send", work)

    journeys = launch(sqlite_url, handle, retry_base_s=3600, retry_max_s=3600)
    journeys.start("mail", "case")
    assert tried.wait(IDLE_TIMEOUT_S)
    journeys.engine.stop(timeout_s=3000)
    up.append(True)
    journeys = launch(sqlite_url, handle)
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    assert journeys.failed() == []


def test_a_mail_that_is_interrupted_too_often_is_given_up(sqlite_url: str, launch: Launch) -> None:
    """A mail on which the process dies must not keep it from all the others for ever."""
    gate = Gate()
    entered: list[str] = []

    def handle(mail_id: str, steps: Steps) -> str:
        entered.append(mail_id)
        gate.reached.set()
        return steps.step("wait", gate.work)

    for _ in range(2):
        gate.reached.clear()
        journeys = launch(sqlite_url, handle, max_interruptions=1)
        journeys.start("mail", "case")
        assert gate.reached.wait(IDLE_TIMEOUT_S)
        journeys.engine.stop(timeout_s=0)
    journeys = launch(sqlite_url, handle, max_interruptions=1)
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    assert entered == ["mail", "mail"]
    assert [(mail_id, error.code) for mail_id, error in journeys.failed()] == [("mail", "interrupted")]
    gate.opened.set()


def test_a_mail_that_no_thread_has_in_hand_any_more_is_taken_up_without_a_restart(
    tmp_path: Path, sqlite_url: str, launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk was full when its end was to be recorded: a record in hand of this process, and nobody at work."""
    monkeypatch.setattr("support_agent.engine.takeover.LOST_AFTER_S", 0.1)
    done: list[str] = []
    ends: list[str] = []

    def handle(_mail_id: str, steps: Steps) -> str:
        steps.step("send", lambda: done.append("send"))
        ends.append("end")
        return "answered"

    journeys = launch(sqlite_url, handle)
    journeys.start("mail", "case")
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    with closing(sqlite3.connect(tmp_path / "engine.sqlite3", timeout=IDLE_TIMEOUT_S)) as connection, connection:
        connection.execute("UPDATE workflow_status SET status = 'PENDING', output = NULL, completed_at = NULL")
    journeys.start("next", "case")
    with structlog.testing.capture_logs() as events:
        assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    assert [event["mail_id"] for event in events if event["event"] == "mail_lost_from_hand"] == ["mail"]
    assert (done, len(ends), journeys.failed()) == (["send", "send"], 3, [])


def test_a_mail_in_hand_is_not_taken_for_lost(sqlite_url: str, launch: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long its step takes."""
    monkeypatch.setattr("support_agent.engine.takeover.LOST_AFTER_S", 0.1)
    gate = Gate()
    journeys = launch(sqlite_url, lambda _mail_id, steps: steps.step("wait", gate.work))
    journeys.start("mail", "case")
    assert gate.reached.wait(IDLE_TIMEOUT_S)
    with structlog.testing.capture_logs() as events:
        assert not journeys.wait_until_idle(0.5)
    assert [event for event in events if event["event"] == "mail_lost_from_hand"] == []
    gate.opened.set()
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)


def test_changed_settings_count_from_the_launch_on(sqlite_url: str, launch: Launch) -> None:
    """The queue's settings are in the database: the next process must not wait as the last one did."""
    launch(sqlite_url, lambda _mail_id, _steps: "answered", poll_interval_s=60).engine.stop(timeout_s=0)
    journeys = launch(sqlite_url, lambda _mail_id, _steps: "answered")
    journeys.start("mail", "case")
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)


def test_a_second_engine_in_the_process_is_refused(sqlite_url: str, launch: Launch) -> None:
    """DBOS is a singleton: a second one would silently work on the first one's database."""
    launch(sqlite_url, lambda _mail_id, _steps: "answered")
    with pytest.raises(ConfigError, match="already running"):
        launch(sqlite_url, lambda _mail_id, _steps: "answered")


@pytest.mark.parametrize(
    "url", ["sqlite:////no/such/folder/engine.sqlite3", "postgresql://nobody:s3cret@127.0.0.1:1/none"]
)
def test_a_database_that_cannot_be_used_is_a_configuration_error_without_the_password(
    url: str, sqlite_url: str, launch: Launch
) -> None:
    """And it leaves nothing behind: an engine on a good database starts right after."""
    with pytest.raises(ConfigError, match="cannot be") as caught:
        launch(url, lambda _mail_id, _steps: "answered")
    assert "s3cret" not in str(caught.value)
    assert launch(sqlite_url, lambda _mail_id, _steps: "answered").wait_until_idle(IDLE_TIMEOUT_S)


def test_a_stopped_engine_does_not_start_again(sqlite_url: str, launch: Launch) -> None:
    """It would take what it had in hand for the work of a living process of its name."""
    journeys = launch(sqlite_url, lambda _mail_id, _steps: "answered")
    journeys.engine.stop(timeout_s=0)
    assert journeys.wait_until_idle(timeout_s=0) is False
    with pytest.raises(RuntimeError, match="does not start again"):
        journeys.engine.launch()


def test_stopping_what_does_not_run_does_nothing(sqlite_url: str) -> None:
    Engine(sqlite_url, executor_id("x"), EngineSettings()).stop(timeout_s=0)


@pytest.mark.servers
def test_a_database_whose_machine_is_gone_is_noticed_within_the_lease(postgres_url: str, launch: Launch) -> None:
    """Failure: a step that was to be recorded waited for as long as the system's limits are, and its mail with it."""
    journeys = launch(postgres_url, lambda _mail_id, _steps: "answered", lease_s=9.0)
    dbos = journeys.engine.queues._dbos
    assert dbos is not None
    with dbos._sys_db.engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        with socket.socket(fileno=os.dup(driver.fileno())) as wire:
            assert wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 9000
            assert wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 9


def test_every_sqlite_tells_the_time_as_the_library_asks(sqlite_url: str) -> None:
    """In milliseconds on Python 3.12 and newer; SQLite before 3.42 does not know how."""
    prepare(sqlite_url)
    with create_engine(sqlite_url, poolclass=NullPool).connect() as connection:
        now, then, never = connection.execute(
            text("SELECT unixepoch('subsec'), unixepoch('2023-01-31 09:00:00'), unixepoch(NULL)")
        ).one()
    assert now == pytest.approx(time.time(), abs=60)
    assert (then, never) == (1675155600, None)
