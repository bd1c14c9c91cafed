"""The parts of a mail: what is text, what is attached."""

from __future__ import annotations

import email
import email.message
import hashlib

import pytest

from support_agent.mail.machines.screening import Verdict, screen
from support_agent.mail.message import Message, attached_bytes, parse
from support_agent.mail.text.body import raw_payload
from tests.unit.mail.mails import AGENT, DESK, mail, raw_mail

ALTERNATIVES = b"""Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/plain

%s
--b
Content-Type: text/html

<p>rich words</p>
--b--
"""


def test_attachments_are_listed_with_size_and_digest_and_are_not_text() -> None:
    message = mail("attachments")
    assert message.text == "siehe Anhang"
    assert [(one.name, one.content_type) for one in message.attachments] == [
        ("größe.png", "image/png"),
        ("notes.txt", "text/plain"),
        ("", "message/rfc822"),
    ]
    png = message.attachments[0]
    assert png.size_bytes == 8
    assert png.sha256 == hashlib.sha256(b"\x89PNG\r\n\x1a\n").hexdigest()


def test_an_attached_mail_is_not_read() -> None:
    """Its text and its types are not those of this mail: a forwarded bounce is no bounce."""
    message = mail("customer_forwards_a_bounce")
    assert message.content_types == ("multipart/mixed", "text/plain", "message/rfc822")
    assert message.text == "What does this mean?"


def test_of_alternatives_the_plain_text_is_read() -> None:
    assert parse(ALTERNATIVES % b"plain words").text == "plain words"


@pytest.mark.parametrize(
    "stub",
    [
        b"Your mail client does not support HTML.",
        b"This is a message in HTML format. Please use another program to read it.",
        b"See the web version.",
    ],
)
def test_a_plain_text_that_only_stands_in_for_the_html_gives_way_to_it(stub: bytes) -> None:
    """The question would not be read at all."""
    html = b"<p>How do I get my money back? I paid for the Team plan twice, in March and again in April.</p>"
    assert parse((ALTERNATIVES % stub).replace(b"<p>rich words</p>", html)).text.startswith("How do I get my money")


@pytest.mark.parametrize("plain", [b"Pay how?", b"How can I see the HTML of pages?", b"How do I pay?\n\n> old\n> old"])
def test_a_plain_text_that_says_what_the_html_says_is_read(plain: bytes) -> None:
    """Also a shorter one, as clients leave out the quotation, and one that asks about HTML."""
    html = b"<p>How do I pay? How can I see the HTML of pages?</p><blockquote>%s</blockquote>" % (b"old mail " * 20)
    assert parse((ALTERNATIVES % plain).replace(b"<p>rich words</p>", html)).text == plain.decode()


def test_an_empty_plain_alternative_gives_way_to_the_html() -> None:
    assert parse(ALTERNATIVES % b"  ").text == "rich words"


def test_html_that_breaks_off_matters_only_where_it_is_the_text() -> None:
    """A mail must not wait for a person because of an alternative that nobody reads."""
    broken = ALTERNATIVES.replace(b"<p>rich words</p>", b"<p>rich words <a href='x")
    assert not [one for one in parse(broken % b"plain words").defects if one.startswith("limit: ")]
    assert [one for one in parse(broken % b" ").defects if one.startswith("limit: ")]


def test_crossed_out_html_is_told_even_beside_a_plain_text() -> None:
    """The plain text says the same words, and does not say that they are crossed out."""
    assert not parse(ALTERNATIVES % b"plain words").is_crossed_out
    assert parse(ALTERNATIVES.replace(b"rich", b"<s>rich</s>") % b"plain words").is_crossed_out


def test_html_alone_becomes_text() -> None:
    assert mail("html_only").visible_text.startswith("Hallo & guten Tag,")


def test_base64_that_is_broken_is_a_defect_and_never_an_exception() -> None:
    message = parse(b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n!!!\n")
    assert "limit: a part that cannot be decoded: 'base64'" in message.defects


ATTACHED = (
    b"Received: from a\r\n\tby b; Mon, 9 Mar 2026 10:00:00 +0000\r\nSubject: " + b"long words " * 20 + b"\r\n"
    b"X-Raw: gr\xfc\xdfe\r\n\r\nFrom the start\r\n\r\nend\r\n"
)


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_an_attached_mail_is_kept_byte_by_byte(end: bytes) -> None:
    """Its digest is that of the bytes as they came: nothing is folded or escaped again."""
    head = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n"
    raw = (head + ATTACHED + b"\r\n--b--\r\n").replace(b"\r\n", end)
    attached = ATTACHED.replace(b"\r\n", end)
    assert attached_bytes(raw) == (attached,)
    assert parse(raw).attachments[0].sha256 == hashlib.sha256(attached).hexdigest()


def test_the_bytes_of_attachments_are_found_in_the_raw_mail_in_the_order_of_the_list() -> None:
    message = mail("attachments")
    files = attached_bytes(raw_mail("attachments"))
    assert [hashlib.sha256(file).hexdigest() for file in files] == [one.sha256 for one in message.attachments]


def test_the_text_of_a_mail_that_is_one_named_part_is_its_text() -> None:
    """Some programs name the only part; a part within others that has a name is a file."""
    assert parse(b'Content-Type: text/plain; name="mail.txt"\n\nHow do I cancel?').text == "How do I cancel?"
    attached = parse(b"Content-Type: text/plain\nContent-Disposition: attachment\n\nHow do I cancel?")
    assert (attached.text, len(attached.attachments)) == ("", 1)


def test_a_mail_of_too_many_parts_or_too_deep_is_told() -> None:
    """S15: the part that is not read may hold the question."""
    deep = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(60)) + b"\n\nx"
    wide = b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 2_500
    assert "limit: more than 50 parts within each other" in parse(deep).defects
    assert "limit: more than 2000 parts" in parse(wide).defects
    assert parse(wide).text.startswith("x\n\nx")


