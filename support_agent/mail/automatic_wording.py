# ruff: noqa: RUF001 - punctuation of Chinese and Japanese
"""How automatic replies read: out-of-office notices and receipts whose system sets none of the header fields.

Invariant: wording proves nothing, so it brings a mail to a person and never files it; a customer who asks something is
not taken for a machine because he is away. Checked by tests/unit/mail/test_automatic_wording.py.
"""

from __future__ import annotations

import re

from support_agent.mail.automatic_words import (
    ABSENT,
    ABSENT_HINTS,
    AUTOMATIC_PREFIXES,
    CHALLENGE,
    CHALLENGE_HINTS,
    RECEIPT,
    RECEIPT_HINTS,
    REQUEST,
    REQUEST_MARKS,
    RETURNS,
    SAYS_SO,
    SAYS_SO_HINTS,
    TELLING_SUBJECT,
)
from support_agent.mail.wording import words

MAX_SUBJECT_CHARACTERS = 300
MAX_TEXT_CHARACTERS = 3_000
"""Notices are short, and say what they are at once."""
HEAD_CHARACTERS = 600

_PREFIX = "(?:" + "|".join(re.escape(prefix) for prefix in sorted(AUTOMATIC_PREFIXES, key=len, reverse=True)) + ")"
PROGRAMS_SUBJECT = words(
    rf"^\s*(?:\[[^\]]{{0,60}}\]\s*)?[\W_]{{0,3}}{_PREFIX}\s*(?:[:：]|[.!]?$)",
    rf"[\[(【（]{_PREFIX}[\])】）]\s*$|^\s*[\[(【（]{_PREFIX}[\])】）]",
)


def may_match(text: str, hints: tuple[str, ...]) -> bool:
    """Whether a pattern that has these hints can be found: one is there, or there are letters beyond ASCII."""
    if not text.isascii():
        return True
    lower = text.lower()
    return any(hint in lower for hint in hints)


def is_automatic_subject(subject: str) -> bool:
    """Whether a subject begins or ends as programs have it that answer by themselves, and no person does."""
    return PROGRAMS_SUBJECT.search(subject[:MAX_SUBJECT_CHARACTERS]) is not None


def why_automatic(subject: str, text: str) -> str:
    """Why the wording is that of an automatic reply, or "".

    A subject that people write too ("Out of office hours?", "Away message not shown") is believed where the text says
    the same, or nothing at all, and asks for nothing.

    Args:
        subject: Of the mail.
        text: What the sender wrote now.
    """
    subject = subject[:MAX_SUBJECT_CHARACTERS]
    if match := PROGRAMS_SUBJECT.search(subject):
        return f"the subject is that of an automatic reply: {match[0].strip()[:80]!r}"
    told = " ".join(text[: MAX_TEXT_CHARACTERS + 1].split())
    head = told[:HEAD_CHARACTERS]
    if match := _found(CHALLENGE, CHALLENGE_HINTS, head):
        return f"the text asks for a proof that its reader is a person: {match[0][:80]!r}"
    if len(told) > MAX_TEXT_CHARACTERS or any(mark in told for mark in REQUEST_MARKS) or REQUEST.search(told):
        return ""
    if match := _found(SAYS_SO, SAYS_SO_HINTS, head) or _found(RECEIPT, RECEIPT_HINTS, head):
        return f"the text says that it is automatic: {match[0][:80]!r}"
    absent = _found(ABSENT, ABSENT_HINTS, head)
    if (absent or not told) and (match := TELLING_SUBJECT.search(subject)):
        return f"the subject is that of an automatic reply: {match[0].strip()[:80]!r}"
    is_notice = absent is not None and RETURNS.search(told) is not None
    return f"the text is that of an absence notice: {absent[0][:80]!r}" if absent and is_notice else ""


def _found(pattern: re.Pattern[str], hints: tuple[str, ...], text: str) -> re.Match[str] | None:
    return pattern.search(text) if may_match(text, hints) else None
