"""Verify a mail's DKIM signatures ourselves, where our mail server does not report on them (RFC 6376, RFC 8301).

The library does the canonicalisation, the hashes and RSA. This module decides whether a signature is acceptable: it
covers the whole body and the From field, nothing can have been added to or hidden from what it covers, it has not
expired, and the key is in use, strong enough and not for tests. Alignment follows RFC 7489 with the domain's published
policy, or `agent.alignment` where there is none.

Invariant: never raises, whatever the mail and the DNS contain; asks the DNS for at most `agent.dkim_max_signatures`
keys and two policies. Checked by tests/unit/mail/senders/test_dkim_check.py.
"""

from __future__ import annotations

import base64
import email.message
import logging
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from support_agent.config.agent import AgentSettings
from support_agent.errors import TransientError
from support_agent.mail.addresses import normal_domain
from support_agent.mail.head import BARE_CR, split_head
from support_agent.mail.senders.alignment import is_aligned, organisational_domain
from support_agent.mail.text.limits import may_read_parameters

if TYPE_CHECKING:
    from dkim import DKIM  # type: ignore[import-untyped]

MAX_HEAD_BYTES = 100_000
"""The library parses a header in time quadratic in its length."""
MAX_SIGNATURE_BYTES = 4_000
MAX_SPACES = 100
"""Longest run of white space in a signature: the library's search for `b=` tries every way to split a run."""
MAX_KEY_RECORD_BYTES = 2_000
KEY_BITS = range(1024, 4097)
"""RFC 8301, section 3.2."""
MAX_EXPONENT_BITS = 64
ALGORITHM = b"rsa-sha256"
"""Not rsa-sha1 (RFC 8301, section 3.1). Signers with ed25519 also sign with RSA, as RFC 8463 advises."""
MUST_SIGN = frozenset({b"from", b"subject"})
"""Fields that every signer covers. Not Content-Type and To: Gmail omits the first, Microsoft the second."""
ONCE = MUST_SIGN | {b"date", b"to", b"cc", b"reply-to", b"sender", b"message-id", b"in-reply-to", b"references"}
ONCE |= {b"mime-version", b"content-type", b"content-transfer-encoding"}
"""Fields that may occur only once: a second one could have been added above the signed one."""
PLAIN_CHARSETS = frozenset({"us-ascii", "utf-8", "iso-8859-1", "windows-1252"})
"""Charsets that agree on ASCII."""
LINE_END = re.compile(rb"\r?\n")
LAST_LINE_END = re.compile(rb"\r?\n\Z")
BLANKS = re.compile(rb"[\t ]+")
NUMBER = re.compile(rb"[0-9]{1,12}")
LONG_SPACE = re.compile(rb"\s{%d}" % MAX_SPACES)
POLICY = re.compile(rb"v\s*=\s*DMARC1\s*(?:;|\Z)")
STRICT = re.compile(rb";\s*adkim\s*=\s*s\s*(?:;|\Z)", re.IGNORECASE)
REASONS = 3
QUIET = logging.Logger("dkim", level=logging.CRITICAL + 1)
"""Silences the library: its messages contain the sender's bytes, and the verdict says what matters."""

TxtLookup = Callable[[str, float], tuple[bytes, ...]]
"""(name, timeout in seconds) -> each TXT record of the name with its strings joined; () where there is none.

Raises:
    TransientError: no answer within the time.
"""
Tags = Mapping[bytes, bytes]


class Unfit(ValueError):
    """The mail or the signature cannot be checked."""


class DkimVerdict(NamedTuple):
    """Whether a signature is valid, whether a valid one is aligned with the From domain, and why, for people."""

    has_pass: bool
    is_aligned: bool
    why: str


DkimCheck = Callable[[str], DkimVerdict]
"""Verifies the signatures of one mail for a From domain."""


class Candidate(NamedTuple):
    """A signature whose key is worth looking up; `position` counts the DKIM-Signature fields of the mail."""

    position: int
    tags: Tags
    domain: str
    selector: str


