"""`python -m tests.benchmarks.journeys [--mails N] [--concurrency N]`: whole journeys a second, one process.

The worker, the engine and the store are real, on SQLite in a folder on disk; the mailbox is in memory, the transport
takes each mail at once, and the planner knows a few words. Each mail is of another customer. Printed are journeys a
second, and processor time a mail, for mails that are answered and for mails that are only filed; and how long a single
mail waits from its start in the engine until its journey begins.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from support_agent.config.log import configure_log
from support_agent.config.settings import EngineSettings, LogSettings
from support_agent.core.clock import utc_now
from support_agent.engine.database import engine_url
from support_agent.engine.engine import Engine, executor_id
from support_agent.engine.steps import Steps
from support_agent.pipeline import handle
from support_agent.store.records import MailId
from support_agent.store.store import Store
from support_agent.workflow.stages import Stages
from support_agent.workflow.worker import Worker
from tests.fakes_journey import make_company, open_office, with_agent, write
from tests.fakes_worker import FakeMailbox

LIMITS = {"max_mails_per_hour": 1_000_000}
IDLE_S = 600.0
Journey = Callable[[MailId, Steps, Stages], str]


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.journeys")
    parser.add_argument("--mails", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=4)
    args = parser.parse_args()
    configure_log(LogSettings().model_copy(update={"level": "critical"}))
    for name, mails in (("answered", answered(args.mails)), ("filed", filed(args.mails))):
        sys.stdout.write(f"{name}: {measured(mails, args.concurrency)}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{delay(50)}\n")


def measured(mails: Sequence[bytes], concurrency: int) -> str:
    """Handle the mails, and say how fast it was."""
    with tempfile.TemporaryDirectory() as folder, worker_in(Path(folder), mails, concurrency) as worker:
        cpu_s, began_s = time.process_time(), time.perf_counter()
        worker.run_once(Event())
        seconds, used_s = time.perf_counter() - began_s, time.process_time() - cpu_s
        ended = {status.name.lower(): count for status, count in worker.store.traffic.totals().mails.items() if count}
    return (
        f"{len(mails)} mails in {seconds:.1f} s, {len(mails) / seconds:.0f} a second, "
        f"{1000 * used_s / len(mails):.1f} ms of processor a mail, {ended}"
    )


def delay(count: int) -> str:
    """Start mails one by one, and say how long each waited for its journey."""
    begun_s: dict[str, float] = {}
    waits_ms: list[float] = []

    def begin(mail_id: MailId, _steps: Steps, _stages: Stages) -> str:
        begun_s[mail_id] = time.perf_counter()
        return "filed"

    with tempfile.TemporaryDirectory() as folder, worker_in(Path(folder), (), 4, begin) as worker:
        for number in range(count):
            began_s = time.perf_counter()
            worker.engine.start(f"mail-{number}", f"case-{number}")
            assert worker.engine.wait_until_idle(IDLE_S)
            waits_ms.append(1000 * (begun_s[f"mail-{number}"] - began_s))
    return (
        f"a single mail waits {statistics.median(waits_ms):.1f} ms (median), {max(waits_ms):.1f} ms at most of {count}"
    )


def answered(count: int) -> list[bytes]:
    """Mails that a document answers, each of another customer."""
    return [write("Can I get a refund?", sender=f"customer{n}@example.org", number=n) for n in range(count)]


def filed(count: int) -> list[bytes]:
    """Mails of machines."""
    head = b"Auto-Submitted: auto-replied\r\n"
    return [head + write("I am away.", sender=f"customer{n}@example.org", number=n) for n in range(count)]


@contextmanager
def worker_in(folder: Path, mails: Sequence[bytes], concurrency: int, journey: Journey = handle) -> Iterator[Worker]:
    """A worker on a store of its own, with the engine running."""
    company, url = make_company(folder), f"sqlite:///{folder / 'store.sqlite3'}"
    with Store.open(url) as store:
        store.upgrade()
        office = with_agent(open_office(company, store), **LIMITS)
        wired = office.wired
        office.keep_company()
        engine = Engine(engine_url(url), executor_id("benchmark"), EngineSettings(concurrency=concurrency))
        journeys = engine.serve("", lambda mail_id, steps: journey(MailId(mail_id), steps, wired.stages))
        engine.launch()
        try:
            yield Worker(
                settings=office.settings,
                store=store,
                wired=wired,
                engine=journeys,
                open_mailbox=lambda: FakeMailbox(list(mails)),
                now=utc_now,
            )
        finally:
            engine.stop(5)
            office.decider.company.accounts.close()


if __name__ == "__main__":
    main()
