"""Compose the bytes of outgoing mails from a subject and bodies that were rendered elsewhere.

Invariant: the same arguments give the same bytes on every machine and Python version (date, id and boundary are
arguments or derived from them), no header can be injected, lines end in CRLF and have at most 998 octets, and no word
of a body is written here. Checked by tests/unit/mail/test_outgoing.py.

Bodies are sent as quoted-printable UTF-8, so that no server on the way has a reason to change them.
"""

from __future__ import annotations

import base64
import quopri
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Literal, NamedTuple
from urllib.parse import quote

from support_agent.config.agent import AgentSettings
from support_agent.core.frozen import Frozen
from support_agent.errors import PermanentError
from support_agent.mail.addresses import normal_address
from support_agent.mail.keys import ORIGIN, ORIGIN_HEADER, boundary, read_origin
from support_agent.mail.message import Message
from support_agent.mail.text.decoding import safe_line

MAX_LINE_OCTETS = 998
"""RFC 5322, section 2.1.1, without CRLF."""
FOLD_OCTETS = 76
MAX_WORD_OCTETS = 42
"""UTF-8 octets in one encoded word: 56 as base64, 68 with the delimiters; RFC 2047 allows 75."""
MAX_REFERENCES_OCTETS = 900
MAX_SUBJECT_CHARACTERS = 200
ORIGINAL_NAME = "original.eml"
"""The name of the customer's mail in a packet."""
PLAIN_NAME = re.compile(r"[A-Za-z0-9 ._()+,=@\[\]-]{1,100}")
"""File names that need no encoding."""
SUPPRESS = "OOF, AutoReply, DR, RN, NRN"
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
REPLY_PREFIX = re.compile(
    r"^(?:\s*(?:re|aw|antw|antwort|sv|vs|rv|ref|fwd?|wg|tr|r)\s*(?:\[\d{1,3}\]\s*)?:)+\s*", re.IGNORECASE
)
SENDABLE_ID = re.compile(r"<[\x21-\x3b\x3d\x3f-\x7e]{1,250}>")

AutoSubmitted = Literal["auto-replied", "auto-generated"]
Fields = list[tuple[str, str]]


class EnclosedFile(NamedTuple):
    """A file that goes out with a person's reply."""

    name: str
    content_type: str
    content: bytes


class OutgoingHead(Frozen):
    """The header values that do not come from the parent mail; with them a mail can be composed again without the key.

    `message_id` is made by `keys.message_id`, `origin` by `keys.origin_header`. `sent_at` is aware, and the same on
    each try. `from_address` and `from_name` become From and Reply-To. `is_threaded`: In-Reply-To and References get the
    parent mail's ids, which its sender chose.
    """

    message_id: str
    sent_at: datetime
    to: str
    from_address: str
    from_name: str
    origin: str
    is_threaded: bool = True


def compose(head: OutgoingHead, *, subject: str, text: str, html: str, parent: Message) -> bytes:
    """Compose an automatic mail to the customer: multipart/alternative, in the parent's thread if `head.is_threaded`.

    Args:
        head: Its `to` is exactly the parent's From address (S16).
        subject: Rendered; see `reply_subject`.
        text: Rendered plain text, lines end in LF.
        html: Rendered HTML of the same items.
        parent: The customer's mail that is answered.
    Raises:
        PermanentError: a control character in a header value, or an address that cannot be written to.
    """
    thread = _thread(parent) if head.is_threaded else []
    fields = [*_fields(head, subject), *thread, *_automatic("auto-replied"), *_origin(head)]
    parts = [_text_part("text/plain", text), _text_part("text/html", html)]
    return _assemble(fields, "multipart/alternative", parts, head.message_id)


def compose_notice(head: OutgoingHead, *, subject: str, text: str, original: bytes | None = None) -> bytes:
    """Compose a plain-text notice to our own staff (a desk packet), in a thread of its own.

    `original`, the customer's mail, is attached as message/rfc822 if it is 7-bit, else as a base64 .eml file, because
    message/rfc822 must not be encoded (RFC 2046, section 5.2.1).
    """
    fields = [*_fields(head, subject), *_automatic("auto-generated"), *_origin(head)]
    parts = [_text_part("text/plain", text)]
    if original is None:
        return _serialise(fields, parts[0])
    parts.append(_mail_part(original, boundary(head.message_id)))
    return _assemble(fields, "multipart/mixed", parts, head.message_id)