@dataclass(frozen=True)
class Signatures:
    """The mail as parsed by the library."""

    verifier: DKIM
    body: bytes

    def verify(self, candidate: Candidate, record: bytes) -> bool:
        """Whether a signature is valid under the key of a record."""
        is_relaxed = candidate.tags.get(b"c", b"").partition(b"/")[2] == b"relaxed"
        # The same canonical form; it avoids the library's quadratic search for white space at line ends.
        self.verifier.body = BLANKS.sub(b" ", self.body) if is_relaxed else self.body
        return bool(self.verifier.verify(candidate.position, dnsfunc=lambda name, timeout: record))


def dkim_check(
    raw: Callable[[], bytes], agent: AgentSettings, now: Callable[[], datetime], lookup: TxtLookup
) -> DkimCheck | None:
    """The check of one mail's signatures; None where `agent.verify_dkim` is off."""
    if not agent.verify_dkim:
        return None
    return lambda from_domain: verify_dkim(raw(), from_domain, agent, now(), lookup)


def verify_dkim(raw: bytes, from_domain: str, agent: AgentSettings, now: datetime, lookup: TxtLookup) -> DkimVerdict:
    """Check the signatures of a mail, those of the From domain first.

    Args:
        from_domain: The domain of the only From address, normalised by `normal_domain`.
        agent: Gives `dkim_timeout_s` for each DNS query, `dkim_max_signatures` and `alignment`.
    """
    try:
        signatures, candidates, reasons = _candidates(raw, now)
    except Exception as error:  # any error of the library on hostile bytes
        return DkimVerdict(False, False, f"DKIM: the mail cannot be checked: {_said(error)}")
    candidates.sort(key=lambda candidate: _distance(candidate.domain, from_domain))
    passed = ""
    for candidate in candidates[: agent.dkim_max_signatures]:
        try:
            reason = _failure(signatures, candidate, agent, lookup)
        except Exception as error:  # as above
            reason = _said(error)
        if reason:
            reasons.append(f"{candidate.domain}: {reason}")
            continue
        reason = _misalignment(candidate.domain, from_domain, agent, lookup)
        if not reason:
            return DkimVerdict(True, True, f"DKIM signature of {candidate.domain}, checked by us")
        passed = passed or f"DKIM signature of {candidate.domain}, checked by us, but {reason}"
    if len(candidates) > agent.dkim_max_signatures:
        reasons.append(f"{len(candidates) - agent.dkim_max_signatures} more signatures not looked at")
    why = "; ".join(dict.fromkeys(reasons[:REASONS])) or "no signature"
    return DkimVerdict(bool(passed), False, passed or f"DKIM: {why}")


def _candidates(raw: bytes, now: datetime) -> tuple[Signatures, list[Candidate], list[str]]:
    """The signatures worth checking, and why the others are rejected."""
    import dkim
    from dkim.util import parse_tag_value  # type: ignore[import-untyped]

    head, body = split_head(raw)
    head = LAST_LINE_END.sub(b"", head)
    if len(head) > MAX_HEAD_BYTES:
        raise Unfit(f"a header of more than {MAX_HEAD_BYTES} bytes")
    if BARE_CR.search(head) or b"\0" in head:
        raise Unfit("a bare CR or a NUL in the header")
    if b"\nFrom " in head:  # the library skips such a line, while other readers end the header there
        raise Unfit("a line in the header that is not a field")
    signatures = Signatures(dkim.DKIM(head + b"\r\n\r\n", logger=QUIET), LINE_END.sub(b"\r\n", body))
    counts = Counter(bytes(name).lower() for name, _ in signatures.verifier.headers)
    values = [value for name, value in signatures.verifier.headers if bytes(name).lower() == b"dkim-signature"]
    candidates, reasons = [], []
    for position, value in enumerate(values):
        if len(value) > MAX_SIGNATURE_BYTES or LONG_SPACE.search(value):
            reasons.append(f"a signature of more than {MAX_SIGNATURE_BYTES} bytes or {MAX_SPACES} spaces in a row")
            continue
        try:
            tags: Tags = parse_tag_value(value)
            candidate = Candidate(position, tags, *_names(tags))
            objection = _objection(tags, counts, now) or _frame_objection(tags, counts, signatures)
        except Exception as error:  # as in `verify_dkim`; the next signature may be fine
            reasons.append(f"a signature that cannot be read: {_said(error)}")
            continue
        if objection:
            reasons.append(f"{candidate.domain}: {objection}")
        else:
            candidates.append(candidate)
    return signatures, candidates, reasons


