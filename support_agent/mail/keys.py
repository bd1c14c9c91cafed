"""Sign our Message-IDs and origin headers, so that we recognise them later (HMAC-SHA256 under `agent.secret`).

`agent.secret` signs; what `agent.previous_secrets` have signed is still recognised (`AgentSettings.secrets`).

Invariant: the same arguments give the same id on every try and in every replay, and nobody without the key can make an
id that verifies; an empty or short key signs and verifies nothing. Checked by tests/unit/mail/test_keys.py and
tests/unit/workflow/test_rotation.py.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import SecretStr

from support_agent.errors import ConfigError

MIN_SECRET_CHARACTERS = 32
TOKEN_BITS = 96
TAG_BITS = 128
OWN_MESSAGE_ID = re.compile(r"<sa\.([0-9a-f]{24})\.([0-9a-f]{32})@[^<>@\s]+>")
ENVELOPE_ID = re.compile(r"sa\.([0-9a-f]{24})\.([0-9a-f]{32})")
VERP_TAG_DIGITS = 16
VERP_ADDRESS = re.compile(r"[^@]+\+b-([0-9a-f]{24})([0-9a-f]{16})@[^@]+")
MAX_LOCAL_CHARACTERS = 64
ORIGIN_HEADER = "X-Support-Agent-Origin"
ORIGIN = re.compile(r"v1; hops=([0-9]{1,4}); token=([0-9a-f]{24}); tag=([0-9a-f]{32})")


class Origin(NamedTuple):
    """One origin header (S50): how many automatic answers led to the mail, and whether we signed it."""

    hops: int
    is_ours: bool


def message_id(secret: SecretStr, domain: str, case_id: str, mail_id: str, kind: str) -> str:
    """The Message-ID of one outgoing mail, in angle brackets; the same for all tries (S42).

    Args:
        secret: `agent.secret`, at least 32 characters.
        domain: Right side of the id, the domain of our address.
        case_id: The case the mail belongs to.
        mail_id: The inbound mail that causes it; each causes at most one outgoing mail of a kind.
        kind: "answer", "acknowledgement", "packet", "person_reply", "digest", "alarm"; or "failure" or "reminder",
            with a number.
    Raises:
        ConfigError: the secret is missing or too short.
    """
    token = _hmac(secret, "token", case_id, mail_id, kind)[: TOKEN_BITS // 4]
    return f"<sa.{token}.{_tag(secret, 'message-id', token)}@{domain}>"


def is_own_message_id(secrets: Sequence[SecretStr], candidate: str) -> bool:
    """Whether `message_id` made it with one of these keys; the domain may differ, because gateways rewrite it."""
    match = OWN_MESSAGE_ID.fullmatch(candidate.strip())
    return match is not None and _verifies(secrets, match[2], "message-id", match[1])


def envelope_id(own_id: str) -> str:
    """The envelope id (ENVID, RFC 3461) by which a bounce names the mail; "" if the Message-ID is not ours.

    It contains the full tag of the Message-ID, so only somebody who has seen the mail can write one.
    """
    match = OWN_MESSAGE_ID.fullmatch(own_id)
    return "" if match is None else f"sa.{match[1]}.{match[2]}"


def bounce_address(address: str, own_id: str) -> str:
    """The envelope sender of one mail (VERP): our address with the mail's token; without it if that is too long."""
    local, _, domain = address.rpartition("@")
    match = OWN_MESSAGE_ID.fullmatch(own_id)
    if match is None:
        return address
    keyed = f"{local}+b-{match[1]}{match[2][:VERP_TAG_DIGITS]}"
    return f"{keyed}@{domain}" if len(keyed) <= MAX_LOCAL_CHARACTERS else address


def named_id(secrets: Sequence[SecretStr], domain: str, text: str) -> str | None:
    """Our Message-ID that a Message-ID, an envelope id or a bounce address names; None if it is not ours.

    Args:
        domain: Right side of the returned id, the domain of our address; `text` may have a rewritten one.
    """
    for form, tag_digits in (
        (OWN_MESSAGE_ID, TAG_BITS // 4),
        (ENVELOPE_ID, TAG_BITS // 4),
        (VERP_ADDRESS, VERP_TAG_DIGITS),
    ):
        if (match := form.fullmatch(text.strip())) is None:
            continue
        for secret in filter(_is_usable, secrets):
            tag = _tag(secret, "message-id", match[1])
            if hmac.compare_digest(match[2], tag[:tag_digits]):
                return f"<sa.{match[1]}.{tag}@{domain}>"
        return None
    return None


def origin_header(secret: SecretStr, own_id: str, hops: int) -> str:
    """The value of our origin header; `own_id` is one of our Message-IDs, `hops` at least 1."""
    token = _hmac(secret, "origin-token", own_id)[: TOKEN_BITS // 4]
    return f"v1; hops={hops}; token={token}; tag={_tag(secret, 'origin', str(hops), token)}"


def read_origin(secrets: Sequence[SecretStr], value: str) -> Origin | None:
    """Parse an origin header, also one of another installation, whose hops count too; None if it is malformed."""
    match = ORIGIN.fullmatch(value.strip())
    if match is None:
        return None
    return Origin(hops=int(match[1]), is_ours=_verifies(secrets, match[3], "origin", str(int(match[1])), match[2]))


def desk_key(secret: SecretStr, *parts: str) -> str:
    """A key of 128 bits, in base32, that proves that we offered exactly this to the desk.

    Args:
        parts: All that the key is bound to: the command, the packet, the digest of what it approves, the expiry.
    Raises:
        ConfigError: as `message_id`.
    """
    return base64.b32encode(bytes.fromhex(_tag(secret, "desk", *parts))).decode().rstrip("=")


def is_desk_key(secrets: Sequence[SecretStr], candidate: str, *parts: str) -> bool:
    """Whether `desk_key` made it of these parts with one of these keys; compared in constant time."""
    usable = filter(_is_usable, secrets)
    return any(hmac.compare_digest(candidate.encode(), desk_key(secret, *parts).encode()) for secret in usable)


def boundary(own_id: str) -> str:
    """A MIME boundary derived from the Message-ID, so that a replay gives the same bytes."""
    return "sa-" + hashlib.sha256(f"boundary\0{own_id}".encode()).hexdigest()[:40]


def _tag(secret: SecretStr, *parts: str) -> str:
    return _hmac(secret, *parts)[: TAG_BITS // 4]


def _verifies(secrets: Sequence[SecretStr], tag: str, *parts: str) -> bool:
    return any(hmac.compare_digest(tag, _tag(secret, *parts)) for secret in filter(_is_usable, secrets))


def _is_usable(secret: SecretStr) -> bool:
    return len(secret.get_secret_value()) >= MIN_SECRET_CHARACTERS


def _hmac(secret: SecretStr, *parts: str) -> str:
    """Hex digest of the parts, each prefixed with its length, so that different lists never give the same bytes."""
    if not _is_usable(secret):
        raise ConfigError(
            f"agent.secret has fewer than {MIN_SECRET_CHARACTERS} characters: set agent.secret or agent.secret_file",
            code="secret_too_short",
        )
    data = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
    return hmac.new(secret.get_secret_value().encode(), data, hashlib.sha256).hexdigest()
