"""A process that handles the mails of a mailbox and kills itself on the way; run as `python -m`, see `main`.

Agent, stages, engine, store, templates, policies and the company's database are the product's own, put together as
`app.workers` does; only the model and the search are scripted, and the gate refuses where a mail says so.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any, ClassVar, NamedTuple, cast

import structlog

from support_agent.answer.templates import Templates
from support_agent.app.wiring import wire
from support_agent.cases.decision import Decision
from support_agent.cases.route import RoutedMail
from support_agent.company.company import Company
from support_agent.company.documents import Document
from support_agent.config.embedding import EMBEDDERS
from support_agent.config.loading import load
from support_agent.config.settings import CompanySettings, Settings
from support_agent.engine.database import engine_url
from support_agent.engine.engine import Engine, executor_id
from support_agent.engine.steps import Steps
from support_agent.errors import GateRefused
from support_agent.models.embedding.port import Embedder
from support_agent.models.language_model import Prompt, Scores, Usage
from support_agent.outbound.reminders import Reminders
from support_agent.outbound.sender import OutboxSender
from support_agent.pipeline import handle
from support_agent.planner.loop import Planner
from support_agent.store.records import MailId, OutboxRecord
from support_agent.store.store import Store
from support_agent.tools.base import Examples, Match, SegmentReading
from support_agent.tools.signals import Signals
from support_agent.transport.mailbox import Mailbox
from support_agent.transport.submission import SmtpTransport
from support_agent.workflow.decide import Decider
from support_agent.workflow.digest import WeeklyDigest
from support_agent.workflow.stages import Outcome, Stages
from support_agent.workflow.starts import Journeys
from support_agent.workflow.versions import keep_company
from support_agent.workflow.worker import Worker
from tests.fakes import PLAIN
from tests.fakes_reading import nearest_sections, phrased_by_letters, read_apart

TOPICS = {"refund": "document:1", "renew": "field:renewal_date"}
"""Which word of a question is about which topic; a question with none of them is about nothing."""
NEAR, FAR = 0.95, 0.05
WRITES = (
    "save",
    "end",
    "open",
    "join",
    "escalate",
    "give",
    "queue",
    "claim",
    "mark_",
    "deliver",
    "update",
    "add",
    "lift",
    "change",
    "use",
)
"""How the methods begin by which a step leaves something behind."""
TABLES = frozenset(table.name for table in fields(Store) if table.name != "database")
REFUSED = "the gate refuses this"


class Kill(NamedTuple):
    """Where the process dies: before the work of a step (0), or after its n-th write."""

    step: str
    writes: int


START = Kill("start", 0)
"""No step of the journey: the mail is recorded, and the engine has not heard of it."""
DUE = "due"
"""No step of a journey, but the round's duty that sends what is due, for the mail that it answers."""
DUTY = "look_after"
"""The step of a duty of the round; in the place of the mail's id stands its name, and `NAME-1` and so on for kills."""
REMINDERS, DIGEST = "reminders", "digest"


class Trace:
    """A file of lines (mail, step, writes): each step that was done, and each kill, in the order of time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, kind: str, mail_id: str, step: str, writes: int) -> None:
        """Append in one piece, so that a killed process leaves whole lines."""
        with self.path.open("ab", buffering=0) as file:
            file.write(f"{kind} {mail_id} {step} {writes}\n".encode())

    def lines(self, kind: str) -> list[tuple[str, Kill]]:
        """(mail, step with the number of its writes) of each line of a kind: `done` or `killed`."""
        text = self.path.read_text() if self.path.exists() else ""
        split = [line.split() for line in text.splitlines()]
        return [(mail_id, Kill(step, int(writes))) for k, mail_id, step, writes in split if k == kind]


class Watch:
    """Counts the writes of the step in hand, and kills the process at the place that is meant for the mail.

    One step is taken at a time, so that a process dies in nobody else's; a mail is killed once.
    """

    def __init__(self, trace: Trace, kills: Mapping[str, Kill]) -> None:
        self.one_step = threading.Lock()  # the engine's threads may have two mails in hand for a moment
        self._trace = trace
        killed = {mail_id for mail_id, _ in trace.lines("killed")}
        self._kills = {mail_id: kill for mail_id, kill in kills.items() if mail_id not in killed}
        self._mail_id = ""
        self._step = ""
        self._writes = 0

    def steps_of(self, mail_id: str, steps: Steps) -> Steps:
        """The mail's own steps, watched."""
        return cast(Steps, _WatchedSteps(self, mail_id, steps))

    def watched(self, port: object) -> Any:
        """A store or a transport whose writes are counted."""
        return _WatchedPort(self, port)

    def begin(self, mail_id: str, step: str) -> None:
        self._mail_id, self._step, self._writes = mail_id, step, 0
        self._die_here()

    def wrote(self) -> None:
        if self._step:
            self._writes += 1
            self._die_here()

    def end(self) -> None:
        self._trace.add("done", self._mail_id, self._step, self._writes)
        self._step = ""

    def die_at(self, mail_id: str, place: Kill) -> None:
        if self._kills.get(mail_id) == place:
            self._trace.add("killed", mail_id, *place)
            os.kill(os.getpid(), signal.SIGKILL)

    def next_of(self, duty: str) -> str:
        """Under which name the process is still to die in a duty; if under none, the duty's own."""
        return next((name for name in self._kills if name.startswith(f"{duty}-")), duty)

    def in_turn(self, name: str, step: str, work: Callable[..., Any], *arguments: object) -> Any:
        """Take a step that a round takes, besides the journeys."""
        with self.one_step:
            self.begin(name, step)
            result = work(*arguments)
            self.end()
            return result

    def _die_here(self) -> None:
        self.die_at(self._mail_id, Kill(self._step, self._writes))


