"""Where a mail's header ends, whether two readers could see different fields in it, and which bytes are read as one.

A server that checks a mail, or marks it as a machine's, must have seen the From field and the marks that we see. Where
a line end is none for every reader, or a line within the header is no field, some end the header there and some go on.

Invariant: a text that follows the header without a blank line costs a mail nothing, unless fields follow in it. All of
it takes time linear in the length. Checked by tests/unit/mail/test_head.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple

HEAD_END = re.compile(rb"\n\r?\n")
BARE_CR = re.compile(rb"\r(?!\n)")
UNIX_FROM = re.compile(rb"From [^\n]*(?:\n|\Z)")
"""The first line of a mail out of an mbox file."""
ODD_LINE = re.compile(rb"^(?![!-9;-~]++:|[ \t]|\r?$)[^\n]*", re.MULTILINE)
FIELD_LINE = re.compile(rb"^[!-9;-~]++[ \t]*:(?!//)", re.MULTILINE)
"""A web address at the beginning of a line is text."""
BLANK_BEFORE_COLON = re.compile(
    rb"^(?!(?:arc-|authentication-|received|dkim-|x-support-agent-))([!-9;-~]++)[ \t]+:", re.MULTILINE | re.IGNORECASE
)
"""The obsolete form of a field (RFC 5322, section 4.5.8), but of none that proves something: the server that takes such
fields off a mail may not know them in this form."""
FROM_FIELD = re.compile(rb"^from[ \t]*:", re.MULTILINE | re.IGNORECASE)
FIELD_BLOCK = re.compile(rb"\s{0,100}((?:[!-9;-~]++[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*)+)")
"""Fields that stand together, behind a few blank lines at most."""


class Head(NamedTuple):
    """`raw` is the mail to parse; `objection` says why its header cannot be relied on, or is ""."""

    raw: bytes
    objection: str


def split_head(raw: bytes) -> tuple[bytes, bytes]:
    """The header of a mail, with the end of its last line, and what stands below the blank line.

    Without a blank line the header is all of the mail, and nothing is below.
    """
    end = HEAD_END.search(raw)
    return (raw[: end.start() + 1], raw[end.end() :]) if end else (raw, b"")


def read_head(raw: bytes) -> Head:
    """Look at the header of a mail, any bytes at all."""
    head, _ = split_head(raw)
    if b"\0" in head:
        return Head(raw, "a NUL in the header")
    if BARE_CR.search(head):
        return Head(raw, "a line end in the header that is none for every reader")
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
        return Head(raw, "a line within the header that is no field")
    return Head(raw, "")


def _goes_on_below(head: bytes, below: bytes) -> bool:
    """Whether a header without From ends at a blank line, and one with From follows."""
    if FROM_FIELD.search(head):
        return False
    block = FIELD_BLOCK.match(below)
    return block is not None and FROM_FIELD.search(block[1]) is not None
