"""The bytes we send; rows S40 to S45, S49 and S50."""

from __future__ import annotations

import email
import email.policy
from datetime import UTC, datetime, timedelta, timezone
from email.message import EmailMessage
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.errors import PermanentError
from support_agent.mail import keys
from support_agent.mail.message import Message, parse
from support_agent.mail.outgoing import (
    MAX_REFERENCES_OCTETS,
    REPLY_PREFIX,
    OutgoingHead,
    compose,
    compose_notice,
    compose_person_reply,
    next_hops,
    reply_subject,
    thread_references,
)
from tests.unit.mail.mails import AGENT, mail, raw_mail

OWN_ID = keys.message_id(AGENT.secret, "harborfile.example", "case-1", "1", "answer")
HEAD = OutgoingHead(
    message_id=OWN_ID,
    sent_at=datetime(2026, 3, 10, 9, 0, 1, 5, tzinfo=UTC),
    to="anna.keller@example.net",
    from_address=AGENT.address,
    from_name=AGENT.name,
    origin=keys.origin_header(AGENT.secret, OWN_ID, 1),
)
SUBJECT = "Re: Refund"
TEXT = "Guten Tag,\n\n€ 12,00\n.\nFrom here\n"
HTML = "<p>€ 12,00</p>\n"


def head(**changes: Any) -> OutgoingHead:
    return HEAD.model_copy(update=changes)


def answer(parent: Message | None = None, *, subject: str = SUBJECT, text: str = TEXT, **changes: Any) -> bytes:
    parent = parent or mail("plain_question")
    return compose(head(**changes), subject=subject, text=text, html=HTML, parent=parent)


def read(raw: bytes) -> EmailMessage:
    """As a mail program reads it: the standard library's own parser, not ours."""
    return email.message_from_bytes(raw, policy=email.policy.default)


def content(part: EmailMessage) -> str:
    """The text of a part with the line ends that it was rendered with."""
    return str(part.get_content()).replace("\r\n", "\n")


def parent_with(references: list[str]) -> Message:
    return parse(f"Message-ID: <parent@t>\r\nReferences: {' '.join(references)}\r\n\r\n".encode())


def test_the_same_arguments_give_the_same_bytes() -> None:
    """A replay is compared byte for byte; this digest must not change unnoticed."""
    assert answer() == answer()
    assert answer(sent_at=HEAD.sent_at.astimezone(timezone(timedelta(hours=5)))) == answer()
    assert parse(answer()).raw_sha256 == "eef03f238138a6029c5d750c3b217773b01cd28163507a45db6772a8b1972f0e"


def test_s49_both_bodies_arrive_as_they_were_rendered() -> None:
    message = read(answer())
    assert message.get_content_type() == "multipart/alternative"
    text, html = cast(list[EmailMessage], list(message.iter_parts()))
    assert (text.get_content_type(), content(text)) == ("text/plain", TEXT)
    assert (html.get_content_type(), content(html)) == ("text/html", HTML)
    assert not message.defects


