"""The companies that choices are fitted to and measured on: the demo, and made-up ones of other trades.

`tests/companies/NAME` has a company's documents, accounts, the SQL of its database, and `mails.jsonl`: mails in eight
languages with what is right for each question.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from shutil import copytree
from typing import NamedTuple

from support_agent.app.dry_runs import dry_run_of
from support_agent.company.company import Company
from support_agent.config.loading import load
from support_agent.config.settings import Settings
from support_agent.core.frozen import Frozen
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.facts.opening import open_search
from support_agent.facts.search import CompanySearch
from support_agent.mail.message import parse
from support_agent.ops.dry_run import DryRun
from support_agent.ops.evals.mail_labels import ASKED_BACK, ESCALATED, Sections, topic_of
from support_agent.planner.choice import NONE_KEY
from support_agent.planner.questions import questions_of
from support_agent.planner.segments import Read
from support_agent.workflow.decide import Decider
from tests.labelled import MAILS, labels

COMPANIES = Path(__file__).parents[1] / "companies"
FITTED = ("shop", "utility", "office", "mobile", "rentals", "ledger", "gym")
"""The made-up companies that weights are fitted to, beside the demo; the others are only reported."""
WITH_PAPERS = ("shop", "utility", "office")
"""Those of them that have notes and process questions for the benchmarks of papers."""
TODAY = datetime(2026, 11, 16, 12, tzinfo=UTC)
QUESTIONS = MAILS / "questions.jsonl"
REFUSED_KINDS = ("field", "series", "record", "qualifier")
"""Kinds of mails that are about a topic even where a person must answer."""


class Asked(NamedTuple):
    """A question and every topic that answers it, `none` among them where a person may."""

    question: str
    topics: tuple[str, ...]
    language: str


class Mail(Frozen):
    """One line of `mails.jsonl`."""

    id: str
    language: str
    address: str
    level: int
    kind: str
    subject: str
    text: str
    expected: tuple[tuple[str, ...], ...]
    sections: tuple[dict[int, Sections], ...] = ()
    note: str = ""


def dry_run_by(decider: Decider) -> DryRun:
    """The journey on temporary stores, decided by this one."""
    return dry_run_of(decider.settings, decider.company, decider.templates, lambda: decider)


@contextmanager
def demo_settings() -> Iterator[Settings]:
    """The settings of a fresh workspace."""
    with tempfile.TemporaryDirectory() as folder:
        init(Path(folder) / "workspace", TODAY.date())
        yield load(Path(folder) / "workspace" / CONFIG_FILE)


@contextmanager
def open_company(name: str, settings: Settings) -> Iterator[Company]:
    """A company's words and values; `demo` is that of the settings."""
    with tempfile.TemporaryDirectory() as folder:
        company = Company.load(company_settings(name, settings, Path(folder)).company)
        try:
            yield company
        finally:
            company.accounts.close()


def company_settings(name: str, settings: Settings, folder: Path) -> Settings:
    """The settings with another company's documents and accounts, its database made in `folder`."""
    if name == "demo":
        return settings
    copytree(COMPANIES / name, folder, dirs_exist_ok=True)
    with sqlite3.connect(folder / "company.sqlite3") as database:
        database.executescript((folder / "seed.sql").read_text(encoding="utf-8"))
    database.close()
    changed = {"policies": folder / "policies", "accounts": folder / "accounts.toml"}
    return settings.model_copy(update={"company": settings.company.model_copy(update=changed)})


def search_of(name: str, settings: Settings) -> CompanySearch:
    """The search over the topics of the company that the mails of a set are to."""
    with open_company(name if (COMPANIES / name).is_dir() else "demo", settings) as company:
        return open_search(settings, company, in_memory=True)


def mails_of(name: str) -> list[Mail]:
    """The mails of a made-up company."""
    return read_mails(COMPANIES / name / "mails.jsonl")


def read_mails(path: Path) -> list[Mail]:
    """Labelled mails, one JSON object a line."""
    return [Mail.model_validate(json.loads(row)) for row in path.read_text(encoding="utf-8").splitlines()]


def company_questions(name: str, read: Read) -> list[Asked]:
    """The questions of a made-up company's mails, where the mail has one; machines ask none."""
    found = []
    for mail in mails_of(name):
        if mail.kind != "machine" and len(mail.expected) == 1 and not is_refused(mail):
            whole = " ".join(questions_of(mail.subject, mail.text, read))
            found.append(Asked(question=whole, topics=topics_in(mail.expected[0]), language=mail.language))
    return found


def is_refused(mail: Mail) -> bool:
    """Whether the mail is about a topic, yet a check after the choice hands it over: no such record, or a mistyped one.

    Its label does not say which topic, so such a mail teaches the choice nothing: taken for `none`, it taught that a
    sure and right choice is wrong.
    """
    return mail.kind in REFUSED_KINDS and set(mail.expected[0]) <= {ESCALATED, ASKED_BACK}


def topics_in(outcomes: Sequence[str]) -> tuple[str, ...]:
    """The topics that acceptable outcomes are about."""
    return tuple(sorted({topic_of(outcome) or NONE_KEY for outcome in outcomes}))


def demo_questions(read: Read) -> list[Asked]:
    """The questions of the tuning mails, where they are as many as the label's or the label has one, and others."""
    found = []
    for label in labels("tuning"):
        message = parse(label.path.read_bytes())
        questions = questions_of(message.subject, message.visible_text, read)
        if len(label.expected) == 1:
            questions = (" ".join(questions),)
        if len(questions) == len(label.expected):
            for question, outcomes in zip(questions, label.expected, strict=True):
                found.append(Asked(question=question, topics=topics_in(outcomes), language=label.language))
    rows = map(json.loads, QUESTIONS.read_text(encoding="utf-8").splitlines())
    return [*found, *(Asked(question=row["question"], topics=(row["topic"],), language="en") for row in rows)]
