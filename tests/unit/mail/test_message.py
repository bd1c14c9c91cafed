"""Reading a mail: any bytes give a Message, and what is told about the mail is true."""

from __future__ import annotations

import hashlib
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.mail.message import Message, not_read, parse
from tests.unit.mail.mails import EMAILS, mail, raw_mail

FIELD = st.sampled_from(
    [
        b"From",
        b"To",
        b"Subject",
        b"Date",
        b"Content-Type",
        b"Content-Transfer-Encoding",
        b"Message-ID",
        b"References",
        b"Content-Disposition",
        b"MIME-Version",
        b"Reply-To",
        b"X-\xff",
    ]
)
VALUE = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [
            b"multipart/mixed; boundary=b",
            b"multipart/alternative; boundary=b",
            b"message/rfc822",
            b"text/html",
            b"text/plain; charset=utf-7",
            b"text/plain; charset=unicode_escape",
            b"base64",
            b"quoted-printable",
            b"x-uuencode",
            b"=?utf-8?b?????=",
            b"=?x?q?=ff?=",
            b'"a <b@c.example>',
            b"((((a@b.example",
            b"<a@b.example>",
            b"attachment; filename*=utf-8''%ff%fe; filename*0*=x",
            b"Tue, 99 Foo 99999 99:99:99 +9999",
        ]
    ),
)
LINES = st.lists(
    st.one_of(
        st.tuples(FIELD, VALUE).map(lambda pair: pair[0] + b": " + pair[1]),
        st.sampled_from([b"", b"--b", b"--b--", b"> x", b"On 1.1.2026 10:00 a@b.example wrote:", b" fold", b"<div"]),
        st.binary(max_size=80),
    ),
    max_size=40,
)


def is_sound(message: Message, raw: bytes) -> bool:
    """Everything can be stored and shown: no NUL, no half surrogate."""
    stored = message.model_dump_json()
    return "\\u0000" not in stored and message.raw_sha256 == hashlib.sha256(raw).hexdigest()


@given(st.binary(max_size=2_000))
def test_any_bytes_are_a_message(raw: bytes) -> None:
    assert is_sound(parse(raw), raw)


@settings(max_examples=300)
@given(LINES, st.sampled_from([b"\r\n", b"\n", b"\r"]))
def test_any_lines_that_resemble_a_mail_are_a_message(lines: list[bytes], end: bytes) -> None:
    raw = end.join(lines)
    message = parse(raw)
    assert is_sound(message, raw)
    assert message == parse(raw)


@pytest.mark.parametrize("path", sorted(EMAILS.glob("*.eml")), ids=lambda path: path.stem)
def test_each_test_mail_survives_being_cut_anywhere(path: object) -> None:
    raw = raw_mail(getattr(path, "stem"))  # noqa: B009
    assert all(is_sound(parse(raw[:end]), raw[:end]) for end in range(0, len(raw), max(1, len(raw) // 40)))


def test_a_plain_mail_is_read_as_it_is() -> None:
    message = mail("plain_question")
    assert message.from_ is not None
    assert (message.from_.name, message.from_.addr, message.from_.domain) == (
        "Anna Keller",
        "anna.keller@example.net",
        "example.net",
    )
    assert message.sent_at == datetime(2026, 3, 10, 8, 15, tzinfo=UTC)
    assert message.message_id == "<plain-question@mail.example.net>"
    assert message.visible_text.startswith("Hello,\n\nhow do I get a refund")
    assert message.defects == ()


def test_a_mail_without_message_id_gets_one_from_its_bytes() -> None:
    """A mail must not be lost or read twice because its sender's program forgot the id."""
    raw = raw_mail("no_message_id")
    message = parse(raw)
    assert message.message_id == f"<{hashlib.sha256(raw).hexdigest()[:32]}@synthetic.invalid>"
    assert message.has_synthetic_id
    assert not mail("plain_question").has_synthetic_id


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("charset_says_ascii_is_utf8", "Grüße aus München"),
        ("charset_says_utf8_is_windows_1252", "Grüße \N{EN DASH} 5 €"),
        ("charset_unknown", "Grüße"),
        ("charset_says_utf16_is_ascii", "plain words"),
        ("multipart_without_boundary", "words all the same"),
    ],
)
def test_charsets_and_types_that_lie_are_seen_through(name: str, text: str) -> None:
    assert mail(name).text.strip() == text
    assert mail(name).defects


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("subject_encoded_in_two_words", "Grüße München"),
        ("subject_with_raw_eight_bit", "Grüße"),
        ("subject_encodes_a_line_break", "a Bcc: x@y.example"),
    ],
)
def test_subjects_are_decoded_to_one_line(name: str, subject: str) -> None:
    assert mail(name).subject == subject
    assert mail(name).header("subject") == subject


def test_fields_that_machines_believe_are_not_decoded() -> None:
    """An encoded word inside Authentication-Results must not become a result."""
    value = "mx.example.org; spf=fail smtp.mailfrom==?utf-8?q?x=3B_dmarc=3Dpass?="
    assert parse(f"Authentication-Results: {value}\r\n\r\n".encode()).header("authentication-results") == value


