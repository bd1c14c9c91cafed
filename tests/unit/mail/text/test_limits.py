"""What the standard library's parser is never given: it would take minutes, or gigabytes."""

from __future__ import annotations

import time
from email.message import Message as Part
from email.policy import Policy, compat32

import pytest

from support_agent.mail.machines.bounces import read_bounce
from support_agent.mail.message import attached_bytes, parse
from support_agent.mail.text.limits import MAX_TREE_PARTS, beyond_limits, careful_tree

HEAD = b"From: <anna@example.net>\r\nSubject: hi\r\nMIME-Version: 1.0\r\n"
REPORT = b"Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n--b\r\n"
STATUS = b"Content-Type: message/delivery-status\r\n\r\n"


def with_disposition(value: bytes) -> bytes:
    return (
        HEAD + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n"
        b"Content-Disposition: " + value + b"\r\n\r\nwords\r\n--b--\r\n"
    )


@pytest.mark.parametrize(
    "value",
    [
        b'attachment; x="' + b";" * 240_000,
        b"attachment; " + b";".join(b"filename*%d*=a" % number for number in range(20_000)),
        b"inline;\r\n " + b"\r\n ".join([b"a=b;" * 200] * 20),
        b'attachment; filename="a.txt"; x="' + b";" * 200,
    ],
)
def test_a_long_content_disposition_is_not_read(value: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The standard library counts the quotation marks before each semicolon: half a minute for 240 kB."""
    asked: list[str] = []

    def watched(_: Part) -> str:
        asked.append("")
        return ""

    monkeypatch.setattr(Part, "get_filename", watched)
    raw = with_disposition(value)
    message = parse(raw)
    assert message.from_ is not None
    assert [(one.name, one.size_bytes) for one in message.attachments] == [("unreadable-name", 5)]
    assert "limit: more parameters of a part than can be read" in message.defects
    assert attached_bytes(raw) == (b"words",)
    assert asked == []


def test_a_content_disposition_of_a_usual_length_is_read() -> None:
    message = parse(with_disposition(b'attachment; filename="' + b"a" * 150 + b'.txt"'))
    assert [one.name for one in message.attachments] == ["a" * 150 + ".txt"]
    assert message.defects == ()


@pytest.mark.parametrize(("padding", "text"), [("", "one two"), (";" * 150, "one \ntwo")])
def test_a_type_with_too_many_parameters_gives_none(padding: str, text: str) -> None:
    """The library's reading of parameters takes time with the square of their number."""
    assert parse(f"Content-Type: text/plain; format=flowed{padding}\n\none \ntwo\n".encode()).text == text


@pytest.mark.parametrize(
    "raw",
    [
        HEAD + REPORT + STATUS + b"\n" * 50_000 + b"--b--\r\n",
        HEAD + REPORT + STATUS + b"a: b\r\n\r\n" * 50_000 + b"--b--\r\n",
        HEAD + REPORT + (STATUS + b"\n" * 900 + b"--b\r\n") * 50 + b"\r\n--b--\r\n",
        HEAD + REPORT + STATUS + b"\r" * 50_000 + b"--b--\r\n",
        HEAD + b"Content-Type: message/rfc822\r\n\r\n" + STATUS + b"\n" * 50_000,
        HEAD + REPORT + b"\r\n--b\r\n\r\nx\r\n" * 50_000 + b"--b--\r\n",
    ],
)
def test_a_mail_makes_a_bounded_number_of_parts(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A delivery status of blank lines made an object of each: a gigabyte for three megabytes."""
    made = 0
    as_before = Part.__init__

    def counted(self: Part, policy: Policy = compat32) -> None:
        nonlocal made
        made += 1
        as_before(self, policy)

    monkeypatch.setattr(Part, "__init__", counted)
    raw = b"Return-Path: <>\r\n" + raw
    message = parse(raw)
    read_bounce(message, raw)
    assert any(defect.startswith("limit: more than") for defect in message.defects)
    assert message.from_ is not None
    assert made < 6 * MAX_TREE_PARTS  # each of the readers, by itself


def test_the_last_part_that_is_allowed_is_read() -> None:
    careful_tree(HEAD + STATUS + b"a: b\n\n" * (MAX_TREE_PARTS - 1))
    with pytest.raises(ValueError, match=f"more than {MAX_TREE_PARTS} parts"):
        careful_tree(HEAD + STATUS + b"a: b\n\n" * MAX_TREE_PARTS)


@pytest.mark.parametrize(
    "raw",
    [
        b"X:" + b" " * 500_000,
        b"X" * 500_000,
        b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b " * 200_000,
        b"Content-Type: multipart/mixed; boundary=b\n\n" + b"\n--b" * 200_000,
        b"Content-Type: message/delivery-status\n\n" + b"a: b\n\n" * 50_000,
        b"A: b\n" * 100_000 + b"\n",
        b"A: b\n" + b" c\n" * 200_000,
        b"Content-Type: message/rfc822\n\n" * 100_000,
    ],
    ids=["spaces", "name", "one line", "boundaries", "blocks", "fields", "folds", "depth"],
)
def test_time_is_linear(raw: bytes) -> None:
    started = time.process_time()

    parse(raw)

    assert time.process_time() - started < 2


def test_a_report_beyond_the_limits_is_still_read_for_its_recipients() -> None:
    status = b"Final-Recipient: rfc822; bob@example.org\r\nAction: failed\r\nStatus: 5.1.1\r\n"
    raw = b"Return-Path: <>\r\n" + HEAD + REPORT + STATUS + status + b"\n" * 50_000 + b"--b--\r\n"
    bounce = read_bounce(parse(raw), raw)
    assert bounce is not None
    assert (bounce.recipients, bounce.is_permanent) == (("bob@example.org",), True)


def test_a_bounce_with_a_long_content_type_is_not_given_to_the_library() -> None:
    """Folded into lines, it passes the limits of the lines."""
    folded = b";\r\n ".join([b"a=b" + b";" * 900] * 400)
    raw = b"Return-Path: <>\r\nFrom: MAILER-DAEMON@x.example\r\nSubject: failure notice\r\n"
    raw += b"Content-Type: multipart/report;" + folded + b"\r\n\r\nundeliverable: bob@example.org does not exist\r\n"
    assert beyond_limits(raw) == "a Content-Type of more than 2000 bytes"
    read_bounce(parse(raw), raw)
