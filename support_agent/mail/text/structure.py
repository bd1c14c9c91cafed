"""The tree of parts of a well-formed mail, several times as fast as the standard library's parser makes it.

Invariant: `read_tree` gives what `email.parser.BytesParser` gives for the same bytes, in every attribute of every part,
or None. It is None wherever that parser would note a defect or has a rule of its own (a line end of another kind, a
boundary that is missing, doubled or never closed, a delivery status, a digest, a line before the header): there the
standard library stays the one that reads. Checked by tests/unit/mail/text/test_structure.py, and with each input of
`python -m tests.fuzz`.
"""

from __future__ import annotations

import email.errors
import email.message
import re
from collections.abc import Iterator
from typing import NamedTuple

from support_agent.mail.text.limits import MAX_TREE_PARTS, Part

MAX_DEPTH = 10
"""Parts within each other; deeper mails are for the careful parser, which knows when to stop."""
FIELD = re.compile(r"([!-9;-~]++):[ \t]*+([^\n]*+\n(?:[ \t][^\n]*+\n)*+)")
"""A field name by RFC 5322, section 3.6.8, and all lines of its value. Nothing is tried twice: the time is linear."""
HEADER_LINE = re.compile(r"From |[!-9;-~]*+:|[\t ]")
BLANK_LINE = re.compile(r"^\r?\n", re.MULTILINE)
CONTAINERS = ("multipart", "message")
PLAIN_ENCODINGS = frozenset({"7bit", "8bit", "binary"})


class _Unusual(Exception):
    """Something that this module leaves to the standard library."""


class _Pieces(NamedTuple):
    """Where the parts of a multipart are; each `end` is behind the line end that belongs to the next boundary."""

    preamble: str | None
    spans: list[tuple[int, int]]
    epilogue: str


def read_tree(raw: bytes) -> Part | None:
    """The parsed mail, or None where it has to be read with care."""
    if raw.count(b"\r") != raw.count(b"\r\n"):
        return None
    text = raw.decode("ascii", "surrogateescape")
    try:
        return _part(text, 0, len(text), is_within=False, depth=0, room=iter(range(MAX_TREE_PARTS)))
    except _Unusual:
        return None


def _part(text: str, at: int, end: int, *, is_within: bool, depth: int, room: Iterator[int]) -> Part:
    """The part that `text[at:end]` is; within a multipart its last line end belongs to the boundary that follows.

    `room` has one number for each part that the mail may still have.
    """
    if next(room, None) is None:
        raise _Unusual
    part = email.message.Message()
    content_type = ""
    if text.startswith("From ", at, end) and (line_end := text.find("\n", at, end)) >= 0:
        part.set_unixfrom(text[at:line_end].removesuffix("\r"))
        at = line_end + 1
    while field := FIELD.match(text, at, end):
        name, value = field[1], field[2].rstrip("\r\n")
        part.set_raw(name, value)
        if not content_type and name.lower() == "content-type":
            content_type = value or "/"
        at = field.end()
    at = _body_start(part, text, at, end)
    if not content_type.lstrip().lower().startswith(CONTAINERS):
        part.set_payload(_without_line_end(text[at:end]) if is_within else text[at:end])
    elif part.get_content_maintype() == "multipart":
        _fill(part, text, at, end, is_within=is_within, depth=depth, room=room)
    elif part.get_content_type() == "message/delivery-status":
        _fill_report(part, text, at, end, is_within=is_within, depth=depth, room=room)
    elif part.get_content_maintype() == "message":
        _go_deeper(depth)
        part.attach(_part(text, at, end, is_within=is_within, depth=depth + 1, room=room))
    else:
        raise _Unusual
    return part


def _body_start(part: Part, text: str, at: int, end: int) -> int:
    """Behind the blank line; where text stands in its place, that is the body, and the part has a defect."""
    if at == end:
        return at
    for line_end in ("\n", "\r\n"):
        if text.startswith(line_end, at, end):
            return at + len(line_end)
    if HEADER_LINE.match(text, at, end):
        raise _Unusual
    part.defects.append(email.errors.MissingHeaderBodySeparatorDefect())
    return at


def _without_line_end(text: str) -> str:
    return text[:-1].removesuffix("\r") if text.endswith("\n") else text


def _go_deeper(depth: int) -> None:
    if depth == MAX_DEPTH:
        raise _Unusual


def _fill_report(part: Part, text: str, at: int, end: int, *, is_within: bool, depth: int, room: Iterator[int]) -> None:
    """Read the fields of a delivery status: a header without a body for each block between blank lines."""
    _go_deeper(depth)
    while True:
        blank = BLANK_LINE.search(text, at, end)
        stop = blank.start() if blank else end
        behind = blank.end() if blank else end
        part.attach(_part(text, at, stop, is_within=is_within and behind == end, depth=depth + 1, room=room))
        if behind == end:
            return
        at = behind


def _fill(part: Part, text: str, at: int, end: int, *, is_within: bool, depth: int, room: Iterator[int]) -> None:
    """Read the parts of a multipart; those of an outer boundary have been cut off before, as they take precedence."""
    _go_deeper(depth)
    encoding = str(part.get("Content-Transfer-Encoding", "8bit")).lower()
    boundary = part.get_boundary()
    is_usual = encoding in PLAIN_ENCODINGS and part.get_content_type() != "multipart/digest"
    if not is_usual or not boundary or not (boundary.isascii() and boundary.isprintable()):
        raise _Unusual
    pieces = _pieces(text, at, end, boundary)
    if pieces.preamble is not None:
        part.preamble = pieces.preamble
    for start, stop in pieces.spans:
        part.attach(_part(text, start, stop, is_within=True, depth=depth + 1, room=room))
    part.epilogue = (_without_line_end(pieces.epilogue) if pieces.epilogue else None) if is_within else pieces.epilogue


def _pieces(text: str, at: int, end: int, boundary: str) -> _Pieces:
    """Cut the body `text[at:end]` of a multipart at its boundary lines; a line end stands before `at`."""
    separator = f"\n--{boundary}"
    preamble: str | None = None
    spans: list[tuple[int, int]] = []
    start = -1
    found = text.find(separator, at - 1, end)
    while found >= 0:
        line_end = text.find("\n", found + 1, end)
        line_end = end if line_end < 0 else line_end
        rest = text[found + len(separator) : line_end].removesuffix("\r").rstrip(" \t")
        if rest in ("", "--"):
            if start < 0:
                preamble = text[at:found].removesuffix("\r") if found >= at else None
            elif found < start:  # a boundary on the line after a boundary
                raise _Unusual
            else:
                spans.append((start, found + 1))
            start = line_end + 1
            if rest and spans:
                return _Pieces(preamble, spans, text[start:end])
            if rest or start >= end:
                raise _Unusual
        found = text.find(separator, line_end, end)
    raise _Unusual
