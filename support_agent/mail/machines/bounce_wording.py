# ruff: noqa: RUF001 - words in Cyrillic and other letters
"""Read failed recipients, delays and status codes from the words of a bounce that has no RFC 3464 report.

Invariant: no rule is about one server's software, and each reads a bounded notice line by line, so the time is linear.
Checked by tests/unit/mail/machines/test_bounce_wording.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from support_agent.mail.machines.bounce_words import (
    CONDITION,
    DELAY_WORDS,
    FAILED_WORDS,
    FINAL_WORDS,
    OTHERS_LINE,
    RETURNED,
    STATUS_WORDS,
)
from support_agent.mail.machines.delivery_status import ADDRESS_IN_TEXT, STATUS_CODE, usable_address

MAX_NOTICE_CHARACTERS = 20_000
MAX_NOTICE_LINES = 300
MAX_LINE_CHARACTERS = 500
SOMEBODY = "somebody"
"""Replaces each address before a search for words, so that no dot or name in it can match."""

TO_LINE = re.compile(r"^\s*(to|an|para|à|a|do|til|кому|宛先|收件人|받는 사람)\s*[:：]", re.IGNORECASE)
COMMAND = re.compile(rf"\brcpt to:\s*<?\s*({ADDRESS_IN_TEXT.pattern})", re.IGNORECASE)
ALONE = re.compile(
    r"^[\s>*•·#|+\-]*(?:\d{1,3}[.)]\s+)?(?:(?:\"[^\"]{0,100}\"|'[^']{0,100}'|[\w ,.&-]{1,60}(?=[<\[(]))\s*)?"
    rf"[<\[({{\"']*(?:(?:smtp|mailto|rfc822)\s*[:;]\s*)?({ADDRESS_IN_TEXT.pattern})[>\])}}\"']*"
    r"\s*(?:$|[:;,.(\[<#]|[-\u2013\u2014=]|\.{3}|on\s|\d{3}\s|\*|\t|(?:is|was|has|could|does|cannot|failed|not"
    r"|unknown|user|mailbox)\b)",
    re.IGNORECASE,
)
"""A line that begins with an address, as in lists of failed recipients."""
ADDRESS_LINE = re.compile(rf"^[ \t]{{0,20}}<?{ADDRESS_IN_TEXT.pattern}>?[ \t]{{0,9}}:?[ \t]{{0,9}}$", re.MULTILINE)
"""A line that is an address and nothing else: servers list failed recipients like that."""
LABELLED = re.compile(
    r"\b(?:(?:failed|intended|invalid|undeliverable|bad|original|unknown|rejected|final)[ -]+)?"
    r"(?:recipients?|address(?:ee|es)?|users?|mailbox|account|destinatari[oa]s?|destinataires?|empf[äa]nger"
    r"|получател\w+|e-?mail)"
    rf"(?:\(e?s\))?(?: address| name)?[\s:=<\[(\"'«„]+(?:smtp:|mailto:)?\s*({ADDRESS_IN_TEXT.pattern})",
    re.IGNORECASE,
)
FORMERLY = re.compile(
    rf"\b(?:expanded|(?:ultimately )?generated|forwarded) from:?\s*<?({ADDRESS_IN_TEXT.pattern})", re.IGNORECASE
)
"""The address that the sender used, where the failed one came from forwarding or expanding it."""
FROM_WHOM = re.compile(rf"\b(?:from|by|via):?\s+[<\[(\"']*{ADDRESS_IN_TEXT.pattern}", re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<=[.!?])\s")


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


def failed_addresses(notice: str, others: Collection[str]) -> tuple[str, ...]:
    """The failed addresses, from the most reliable kind of line that the notice has.

    Args:
        notice: The text before the returned mail.
        others: Addresses that did not fail: the bounce's own sender and recipients.
    """
    whole = [line[:MAX_LINE_CHARACTERS] for line in notice.splitlines()]
    lines = [FROM_WHOM.sub(" ", line) for line in whole]
    formerly = {usable_address(text) for line in whole for text in FORMERLY.findall(line)}
    formerly = {address for address in formerly if _is_recipient(address, others)}
    for finder in (_commanded, _listed, _in_sentences, _addressed, _only_one):
        found = dict.fromkeys(map(usable_address, finder(lines)))
        if wanted := tuple(a for a in found if _is_recipient(a, others)):
            return tuple(dict.fromkeys([*wanted, *sorted(formerly)]))
    return tuple(sorted(formerly))


def _is_recipient(address: str, others: Collection[str]) -> bool:
    local, _, domain = address.partition("@")
    return "." in domain and address not in others and not re.search(r"^(postmaster|mailer-?daemon|abuse)", local)


def _commanded(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if not line.lstrip().startswith("250"):
            yield from COMMAND.findall(line)


def _listed(lines: list[str]) -> Iterator[str]:
    for line in _of_recipients(lines):
        if (match := ALONE.match(line)) or (match := LABELLED.search(line)):
            yield match[1]


def _in_sentences(lines: list[str]) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", "\n".join(_of_recipients(lines))):
        for sentence in SENTENCE_END.split(_joined(paragraph)):
            if FAILED_WORDS.search(_without_addresses(sentence)):
                yield from ADDRESS_IN_TEXT.findall(sentence)


def _addressed(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if match := TO_LINE.match(line):
            yield from ADDRESS_IN_TEXT.findall(line[match.end() :])


def _only_one(lines: list[str]) -> Iterator[str]:
    found = {address for line in _of_recipients(lines) for address in ADDRESS_IN_TEXT.findall(line)}
    if len(found) == 1:
        yield from found


def _of_recipients(lines: list[str]) -> list[str]:
    return [line for line in lines if "@" not in line or not OTHERS_LINE.search(line)]


def _joined(text: str) -> str:
    return " ".join(text[:MAX_NOTICE_CHARACTERS].split())


def _without_addresses(text: str) -> str:
    """A text on one line, with `SOMEBODY` for each address."""
    joined = _joined(text)
    return ADDRESS_IN_TEXT.sub(SOMEBODY, joined) if "@" in joined else joined
