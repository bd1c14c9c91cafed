"""The engine as its user sees it, on the databases it runs on."""

from __future__ import annotations

import base64
import contextlib
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy

from support_agent.engine.engine import Engine, executor_id
from support_agent.engine.steps import Steps
from support_agent.errors import GateRefused, PermanentError
from tests.integration.engine.conftest import IDLE_TIMEOUT_S, Gate, Launch
from tests.integration.engine.journeys import FAST


def cells(url: str) -> Iterator[tuple[str, Any]]:
    """Every value of every table the engine made, with its column."""
    database = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    schema = None if url.startswith("sqlite") else "dbos"
    tables = sqlalchemy.MetaData()
    tables.reflect(database, schema=schema)
    with database.connect() as connection:
        for table in tables.tables.values():
            for row in connection.execute(table.select()).mappings():
                yield from ((f"{table.name}.{column}", value) for column, value in row.items())
    database.dispose()


def is_pickle(value: object) -> bool:
    """Whether it is what a pickle (protocol 2 or later) looks like, as bytes or in base64."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = base64.b64decode(value, validate=True)
    return isinstance(value, bytes) and value.startswith(b"\x80") and value.endswith(b".")


def test_mails_of_one_case_go_one_by_one_and_cases_side_by_side(database_url: str, launch: Launch) -> None:
    """With two threads the second case overtakes the first, whose second mail waits for its first."""
    gate = Gate()
    ended: list[str] = []

    def handle(mail_id: str, steps: Steps) -> str:
        if mail_id == "a1":
            steps.step("wait", gate.work)
        steps.step("end", lambda: ended.append(mail_id))
        return "answered"

    journeys = launch(database_url, handle, concurrency=2)
    for mail_id in ("a1", "a2", "b1", "b2"):
        journeys.start(mail_id, thread=mail_id[0])
    assert gate.reached.wait(IDLE_TIMEOUT_S)
    assert not journeys.wait_until_idle(timeout_s=0.3)
    assert ended == ["b1", "b2"]
    gate.opened.set()
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    assert ended == ["b1", "b2", "a1", "a2"]


def test_mails_of_one_case_keep_the_order_of_their_start(database_url: str, launch: Launch) -> None:
    """Started as fast as it goes, under ids in another order, by one process and then the next."""
    gate = Gate()
    ended: list[str] = []

    def handle(mail_id: str, steps: Steps) -> str:
        steps.step("wait", gate.work)
        steps.step("end", lambda: ended.append(mail_id))
        return "answered"

    mails = [f"mail-{number:02}" for number in range(20, 0, -1)]
    journeys = launch(database_url, handle)
    for mail_id in mails[:10]:
        journeys.start(mail_id, "case")
    assert gate.reached.wait(IDLE_TIMEOUT_S)
    journeys.engine.stop(timeout_s=0)
    gate.opened.set()
    journeys = launch(database_url, handle)
    for mail_id in mails[10:]:
        journeys.start(mail_id, "case")
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    assert ended == mails


def test_a_mail_started_twice_runs_once(database_url: str, launch: Launch) -> None:
    """Also when it has long been finished, and in the process after the next."""
    runs: list[str] = []

    def handle(mail_id: str, steps: Steps) -> str:
        steps.step("count", lambda: runs.append(mail_id))
        return "answered"

    for _ in range(2):
        journeys = launch(database_url, handle)
        for _ in range(2):
            journeys.start("mail", "case")
            journeys.start("mail", "case")
            assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
        journeys.engine.stop(timeout_s=0)
    assert runs == ["mail"]


def test_only_json_is_ever_written(database_url: str, launch: Launch) -> None:
    """Inputs, results, outputs and errors, of DBOS's own kind too: no cell of any table holds a pickle."""

    def handle(mail_id: str, steps: Steps) -> str:
        steps.step("plan", lambda: {"calls": [1, 2.5, None, True, "Grüße \x00"]})
        if mail_id == "bad":
            steps.step("send", lambda: [][1])
        return "answered"

    journeys = launch(database_url, handle)
    journeys.start("good", "case")
    journeys.start("bad", "case")
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    journeys.engine.stop(timeout_s=0)
    values = list(cells(database_url))
    assert {value for column, value in values if column.endswith(".serialization")} == {"support_agent_json"}
    assert [column for column, value in values if is_pickle(value)] == []
    kept = [value for column, value in values if column == "operation_outputs.output" and value]
    assert kept == ['{"value":{"calls":[1,2.5,null,true,"Gr\\u00fc\\u00dfe \\u0000"]}}'] * 2


def test_a_sqlite_file_is_in_wal_mode(sqlite_url: str, launch: Launch) -> None:
    """Set by us: DBOS leaves the rollback journal, in which readers and the writer lock each other out."""
    launch(sqlite_url, lambda _mail_id, _steps: "answered")
    with contextlib.closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_failed_mail_is_seen_with_its_error_also_by_the_next_process(database_url: str, launch: Launch) -> None:
    """The caller sets it aside: it learns the class, the code and the text; the others go on."""

    def handle(mail_id: str, steps: Steps) -> str:
        def work() -> str:
            if mail_id == "refused":
                raise GateRefused("a byte without a source", code="gate_byte")
            if mail_id == "broken":
                raise ZeroDivisionError("division by zero")
            return mail_id

        return steps.step("send", work)

    journeys = launch(database_url, handle)
    for mail_id in ("refused", "broken", "good"):
        journeys.start(mail_id, "case")
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    journeys.engine.stop(timeout_s=0)
    failed = launch(database_url, handle).failed()
    assert [(mail_id, type(error), error.code, str(error)) for mail_id, error in failed] == [
        ("refused", GateRefused, "gate_byte", "a byte without a source"),
        (
            "broken",
            PermanentError,
            "unexpected",
            "unexpected ZeroDivisionError in step 'send': division by zero",
        ),
    ]


