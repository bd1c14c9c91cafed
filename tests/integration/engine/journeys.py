"""A mail's journey of six steps that leave a trace in a file, and the process that is killed on the way."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from support_agent.config.settings import EngineSettings
from support_agent.engine.engine import Engine, executor_id
from support_agent.engine.steps import Steps

NAMES = ("parse", "screen", "identify", "plan", "render", "send")
FAST = EngineSettings(poll_interval_s=0.02, retry_base_s=0, max_interruptions=1000)
IDLE_TIMEOUT_S = 30.0

Place = Literal["before the work", "after the work", "after the record"]


class Kill(NamedTuple):
    """Where the process dies: in which mail, at which step, and how far that step has come."""

    mail_id: str
    step: str
    place: Place


class Mail(NamedTuple):
    mail_id: str
    thread: str


class Trace:
    """One line for each time the work of a step was done."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, mail_id: str, step: str) -> None:
        """Append at once and in one piece, so that a killed process leaves whole lines."""
        with self.path.open("ab", buffering=0) as file:
            file.write(f"{mail_id} {step}\n".encode())

    def lines(self) -> list[tuple[str, str]]:
        text = self.path.read_text() if self.path.exists() else ""
        return [(mail_id, step) for mail_id, step in map(str.split, text.splitlines())]


def travel(mail_id: str, steps: Steps, trace: Trace, kill: Kill | None = None) -> str:
    """The journey; the process dies in it where `kill` says."""

    def die_at(step: str, place: Place) -> None:
        if kill == (mail_id, step, place):
            os.kill(os.getpid(), signal.SIGKILL)

    def work(step: str) -> list[str]:
        die_at(step, "before the work")
        trace.add(mail_id, step)
        die_at(step, "after the work")
        return [mail_id, step]

    for name in NAMES:
        result = steps.step(name, lambda name=name: work(name))  # type: ignore[misc]
        assert result == [mail_id, name], "a recorded step gives its own result"
        die_at(name, "after the record")
    return "answered"


def run_process(url: str, trace: Trace, mails: Sequence[Mail], kill: Kill | None = None, concurrency: int = 1) -> None:
    """The life of one process: start the mails, work until idle, stop; exits with 1 if a mail failed."""
    engine = Engine(url, executor_id(secrets.token_hex(4)), FAST.model_copy(update={"concurrency": concurrency}))
    journeys = engine.serve("", lambda mail_id, steps: travel(mail_id, steps, trace, kill))
    engine.launch()
    for mail in mails:
        journeys.start(mail.mail_id, mail.thread)
    idle, failed = journeys.wait_until_idle(IDLE_TIMEOUT_S), journeys.failed()
    engine.stop(timeout_s=1)
    sys.exit(0 if idle and not failed else 1)
