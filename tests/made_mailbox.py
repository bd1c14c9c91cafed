"""A made mailbox: labelled questions to the demo company, and the answers that its people gave, as an mbox.

The questions are those of `tests/mails` that may be read. The people's answers are of `tests/mails/backtest`, written
without copying the documents; a few are whole sentences of a document. Questions of `uncovered.jsonl` are about topics
that no document has, so a cluster finder must find them again.
"""

from __future__ import annotations

import json
import mailbox
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from support_agent.mail.message import parse
from tests.labelled import MAILS, labels

OWN = "support@harborfile.example"
STAFF = "tom.meyer@harborfile.example"
LAST_DAY = datetime(2026, 11, 16, 9, tzinfo=UTC)
DAYS = 182
ANSWERED, THREADED = 0.92, 0.85
"""Shares of the questions with an answer, and of the answers with an In-Reply-To field."""
FILES = MAILS / "backtest"


class Question(NamedTuple):
    """One customer's mail; `expected` are the acceptable outcomes of each question, `cluster` a topic without one."""

    subject: str
    text: str
    language: str
    expected: tuple[tuple[str, ...], ...]
    cluster: str = ""
    address: str = ""


class Made(NamedTuple):
    """One thread in the mailbox: the Message-ID of its question, when it was sent, and its raw mails."""

    message_id: str
    question: Question
    sent_at: datetime
    raws: tuple[bytes, ...]


def rows(path: Path) -> list[dict[str, Any]]:
    """The lines of a JSONL file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def questions() -> Iterator[Question]:
    """Every labelled question, then those of the planted clusters."""
    for label in labels("tuning"):
        message = parse(label.path.read_bytes())
        yield Question(message.subject, message.visible_text, label.language, label.expected)
    for row in rows(MAILS / "questions.jsonl"):
        kind, _, name = row["topic"].partition(":")
        outcome = {"document": "send_document", "field": "send_account_field", "series": "send_table"}[kind]
        yield Question("Question", row["question"], "en", ((f"{outcome}({name})",),))
    for name in ("qualifiers_development", "qualifiers_development_2"):
        for row in rows(MAILS / "made" / f"{name}.jsonl"):
            yield Question(row["subject"], row["text"], row["language"], tuple(map(tuple, row["expected"])))
    for row in rows(FILES / "uncovered.jsonl"):
        yield Question(row["subject"], row["text"], row["language"], (("escalate",),), row["cluster"])


def threads(seed: int = 1, most: int | None = None) -> list[Made]:
    """Each question with its answer, spread over half a year, the oldest first."""
    random = Random(seed)
    asked = list(questions())
    random.shuffle(asked)
    asked = asked[:most]
    step = timedelta(days=DAYS) / max(1, len(asked))
    first = LAST_DAY - timedelta(days=DAYS)
    return [_thread(number, one, first + number * step, random) for number, one in enumerate(asked)]


def _thread(number: int, question: Question, sent_at: datetime, random: Random) -> Made:
    message_id = f"<q{number}@mails.example>"
    sender = question.address or f"customer{number}@example.net"
    raws = [_mail(sender, OWN, question.subject, question.text, sent_at, message_id)]
    if random.random() < ANSWERED:
        at = sent_at + timedelta(minutes=random.randint(30, 3 * 24 * 60))
        parent = message_id if random.random() < THREADED else None
        text = f"Hello,\n\n{answer_to(question, random)}\n\nKind regards\nTom Meyer\nHarborfile Support\n"
        quoted = "".join(f"> {line}\n" for line in question.text.splitlines())
        text = f"{text}\nOn {sent_at:%d %B %Y at %H:%M} {sender} wrote:\n\n{quoted}"
        raws.append(_mail(OWN, sender, f"Re: {question.subject}", text, at, f"<a{number}@harborfile.example>", parent))
    return Made(message_id, question, sent_at, tuple(raws))


def answer_to(question: Question, random: Random) -> str:
    """What a person wrote: from the documents, about the cluster, a value, or in own words."""
    parts = [_answer_to_one(question, outcomes, random) for outcomes in question.expected]
    return "\n\n".join(parts)


def _answer_to_one(question: Question, outcomes: Sequence[str], random: Random) -> str:
    numbers = [int(outcome[14:-1]) for outcome in outcomes if outcome.startswith("send_document(")]
    if numbers:
        replies = [row["text"] for row in rows(FILES / "replies.jsonl") if row["document"] == numbers[0]]
        return str(random.choice(replies))
    if question.cluster:
        replies = [row["text"] for row in rows(FILES / "cluster_answers.jsonl") if row["cluster"] == question.cluster]
        return str(random.choice(replies))
    if set(outcomes) - {"escalate", "ask_clarification"}:
        return f"I looked it up for you: the figure is {random.randint(3, 900)}."
    return str(random.choice([row["text"] for row in rows(FILES / "own_words.jsonl")]))


def _mail(
    sender: str, to: str, subject: str, text: str, at: datetime, message_id: str, parent: str | None = None
) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, to, subject
    message["Date"], message["Message-ID"] = format_datetime(at), message_id
    if parent is not None:
        message["In-Reply-To"] = message["References"] = parent
    message.set_content(text)
    return message.as_bytes()


def write_mbox(path: Path, raws: Sequence[bytes]) -> Path:
    """A new mbox with these mails."""
    box = mailbox.mbox(path, create=True)
    for raw in raws:
        box.add(raw)
    box.close()
    return path
