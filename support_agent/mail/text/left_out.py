"""Find what a reply says outside its visible text: in a subject of its own, in the signature, among the quotation.

A quoted line, a line of the signature, a subject or a picture inside the text is known if a mail of the thread has it;
all others may be the sender's own words.

Invariant: each line of the quotation and of the signature that has a word is known, is an attribution or a copied
header line, or is found. Checked by tests/unit/mail/text/test_left_out.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from support_agent.mail.message import Message
from support_agent.mail.outgoing import thread_subject
from support_agent.mail.text.quotation import quoted_content

WORD = re.compile(r"\w+")


class Thread(NamedTuple):
    """What the earlier mails of a thread say: their words in order, a text each, and the hashes of their files."""

    subjects: frozenset[str]
    texts: tuple[str, ...]
    files: frozenset[str]

    @classmethod
    def of(cls, mails: Iterable[Message], texts: Iterable[str] = ()) -> Thread:
        """The thread of these mails.

        Args:
            texts: Other forms of their texts: a client quotes the HTML of a mail.
        """
        found = tuple(mails)
        subjects = [thread_subject(mail.subject) or "" for mail in found]
        said = (*subjects, *(mail.text for mail in found), *texts)
        return cls(
            subjects=frozenset(subject.casefold() for subject in subjects),
            texts=tuple(map(_words, said)),
            files=frozenset(part.sha256 for mail in found for part in mail.attachments),
        )

    def has(self, line: str) -> bool:
        """Whether the words of a line stand in one of the mails, one after the other; clients break lines anew."""
        words = _words(line)
        return not words.strip() or any(words in text for text in self.texts)


class LeftOut(NamedTuple):
    """What is not known: lines to read beside the visible text, and whether the quotation or a picture has more."""

    lines: tuple[str, ...]
    has_more: bool


def left_out(message: Message, thread: Thread) -> LeftOut:
    """What a reply in a thread says outside its visible text, and no mail of the thread does."""
    subject = thread_subject(message.subject) or ""
    lines = [] if subject.casefold() in thread.subjects else [subject]
    lines += [line for line in message.signature.splitlines() if not thread.has(line)]
    is_quoted_anew = not all(map(thread.has, quoted_content(message.quoted_text)))
    has_picture = any(part.is_inline_image and part.sha256 not in thread.files for part in message.attachments)
    return LeftOut(tuple(lines), has_more=is_quoted_anew or has_picture)


def _words(text: str) -> str:
    """The words of a text between single spaces, and one at each end, so that only whole words are found in it."""
    return f" {' '.join(WORD.findall(text.casefold()))} "