def _names(tags: Tags) -> tuple[str, str]:
    """The signing domain and the selector, if together they form a DNS name."""
    given = tags[b"d"].decode("ascii").lower()
    selector = tags[b"s"].decode("ascii")
    domain = normal_domain(given)
    if domain is None or domain != given or normal_domain(f"{selector}._domainkey.{domain}") is None:
        raise Unfit("d= or s= is no domain")
    return domain, selector


def _objection(tags: Tags, counts: Mapping[bytes, int], now: datetime) -> str:
    """Why a signature does not count even if it is valid, or ""."""
    if tags.get(b"a") != ALGORITHM:
        return "not signed with rsa-sha256"
    if b"l" in tags:
        return "l= leaves a part of the body unsigned"
    if b"x" in tags and not (NUMBER.fullmatch(tags[b"x"]) and int(tags[b"x"]) > now.timestamp()):
        return "expired"
    signed = Counter(name.strip().lower() for name in tags[b"h"].split(b":"))
    for name in sorted(MUST_SIGN):
        if (counts.get(name) or name == b"from") and not signed[name]:
            return f"{name.decode()} is not signed"
    for name in sorted(ONCE):
        if counts.get(name, 0) > 1:
            return f"several {name.decode()} fields"
    return ""


def _frame_objection(tags: Tags, counts: Mapping[bytes, int], signatures: Signatures) -> str:
    """Why the visible body may differ from the signed one, or "".

    An attacker who replays a mail may add an unsigned field that changes how its body is read. In a signed MIME mail
    only the Content-Type may be unsigned, because Gmail leaves it so. But a changed boundary could move signed text
    before the first part or after the last one, where nobody sees it; and a changed type or charset would change how
    plain text reads.
    """
    signed = {name.strip().lower() for name in tags[b"h"].split(b":")}
    for name in (b"mime-version", b"content-transfer-encoding", b"content-disposition"):
        if counts.get(name) and name not in signed:
            return f"{name.decode()} is not signed"
    if b"content-type" in signed or not (counts.get(b"content-type") or counts.get(b"mime-version")):
        return ""
    if not (counts.get(b"content-type") and counts.get(b"mime-version")):
        return "content-type is not signed"
    value = next(value for name, value in signatures.verifier.headers if bytes(name).lower() == b"content-type")
    part = email.message.Message()
    declared = value.decode("ascii", "surrogateescape")
    if not may_read_parameters(declared):
        return "content-type is not signed, and cannot be read"
    part["Content-Type"] = declared
    if part.get_content_maintype() != "multipart":
        has_others = any(name.lower() != "charset" for name, _ in part.get_params([])[1:])
        is_plain = part.get_content_type() == "text/plain" and signatures.body.isascii() and not has_others
        return (
            "" if is_plain and part.get_content_charset("us-ascii") in PLAIN_CHARSETS else "content-type is not signed"
        )
    boundary = part.get_boundary("")
    is_within = bool(boundary) and _is_all_within(signatures.body, boundary)
    return "" if is_within else "text outside of the parts, not signed as such"


def _is_all_within(body: bytes, boundary: str) -> bool:
    """Whether a body has only blank lines before its first boundary and after the closing one."""
    line = rb"^--" + re.escape(boundary.encode("utf-8", "surrogateescape")) + rb"(--)?[ \t]*\r?$"
    boundaries = list(re.finditer(line, body, re.MULTILINE))
    if not boundaries or body[: boundaries[0].start()].strip():
        return False
    closing = next((match for match in boundaries if match[1]), None)
    return closing is not boundaries[0] and (closing is None or not body[closing.end() :].strip())