def compose_person_reply(
    head: OutgoingHead, *, subject: str, text: str, parent: Message, files: Sequence[EnclosedFile] = ()
) -> bytes:
    """Compose a staff member's reply to the customer, in the thread of `parent`, the customer's last mail.

    A person wrote it, so it has no Auto-Submitted; it has the origin header, so that we recognise it if it comes back.

    Args:
        files: The staff member's own, with clean names.
    """
    fields = [*_fields(head, subject), *_thread(parent), *_origin(head)]
    if not files:
        return _serialise(fields, _text_part("text/plain", text))
    parts = [_text_part("text/plain", text), *map(_file_part, files)]
    return _assemble(fields, "multipart/mixed", parts, head.message_id)


def reply_subject(parent_subject: str) -> str:
    """One "Re:" and the parent's subject on one line, without other prefixes, controls and bidi characters (S43)."""
    return f"Re: {thread_subject(parent_subject) or ''}".strip()


def thread_subject(subject: str) -> str | None:
    """A subject on one line, cleaned and without "Re:", which a template adds; None if nothing is left."""
    plain = " ".join(BIDI.sub("", safe_line(subject)).split())
    return REPLY_PREFIX.sub("", plain)[:MAX_SUBJECT_CHARACTERS].strip() or None


def next_hops(parent: Message, agent: AgentSettings) -> int:
    """The hop count of an answer to `parent`: one more than its highest, whichever installation signed it (S50)."""
    origins = [read_origin(agent.secrets, value) for value in parent.all_headers(ORIGIN_HEADER)]
    return 1 + max((origin.hops for origin in origins if origin is not None), default=0)


def thread_references(parent: Message) -> list[str]:
    """The References of an answer: the parent's, then the parent's id, shortened to 900 octets (the first and the
    last).

    Empty for a parent without a Message-ID: nobody else knows the synthetic one.
    """
    if parent.has_synthetic_id:
        return []
    known = parent.references or ((parent.in_reply_to,) if parent.in_reply_to else ())
    ids = [id_ for id_ in dict.fromkeys((*known, parent.message_id)) if SENDABLE_ID.fullmatch(id_)]
    room = MAX_REFERENCES_OCTETS - len(ids[0]) - 1 if ids else 0
    kept: list[str] = []
    for id_ in reversed(ids[1:]):
        room -= len(id_) + 1
        if room < 0:
            break
        kept.append(id_)
    return [*ids[:1], *reversed(kept)]


def _fields(head: OutgoingHead, subject: str) -> Fields:
    if head.sent_at.tzinfo is None:
        raise PermanentError("the date of an outgoing mail has no time zone: pass an aware datetime")
    sender = _mailbox(head.from_name, _address(head.from_address, "agent.address"))
    if not SENDABLE_ID.fullmatch(head.message_id):
        raise PermanentError(f"not a Message-ID: {head.message_id!r}", code="header_refused")
    return [
        ("Date", format_datetime(head.sent_at.astimezone(UTC).replace(microsecond=0))),
        ("From", sender),
        ("Reply-To", sender),
        ("To", _address(head.to, "the recipient")),
        ("Subject", _encode("Subject", subject)),
        ("Message-ID", head.message_id),
    ]


def _thread(parent: Message) -> Fields:
    references = thread_references(parent)
    if not references:
        return []
    return [("In-Reply-To", references[-1]), ("References", "\r\n ".join(references))]


def _automatic(submitted: AutoSubmitted) -> Fields:
    return [("Auto-Submitted", submitted), ("X-Auto-Response-Suppress", SUPPRESS)]


def _origin(head: OutgoingHead) -> Fields:
    if not ORIGIN.fullmatch(head.origin):
        raise PermanentError(f"not an origin header: {head.origin!r}", code="header_refused")
    return [(ORIGIN_HEADER, head.origin.replace("; tag=", ";\r\n tag="))]


def _address(address: str, what: str) -> str:
    """A valid ASCII address; a non-ASCII local part would need SMTPUTF8, which few servers support."""
    plain = normal_address(address)
    if plain is None or not plain.isascii() or CONTROL.search(address):
        raise PermanentError(f"{what} is not an address that can be written to: {address!r}", code="address_refused")
    return plain