@given(st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"])))
def test_s49_any_text_arrives_and_lines_stay_within_998_octets(text: str) -> None:
    raw = answer(text=text)
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    assert raw.count(b"\n") == raw.count(b"\r\n") == raw.count(b"\r")
    part = cast(EmailMessage, next(iter(read(raw).iter_parts())))
    arrived = cast(bytes, part.get_payload(decode=True)).decode()
    assert arrived.replace("\r\n", "\n").rstrip("\n") == text.rstrip("\n")


def test_s40_and_s45_automatic_mails_say_so_and_ask_for_no_automatic_answer() -> None:
    message = read(answer())
    assert message["Auto-Submitted"] == "auto-replied"
    assert message["X-Auto-Response-Suppress"] == "OOF, AutoReply, DR, RN, NRN"
    notice = read(compose_notice(HEAD, subject="s", text="t"))
    assert notice["Auto-Submitted"] == "auto-generated"


def test_s41_the_answer_is_in_the_thread_of_the_mail_it_answers() -> None:
    message = read(answer(mail("thread_references")))
    assert message["In-Reply-To"] == "<x@mail.example.net>"
    assert message["References"].split() == ["<1@t>", "<2@t>", "<3@t>", "<x@mail.example.net>"]


def test_s41_references_are_bounded_and_keep_the_first_and_the_last_ids() -> None:
    """RFC 5322, 3.6.4; fields of thousands of octets are cut or refused on the way."""
    ids = [f"<{number:040d}@t>" for number in range(200)]
    kept = thread_references(parent_with(ids))
    assert len(" ".join(kept)) <= MAX_REFERENCES_OCTETS
    assert kept[0] == ids[0]
    assert kept[-2:] == [ids[-1], "<parent@t>"]
    assert kept[1:-1] == ids[200 - len(kept) + 2 :]
    assert thread_references(parent_with(ids[:3])) == [*ids[:3], "<parent@t>"]


def test_s41_ids_that_would_break_a_header_are_left_out() -> None:
    assert thread_references(parent_with(["<" + "x" * 400 + "@t>", "<ü@t>", "<a@t>"])) == [
        "<a@t>",
        "<parent@t>",
    ]


def test_s41_a_mail_without_message_id_is_answered_without_a_thread() -> None:
    message = read(answer(mail("no_message_id")))
    assert "In-Reply-To" not in message
    assert "References" not in message


def test_s42_and_s44_head_of_the_mail() -> None:
    message = read(answer())
    assert message["Message-ID"] == OWN_ID
    assert message["From"] == message["Reply-To"] == "Harborfile Support <support@harborfile.example>"
    assert message["To"] == "anna.keller@example.net"
    assert message["Date"] == "Tue, 10 Mar 2026 09:00:01 +0000"
    assert all(len(message.get_all(name) or []) == 1 for name in set(message.keys()))


@pytest.mark.parametrize(
    ("parent", "subject"),
    [
        ("Refund", "Re: Refund"),
        ("Re: RE: AW: Fwd: Refund", "Re: Refund"),
        ("Re[2]: Antwort: WG: Refund", "Re: Refund"),
        ("Regarding: my refund", "Re: Regarding: my refund"),
        ("a\r\nBcc: x@y.example", "Re: a Bcc: x@y.example"),
        ("\u202eevil\u2066", "Re: evil"),
        ("\u061cevil", "Re: evil"),
        ("", "Re:"),
        ("x" * 500, "Re: " + "x" * 200),
    ],
)
def test_s43_one_re_and_the_sanitised_subject(parent: str, subject: str) -> None:
    assert reply_subject(parent) == subject


def test_a_subject_that_only_begins_like_a_reply_takes_linear_time() -> None:
    """Guarded by the time limit of a test: "Re" and 100,000 spaces took fourteen seconds."""
    assert REPLY_PREFIX.match(f"Re{' ' * 1_000_000}x") is None


@pytest.mark.parametrize("subject", ["Re: Größe " + "ü" * 200, "x" * 300, "=?utf-8?q?x?=", "Re: a", "", "日本語" * 40])
def test_s43_any_subject_arrives_as_it_is(subject: str) -> None:
    """RFC 2047: words of at most 75 octets, lines of at most 76, never cut inside a character."""
    raw = answer(subject=subject)
    assert read(raw)["Subject"] == parse(raw).subject == subject
    head = raw.split(b"\r\n\r\n")[0]
    field = head[head.index(b"Subject:") : head.index(b"Message-ID:")]
    assert all(len(line) <= 78 for line in field.split(b"\r\n"))


@pytest.mark.parametrize("value", ["a\r\nBcc: x@y.example", "a\nb", "a\rb", "a\0b", "a\x85b", "a\u2028b"])
@pytest.mark.parametrize("field", ["subject", "to", "message_id", "from_name", "from_address", "origin"])
def test_no_header_can_be_injected(field: str, value: str) -> None:
    changes: dict[str, Any] = {field: value}
    with pytest.raises(PermanentError):
        answer(**changes)


@given(st.text(max_size=80), st.text(max_size=40), st.text(max_size=40))
def test_whatever_is_put_in_the_header_has_the_fields_we_meant(subject: str, to: str, name: str) -> None:
    """Either it is refused, or there are no more fields than with a harmless subject."""
    try:
        raw = answer(subject=subject, to=f"{to}@example.net", from_name=name)
    except PermanentError:
        return
    assert [key for key, _ in parse(raw).headers] == [key for key, _ in parse(answer()).headers]


@pytest.mark.parametrize(
    "to", ["", "anna", "a@b.example, c@d.example", "ä@b.example", "<a@b.example>", "a@b.example (x)"]
)
def test_s16_there_is_one_recipient_or_no_mail(to: str) -> None:
    with pytest.raises(PermanentError):
        answer(to=to)


def test_s50_the_hop_count_grows_with_each_automatic_answer() -> None:
    assert next_hops(mail("plain_question"), AGENT) == 1
    assert next_hops(mail("origin_of_another_installation_two_hops"), AGENT) == 3
    value = parse(answer(origin=keys.origin_header(AGENT.secret, OWN_ID, 3))).header(keys.ORIGIN_HEADER)
    assert keys.read_origin(AGENT.secrets, value or "") == keys.Origin(hops=3, is_ours=True)


def test_names_are_quoted_or_encoded() -> None:
    for name in ('Müller, "Support" <x@y.example>', 'Harbor "File" \\ Co., Ltd.', ""):
        sender = parse(answer(from_name=name)).from_
        assert sender is not None
        assert (sender.name, sender.addr) == (name, AGENT.address)


def test_a_notice_carries_the_customers_mail_for_the_desk() -> None:
    original = raw_mail("plain_question")
    raw = notice(original)
    text, attached = cast(list[EmailMessage], list(read(raw).iter_parts()))
    assert content(text) == "packet ü\n"
    assert attached.get_content_type() == "message/rfc822"
    assert original in raw


@pytest.mark.parametrize("original", [raw_mail("subject_with_raw_eight_bit"), b"a" * 2000, b"a\rb\r\n\0", b""])
def test_a_mail_that_may_not_be_attached_as_it_is_arrives_as_a_file(original: bytes) -> None:
    """RFC 2046, 5.2.1: message/rfc822 is never encoded, so 8-bit or overlong mails go as base64."""
    _, attached = cast(list[EmailMessage], list(read(notice(original)).iter_parts()))
    if original:
        assert attached.get_content_type() == "application/octet-stream"
        assert attached.get_content() == original
    assert attached.get_filename() == "original.eml"


def notice(original: bytes) -> bytes:
    return compose_notice(head(to="desk@harborfile.example"), subject="Case 1", text="packet ü\n", original=original)


def test_a_persons_reply_is_in_the_customers_thread_and_is_not_called_automatic() -> None:
    message = read(compose_person_reply(HEAD, subject=SUBJECT, text=TEXT, parent=mail("thread_references")))
    assert message["In-Reply-To"] == "<x@mail.example.net>"
    assert "Auto-Submitted" not in message
    assert content(message) == TEXT
    assert keys.read_origin(AGENT.secrets, message[keys.ORIGIN_HEADER].replace("\r\n", "")) is not None


def test_a_date_without_a_zone_is_refused() -> None:
    with pytest.raises(PermanentError, match="time zone"):
        answer(sent_at=datetime(2026, 3, 10))  # noqa: DTZ001
