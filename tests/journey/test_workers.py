"""Several workers on one PostgreSQL: nothing lost, nothing twice, threads in order, and the dead are replaced."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event

from support_agent.store.audit import AuditEvent
from support_agent.store.store import Store
from tests.fakes_journey import Office
from tests.fleet import Findings, Fleet, findings, threads_of

pytestmark = [pytest.mark.servers, pytest.mark.timeout(600)]


def mixed(threads: list[list[bytes]]) -> list[bytes]:
    """The mailbox: the first mails of all threads, then the second ones, and so on."""
    return [raw for mails in zip(*threads, strict=True) for raw in mails]


def test_two_killed_and_one_stopped_of_four_workers_lose_and_repeat_nothing(
    postgres_store_url: str, tmp_path: Path
) -> None:
    """Whoever led is among the killed; who was stopped for longer than its lease goes on without doing harm."""
    threads = threads_of(20, 3)
    with Fleet(postgres_store_url, tmp_path / "fleet", mixed(threads)) as fleet:
        first, second, third, _ = fleet.start(4)
        deaths = {10: first, 25: second}
        stopped: list[int] = []

        def interfere() -> None:
            ended = sum(line.what == "end" for line in fleet.trace.lines())
            for after in [after for after in deaths if ended >= after]:
                fleet.end(deaths.pop(after), signal.SIGKILL)
            if ended >= 15 and not stopped:
                stopped.append(third)
                os.kill(third, signal.SIGSTOP)

        fleet.wait(interfere)
        assert not deaths
        os.kill(third, signal.SIGCONT)
        assert findings(fleet, threads) == Findings(mails=60, lost=0, twice=0, disordered=0)
        with Store.open(postgres_store_url) as store:
            assert store.audit.entries(AuditEvent.COMPANY_VERSION)  # what they answered with
        for process in tuple(fleet.processes):
            assert fleet.end(process, signal.SIGTERM) == 0


@dataclass
class StoppedInTransaction(Fleet):
    """The first worker that has locked a mail's row is stopped before its transaction ends."""

    def office(self, store: Store) -> Office:
        """The company of a process that stops itself."""
        event.listen(Engine, "after_cursor_execute", self._stop)  # in the worker's own process
        return super().office(store)

    def stopped(self) -> int | None:
        """The process that is stopped; None: none is yet."""
        file = self.folder / "stopped"
        return int(text) if file.exists() and (text := file.read_text("ascii")) else None

    def _stop(self, _connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("UPDATE mails"):
            with suppress(FileExistsError), (self.folder / "stopped").open("x", encoding="ascii") as file:
                file.write(str(os.getpid()))
                file.flush()
                os.kill(os.getpid(), signal.SIGSTOP)


def test_a_worker_that_is_stopped_in_a_transaction_holds_up_nobody(postgres_store_url: str, tmp_path: Path) -> None:
    """Failure: the row that it locked stays locked, and whoever took over its mail waits for good."""
    threads = threads_of(4, 2)
    with StoppedInTransaction(postgres_store_url, tmp_path / "fleet", mixed(threads)) as fleet:
        fleet.start(2)
        fleet.wait()
        stopped = fleet.stopped()
        assert stopped is not None
        os.kill(stopped, signal.SIGCONT)
        assert findings(fleet, threads) == Findings(mails=8, lost=0, twice=0, disordered=0)
        for process in tuple(fleet.processes):
            assert fleet.end(process, signal.SIGTERM) == 0
