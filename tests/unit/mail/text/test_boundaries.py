"""A multipart with a missing or other boundary is split where one split alone is possible, else a person reads it."""

from __future__ import annotations

import pytest

from support_agent.mail.machines.screening import Verdict, screen
from support_agent.mail.message import Message, parse
from support_agent.mail.text.boundaries import split_by_found_boundary
from tests.unit.mail.mails import AGENT, DESK

HEAD = b"From: <anna@example.net>\r\nTo: support@harborfile.example\r\nSubject: A\r\nMIME-Version: 1.0\r\n"
QUESTION = "How do I get a refund?"
TEXT = f"Content-Type: text/plain; charset=utf-8\r\n\r\n{QUESTION}\r\n"
HTML = f"Content-Type: text/html\r\n\r\n<p>{QUESTION}</p>\r\n"
PDF = "Content-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nAAAA\r\n"


def multipart(boundary: str, *parts: str) -> str:
    return "".join(f"--{boundary}\r\n{part}" for part in parts) + f"--{boundary}--\r\n"


def read(content_type: str | None, body: str) -> Message:
    field = b"" if content_type is None else f"Content-Type: {content_type}\r\n".encode()
    return parse(HEAD + field + b"\r\n" + body.encode())


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/alternative",
        "multipart/alternative; boundary=",
        'multipart/alternative; boundary="ABC"',
        'multipart/alternative; boundary="XYZ',
        'multipart/alternative;\r\n boundary="XY\r\n Z"',
        'multipart/alternative boundary="XYZ"',
        'multipart/alternative boundary="X/Z"',
        "multipart/alternative; boundry=XYZ",
        "multipart",
        None,
    ],
)
def test_the_only_possible_boundary_is_recovered(content_type: str | None) -> None:
    """The failure's story: the raw text of MIME was taken for the customer's words."""
    message = read(content_type, multipart("XYZ", TEXT, PDF))
    assert message.visible_text.strip() == QUESTION
    assert [attachment.name for attachment in message.attachments] == ["a.pdf"]
    assert screen(message, AGENT, DESK).verdict is Verdict.ANSWER


@pytest.mark.parametrize("outer", ["multipart/mixed", 'multipart/mixed; boundary="OUT"'])
def test_a_boundary_that_a_part_declares_is_for_parts_of_its_own(outer: str) -> None:
    inner = 'Content-Type: multipart/alternative; boundary="XYZ"\r\n\r\n' + multipart("XYZ", TEXT, HTML)
    lost = "Content-Type: multipart/alternative\r\n\r\n" + multipart("XYZ", TEXT, HTML)
    assert read(outer, multipart("OUT", inner, PDF)).visible_text.strip() == QUESTION
    if "boundary" in outer:
        assert read(outer, multipart("OUT", lost, PDF)).visible_text.strip() == QUESTION


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/mixed", multipart("XYZ", TEXT) + multipart("QRS", TEXT)),
        ("multipart/mixed", QUESTION),
        ("multipart/mixed; boundary=x", QUESTION),
        ("multipart/mixed", f"--XYZ\r\n\r\n{QUESTION}\r\n"),
        ("text/plain", multipart("XYZ", TEXT, HTML)),
        ("text/plain", "This is a multi-part message in MIME format.\r\n" + multipart("XYZ", TEXT, HTML)),
        ("multipart/mixed", "Please cancel my account.\r\n" + multipart("XYZ", TEXT)),
        ("multipart/mixed", multipart("XYZ", TEXT) + "Please cancel my account.\r\n"),
        ("multipart/mixed", multipart("XYZ", TEXT.replace(QUESTION, "boundary=XYZ"), "\r\n--ABC\r\n" + TEXT)),
        ("multipart/mixed", f"--XYZ\r\n\r\nCancel it.\r\n{multipart('ABC', TEXT)}--XYZ--\r\n"),
    ],
)
def test_what_can_be_split_in_two_ways_or_in_none_goes_to_a_person(content_type: str, body: str) -> None:
    message = read(content_type, body)
    assert screen(message, AGENT, DESK).rule == "S15"
    assert any(defect.startswith("limit: ") for defect in message.defects)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "Hello,\r\n\r\n-----Original Message-----\r\nFrom: a@example.net\r\n\r\nHow?\r\n",
        "-- \r\nAnna\r\n",
        "--\r\nContent-Type: x\r\n",
        '--a"b\r\nContent-Type: text/plain\r\n\r\nx\r\n',
        "--" + "a" * 200 + "\r\nContent-Type: text/plain\r\n\r\nx\r\n",
        "--X\r\n" * 5_000,
    ],
)
def test_what_people_write_holds_no_boundary(body: str) -> None:
    assert split_by_found_boundary(body) is None


def test_a_log_in_a_mail_without_a_type_stays_text() -> None:
    """Every program shows it as text: nothing of it may vanish."""
    message = read(None, "Please cancel my account. The log says:\r\n\r\n--b\r\nContent-Type: x\r\n\r\nfoo\r\n")
    assert "Please cancel my account." in message.visible_text
