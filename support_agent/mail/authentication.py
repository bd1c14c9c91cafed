"""Read Authentication-Results (RFC 8601) as a sceptic: comments, folding, several methods, forged copies.

Invariant: a value that does not follow the grammar to its end gives no result at all; nothing inside a
comment or a quoted string is ever taken for a result. Checked by tests/unit/mail/test_authentication.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PAIR = re.compile(
    r"\s*([A-Za-z0-9][A-Za-z0-9_-]*(?:\s*[./]\s*[A-Za-z0-9_-]+)?)\s*=\s*(\"(?:[^\"\\]|\\.)*\"(?:@[^\s;\"]+)?|[^\s;\"=][^\s;\"]*)(?=\s|$)"
)
AUTHSERV = re.compile(r"\s*(\"(?:[^\"\\]|\\.)*\"|[^\s;\"=]+)(?:\s+([0-9]+))?\s*")


class Result(NamedTuple):
    """One method's result: names lower-cased, `properties` like ("header.from", "example.org")."""

    method: str
    result: str
    properties: tuple[tuple[str, str], ...]

    def values(self, name: str) -> tuple[str, ...]:
        """Every value of a property."""
        return tuple(value for key, value in self.properties if key == name)


class AuthenticationResults(NamedTuple):
    """`results` is None where the header is of another version or does not follow the grammar."""

    authserv_id: str
    results: tuple[Result, ...] | None


def parse_authentication_results(value: str) -> AuthenticationResults | None:
    """Read one unfolded header value; None where not even the authserv-id can be read."""
    plain = _without_comments(value)
    if plain is None:
        return None
    first, *rest = _split(plain)
    head = AUTHSERV.fullmatch(first)
    if head is None:
        return None
    authserv_id = _unquote(head[1]).lower()
    if not authserv_id:
        return None
    if int(head[2] or "1") != 1:
        return AuthenticationResults(authserv_id, None)
    if len(rest) == 1 and rest[0].strip().lower() == "none":
        return AuthenticationResults(authserv_id, ())
    results = [_result(segment) for segment in rest if segment.strip()]
    if any(result is None for result in results):
        return AuthenticationResults(authserv_id, None)
    return AuthenticationResults(authserv_id, tuple(result for result in results if result is not None))


def _without_comments(value: str) -> str | None:
    """Replace each comment outside of quoted strings by a space; None where one of the two never ends."""
    out: list[str] = []
    depth = 0
    in_quotes = is_escaped = False
    for char in value:
        if is_escaped:
            is_escaped = False
        elif char == "\\" and (in_quotes or depth):
            is_escaped = True
        elif char == '"' and not depth:
            in_quotes = not in_quotes
        elif char == "(" and not in_quotes:
            depth += 1
        elif char == ")" and depth:
            depth -= 1
            out.append(" ")
            continue
        if not depth:
            out.append(char)
    return None if depth or in_quotes or is_escaped else "".join(out)


def _split(plain: str) -> list[str]:
    """Split at each semicolon that is not quoted."""
    segments = [""]
    for piece in re.split(r"(\"(?:[^\"\\]|\\.)*\"|;)", plain):
        if piece == ";":
            segments.append("")
        else:
            segments[-1] += piece
    return segments


def _result(segment: str) -> Result | None:
    """One `method=result reason=... ptype.property=value ...`; None where the segment has anything else."""
    pairs: list[tuple[str, str]] = []
    at = 0
    while segment[at:].strip():
        match = PAIR.match(segment, at)
        if match is None:
            return None
        pairs.append((re.sub(r"\s+", "", match[1]).lower(), _unquote(match[2])))
        at = match.end()
    (method, result), *properties = pairs
    if "." in method:
        return None
    name, _, version = method.partition("/")
    if version not in {"", "1"}:
        return None
    return Result(name, result.lower(), tuple(properties))


def _unquote(text: str) -> str:
    is_quoted = text.startswith('"') and text.endswith('"')
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if is_quoted else text
