"""What the standard library's mail parser may be given, so that a hostile mail costs bounded time and memory.

The parser makes an object of each part, and of each block of a delivery status, were it only a blank line; it compares
each line with the boundary of each open container; and it reads the parameters of a field in time that grows with the
square of their length.

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
"""Of a field with parameters, as Content-Type: a longer one is not read."""
MAX_PARAMETERS = 100
MAX_PARSE_STEPS = 20_000_000
"""Containers times lines."""
MAX_TREE_PARTS = 4_000
"""Parts and blocks of reports in one mail, all together; `body` reads half as many."""
Part = email.message.Message
"""A mail or a part of one, as the standard library has it."""
CONTENT_TYPE = re.compile(rb"content-type:([^\r\n]*(?:(?:\r\n|\r|\n)[ \t][^\r\n]*)*)", re.IGNORECASE)


def careful_tree(raw: bytes) -> email.message.Message:
    """The standard library's reading of a mail.

    Raises:
        ValueError: the mail is beyond a limit.
    """
    if reason := beyond_limits(raw):
        raise ValueError(reason)
    return email.parser.BytesParser(_part_maker(), policy=email.policy.compat32).parsebytes(raw)


def beyond_limits(raw: bytes) -> str:
    """Why the bytes may not be parsed, as far as that can be told before; or ""."""
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
    """Whether the parameters of a field may be asked for: each takes time with the length of all before it."""
    return len(value) <= MAX_PARAMETER_CHARACTERS and value.count(";") <= MAX_PARAMETERS


def _content_types(raw: bytes) -> Iterator[re.Match[bytes]]:
    """Each Content-Type field, of any part; a search by bytes is ten times quicker than one by pattern."""
    lower = raw.lower()
    at = lower.find(b"content-type:")
    while at >= 0:
        if at == 0 or raw[at - 1] in b"\r\n":
            match = CONTENT_TYPE.match(raw, at)
            if match is not None:
                yield match
        at = lower.find(b"content-type:", at + 1)


def _part_maker() -> Callable[..., email.message.Message]:
    """Makes the parts of one mail for the parser, and stops it where there are too many."""
    room = iter(range(MAX_TREE_PARTS + 1))  # the parser makes one more, to see how it is done

    def make(policy: email.policy.Policy) -> email.message.Message:
        if next(room, None) is None:
            raise ValueError(f"more than {MAX_TREE_PARTS} parts and blocks of reports")
        return email.message.Message(policy)

    return make