def _distance(domain: str, from_domain: str) -> int:
    """0: the From domain itself, 1: a domain of the same organisation, 2: any other."""
    return 0 if domain == from_domain else 1 if is_aligned(domain, from_domain, "relaxed") else 2


def _failure(signatures: Signatures, candidate: Candidate, agent: AgentSettings, lookup: TxtLookup) -> str:
    """Why a signature is not valid, or ""."""
    try:
        records = lookup(f"{candidate.selector}._domainkey.{candidate.domain}", agent.dkim_timeout_s)
    except TransientError:
        return "the DNS did not answer"
    keys = [record for record in records if b"p=" in record]
    if len(keys) != 1:
        return "several keys in the DNS" if keys else "no key in the DNS"
    if reason := _key_objection(keys[0], candidate.tags):
        return reason
    return "" if signatures.verify(candidate, keys[0]) else "the signature does not match"


def _key_objection(record: bytes, tags: Tags) -> str:
    """Why the key of a record does not count, or "" (RFC 6376, section 3.6.1; RFC 8301)."""
    from dkim.crypto import parse_public_key  # type: ignore[import-untyped]
    from dkim.util import parse_tag_value

    if len(record) > MAX_KEY_RECORD_BYTES:
        return "a key record that is too long"
    key: Tags = parse_tag_value(record)
    if key.get(b"v", b"DKIM1") != b"DKIM1" or key.get(b"k", b"rsa") != b"rsa":
        return "not a key of DKIM for RSA"
    if not key.get(b"p"):
        return "the key is revoked"
    flags, hashes, services = (_listed(key, tag) for tag in (b"t", b"h", b"s"))
    if b"y" in flags:
        return "the key is for tests"
    if (hashes and b"sha256" not in hashes) or (services and not services & {b"*", b"email"}):
        return "the key is not for this"
    if b"s" in flags and tags.get(b"i", b"@" + tags[b"d"]).rpartition(b"@")[2].lower() != tags[b"d"].lower():
        return "the key is not for subdomains"
    rsa = parse_public_key(base64.b64decode(key[b"p"]))
    if int(rsa["modulus"]).bit_length() not in KEY_BITS or int(rsa["publicExponent"]).bit_length() > MAX_EXPONENT_BITS:
        return f"not a key of {KEY_BITS.start} to {KEY_BITS.stop - 1} bits"
    return ""


def _listed(key: Tags, tag: bytes) -> frozenset[bytes]:
    """A colon-separated list of a key record."""
    return frozenset(item.strip() for item in key.get(tag, b"").split(b":")) - {b""}


def _misalignment(domain: str, from_domain: str, agent: AgentSettings, lookup: TxtLookup) -> str:
    """Why a domain is not aligned with the From domain, or "" (RFC 7489, sections 3.1.1 and 6.6.3)."""
    if domain == from_domain:
        return ""
    if not is_aligned(domain, from_domain, "relaxed"):
        return f"not aligned with {from_domain}"
    try:
        for name in dict.fromkeys((from_domain, organisational_domain(from_domain))):
            records = lookup(f"_dmarc.{name}", agent.dkim_timeout_s)
            policies = [record for record in records if POLICY.match(record)]
            if len(policies) > 1:
                return f"{name} has several DMARC policies"
            if policies:
                return f"{name} asks for strict alignment" if STRICT.search(policies[0]) else ""
    except TransientError:
        return f"the DNS did not answer for the policy of {from_domain}"
    return "" if agent.alignment == "relaxed" else f"{from_domain} publishes no policy"


def _said(error: Exception) -> str:
    """The text of our own error, or only the class of a library's: its text may contain the sender's bytes."""
    return str(error) if isinstance(error, Unfit) else type(error).__name__
