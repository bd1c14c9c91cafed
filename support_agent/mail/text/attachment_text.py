"""Read the text of attachments (txt, md, pdf, docx), for a mail whose question is in an attachment.

The mail's own text comes first. Attachments are read only if the mail has no text, or a short text that asks nothing
and mentions the attachment ("Hello, please see the attached letter"); their text then follows the mail's. Like the
mail, it is used for planning and never shown.

Invariant: whatever is attached, this ends in bounded time and memory, raises nothing, and records what was left unread.
Documents are opened in a separate process (`extraction.process`). Checked by
tests/unit/mail/text/test_attachment_text.py.
"""

from __future__ import annotations

import codecs
import re
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from support_agent.extraction.blocks import BlockKind
from support_agent.extraction.process import ExtractionLimits, FileKind, extract
from support_agent.mail.message import Message, attached_bytes
from support_agent.mail.text.body import LIMIT, Attachment
from support_agent.mail.text.decoding import decode_bytes, safe_text
from support_agent.mail.text.wording import has_question_mark

MAX_FILES = 5
"""Attachments read per mail."""
MAX_FILE_BYTES = 15_000_000
MAX_PAGES = 30
TIMEOUT_S = 20.0
"""For all attachments of a mail together, because other mails wait meanwhile."""
MEMORY_BYTES = 1_000_000_000
MAX_POINTER_WORDS = 40
"""A mail with more words than this contains the question itself."""

POINTER = re.compile(
    r"(?<!\w)(?:attach(?:ed|ment|ments|ing)|enclos(?:ed|ure)|pdf|docx?|anhang|anhänge\w*|angehängt\w*|anbei|anlagen?"
    r"|beigefügt\w*|beiliegend\w*|adjunt\w+|anex\w+|ci-joint\w*|pi[eè]ces? jointes?|en allegato|allegat\w+|in bijlage"
    r"|bijlagen?|bijgevoegd\w*|załącz\w+|bifoga\w+|bilag\w*|vedhæft\w+|vedlagt\w*|vedlegg\w*|liitte\w+|вложен\w+"
    r"|прилож\w+|прикрепл\w+|přílo\w+|csatol\w+|ekte|annex\w*)(?!\w)|添付|附件|附檔|첨부",
    re.IGNORECASE,
)


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
"""The suffix takes precedence over the type: many programs send everything as application/octet-stream."""


class Extract(NamedTuple):
    """Extracted text; `is_whole` is False where something was left out or could not be read."""

    text: str
    is_whole: bool


def kind_of(attachment: Attachment) -> Kind | None:
    """How the attachment can be read, or None."""
    return SUFFIXES.get(Path(attachment.name.lower()).suffix) or KINDS.get(attachment.content_type)


def speaks_through_attachments(message: Message) -> bool:
    """Whether the question is, or may be, in a readable attachment, by the rule above."""
    if not any(kind_of(one) is not None for one in message.attachments):
        return False
    words = message.visible_text
    if not words.strip():
        return True
    is_short = len(words.split()) <= MAX_POINTER_WORDS
    return is_short and not has_question_mark(words) and POINTER.search(words) is not None


def with_attached_text(
    message: Message, raw: Callable[[], bytes], max_characters: int, clock: Callable[[], float] = time.monotonic
) -> Message:
    """The mail with the text of its attachments, if `speaks_through_attachments`; else unchanged.

    Args:
        raw: Gives the mail's bytes; called only if they are needed.
        max_characters: For all attachments together; text beyond it, or that cannot be read, adds a defect (`LIMIT`).
        clock: Seconds; all attachments together have `TIMEOUT_S`.
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
    """The text to plan with: the visible text, then the text read from attachments."""
    return "\n\n".join(filter(None, (message.visible_text, *(one.text for one in message.attachments))))


def _extract(kind: Kind, raw: bytes, max_characters: int, timeout_s: float) -> Extract:
    if len(raw) > MAX_FILE_BYTES or timeout_s <= 0:
        return Extract("", False)
    if kind is Kind.TEXT:
        start = raw[: 4 * max_characters + 4]
        has_byte_order = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # as Windows Notepad writes it
        text = decode_bytes(start, "utf-16" if has_byte_order else None).text.strip()
        return Extract(text, len(start) == len(raw))
    limits = ExtractionLimits(
        max_characters=max_characters, max_pages=MAX_PAGES, timeout_s=timeout_s, memory_bytes=MEMORY_BYTES
    )
    found = extract(FileKind(kind.value), raw, limits)
    between = "\n\n" if kind is Kind.PDF else "\n"
    text = between.join(" ".join(block.texts) for block in found.blocks if block.kind is not BlockKind.LEFT_OUT)
    return Extract(safe_text(text).strip(), found.refusal is None)
