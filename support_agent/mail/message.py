"""A mail as the rest of the program sees it: `parse` turns any bytes into a frozen `Message`.

Invariant: `parse` never raises on bytes; what cannot be understood is kept in `defects` and the raw bytes
stay the truth. Checked by tests/unit/mail/test_message.py.
"""

from __future__ import annotations

import email.message
import email.parser
import email.policy
import email.utils
import hashlib
import re
import unicodedata
from datetime import UTC, datetime

from support_agent.frozen import Frozen
from support_agent.mail.addresses import Address as Address
from support_agent.mail.addresses import Addresses, parse_addresses
from support_agent.mail.body import LIMIT, Body, read_body
from support_agent.mail.body import Attachment as Attachment
from support_agent.mail.decoding import decode_words, header_text
from support_agent.mail.quotation import split_quotation

MAX_HEADERS = 1_000
MAX_HEADER_CHARACTERS = 100_000
MAX_CONTENT_TYPE_BYTES = 2_000
MAX_PARSE_STEPS = 20_000_000
"""Containers times lines: the standard parser compares each line with the boundary of each open container."""
MAX_REFERENCES = 500
INVISIBLE = frozenset({"Cc", "Cf", "Co", "Zl", "Zp"})
SEEN = frozenset("\t\r\n\u200c\u200d")
"""Folds, and the joiners of Persian, Hindi and emoji in a display name; no address may hold one."""
NOT_READ = "X-Support-Agent-Not-Read"
"""Field that the mailbox puts before a mail that it could not read whole; a sender who writes it gets a person."""

CONTENT_TYPE = re.compile(rb"(?:\A|[\r\n])content-type:([^\r\n]*(?:(?:\r\n|\r|\n)[ \t][^\r\n]*)*)", re.IGNORECASE)
HEAD_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
MESSAGE_ID = re.compile(r"<[^<>\s]{1,990}>")
DECODED_FIELDS = frozenset(
    {"subject", "comments", "keywords", "from", "sender", "to", "cc", "reply-to", "resent-from", "resent-to"}
    | {"organization", "thread-topic"}
)
"""Fields in which RFC 2047 words are decoded. Never in fields that machines believe: an encoded word inside
Authentication-Results could smuggle in a result."""


class Message(Frozen):
    """One inbound mail.

    `message_id` carries its angle brackets and is synthetic (from the raw bytes) where the mail has none.
    `from_` is None unless there is exactly one From field with exactly one address and nothing hidden (S22).
    `text` is the whole plain text (made from HTML where there is no text part); `visible_text` is the part
    the sender wrote now, `quoted_text` what it replies to, `signature` the rest. `headers` keeps order and
    duplicates, names as written, values unfolded, and decoded in the fields that people read. `content_types`
    lists the parts in document order, containers first, without those of attached mails.
    """

    raw_sha256: str
    size_bytes: int
    message_id: str
    has_synthetic_id: bool
    in_reply_to: str | None
    references: tuple[str, ...]
    subject: str
    sent_at: datetime | None
    from_: Address | None
    reply_to: tuple[Address, ...]
    to: tuple[Address, ...]
    cc: tuple[Address, ...]
    text: str
    visible_text: str
    quoted_text: str
    signature: str
    attachments: tuple[Attachment, ...]
    headers: tuple[tuple[str, str], ...]
    defects: tuple[str, ...]
    content_types: tuple[str, ...] = ()

    def header(self, name: str) -> str | None:
        """The topmost value of a header, or None."""
        return next(iter(self.all_headers(name)), None)

    def all_headers(self, name: str) -> tuple[str, ...]:
        """Every value of a header, topmost first; names compared without case."""
        return tuple(value for key, value in self.headers if key.lower() == name.lower())


def not_read(why: str) -> bytes:
    """The line to put before what there is of a mail; `parse` makes a defect of it."""
    return f"{NOT_READ}: {' '.join(why.split())}\r\n".encode()


def parse(raw: bytes) -> Message:
    """Read one mail, any bytes at all. Never raises; the same bytes give the same Message."""
    found: list[str] = []
    head, body = _read(raw, found)
    fields = _fields(head, found)
    found += [f"{LIMIT}{why}" for why in _values(fields, NOT_READ.lower())]
    sender = _sender(head, fields, found)
    ids = MESSAGE_ID.findall(" ".join(_values(fields, "message-id")))
    digest = hashlib.sha256(raw).hexdigest()
    split = split_quotation(body.text)
    return Message(
        raw_sha256=digest,
        size_bytes=len(raw),
        message_id=ids[0] if ids else f"<{digest[:32]}@synthetic.invalid>",
        has_synthetic_id=not ids,
        in_reply_to=next(iter(MESSAGE_ID.findall(" ".join(_values(fields, "in-reply-to")))), None),
        references=tuple(MESSAGE_ID.findall(" ".join(_values(fields, "references")))[:MAX_REFERENCES]),
        subject=next((decode_words(value) for value in _values(fields, "subject")), ""),
        sent_at=_sent_at(fields),
        from_=sender,
        reply_to=_addresses(fields, "reply-to"),
        to=_addresses(fields, "to"),
        cc=_addresses(fields, "cc"),
        text=body.text,
        visible_text=split.visible,
        quoted_text=split.quoted,
        signature=split.signature,
        attachments=tuple(body.attachments),
        headers=tuple((name, decode_words(v) if name.lower() in DECODED_FIELDS else v) for name, v in fields),
        defects=tuple(dict.fromkeys([*found, *body.defects])),
        content_types=tuple(body.content_types),
    )