def test_a_calendar_is_listed_and_no_text() -> None:
    message = parse(b"Content-Type: text/calendar; method=REQUEST\n\nBEGIN:VCALENDAR\nEND:VCALENDAR")
    assert (message.text, message.content_types) == ("", ("text/calendar",))
    assert [one.content_type for one in message.attachments] == ["text/calendar"]


@pytest.mark.parametrize("type_", [b"text/plain; charset*=utf-8''utf-8", b"text/plain; charset*=''iso-8859-1"])
def test_a_charset_written_as_rfc_2231_has_it_loses_no_text(type_: bytes) -> None:
    """The standard library raises TypeError on it for a body of eight bits, and the whole mail was taken for empty."""
    text = "How do I pay für das?".encode("utf-8" if b"utf-8" in type_ else "latin-1")
    leaf = b"Content-Type: %s\nContent-Transfer-Encoding: 8bit\n\n%s" % (type_, text)
    for raw in (leaf, b"Content-Type: multipart/mixed; boundary=b\n\n--b\n%s\n--b--\n" % leaf):
        message = parse(raw)
        assert (message.text, message.defects) == ("How do I pay für das?", ("no From field",))


def test_the_body_of_a_leaf_as_it_came_is_found_where_the_parser_keeps_it() -> None:
    """`raw_payload` reads what the standard library has no public way to: this fails where that changes."""
    whole = email.message_from_bytes(b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nf\xc3\xbcr=20\n--b--\n")
    parts = whole.get_payload()
    assert isinstance(parts, list)
    (leaf,) = parts
    assert isinstance(leaf, email.message.Message)
    assert raw_payload(leaf).encode("ascii", "surrogateescape") == b"f\xc3\xbcr=20"
    assert raw_payload(whole) == ""


QUESTION = "How do I get a refund?"
IN_BASE64 = "SG93IGRvIEkgZ2V0IGEgcmVmdW5kPw=="


def encoded(encoding: str, body: str) -> Message:
    head = "From: <anna@example.net>\r\nTo: support@harborfile.example\r\nSubject: A\r\nMIME-Version: 1.0\r\n"
    return parse(f"{head}Content-Transfer-Encoding: {encoding}\r\n\r\n{body}\r\n".encode())


@pytest.mark.parametrize(
    "encoding",
    [
        "base64",
        "BASE64 ",
        "base64;",
        "base64; x=y",
        '"base64"',
        "'base64'",
        "base64 (as always)",
        "(the usual (one)) base64",
        "base64\t",
    ],
)
def test_a_transfer_encoding_is_read_whatever_stands_around_its_word(encoding: str) -> None:
    """The failure's story: raw base64 was taken for the customer's words."""
    message = encoded(encoding, IN_BASE64)
    assert message.text.strip() == QUESTION
    assert screen(message, AGENT, DESK).verdict is Verdict.ANSWER


@pytest.mark.parametrize("encoding", ["7-bit", "8 bit", "", "binary;", "quoted-printable;"])
def test_a_text_that_is_not_encoded_is_read_as_it_stands(encoding: str) -> None:
    assert encoded(encoding, QUESTION).text.strip() == QUESTION


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("base46", IN_BASE64), ("base 64", IN_BASE64), ("base64", "abcde"), ("base64", QUESTION), ("(base64)", IN_BASE64)],
)
def test_s15_what_cannot_be_decoded_goes_to_a_person(encoding: str, body: str) -> None:
    message = encoded(encoding, body)
    assert screen(message, AGENT, DESK).rule == "S15"
    assert any("cannot be decoded" in defect for defect in message.defects)


def test_s15_two_encodings_or_two_encoded_texts_go_to_a_person() -> None:
    """One reader decodes the first, another the second."""
    twice = encoded("7bit\r\nContent-Transfer-Encoding: base64", f"{IN_BASE64}{IN_BASE64}")
    assert screen(twice, AGENT, DESK).rule == "S15"
    assert screen(encoded("base64", f"{IN_BASE64}\r\n{IN_BASE64}"), AGENT, DESK).rule == "S15"


def test_a_transfer_encoding_of_any_length_takes_linear_time() -> None:
    """Guarded by the time limit of a test: nested comments took twelve seconds for 95 kB."""
    assert encoded("(" * 200_000 + ")" * 200_000, QUESTION).text
