"""A fleet whose mails each have a fault at a place of their journey, and a supervisor that starts what has died.

The fault of a mail happens once, whatever runs again afterwards. The supervisor does what a machine's does: a worker
that has ended is started again. It also continues stopped workers, and crashes or starves the database's server when a
worker asks for it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, cast

from support_agent.config.settings import EngineSettings
from support_agent.engine.steps import Steps
from support_agent.errors import GateRefused
from support_agent.planner.loop import Planner
from support_agent.store.records import MailId, MailStatus
from support_agent.store.store import Store
from tests.crash.faults import GONE_S, CrashMailbox, CrashModel, CrashTransport, Fault, PatientTrace, Surroundings
from tests.fakes import PLAIN
from tests.fakes_journey import Office
from tests.fakes_worker import with_imap
from tests.fleet import DONE_S, UNSENT, Fleet
from tests.servers.postgres import Cluster

LOOK_S = 0.1
STOP_S = 60.0
KILLED = -signal.SIGKILL


class Place(NamedTuple):
    """Before or after the work of a step, or of `DELIVER`."""

    step: str
    when: str


DELIVER = "deliver"
"""No step of the pipeline: the moment in which the server for outgoing mail is given a mail."""


class Schedule(NamedTuple):
    """One fault at one place."""

    fault: Fault
    place: Place


@dataclass
class CrashFleet(Fleet):
    """Workers with faults.

    Args:
        cluster: The server of the store's database; None: it is SQLite.
        schedules: What happens in which mail's journey.
        refused: Mails whose answer the gate refuses.
        deaths: How many workers were killed.
        exits: How many ended by themselves, of any error.
    """

    cluster: Cluster | None = None
    schedules: Mapping[MailId, Schedule] = field(default_factory=dict)
    refused: frozenset[MailId] = frozenset()
    deaths: int = 0
    exits: int = 0
    _around: Surroundings = field(init=False)
    _mail: threading.local = field(default_factory=threading.local)
    _read: int = 0
    _stopped: dict[int, float] = field(default_factory=dict)

    def __enter__(self) -> Self:
        super().__enter__()
        self.trace = PatientTrace(self.folder / "trace")
        (self.folder / "fired").mkdir()
        (self.folder / "inbox").mkdir()
        delivered, self.mails = self.mails, []
        self.deliver(*delivered)
        return self

    def deliver(self, *mails: bytes) -> None:
        """Put mails into the mailbox."""
        for raw in mails:
            self.mails = [*self.mails, raw]
            (part := self.folder / "part").write_bytes(raw)
            part.rename(self.folder / "inbox" / f"{len(self.mails):06}")

    # In a worker process

    def engine_settings(self) -> EngineSettings:
        """A step is tried for longer than the database is away."""
        return super().engine_settings().model_copy(update={"retry_base_s": 0.2, "step_attempts": 8})

    def office(self, store: Store) -> Office:
        """The fleet's own, with surroundings that fail."""
        self._around = Surroundings(self.folder, self.trace, is_sqlite=self.cluster is None)
        office = with_imap(super().office(store), reconnect_base_s=GONE_S / 2, reconnect_max_s=GONE_S)
        tries = {"retry_base_s": GONE_S, "retry_max_s": 1.0, "max_attempts": 1000}
        smtp = office.settings.smtp.model_copy(update=tries)
        model = CrashModel(self._around, self._current_mail)
        planner = Planner(model, office.settings.planner, self._around.planner_clock, combiner=PLAIN)
        transport = CrashTransport(self._around, lambda when: self._strike(Place(DELIVER, when)))
        return replace(
            office,
            settings=office.settings.model_copy(update={"smtp": smtp}),
            decider=replace(office.decider, planner=planner),
            transport=transport,  # type: ignore[arg-type]
            clock=self._around.now,
        )

    def undisturbed_office(self, store: Store) -> Office:
        """The fleet's own office, for what is to be done before anything goes wrong."""
        return super().office(store)

    def mailbox(self) -> CrashMailbox:
        """A connection to the mailbox."""
        return CrashMailbox(around=self._around)

    def steps(self, steps: Steps, mail_id: MailId) -> Steps:
        """The steps, with a fault before or after one of them."""
        return cast("Steps", _StruckSteps(self, steps, mail_id))

    def around(self, mail_id: MailId, name: str, work: Callable[[], object]) -> object:
        """Do the work of a step."""
        with self._in_hand(mail_id):
            self._strike(Place(name, "before"))
            if name == "answer" and mail_id in self.refused:
                raise GateRefused("a byte without a source")
            result = work()
            self._strike(Place(name, "after"))
            return result

    @contextmanager
    def _in_hand(self, mail_id: MailId) -> Iterator[None]:
        before = self._current_mail()
        self._mail.id = mail_id
        try:
            yield
        finally:
            self._mail.id = before

    def _current_mail(self) -> str:
        """The mail whose journey this thread runs; "" in the rounds."""
        return getattr(self._mail, "id", "")

    def _strike(self, place: Place) -> None:
        mail_id = MailId(self._current_mail())
        schedule = self.schedules.get(mail_id)
        if schedule is not None and schedule.place == place and self._is_first(mail_id):
            self._around.suffer(schedule.fault, mail_id)

    def _is_first(self, mail_id: MailId) -> bool:
        try:
            (self.folder / "fired" / mail_id).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    # In the supervisor

    def look_after(self) -> None:
        """Do what the supervisor does, once."""
        for code in self.ended().values():
            self.deaths += code == KILLED
            self.exits += code != KILLED
            self.start()
        lines = self.trace.lines()
        for line in lines[self._read :]:
            if line.what == "stopped":
                stopped, seconds = line.name.split()
                self._stopped[int(stopped)] = time.monotonic() + float(seconds)
            elif line.what in (Fault.RESTART.name, Fault.DISK_FULL.name):
                self.trouble_server(Fault[line.what])
                self.trace.add("done", line.name)
        self._read = len(lines)
        for process in [process for process, until in self._stopped.items() if time.monotonic() >= until]:
            del self._stopped[process]
            self.resume(process)

    def trouble_server(self, fault: Fault) -> None:
        """Crash the database's server, or fill its disk for a moment."""
        assert self.cluster is not None
        if fault is Fault.RESTART:
            self.cluster.restart()
        else:
            self.cluster.fill_disk(GONE_S)

    def resume(self, process: int) -> None:
        """Continue a stopped worker, if it is still there."""
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)

    def finish(self, timeout_s: float = DONE_S) -> list[str]:
        """Wait until all mails have ended and all is sent; then stop the workers.

        Returns:
            What is stuck: mails, and workers that do not stop.
        """
        deadline = time.monotonic() + timeout_s
        while (stuck := self._unfinished()) and time.monotonic() < deadline:
            self.look_after()
            time.sleep(LOOK_S)
        return stuck + self._stop()

    def _unfinished(self) -> list[str]:
        # Opened each time: a worker must not be forked while this process has a SQLite file open.
        with Store.open(self.url) as store:
            ended = {mail.id for mail in store.mails.find() if mail.status is not MailStatus.NEW}
            new = [mail.id for mail in store.mails.find(status=MailStatus.NEW)]
            unsent = [row.id for status in UNSENT for row in store.outbox.find(status=status)]
        missing = max(0, len(self.mails) - len(ended) - len(new))
        return [
            *(f"{mail_id} {self.schedules.get(mail_id, '')}" for mail_id in new),
            *map(str, unsent),
            *["not recorded"] * missing,
        ]

    @property
    def fired(self) -> set[MailId]:
        """The mails whose fault has happened: another mail's fault can take a mail past the place of its own."""
        return {MailId(path.name) for path in (self.folder / "fired").iterdir()}

    @property
    def diverted(self) -> set[MailId]:
        """The mails that met the model's absence, perhaps another mail's fault: they go to a person."""
        return {MailId(line.name) for line in self.trace.lines() if line.what == "model"}

    def _stop(self) -> list[str]:
        """Ask all workers to stop; those that do not are killed, and returned."""
        for process in self.processes:
            self.resume(process)
            os.kill(process, signal.SIGTERM)
        deadline = time.monotonic() + STOP_S
        while self.processes and time.monotonic() < deadline:
            self.exits += sum(code != 0 for code in self.ended().values())
            time.sleep(LOOK_S)
        return [f"worker {process}" for process in self.processes]


class _StruckSteps:
    """`support_agent.engine.steps.Steps`, for the pipeline."""

    def __init__(self, fleet: CrashFleet, steps: Steps, mail_id: MailId) -> None:
        self._fleet, self._steps, self._mail_id = fleet, steps, mail_id

    def step(self, name: str, work: Callable[[], Any], returns: Any = None) -> object:
        return self._steps.step(name, lambda: self._fleet.around(self._mail_id, name, work), returns)

    def run(self, name: str, work: Callable[[], Any]) -> object:
        return self._steps.run(name, lambda: self._fleet.around(self._mail_id, name, work))
