"""Limits for the standard library's mail parser, so that a hostile mail costs bounded time and memory.

The parser makes an object of each part and of each block of a delivery status, even of a blank line. It compares each
line with the boundary of each open container. It reads a field's parameters in time quadratic in their length.

Invariant: `careful_tree` ends in bounded time and memory, or raises ValueError. Checked by
tests/unit/mail/text/test_limits.py.
"""

from __future__ import annotations

import email.message
import email.parser
import email.policy
import re
from collections.abc import Callable, Iterator

MAX_PARAMETER_CHARACTERS = 2_000
"""A longer field with parameters, such as Content-Type, is not read."""
MAX_PARAMETERS = 100
MAX_PARSE_STEPS = 20_000_000
"""Containers times lines."""
MAX_TREE_PARTS = 4_000
"""Parts and report blocks of one mail together; `body` reads half as many."""
Part = email.message.Message
"""A mail, or one part of it, as the standard library parses it."""
CONTENT_TYPE = re.compile(rb"content-type:([^\r\n]*(?:(?:\r\n|\r|\n)[ \t][^\r\n]*)*)", re.IGNORECASE)


def careful_tree(raw: bytes) -> email.message.Message:
    """Parse a mail with the standard library.

    Raises:
        ValueError: the mail is beyond a limit.
    """
    if reason := beyond_limits(raw):
        raise ValueError(reason)
    return email.parser.BytesParser(_part_maker(), policy=email.policy.compat32).parsebytes(raw)


def beyond_limits(raw: bytes) -> str:
    """Why the bytes must not be parsed, as far as a quick look can tell; or ""."""
    if len(raw) <= MAX_PARAMETER_CHARACTERS:
        return ""  # too short for any limit
    containers = 0
    for match in _content_types(raw):
        value = match[1]
        if len(value) > MAX_PARAMETER_CHARACTERS:
            return f"a Content-Type of more than {MAX_PARAMETER_CHARACTERS} bytes"
        containers += value.lstrip().lower().startswith((b"multipart/", b"message/"))
    if containers * (raw.count(b"\n") + raw.count(b"\r")) > MAX_PARSE_STEPS:
        return f"{containers} nested parts on too many lines"
    return ""


def may_read_parameters(value: str) -> bool:
    """Whether a field's parameters are few and short enough to read: reading takes quadratic time."""
    return len(value) <= MAX_PARAMETER_CHARACTERS and value.count(";") <= MAX_PARAMETERS


def children(part: Part) -> list[Part]:
    """The direct parts of a multipart or an attached mail; [] for a leaf."""
    payload = part.get_payload() if part.is_multipart() else []
    return [child for child in payload if isinstance(child, Part)]


def _content_types(raw: bytes) -> Iterator[re.Match[bytes]]:
    """Each Content-Type field of any part. Searching for the bytes is ten times faster than searching by pattern."""
    lower = raw.lower()
    at = lower.find(b"content-type:")
    while at >= 0:
        if at == 0 or raw[at - 1] in b"\r\n":
            match = CONTENT_TYPE.match(raw, at)
            if match is not None:
                yield match
        at = lower.find(b"content-type:", at + 1)


def _part_maker() -> Callable[..., email.message.Message]:
    """A message factory for the parser that raises ValueError after too many parts."""
    room = iter(range(MAX_TREE_PARTS + 1))  # the parser calls the factory once more, to learn its signature

    def make(policy: email.policy.Policy) -> email.message.Message:
        if next(room, None) is None:
            raise ValueError(f"more than {MAX_TREE_PARTS} parts and blocks of reports")
        return email.message.Message(policy)

    return make
