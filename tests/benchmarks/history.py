"""`python -m tests.benchmarks.history [--mails N] [--keep FILE]`: what a long history costs.

A store with 1,000,000 made mails (those of `desk_page`) beside an empty one: the processor's time of an answered and of
a filed mail, of a round of the worker without mail, of the desk's queue, of the weekly digest, and of the commands that
read the store. Every SQL statement that these run is explained by the database; those that read a whole table that
grows with the history are printed.
"""

from __future__ import annotations

import argparse
import os
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from threading import Event
from typing import Any

from sqlalchemy import Engine, event
from typer.testing import CliRunner

from support_agent.cli.main import app
from support_agent.config.log import configure_log
from support_agent.config.settings import LogSettings
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.store.queue import QueueFilter
from support_agent.store.store import Store
from tests.benchmarks.desk_page import CASES, MAILS, fill
from tests.fakes_journey import NOON, TODAY, Office, make_company, open_office, with_agent, write
from tests.fakes_worker import FakeMailbox, Shift

TIMES = 7
GROWING = ("mails", "outbox", "rendered_mails", "plans", "tool_calls", "cases", "participants", "labels")
"""Tables with rows for each mail or case."""
SCAN = re.compile(rf"^SCAN (?:\w+ AS )?({'|'.join(GROWING)})(?: USING (?:COVERING )?INDEX \w+)?$")
COMMANDS = ("cases", "show {case}", "why {case}", "replay {case}", "outbox", "autonomy")
Act = Callable[[], object]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.history")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--mails", type=int, default=MAILS)
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--keep", type=Path, default=None, help="keeps the large store, or takes the one that is there")
    given = parser.parse_args(arguments)
    configure_log(LogSettings().model_copy(update={"level": "critical"}))
    for line in measured(given.cases, given.mails, given.times, given.keep):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def measured(cases: int, mails: int, times: int, keep: Path | None = None) -> Iterator[str]:
    """The costs on both stores, and the statements that read whole tables."""
    costs: dict[str, dict[str, float]] = {}
    scanned: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("large", "empty"):
            place = Path(folder) / name
            place.mkdir()
            file = keep if keep is not None and name == "large" else place / "store.sqlite3"
            is_there = file.exists()
            with closing(Store.open(f"sqlite:///{file}")) as store:
                store.upgrade()
                if name == "large" and not is_there:
                    fill(store, cases, mails)
                with acts_on(store, place) as acts:
                    costs[name] = {what: _cost_ms(act, times) for what, act in acts.items()}
                    if name == "large":
                        scanned = scans(acts, file)
        yield f"{mails} mails in {cases} cases beside an empty store; median ms of processor, {times} times"
        for what, cost in costs["large"].items():
            yield f"{what:16} {cost:9.1f} {costs['empty'][what]:9.1f}"
        yield from (f"reads all of {', '.join(tables)}: {what}" for what, tables in scanned.items())


@contextmanager
def acts_on(store: Store, folder: Path) -> Iterator[dict[str, Act]]:
    """What is measured, by name; each act may be done again and again."""
    office = with_agent(open_office(make_company(folder), store), max_mails_per_hour=1_000_000)
    office.keep_company()
    first, _ = office.handle(write("Can I get a refund?", sender="first@example.org"))
    recorded = store.mails.get(first)
    assert recorded is not None
    numbers = iter(range(1, 1_000_000))
    shift = Shift(office, FakeMailbox([]))
    acts: dict[str, Act] = {
        "answered mail": lambda: _handle(office, next(numbers), ""),
        "filed mail": lambda: _handle(office, next(numbers), "Auto-Submitted: auto-replied\r\n"),
        "empty round": lambda: shift.agent.run_once(Event()),
        "queue": lambda: (store.queue.cases(QueueFilter(), 51), store.queue.facets()),
        "digest": lambda: office.wired.digest.digest(NOON, NOON),
    }
    init(folder / "workspace", TODAY)
    for command in COMMANDS:
        words = command.format(case=recorded.case_id).split()
        acts[words[0]] = lambda words=words: _invoke(words, store, folder)  # type: ignore[misc]
    yield acts
    office.decider.company.accounts.close()


def scans(acts: Mapping[str, Act], file: Path) -> dict[str, list[str]]:
    """The growing tables that a statement of an act reads from end to end, by act."""
    found: dict[str, list[str]] = {}
    with closing(sqlite3.connect(file)) as explaining:
        for what, act in acts.items():
            with statements() as sent:
                act()
            tables = {table for sql, values in sent for table in _scanned(explaining, sql, values)}
            if tables:
                found[what] = sorted(tables)
    return found


def _scanned(explaining: sqlite3.Connection, sql: str, values: Any) -> Iterator[str]:
    if not sql.lstrip().upper().startswith(("SELECT", "UPDATE", "DELETE", "WITH")):
        return
    if any(table in sql for table in ("customers", "dbos")):  # of another database
        return
    is_limited = "LIMIT" in sql  # then a scan in the order of an index ends early
    for row in explaining.execute(f"EXPLAIN QUERY PLAN {sql}", values):
        if (match := SCAN.match(row[3])) and not (is_limited and "INDEX" in row[3]):
            yield match.group(1)


@contextmanager
def statements() -> Iterator[list[tuple[str, Any]]]:
    """All statements that this process sends to any database meanwhile."""
    sent: list[tuple[str, Any]] = []

    def before(_connection: object, _cursor: object, sql: str, values: Any, _context: object, many: bool) -> None:
        sent.append((sql, values[0] if many else values))

    event.listen(Engine, "before_cursor_execute", before)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", before)


def _handle(office: Office, number: int, more: str) -> None:
    raw = more.encode() + write("Can I get a refund?", sender=f"customer{number}@example.org", number=number)
    office.handle(raw)


def _invoke(words: list[str], store: Store, folder: Path) -> None:
    os.environ["SUPPORT_AGENT__STORE__URL"] = str(store.database.url)
    try:
        done = CliRunner().invoke(app, [*words, "--config", str(folder / "workspace" / CONFIG_FILE)])
    finally:
        del os.environ["SUPPORT_AGENT__STORE__URL"]
    assert done.exit_code == 0, f"{words}: {done.output}"


def _cost_ms(act: Act, times: int) -> float:
    """The median of the processor's milliseconds, the first time left out."""
    act()
    costs = []
    for _ in range(times):
        began_s = time.process_time()
        act()
        costs.append(1000 * (time.process_time() - began_s))
    return median(costs)


if __name__ == "__main__":
    main()
