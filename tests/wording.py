"""Made mails told apart by their words alone: `tests/mails/wording`, and how the rules of screening read them.

`development` may be read and rules be written for it; `reported` is only measured, and nothing is chosen on it. Both
were written without sight of the rules. What the kinds mean stands in tests/mails/README.md.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from support_agent.mail.machines.automatic_wording import why_automatic
from support_agent.mail.text.closing import why_closing
from support_agent.mail.text.quotation import split_quotation

MAILS = Path(__file__).parent / "mails" / "wording"
KINDS = (
    "absence", "machine", "away_customer", "near_machine", "plain_customer", "closing", "not_closing", "quotation",
    "near_quotation",
)  # fmt: skip


class Tally(NamedTuple):
    """Of the mails of a kind, how many are read as `what` says, by language: (so many, of so many)."""

    kind: str
    what: str
    languages: dict[str, tuple[int, int]]

    @property
    def found(self) -> int:
        return sum(found for found, _ in self.languages.values())

    @property
    def tried(self) -> int:
        return sum(tried for _, tried in self.languages.values())


def tallies(name: str) -> tuple[Tally, ...]:
    """How the mails of a set are read, "development" or "reported"."""
    tried: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    found: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for path in sorted((MAILS / name).glob("*.jsonl")):
        for row in map(json.loads, path.read_text("utf-8").splitlines()):
            kind = path.stem
            if kind == "quotation":
                is_near = "near" in f"{row['id']} {row.get('note', '')}".lower()
                kind, is_found = "near_quotation" if is_near else kind, _is_split_so(row)
            else:
                is_found = _is_for_a_person(row)
            tried[kind][row["language"]] += 1
            found[kind][row["language"]] += is_found
    return tuple(
        Tally(kind, _what(kind), {language: (found[kind][language], count) for language, count in tried[kind].items()})
        for kind in KINDS
        if tried[kind]
    )


def _what(kind: str) -> str:
    return "with the sender's words alone" if "quotation" in kind else "sent to a person"


def _is_for_a_person(row: dict[str, str]) -> bool:
    subject, text = row["subject"], row["text"]
    return bool(why_automatic(subject, text) or why_closing(subject, text))


def _is_split_so(row: dict[str, str]) -> bool:
    return _words(split_quotation(row["text"]).visible) == _words(row["visible"])


def _words(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
