"""`python -m tests.benchmarks.workers [--mails N] [--processes N...] [--kill]`: several workers on one PostgreSQL.

Each run is a new database, a mailbox of N mails in threads of four, and that many worker processes with a scripted
planner (tests/fleet.py). Printed are mails a second from the first start to the last end, mails sent twice, and mails
that began before an older one of their thread had ended. `--kill`: two of the processes are killed in the middle, and
what each process did is printed with the seconds.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from support_agent.config.log import configure_log
from support_agent.config.settings import LogSettings
from support_agent.store.store import Store
from tests.fleet import Fleet, findings, threads_of
from tests.servers.postgres import Cluster, running_cluster

THREAD_LENGTH = 4


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.workers")
    parser.add_argument("--mails", type=int, default=10_000)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--concurrency", type=int, default=2)
    parser.add_argument("--kill", action="store_true")
    args = parser.parse_args()
    configure_log(LogSettings().model_copy(update={"level": "critical"}))
    with running_cluster(is_durable=True) as cluster:
        for processes in args.processes:
            for line in measured(cluster, args.mails, processes, args.concurrency, is_killing=args.kill):
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()


def measured(
    cluster: Cluster, mails: int, processes: int, concurrency: int, *, is_killing: bool = False
) -> Iterator[str]:
    """Run one fleet, and say what happened."""
    threads = threads_of(max(1, mails // THREAD_LENGTH), THREAD_LENGTH)
    mailbox = [raw for each in zip(*threads, strict=True) for raw in each]
    with ExitStack() as opened:
        url = opened.enter_context(new_store(cluster))
        folder = opened.enter_context(tempfile.TemporaryDirectory())
        with Fleet(url, Path(folder) / "fleet", mailbox, concurrency) as fleet:
            began = time.monotonic()
            alive = fleet.start(processes)
            said: list[str] = []

            def kill() -> None:
                ended = sum(line.what == "end" for line in fleet.trace.lines())
                if is_killing and len(said) < 2 and ended >= len(mailbox) * (len(said) + 1) // 4:
                    victim = alive.pop(0)
                    fleet.end(victim, signal.SIGKILL)
                    said.append(f"{time.monotonic() - began:6.1f} s: {ended} done, kill -9 of process {victim}")

            fleet.wait(kill, timeout_s=3600)
            seconds = time.monotonic() - began
            yield from said
            found = findings(fleet, threads)
            speed = f"{len(mailbox)} mails in {seconds:.1f} s, {len(mailbox) / seconds:.1f} a second"
            wrong = f"lost {found.lost}, sent twice {found.twice}, out of order {found.disordered}"
            yield f"{processes} processes: {speed}; {wrong}"


@contextmanager
def new_store(cluster: Cluster) -> Iterator[str]:
    """The URL of a new database with the schema."""
    url = cluster.create_database()
    with Store.open(url) as store:
        store.upgrade()
    try:
        yield url
    finally:
        cluster.drop_database(url)


if __name__ == "__main__":
    main()
