"""Parse a mail: `parse` turns any bytes into a frozen `Message`.

Invariant: `parse` never raises on any bytes; it records what it cannot read in `defects`, and the raw bytes remain the
source of truth. Checked by tests/unit/mail/test_message.py.
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
from functools import cached_property
from pathlib import Path

from support_agent.core.frozen import Frozen
from support_agent.mail.addresses import MAX_ADDRESSES, parse_addresses, parse_fields
from support_agent.mail.addresses import Address as Address
from support_agent.mail.head import read_head, split_head
from support_agent.mail.text.body import LIMIT, Body, read_body
from support_agent.mail.text.body import Attachment as Attachment
from support_agent.mail.text.decoding import decode_words, header_text
from support_agent.mail.text.limits import careful_tree
from support_agent.mail.text.quotation import split_quotation

MAX_HEADERS = 1_000
MAX_HEADER_CHARACTERS = 100_000
MANY_FIELDS = f"{LIMIT}more than {MAX_HEADERS} header fields"
LONG_FIELD = f"{LIMIT}a header field of more than {MAX_HEADER_CHARACTERS} characters"
LONG_HEADER = f"{LIMIT}a header of more than {MAX_HEADER_CHARACTERS} characters"
OF_HEADER = frozenset({MANY_FIELDS, LONG_FIELD, LONG_HEADER})
"""After one of these defects the unread part may contain another From field, or machine headers."""
MAX_REFERENCES = 500
INVISIBLE = frozenset({"Cc", "Cf", "Co", "Zl", "Zp"})
SEEN = frozenset("\t\r\n\u200c\u200d")
"""Allowed: folds, and the joiners of Persian, Hindi and emoji in a display name; no address may contain one."""
NO_FROM = "no From field"
NOT_READ = "X-Support-Agent-Not-Read"
"""Field that the mailbox puts before a mail that it could not read completely. Anywhere else the sender forged it: then
the mail goes to a person, and the field's text is not used."""

MESSAGE_ID = re.compile(r"<[^<>\s]{1,990}>")
DECODED_FIELDS = frozenset(
    {"subject", "comments", "keywords", "from", "sender", "to", "cc", "reply-to", "resent-from", "resent-to"}
    | {"organization", "thread-topic"}
)
"""Fields in which RFC 2047 words are decoded. Fields that programs trust are excluded: an encoded word inside
Authentication-Results could smuggle in a result."""


class Message(Frozen):
    """One inbound mail.

    `message_id` includes the angle brackets; it is synthetic (from the raw bytes) if the mail has none.
    `from_` is None unless there is exactly one From field with exactly one address and no invisible characters, in an
    unambiguous header (S22).
    `text` is the whole plain text (from HTML if there is no text part); `visible_text` is the sender's new text,
    `quoted_text` the mail that it replies to, `signature` the rest. `headers` keeps order and duplicates, names as
    written, values unfolded; fields that people read are decoded. `content_types` lists the parts in document order,
    containers first, without those of attached mails.
    """

    raw_sha256: str
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
    is_crossed_out: bool = False
    """Some of its text in HTML is crossed out, which plain text would show as valid."""

    @property
    def why_not_whole(self) -> str:
        """The first defect that means that a part of the mail was not read (S15), or ""."""
        return next((defect for defect in self.defects if defect.startswith(LIMIT)), "")

    @property
    def other_reply_to(self) -> tuple[str, ...]:
        """The addresses in Reply-To that are not the sender's: nothing is sent there (S16)."""
        own = self.from_.addr if self.from_ is not None else ""
        return tuple(address.addr for address in self.reply_to if address.addr != own)

    def header(self, name: str) -> str | None:
        """The topmost value of a header, or None."""
        return next(iter(self.all_headers(name)), None)

    def all_headers(self, name: str) -> tuple[str, ...]:
        """Every value of a header, topmost first; names compared without case."""
        return self._by_name.get(name.lower(), ())

    def people(self, own: str) -> tuple[str, ...]:
        """Names and addresses of the sender, of Reply-To, and of the other recipients.

        Args:
            own: Our address, which is left out.
        """
        others = [one for one in (*self.to, *self.cc) if one.addr.casefold() != own.casefold()]
        people = [*([self.from_] if self.from_ else []), *self.reply_to, *others]
        return tuple(text for person in people for text in (person.name, person.addr))

    @cached_property
    def _by_name(self) -> dict[str, tuple[str, ...]]:
        """The values by lower-case name, because screening looks up thirty names, most of them absent.

        A copy (`model_copy`) shares it, so no copy may change the headers.
        """
        found: dict[str, tuple[str, ...]] = {}
        for name, value in self.headers:
            lower = name.lower()
            found[lower] = (*found.get(lower, ()), value)
        return found


