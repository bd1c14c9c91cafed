"""`python -m tests.benchmarks.journeys [--mails N]`: whole journeys a second, one process, scripted planner.

The worker, the engine and the store are real, on SQLite in a folder on disk; the mailbox is in memory, the transport
takes each mail at once, and the planner knows a few words. Each mail is of another customer. Printed are journeys a
second for mails that are answered and for mails that are only filed, the processor's seconds a mail, and the delay of
single mails beside their own work.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from support_agent.config.log import configure_log
from support_agent.config.packaged_files import packaged
from support_agent.config.settings import EngineSettings, LogSettings
from support_agent.engine.database import engine_url
from support_agent.engine.engine import Engine, executor_id
from support_agent.pipeline import handle
from support_agent.store.records import MailId
from support_agent.store.store import Store
from support_agent.workflow.worker import Worker
from tests.fakes_journey import make_company, open_office, with_agent, write
from tests.fakes_worker import FakeMailbox

LIMITS = {"max_mails_per_hour": 1_000_000}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.journeys")
    parser.add_argument("--mails", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=EngineSettings().concurrency)
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    configure_log(LogSettings().model_copy(update={"level": "critical"}))
    settings = EngineSettings(concurrency=args.concurrency)
    for name, mails in (("answered", answered(args.mails)), ("filed", filed(args.mails))):
        with tempfile.TemporaryDirectory() as folder, worker_in(Path(folder), mails, settings) as worker:
            cpu, started = time.process_time(), time.perf_counter()
            worker.run_once(Event())
            seconds, used = time.perf_counter() - started, time.process_time() - cpu
            totals = worker.store.traffic.totals().mails
            sys.stdout.write(
                f"{name}: {len(mails)} in {seconds:.1f} s, {len(mails) / seconds:.1f} a second, "
                f"{1000 * used / len(mails):.1f} ms of processor a mail; {dict(totals)}"
            )


def answered(count: int) -> list[bytes]:
    return [write("Can I get a refund?", sender=f"customer{n}@example.org", number=n) for n in range(count)]


def filed(count: int) -> list[bytes]:
    head = b"Auto-Submitted: auto-replied\r\n"
    return [head + write("I am away.", sender=f"customer{n}@example.org", number=n) for n in range(count)]


@contextmanager
def worker_in(folder: Path, mails: list[bytes], settings: EngineSettings) -> Iterator[Worker]:
    """A worker on a store of its own, with the engine running."""
    company = make_company(folder)
    url = f"sqlite:///{folder / 'store.sqlite3'}"
    with Store.open(url, packaged("migrations")) as store:
        store.upgrade()
        office = with_agent(open_office(company, store), **LIMITS)
        stages = office.stages
        stages.keep_company()
        engine = Engine(engine_url(url), executor_id("benchmark"), settings)
        journeys = engine.serve("", lambda mail_id, steps: handle(MailId(mail_id), steps, stages))
        engine.launch()
        try:
            yield Worker(
                settings=office.settings,
                store=store,
                stages=stages,
                engine=journeys,
                open_mailbox=lambda: FakeMailbox(mails),
                now=office.clock,
            )
        finally:
            engine.stop(5)
            office.decider.company.accounts.close()


if __name__ == "__main__":
    main()
