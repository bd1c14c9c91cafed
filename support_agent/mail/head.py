"""Find the end of a mail's header, and detect headers that two mail programs could read differently.

The server that checked a mail must have seen the same From and machine headers that we see. But programs disagree where
a header ends if it contains a bare CR or a line that is not a field: some end it there, some continue.

Invariant: text that follows the header without a blank line is accepted, unless it contains fields. All work takes time
linear in the length. Checked by tests/unit/mail/test_head.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple

HEAD_END = re.compile(rb"\n\r?\n")
BARE_CR = re.compile(rb"\r(?!\n)")
UNIX_FROM = re.compile(rb"From [^\n]*(?:\n|\Z)")
"""The first line of a mail from an mbox file."""
ODD_LINE = re.compile(rb"^(?![!-9;-~]++:|[ \t]|\r?$)[^\n]*", re.MULTILINE)
FIELD_LINE = re.compile(rb"^[!-9;-~]++[ \t]*:(?!//)", re.MULTILINE)
"""A line that begins with a web address is text."""
BLANK_BEFORE_COLON = re.compile(
    rb"^(?!(?:arc-|authentication-|received|dkim-|x-support-agent-))([!-9;-~]++)[ \t]+:", re.MULTILINE | re.IGNORECASE
)
"""The obsolete form of a field (RFC 5322, section 4.5.8). Fields that prove something are excluded: a server that
removes forged ones may not recognise them in this form."""
FROM_FIELD = re.compile(rb"^from[ \t]*:", re.MULTILINE | re.IGNORECASE)
FIELD_BLOCK = re.compile(rb"\s{0,100}((?:[!-9;-~]++[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*)+)")
"""A block of fields, after a few blank lines at most."""


class Head(NamedTuple):
    """`raw` is the mail to parse; `objection` says why its header is ambiguous, or is ""."""

    raw: bytes
    objection: str


def split_head(raw: bytes) -> tuple[bytes, bytes]:
    """The header, including its last line end, and the body below the blank line.

    Without a blank line the whole mail is header, and the body is empty.
    """
    end = HEAD_END.search(raw)
    return (raw[: end.start() + 1], raw[end.end() :]) if end else (raw, b"")


def read_head(raw: bytes) -> Head:
    """Check the header of a mail, from any bytes."""
    head, _ = split_head(raw)
    if b"\0" in head:
        return Head(raw, "a NUL in the header")
    if BARE_CR.search(head):
        return Head(raw, "a bare CR in the header")
    if BLANK_BEFORE_COLON.search(head):
        fields = BLANK_BEFORE_COLON.sub(rb"\1:", head)
        raw, head = fields + raw[len(head) :], fields
    first = UNIX_FROM.match(head)
    at = first.end() if first else 0
    if head.startswith((b"\n", b"\r\n"), at) or _goes_on_below(head, raw[len(head) :]):
        return Head(raw, "a blank line before the end of the header")
    if head.startswith((b" ", b"\t"), at):
        return Head(raw, "the header begins with the continuation of a field")
    odd = ODD_LINE.search(head, at)
    if odd is not None and FIELD_LINE.search(head, odd.end()):
        return Head(raw, "a line in the header that is not a field")
    return Head(raw, "")


def _goes_on_below(head: bytes, below: bytes) -> bool:
    """Whether the header has no From, and a block of fields with From follows below the blank line."""
    if FROM_FIELD.search(head):
        return False
    block = FIELD_BLOCK.match(below)
    return block is not None and FROM_FIELD.search(block[1]) is not None