def _read(raw: bytes, defects: list[str]) -> tuple[email.message.Message, Body]:
    """The parsed header and the body; the header alone where the body is beyond the parser's limits."""
    policy = email.policy.compat32
    try:
        if reason := _beyond_limits(raw):
            raise ValueError(reason)
        whole = email.parser.BytesParser(policy=policy).parsebytes(raw)
        return whole, read_body(whole)
    except Exception as error:  # any library error on hostile bytes, RecursionError included: the header is enough
        defects.append(f"{LIMIT}{str(error)[:200] or type(error).__name__}")
    end = HEAD_END.search(raw)
    head = raw[: end.end()] if end else raw[:MAX_HEADER_CHARACTERS]
    try:
        return email.parser.BytesParser(policy=policy).parsebytes(head, headersonly=True), Body()
    except Exception:  # see above
        return email.message.Message(policy=policy), Body()


def _beyond_limits(raw: bytes) -> str:
    containers = 0
    for match in CONTENT_TYPE.finditer(raw):
        value = match[1]
        if len(value) > MAX_CONTENT_TYPE_BYTES:
            return f"a Content-Type of more than {MAX_CONTENT_TYPE_BYTES} bytes"
        containers += value.lstrip().lower().startswith((b"multipart/", b"message/"))
    if containers * (raw.count(b"\n") + raw.count(b"\r")) > MAX_PARSE_STEPS:
        return f"{containers} nested parts on too many lines"
    return ""


def _fields(head: email.message.Message, defects: list[str]) -> list[tuple[str, str]]:
    """Header fields in order, unfolded; encoded words stay encoded."""
    fields: list[tuple[str, str]] = []
    for name, value in head.raw_items():
        if len(fields) == MAX_HEADERS:
            defects.append(f"{LIMIT}more than {MAX_HEADERS} header fields")
            break
        text = str(value)
        if len(text) > MAX_HEADER_CHARACTERS:
            defects.append(f"{LIMIT}a header field of more than {MAX_HEADER_CHARACTERS} characters")
            text = text[:MAX_HEADER_CHARACTERS]
        fields.append((header_text(name), header_text(text)))
    return fields


def _values(fields: list[tuple[str, str]], name: str) -> list[str]:
    return [value for key, value in fields if key.lower() == name]


def _sender(head: email.message.Message, fields: list[tuple[str, str]], defects: list[str]) -> Address | None:
    """The one address of the one From field (RFC 5322, section 3.6: each is allowed once).

    `fields` lack the characters that nobody sees, and without them it could be the address of somebody else.
    """
    values = _values(fields, "from")
    if len(values) != 1:
        defects.append("no From field" if not values else "several From fields")
        return None
    if any(_is_veiled(str(value)) for name, value in head.raw_items() if name.lower() == "from"):
        defects.append("From holds a control or invisible character")
        return None
    senders = parse_addresses(values[0], decode_words)
    if not senders.is_exact or len(senders.found) != 1:
        defects.append("From is not exactly one address")
        return None
    return senders.found[0]


def _is_veiled(raw: str) -> bool:
    """Whether a field as it came has a character that is not seen, besides white space and what joins letters."""
    text = raw.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return any(unicodedata.category(char) in INVISIBLE and char not in SEEN for char in text)


def _addresses(fields: list[tuple[str, str]], name: str) -> tuple[Address, ...]:
    parsed: list[Addresses] = [parse_addresses(value, decode_words) for value in _values(fields, name)]
    return tuple(address for addresses in parsed for address in addresses.found)


def _sent_at(fields: list[tuple[str, str]]) -> datetime | None:
    """The Date field as aware UTC; "-0000" and a missing zone count as UTC."""
    try:
        sent_at = email.utils.parsedate_to_datetime(_values(fields, "date")[0][:200])
        return (sent_at if sent_at.tzinfo else sent_at.replace(tzinfo=UTC)).astimezone(UTC)
    except (IndexError, ValueError, TypeError, OverflowError):
        return None
