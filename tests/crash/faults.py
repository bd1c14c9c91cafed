"""What can go wrong around a worker, and how it is done to a worker process from inside.

Each fault is real for the process: it is killed or stopped by a signal, its database's server crashes, the system
refuses its writes to files, its clock says another hour. Servers of others (model, IMAP, SMTP) are fakes that are away
for a moment.
"""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.parser import BytesHeaderParser
from enum import StrEnum
from pathlib import Path

from support_agent.core.clock import utc_now
from support_agent.core.cursor import Cursor
from support_agent.errors import TransientError
from support_agent.models.language_model import Prompt, Scores
from support_agent.transport.mailbox import Fetched
from support_agent.transport.submission import Delivery
from tests.fakes_journey import SureModel
from tests.fakes_worker import FakeMailbox
from tests.fleet import LEASE_S, Trace


class Fault(StrEnum):
    """What happens to a worker; all but the first three end by themselves after `GONE_S`."""

    KILL = "kill -9"
    STOP = "stopped for less than its lease"
    LONG_STOP = "stopped for longer than its lease"
    RESTART = "database restarted"
    DISK_FULL = "disk full"
    CLOCK_AHEAD = "clock ahead"
    CLOCK_BACK = "clock back"
    MODEL_GONE = "model gone"
    MODEL_LATE = "model late"
    IMAP_GONE = "IMAP gone"
    SMTP_GONE = "SMTP gone"
    SMTP_CUT = "SMTP lost after the final dot"


STOPS_S = {Fault.STOP: 0.5, Fault.LONG_STOP: LEASE_S + 1}
GONE_S = 0.3
JUMP = timedelta(hours=30)
"""More than the longest wait that the outbox believes; a smaller jump can delay a mail by as much."""
CLOCKS = {Fault.CLOCK_AHEAD: JUMP, Fault.CLOCK_BACK: -JUMP}
ASKED_S = 120.0
FULL_DISK_POLL_S = 0.01


class PatientTrace(Trace):
    """A trace that is no part of the experiment: on a full disk it waits for space."""

    def add(self, what: str, name: str) -> None:
        """Append one line."""
        while True:
            try:
                return super().add(what, name)
            except OSError:
                time.sleep(FULL_DISK_POLL_S)


@dataclass
class Surroundings:
    """What a worker process depends on, as it is now for this process.

    Args:
        folder: Where a test says what is `gone`, a file for each fault, and how many hours a process's clock is ahead,
            a file for each process.
    """

    folder: Path
    trace: Trace
    is_sqlite: bool
    _ahead: timedelta = timedelta()
    _gone_until_s: dict[Fault, float] = field(default_factory=dict)
    _planned: threading.local = field(default_factory=threading.local)
    """For each thread: another mail in hand has not waited."""

    def now(self) -> datetime:
        """What the wall clock says."""
        clock = self.folder / f"clock-{os.getpid()}"
        ahead = timedelta(hours=float(clock.read_text())) if clock.exists() else self._ahead
        return utc_now() + ahead

    def planner_clock(self) -> float:
        """Seconds that the planner has waited for the model."""
        return getattr(self._planned, "s", 0.0)

    def is_gone(self, what: Fault) -> bool:
        """Whether this is the matter now."""
        return time.monotonic() < self._gone_until_s.get(what, 0.0) or gone_file(self.folder, what).exists()

    def wait_for_model(self) -> None:
        """The model takes longer than a mail may take."""
        self._planned.s = self.planner_clock() + 1_000_000

    def suffer(self, fault: Fault, mail_id: str) -> None:
        """Let it happen to this process, now; returns, if the process lives, while it is the matter."""
        match fault:
            case Fault.KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            case Fault.STOP | Fault.LONG_STOP:
                self.trace.add("stopped", f"{os.getpid()} {STOPS_S[fault]}")
                os.kill(os.getpid(), signal.SIGSTOP)
            case Fault.DISK_FULL if self.is_sqlite:
                limit_files(0)
                threading.Timer(GONE_S, limit_files, (resource.RLIM_INFINITY,)).start()
            case Fault.RESTART | Fault.DISK_FULL:
                self._ask(fault, mail_id)
            case Fault.CLOCK_AHEAD | Fault.CLOCK_BACK:
                self._ahead = CLOCKS[fault]
            case _:
                self._gone_until_s[fault] = time.monotonic() + GONE_S

    def _ask(self, fault: Fault, mail_id: str) -> None:
        """Let the supervisor do it, and wait until it is done."""
        self.trace.add(fault.name, mail_id)
        deadline = time.monotonic() + ASKED_S
        while ("done", mail_id) not in self.trace.lines():
            if time.monotonic() > deadline:
                raise TimeoutError(f"nobody did {fault.name}")
            time.sleep(FULL_DISK_POLL_S)


def limit_files(largest_bytes: int, process: int = 0) -> None:
    """The longest file that a process may write: with 0 each write to a file fails, in SQLite as on a full disk."""
    resource.prlimit(process, resource.RLIMIT_FSIZE, (largest_bytes, resource.RLIM_INFINITY))


def gone_file(folder: Path, what: Fault) -> Path:
    """While this file is there, all workers of the folder suffer it."""
    return folder / f"gone-{what.name}"


@dataclass
class CrashModel(SureModel):
    """A model that is away, or answers too late."""

    around: Surroundings
    mail: Callable[[], str]
    sureness: float = 0.999

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        """Score as always, if it is there."""
        if self.around.is_gone(Fault.MODEL_LATE):
            self.around.trace.add("model", self.mail())
            self.around.wait_for_model()
        if self.around.is_gone(Fault.MODEL_GONE):
            self.around.trace.add("model", self.mail())
            raise TransientError("the model does not answer")
        return super().score(prompt, options)


@dataclass(frozen=True)
class CrashTransport:
    """`support_agent.transport.submission.Transport`: a server that is away, or goes after the final dot.

    Args:
        strike: Called before the server is asked ("before"), and when it has the mail ("after").
    """

    around: Surroundings
    strike: Callable[[str], None]

    def deliver(self, raw: bytes, envelope_from: str, recipient: str, envelope_id: str = "") -> Delivery:
        """Take the mail; when the connection is lost after the final dot, the server has it or not."""
        self.strike("before")
        message_id = str(BytesHeaderParser().parsebytes(raw)["Message-ID"])
        if self.around.is_gone(Fault.SMTP_GONE):
            return Delivery(status="retry", detail="421 closing")
        is_cut = self.around.is_gone(Fault.SMTP_CUT)
        if not is_cut or len(raw) % 2:
            self.around.trace.add("sent", message_id)
        self.strike("after")
        return Delivery(status="uncertain" if is_cut else "sent", detail="lost" if is_cut else "250 ok")

    def close_idle(self) -> None:
        """Nothing is open."""


@dataclass
class CrashMailbox(FakeMailbox):
    """A mailbox in a folder of files, whose server is away at times."""

    mails: list[bytes] = field(default_factory=list)
    around: Surroundings | None = None

    def __enter__(self) -> CrashMailbox:
        self._connect()
        return self

    def fetch_after(self, cursor: Cursor) -> Iterator[Fetched]:
        """The mails after a cursor; the connection may be lost before each of them."""
        self._connect()
        for fetched in super().fetch_after(cursor):
            self._connect()
            yield fetched

    def _connect(self) -> None:
        assert self.around is not None
        if self.around.is_gone(Fault.IMAP_GONE):
            raise TransientError("imap.example.com:993 cannot be used now: refused")
        for path in sorted((self.around.folder / "inbox").iterdir())[len(self.mails) :]:
            self.mails.append(path.read_bytes())
