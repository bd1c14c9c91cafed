"""Read the parts of a mail: its text, its attachments, and the list of its content types.

Invariant: each leaf part becomes body text or exactly one attachment; nothing inside an attached mail is read; a part
that cannot be read gives an attachment and a defect, never an exception. Checked by tests/unit/mail/text/test_body.py.
"""

from __future__ import annotations

import email.message
import email.policy
import hashlib
import re
from dataclasses import dataclass, field
from email.generator import BytesGenerator
from functools import lru_cache
from io import BytesIO
from typing import NamedTuple

from support_agent.core.frozen import Frozen
from support_agent.extraction.html_text import Extract, html_to_text
from support_agent.mail.text.boundaries import holds_parts, split_by_found_boundary
from support_agent.mail.text.decoding import decode_bytes, decode_words, header_text, safe_line, safe_text, token_of
from support_agent.mail.text.flowed import unflow
from support_agent.mail.text.limits import Part, children, may_read_parameters
from support_agent.mail.text.tnef import is_tnef, read_tnef

MAX_TEXT_CHARACTERS = 2_000_000
"""Longer bodies are cut to this length, with a defect that sends the mail to a person."""
MAX_NAME_CHARACTERS = 200
ENCODINGS = frozenset(
    {"", "7bit", "8bit", "binary", "base64", "quoted-printable", "x-uuencode", "uuencode", "uue", "x-uue"}
)
"""Transfer encodings that the standard library decodes."""
BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2,3})?={0,3}")
ENCODED = re.compile(r"=[0-9A-F]{2}|=\r?$|^[A-Za-z0-9+/]{40,}={0,2}\r?$", re.MULTILINE)
"""A line that looks encoded. A text without one is read unchanged, whatever the field says."""
MAX_DEPTH = 50
"""Nested containers; mail programs nest about five."""
MAX_PARTS = 2_000
LIMIT = "limit: "
"""Prefix of defects that mean that a part of the mail was not read (S15)."""
TEXT_TYPES = frozenset({"text/plain", "text/html", "text/markdown", "text/x-markdown", "text/enriched"})
MARKUP_TYPES = frozenset({"text/html", "text/enriched"})
MAX_STUB_CHARACTERS = 1_000
"""A plain text that only says that the mail is in HTML is not longer than this."""
MAX_COMPARED_CHARACTERS = 200_000
MUCH_LONGER = 3
"""The HTML is at least so many times as long as such a text, unless the text mentions HTML."""
WORD = re.compile(r"\w+")
MULTIPART = re.compile(r"\s*multipart\b(?:/[\w.+-]+)?", re.IGNORECASE)
OTHER_BOUNDARY = "a multipart with another boundary than the one it names"
NAMING_FIELDS = ("Content-Disposition", "Content-Type")
UNREADABLE_NAME = "unreadable-name"
TNEF_TYPES = frozenset({"application/ms-tnef", "application/vnd.ms-tnef"})


class _AsWritten(email.policy.Compat32):
    """Writes fields as they were read, without refolding, so that an attached mail stays unchanged."""

    def fold_binary(self, name: str, value: str) -> bytes:
        return f"{name}: {value}{self.linesep}".encode("utf-8", "surrogateescape")


class _Writer(BytesGenerator):
    """Replaces an empty boundary by a fixed one: the standard library's is random, and would change the hash."""

    @classmethod
    def _make_boundary(cls, text: str | None = None) -> str:
        return "="


AS_WRITTEN = _AsWritten(mangle_from_=False)
TNEF_DEFECT = "a winmail.dat that is not read whole"


class Attachment(Frozen):
    """One attachment, without its bytes: `attached_bytes` of `message` takes those from the raw mail.

    `text` is the extracted text where it was needed (`attachment_text`), else "".
    """

    name: str
    content_type: str
    size_bytes: int
    sha256: str
    is_inline_image: bool = False
    """An image inside the text, as in many signatures."""
    text: str = ""


