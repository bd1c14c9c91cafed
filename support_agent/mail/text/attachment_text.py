"""The words inside attachments (txt, md, pdf, docx), for a mail whose question stands in one of them.

The rule: what the sender wrote in the mail itself comes first. Attachments are read only where the mail has no words
of its own, or few that ask nothing and name the attachment ("Hello, please see the attached letter"); then their text
follows the mail's own. It is the customer's text like that of the mail, so it is planned with and never shown.

Invariant: whatever is attached, this ends in bounded time and memory, raises nothing, and tells where something was
left unread. Documents are opened in a process of their own (`extraction.process`). Checked by
tests/unit/mail/text/test_attachment_text.py.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from support_agent.extraction.blocks import Kind as BlockKind
from support_agent.extraction.process import FileKind, Limits, extract
from support_agent.mail.message import Message, attached_bytes
from support_agent.mail.text.body import LIMIT, Attachment
from support_agent.mail.text.decoding import decode_bytes, safe_text

MAX_FILES = 5
"""Attachments read of one mail."""
MAX_FILE_BYTES = 15_000_000
MAX_PAGES = 30
TIMEOUT_S = 20.0
"""For all attachments of a mail together: the other mails wait meanwhile."""
MEMORY_BYTES = 1_000_000_000
MAX_POINTER_WORDS = 40
"""A mail with more words than this speaks for itself."""

POINTER = re.compile(
    r"(?<!\w)(?:attach(?:ed|ment|ments|ing)|enclos(?:ed|ure)|pdf|docx?|anhang|anhänge\w*|angehängt\w*|anbei|anlagen?"
    r"|beigefügt\w*|beiliegend\w*|adjunt\w+|anex\w+|ci-joint\w*|pi[eè]ces? jointes?|en allegato|allegat\w+|in bijlage"
    r"|bijlagen?|bijgevoegd\w*|załącz\w+|bifoga\w+|bilag\w*|vedhæft\w+|vedlagt\w*|vedlegg\w*|liitte\w+|вложен\w+"
    r"|прилож\w+|прикрепл\w+|přílo\w+|csatol\w+|ekte|annex\w*)(?!\w)|添付|附件|附檔|첨부",
    re.IGNORECASE,
)
QUESTION = re.compile(r"[?\uff1f\u061f]")


class Kind(StrEnum):
    """How an attachment is read."""

    TEXT = "text"
    PDF = "pdf"
    DOCX = "docx"


KINDS = {
    "text/plain": Kind.TEXT,
    "text/markdown": Kind.TEXT,
    "text/x-markdown": Kind.TEXT,
    "application/pdf": Kind.PDF,
    "application/x-pdf": Kind.PDF,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": Kind.DOCX,
}
SUFFIXES = {".txt": Kind.TEXT, ".text": Kind.TEXT, ".md": Kind.TEXT, ".pdf": Kind.PDF, ".docx": Kind.DOCX}
"""Believed over the type: many programs send everything as application/octet-stream."""


class Extract(NamedTuple):
    """`is_whole` is False where text was left out or could not be read."""

    text: str
    is_whole: bool


def kind_of(attachment: Attachment) -> Kind | None:
    """How the attachment can be read, or None."""
    return SUFFIXES.get(Path(attachment.name.lower()).suffix) or KINDS.get(attachment.content_type)


def speaks_through_attachments(message: Message) -> bool:
    """Whether the mail's words are, or may be, in attachments that can be read: the rule above."""
    if not any(kind_of(one) is not None for one in message.attachments):
        return False
    words = message.visible_text
    if not words.strip():
        return True
    return len(words.split()) <= MAX_POINTER_WORDS and not QUESTION.search(words) and POINTER.search(words) is not None


def with_attached_text(
    message: Message, raw: Callable[[], bytes], max_characters: int, clock: Callable[[], float] = time.monotonic
) -> Message:
    """The same mail with the text of its attachments, where it speaks through them; else as it was.

    Args:
        raw: The mail's bytes, asked for only where they are needed.
        max_characters: Of all attachments together; more, and what cannot be read, leaves a defect (`LIMIT`).
        clock: Seconds; the attachments have `TIMEOUT_S` in all.
    """
    if max_characters == 0 or not speaks_through_attachments(message):
        return message
    files = attached_bytes(raw())
    ends_at = clock() + TIMEOUT_S
    attachments, defects, left = list(message.attachments), list(message.defects), max_characters
    readable = [index for index, one in enumerate(attachments) if kind_of(one) is not None]
    if len(readable) > MAX_FILES:
        defects.append(f"{LIMIT}more than {MAX_FILES} attachments with text")
    for index in readable[:MAX_FILES]:
        one = attachments[index]
        kind = kind_of(one)
        if kind is None or index >= len(files):
            continue
        extract = _extract(kind, files[index], left, ends_at - clock())
        if not extract.is_whole or len(extract.text) > left:
            defects.append(f"{LIMIT}an attachment whose text is not read whole: {one.name or one.content_type}")
        attachments[index] = one.model_copy(update={"text": extract.text[:left]})
        left -= len(attachments[index].text)
    return message.model_copy(update={"attachments": tuple(attachments), "defects": tuple(defects)})


def asked_text(message: Message) -> str:
    """What the sender asks: the visible text, and after it the text of the attachments as far as it was read."""
    return "\n\n".join(filter(None, (message.visible_text, *(one.text for one in message.attachments))))


def _extract(kind: Kind, raw: bytes, max_characters: int, timeout_s: float) -> Extract:
    if len(raw) > MAX_FILE_BYTES or timeout_s <= 0:
        return Extract("", False)
    if kind is Kind.TEXT:
        start = raw[: 4 * max_characters + 4]
        text = decode_bytes(start, _byte_order(start)).text.strip()
        return Extract(text, len(start) == len(raw))
    return _extract_in_child(kind, raw, max_characters, timeout_s)


def _byte_order(raw: bytes) -> str | None:
    """UTF-16 where the bytes begin with its mark, as Windows' Notepad writes it."""
    return "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else None


def _extract_in_child(kind: Kind, raw: bytes, max_characters: int, timeout_s: float) -> Extract:
    limits = Limits(max_characters=max_characters, max_pages=MAX_PAGES, timeout_s=timeout_s, memory_bytes=MEMORY_BYTES)
    found = extract(FileKind(kind.value), raw, limits)
    between = "\n\n" if kind is Kind.PDF else "\n"
    text = between.join(" ".join(block.texts) for block in found.blocks if block.kind is not BlockKind.LEFT_OUT)
    return Extract(safe_text(text).strip(), found.refusal is None)
