"""Several real workers on one store: processes that fetch, handle and send, and that a test kills or stops.

Each process runs the product's own worker, engine, store and stages, as `app.workers` starts them. The mailbox is the
same list of mails in each process, the planner knows a few words, and what is sent becomes a line of a file, as
does each journey's beginning and end: what really happened, in the order of time.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from email.parser import BytesHeaderParser
from itertools import pairwise
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import NamedTuple, Self

from support_agent.app.workers import WorkerParts, start_workers
from support_agent.config.settings import EngineSettings
from support_agent.core.clock import utc_now
from support_agent.engine.steps import Steps
from support_agent.errors import SupportAgentError
from support_agent.pipeline import handle
from support_agent.store.records import MailId, MailStatus, OutboxStatus, OutgoingKind, mail_id_of
from support_agent.store.store import Store
from support_agent.transport.submission import Delivery
from support_agent.watch.health import WatchedWorker
from support_agent.watch.observer import WorkerObserver
from support_agent.workflow.stages import Stages
from support_agent.workflow.wired import Wired
from tests.fakes_journey import Office, loaded, make_company, open_office, with_agent, write
from tests.fakes_worker import FakeMailbox, with_imap

LIMITS = {"max_mails_per_hour": 1_000_000, "max_mails_per_case": 1_000, "max_mails_per_sender_a_day": 1_000}
LEASE_S = 3.0
POLL_S = 0.05
DONE_S = 240.0
"""Longest wait until all is done; whatever takes longer is stuck."""
UNSENT = (OutboxStatus.READY, OutboxStatus.SENDING)


class Line(NamedTuple):
    """What a process did: `begin` and `end` of a mail's journey, or `sent` and its Message-ID."""

    what: str
    name: str


class Trace:
    """A file to which all processes append whole lines."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        self._path = path

    def add(self, what: str, name: str) -> None:
        """Append one line."""
        os.write(self._file, f"{what} {name}\n".encode())

    def lines(self) -> list[Line]:
        """All lines, in the order of time."""
        return [Line(*line.split(" ", 1)) for line in self._path.read_text("utf-8").splitlines()]


@dataclass(frozen=True)
class LineTransport:
    """`support_agent.transport.submission.Transport`: what is sent is a line; the "server" takes everything."""

    trace: Trace

    def deliver(self, raw: bytes, envelope_from: str, recipient: str, envelope_id: str = "") -> Delivery:
        """Take the mail."""
        self.trace.add("sent", str(BytesHeaderParser().parsebytes(raw)["Message-ID"]))
        return Delivery(status="sent", detail="250 ok")

    def close_idle(self) -> None:
        """Nothing is open."""


@dataclass
class Fleet:
    """Worker processes on one store; all are killed at the end of the `with`.

    Args:
        url: A store with its schema, on PostgreSQL for more than one worker.
        mails: What is in the mailbox from the beginning.
    """

    url: str
    folder: Path
    mails: Sequence[bytes]
    concurrency: int = 2
    lease_s: float = LEASE_S
    processes: list[int] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.folder.mkdir(exist_ok=True)
        self.company = make_company(self.folder)
        loaded(self.company)  # for all workers, before they are forked
        self.trace = Trace(self.folder / "trace")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in tuple(self.processes):
            self.end(process, signal.SIGKILL)

    # What a worker works with; a test that interferes replaces it

    def engine_settings(self) -> EngineSettings:
        """How mails are handled."""
        return EngineSettings(
            concurrency=self.concurrency, retry_base_s=0, lease_s=self.lease_s, max_interruptions=1000
        )

    def office(self, store: Store) -> Office:
        """The company, the settings, the transport and the clock."""
        office = with_imap(with_agent(open_office(self.company, store), **LIMITS), poll_interval_s=0.2)
        return replace(office, transport=LineTransport(self.trace), clock=utc_now)  # type: ignore[arg-type]

    def mailbox(self) -> FakeMailbox:
        """A connection to the mailbox."""
        return FakeMailbox(list(self.mails))

    def steps(self, steps: Steps, mail_id: MailId) -> Steps:
        """The steps of a mail's journey."""
        return steps

    # Workers

    def start(self, count: int = 1) -> list[int]:
        """Start workers; returns their process ids."""
        started = [self._fork() for _ in range(count)]
        self.processes += started
        return started

    def end(self, process: int, how: signal.Signals) -> int:
        """Send a signal that ends a worker, and wait for its end; returns its exit code."""
        os.kill(process, how)
        self.processes.remove(process)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

    def ended(self) -> dict[int, int]:
        """The workers that have ended since this was asked last, with their exit codes."""
        asked = (os.waitpid(process, os.WNOHANG) for process in self.processes)
        gone = {process: os.waitstatus_to_exitcode(status) for process, status in asked if process}
        self.processes = [process for process in self.processes if process not in gone]
        return gone

    def wait(self, meanwhile: Callable[[], object] = lambda: None, timeout_s: float = DONE_S) -> None:
        """Wait until every mail has ended and nothing is left to send; calls `meanwhile` again and again."""
        deadline = time.monotonic() + timeout_s
        with Store.open(self.url) as store:
            while left := self._left(store):
                assert time.monotonic() < deadline, f"stuck: {left}"
                meanwhile()
                time.sleep(POLL_S)

    def _left(self, store: Store) -> str:
        """What is still to be done, or ""."""
        counts = store.traffic.totals()
        ended = sum(count for status, count in counts.mails.items() if status is not MailStatus.NEW)
        unsent = sum(counts.outbox[status] for status in UNSENT)
        return "" if ended == len(self.mails) and not unsent else f"{ended} of {len(self.mails)}, {unsent} unsent"

    def _fork(self) -> int:
        child = os.fork()
        if child:
            return child
        code = 1
        try:
            stop = Event()
            signal.signal(signal.SIGTERM, lambda *_: stop.set())
            self._work(stop)
            code = 0
        except SupportAgentError as error:  # as the program: one line, and systemd starts it again
            sys.stderr.write(f"worker {os.getpid()} ended: {error}\n")
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _work(self, stop: Event) -> None:
        """The life of one worker, which the product starts of these parts."""
        with Store.open(self.url, timeout_s=self.lease_s) as store:
            office = self.office(store)
            changes = {
                "engine": self.engine_settings().model_copy(update={"stop_timeout_s": 5.0}),
                "store": office.settings.store.model_copy(update={"url": self.url}),
            }
            settings = office.settings.model_copy(update=changes)

            def open_wired(_store: Store, worker: str) -> Wired:
                wired = office.wired
                sender = replace(wired.stages.outbox_sender, worker=worker)
                return replace(wired, stages=replace(wired.stages, outbox_sender=sender))

            parts = WorkerParts(
                settings=settings,
                watched=WatchedWorker(settings, WorkerObserver("", time.monotonic), office.clock),
                open_store=lambda: nullcontext(store),
                open_mailbox=self.mailbox,
                open_wired=open_wired,
                now=office.clock,
                handle=self._handle,
            )
            with start_workers({"": parts}) as workers:
                workers[""].run(stop)

    def _handle(self, mail_id: MailId, steps: Steps, stages: Stages) -> str:
        self.trace.add("begin", mail_id)
        outcome = handle(mail_id, self.steps(steps, mail_id), stages)
        self.trace.add("end", mail_id)
        return outcome


