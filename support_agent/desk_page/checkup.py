"""Runs the checks of `doctor` beside the page, in a thread: they open connections and may take seconds.

Invariant: one run at a time, and a run that fails is a result, too. Checked by
tests/unit/desk_page/test_operations.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock, Thread
from typing import NamedTuple

import structlog

from support_agent.config.settings import Settings
from support_agent.core.diagnosis import Diagnosis, error
from support_agent.errors import SupportAgentError
from support_agent.ops.doctor import Probes, diagnose

log = structlog.get_logger(__name__)


class Checked(NamedTuple):
    """What the checks found, who asked for them, and when they began; `found` is None while they run."""

    who: str
    at: datetime
    found: tuple[Diagnosis, ...] | None = None


@dataclass
class Checkup:
    """The checks of a workspace; `probes` gives the connections for an instant, as `app.probes` does."""

    settings: Settings
    probes: Callable[[datetime], Probes]
    _last: Checked | None = None
    _lock: Lock = field(default_factory=Lock)
    _thread: Thread | None = None

    @property
    def last(self) -> Checked | None:
        """The last run, perhaps one that still runs; None: there was none since the page was started."""
        with self._lock:
            return self._last

    def begin(self, who: str, now: datetime) -> bool:
        """Begin a run; False: one is under way."""
        with self._lock:
            if self._last is not None and self._last.found is None:
                return False
            self._last = Checked(who, now)
            self._thread = Thread(target=self._run, args=(self._last,), name="checkup", daemon=True)
            self._thread.start()
        return True

    def wait(self, seconds: float) -> None:
        """Wait for the end of a run."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self, begun: Checked) -> None:
        try:
            found = tuple(diagnose(self.settings, self.probes(begun.at)))
        except SupportAgentError as failure:
            found = (error("configuration", str(failure), "correct it in support-agent.toml"),)
        except Exception as defect:  # else the page would say for ever that the checks run
            log.exception("checkup_failed")
            found = (error("doctor", f"{type(defect).__name__}: {defect}", "report this as a defect"),)
        with self._lock:
            self._last = begun._replace(found=found)
