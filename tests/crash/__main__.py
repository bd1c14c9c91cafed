"""`python -m tests.crash`: the whole crash matrix, then random histories; see `matrix` and `machine`.

Prints a line for each combination of database and number of workers, then what was tried in all. Exit code 1: a mail
was lost, answered twice, stuck or out of order; the mails are listed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from support_agent.config.log import configure_log
from support_agent.config.settings import LogSettings
from tests.crash.machine import run_histories
from tests.crash.matrix import COMBINATIONS, Combination, Result, Stores, run, summed
from tests.servers.postgres import running_cluster

TIMEOUT_S = 1800.0


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), help="only this one; by default both")
    parser.add_argument("--workers", type=int, help="only with so many workers")
    parser.add_argument("--every", type=int, default=1, help="only one of so many places for each fault")
    parser.add_argument("--histories", type=int, default=10, help="random histories for each combination")
    args = parser.parse_args()
    configure_log(LogSettings().model_copy(update={"level": "critical"}))
    results = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        cluster = opened.enter_context(running_cluster()) if args.database != "sqlite" else None
        for on in COMBINATIONS:
            if args.database in (None, on.database) and args.workers in (None, on.workers):
                stores = Stores(cluster if on.database == "postgresql" else None, Path(folder))
                results.append(_matrix(on, stores, args.every))
                if args.histories:
                    results += _histories(on, stores, args.histories)
    sys.stdout.write(f"{summed(results)}\n")
    return 0 if all(result.is_good for result in results) else 1


def _matrix(on: Combination, stores: Stores, every: int) -> Result:
    with stores.new() as (url, folder), _printed(f"{on}, every step"):
        result = run(on, url, folder, stores.cluster, every, TIMEOUT_S)
        _print(result)
    return result


def _histories(on: Combination, stores: Stores, count: int) -> list[Result]:
    with _printed(f"{on}, {count} histories"):
        results = run_histories(on, stores, count)
        _print(summed(results))
    return results


@contextmanager
def _printed(what: str) -> Iterator[None]:
    began = time.monotonic()
    sys.stdout.write(f"{what}: ")
    sys.stdout.flush()
    yield
    sys.stdout.write(f"  in {time.monotonic() - began:.0f} s\n")
    sys.stdout.flush()


def _print(result: Result) -> None:
    sys.stdout.write(
        f"{result}\n  {result.deaths} workers killed, {result.exits} ended by an error, "
        f"{result.uncertain} mails uncertain, of which the desk was notified\n"
    )
    for line in (*result.lost, *result.stuck):
        sys.stdout.write(f"  {line}\n")


if __name__ == "__main__":
    sys.exit(main())
