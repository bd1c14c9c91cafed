"""Parse address fields, in one linear pass that behaves the same on every Python version.

Invariant: `Addresses.is_exact` is False whenever two readers could disagree about the address (a group, an unclosed
quote, words after the address, a second address in the display name), so the sender's identity never rests on a guess
(RFC 5322, section 3.4). Checked by tests/unit/mail/test_addresses.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import idna

from support_agent.config.agent import AgentSettings
from support_agent.core.frozen import Frozen
from support_agent.core.levels import lower_address

MAX_LOCAL_CHARACTERS = 64
MAX_DOMAIN_CHARACTERS = 253
MAX_ADDRESSES = 1_000
"""Addresses read from all fields of a name, valid or not; an internationalised domain takes far more time than an ASCII
one."""
LOCAL_PART = re.compile(
    r"[^\s<>()\[\]\\,;:@\"\x00-\x20\x7f-\x9f\xad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+"
)
RUN = re.compile(r"[^\"(<,;:]*")
ASCII_DOMAIN = re.compile(r"(?!-)[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?")


class Address(Frozen):
    """One mailbox address; `addr` is normalised by `normal_address`."""

    name: str
    addr: str

    @property
    def domain(self) -> str:
        return self.addr.rpartition("@")[2]


class Addresses(NamedTuple):
    """The valid addresses of one field; `is_exact` if the field contains nothing but plain addresses.

    `is_whole` is False if the field has more addresses than are read. `tried` counts those read, valid or not.
    """

    found: tuple[Address, ...]
    is_exact: bool
    is_whole: bool = True
    tried: int = 0


def normal_address(text: str) -> str | None:
    """`local@domain`, lower-cased by `lower_address`, the domain as A-labels (RFC 5890); None if it is no address."""
    local, at, domain = text.strip(" \t").rpartition("@")
    if not at or len(local) > MAX_LOCAL_CHARACTERS or not LOCAL_PART.fullmatch(local):
        return None
    a_label = normal_domain(domain)
    return f"{lower_address(local)}@{a_label}" if a_label else None


def normal_domain(text: str) -> str | None:
    """A domain as lower-case A-labels without the final dot; None if it is not a domain."""
    domain = text.strip().lower()
    if not domain or len(domain) > MAX_DOMAIN_CHARACTERS:
        return None
    if domain.isascii():
        return domain.rstrip(".") if ASCII_DOMAIN.fullmatch(domain) else None
    try:
        return idna.encode(domain, uts46=True).decode("ascii").rstrip(".")
    except (idna.IDNAError, UnicodeError):
        return None


def without_tag(address: str) -> str:
    """An address without its "+tag": mail to both comes to one mailbox."""
    local, at, domain = address.rpartition("@")
    return f"{local.partition('+')[0] or local}{at}{domain}"


def is_own(address: str, agent: AgentSettings) -> bool:
    """Whether mail to a normalised address, with any "+tag", comes to the agent."""
    return without_tag(address) in _own(agent.address, agent.aliases)


@lru_cache(maxsize=16)
def _own(address: str, aliases: tuple[str, ...]) -> frozenset[str]:
    return frozenset(without_tag(lower_address(own)) for own in (address, *aliases) if own)


@dataclass
class _Mailbox:
    """The address being read."""

    phrase: list[str] = field(default_factory=list)
    comment: list[str] = field(default_factory=list)
    angle: str | None = None
    bare: list[str] = field(default_factory=list)  # unquoted words outside of angle brackets

    def is_empty(self) -> bool:
        return self.angle is None and not "".join(self.phrase).strip()


def parse_fields(values: Iterable[str], decode: Callable[[str], str]) -> Addresses:
    """Read all fields of a name; together they have the limit of one field."""
    found: list[Address] = []
    tried, is_exact = 0, True
    for value in values:
        parsed = parse_addresses(value, decode, MAX_ADDRESSES - tried)
        found += parsed.found
        tried += parsed.tried
        is_exact &= parsed.is_exact
        if not parsed.is_whole:
            return Addresses(tuple(found), False, False, tried)
    return Addresses(tuple(found), is_exact, True, tried)


def parse_addresses(value: str, decode: Callable[[str], str], limit: int = MAX_ADDRESSES) -> Addresses:
    """Read one unfolded, still encoded address field.

    Args:
        decode: Turns a raw display name into text.
        limit: Of addresses that are read, valid or not.
    """
    found: list[Address] = []
    is_exact = True
    mailbox = _Mailbox()
    at = tried = 0
    while at <= len(value):
        char = value[at] if at < len(value) else ","
        if char in ",;":
            if tried == limit:
                is_whole = mailbox.is_empty() and not value[at:].strip(" ,")
                return Addresses(tuple(found), False, is_whole, tried)
            tried += not mailbox.is_empty()
            is_exact &= _finish(mailbox, found, decode)
            is_exact &= char == ","
            mailbox = _Mailbox()
            at += 1
            continue
        if char == ":" and mailbox.angle is None:
            is_exact, mailbox = False, _Mailbox()  # a group: drop its name, read its members
            at += 1
            continue
        end = _token_end(value, at)
        if end is None:
            return Addresses(tuple(found), False, True, tried)
        is_exact &= _take(mailbox, value[at:end])
        at = end
    return Addresses(tuple(found), is_exact, True, tried)


def _token_end(value: str, at: int) -> int | None:
    """End of the quoted string, comment, angle address or run of characters at `at`; None if it never ends."""
    match value[at]:
        case '"':
            return _closing(value, at, '"')
        case "(":
            return _closing(value, at, ")")
        case "<":
            end = value.find(">", at)
            return None if end < 0 else end + 1
        case _:
            return RUN.match(value, at + 1).end()  # type: ignore[union-attr]  # the pattern matches anywhere


def _closing(value: str, at: int, closer: str) -> int | None:
    """Index after the closer; a backslash quotes the next character, comments nest."""
    depth = 0
    escaped = False
    for index in range(at, len(value)):
        char = value[index]
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == "(" and closer == ")":
            depth += 1
        elif char == closer and (closer == ")" or index > at):
            depth -= 1
            if depth <= 0:
                return index + 1
    return None


def _take(mailbox: _Mailbox, token: str) -> bool:
    """Add one token; False if it makes the address ambiguous."""
    if token[0] == "<":
        is_first = mailbox.angle is None
        mailbox.angle = token[1:-1] if is_first else mailbox.angle
        return is_first
    if token[0] == "(":
        mailbox.comment.append(token[1:-1])
        return True
    if token[0] == '"':
        mailbox.phrase.append(re.sub(r"\\(.)", r"\1", token[1:-1]))
        return mailbox.angle is None
    mailbox.phrase.append(token)
    mailbox.bare.append(token)
    return mailbox.angle is None or not token.strip()


def _finish(mailbox: _Mailbox, found: list[Address], decode: Callable[[str], str]) -> bool:
    """Finish the address being read; False if it is ambiguous or invalid. An empty one is fine."""
    if mailbox.is_empty():
        return True
    bare = "".join(mailbox.bare)
    addr = normal_address(mailbox.angle if mailbox.angle is not None else bare)
    if addr is None:
        return False
    if mailbox.angle is None:
        is_exact = len(mailbox.phrase) == len(mailbox.bare)
        name = " ".join(mailbox.comment)
    else:
        # some clients write the address a second time, as an unquoted name
        is_same = len(mailbox.phrase) == len(mailbox.bare) and normal_address(bare) == addr
        is_exact = is_same or "@" not in bare
        name = "".join(mailbox.phrase)
    found.append(Address(name=" ".join(decode(name).split()), addr=addr))
    return is_exact
