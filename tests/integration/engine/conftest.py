"""Engines of the test process itself; each is stopped at the end of its test."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support_agent.config.settings import EngineSettings
from support_agent.engine.engine import Engine, Handle, executor_id
from support_agent.engine.journeys import Journeys
from tests.integration.engine.journeys import FAST

Launch = Callable[..., Journeys]
IDLE_TIMEOUT_S = 20.0
THREAD_TIMEOUT_S = 10.0


class Gate:
    """A step that waits in the journey until the test lets it go on."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def work(self) -> str:
        self.reached.set()
        assert self.opened.wait(IDLE_TIMEOUT_S)
        return "through"


def join_journeys() -> None:
    """Wait until the journeys that a stopped engine has left come to their next step, and so to their end."""
    for thread in threading.enumerate():
        if thread.name.startswith("dbos-executor"):
            thread.join(THREAD_TIMEOUT_S)
            assert not thread.is_alive(), "a mail is still in hand"


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'engine.sqlite3'}"


@pytest.fixture
def launch() -> Iterator[Launch]:
    """`launch(url, handle, **settings)`: the journeys of a running engine, under a new executor id each time."""
    engines: list[Engine] = []

    def run(url: str, handle: Handle, **settings: object) -> Journeys:
        made = EngineSettings.model_validate(FAST.model_dump() | settings)
        engine = Engine(url, executor_id(secrets.token_hex(4)), made)
        journeys = engine.serve("", handle)
        engine.launch()
        engines.append(engine)
        return journeys

    yield run
    for engine in engines:
        engine.stop(timeout_s=0)
    join_journeys()
