"""`python -m tests.benchmarks.intake [--helpdesk FOLDER] [--langgraph FOLDER]`: intake and journeys beside others.

Intake: a mail is parsed, stored and queued so that it survives a crash of the process and of the machine; beside
django-helpdesk, which makes a ticket of it. Journeys: as many steps as the pipeline has, with nothing in them, each
resumable after a crash; beside a LangGraph graph of as many nodes with its SQLite checkpointer, which waits for each
checkpoint. All use SQLite on disk and take turns in one run, each in a process of its own. The others are no
dependencies: `pip install --target FOLDER django-helpdesk` and `... langgraph langgraph-checkpoint-sqlite`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from support_agent.config.settings import EngineSettings
from support_agent.engine.engine import Engine, executor_id
from support_agent.engine.steps import Steps
from support_agent.transport.mailbox import Fetched
from support_agent.workflow.intake import ALONE
from tests.benchmarks.journeys import IDLE_S, answered, worker_in
from tests.fakes_worker import FakeMailbox

STEPS = 10
"""Pieces of work in support_agent/pipeline.py on the way of an answered mail."""
COUNT = 500
ROUNDS = 3

HELPDESK = """
import logging, sys, tempfile, time
from pathlib import Path
import django
from django.conf import settings
folder = tempfile.mkdtemp()
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{folder}/db.sqlite3"}},
    INSTALLED_APPS=["django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes",
        "django.contrib.sessions", "django.contrib.sites", "django.contrib.humanize", "helpdesk"],
    DEFAULT_AUTO_FIELD="django.db.models.AutoField", SITE_ID=1, SECRET_KEY="x", USE_TZ=True,
    HELPDESK_TEAMS_MODE_ENABLED=False, MEDIA_ROOT=folder, EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
)
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from helpdesk.email import extract_email_metadata
from helpdesk.models import Queue
queue = Queue.objects.create(title="mails", slug="mails", email_address="a@example.org", allow_email_submission=True)
logging.disable(logging.CRITICAL)
mails = [path.read_text() for path in sorted(Path(sys.argv[1]).glob("*.eml"))]
began = time.perf_counter()
for mail in mails:
    extract_email_metadata(mail, queue, logging.getLogger("none"))
seconds = time.perf_counter() - began
from helpdesk.models import Ticket
assert Ticket.objects.count() == len(mails)
print(len(mails) / seconds)
"""
LANGGRAPH = """
import sys, tempfile, time
from typing import TypedDict
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
class State(TypedDict):
    done: int
steps, count = int(sys.argv[1]), int(sys.argv[2])
graph = StateGraph(State)
names = [f"step{number}" for number in range(steps)]
for name in names:
    graph.add_node(name, lambda state: {"done": state["done"] + 1})
for before, after in zip([START, *names], [*names, END]):
    graph.add_edge(before, after)
with SqliteSaver.from_conn_string(f"{tempfile.mkdtemp()}/checkpoints.sqlite3") as saver:
    runs = graph.compile(checkpointer=saver)
    began = time.perf_counter()
    for number in range(count):
        options = {"configurable": {"thread_id": str(number)}}
        assert runs.invoke({"done": 0}, options, durability="sync")["done"] == steps
    print(count / (time.perf_counter() - began))
"""


def main() -> None:
    """Measure in turns, and print the medians."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.intake")
    parser.add_argument("--helpdesk", type=Path, help="a folder with django-helpdesk")
    parser.add_argument("--langgraph", type=Path, help="a folder with langgraph and langgraph-checkpoint-sqlite")
    parser.add_argument("--count", type=int, default=COUNT)
    args = parser.parse_args()
    for line in measured(args.count, ROUNDS, args.helpdesk, args.langgraph):
        sys.stdout.write(f"{line}\n")


def measured(count: int, rounds: int, helpdesk: Path | None = None, langgraph: Path | None = None) -> Iterator[str]:
    """How many mails, and journeys, a second each one does."""
    speeds: dict[str, list[float]] = {}
    for _ in range(rounds):
        speeds.setdefault("intake: this agent", []).append(intake(count))
        if helpdesk is not None:
            speeds.setdefault("intake: django-helpdesk", []).append(_helpdesk(helpdesk, count))
        speeds.setdefault(f"journeys of {STEPS} steps: this agent", []).append(journeys(count))
        if langgraph is not None:
            speed = _run(langgraph, LANGGRAPH, [str(STEPS), str(count)])
            speeds.setdefault(f"journeys of {STEPS} steps: LangGraph", []).append(speed)
    for name, found in speeds.items():
        yield f"{name:40} {median(found):6.0f} a second (of {rounds}: {', '.join(f'{one:.0f}' for one in found)})"


def intake(count: int) -> float:
    """Mails a second that this agent records and queues."""
    mails = answered(count)
    with tempfile.TemporaryDirectory() as folder, worker_in(Path(folder), mails, 1, _never) as worker:
        fetched: list[Fetched] = list(FakeMailbox(mails).fetch_after(FakeMailbox(mails).resume(None)))
        began_s = time.perf_counter()
        for one in fetched:
            worker.intake.record(one, ALONE, FakeMailbox([]))
        return count / (time.perf_counter() - began_s)


def journeys(count: int) -> float:
    """Journeys a second with nothing in their steps."""

    def journey(_mail_id: str, steps: Steps) -> str:
        for number in range(STEPS - 1):
            steps.run(f"step{number}", lambda: None)
        steps.step("decide", lambda: {"done": STEPS})
        return "answered"

    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/engine.sqlite3"
        engine = Engine(url, executor_id("benchmark"), EngineSettings(concurrency=4))
        mails = engine.serve("", journey)
        engine.launch()
        try:
            began_s = time.perf_counter()
            for number in range(count):
                mails.start(f"mail-{number}", f"case-{number}")
            assert mails.wait_until_idle(IDLE_S)
            return count / (time.perf_counter() - began_s)
        finally:
            engine.stop(5)


def _never(*_: object) -> str:
    """A journey that waits to the end of the measurement would hide the intake's own cost; this one does nothing."""
    return "filed"


def _helpdesk(packages: Path, count: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        for number, raw in enumerate(answered(count)):
            (Path(folder) / f"{number:06}.eml").write_bytes(raw)
        return _run(packages, HELPDESK, [folder])


def _run(packages: Path, script: str, arguments: Sequence[str]) -> float:
    """Run another's script in a process that sees its packages alone."""
    environment = {**os.environ, "PYTHONPATH": str(packages)}
    command = [sys.executable, "-S", "-c", script, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    main()
