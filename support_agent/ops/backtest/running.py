"""Runs today's agent over past mails: `pipeline.handle` on a temporary store, each mail on its own day.

A result that the journal has is not made again. Checked by tests/unit/ops/backtest/test_running.py.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from support_agent.answer.templates import Templates
from support_agent.company.company import Company
from support_agent.company.documents import Document
from support_agent.company.languages import likely_languages
from support_agent.config.backtest import PROVEN_BY_MAIL
from support_agent.config.facts import Retrieve
from support_agent.config.settings import Settings
from support_agent.core.levels import CUSTOMER, PROVEN
from support_agent.errors import ConfigError
from support_agent.mail.message import Message
from support_agent.ops.backtest.contradictions import Numbered
from support_agent.ops.backtest.journal import Journal, Results
from support_agent.ops.backtest.judging import AnswerMatcher
from support_agent.ops.backtest.pairing import Pair, own_addresses, pairs_of
from support_agent.ops.backtest.results import ChoiceStatus, PastChoice, PastResult
from support_agent.ops.backtest.sources import PastMails
from support_agent.ops.dry_run import DryRun, DryRunResult
from support_agent.planner.choice import NONE_KEY
from support_agent.planner.plan import Call, Status
from support_agent.planner.plan_run import TOPIC_KINDS
from support_agent.tools.ending import Reason

STATUS: Mapping[Status, ChoiceStatus] = {"done": "sent", "below_threshold": "unsure"}
KEPT_CHARACTERS = 800
"""Of a question and of a person's answer, in the journal and the report."""
DECIDING = (
    "agent",
    "desk",
    "autonomy",
    "planner",
    "model",
    "embedding",
    "screening",
    "grading",
    "evidence",
    "facts",
    "search",
    "backtest",
)
"""The sections of the configuration that change results; `intentions` is about replies, and first mails are tried."""


class RunProgress(NamedTuple):
    """How far a run is: mails that are done, all of them, and the seconds that the rest will take, if that is known."""

    done: int
    total: int
    seconds_left: float | None


@dataclass(frozen=True)
class Bench:
    """Today's agent, and what compares its choices with people's answers.

    `level` is the assumed sender level; None: 2, and 3 for known customers, because old mail may lack what
    today's border server would prove; `PROVEN_BY_MAIL`: what each mail proves. `version` names everything that decides.
    """

    settings: Settings
    company: Company
    dry_run: DryRun
    matcher: AnswerMatcher
    numbered: Numbered
    version: str
    level: int | None = None

    def result(self, key: str, pair: Pair) -> PastResult:
        """Take one question through the journey, and judge the answer that a person gave."""
        mail, answer, waited = pair.question, pair.answer, pair.waited
        tried = self.dry_run.try_mail(mail.place, mail.raw, mail.at, as_level=self._level(mail.message))
        text = mail.message.visible_text
        said = "" if answer is None else _body(answer.message)
        return PastResult(
            key=key,
            place=mail.place,
            at=mail.at,
            language=next(iter(likely_languages(f"{mail.message.subject}\n{text}")), ""),
            subject=mail.message.subject[:KEPT_CHARACTERS],
            question=text[:KEPT_CHARACTERS],
            outcome=tried.line.outcome,
            reason=tried.line.reason,
            rule=tried.screening.rule,
            level=tried.line.level,
            choices=_choices(tried),
            answer=tried.line.answer,
            seconds=tried.line.seconds,
            is_answered=answer is not None,
            said=said[:KEPT_CHARACTERS],
            waited_s=None if waited is None else waited.total_seconds(),
            answered_with=self.matcher.documents_in(said),
            contradictions=self.numbered.against(said),
        )

    def _level(self, message: Message) -> int | None:
        if self.level is not None:
            return None if self.level == PROVEN_BY_MAIL else self.level
        sender = message.from_
        is_known = sender is not None and self.company.accounts.customer(sender.addr) is not None
        return CUSTOMER if is_known else PROVEN


@dataclass(frozen=True)
class Past:
    """What was read, how it was paired, and what came of each question, in the same order."""

    mails: PastMails
    pairs: Sequence[Pair]
    results: Sequence[PastResult]


class TodaysDocument(Document):
    """A document that counts as valid on every past day if it is valid today: it is today's agent that is tried."""

    is_valid: bool

    def is_valid_on(self, day: object) -> bool:
        """Whether the document is valid today."""
        return self.is_valid


def todays(company: Company, today: date) -> Company:
    """The company with documents that are valid on every day, or on none, as they are today."""

    def of(documents: Sequence[Document]) -> tuple[Document, ...]:
        return tuple(TodaysDocument(**dict(one), is_valid=one.is_valid_on(today)) for one in documents)

    return replace(company, documents=of(company.documents), translations=of(company.translations))


