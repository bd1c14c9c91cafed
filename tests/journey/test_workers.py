"""Several workers on one PostgreSQL: nothing lost, nothing twice, threads in order, and the dead are replaced."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

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
        for process in tuple(fleet.processes):
            assert fleet.end(process, signal.SIGTERM) == 0