def test_a_journey_that_changed_under_a_mail_fails_it_instead_of_mixing_two_versions(
    sqlite_url: str, launch: Launch
) -> None:
    """After an update the recorded step has another name, or its result another shape."""
    gate = Gate()

    def old(_mail_id: str, steps: Steps) -> str:
        steps.step("parse", lambda: "text")
        return steps.step("wait", gate.work)

    def new(mail_id: str, steps: Steps) -> str:
        if mail_id == "renamed":
            steps.step("read", lambda: "text")
        return str(steps.step("parse", lambda: 7, int))

    journeys = launch(sqlite_url, old, concurrency=2)
    journeys.start("renamed", "a")
    journeys.start("reshaped", "b")
    while len(_names(sqlite_url)) < 2:
        gate.reached.wait(0.01)
    journeys.engine.stop(timeout_s=0)
    journeys = launch(sqlite_url, new)
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    assert {(mail_id, error.code) for mail_id, error in journeys.failed()} == {
        ("renamed", "journey_changed"),
        ("reshaped", "journey_changed"),
    }
    gate.opened.set()


def _names(url: str) -> list[Any]:
    return [value for column, value in cells(url) if column == "operation_outputs.function_name"]


def test_records_of_mails_that_ended_are_deleted_by_age(database_url: str, launch: Launch) -> None:
    """Ended before the instant: gone, answered or failed; what is still in hand stays."""
    gate = Gate()

    def handle(mail_id: str, steps: Steps) -> str:
        if mail_id == "in hand":
            return steps.step("wait", gate.work)
        return steps.step("end", lambda: mail_id[:6] if mail_id == "answered" else str(1 / 0))

    journeys = launch(database_url, handle, concurrency=3)
    journeys.start("answered", "a")
    journeys.start("failed", "a")
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    journeys.start("in hand", "b")
    assert gate.reached.wait(IDLE_TIMEOUT_S)
    now = datetime.now(UTC)
    assert journeys.delete_finished(now - timedelta(days=1)) == 0
    assert journeys.delete_finished(now + timedelta(minutes=1)) == 2
    assert journeys.failed() == []
    assert {value for column, value in cells(database_url) if column.endswith("workflow_uuid")} == {"in hand"}
    gate.opened.set()
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)


QUIET = """
import sys
from support_agent.engine.engine import Engine
from support_agent.config.settings import EngineSettings
import structlog

structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
calls = []
network = {"socket.connect", "socket.bind", "socket.getaddrinfo"}
sys.addaudithook(lambda event, args: calls.append(event) if event in network else None)
engine = Engine(sys.argv[1], "one", EngineSettings(poll_interval_s=0.02))
journeys = engine.serve("", lambda mail, steps: str(1 / 0))
engine.launch()
journeys.start("mail", "case")
assert journeys.wait_until_idle(20)
assert journeys.failed()
engine.stop(1)
sys.exit(repr(calls) if calls else 0)
"""


def test_the_library_prints_nothing_and_calls_nobody(sqlite_url: str) -> None:
    """No console log of DBOS, not even of a failed mail; no conductor, no admin server, no telemetry."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", QUIET, sqlite_url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_start_needs_a_running_engine_and_real_ids(sqlite_url: str, launch: Launch) -> None:
    """An empty case would put strangers' mails into one line."""
    journeys = Engine(sqlite_url, executor_id("x"), FAST).serve("", lambda _mail_id, _steps: "answered")
    with pytest.raises(RuntimeError, match="launch"):
        journeys.start("mail", "case")
    running = launch(sqlite_url, lambda _mail_id, _steps: "answered")
    for mail_id, thread in (("", "thread"), ("mail", " ")):
        with pytest.raises(ValueError, match="needs an id and a thread"):
            running.start(mail_id, thread)


def test_a_mail_that_ended_and_is_forgotten_is_begun_anew(database_url: str, launch: Launch) -> None:
    """A mail that had to wait ends without an end of its own; one that failed or is in hand is not among these."""
    gate, runs = Gate(), Counter[str]()

    def handle(mail_id: str, steps: Steps) -> str:
        steps.step("count", lambda: runs.update([mail_id]))
        if mail_id == "bad":
            raise PermanentError("no")
        if mail_id == "slow":
            steps.step("wait", gate.work)
        return "held"

    journeys = launch(database_url, handle, concurrency=2)
    for mail_id in ("bad", "held", "slow"):
        journeys.start(mail_id, thread=mail_id)
    assert gate.reached.wait(IDLE_TIMEOUT_S)
    while len(runs) < 3 or not journeys.ended(["held"]).get("held"):
        journeys.wait_until_idle(timeout_s=0.05)
    assert journeys.ended(["bad", "held", "slow", "unknown"]) == {"bad": False, "held": True, "slow": False}
    gate.opened.set()
    journeys.delete_records(["held"])
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    for mail_id in ("held", "slow"):
        journeys.start(mail_id, thread=mail_id)
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    assert runs == {"bad": 1, "held": 2, "slow": 1}
