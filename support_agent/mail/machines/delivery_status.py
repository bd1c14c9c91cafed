"""The fields of a delivery report: which recipients failed, were delayed or got the mail (RFC 3464).

Invariant: any text gives a `DeliveryStatus`, in time linear in its length. Misplaced blank lines (none between two
recipients, or one within a recipient) do no harm: each field belongs to the recipient that it follows.
Checked by tests/unit/mail/machines/test_delivery_status.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from support_agent.mail.addresses import normal_address
from support_agent.mail.message import MESSAGE_ID

FAILED = frozenset({"failed", "failure", "error", "undeliverable"})
"""RFC 3464 defines "failed" only; servers write the others too."""
DELAYED = frozenset({"delayed", "delay"})
DELIVERED = frozenset({"delivered", "relayed", "expanded"})
STATUS_CODE = re.compile(r"(?<![\d.])([245])\.(\d{1,3})\.(\d{1,3})(?![\d.])")
"""An enhanced status code (RFC 3463); the look-around keeps it from matching inside an IP address."""
FIELD = re.compile(r"([A-Za-z][A-Za-z0-9-]{1,60})[ \t]*:[ \t]*(.*)")
NO_ADDRESS = r"\s<>()\[\]\"',;:\\|\u3001\u3002\u3008-\u3011\uff08\uff09\uff0c\uff1a-\uff1e\u2018-\u201f\u00ab\u00bb"
"""Characters that end an address in running text: space and punctuation, Chinese and Japanese punctuation included."""
ADDRESS_IN_TEXT = re.compile(rf"[^{NO_ADDRESS}]{{1,64}}@[^{NO_ADDRESS}/?!=]{{1,253}}")
ENCODED_CHARACTER = re.compile(r"\\x\{([\da-f]{2,6})\}", re.IGNORECASE)
"""The ASCII form of a non-ASCII character in an address (RFC 6533, section 3)."""
BEGINS_RECIPIENT = ("original-recipient", "final-recipient")
OF_RECIPIENT = frozenset({*BEGINS_RECIPIENT, "action", "status", "diagnostic-code", "x-actual-recipient"})


class RecipientStatus(NamedTuple):
    """What a report says about one recipient; a field is "" where the report gives nothing usable."""

    address: str
    action: str
    status: str

    @property
    def is_failed(self) -> bool:
        return self.action in FAILED or (not self.action and self.status.startswith("5"))

    @property
    def is_delayed(self) -> bool:
        return self.action in DELAYED or (not self.action and self.status.startswith("4"))

    @property
    def is_delivered(self) -> bool:
        return self.action in DELIVERED or (not self.action and self.status.startswith("2"))


class DeliveryStatus(NamedTuple):
    """One report: its envelope ids (ENVID, RFC 3461), the Message-IDs of the reported mail, and the recipients."""

    envelope_ids: tuple[str, ...]
    message_ids: tuple[str, ...]
    recipients: tuple[RecipientStatus, ...]


def read_delivery_status(text: str) -> DeliveryStatus:
    """Read the decoded body of a `message/delivery-status` part, or any text with such fields in it."""
    envelope_ids: list[str] = []
    message_ids: list[str] = []
    recipients: list[RecipientStatus] = []
    fields: dict[str, str] = {}
    for name, value in _fields(text):
        if name == "original-envelope-id" and value:
            envelope_ids.append(value)
        elif name in {"original-message-id", "x-original-message-id"}:
            message_ids += MESSAGE_ID.findall(value)
        has_recipient = not fields.keys().isdisjoint(BEGINS_RECIPIENT)
        has_outcome = not fields.keys().isdisjoint(("action", "status"))
        if name in fields or (name in BEGINS_RECIPIENT and has_recipient and has_outcome):
            recipients.append(_recipient(fields))
            fields = {}
        if name in OF_RECIPIENT:
            fields[name] = value
    if fields:
        recipients.append(_recipient(fields))
    reported = tuple(recipient for recipient in recipients if recipient.action or recipient.status)
    return DeliveryStatus(tuple(envelope_ids), tuple(message_ids), reported)


def usable_address(text: str) -> str:
    """The mail address that a report or a notice names, normalised by `normal_address`, or "".

    "anna...@example.org" gives "": archives shorten addresses like that.
    """
    plain = text.strip(" \t\r\n\"'<>()[]{},;:.")
    plain = re.sub(r"^(?:(?:mailto|smtp|rfc822)\s*[:=;]\s*|cn=)", "", plain, flags=re.IGNORECASE)
    return "" if "..." in text or plain.startswith("=") else normal_address(plain) or ""


def more_exact(status: str, diagnostic: str) -> str:
    """The status; instead of a bare "x.0.0", a code of the same class from the diagnostic text."""
    if status and not status.endswith(".0.0"):
        return status
    for match in STATUS_CODE.finditer(diagnostic):
        if not status or match[1] == status[0]:
            return match[0]
    return status


def _recipient(fields: dict[str, str]) -> RecipientStatus:
    addresses = (_address_of(fields.get(name, "")) for name in (*BEGINS_RECIPIENT, "x-actual-recipient"))
    action = re.match(r"[a-z]*", fields.get("action", "").lower())
    code = STATUS_CODE.search(fields.get("status", ""))
    status = more_exact(code[0] if code else "", fields.get("diagnostic-code", ""))
    return RecipientStatus(next(filter(None, addresses), ""), action[0] if action else "", status)


def _address_of(value: str) -> str:
    """The address in "rfc822; anna@example.org", in "<anna@example.org>" and in mixtures of the two."""
    kind, semicolon, rest = value.partition(";")
    if semicolon and kind.strip().lower() not in {"rfc822", "utf-8", "smtp", "internet", "dns", ""}:
        return ""
    match = ADDRESS_IN_TEXT.search(ENCODED_CHARACTER.sub(_character, rest if semicolon else value))
    return usable_address(match[0]) if match else ""


def _character(match: re.Match[str]) -> str:
    """The character with that code point; a backslash, which no address has, for controls and invalid numbers."""
    number = int(match[1], 16)
    is_letter = 0x20 < number < 0xD800 or 0xE000 <= number <= 0x10FFFF
    return chr(number) if is_letter else "\\"


def _fields(text: str) -> list[tuple[str, str]]:
    """Lower-case name and unfolded value of each field; blank lines are ignored, because servers put them anywhere."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line[:1] in {" ", "\t"} and found:
            name, value = found[-1]
            if len(value) < 4_000:
                found[-1] = (name, f"{value} {line.strip()[:1000]}".strip())
        elif match := FIELD.match(line[:2000]):
            found.append((match[1].lower(), match[2].strip()))
    return found
