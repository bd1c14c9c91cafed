"""The journey's port for recorded steps: each has a name, its work, and the type of its result.

Invariant: a step gives the same result, or fails with the same error, on its first run and on every later run, which
only reads the record: each result is converted to JSON and back, and each error becomes one class of errors.py.
Checked by tests/contract/engine, with the durable steps of `engine` and with steps that record nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, TypeVar, cast

import structlog
from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from support_agent.config.settings import EngineSettings
from support_agent.core.observing import UNOBSERVED, Observer, Seen
from support_agent.core.size_limits import first_line
from support_agent.errors import (
    ConfigError,
    GateRefused,
    PermanentError,
    Postponed,
    SupportAgentError,
    ToolCallRejected,
    TransientError,
)

log = structlog.get_logger(__name__)

JOURNEY_CHANGED = "journey_changed"
"""Code of the error of a mail whose records another version of the program wrote."""
ERROR_CLASSES: dict[str, type[SupportAgentError]] = {
    cls.__name__: cls
    for cls in (
        SupportAgentError,
        ConfigError,
        TransientError,
        Postponed,
        PermanentError,
        ToolCallRejected,
        GateRefused,
    )
}
JSON_VALUE: TypeAdapter[Any] = TypeAdapter(JsonValue)

T = TypeVar("T")
Work = Callable[[], JsonValue]
Record = Callable[[str, Work], JsonValue]


class Steps:
    """The steps of one mail's journey.

    Args:
        record: Takes a step's name and its work; returns the recorded result, or runs the work and records its result.
        settings: Limits for the tries of one step.
        wait: Waits the given seconds before the next try.
        seen: Called with the name and the result of each piece of work that was done.
        observer: Notified of each try.
        before: Called before each piece of work; may raise to stop the mail.
    """

    def __init__(
        self,
        record: Record,
        settings: EngineSettings,
        wait: Callable[[float], None],
        seen: Callable[[str, object], None] = lambda _name, _result: None,
        observer: Observer = UNOBSERVED,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        self._record = record
        self._settings = settings
        self._wait = wait
        self._seen = seen
        self._observer = observer
        self._before = before
        self._current: str | None = None

    def step(self, name: str, work: Callable[[], T], returns: type[T] | TypeAdapter[T] | None = None) -> T:
        """Run `work` and record its result; a later run of the same mail returns the record instead.

        Args:
            name: A fixed word. A mail that runs again must take the same steps in the same order.
            work: Runs at least once; after a TransientError up to `engine.step_attempts` times, with backoff.
            returns: Type of the result, dumped and validated by pydantic; a TypeAdapter for a union. Without
                it the result is plain JSON (None, bool, int, float, str, list, dict with str keys).
        Returns:
            The result read back from JSON, on the first run as well.
        Raises:
            SupportAgentError: the error that `work` raised, as a class of errors.py. An error of another library
                becomes a PermanentError with the code `unexpected`, or `not_json` if JSON cannot hold the result.
        """
        if self._current is not None:
            raise PermanentError(
                f"step {name!r} was called inside step {self._current!r} and would not be recorded: "
                "call it directly from the journey",
                code="nested_step",
            )
        adapter = _adapter(returns)
        try:
            stored = self._record(name, lambda: self._attempt(name, lambda: _dump(name, work(), adapter)))
        except Exception as error:
            raise known_error(error, f"step {name!r}") from error
        return _restore(name, stored, adapter)

    def sealed(self, seal: Callable[[JsonValue], JsonValue], unseal: Callable[[JsonValue], JsonValue]) -> Steps:
        """The same steps, whose results are encrypted where they are recorded.

        Args:
            seal: Makes of a result what is recorded.
            unseal: The reverse; leaves what was recorded without `seal` as it is.
        """

        def record(name: str, work: Work) -> JsonValue:
            return unseal(self._record(name, lambda: seal(work())))

        return Steps(record, self._settings, self._wait, self._seen, self._observer, self._before)

    def run(self, name: str, work: Callable[[], T]) -> T:
        """Run `work` on each run of the mail, with the tries of a step; for work that may be done again.

        Raises:
            SupportAgentError: as `step`.
        """
        return self._attempt(name, work)

    def _attempt(self, name: str, work: Callable[[], T]) -> T:
        """Run the work until it succeeds, fails permanently, or has used up its tries."""
        self._before()
        attempt = 1
        outer, self._current = self._current, name
        try:
            while True:
                try:
                    with self._observer.step(name, attempt) as seen:
                        result = work()
                        _note(seen, result)
                except TransientError as error:
                    log.warning("step_failed", step=name, attempt=attempt, code=error.code)
                    if attempt >= self._settings.step_attempts:
                        raise
                else:
                    log.info("step_done", step=name, attempt=attempt)
                    self._seen(name, result)
                    return result
                self._wait(min(self._settings.retry_base_s * 2 ** (attempt - 1), self._settings.retry_max_s))
                attempt += 1
        except Exception as error:
            raise known_error(error, f"step {name!r}") from error
        finally:
            self._current = outer


def known_error(error: Exception, where: str) -> SupportAgentError:
    """Map any error to exactly one class of errors.py, so that the record gives the same error again."""
    if isinstance(error, SupportAgentError):
        nearest = next(cls for cls in type(error).__mro__ if ERROR_CLASSES.get(cls.__name__) is cls)
        if type(error) is nearest:
            return error
        return nearest(str(error), code=error.code)
    return PermanentError(f"unexpected {type(error).__name__} in {where}: {first_line(error)}", code="unexpected")


def _note(seen: Seen, result: object) -> None:
    """What an observer may know of a step's result: a word such as an outcome, and the case that a route names."""
    if isinstance(result, str):
        seen.outcome = result
    if isinstance(case_id := getattr(result, "case_id", None), str):
        seen.case_id = case_id


def _adapter(returns: type[T] | TypeAdapter[T] | None) -> TypeAdapter[T]:
    if returns is None:
        return JSON_VALUE
    return returns if isinstance(returns, TypeAdapter) else _adapter_of(cast("Hashable", returns))


@cache
def _adapter_of(returns: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(cast(Any, returns))


def _dump(name: str, value: T, adapter: TypeAdapter[T]) -> JsonValue:
    """Convert the value to JSON, and check that JSON gives the same value back."""
    try:
        text = adapter.dump_json(value, warnings="error")
        if adapter.validate_json(text) != value:
            raise ValueError("JSON gives another value back")
    except (PydanticSerializationError, TypeError, ValueError) as error:
        raise PermanentError(
            f"the result of step {name!r} ({type(value).__name__}) is not JSON: {first_line(error)}",
            code="not_json",
        ) from error
    return cast(JsonValue, json.loads(text))


def _restore(name: str, stored: JsonValue, adapter: TypeAdapter[T]) -> T:
    """Read a typed value from recorded JSON, which an older version of the program may have written."""
    try:
        return adapter.validate_json(json.dumps(stored))
    except ValidationError as error:
        raise PermanentError(
            f"the record of step {name!r} does not fit this version of the program: handle the mail by hand",
            code=JOURNEY_CHANGED,
        ) from error
