"""Random histories of a fleet: mails of a few threads arrive while workers die, stop and go on, and servers are away.

A Hypothesis state machine chooses what happens next; at the end everything is healed, and nothing may be lost,
answered twice, stuck or out of order.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from contextlib import ExitStack
from typing import ClassVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tests.crash.crashing import CrashFleet
from tests.crash.faults import GONE_S, Fault, gone_file, limit_files
from tests.crash.matrix import Combination, Result, Stores, lost_of
from tests.fakes_journey import write
from tests.fakes_worker import CANCEL, HUMAN, REFUND
from tests.fleet import DONE_S, findings

THREADS = 3
AWAY = (Fault.MODEL_GONE, Fault.MODEL_LATE, Fault.IMAP_GONE, Fault.SMTP_GONE, Fault.SMTP_CUT)
STEPS = 20
WORKED_S = 3.0
"""Longest wait for the next mail to end, between two things that happen."""
workers_st = st.integers(0, 3)


class Histories(RuleBasedStateMachine):
    """One history of one fleet; the class says on what."""

    combination: ClassVar[Combination]
    stores: ClassVar[Stores]
    results: ClassVar[list[Result]]

    @initialize()
    def open(self) -> None:
        """All workers, and a mail of each thread."""
        self.opened = ExitStack()
        url, folder = self.opened.enter_context(self.stores.new())
        self.fleet = self.opened.enter_context(CrashFleet(url, folder, (), cluster=self.stores.cluster))
        self.threads: list[list[bytes]] = [[] for _ in range(THREADS)]
        self.stopped: set[int] = set()
        self.happened = 0
        for thread in range(THREADS):
            self.mail_arrives(thread, REFUND)
        self.fleet.start(self.combination.workers)

    @rule(thread=st.integers(0, THREADS - 1), text=st.sampled_from((REFUND, CANCEL, HUMAN)))
    def mail_arrives(self, thread: int, text: str) -> None:
        """A customer writes again, in the same thread."""
        mails = self.threads[thread]
        root = f"<root.{thread}@example.org>"
        raw = write(text, sender=f"customer{thread}@example.org", number=len(mails), in_reply_to=root)
        mails.append(raw)
        self.fleet.deliver(raw)

    @precondition(lambda self: len(self.fleet.processes) < self.combination.workers)
    @rule()
    def worker_starts(self) -> None:
        """Another one, in the place of one that has died."""
        self.fleet.start()

    @rule(number=workers_st)
    def worker_is_killed(self, number: int) -> None:
        """Whatever it is doing."""
        if process := self._worker(number):
            self._count()
            self.stopped.discard(process)
            self.fleet.end(process, signal.SIGKILL)
            self.fleet.deaths += 1

    @rule(number=workers_st)
    def worker_is_stopped(self, number: int) -> None:
        """It may lose its leases meanwhile."""
        if process := self._worker(number):
            self._count()
            os.kill(process, signal.SIGSTOP)
            self.stopped.add(process)

    @rule()
    def workers_go_on(self) -> None:
        """All that are stopped."""
        for process in self.stopped:
            self.fleet.resume(process)
        self.stopped.clear()

    @precondition(lambda self: self.combination.database == "postgresql")
    @rule(fault=st.sampled_from((Fault.RESTART, Fault.DISK_FULL)))
    def server_crashes(self, fault: Fault) -> None:
        """With all connections."""
        self._count()
        self.fleet.trouble_server(fault)

    @precondition(lambda self: self.combination.database == "sqlite")
    @rule(number=workers_st)
    def disk_is_full(self, number: int) -> None:
        """For a moment, for one worker."""
        if process := self._worker(number):
            self._count()
            limit_files(0, process)
            self._work(GONE_S)
            limit_files(resource.RLIM_INFINITY, process)

    @rule(number=workers_st, hours=st.integers(-100, 100).filter(lambda hours: abs(hours) > 25 or hours == 0))
    def clock_jumps(self, number: int, hours: int) -> None:
        """The clock of one worker; by more than a day, because less can delay a mail by as much."""
        if process := self._worker(number):
            self._count()
            (part := self.fleet.folder / "part").write_text(str(hours))
            part.rename(self.fleet.folder / f"clock-{process}")

    @rule(what=st.sampled_from(AWAY))
    def server_goes_away(self, what: Fault) -> None:
        """For all workers."""
        self._count()
        gone_file(self.fleet.folder, what).touch()

    @rule()
    def servers_are_back(self) -> None:
        """All of them."""
        for what in AWAY:
            gone_file(self.fleet.folder, what).unlink(missing_ok=True)

    @rule()
    def time_passes(self) -> None:
        """Until the next mail has ended."""
        self._work(WORKED_S)

    def teardown(self) -> None:
        """Heal everything: then all must end well."""
        if not hasattr(self, "opened"):
            return
        with self.opened:
            self.servers_are_back()
            self.workers_go_on()
            for clock in self.fleet.folder.glob("clock-*"):
                clock.unlink()
            self.fleet.start(self.combination.workers - len(self.fleet.processes))
            stuck = self.fleet.finish(DONE_S)
            found = findings(self.fleet, self.threads)
            lost, uncertain = lost_of(self.fleet, {})
            ended_by_error = self.fleet.exits
        result = Result(
            schedules=self.happened,
            lost=lost,
            twice=found.twice,
            stuck=stuck,
            disordered=found.disordered,
            deaths=self.fleet.deaths,
            exits=ended_by_error,
            uncertain=uncertain,
        )
        self.results.append(result)
        assert result.is_good, (result, lost, stuck)

    def _count(self) -> None:
        self.happened += 1

    def _worker(self, number: int) -> int | None:
        """One of the workers that live, if any does."""
        self.fleet.exits += sum(code != 0 for code in self.fleet.ended().values())
        self.stopped &= set(self.fleet.processes)
        return self.fleet.processes[number % len(self.fleet.processes)] if self.fleet.processes else None

    def _work(self, for_s: float) -> None:
        """Let the workers work until a mail ends, or for some seconds."""
        before, deadline = self._ends(), time.monotonic() + for_s
        while self._ends() == before and time.monotonic() < deadline:
            time.sleep(0.05)

    def _ends(self) -> int:
        return sum(line.what == "end" for line in self.fleet.trace.lines())


def run_histories(on: Combination, on_stores: Stores, examples: int, steps: int = STEPS) -> list[Result]:
    """Try random histories, the same ones each time; raises AssertionError at the first that ends badly."""

    class On(Histories):
        combination, stores, results = on, on_stores, []

    limits = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),  # a history of processes is not the same twice: it cannot be made shorter
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    run_state_machine_as_test(On, settings=limits)
    return On.results
