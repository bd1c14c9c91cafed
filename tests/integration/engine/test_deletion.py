"""The engine's records of a forgotten person: gone from the tables, and from the bytes of a SQLite file."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.engine.deletion import delete_records
from support_agent.engine.steps import Steps
from support_agent.errors import PermanentError
from tests.integration.engine.conftest import IDLE_TIMEOUT_S, Gate, Launch
from tests.integration.engine.test_engine import cells

NEEDLE = "zanzibar-needle"


def test_the_records_of_a_mail_are_gone_and_others_stay(database_url: str, launch: Launch, tmp_path: Path) -> None:
    """Rule: no table, and no byte of a file, has what a step recorded; beside a running worker, too."""

    def handle(mail_id: str, steps: Steps) -> str:
        return steps.step("say", lambda: NEEDLE if mail_id == "theirs" else "others-words")

    journeys = launch(database_url, handle)
    for mail_id in ("theirs", "others"):
        journeys.start(mail_id, thread=mail_id)
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    assert any(NEEDLE in str(value) for _, value in list(cells(database_url)))
    assert delete_records(database_url, ["theirs", "shop:unknown"]) == 1
    assert not any(NEEDLE in str(value) or value == "theirs" for _, value in list(cells(database_url)))
    assert any("others-words" in str(value) for _, value in list(cells(database_url)))
    assert [path for path in tmp_path.rglob("*") if path.is_file() and NEEDLE.encode() in path.read_bytes()] == []
    assert delete_records(database_url, ["theirs"]) == 0


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    """Failure: nobody could be forgotten between a restore, which leaves such a file, and the worker's first start."""
    (tmp_path / "engine.sqlite3").touch()
    assert delete_records(f"sqlite:///{tmp_path / 'engine.sqlite3'}", ["theirs"]) == 0


def test_the_record_of_a_mail_in_hand_is_kept(database_url: str, launch: Launch) -> None:
    """Rule: nothing of a running journey goes; the operator hears why."""
    gate = Gate()

    def handle(mail_id: str, steps: Steps) -> str:
        return steps.step("wait", gate.work)

    journeys = launch(database_url, handle)
    journeys.start("a", thread="a")
    assert gate.reached.wait(IDLE_TIMEOUT_S)
    with pytest.raises(PermanentError, match="still being handled"):
        delete_records(database_url, ["a"])
    gate.opened.set()
    assert journeys.wait_until_idle(IDLE_TIMEOUT_S)


def test_an_engine_that_never_ran_has_no_records(tmp_path: Path) -> None:
    """Rule: `forget` works before the first `run`, and makes no file."""
    assert delete_records(f"sqlite:///{tmp_path / 'engine.sqlite3'}", ["a"]) == 0
    assert list(tmp_path.iterdir()) == []