def test_headers_keep_order_and_duplicates_and_are_unfolded() -> None:
    message = parse(b"X-A: 1\r\nX-B: one\r\n two\r\nx-a: 2\r\n\r\n")
    assert message.headers == (("X-A", "1"), ("X-B", "one two"), ("x-a", "2"))
    assert (message.header("X-a"), message.all_headers("X-A")) == ("1", ("1", "2"))


@pytest.mark.parametrize(
    "name",
    ["from_twice", "from_two_addresses", "from_group", "from_missing", "from_address_in_display_name"],
)
def test_s22_from_is_none_unless_it_is_exactly_one_address(name: str) -> None:
    assert mail(name).from_ is None


def test_s22_domains_are_a_labels() -> None:
    sender = mail("from_idn_domain").from_
    assert sender is not None
    assert sender.addr == "anna@xn--bcher-kva.example"


def test_references_and_in_reply_to_are_ids_only() -> None:
    message = mail("thread_references")
    assert message.references == ("<1@t>", "<2@t>", "<3@t>")
    assert message.in_reply_to == "<3@t>"


def test_a_dead_date_is_none_and_one_without_zone_is_utc() -> None:
    assert parse(b"Date: Tue, 99 Foo 2026\r\n\r\n").sent_at is None
    assert parse(b"Date: Tue, 10 Mar 2026 09:15:00 -0000\r\n\r\n").sent_at == datetime(2026, 3, 10, 9, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(
            b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(3_000)),
            id="deep",
        ),
        pytest.param(b"Content-Type: text/plain" + b';"' * 200_000 + b"\n\nx", id="parameters"),
        pytest.param(b"Subject: " + b"=?a?q?" * 200_000 + b"\n\nx", id="encoded words"),
        pytest.param(b'From: "' + b'\\"' * 40_000 + b"\n\nx", id="quotes"),
        pytest.param(b"a: b\n" * 200_000, id="fields"),
        pytest.param(b"Content-Type: text/html\n\n" + b"<!--" * 200_000, id="comments"),
        pytest.param(b"Content-Type: text/html\n\n" + b"<a " * 200_000, id="tags"),
        pytest.param(b"Content-Type: text/html\n\n" + b"<div>" * 200_000, id="elements"),
        pytest.param(b"\n\n" + b"On 1.1.2026 10:00 a@b.example\n" * 20_000, id="attributions"),
        pytest.param(b"\n\n" + b"> " * 400_000, id="quotation"),
    ],
)
def test_hostile_mails_take_no_more_time_than_big_ones(raw: bytes) -> None:
    """Each of these is quadratic or worse, or exhausts the stack, in a naive reader; the bound is wide."""
    start = time.process_time()
    parse(raw)
    assert time.process_time() - start < 8


def test_a_mail_nested_too_deep_keeps_its_header_and_says_so() -> None:
    inner = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(3_000))
    message = parse(b"Subject: deep\nMessage-ID: <d@t>\n" + inner)
    assert (message.subject, message.message_id, message.text) == ("deep", "<d@t>", "")
    assert message.defects[0].startswith("limit: ")


def test_what_the_mailbox_could_not_read_is_a_defect() -> None:
    """It stands in the bytes, so that it is known whenever they are parsed; the rest of the header is read."""
    message = parse(not_read("9 bytes,\r\nonly the header") + b"From: a@b.example\r\n\r\n")
    assert message.defects == ("limit: 9 bytes, only the header",)
    assert message.from_ is not None


@pytest.mark.parametrize("hidden", ["\x00", "\x01", "\x0b", "\x7f", "\x85", "\xad", "\u200b", "\u202e", "\ufeff"])
@pytest.mark.parametrize("value", ["<anna.k{}eller@example.net>", "An{}na <anna.keller@example.net>"])
def test_from_with_a_hidden_character_names_nobody(value: str, hidden: str) -> None:
    """S22: without the character it is somebody else's address, and it is read without it further on."""
    message = parse(f"From: {value.format(hidden)}\r\nSubject: q\r\n\r\nHello".encode())
    assert message.from_ is None
    assert "From holds a control or invisible character" in message.defects


@pytest.mark.parametrize(
    "name", ["Müller", "=?utf-8?q?M=C3=BCller?=", "\u0645\u06cc\u200c\u062e", "Anna\r\n Keller", "Anna\tKeller"]
)
def test_from_in_any_writing_names_its_sender(name: str) -> None:
    """Folds, tabs and the joiners of a script are no trick; nor are 8-bit names in an old charset."""
    for charset in ("utf-8", "latin-1") if "ü" in name else ("utf-8",):
        message = parse(f"From: {name} <anna.keller@example.net>\r\n\r\nHello".encode(charset))
        assert message.from_ is not None
        assert message.from_.addr == "anna.keller@example.net"
