# ruff: noqa: RUF001 - punctuation of other scripts
"""How automatic replies read: out-of-office notices and receipts whose system sets none of the header fields.

Invariant: wording proves nothing, so it brings a mail to a person and never files it. A text that says of itself that a
machine sent it is believed whatever else it says: one machine that is answered is worse than ten notices on the desk.
Where a text only tells of an absence, somebody who asks for something is a customer who is away. What stands between
quotation marks, and what sends the reader to somebody else ("Urgent? Please contact ..."), asks for nothing.
Checked by tests/unit/mail/test_automatic_wording.py.
"""

from __future__ import annotations

import re

from support_agent.mail.automatic_words import (
    ABSENT,
    ANSWERED,
    AUTOMATIC_PREFIXES,
    CHALLENGE,
    FIRST_PERSON,
    MAX_WORDS_BEFORE,
    RECEIPT,
    REFERS,
    REQUEST,
    SAYS_SO,
    TELLING_SUBJECT,
    YOURS,
)
from support_agent.mail.wording import words

MAX_SUBJECT_CHARACTERS = 300
MAX_TEXT_CHARACTERS = 3_000
"""Notices are short, and say what they are at once."""
HEAD_CHARACTERS = 600
MIN_QUOTED_CHARACTERS = 8
"""A subject that is shorter can stand between quotation marks by chance."""

_PREFIX = "(?:" + "|".join(re.escape(prefix) for prefix in sorted(AUTOMATIC_PREFIXES, key=len, reverse=True)) + ")"
PROGRAMS_SUBJECT = words(
    rf"^\s*(?:\[[^\]]{{0,60}}\]\s*)?[\W_]{{0,3}}{_PREFIX}\s*[:：]",
    rf"[\[(【（]{_PREFIX}[\])】）]\s*$|^\s*[\[(【（]{_PREFIX}[\])】）]",
)
BARE_PREFIX = words(rf"^\W{{0,3}}{ANSWERED}*{_PREFIX}\s*[.!]?\s*$")
"""The same and nothing else: also the subject of a customer who writes of such replies."""
ANSWERED_SUBJECT = re.compile(rf"^\W{{0,3}}{ANSWERED}+", re.IGNORECASE)
QUOTED = re.compile(
    r"\"[^\"]{1,200}\"|“[^”“]{1,200}[”“]|„[^“”]{1,200}[“”]|«[^»]{1,200}»|»[^«]{1,200}«|「[^」]{1,200}」|『[^』]{1,200}』"
    r"|《[^》]{1,200}》|(?<!\w)'[^'\n]{1,200}'(?!\w)|‘[^’]{1,200}’(?!\w)"
)
SENTENCE = re.compile(r"(?<=[.!])\s+|(?<=[?？。！؟])\s*|\n\s*\n")
QUESTION_MARKS = ("?", "\uff1f", "\u061f")
GREEK_QUESTION = re.compile(r"[α-ωά-ώ];\s*$")
WORD = re.compile(r"\w+")


def is_automatic_subject(subject: str) -> bool:
    """Whether a subject begins or ends as programs have it that answer by themselves, or says only that."""
    subject = subject[:MAX_SUBJECT_CHARACTERS]
    return (PROGRAMS_SUBJECT.search(subject) or BARE_PREFIX.search(subject)) is not None


def why_automatic(subject: str, text: str) -> str:
    """Why the wording is that of an automatic reply, or "".

    A subject that people write too ("Out of office hours?", "Away message not shown") is believed where the text tells
    of an absence, too, or says nothing at all.

    Args:
        subject: Of the mail.
        text: What the sender wrote now.
    """
    subject = subject[:MAX_SUBJECT_CHARACTERS]
    if match := PROGRAMS_SUBJECT.search(subject):
        return f"the subject is that of an automatic reply: {match[0].strip()[:80]!r}"
    whole = text[: MAX_TEXT_CHARACTERS + 1]
    told = QUOTED.sub(" ", whole)
    head = " ".join(told.split())[:HEAD_CHARACTERS]
    if match := CHALLENGE.search(head):
        return f"the text asks for a proof that its reader is a person: {match[0][:80]!r}"
    if len(whole) > MAX_TEXT_CHARACTERS:
        return ""
    if said := _says_so(told):
        return f"the text says that it is automatic: {said[:80]!r}"
    absent = ABSENT.search(head)
    bare = BARE_PREFIX.search(subject)
    telling = bare or TELLING_SUBJECT.search(subject)
    if telling and (absent or not head) and not asks(told, for_itself=True):
        return f"the subject is that of an automatic reply: {telling[0].strip()[:80]!r}"
    if asks(told):
        return ""
    if bare:
        return f"the subject is that of an automatic reply: {bare[0].strip()[:80]!r}"
    if match := RECEIPT.search(head):
        return f"the text says that it is automatic: {match[0][:80]!r}"
    if _quotes_subject(subject, whole):
        return "the text quotes the subject of the mail that it answers, as programs do"
    return f"the text tells of an absence and asks for nothing: {absent[0][:80]!r}" if absent else ""


def asks(text: str, *, for_itself: bool = False) -> bool:
    """Whether somebody wants something of us, and does not only say whom to ask instead.

    A question counts unless what follows the questions refers its reader to somebody else.

    Args:
        text: Without what stands between quotation marks.
        for_itself: Only questions that are about the sender count.
    """
    sentences = [" ".join(sentence.split()) for sentence in SENTENCE.split(text) if sentence.strip()]
    is_referred = False
    for sentence in reversed(sentences):
        refers = REFERS.search(sentence) is not None
        if not (sentence.endswith(QUESTION_MARKS) or GREEK_QUESTION.search(sentence)):
            if not (refers or for_itself) and REQUEST.search(sentence):
                return True
            is_referred = refers
        elif not refers and (FIRST_PERSON.search(sentence) or not (is_referred or for_itself)):
            return True
    return False


def _says_so(text: str) -> str:
    """Words by which a text says that it is automatic, near the beginning of a sentence that asks nothing; or ""."""
    for sentence in SENTENCE.split(text):
        line = " ".join(sentence.split())
        match = SAYS_SO.search(line)
        if match is None or line.endswith(QUESTION_MARKS):
            continue
        before = re.split(r"[:(\n–—-]\s", line[: match.start()])[-1]
        if len(WORD.findall(before)) <= MAX_WORDS_BEFORE and not YOURS.search(f"{before}{match[0]}"):
            return match[0]
    return ""


def _quotes_subject(subject: str, text: str) -> bool:
    """Whether a reply names the mail that it answers by its subject, between quotation marks."""
    if not ANSWERED_SUBJECT.match(subject):
        return False
    answered = " ".join(ANSWERED_SUBJECT.sub("", subject).split()).strip(" .\"'").casefold()
    if len(answered) < MIN_QUOTED_CHARACTERS:
        return False
    quoted = (" ".join(match[0][1:-1].split()).strip(" .\"'").casefold() for match in QUOTED.finditer(text))
    return any(answered == one for one in quoted)
