"""A whole support desk in a folder: the demo company's words and accounts, a real store, and fakes at both ends.

The model and the search know a few words (`TOPICS`) and are sure of themselves, so a test says with its mail what
will be chosen. The transport keeps what it is given and answers as it is told.
"""

from __future__ import annotations

import math
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import ClassVar, TypeVar

from pydantic import JsonValue, SecretStr

from support_agent.answer.templates import Templates
from support_agent.app.dry_runs import dry_run_of
from support_agent.app.wiring import wire
from support_agent.cases.copies import known_as
from support_agent.company.company import Company
from support_agent.company.documents import Document
from support_agent.config.agent import AgentSettings
from support_agent.config.autonomy import AutonomySettings
from support_agent.config.desk import DeskSettings
from support_agent.config.packaged_files import packaged
from support_agent.config.settings import CompanySettings, EngineSettings, PlannerSettings, Settings
from support_agent.config.watch import WatchSettings
from support_agent.core.cursor import Cursor
from support_agent.core.modes import Mode
from support_agent.demo import AUTHSERV_ID, SUPPORT_ADDRESS
from support_agent.demo.seed import seed
from support_agent.engine.steps import Steps, Work
from support_agent.mail.message import parse
from support_agent.mail.senders.dkim_check import TxtLookup
from support_agent.models.embedding.port import Embedder
from support_agent.models.language_model import Prompt, Scores, Usage
from support_agent.ops.dry_run import DryRun
from support_agent.pipeline import handle
from support_agent.planner.choice import NONE_TITLE
from support_agent.planner.loop import Planner
from support_agent.store.records import MailId, OutboxRecord, OutgoingKind
from support_agent.store.store import Store
from support_agent.tools.base import Examples, Match, SegmentReading
from support_agent.tools.fact_room import FactRooms
from support_agent.transport.submission import Delivery
from support_agent.workflow.decide import Decider
from support_agent.workflow.stages import Stages
from support_agent.workflow.versions import keep_company
from support_agent.workflow.wired import Wired
from tests.fakes import PLAIN
from tests.fakes_reading import nearest_sections, phrased_by_letters, read_by

T = TypeVar("T")
TODAY = date(2026, 11, 20)
NOON = datetime(2026, 11, 20, 12, 0, 0, 250_000, tzinfo=UTC)
DESK = "desk@harborfile.example"
ANNA = "anna.keller@example.net"
JAMES = "james.okafor@example.org"
CUSTOMERS = (
    "david.chen@example.net",
    "priya.nair@example.net",
    "noah.williams@example.net",
    "olivia.brown@example.org",
    "lucas.silva@example.org",
    "sophie.martin@example.org",
)
"""Others of the demo company's."""
STRANGER = "someone@elsewhere.example"
TOPICS = {
    "refund": ("document:1", "Refund policy"),
    "cancel": ("document:2", "Cancellation policy"),
    "password": ("document:6", "Password reset"),
    "seats": ("field:seats_paid", "Seats paid"),
    "pay": ("series:payments", "Payments"),
}
"""A word of a question, the topic it is about, and what the topic's title has in it."""


class SureModel:
    """`support_agent.models.language_model.Model`: prefers the option that a known word of the question names.

    Args:
        sureness: Probability of what it prefers; the others share the rest.
    """

    name = "sure"

    def __init__(self, sureness: float = 0.999) -> None:
        self.sureness = sureness

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        """Sure of the wanted option; nothing is wanted of an empty question, so all are alike."""
        question = prompt.parts[0][0].lower()
        text = "".join(part for part, _ in prompt.parts).lower()
        wanted = _wanted(question, text, options) if question else None
        rest = (1 - self.sureness) / (len(options) - 1)
        chances = [
            1 / len(options) if wanted is None else self.sureness if option == wanted else rest for option in options
        ]
        usage = Usage(prompt_tokens=len(text.split()), forward_passes=1)
        return Scores(log_probabilities=tuple(map(math.log, chances)), usage=usage)


def _wanted(question: str, text: str, options: Sequence[str]) -> str | None:
    titles = [title for word, (_, title) in TOPICS.items() if word in question]
    if tuple(options) == ("yes", "no"):
        asked = text.removeprefix(question)
        return "yes" if any(title.lower() in asked for title in titles) else "no"
    for option in options:
        if any(title.lower() in option.lower() for title in titles) or option == "the total":
            return option
    return NONE_TITLE if NONE_TITLE in options else None