class _WatchedSteps:
    def __init__(self, watch: Watch, mail_id: str, steps: Steps) -> None:
        self._watch, self._mail_id, self._steps = watch, mail_id, steps

    def step(self, name: str, work: Callable[[], object], returns: Any = None) -> object:
        return self._steps.step(name, work, returns)

    def run(self, name: str, work: Callable[[], object]) -> object:
        return self._steps.run(name, lambda: self._watch.in_turn(self._mail_id, name, work))


class _WatchedPort:
    def __init__(self, watch: Watch, port: object) -> None:
        self._watch, self._port = watch, port

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if name in TABLES and not callable(method):  # `waits` has a method of this name
            return _WatchedPort(self._watch, method)
        if not name.startswith(WRITES):
            return method

        def counted(*args: object, **kwargs: object) -> object:
            result = method(*args, **kwargs)
            self._watch.wrote()
            return result

        return counted


class _WatchedDuty:
    """A duty of the round that looks after something."""

    def __init__(self, watch: Watch, name: str, duty: Reminders | WeeklyDigest) -> None:
        self._watch, self._name, self._duty = watch, name, duty

    def look_after(self) -> object:
        return self._watch.in_turn(self._watch.next_of(self._name), DUTY, self._duty.look_after)


class _WatchedSender:
    """The sender of the outbox, watched where the round sends what is due."""

    def __init__(self, watch: Watch, sender: OutboxSender) -> None:
        self._watch, self._sender = watch, sender

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sender, name)

    def deliver(self, record: OutboxRecord) -> object:
        return self._watch.in_turn(record.mail_id, DUE, self._sender.deliver, record)


class WordSearch:
    """`support_agent.tools.base.Search` by one word a topic."""

    version = "words-1"
    embedders: ClassVar[dict[str, Embedder]] = {}

    def nearest(self, text: str) -> tuple[Match, ...]:
        scored = [(NEAR if word in text.lower() else FAR, topic) for word, topic in TOPICS.items()]
        return tuple(
            Match(topic=topic, score=score, signals=Signals(likeness={name: {"head": score} for name in EMBEDDERS}))
            for score, topic in sorted(scored, reverse=True)
        )

    def read(self, pieces: Sequence[str]) -> tuple[SegmentReading, ...]:
        """By a few words; each piece is about a topic of its own."""
        return read_apart(pieces)

    def phrased(self, text: str, examples: Examples) -> Mapping[str, float]:
        """By character n-grams alone."""
        return phrased_by_letters(text, examples)

    def similarities(self, text: str, others: Sequence[str]) -> Sequence[float]:
        return [FAR for _ in others]

    def sections(self, text: str, document: Document) -> Sequence[float]:
        return nearest_sections(self, text, document)


class Undecided:
    """`support_agent.models.language_model.Model` to which all options are equal, so that the search decides."""

    name = "undecided"

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        return Scores(log_probabilities=tuple(0.0 for _ in options), usage=Usage(forward_passes=1))


