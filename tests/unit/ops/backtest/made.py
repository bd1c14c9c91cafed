"""Small parts for the tests of backtests: mails, documents, results, and an embedder that counts common words."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from typing import Any, cast

import numpy as np

from support_agent.company.documents import Document, parse_document
from support_agent.mail.message import parse
from support_agent.models.embedding.port import Role, Vectors
from support_agent.ops.backtest.meaning import Meaning
from support_agent.ops.backtest.results import PastChoice, PastResult
from support_agent.ops.backtest.sources import PastMail
from support_agent.ops.dry_run import DryRunAnswer

OWN = "support@harborfile.example"
ANNA = "anna.keller@example.net"
START = datetime(2026, 11, 2, 9, tzinfo=UTC)
HEAD = """---
number: {number}
title: {title}
summary: What it says.
url: https://harborfile.example/help/{number}
delivery: full
valid_from: 2026-01-01
audience: everyone
---
"""


class Words:
    """Texts with the same words are alike, whatever their order."""

    name, dimensions = "common words", 2**11

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        rows = np.full((len(texts), self.dimensions), 1e-6, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+|#", text.lower()):
                row[zlib.crc32(word.encode()) % self.dimensions] = 1.0
        return cast(Vectors, rows / np.linalg.norm(rows, axis=1, keepdims=True))


MEANING = Meaning({"words": Words()}, lambda texts: [len(text.split()) for text in texts])


def document(number: int, text: str, title: str = "A title") -> Document:
    head = HEAD.format(number=number, title=title)
    return parse_document(Path(f"{number:03d}-made.md"), f"{head}# {title}\n\n{text}\n".encode())


def raw(
    number: int,
    text: str = "Can I get a refund?",
    *,
    sender: str = ANNA,
    to: str = OWN,
    subject: str = "A question",
    hours: float = 0,
    parent: int | None = None,
    **fields: str,
) -> bytes:
    """A mail; `hours` after the start, in reply to the mail with the number `parent`."""
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, to, subject
    mail["Date"], mail["Message-ID"] = format_datetime(START + timedelta(hours=hours)), f"<{number}@made.example>"
    if parent is not None:
        mail["In-Reply-To"] = f"<{parent}@made.example>"
    for name, value in fields.items():
        mail[name.replace("_", "-")] = value
    mail.set_content(text)
    return mail.as_bytes()


def past_mail(content: bytes) -> PastMail:
    message = parse(content)
    return PastMail("made", content, message, message.sent_at or START)


def choice(topic: str = "document:1", confidence: float = 0.9, status: str = "sent", question: int = 1) -> PastChoice:
    return PastChoice.model_validate(
        {"question": question, "topic": topic, "confidence": confidence, "threshold": 0.6, "status": status}
    )


def result(number: int, *choices: PastChoice, **changes: Any) -> PastResult:
    """A question of the start, answered with the choices that were sent, or else left to a person."""
    is_sent = any(one.status == "sent" for one in choices)
    values: dict[str, Any] = {
        "key": str(number),
        "place": f"made:{number}",
        "at": START + timedelta(hours=number),
        "language": "en",
        "subject": "A question",
        "question": "Can I get a refund?",
        "outcome": "answer" if is_sent else "escalate",
        "reason": None if is_sent else "not_covered",
        "rule": None,
        "level": 2,
        "choices": choices,
        "answer": DryRunAnswer(subject="Re: A question", text="Hello", html="<p>Hello</p>") if is_sent else None,
        "seconds": 1.0,
        "is_answered": True,
        "said": "",
        "waited_s": 3600.0,
        "answered_with": (),
        "contradictions": (),
    }
    return PastResult(**{**values, **changes})
