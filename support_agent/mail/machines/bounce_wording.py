"""Read addresses, delays and status codes from the words of a bounce that has no RFC 3464 report.

Invariant: no rule is about one server's software, and each reads a text of bounded length, so the time is bounded.
Checked by tests/unit/mail/machines/test_bounce_wording.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from support_agent.mail.machines.bounce_words import (
    CONDITION,
    DELAY_WORDS,
    FAILED_WORDS,
    FINAL_WORDS,
    RETURNED,
    STATUS_WORDS,
)
from support_agent.mail.machines.delivery_status import ADDRESS_IN_TEXT, STATUS_CODE, usable_address

MAX_NOTICE_CHARACTERS = 20_000
MAX_NOTICE_LINES = 300
MAX_LINE_CHARACTERS = 500
SOMEBODY = "somebody"
"""Replaces each address before a search for words, so that no dot or name in it can match."""

ADDRESS_LINE = re.compile(rf"^[ \t]{{0,20}}<?{ADDRESS_IN_TEXT.pattern}>?[ \t]{{0,9}}:?[ \t]{{0,9}}$", re.MULTILINE)
"""A line that is an address and nothing else: servers list failed recipients like that."""


class BounceText(NamedTuple):
    """A bounce's own text, and the returned mail below it; `has_original` is False where no mail is returned."""

    text: str
    original: str
    has_original: bool


def read_notice(text: str) -> BounceText:
    """Split the text of a bounce where the returned mail begins."""
    lines = text[:MAX_NOTICE_CHARACTERS].splitlines()
    for at, line in enumerate(lines):
        if at and RETURNED.search(line[:MAX_LINE_CHARACTERS]):
            return BounceText("\n".join(lines[:at][:MAX_NOTICE_LINES]), "\n".join(lines[at:]), True)
    return BounceText("\n".join(lines[:MAX_NOTICE_LINES]), "", False)


def reports_failure(notice: str) -> bool:
    """Whether a notice says that a mail failed or is delayed; a sentence may run over several lines."""
    return FAILED_WORDS.search(_without_addresses(notice)) is not None


def is_delay(subject: str, notice: str) -> bool:
    """Whether the mail is only delayed: the server keeps trying.

    If the subject says so, that decides. In the notice conditions are left out, because they describe what will happen
    if the server gives up later.
    """
    if DELAY_WORDS.search(_without_addresses(subject)):
        return True
    stated = CONDITION.sub("", _without_addresses(notice))
    return DELAY_WORDS.search(stated) is not None and FINAL_WORDS.search(stated) is None


def status_in(notice: str, is_permanent: bool) -> str:
    """The status code that a notice contains, else the one that its wording means, else ""."""
    digit = "5" if is_permanent else "4"
    codes = [match[0] for match in STATUS_CODE.finditer(notice) if match[1] != "2"]
    if same := [code for code in codes if code[0] == digit] or codes:
        return next((code for code in same if not code.endswith(".0.0")), same[0])
    plain = _without_addresses(notice)
    return next((f"{digit}.{detail}" for detail, wording in STATUS_WORDS.items() if wording.search(plain)), "")


def named_addresses(notice: str, others: Collection[str]) -> tuple[str, ...]:
    """The addresses in a notice, whether they failed or not: without a report nothing says which ones did.

    Args:
        notice: The text before the returned mail.
        others: Addresses that did not fail: the bounce's own sender and recipients.
    """
    found = dict.fromkeys(map(usable_address, ADDRESS_IN_TEXT.findall(notice)))
    return tuple(address for address in found if _may_have_failed(address, others))


def _may_have_failed(address: str, others: Collection[str]) -> bool:
    local, _, domain = address.partition("@")
    return "." in domain and address not in others and not re.search(r"^(postmaster|mailer-?daemon|abuse)", local)


def _without_addresses(text: str) -> str:
    """A text on one line, with `SOMEBODY` for each address."""
    joined = " ".join(text[:MAX_NOTICE_CHARACTERS].split())
    return ADDRESS_IN_TEXT.sub(SOMEBODY, joined) if "@" in joined else joined
