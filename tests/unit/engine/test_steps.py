"""Waiting between tries, and errors in the form they are recorded in."""

from __future__ import annotations

import inspect

import pytest

from support_agent import errors
from support_agent.config.settings import EngineSettings
from support_agent.core.size_limits import MOST_CHARACTERS
from support_agent.engine.steps import ERROR_CLASSES, Steps, known_error
from support_agent.errors import TransientError


def _fail() -> str:
    raise TransientError("busy")


def test_waits_double_up_to_their_limit() -> None:
    """After the last try there is nothing to wait for."""
    waits: list[float] = []
    settings = EngineSettings(step_attempts=5, retry_base_s=2, retry_max_s=10)
    with pytest.raises(TransientError):
        Steps(lambda _name, work: work(), settings, waits.append).step("send", _fail)
    assert waits == [2, 4, 8, 10]


def test_every_class_of_errors_can_be_recorded() -> None:
    """A class added to errors.py would otherwise come back from the record as its base."""
    classes = {name for name, cls in inspect.getmembers(errors, inspect.isclass) if cls.__module__ == errors.__name__}
    assert classes == set(ERROR_CLASSES)


def test_an_unexpected_error_is_one_line_of_bounded_length() -> None:
    error = known_error(ValueError(f"{'x' * 10_000}\nsecond line"), "step 'plan'")
    assert "\n" not in str(error)
    assert len(str(error)) < MOST_CHARACTERS + 100