def _mailbox(name: str, address: str) -> str:
    if not name:
        return f"<{address}>"
    if CONTROL.search(name):
        raise PermanentError(f"control character in the name {name!r}", code="header_refused")
    if not name.isascii():
        return f"{_encode('From', name)}\r\n <{address}>"
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}" <{address}>'


def _encode(field: str, value: str) -> str:
    """An unstructured value, folded; as RFC 2047 words unless it is short plain ASCII.

    Raises:
        PermanentError: the value contains CR, LF or another control character, as header injection does.
    """
    if CONTROL.search(value):
        raise PermanentError(f"control character in {field}: {value!r}", code="header_refused")
    if value.isascii() and "=?" not in value and len(field) + 2 + len(value) <= FOLD_OCTETS:
        return value
    return "\r\n ".join(
        f"=?utf-8?b?{base64.b64encode(chunk.encode()).decode()}?=" for chunk in _chunks(value, MAX_WORD_OCTETS)
    )


def _chunks(value: str, octets: int) -> list[str]:
    """Split text into pieces of at most `octets` UTF-8 octets, never inside a character."""
    chunks = [""]
    for char in value:
        if len((chunks[-1] + char).encode()) > octets:
            chunks.append("")
        chunks[-1] += char
    return chunks


def _text_part(content_type: str, text: str) -> bytes:
    head = f"Content-Type: {content_type}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    normal = text.replace("\r\n", "\n").replace("\r", "\n")
    return head.encode() + quopri.encodestring(normal.encode()).replace(b"\n", b"\r\n")


def _mail_part(original: bytes, own_boundary: str) -> bytes:
    lines = original.replace(b"\r\n", b"\n").split(b"\n")
    is_plain = (
        original.isascii()
        and not re.search(rb"[\x00\r]", b"\n".join(lines))
        and max(map(len, lines)) <= MAX_LINE_OCTETS
        and own_boundary.encode() not in original
    )
    if is_plain:
        head = b"Content-Type: message/rfc822\r\nContent-Disposition: attachment; filename=original.eml\r\n\r\n"
        return head + b"\r\n".join(lines)
    head = (
        b"Content-Type: application/octet-stream; name=original.eml\r\n"
        b"Content-Disposition: attachment; filename=original.eml\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    )
    return head + base64.encodebytes(original).rstrip(b"\n").replace(b"\n", b"\r\n")


def _file_part(file: EnclosedFile) -> bytes:
    """A file as base64. Its name as RFC 2231 writes it where it is not plain ASCII."""
    if CONTROL.search(file.name) or CONTROL.search(file.content_type):
        raise PermanentError(f"control character in the file name {file.name!r}", code="header_refused")
    is_plain = PLAIN_NAME.fullmatch(file.name) is not None
    name = f'filename="{file.name}"' if is_plain else f"filename*=utf-8''{quote(file.name, safe='')}"
    head = (
        f"Content-Type: {file.content_type}\r\nContent-Disposition: attachment;\r\n {name}\r\n"
        "Content-Transfer-Encoding: base64\r\n\r\n"
    )
    return head.encode() + base64.encodebytes(file.content).rstrip(b"\n").replace(b"\n", b"\r\n")


def _assemble(fields: Fields, content_type: str, parts: list[bytes], message_id: str) -> bytes:
    own = boundary(message_id)
    body = b"".join(b"--" + own.encode() + b"\r\n" + part + b"\r\n" for part in parts)
    head = f'Content-Type: {content_type};\r\n boundary="{own}"\r\n\r\n'.encode()
    return _serialise(fields, head + body + b"--" + own.encode() + b"--\r\n")


def _serialise(fields: Fields, content: bytes) -> bytes:
    """The whole mail: the fields, then `content`, which begins with its Content fields. Checks every line's length."""
    head = "".join(f"{name}: {value}\r\n" for name, value in [*fields, ("MIME-Version", "1.0")]).encode("ascii")
    raw = head + content if content.endswith(b"\r\n") else head + content + b"\r\n"
    if any(len(line) > MAX_LINE_OCTETS for line in raw.split(b"\r\n")):
        raise PermanentError(f"a line of more than {MAX_LINE_OCTETS} octets", code="header_refused")
    return raw
