"""Read a winmail.dat: the envelope (TNEF) in which Outlook hides attachments and text from other programs.

Invariant: any bytes give a `Tnef`; sizes are checked before they are used and the work is linear. Sources: MS-OXTNEF
(the stream), MS-OXCDATA section 2.11 (the sizes of property values). Checked by tests/unit/mail/text/test_tnef.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from support_agent.mail.text.decoding import decode_bytes

SIGNATURE = 0x223E9F78
MAX_ATTACHMENTS = 500
MAX_PROPERTIES = 5_000

BODY = 0x0002800C
MESSAGE_PROPERTIES = 0x00069003
CODE_PAGE = 0x00069007
ATTACHMENT_START = 0x00069002
ATTACHMENT_TITLE = 0x00018010
ATTACHMENT_DATA = 0x0006800F
ATTACHMENT_PROPERTIES = 0x00069005

TEXT_BODY, RTF_BODY, HTML_BODY = 0x1000, 0x1009, 0x1013
LONG_FILE_NAME, ATTACHED_OBJECT, MIME_TYPE = 0x3707, 0x3701, 0x370E

TYPE_TEXT, TYPE_UNICODE, TYPE_OBJECT, TYPE_BINARY = 0x1E, 0x1F, 0x0D, 0x102
VARIABLE_TYPES = frozenset({TYPE_TEXT, TYPE_UNICODE, TYPE_OBJECT, TYPE_BINARY})
FIXED_SIZES = {
    **dict.fromkeys((0x02, 0x03, 0x04, 0x0A, 0x0B), 4),
    **dict.fromkeys((0x05, 0x06, 0x07, 0x14, 0x40), 8),
    0x48: 16,
}
MULTIPLE = 0x1000
FIRST_NAMED = 0x8000


class TnefFile(NamedTuple):
    """One attached file."""

    name: str
    content_type: str
    data: bytes


class Tnef(NamedTuple):
    """What was inside: `text` is plain, `html` still markup; `is_whole` is False where something was not read."""

    text: str
    html: str
    files: tuple[TnefFile, ...]
    is_whole: bool


class _BrokenOff(Exception):
    """The bytes end before they should."""


class _Contents:
    """What has been read so far."""

    def __init__(self) -> None:
        self.code_page = "cp1252"
        self.text = self.html = ""
        self.has_rtf = False
        self.files: list[dict[str, str | bytes]] = []

    def result(self, *, is_whole: bool) -> Tnef:
        files = tuple(
            TnefFile(str(one.get("name", "")), str(one.get("type", "")), bytes(one.get("data", b"")))  # type: ignore[arg-type]
            for one in self.files
        )
        return Tnef(self.text, self.html, files, is_whole and not (self.has_rtf and not self.text and not self.html))


def is_tnef(raw: bytes) -> bool:
    """Whether the bytes begin like a winmail.dat."""
    return raw[:4] == SIGNATURE.to_bytes(4, "little")


def read_tnef(raw: bytes) -> Tnef:
    """Read the text and the attached files. Never raises; formatted text (RTF) is recognised, but not read."""
    contents = _Contents()
    if not is_tnef(raw):
        return contents.result(is_whole=False)
    try:
        for attribute, value in _attributes(raw):
            _take(contents, attribute, value)
    except _BrokenOff:
        return contents.result(is_whole=False)
    return contents.result(is_whole=True)


def _attributes(raw: bytes) -> Iterator[tuple[int, bytes]]:
    at = 6  # signature and key
    while at + 9 <= len(raw):
        _, attribute, size = struct.unpack_from("<BII", raw, at)
        value = raw[at + 9 : at + 9 + size]
        if len(value) < size:
            raise _BrokenOff
        yield attribute, value
        at += 9 + size + 2  # its checksum is not checked: the mail's own transfer is safer than it
    if at != len(raw):
        raise _BrokenOff


def _take(contents: _Contents, attribute: int, value: bytes) -> None:
    if attribute == CODE_PAGE and len(value) >= 4:
        contents.code_page = f"cp{struct.unpack_from('<I', value)[0]}"
    elif attribute == BODY:
        contents.text = contents.text or _string(value, contents.code_page)
    elif attribute == MESSAGE_PROPERTIES:
        _take_body(contents, value)
    elif attribute == ATTACHMENT_START:
        if len(contents.files) == MAX_ATTACHMENTS:
            raise _BrokenOff
        contents.files.append({})
    elif contents.files:
        one = contents.files[-1]
        if attribute == ATTACHMENT_TITLE:
            one.setdefault("name", _string(value, contents.code_page))
        elif attribute == ATTACHMENT_DATA:
            one["data"] = value
        elif attribute == ATTACHMENT_PROPERTIES:
            _take_file(contents, one, value)


def _take_body(contents: _Contents, value: bytes) -> None:
    for name, kind, data in _properties(value):
        if name == TEXT_BODY:
            contents.text = _property_text(data, kind, contents.code_page) or contents.text
        elif name == HTML_BODY:
            contents.html = _property_text(data, kind, contents.code_page)
        elif name == RTF_BODY:
            contents.has_rtf = True


def _take_file(contents: _Contents, one: dict[str, str | bytes], value: bytes) -> None:
    for name, kind, data in _properties(value):
        if name == LONG_FILE_NAME:
            one["name"] = _property_text(data, kind, contents.code_page)
        elif name == MIME_TYPE:
            one["type"] = _property_text(data, kind, contents.code_page)
        elif name == ATTACHED_OBJECT and not one.get("data"):
            one["data"] = data[16:] if kind == TYPE_OBJECT else data  # an object begins with the id of its interface


def _properties(value: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(id, type, bytes) of each property that has one value; raises _BrokenOff where the bytes do not fit."""
    count, at = _number(value, 0), 4
    if count > MAX_PROPERTIES:
        raise _BrokenOff
    for _ in range(count):
        tag = _number(value, at)
        kind, name = tag & 0xFFFF, tag >> 16
        at += 4
        if name >= FIRST_NAMED:
            at = _after_name(value, at)
        base = kind & ~MULTIPLE if kind & MULTIPLE and kind != MULTIPLE else kind
        values = 1
        if kind & MULTIPLE or base in VARIABLE_TYPES:
            values, at = _number(value, at), at + 4
        if values > MAX_PROPERTIES:
            raise _BrokenOff
        for _ in range(values):
            if base in VARIABLE_TYPES:
                size, at = _number(value, at), at + 4
            elif base in FIXED_SIZES:
                size = FIXED_SIZES[base]
            else:
                raise _BrokenOff
            data = value[at : at + size]
            if len(data) < size:
                raise _BrokenOff
            at += size + -size % 4
            if values == 1 and not kind & MULTIPLE:
                yield name, base, data


def _after_name(value: bytes, at: int) -> int:
    """The index after the name of a named property: its set, and a number or a string."""
    is_string, at = _number(value, at + 16), at + 20
    if not is_string:
        return at + 4
    size = _number(value, at)
    return at + 4 + size + -size % 4


def _number(value: bytes, at: int) -> int:
    try:
        return int(struct.unpack_from("<I", value, at)[0])
    except struct.error:
        raise _BrokenOff from None


def _property_text(data: bytes, kind: int, code_page: str) -> str:
    return data.decode("utf-16-le", "replace").rstrip("\0") if kind == TYPE_UNICODE else _string(data, code_page)


def _string(value: bytes, code_page: str) -> str:
    return decode_bytes(value.rstrip(b"\0"), code_page).text