class WatchedJourneys:
    """The engine's journeys; the process dies, where that is meant, between the record of a mail and its start."""

    def __init__(self, journeys: Journeys, watch: Watch) -> None:
        self._journeys, self._watch = journeys, watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journeys, name)

    def start(self, mail_id: str, thread: str) -> None:
        self._watch.die_at(mail_id, START)
        self._journeys.start(mail_id, thread)


class RefusingStages:
    """The stages, with a gate that refuses the mails that say so."""

    def __init__(self, stages: Stages) -> None:
        self._stages = stages

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stages, name)

    def answer(self, mail: RoutedMail, decision: Decision) -> Outcome:
        if REFUSED in mail.message.subject:
            raise GateRefused("a byte without a source")
        return self._stages.answer(mail, decision)


def clock_ahead(seconds: float) -> Callable[[], datetime]:
    """A clock that is so far ahead."""
    return lambda: datetime.now(UTC) + timedelta(seconds=seconds)


class Files(NamedTuple):
    """What all lives read alike."""

    company: Company
    templates: Templates

    @classmethod
    def read(cls, settings: CompanySettings) -> Files:
        """Read them, and what is first read for the first mail: what a fork has already costs a life nothing."""
        company = Company.load(settings)
        assert company.vocabulary
        return cls(company, Templates.load(settings.templates))


def live(
    settings: Settings, files: Files, trace: Trace, kills: Mapping[str, Kill], now: Callable[[], datetime]
) -> None:
    """One life of the agent: take up what is open, drain the mailbox, stop."""
    watch = Watch(trace, kills)
    with Store.open(settings.store.url, timeout_s=settings.store.timeout_s) as store:
        store.upgrade()
        decider = Decider(
            company=files.company,
            planner=Planner(Undecided(), settings.planner, time.monotonic, combiner=PLAIN),
            search=WordSearch(),
            templates=files.templates,
            settings=settings,
        )
        transport = watch.watched(SmtpTransport(settings.smtp))
        watched = watch.watched(store)
        wired = wire(settings, watched, transport, *files, lambda: decider, now)
        sender = cast(OutboxSender, _WatchedSender(watch, wired.stages.outbox_sender))
        wired = replace(
            wired,
            stages=replace(wired.stages, outbox_sender=sender),
            reminders=cast(Reminders, _WatchedDuty(watch, REMINDERS, wired.reminders)),
            digest=cast(WeeklyDigest, _WatchedDuty(watch, DIGEST, wired.digest)),
        )
        refusing = cast(Stages, RefusingStages(wired.stages))

        def journey(mail_id: str, steps: Steps) -> str:
            return handle(MailId(mail_id), watch.steps_of(mail_id, steps), refusing)

        name = executor_id(secrets.token_hex(4))
        engine = Engine(engine_url(settings.store.url), name, settings.engine)
        agent = Worker(
            settings=settings,
            store=store,
            wired=wired,
            engine=cast(Journeys, WatchedJourneys(engine.serve("", journey), watch)),
            open_mailbox=lambda: Mailbox(settings.imap),
            now=now,
        )
        keep_company(watched, files.company)
        agent.recover()
        engine.launch()
        agent.run_once(Event())
        engine.stop(timeout_s=1)


def deaths_until_done(
    settings: Settings, files: Files, trace: Trace, kills: Mapping[str, Kill], now: Callable[[], datetime]
) -> int:
    """Live again and again until a life comes to its end; how many were killed before that.

    Each life is a forked process of its own: libraries and files are loaded once, and no thread is there yet.
    """
    for deaths in range(len(kills) + 1):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                live(settings, files, trace, kills, now)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 0:
            return deaths
        if status != -signal.SIGKILL:
            raise SystemExit(f"a life ended with {status}")
    raise SystemExit("more deaths than kills")


def main() -> None:
    """`lives.py CONFIG TRACE`, configured by file and environment.

    Reads a JSON object a line, {"kills": {mail id: [step, writes]}, "ahead_s": seconds}, and writes the number of
    deaths a line.
    """
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    settings = load(Path(sys.argv[1]))
    files = Files.read(settings.company)
    trace = Trace(Path(sys.argv[2]))
    for line in sys.stdin:
        given = json.loads(line)
        kills = {mail_id: Kill(*kill) for mail_id, kill in given["kills"].items()}
        sys.stdout.write(f"{deaths_until_done(settings, files, trace, kills, clock_ahead(given['ahead_s']))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