@dataclass
class Body:
    """The content of a tree of parts; `content_types` is in document order, containers first.

    `files` are the bytes of each attachment. `hidden_text` is the text of a winmail.dat, used if the mail has no other.
    `is_crlf`: the lines of attached mails end in CRLF. `keeps_links`: the text of HTML has the targets of links.
    `is_crossed_out`: some text of HTML, even of an unused alternative, is crossed out.
    """

    texts: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    files: list[bytes] = field(default_factory=list)
    content_types: list[str] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)
    hidden_text: str = ""
    is_crlf: bool = True
    keeps_links: bool = False
    is_crossed_out: bool = False

    @property
    def text(self) -> str:
        return "\n\n".join(text.strip("\n") for text in self.texts if text.strip())

    def attach(self, name: str, content_type: str, raw: bytes, *, is_inline_image: bool = False) -> None:
        """Add one attachment with its bytes."""
        self.files.append(raw)
        self.attachments.append(
            Attachment(
                name=name[:MAX_NAME_CHARACTERS],
                content_type=content_type,
                size_bytes=len(raw),
                sha256=hashlib.sha256(raw).hexdigest(),
                is_inline_image=is_inline_image,
            )
        )


def read_body(message: Part, *, is_crlf: bool, keeps_links: bool = False) -> Body:
    """Read the tree of a parsed mail. Of alternatives, the plain text is used, else the richest."""
    body = Body(is_crlf=is_crlf, keeps_links=keeps_links)
    _walk(message, body, 0)
    if len(body.content_types) > MAX_PARTS:
        body.defects.append(f"{LIMIT}more than {MAX_PARTS} parts")
    if not body.text and body.hidden_text:
        body.texts.append(body.hidden_text)
        body.defects = [f"{LIMIT}{one}" if one == TNEF_DEFECT else one for one in body.defects]
    return body


def _walk(part: Part, body: Body, depth: int) -> None:
    if len(body.content_types) > MAX_PARTS:
        return
    content_type = part.get_content_type()
    body.content_types.append(content_type)
    if part.defects:
        body.defects.extend(type(defect).__name__ for defect in part.defects)
    parts = children(part) if part.is_multipart() else None
    if parts is None and (multipart := MULTIPART.match(str(part.get("Content-Type", "")))):
        parts, content_type = _recovered(part, body), multipart[0].strip().lower()
        if parts is None:
            body.defects.append(f"{LIMIT}a multipart that cannot be split into its parts")
    elif parts is None and depth == 0 and "Content-Type" not in part and "MIME-Version" in part:
        parts = _recovered(part, body)
        content_type = content_type if parts is None else "multipart/mixed"
    if parts is None or content_type.startswith("message/"):
        _read_leaf(part, content_type, body, is_root=depth == 0)
    elif depth == MAX_DEPTH:
        body.defects.append(f"{LIMIT}more than {MAX_DEPTH} parts within each other")
    elif content_type == "multipart/alternative":
        _walk_alternatives(parts, body, depth + 1)
    else:
        for child in parts:
            _walk(child, body, depth + 1)


def _recovered(part: Part, body: Body) -> list[Part] | None:
    """The parts of a multipart whose declared boundary is missing or wrong; None where they cannot be told apart."""
    split = split_by_found_boundary(raw_payload(part))
    if split is None:
        return None
    body.defects.append(OTHER_BOUNDARY)
    return children(split)