def not_read(why: str) -> bytes:
    """The line to put before a mail that was read in part; `parse` turns it into a defect."""
    return f"{NOT_READ}: {' '.join(why.split())}\r\n".encode()


def read_file(path: Path, max_bytes: int) -> bytes:
    """Read a mail from a file; of a longer one only the beginning, below a `not_read` line.

    Args:
        max_bytes: `imap.max_message_bytes`.
    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        raw = file.read(max_bytes + 1)
    if len(raw) <= max_bytes:
        return raw
    return not_read(f"more than imap.max_message_bytes = {max_bytes}") + raw[:max_bytes]


def _not_read(raw: bytes, values: list[str]) -> list[str]:
    """Defects from `NOT_READ` fields; only the first line of a mail comes from the mailbox, all others are forged."""
    own = values[:1] if raw.startswith(f"{NOT_READ}: ".encode()) else []
    forged = [f"the mail has a forged {NOT_READ} field"] if len(values) > len(own) else []
    return [f"{LIMIT}{why}" for why in (*own, *forged)]


def parse(raw: bytes, *, keeps_links: bool = False) -> Message:
    """Parse one mail from any bytes. Never raises; the same bytes give the same Message.

    Args:
        keeps_links: Write the target of a link of HTML after its text: a person's words for a customer need it.
    """
    found: list[str] = []
    readable, objection = read_head(raw)
    head, body = _read(readable, found, keeps_links=keeps_links)
    fields = _fields(head, found)
    by_name: dict[str, list[str]] = {}
    for name, value in fields:
        by_name.setdefault(name.lower(), []).append(value)
    found += _not_read(raw, by_name.get(NOT_READ.lower(), []))
    sender = _sender(head, by_name.get("from", []), found)
    if objection or not OF_HEADER.isdisjoint(found):
        sender = None
        found += [objection] if objection else []
    ids = _ids(by_name, "message-id")
    digest = hashlib.sha256(raw).hexdigest()
    split = split_quotation(body.text, sender)
    return Message(
        raw_sha256=digest,
        message_id=ids[0] if ids else f"<{digest[:32]}@synthetic.invalid>",
        has_synthetic_id=not ids,
        in_reply_to=next(iter(_ids(by_name, "in-reply-to")), None),
        references=tuple(_ids(by_name, "references")[:MAX_REFERENCES]),
        subject=decode_words(by_name.get("subject", [""])[0]),
        sent_at=_sent_at(by_name.get("date", [])),
        from_=sender,
        reply_to=_addresses(by_name, "reply-to", found),
        to=_addresses(by_name, "to", found),
        cc=_addresses(by_name, "cc", found),
        text=body.text,
        visible_text=split.visible,
        quoted_text=split.quoted,
        signature=split.signature,
        attachments=tuple(body.attachments),
        headers=tuple((name, decode_words(v) if name.lower() in DECODED_FIELDS else v) for name, v in fields),
        defects=tuple(dict.fromkeys([*found, *body.defects])),
        content_types=tuple(body.content_types),
        is_crossed_out=body.is_crossed_out,
    )


def attached_bytes(raw: bytes) -> tuple[bytes, ...]:
    """The bytes of a mail's attachments, in the order of `Message.attachments`."""
    return tuple(_read(read_head(raw).raw, [])[1].files)


