# ruff: noqa: RUF001 - punctuation of other scripts
"""Recognise automatic replies by their wording, where no header field declares them.

Invariant: wording proves nothing, so such a mail goes to a person and is never filed. Checked by
tests/unit/mail/machines/test_automatic_wording.py.

A text that calls itself automatic is believed, whatever else it says: answering one machine is worse than ten notices
on the desk. A text that mentions an absence and also asks for something comes from a customer who is away. Quoted
words, and sentences that refer the reader to somebody else ("Urgent? Please contact ..."), do not count as asking.
"""

from __future__ import annotations

import re

from support_agent.mail.machines.automatic_words import (
    ABSENT,
    ANSWERED,
    AUTOMATIC_PREFIXES,
    CHALLENGE,
    MAX_WORDS_BEFORE,
    OF_MAIL,
    OWN_MATTER,
    RECEIPT,
    REFERS,
    REQUEST,
    SAYS_SO,
    TROUBLE,
    YOURS,
)
from support_agent.mail.text.wording import QUESTION_MARKS, longest_first, words

MAX_SUBJECT_CHARACTERS = 300
MAX_TEXT_CHARACTERS = 3_000
"""Automatic notices are short and say what they are at the beginning."""
HEAD_CHARACTERS = 600
SHORT_WORDS = 6
SHORT_CHARACTERS = 10
MIN_QUOTED_CHARACTERS = 8
"""A shorter subject may occur between quotation marks by chance."""

_PREFIX = f"(?:{longest_first(map(re.escape, AUTOMATIC_PREFIXES))})"
PROGRAMS_SUBJECT = words(
    rf"^\s*(?:\[[^\]]{{0,60}}\]\s*)?[\W_]{{0,3}}{_PREFIX}\s*[:：]",
    rf"[\[(【（]{_PREFIX}[\])】）]\s*$|^\s*[\[(【（]{_PREFIX}[\])】）]",
)
BARE_PREFIX = words(rf"^\W{{0,3}}{ANSWERED}*{_PREFIX}\s*[.!]?\s*$")
"""A subject that is only the prefix; a customer who writes about automatic replies may use it too."""
ANSWERED_SUBJECT = re.compile(rf"^\W{{0,3}}{ANSWERED}+", re.IGNORECASE)
QUOTED = re.compile(
    r"\"[^\"]{1,200}\"|“[^”“]{1,200}[”“]|„[^“”]{1,200}[“”]|«[^»]{1,200}»|»[^«]{1,200}«|「[^」]{1,200}」|『[^』]{1,200}』"
    r"|《[^》]{1,200}》|(?<!\w)'[^'\n]{1,200}'(?!\w)|‘[^’]{1,200}’(?!\w)"
)
SENTENCE = re.compile(r"(?<=[.!])\s+|(?<=[?？。！؟])\s*|\n\s*\n")
GREEK_QUESTION = re.compile(r"[α-ωά-ώ];\s*$")
CLAUSE = re.compile(r"[,;:(\u2013\u2014-]\s")
WORD = re.compile(r"\w+")


def is_automatic_subject(subject: str) -> bool:
    """Whether a subject has the prefix or the brackets of an automatic reply, or is only that prefix."""
    subject = subject[:MAX_SUBJECT_CHARACTERS]
    return (PROGRAMS_SUBJECT.search(subject) or BARE_PREFIX.search(subject)) is not None