def _walk_alternatives(parts: list[Part], body: Body, depth: int) -> None:
    """Read all alternatives and keep the text of one: the first plain text that is not empty, else the last text.

    Limits exceeded in an unused alternative are not recorded, because nothing of use was left unread.
    """
    readings = [Body(is_crlf=body.is_crlf, keeps_links=body.keeps_links) for _ in parts[:MAX_PARTS]]
    for child, reading in zip(parts, readings, strict=False):
        if len(body.content_types) > MAX_PARTS:
            break
        _walk(child, reading, depth)
        body.content_types += reading.content_types
        body.attachments += reading.attachments
        body.files += reading.files
        body.hidden_text = body.hidden_text or reading.hidden_text
        body.is_crossed_out = body.is_crossed_out or reading.is_crossed_out
    with_text = [reading for reading in readings if reading.text]
    plain = [reading for reading in with_text if not MARKUP_TYPES & set(reading.content_types)]
    chosen = next(iter(plain or reversed(with_text)), None)
    if plain and with_text[-1] not in plain and _is_stub(plain[0].text, with_text[-1].text):
        chosen = with_text[-1]
    if chosen is not None:
        body.texts.append(chosen.text)
    for reading in readings:
        is_used = chosen is None or reading is chosen
        body.defects += [defect for defect in reading.defects if is_used or not defect.startswith(LIMIT)]


def _is_stub(plain: str, rich: str) -> bool:
    """Whether a plain text is only a placeholder for the HTML beside it ("Your client does not support HTML")."""
    if len(plain) > MAX_STUB_CHARACTERS or (len(rich) < MUCH_LONGER * len(plain) and "html" not in plain.lower()):
        return False
    words = set(WORD.findall(plain.lower()))
    return 2 * len(words - set(WORD.findall(rich[:MAX_COMPARED_CHARACTERS].lower()))) > len(words)


def _read_leaf(part: Part, content_type: str, body: Body, *, is_root: bool) -> None:
    declared = str(part.get("Content-Type", ""))
    has_disposition = "Content-Disposition" in part
    name = _name(part, body) if has_disposition or "name" in declared.lower() else ""
    raw = _payload(part, body)
    disposition = _disposition(part) if has_disposition else None
    is_attached = disposition == "attachment" or (bool(name) and not is_root)
    if content_type.startswith("multipart/") or (content_type in TEXT_TYPES and not is_attached):
        text_type = _text_type(declared if may_read_parameters(declared) else "")
        text = _text(text_type, content_type, raw, body)
        if is_root and holds_parts(text):
            body.defects.append(f"{LIMIT}parts of MIME in a mail that is said to be one text")
        body.texts.append(text)
        return
    is_inline_image = content_type.startswith("image/") and disposition == "inline" and "Content-ID" in part
    body.attach(name, content_type, raw, is_inline_image=is_inline_image)
    if content_type in TNEF_TYPES or is_tnef(raw):
        _read_tnef(raw, body)


def _read_tnef(raw: bytes, body: Body) -> None:
    """Add the files inside a winmail.dat after it, and keep its text in case the mail has no other."""
    tnef = read_tnef(raw)
    for file in tnef.files:
        content_type = safe_line(file.content_type).lower() or "application/octet-stream"
        body.attach(safe_line(file.name), content_type, file.data)
    text = safe_text(tnef.text) or _html_text(safe_text(tnef.html)[:MAX_TEXT_CHARACTERS], body).text
    body.hidden_text = body.hidden_text or text[:MAX_TEXT_CHARACTERS]
    if not tnef.is_whole:
        body.defects.append(TNEF_DEFECT)


def _disposition(part: Part) -> str | None:
    try:
        return part.get_content_disposition()
    except Exception:  # see _name
        return None


def _name(part: Part, body: Body) -> str:
    if not all(may_read_parameters(str(part.get(field, ""))) for field in NAMING_FIELDS):
        body.defects.append(f"{LIMIT}more parameters of a part than can be read")
        return UNREADABLE_NAME
    try:
        return decode_words(header_text(str(part.get_filename() or "")))[:MAX_NAME_CHARACTERS]
    except Exception:  # the standard library raises several kinds on truncated or wrong parameters
        return UNREADABLE_NAME


def _payload(part: Part, body: Body) -> bytes:
    """The decoded bytes of a leaf; an attached mail is written out unchanged."""
    try:
        if part.is_multipart():
            return b"\n".join(_written(child, body.is_crlf) for child in children(part))
        return _decoded(part, body)
    except Exception as error:  # see _name
        body.defects.append(f"part not decoded: {type(error).__name__}")
        return raw_payload(part).encode("utf-8", "surrogateescape")


