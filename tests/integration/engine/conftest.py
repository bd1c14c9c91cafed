"""Engines of the test process itself; each is stopped at the end of its test."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator

import pytest

from support_agent.engine import Engine, Handle, executor_id
from support_agent.settings import EngineSettings
from tests.integration.engine.journeys import FAST

Launch = Callable[..., Engine]


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
