"""Both kinds of steps, behind one function: `travel(journey)` runs a journey and gives its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from support_agent.config.settings import EngineSettings
from support_agent.engine.engine import Engine
from support_agent.engine.steps import Steps
from support_agent.errors import SupportAgentError

IDLE_TIMEOUT_S = 20.0
SETTINGS = EngineSettings(poll_interval_s=0.01, step_attempts=3, retry_base_s=0)

Journey = Callable[[Steps], Any]
Travel = Callable[[Journey], Any]
"""Returns what the journey returns, raises what it raises."""


def _direct(journey: Journey) -> Any:
    return journey(Steps(lambda _name, work: work(), SETTINGS, lambda _s: None))


@pytest.fixture(scope="module")
def _durable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Travel]:
    """One engine for the module; each journey is a mail of its own."""
    journeys: dict[str, Journey] = {}
    results: dict[str, Any] = {}
    numbers = count(1)

    def handle(mail_id: str, steps: Steps) -> str:
        results[mail_id] = journeys[mail_id](steps)
        return "done"

    def travel(journey: Journey) -> Any:
        mail_id = f"mail-{next(numbers)}"
        journeys[mail_id] = journey
        mails.start(mail_id, mail_id)
        assert mails.wait_until_idle(IDLE_TIMEOUT_S)
        errors: dict[str, SupportAgentError] = {failure.mail_id: failure.error for failure in mails.failed()}
        if mail_id in errors:
            raise errors[mail_id]
        return results[mail_id]

    path = tmp_path_factory.mktemp("engine") / "engine.sqlite3"
    engine = Engine(f"sqlite:///{path}", "contract", SETTINGS)
    mails = engine.serve("", handle)
    engine.launch()
    yield travel
    engine.stop(timeout_s=0)


@pytest.fixture(params=["direct", "durable"])
def travel(request: pytest.FixtureRequest) -> Travel:
    if request.param == "direct":
        return _direct
    durable: Travel = request.getfixturevalue("_durable")
    return durable