class WordSearch:
    """`support_agent.tools.base.Search`: a topic is near where its word stands in the text."""

    version = "words-1"
    embedders: ClassVar[dict[str, Embedder]] = {}

    def nearest(self, text: str) -> tuple[Match, ...]:
        """All the topics, those whose word stands in the text first; one is half near to whatever is asked."""
        scored = [(0.95 if word in text.lower() else 0.05, topic) for word, (topic, _) in TOPICS.items()]
        scored.append((0.5, "document:15"))
        return tuple(Match(topic=topic, score=score) for score, topic in sorted(scored, reverse=True))

    def read(self, pieces: Sequence[str]) -> tuple[SegmentReading, ...]:
        """By a few words; near to the topics whose word stands in a piece."""
        return read_by(lambda piece: {match.topic: match.score for match in self.nearest(piece)})(pieces)

    def phrased(self, text: str, examples: Examples) -> Mapping[str, float]:
        """By character n-grams alone."""
        return phrased_by_letters(text, examples)

    def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        """The share of the text's words that each of the others has."""
        words = set(text.lower().split())
        return [len(words & set(other.lower().split())) / (len(words) or 1) for other in others]

    def sections(self, text: str, document: Document) -> list[float]:
        """By the sentences that share words with the text."""
        return nearest_sections(self, text, document)


class FakeTransport:
    """Keeps what it is given; each try has the next of `deliveries`, then every one is `sent`."""

    def __init__(self) -> None:
        self.given: list[tuple[str, bytes]] = []
        self.deliveries: list[Delivery] = []

    def deliver(self, raw: bytes, envelope_from: str, recipient: str, envelope_id: str = "") -> Delivery:
        """Take the mail."""
        self.given.append((recipient, raw))
        return self.deliveries.pop(0) if self.deliveries else Delivery(status="sent", detail="250 ok")

    def close_idle(self) -> None:
        """Nothing is open."""


class Clock:
    """Goes on by a second each time it is asked, so that no two runs of a stage have the same instant."""

    def __init__(self, start: datetime = NOON) -> None:
        self.instant = start

    def __call__(self) -> datetime:
        self.instant += timedelta(seconds=1)
        return self.instant


def once() -> Steps:
    """Each step runs once."""
    return Steps(lambda _name, work: work(), EngineSettings(), lambda _s: None)


def twice() -> Steps:
    """Each step runs twice, as after a process died between the work and its record."""

    def record(_name: str, work: Work) -> JsonValue:
        work()
        return work()

    return Steps(record, EngineSettings(), lambda _s: None)


def make_company(folder: Path) -> CompanySettings:
    """The demo company's files in a folder: documents, templates, accounts with a database seeded on `TODAY`."""
    shutil.copytree(packaged("policies"), folder / "policies")
    shutil.copytree(packaged("templates"), folder / "templates")
    with as_file(files("support_agent.demo") / "accounts.toml") as source:
        shutil.copy(source, folder / "accounts.toml")
    seed(folder / "harborfile.sqlite3", TODAY)
    return CompanySettings(
        name="Harborfile",
        policies=folder / "policies",
        templates=folder / "templates",
        accounts=folder / "accounts.toml",
    )


@dataclass
class Office:
    """One agent at work; `receive` puts a mail in, `handle` takes it through the whole journey."""

    settings: Settings
    store: Store
    decider: Decider
    transport: FakeTransport = field(default_factory=FakeTransport)
    clock: Callable[[], datetime] = field(default_factory=Clock)
    received: int = 0
    random: Callable[[], float] = lambda: 0.0
    lookup_txt: TxtLookup | None = None

    @property
    def stages(self) -> Stages:
        return self.wired.stages

    @property
    def wired(self) -> Wired:
        return wire(
            self.settings,
            self.store,
            self.transport,
            self.decider.company,
            self.decider.templates,
            lambda: self.decider,
            self.clock,
            self.random,
            self.lookup_txt,
        )

    @property
    def dry_run(self) -> DryRun:
        """What `try` and `replay --plan` run mails through."""
        company, templates = self.decider.company, self.decider.templates
        return dry_run_of(self.settings, company, templates, lambda: self.decider, self.lookup_txt)

    def keep_company(self) -> None:
        """Keep the company's words in the store."""
        keep_company(self.store, self.decider.company)

    def receive(self, raw: bytes) -> MailId:
        """Record a mail as the agent's loop does."""
        self.received += 1
        cursor = Cursor(folder="INBOX", uid_validity=1, last_uid=self.received)
        return self.store.mails.record(raw, known_as(parse(raw)), cursor, self.clock()).id

    def handle(self, raw: bytes, steps: Steps | None = None) -> tuple[MailId, str]:
        """Record a mail and take it to its end; its id and what became of it."""
        mail_id = self.receive(raw)
        return mail_id, handle(mail_id, steps or once(), self.stages)

    def sent(self, mail_id: MailId) -> dict[OutgoingKind, OutboxRecord]:
        """The outbox of one mail, by kind."""
        return {row.kind: row for row in self.store.outbox.find(mail_id=mail_id)}

    def with_templates(self, **texts: str) -> Office:
        """The same office with other English text templates: `answer="..."` is `en/answer.txt.j2`."""
        changed = {f"en/{name}.txt.j2": text for name, text in texts.items()}
        templates = Templates.from_files(self.decider.templates.as_files() | changed)
        return replace(self, decider=replace(self.decider, templates=templates))

    def with_rooms(self, rooms: FactRooms) -> Office:
        """The same office with the fact room on, which looks when the configuration that ships says so."""
        return replace(self, decider=replace(self.decider, rooms=rooms))

    def with_model(self, sureness: float, threshold: float | None = None) -> Office:
        """The same office with a model that is as sure as this; `threshold`: how sure an answer must be."""
        limits = self.settings.planner
        if threshold is not None:
            limits = limits.model_copy(update={"threshold_answer": threshold})
        planner = Planner(SureModel(sureness), limits, lambda: 0.0, combiner=PLAIN)
        return replace(self, decider=replace(self.decider, planner=planner))


