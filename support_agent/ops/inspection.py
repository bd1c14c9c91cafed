"""Inspects a mail file: what the program reads from it without a model and a store.

Invariant: every file has an inspection, whatever it contains. One that cannot be read has an `error`, and the next file
is still read. Checked by tests/unit/ops/test_inspection.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from pydantic import Field

from support_agent.config.settings import Settings
from support_agent.core.frozen import Frozen
from support_agent.core.levels import UNKNOWN, Level
from support_agent.mail.machines.bounces import read_bounce
from support_agent.mail.machines.screening import Verdict, screen, why_machine
from support_agent.mail.message import Message, parse, read_file
from support_agent.mail.senders.dkim_check import TxtLookup, dkim_check
from support_agent.mail.senders.identity import identify

UNREAD_RULE = "S37"
"""The rule that escalates a mail that cannot be read."""


class InspectedAttachment(Frozen):
    name: str
    type: str
    bytes: int


class InspectedBounce(Frozen):
    recipients: tuple[str, ...]
    status: str
    permanent: bool


class InspectedScreening(Frozen):
    verdict: Verdict
    rule: str | None


class InspectedSender(Frozen):
    level: Level
    why: str


class Inspection(Frozen):
    """One line of `inspect --json`.

    `from` is the address of the From field, None unless it names exactly one; `date` is ISO 8601 in UTC; `automatic`
    says whether a machine wrote the mail; `error` says why the file could not be read.
    """

    file: str
    message_id: str = ""
    from_: str | None = Field(default=None, serialization_alias="from")
    to: tuple[str, ...] = ()
    subject: str = ""
    date: datetime | None = None
    text: str = ""
    visible_text: str = ""
    quoted_text: str = ""
    signature: str = ""
    attachments: tuple[InspectedAttachment, ...] = ()
    references: tuple[str, ...] = ()
    bounce: InspectedBounce | None = None
    automatic: bool = False
    screening: InspectedScreening = InspectedScreening(verdict=Verdict.DESK, rule=UNREAD_RULE)
    sender: InspectedSender = InspectedSender(level=UNKNOWN, why="the mail was not read")
    error: str | None = None


def inspect_file(
    path: Path,
    settings: Settings,
    is_customer: Callable[[str], bool],
    now: datetime,
    lookup_txt: TxtLookup,
) -> Inspection:
    """Read one file; its content never raises an error.

    Args:
        path: A mail as it came (.eml).
        settings: With our addresses, limits and border servers; the defaults have none.
        is_customer: Whether the company knows an address.
        now: Decides which signatures have expired.
        lookup_txt: Used if `agent.verify_dkim` is on.
    """
    name = os.fsencode(path).decode("utf-8", "replace")  # a file name may be no text, the JSON line must be
    try:
        raw = read_file(path, settings.imap.max_message_bytes)
        return _inspection(name, raw, settings, is_customer, now, lookup_txt)
    except OSError as error:
        return Inspection(file=name, error=f"{error.strerror or error}: name a readable file")
    except Exception as error:  # one bad mail must not stop the others
        return Inspection(file=name, error=f"{type(error).__name__}: {error}"[:500])


def _inspection(
    file: str,
    raw: bytes,
    settings: Settings,
    is_customer: Callable[[str], bool],
    now: datetime,
    lookup_txt: TxtLookup,
) -> Inspection:
    message, agent = parse(raw), settings.agent
    bounce = read_bounce(message, raw)
    screening = screen(message, agent, settings.desk, is_customer, senders=settings.senders)
    check = dkim_check(lambda: raw, agent, lambda: now, lookup_txt)
    sender = identify(message, agent, is_customer, check)
    seen = bounce and InspectedBounce(recipients=bounce.recipients, status=bounce.status, permanent=bounce.is_permanent)
    return Inspection(
        file=file,
        message_id=message.message_id,
        from_=message.from_.addr if message.from_ is not None else None,
        to=tuple(address.addr for address in message.to),
        subject=message.subject,
        date=message.sent_at,
        text=message.text,
        visible_text=message.visible_text,
        quoted_text=message.quoted_text,
        signature=message.signature,
        attachments=_attachments(message),
        references=message.references,
        bounce=seen,
        automatic=bounce is not None or why_machine(message, agent, settings.desk) != "",
        screening=InspectedScreening(verdict=screening.verdict, rule=screening.rule),
        sender=InspectedSender(level=sender.level, why=sender.why),
    )


def _attachments(message: Message) -> tuple[InspectedAttachment, ...]:
    return tuple(
        InspectedAttachment(name=found.name, type=found.content_type, bytes=found.size_bytes)
        for found in message.attachments
    )
