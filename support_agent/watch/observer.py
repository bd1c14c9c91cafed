"""The observer of one mailbox's worker: it counts, makes spans, and remembers when the loop last turned.

Invariant: it sees ids, fixed words and numbers, and raises nothing of its own. Checked by tests/unit/watch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import datetime
from typing import TYPE_CHECKING

from support_agent.core.observing import Seen
from support_agent.errors import ConfigError, ToolCallRejected, TransientError
from support_agent.watch import metrics
from support_agent.watch.metrics import Metric

if TYPE_CHECKING:
    from support_agent.watch.recorder import Recorder
    from support_agent.watch.tracing import Tracing

_JOURNEY: ContextVar[Seen | None] = ContextVar("journey", default=None)
"""The journey whose steps run in this thread."""


class WorkerObserver:
    """`core.observing.Observer`; any thread may use it.

    Args:
        brand: The name of the mailbox in `[brands]`; "" is the first.
        clock: Monotonic seconds.
        recorder, tracing: Where metrics and spans go; None: nowhere.
    """

    def __init__(
        self,
        brand: str,
        clock: Callable[[], float],
        recorder: Recorder | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self._brand, self._clock = brand, clock
        self._recorder, self._tracing = recorder, tracing
        self._turned_s: float | None = None
        self._expiries: dict[str, datetime | None] = {}

    @property
    def idle_s(self) -> float | None:
        """Seconds since the loop last turned; None: it has not begun."""
        return None if self._turned_s is None else self._clock() - self._turned_s

    @property
    def expiries(self) -> Mapping[str, datetime | None]:
        """When certificates and tokens end, as this process has seen them; None: it is not known any more."""
        return dict(self._expiries)

    @contextmanager
    def journey(self, mail_id: str) -> Iterator[Seen]:
        """Count the journey by its outcome."""
        with self._span("journey", mail_id=mail_id) as seen, self._timed(metrics.JOURNEY_SECONDS):
            before = _JOURNEY.set(seen)
            try:
                yield seen
            except Exception:
                seen.outcome = "failed"
                self._count(metrics.JOURNEYS, outcome=seen.outcome)
                raise
            finally:
                _JOURNEY.reset(before)
            self._count(metrics.JOURNEYS, outcome=seen.outcome)

    @contextmanager
    def step(self, name: str, attempt: int) -> Iterator[Seen]:
        """Time one try of a step."""
        with self._span(name, attempt=attempt) as seen, self._timed(metrics.STEP_SECONDS, step=name):
            try:
                yield seen
            except Exception:
                self._count(metrics.STEP_FAILURES, step=name)
                raise
            if seen.case_id and (journey := _JOURNEY.get()) is not None:
                journey.case_id = seen.case_id

    @contextmanager
    def model(self, call: str) -> Iterator[Seen]:
        """Count a call of the model, its time and its tokens."""
        seen, error = Seen(), None
        with self._timed(metrics.MODEL_SECONDS, call=call):
            try:
                yield seen
            except Exception as raised:
                error = raised
                raise
            finally:
                self._count(metrics.MODEL_CALLS_TOTAL, call=call, result=result_of(error))
                self._count(metrics.MODEL_TOKENS, seen.prompt_tokens, part="prompt")
                self._count(metrics.MODEL_TOKENS, seen.option_tokens, part="options")
                self._count(metrics.MODEL_PASSES, seen.forward_passes)

    def sent(self, kind: str, result: str) -> None:
        """Count a try."""
        self._count(metrics.SENDS_TOTAL, kind=kind, result=result)

    def connected(self, server: str, error: BaseException | None) -> None:
        """Count a connection."""
        self._count(metrics.CONNECTS, server=server, result=result_of(error))

    def expires(self, what: str, ends_at: datetime | None) -> None:
        """Remember when it ends."""
        self._expiries[what] = ends_at

    def turned(self) -> None:
        """Remember that the loop goes on."""
        self._turned_s = self._clock()

    def _count(self, metric: Metric, number: float = 1, **labels: str) -> None:
        if self._recorder is not None:
            self._recorder.count(metric, self._brand, number, **labels)

    @contextmanager
    def _timed(self, metric: Metric, **labels: str) -> Iterator[None]:
        began_s = self._clock()
        try:
            yield
        finally:
            if self._recorder is not None:
                self._recorder.observe(metric, self._brand, self._clock() - began_s, **labels)

    def _span(self, name: str, **attributes: str | int) -> AbstractContextManager[Seen]:
        if self._tracing is None:
            return nullcontext(Seen())
        return self._tracing.span(name, brand=self._brand, **attributes)


def result_of(error: BaseException | None) -> str:
    """How something ended, by what happens next: "ok", "transient", "permanent", "config" or "rejected"."""
    match error:
        case None:
            return "ok"
        case TransientError():
            return "transient"
        case ConfigError():
            return "config"
        case ToolCallRejected():
            return "rejected"
        case _:
            return "permanent"
