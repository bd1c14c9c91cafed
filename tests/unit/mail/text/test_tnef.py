"""winmail.dat: what Outlook hides is found, and bytes that lie harm nobody."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.mail.message import parse
from support_agent.mail.text.tnef import read_tnef

HEAD = b"\x78\x9f\x3e\x22\x01\x00"
BODY, PROPERTIES, START, TITLE, DATA, FILE = 0x2800C, 0x69003, 0x69002, 0x18010, 0x6800F, 0x69005
UNICODE, BINARY, OBJECT, LONG, MULTIPLE = 0x1F, 0x102, 0x0D, 0x03, 0x1000


def attribute(name: int, value: bytes) -> bytes:
    level = 1 if name in (BODY, PROPERTIES) else 2
    return struct.pack("<BII", level, name, len(value)) + value + struct.pack("<H", sum(value) & 0xFFFF)


def variable(kind: int, name: int, value: bytes, named: bytes = b"") -> bytes:
    return (
        struct.pack("<HH", kind, name) + named + struct.pack("<II", 1, len(value)) + value + b"\0" * (-len(value) % 4)
    )


def properties(*found: bytes) -> bytes:
    return struct.pack("<I", len(found)) + b"".join(found)


NAMED = b"\0" * 16 + struct.pack("<II", 1, 6) + "ab\0".encode("utf-16-le") + b"\0\0"
WHOLE = (
    HEAD
    + attribute(
        PROPERTIES,
        properties(
            struct.pack("<HHI", LONG, 0x0017, 1),
            struct.pack("<HHIII", LONG | MULTIPLE, 0x8001, 0, 0, 0)[:4] + b"\0" * 16 + struct.pack("<III", 0, 9, 0),
            variable(UNICODE, 0x8002, "x".encode("utf-16-le"), NAMED),
            variable(UNICODE, 0x1000, "How do I cancel? Grüße\0".encode("utf-16-le")),
        ),
    )
    + attribute(START, b"\0" * 14)
    + attribute(TITLE, b"LETTER~1.TXT\0")
    + attribute(DATA, b"the letter")
    + attribute(FILE, properties(variable(UNICODE, 0x3707, "letter of May.txt\0".encode("utf-16-le"))))
    + attribute(START, b"\0" * 14)
    + attribute(FILE, properties(variable(OBJECT, 0x3701, b"i" * 16 + b"an object")))
)


def winmail(raw: bytes, text: bytes = b"") -> bytes:
    part = b"--b\nContent-Type: text/plain\n\n" + text + b"\n" if text else b""
    head = b"Content-Type: multipart/mixed; boundary=b\n\n" + part
    file = b'--b\nContent-Type: application/ms-tnef; name="winmail.dat"\nContent-Transfer-Encoding: base64\n\n'
    return head + file + base64.encodebytes(raw) + b"--b--\n"


def test_text_and_files_are_found() -> None:
    tnef = read_tnef(WHOLE)
    assert (tnef.text, tnef.is_whole) == ("How do I cancel? Grüße", True)
    assert [(file.name, file.data) for file in tnef.files] == [("letter of May.txt", b"the letter"), ("", b"an object")]


def test_the_mail_lists_the_files_and_reads_the_text() -> None:
    message = parse(winmail(WHOLE))
    assert [one.name for one in message.attachments] == ["winmail.dat", "letter of May.txt", ""]
    assert message.visible_text == "How do I cancel? Grüße"


def test_text_of_the_mail_itself_counts_before_it() -> None:
    assert parse(winmail(WHOLE, b"My own words.")).text == "My own words."


def test_html_becomes_text() -> None:
    raw = HEAD + attribute(PROPERTIES, properties(variable(BINARY, 0x1013, b"<p>How do I <b>cancel</b>?</p>\0")))
    assert parse(winmail(raw)).text == "How do I cancel?"


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(
            HEAD + attribute(PROPERTIES, properties(variable(BINARY, 0x1009, b"rtf"))), id="formatted text only"
        ),
        pytest.param(WHOLE[:-30], id="cut"),
        pytest.param(HEAD + struct.pack("<BII", 1, BODY, 0xFFFFFFFF) + b"x", id="a size that lies"),
        pytest.param(HEAD + attribute(PROPERTIES, struct.pack("<I", 0xFFFFFFFF)), id="a count that lies"),
        pytest.param(HEAD + attribute(START, b"") * 2_000, id="too many files"),
    ],
)
def test_what_is_not_read_is_told(raw: bytes) -> None:
    """And where the mail has no other text than what was read of it, a person gets the mail (S15)."""
    message = parse(winmail(raw))
    assert any(defect.endswith("a winmail.dat that is not read whole") for defect in message.defects)
    assert any(defect.startswith("limit: ") for defect in message.defects) == bool(message.text)


def test_a_broken_one_keeps_what_was_read() -> None:
    assert read_tnef(WHOLE[:-30]).files[0].data == b"the letter"


@given(st.binary(max_size=300), st.integers(0, len(WHOLE)))
def test_any_bytes_are_read_without_an_exception(raw: bytes, at: int) -> None:
    read_tnef(HEAD + raw)
    read_tnef(WHOLE[:at] + raw + WHOLE[at + 1 :])