def _decoded(part: Part, body: Body) -> bytes:
    """The bytes of a leaf, decoded by its transfer encoding (RFC 2045, section 6), misspellings tolerated."""
    declared, payload = str(part.get("Content-Transfer-Encoding", "")), raw_payload(part)
    encoding = transfer_encoding(declared)
    if encoding == declared.lower():
        decoder = part
    else:  # the library compares the field exactly
        decoder = email.message.Message(policy=part.policy)
        decoder["Content-Transfer-Encoding"] = encoding
        decoder.set_payload(payload)
    raw = decoder.get_payload(decode=True)
    is_unclear = (not encoding and declared.strip()) or len(set(part.get_all("Content-Transfer-Encoding", []))) > 1
    is_prose = encoding == "base64" and not BASE64.fullmatch("".join(payload.split()))
    if is_prose or ((is_unclear or encoding not in ENCODINGS) and ENCODED.search(payload)):
        body.defects.append(f"{LIMIT}a part that cannot be decoded: {safe_line(declared)[:40]!r}")
    return raw if isinstance(raw, bytes) else b""


def transfer_encoding(declared: str) -> str:
    """The keyword of a Content-Transfer-Encoding without comments, quotation marks and parameters, or ""."""
    word = "-".join(token_of(declared).strip(" \t\r\n\"'").split())
    return word.replace("-bit", "bit")


def raw_payload(part: Part) -> str:
    """The body of a leaf as received, still encoded, each byte above 127 as a surrogate; "" for a part with parts.

    `get_payload()` would decode an 8-bit body by the declared charset, and raises TypeError for a charset in the form
    of RFC 2231 (`charset*=utf-8''utf-8`).
    """
    payload = vars(part).get("_payload")
    return payload if isinstance(payload, str) else ""


def _written(mail: Part, is_crlf: bool) -> bytes:
    buffer = BytesIO()
    _Writer(buffer, policy=AS_WRITTEN).flatten(mail, linesep="\r\n" if is_crlf else "\n")
    return buffer.getvalue()


class _TextType(NamedTuple):
    """The parameters of a text's Content-Type."""

    charset: str | None
    is_flowed: bool
    is_delsp: bool


@lru_cache(maxsize=256)
def _text_type(declared: str) -> _TextType:
    """The parameters of a Content-Type; cached, because most mails have the same few."""
    part = email.message.Message()
    if declared:
        part["Content-Type"] = declared
    try:
        charset = part.get_content_charset()
    except Exception:  # see _name
        charset = None
    return _TextType(charset, _parameter(part, "format") == "flowed", _parameter(part, "delsp") == "yes")


def _parameter(part: Part, name: str) -> str:
    """A Content-Type parameter in lower case, or ""."""
    if name not in str(part.get("Content-Type", "")).lower():
        return ""
    try:
        return str(part.get_param(name) or "").strip().lower()
    except Exception:  # see _name
        return ""


def _text(declared: _TextType, content_type: str, raw: bytes, body: Body) -> str:
    decoded = decode_bytes(raw, declared.charset)
    if not decoded.is_as_declared:
        body.defects.append("charset is not as declared")
    text = decoded.text
    if len(text) > MAX_TEXT_CHARACTERS:
        body.defects.append(f"{LIMIT}a body of more than {MAX_TEXT_CHARACTERS} characters")
        text = text[:MAX_TEXT_CHARACTERS]
    if content_type not in MARKUP_TYPES:
        is_flowed = content_type == "text/plain" and declared.is_flowed
        return unflow(text, is_delsp=declared.is_delsp) if is_flowed else text
    extract = _html_text(text, body)
    if not extract.is_whole:
        body.defects.append(f"{LIMIT}HTML that breaks off")
    return extract.text


def _html_text(html: str, body: Body) -> Extract:
    extract = html_to_text(html, keeps_links=body.keeps_links)
    body.is_crossed_out = body.is_crossed_out or extract.is_crossed_out
    return extract
