"""Engines of the test process itself; each is stopped at the end of its test."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator

import pytest

from support_agent.engine import Engine, Handle, executor_id
from support_agent.settings import EngineSettings
from tests.integration.engine.journeys import FAST

Launch = Callable[..., Engine]
THREAD_TIMEOUT_S = 10.0


def join_journeys() -> None:
    """Wait until the journeys that a stopped engine has left come to their next step, and so to their end."""
    for thread in threading.enumerate():
        if thread.name.startswith("dbos-executor"):
            thread.join(THREAD_TIMEOUT_S)
            assert not thread.is_alive(), "a mail is still in hand"


@pytest.fixture
def launch() -> Iterator[Launch]:
    """`launch(url, handle, **settings)`: a running engine, under a new executor id each time."""
    engines: list[Engine] = []

    def run(url: str, handle: Handle, **settings: object) -> Engine:
        engine = Engine(
            url,
            executor_id(secrets.token_hex(4)),
            EngineSettings.model_validate(FAST.model_dump() | settings),
            handle,
        )
        engine.launch()
        engines.append(engine)
        return engine

    yield run
    for engine in engines:
        engine.stop(timeout_s=0)
    join_journeys()