def why_automatic(subject: str, text: str) -> str:
    """Why the wording is that of an automatic reply, or "".

    The most reliable signs come first: a subject that only programs write, then a text that calls itself automatic,
    then an absence in subject or text. Next to an absence, a short question that is not about the sender ("Can it
    wait?") does not count as asking.

    Args:
        subject: Of the mail.
        text: What the sender wrote now.
    """
    subject = subject[:MAX_SUBJECT_CHARACTERS]
    if match := PROGRAMS_SUBJECT.search(subject):
        return f"the subject is that of an automatic reply: {match[0].strip()[:80]!r}"
    whole = text[:MAX_TEXT_CHARACTERS]
    plain = QUOTED.sub(" ", whole)
    head = " ".join(plain.split())[:HEAD_CHARACTERS]
    if match := CHALLENGE.search(head):
        return f"the text asks for a proof that its reader is a person: {match[0][:80]!r}"
    if said := _says_so(plain):
        return f"the text says that it is automatic: {said[:80]!r}"
    if len(text) > MAX_TEXT_CHARACTERS or asks(plain, is_away=True):
        return ""
    if match := BARE_PREFIX.search(subject):
        return f"the subject is that of an automatic reply: {match[0].strip()[:80]!r}"
    if match := ABSENT.search(head):
        return f"the text tells of an absence and asks for nothing: {match[0][:80]!r}"
    if asks(plain):
        return ""
    if match := RECEIPT.search(head):
        return f"the text says that it is automatic: {match[0][:80]!r}"
    is_quoted = _quotes_subject(subject, whole)
    return "the text quotes the subject of the mail that it answers, as programs do" if is_quoted else ""


def asks(text: str, *, is_away: bool = False) -> bool:
    """Whether the sender wants something of us, rather than naming somebody else to ask.

    A question counts unless the sentence after the questions refers the reader to somebody else.

    Args:
        text: Without the words between quotation marks.
        is_away: The sender mentions an absence. A short question then counts only if it is about the sender, and
            trouble that the sender has counts too.
    """
    sentences = [" ".join(sentence.split()) for sentence in SENTENCE.split(text) if sentence.strip()]
    is_referred = False
    for sentence in reversed(sentences):
        refers = REFERS.search(sentence) is not None
        if not is_question(sentence):
            is_trouble = is_away and TROUBLE.search(sentence) and not OF_MAIL.search(sentence)
            if not refers and (is_trouble or REQUEST.search(sentence)):
                return True
            is_referred = refers
        elif not refers:
            is_aside = is_referred or (is_away and _is_short(sentence))
            if not is_aside or OWN_MATTER.search(sentence):
                return True
    return False


def _is_short(sentence: str) -> bool:
    """Whether a sentence has few words or, in a script without spaces, few characters."""
    return len(WORD.findall(sentence)) <= SHORT_WORDS and (" " in sentence or len(sentence) <= SHORT_CHARACTERS)


def is_question(sentence: str) -> bool:
    """Whether a sentence ends with a question mark of any script."""
    return sentence.endswith(QUESTION_MARKS) or GREEK_QUESTION.search(sentence) is not None


def _says_so(text: str) -> str:
    """Words near the beginning of a sentence by which a text calls itself automatic, or "".

    A person who writes about such a text mentions himself or something of the reader's; then the words do not count.
    """
    for sentence in SENTENCE.split(text):
        line = " ".join(sentence.split())
        match = SAYS_SO.search(line)
        if match is None or is_question(line):
            continue
        before = CLAUSE.split(line[: match.start()])[-1]
        after = CLAUSE.split(line[match.end() :])[0]
        is_persons = OWN_MATTER.search(f"{before} . {after}") or YOURS.search(f"{before}{match[0]}")
        if len(WORD.findall(before)) <= MAX_WORDS_BEFORE and not is_persons:
            return match[0]
    return ""


def _quotes_subject(subject: str, text: str) -> bool:
    """Whether a reply's text quotes, between quotation marks, the subject that the reply answers."""
    if not ANSWERED_SUBJECT.match(subject):
        return False
    answered = " ".join(ANSWERED_SUBJECT.sub("", subject).split()).strip(" .\"'").casefold()
    if len(answered) < MIN_QUOTED_CHARACTERS:
        return False
    quoted = (" ".join(match[0][1:-1].split()).strip(" .\"'").casefold() for match in QUOTED.finditer(text))
    return answered in quoted
