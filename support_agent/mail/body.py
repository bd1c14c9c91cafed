"""The parts of a mail: its text, its attachments, and the list of its content types.

Invariant: each leaf part becomes body text or exactly one attachment; nothing inside an attached mail is
read; a part that cannot be read is an attachment and a defect, never an exception. Checked by
tests/unit/mail/test_body.py.
"""

from __future__ import annotations

import email.message
import hashlib
from dataclasses import dataclass, field
from typing import Any

from support_agent.frozen import Frozen
from support_agent.mail.decoding import decode_bytes, decode_words, header_text
from support_agent.mail.html_text import html_to_text

MAX_TEXT_CHARACTERS = 2_000_000
"""Longer bodies are kept to this length, with a defect that brings the mail to a person."""
MAX_NAME_CHARACTERS = 200
LIMIT = "limit: "
"""Defects that start with this mean that a part of the mail has not been read (S15)."""

Part = email.message.Message


class Attachment(Frozen):
    """What was attached; the bytes stay in the raw mail."""

    name: str
    content_type: str
    size_bytes: int
    sha256: str
    is_inline_image: bool = False
    """A picture within the text, as in many signatures."""


@dataclass
class Body:
    """What was found in the tree of parts; `content_types` is in document order, containers first."""

    texts: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    content_types: list[str] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n\n".join(text.strip("\n") for text in self.texts if text.strip())


def read_body(message: Part) -> Body:
    """Walk the tree of a parsed mail. Of alternatives the plain text is read, else the richest."""
    body = Body()
    _walk(message, body)
    return body


def _walk(part: Part, body: Body) -> None:
    content_type = part.get_content_type()
    body.content_types.append(content_type)
    body.defects.extend(type(defect).__name__ for defect in part.defects)
    children = part.get_payload()
    if content_type.startswith("message/") or not isinstance(children, list):
        _read_leaf(part, content_type, body)
    elif content_type == "multipart/alternative":
        _walk_alternatives(_parts(children), body)
    else:
        for child in _parts(children):
            _walk(child, body)


def _parts(children: Any) -> list[Part]:
    return [child for child in children if isinstance(child, email.message.Message)]


def _walk_alternatives(children: list[Part], body: Body) -> None:
    """Read all, keep the text of one: the first plain text that says something, else the last that does.

    A limit that was met only in an alternative that is not used leaves nothing unread.
    """
    readings = [Body() for _ in children]
    for child, reading in zip(children, readings, strict=True):
        _walk(child, reading)
        body.content_types += reading.content_types
        body.attachments += reading.attachments
    speaking = [reading for reading in readings if reading.text]
    plain = [reading for reading in speaking if "text/html" not in reading.content_types]
    chosen = next(iter(plain or reversed(speaking)), None)
    if chosen is not None:
        body.texts.append(chosen.text)
    for reading in readings:
        is_used = chosen is None or reading is chosen
        body.defects += [defect for defect in reading.defects if is_used or not defect.startswith(LIMIT)]


def _read_leaf(part: Part, content_type: str, body: Body) -> None:
    name = _name(part)
    raw = _payload(part, body)
    is_attached = bool(name) or part.get_content_disposition() == "attachment"
    is_broken_container = content_type.startswith("multipart/")
    if is_broken_container or (content_type in {"text/plain", "text/html"} and not is_attached):
        body.texts.append(_text(part, content_type, raw, body))
        return
    body.attachments.append(
        Attachment(
            name=name,
            content_type=content_type,
            size_bytes=len(raw),
            sha256=hashlib.sha256(raw).hexdigest(),
            is_inline_image=content_type.startswith("image/")
            and part.get_content_disposition() == "inline"
            and "Content-ID" in part,
        )
    )


def _name(part: Part) -> str:
    try:
        return decode_words(header_text(str(part.get_filename() or "")))[:MAX_NAME_CHARACTERS]
    except Exception:  # the standard library raises several kinds on parameters that are cut or lie
        return "unreadable-name"


def _payload(part: Part, body: Body) -> bytes:
    """The decoded bytes of a leaf; of an attached mail, the mail as it was."""
    try:
        if part.get_content_maintype() == "message" and part.is_multipart():
            inner = part.get_payload()
            return b"\n".join(child.as_bytes() for child in _parts(inner))
        raw = part.get_payload(decode=True)
        return raw if isinstance(raw, bytes) else b""
    except Exception as error:  # see _name
        body.defects.append(f"part not decoded: {type(error).__name__}")
        return str(part.get_payload()).encode("utf-8", "replace") if not part.is_multipart() else b""


def _text(part: Part, content_type: str, raw: bytes, body: Body) -> str:
    try:
        declared = part.get_content_charset()
    except Exception:  # see _name
        declared = None
    decoded = decode_bytes(raw, declared)
    if not decoded.is_as_declared:
        body.defects.append("charset is not as declared")
    text = decoded.text
    if len(text) > MAX_TEXT_CHARACTERS:
        body.defects.append(f"{LIMIT}a body of more than {MAX_TEXT_CHARACTERS} characters")
        text = text[:MAX_TEXT_CHARACTERS]
    if content_type != "text/html":
        return text
    extract = html_to_text(text)
    if not extract.is_whole:
        body.defects.append(f"{LIMIT}HTML that breaks off")
    return extract.text