def _read(raw: bytes, defects: list[str], *, keeps_links: bool = False) -> tuple[email.message.Message, Body]:
    """The parsed header and the body; only the header if the mail is beyond the parser's limits."""
    policy = email.policy.compat32
    try:
        whole = careful_tree(raw)
        return whole, read_body(whole, is_crlf=b"\r\n" in raw, keeps_links=keeps_links)
    except Exception as error:  # any library error on hostile bytes, even RecursionError: fall back to the header
        defects.append(f"{LIMIT}{str(error)[:200] or type(error).__name__}")
    head, _ = split_head(raw)
    if len(head) == len(raw) > MAX_HEADER_CHARACTERS:  # it has no end
        head = head[:MAX_HEADER_CHARACTERS]
        defects.append(LONG_HEADER)
    try:
        return email.parser.BytesParser(policy=policy).parsebytes(head, headersonly=True), Body()
    except Exception:  # see above
        return email.message.Message(policy=policy), Body()


def _fields(head: email.message.Message, defects: list[str]) -> list[tuple[str, str]]:
    """Header fields in order, unfolded; encoded words stay encoded."""
    fields: list[tuple[str, str]] = []
    for name, value in head.raw_items():
        if len(fields) == MAX_HEADERS:
            defects.append(MANY_FIELDS)
            break
        text = str(value)
        if len(text) > MAX_HEADER_CHARACTERS:
            defects.append(LONG_FIELD)
            text = text[:MAX_HEADER_CHARACTERS]
        fields.append((header_text(name), header_text(text)))
    return fields


def _ids(by_name: dict[str, list[str]], name: str) -> list[str]:
    values = by_name.get(name)
    return MESSAGE_ID.findall(" ".join(values)) if values else []


def _sender(head: email.message.Message, values: list[str], defects: list[str]) -> Address | None:
    """The single address of the single From field (RFC 5322, section 3.6 allows one field).

    `values` no longer contain invisible characters. Without these the address could be somebody else's, so the raw
    field is checked for them.
    """
    if len(values) != 1:
        defects.append(NO_FROM if not values else "several From fields")
        return None
    if any(_has_invisible(str(value)) for name, value in head.raw_items() if name.lower() == "from"):
        defects.append("From holds a control or invisible character")
        return None
    senders = parse_addresses(values[0], decode_words)
    if not senders.is_exact or len(senders.found) != 1:
        defects.append("From is not exactly one address")
        return None
    return senders.found[0]


def _has_invisible(raw: str) -> bool:
    """Whether a raw field has an invisible character other than folds and joiners."""
    if raw.isascii() and raw.isprintable():
        return False
    text = raw.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return any(unicodedata.category(char) in INVISIBLE and char not in SEEN for char in text)


def _addresses(by_name: dict[str, list[str]], name: str, defects: list[str]) -> tuple[Address, ...]:
    """The addresses of all fields with a name; together they have the limit of one field."""
    parsed = parse_fields(by_name.get(name, ()), decode_words)
    if not parsed.is_whole:
        defects.append(f"{LIMIT}more than {MAX_ADDRESSES} addresses in {name.capitalize()}")
    return parsed.found


def _sent_at(values: list[str]) -> datetime | None:
    """The Date field as aware UTC; "-0000" and a missing zone count as UTC."""
    try:
        sent_at = email.utils.parsedate_to_datetime(values[0][:200])
        return (sent_at if sent_at.tzinfo else sent_at.replace(tzinfo=UTC)).astimezone(UTC)
    except (IndexError, ValueError, TypeError, OverflowError):
        return None