class Findings(NamedTuple):
    """What went wrong, of `mails` mails; all are 0 if nothing did."""

    mails: int
    lost: int
    twice: int
    """Mails to customers that were sent twice."""
    disordered: int
    """Mails that began before an older one of their thread had ended."""


def findings(fleet: Fleet, threads: Sequence[Sequence[bytes]]) -> Findings:
    """Compare what happened with what must be; `threads` has the mails of each thread in their order."""
    lines = fleet.trace.lines()
    with Store.open(fleet.url) as store:
        ended = {mail.id for mail in store.mails.find() if mail.status is not MailStatus.NEW}
        to_customers = {row.message_id for row in store.outbox.find() if not row.kind.is_for_desk}
        answers = Counter(row.mail_id for row in store.outbox.find(kind=OutgoingKind.ANSWER))
    sent = Counter(line.name for line in lines if line.what == "sent" and line.name in to_customers)
    twice = sum(count - 1 for count in (*sent.values(), *answers.values()) if count > 1)
    return Findings(
        mails=len(fleet.mails),
        lost=len(fleet.mails) - len(ended),
        twice=twice,
        disordered=sum(_disordered([mail_id_of(raw) for raw in thread], lines) for thread in threads),
    )


def _disordered(thread: Sequence[MailId], lines: Sequence[Line]) -> int:
    """How many mails of a thread began before the one before them had ended for the first time."""
    first_end: dict[str, int] = {}
    first_begin: dict[str, int] = {}
    for place, line in enumerate(lines):
        known = {"begin": first_begin, "end": first_end}.get(line.what)
        if known is not None:
            known.setdefault(line.name, place)
    pairs = pairwise(thread)
    return sum(first_begin.get(after, 0) < first_end.get(before, sys.maxsize) for before, after in pairs)


def threads_of(count: int, length: int, text: str = "Can I get a refund?") -> list[list[bytes]]:
    """Made threads: each of a customer of its own, whose later mails answer the first."""
    made: dict[int, list[bytes]] = defaultdict(list)
    for place in range(length):
        for number in range(count):
            sender = f"customer{number}@example.org"
            root = f"<{number}.root@example.org>"
            raw = write(text, sender=sender, number=number * 1000 + place, in_reply_to=root)
            made[number].append(raw)
    return list(made.values())
