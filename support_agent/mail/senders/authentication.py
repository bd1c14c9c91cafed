"""Parse Authentication-Results (RFC 8601) strictly: comments, folding, several methods, forged copies.

Invariant: a value that breaks the grammar anywhere gives no result at all; nothing inside a comment or a quoted string
is read as a result. Checked by tests/unit/mail/senders/test_authentication.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from support_agent.core.levels import lower_address

MAX_CHARACTERS = 20_000
"""A border server writes a few hundred characters; a longer value is not read."""
SPACE = " \t\r\n"
"""White space in mail headers; `\\s` would match a no-break space too, which servers do not treat as a space."""
WS = "[ \\t\\r\\n]"
NAME = "[A-Za-z0-9][A-Za-z0-9_-]*"
QUOTED = r'"(?:[^"\\]|\\.)*"'
PLAIN = r'[^ \t\r\n;"()]'
PAIR = re.compile(
    rf"{WS}*({NAME}(?:{WS}*[./]{WS}*[A-Za-z0-9_-]+)?){WS}*={WS}*"
    rf"({QUOTED}(?:@{PLAIN}+)?|(?!=){PLAIN}+|(?={WS}*\Z))(?={WS}|\Z)",
    re.DOTALL,
)
"""One `name=value`. Only the last value may be missing: elsewhere the next word could be read as the value."""
AUTHSERV = re.compile(rf'{WS}*({QUOTED}|[^ \t\r\n;"=()]+)(?:{WS}+([0-9]+))?{WS}*', re.DOTALL)
VERSION_1 = re.compile("0*1")
SEGMENT = re.compile(rf"({QUOTED}|;)", re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class MethodResult(NamedTuple):
    """One method's result, names in lower case; `properties` are pairs like ("header.from", "example.org")."""

    method: str
    result: str
    properties: tuple[tuple[str, str], ...]

    def values(self, name: str) -> tuple[str, ...]:
        """Every value of a property."""
        return tuple(value for key, value in self.properties if key == name)


class AuthenticationResults(NamedTuple):
    """One field: the server that wrote it, and its results.

    `authserv_id` is "" where the field begins with a result instead, as Exchange Online writes it. `results` is None
    where the field has another version or breaks the grammar.
    """

    authserv_id: str
    results: tuple[MethodResult, ...] | None


def parse_authentication_results(value: str) -> AuthenticationResults | None:
    """Parse one field value; None where not even the authserv-id can be read."""
    plain = _without_comments(value) if len(value) <= MAX_CHARACTERS else None
    if plain is None:
        return None
    first, *rest = _split(plain)
    head = AUTHSERV.fullmatch(first)
    if head is None:
        return AuthenticationResults("", _results([first, *rest])) if _result(first) else None
    authserv_id = lower_address(_unquote(head[1]))
    if not authserv_id:
        return None
    if not VERSION_1.fullmatch(head[2] or "1"):
        return AuthenticationResults(authserv_id, None)
    if len(rest) == 1 and rest[0].strip(SPACE).lower() == "none":
        return AuthenticationResults(authserv_id, ())
    return AuthenticationResults(authserv_id, _results(rest))


def _without_comments(value: str) -> str | None:
    """Replace each comment outside quoted strings by a space; None where a comment or a string never ends.

    None also where a parenthesis follows an open quotation mark inside a comment. Quotation marks have no meaning in
    comments (RFC 5322, section 3.2.2). But some servers copy the sender's envelope address into a comment unchanged,
    and its quoted local part may contain the end of the comment and a forged result.
    """
    out: list[str] = []
    depth = 0
    in_quotes = is_escaped = is_quoting = False
    for char in value:
        if is_escaped:
            is_escaped = False
        elif char == "\\" and (in_quotes or depth):
            is_escaped = True
        elif char == '"' and depth:
            is_quoting = not is_quoting
        elif char == '"':
            in_quotes = not in_quotes
        elif char in "()" and is_quoting:
            return None
        elif char == "(" and not in_quotes:
            depth += 1
        elif char == ")" and depth:
            depth -= 1
            out.append(" ")
            continue
        if not depth:
            out.append(char)
    return None if depth or in_quotes else "".join(out)


def _split(plain: str) -> list[str]:
    """Split at each semicolon outside quoted strings."""
    segments = [""]
    for piece in SEGMENT.split(plain):
        if piece == ";":
            segments.append("")
        else:
            segments[-1] += piece
    return segments


def _results(segments: list[str]) -> tuple[MethodResult, ...] | None:
    """The results of all segments that are not empty; None if any cannot be read."""
    results = [_result(segment) for segment in segments if segment.strip(SPACE)]
    readable = tuple(result for result in results if result is not None)
    return readable if len(readable) == len(results) else None


def _result(segment: str) -> MethodResult | None:
    """Parse one `method=result reason=... ptype.property=value ...`; None if the segment contains anything else."""
    pairs: list[tuple[str, str]] = []
    at, end = 0, len(segment.rstrip(SPACE))
    while at < end:
        match = PAIR.match(segment, at)
        if match is None:
            return None
        pairs.append((re.sub(f"{WS}+", "", match[1]).lower(), _unquote(match[2])))
        at = match.end()
    if not pairs:
        return None
    (method, result), *properties = pairs
    name, _, version = method.partition("/")
    if "." in method or not result or not VERSION_1.fullmatch(version or "1"):
        return None
    return MethodResult(name, result.lower(), tuple(properties))


def _unquote(text: str) -> str:
    is_quoted = len(text) > 1 and text.startswith('"') and text.endswith('"')
    return ESCAPED.sub(r"\1", text[1:-1]) if is_quoted else text