@contextmanager
def office_in(folder: Path, company: CompanySettings, empty_store: Path) -> Iterator[Office]:
    """An office of that company on a copy of this store in this folder, closed at the end."""
    url = f"sqlite:///{shutil.copy(company_store(company, empty_store), folder / 'store.sqlite3')}"
    with Store.open(url) as store:
        opened = open_office(company, store)
        yield opened
        opened.decider.company.accounts.close()


@cache
def loaded(company: CompanySettings) -> tuple[Company, Templates]:
    """Read once for all tests with the same files: reading them takes longer than most tests."""
    return Company.load(company), Templates.load(company.templates)


@cache
def company_store(company: CompanySettings, empty_store: Path) -> Path:
    """A copy of the store that keeps the company's words already, made once for all tests with the same files."""
    path = company.policies.parent / "with-company.sqlite3"
    with Store.open(f"sqlite:///{shutil.copy(empty_store, path)}") as store:
        office = open_office(company, store)
        office.keep_company()
        office.decider.company.accounts.close()
    return path


def open_office(company: CompanySettings, store: Store) -> Office:
    """An office of that company on a store; its words are kept there with `office.keep_company()`."""
    files, templates = loaded(company)
    settings = Settings(
        company=company,
        agent=AgentSettings(
            address=SUPPORT_ADDRESS,
            name="Harborfile Support",
            authserv_ids=(AUTHSERV_ID,),
            secret=SecretStr("0123456789abcdef0123456789abcdef"),
            pause_file=company.policies.parent / "paused",
        ),
        desk=DeskSettings(address=DESK),
        autonomy=AutonomySettings(start=Mode.AUTO),
        watch=WatchSettings(alarm_every_h=0),  # a test about alarms turns them on
        planner=PlannerSettings(model_votes="always"),
    )
    decider = Decider(
        company=files,
        planner=Planner(SureModel(), settings.planner, lambda: 0.0, combiner=PLAIN),
        search=WordSearch(),
        templates=templates,
        settings=settings,
    )
    return Office(settings=settings, store=store, decider=decider)


def with_agent(office: Office, **values: object) -> Office:
    """The same office with other values of `agent` in its settings, checked as those of a file."""
    agent = AgentSettings.model_validate({**dict(office.settings.agent), **values})
    settings = office.settings.model_copy(update={"agent": agent})
    return replace(office, settings=settings, decider=replace(office.decider, settings=settings))


def with_autonomy(office: Office, **values: object) -> Office:
    """The same office with other values of `autonomy` in its settings, checked as those of a file."""
    autonomy = AutonomySettings.model_validate({**dict(office.settings.autonomy), **values})
    settings = office.settings.model_copy(update={"autonomy": autonomy})
    return replace(office, settings=settings, decider=replace(office.decider, settings=settings))


def write(
    text: str,
    *,
    sender: str = ANNA,
    subject: str = "A question",
    proof: str | None = "dmarc",
    in_reply_to: str | None = None,
    number: int = 1,
) -> bytes:
    """A mail to the company.

    Args:
        proof: What our own border server says passed: "dmarc" (level 2 or 3), "spf" (level 1), None (level 0).
        number: Tells mails apart that say the same.
    """
    domain = sender.rpartition("@")[2]
    results = {
        "dmarc": f"dmarc=pass header.from={domain}",
        "spf": "spf=pass smtp.mailfrom=bounces.mailer.example",
    }
    lines = [
        f"Return-Path: <{sender}>",
        *([f"Authentication-Results: {AUTHSERV_ID}; {results[proof]}"] if proof else []),
        f"Message-ID: <{number}.{zlib.crc32((sender + text).encode())}@{domain}>",
        "Date: Fri, 20 Nov 2026 12:00:00 +0000",
        f"From: <{sender}>",
        f"To: {SUPPORT_ADDRESS}",
        f"Subject: {subject}",
        *([f"In-Reply-To: {in_reply_to}"] if in_reply_to else []),
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: 8bit",
        "",
        text,
        "",
    ]
    return "\r\n".join(lines).encode()