def model_free(settings: Settings) -> Settings:
    """The settings of an agent that asks no language model."""
    planner = settings.planner.model_copy(update={"model_votes": "never"})
    facts = settings.facts.model_copy(update={"retrieve": Retrieve.NEVER})
    return settings.model_copy(update={"planner": planner, "facts": facts})


def with_own(settings: Settings, own: Sequence[str]) -> Settings:
    """The settings with more addresses of ours, for a configuration that does not name them yet."""
    addresses = [one for one in (settings.agent.address, *own) if one and not one.startswith("@")]
    if not addresses:
        raise ConfigError("which mails are the company's own? Set agent.address, or name each address with --own")
    aliases = tuple(dict.fromkeys((*settings.agent.aliases, *addresses[1:])))
    agent = settings.agent.model_copy(update={"address": addresses[0], "aliases": aliases})
    return settings.model_copy(update={"agent": agent})


def past_of(
    mails: PastMails, own: Sequence[str], bench: Bench, work: Path, progress: Callable[[RunProgress], None]
) -> Past:
    """Pair the mails and decide the questions; what an earlier run left in the folder `work` is not decided again.

    Raises:
        ConfigError: there is no question of a customer, or the folder cannot be used.
    """
    settings = bench.settings
    within = timedelta(days=settings.backtest.same_subject_days)
    pairs = pairs_of(mails.mails, own_addresses(settings, own), within)
    if not pairs:
        raise ConfigError(f"{len(mails.mails)} mails, none of a customer: check agent.address and --own")
    with Journal(work, bench.version) as journal:
        return Past(mails, pairs, run(pairs, journal, bench, progress, time.monotonic))


def run(
    pairs: Sequence[Pair],
    journal: Results,
    bench: Bench,
    progress: Callable[[RunProgress], None],
    stopwatch: Callable[[], float],
) -> tuple[PastResult, ...]:
    """The results of all questions, in their order. Where the model failed the next run decides again.

    Args:
        progress: Called after each mail.
        stopwatch: Seconds, from any start.
    """
    keys = [key_of(pair) for pair in pairs]
    missing = sum(journal.get(key) is None for key in keys)
    made, started = 0, stopwatch()
    results = []
    for done, (key, pair) in enumerate(zip(keys, pairs, strict=True), start=1):
        result = journal.get(key)
        if result is None:
            result = bench.result(key, pair)
            made += 1
            if result.reason != Reason.MODEL_FAILED:
                journal.add(result)
        results.append(result)
        left = (stopwatch() - started) / made * (missing - made) if made else None
        progress(RunProgress(done, len(pairs), left))
    return tuple(results)


def key_of(pair: Pair) -> str:
    """The key of a question in the journal: it changes with the mail and with the person's answer."""
    answer = "" if pair.answer is None else pair.answer.message.raw_sha256
    return hashlib.sha256(f"{pair.question.message.raw_sha256} {answer}".encode()).hexdigest()


def version_of(settings: Settings, company: Company, templates: Templates, *more: object) -> str:
    """sha256, in hex, of everything that decides: program, settings, company, templates, calibration."""
    calibration = settings.planner.calibration
    parts = [
        version("support-agent"),
        *(f"{section} {name} {_named(value)}" for section in DECIDING for name, value in getattr(settings, section)),
        settings.company.model_dump_json(include={"name", "locale", "notice", "time_zone"}),
        company.version,
        templates.version,
        calibration.read_text("utf-8", "replace") if calibration.is_file() else "",
        *map(str, more),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _named(value: object) -> object:
    """A value without its folder, so that a workspace may be moved."""
    return value.name if isinstance(value, Path) else value


def _body(message: Message) -> str:
    return message.visible_text.removesuffix(message.signature).rstrip() if message.signature else message.visible_text


def _choices(tried: DryRunResult) -> tuple[PastChoice, ...]:
    """What was sent for each question, or the likeliest topic of one that went to a person."""
    calls = () if tried.decision is None else tried.decision.plan.calls
    found: list[PastChoice] = []
    for call in calls:
        choice = _choice(call)
        is_known = any(one.question == call.question for one in found)
        if choice is not None and choice not in found and not (is_known and choice.status == "stopped"):
            found.append(choice)
    return tuple(found)


def _choice(call: Call) -> PastChoice | None:
    """The choice behind a call; None: it is about no topic, or repeats one."""
    best = next((vote for vote in call.considered if vote.key != NONE_KEY and ":" in vote.key), None)
    if best is None:
        return None
    if call.tool in TOPIC_KINDS and call.status in STATUS:
        sure, status = call.confidence, STATUS[call.status]
    elif call.tool == "escalate":
        sure, status = best.probability, "stopped"
    else:
        return None
    return PastChoice(
        question=call.question, topic=best.key, confidence=min(1.0, sure), threshold=call.threshold, status=status
    )
