"""Made mails of machines and of people, as the fitted vote of `support_agent.mail.machines.machine_vote` reads them.

`development` is what it is fitted on, with the tuning mails and three made-up companies beside it; of `reported` only
the mails of `tests/mails/wording/reported` are read, and nothing is chosen on them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from support_agent.mail.message import parse
from support_agent.mail.text.quotation import split_quotation
from tests.wording import MAILS

COMPANIES = ("shop", "utility", "office")
MACHINES = ("absence", "machine")
PEOPLE = ("away_customer", "near_machine", "plain_customer", "closing", "not_closing", "quotation")
PLAIN = frozenset({"plain_customer", "not_closing", "quotation", "tuning", "qualifiers", *COMPANIES})
"""Ordinary mails of customers: the bound on false alarms is on these."""
FOLDS = 5
OF_A_LANGUAGE, SHORT, NEAR, NEAR_AWAY = 40, 10, 52, 6
"""How the mails of `machine` and `near_machine` are made: so many a language, in one order, partly translated."""


class MadeMail(NamedTuple):
    """`fold` is the same for a mail and its translations."""

    kind: str
    language: str
    subject: str
    text: str
    is_machine: bool
    fold: int


def made_mails(name: str) -> list[MadeMail]:
    """The mails of a set, "development" or "reported"."""
    mails = [mail for kind in (*MACHINES, *PEOPLE) for mail in _of_kind(name, kind)]
    return [*mails, *_others()] if name == "development" else mails


def _of_kind(name: str, kind: str) -> Iterator[MadeMail]:
    path = MAILS / name / f"{kind}.jsonl"
    for place, row in enumerate(_rows(path) if path.exists() else ()):
        shown = f"machine: {row['note']}" if kind == "machine" else kind
        group = f"{kind}{row.get('note', place) if kind == 'plain_customer' else _item(kind, place)}"
        yield _mail(shown, row, group, is_machine=row["expect"] == "machine")


def _item(kind: str, place: int) -> int:
    """The same for translations of one mail."""
    if kind == "machine":
        start = OF_A_LANGUAGE * 8
        return place % OF_A_LANGUAGE if place < start else OF_A_LANGUAGE + place % SHORT
    return NEAR + (place - NEAR) % NEAR_AWAY if kind == "near_machine" and place >= NEAR else place


def _others() -> Iterator[MadeMail]:
    """Mails to companies; a few of them are machines'."""
    tests = MAILS.parents[1]
    for company in COMPANIES:
        for row in _rows(tests / "companies" / company / "mails.jsonl"):
            is_machine = row["kind"] == "machine"
            yield _mail("machine: to companies" if is_machine else company, row, company + row["id"], is_machine)
    for row in _rows(tests / "mails" / "made" / "qualifiers_development.jsonl"):
        yield _mail("qualifiers", row, row["id"], is_machine=False)
    for row in _rows(tests / "mails" / "tuning" / "labels.jsonl"):
        message = parse((tests / "mails" / "tuning" / row["file"]).read_bytes())
        fold = zlib.crc32(row["file"].encode()) % FOLDS
        yield MadeMail("tuning", row["language"], message.subject, message.visible_text, False, fold)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _mail(kind: str, row: dict[str, Any], group: str, is_machine: bool) -> MadeMail:
    text = split_quotation(row["text"]).visible
    return MadeMail(kind, row["language"], row["subject"], text, is_machine, zlib.crc32(group.encode()) % FOLDS)
