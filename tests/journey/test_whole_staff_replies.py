"""A reply of staff reaches the customer whole or not at all: what would be lost goes back to its writer."""

from __future__ import annotations

import pytest

from support_agent.mail.message import not_read
from tests.fakes_desk import lines_of, proposed_in, told
from tests.fakes_journey import DESK, Office, write
from tests.fakes_page import Browser
from tests.journey.test_staff_files import PDF, with_file
from tests.unit.seen import FAILURE, HUMAN, PACKET, PERSON_REPLY, text_of

PGP = "-----BEGIN PGP MESSAGE-----\r\n\r\nhQEMA3BvxYz\r\n=abcd\r\n-----END PGP MESSAGE-----\r\n"
CUT = not_read("more than imap.max_message_bytes = 600")
ENCRYPTED_PART = (
    b"MIME-Version: 1.0\r\nContent-Type: multipart/encrypted; protocol=application/pgp-encrypted; boundary=cut\r\n\r\n"
    b"--cut\r\nContent-Type: application/pgp-encrypted\r\n\r\nVersion: 1\r\n"
    b"--cut\r\nContent-Type: text/plain\r\n\r\nDear Anna.\r\n--cut--\r\n"
)


def reply_to(office: Office, raw: bytes, subject: str = "Re: A case") -> bytes:
    """The mail as a reply to the packet of a new case, or as a mail with one of its commands as the subject."""
    first, _ = office.handle(write(HUMAN))
    packet = office.sent(first)[PACKET]
    subject = lines_of(packet).get(subject, subject)
    head = write("", sender=DESK, in_reply_to=packet.message_id, subject=subject, number=2)
    kept = b"".join(line for line in head.splitlines(keepends=True) if not line.startswith((b"Content-", b"MIME-")))
    return kept.strip() + b"\r\n" + raw


def text_part(words: str) -> bytes:
    return f"MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{words}".encode()


BY_REPLY_OR_COMMAND = pytest.mark.parametrize("subject", ["Re: A case", "own words"])


@BY_REPLY_OR_COMMAND
@pytest.mark.parametrize("kept", [1_200, 900])
def test_a_reply_that_was_cut_at_its_size_goes_back_to_its_writer(office: Office, subject: str, kept: int) -> None:
    """Failure: the customer got a part of the file, or the words alone, and nobody was told."""
    words = with_file(text_part("The price list is attached."), "prices.csv", b"price;5\n" * 500, "text/csv")
    raw = reply_to(office, words, subject)
    assert len(raw) > kept
    reply, _ = office.handle(CUT + raw[:kept])
    assert set(office.sent(reply)) == {FAILURE}
    assert "not read whole (more than imap.max_message_bytes = 600)" in told(office, reply)
    assert "with smaller files, or write to the customer directly" in told(office, reply)


@BY_REPLY_OR_COMMAND
@pytest.mark.parametrize("raw", [text_part(PGP), text_part(f"Dear Anna,\r\n\r\n{PGP}"), ENCRYPTED_PART])
def test_an_encrypted_reply_goes_back_to_its_writer(office: Office, subject: str, raw: bytes) -> None:
    """Failure: the customer got text that she cannot read."""
    reply, _ = office.handle(reply_to(office, raw, subject))
    assert set(office.sent(reply)) == {FAILURE}
    assert "send it again without encryption" in told(office, reply)


def test_a_reply_that_quotes_an_encrypted_mail_of_the_customer_is_passed_on(office: Office) -> None:
    """The packet shows how her mail begins, and a mail program quotes the packet."""
    first, _ = office.handle(write(PGP))
    packet = office.sent(first)[PACKET]
    quoted = "\r\n".join(f"> {line}" for line in text_of(packet).splitlines())
    assert "-----BEGIN PGP MESSAGE-----" in quoted
    words = f"Dear Anna, please write without encryption.\r\n\r\n{quoted}"
    reply, _ = office.handle(write(words, sender=DESK, in_reply_to=packet.message_id, number=2))
    assert text_of(office.sent(reply)[PERSON_REPLY]) == "Dear Anna, please write without encryption.\n"


def test_a_reply_that_was_read_whole_is_passed_on_with_its_file(office: Office) -> None:
    reply, _ = office.handle(reply_to(office, with_file(text_part("It is attached."), "a.pdf", PDF)))
    assert set(office.sent(reply)) == {PERSON_REPLY}


def html_part(html: str) -> bytes:
    return f"MIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{html}".encode()


@BY_REPLY_OR_COMMAND
def test_the_link_of_a_reply_in_html_reaches_the_customer(office: Office, subject: str) -> None:
    """Failure: she read "reset it here", and not where."""
    html = "<p>Dear Anna, reset it <a href='https://harborfile.example/reset?token=1'>here</a>.</p>"
    reply, _ = office.handle(reply_to(office, html_part(html), subject))
    words = text_of(office.sent(reply)[PERSON_REPLY])
    assert words == "Dear Anna, reset it here <https://harborfile.example/reset?token=1>.\n"


def alternatives(plain: str, html: str) -> bytes:
    parts = (("plain", plain), ("html", html))
    body = "".join(f"--cut\r\nContent-Type: text/{kind}\r\n\r\n{text}\r\n" for kind, text in parts)
    head = "MIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=cut\r\n\r\n"
    return f"{head}{body}--cut--\r\n".encode()


CROSSED_OUT = "<p>The price is <del>50</del> 40 euros.</p>"


@BY_REPLY_OR_COMMAND
@pytest.mark.parametrize("raw", [html_part(CROSSED_OUT), alternatives("The price is 50 40 euros.", CROSSED_OUT)])
def test_a_reply_with_crossed_out_text_goes_back_to_its_writer(office: Office, subject: str, raw: bytes) -> None:
    """Failure: the customer read it as if it were valid; the plain text beside the HTML does not say it either."""
    reply, _ = office.handle(reply_to(office, raw, subject))
    assert set(office.sent(reply)) == {FAILURE}
    assert "crossed-out text, which would reach the customer as if it were valid: delete it" in told(office, reply)


@BY_REPLY_OR_COMMAND
def test_words_below_a_copied_line_of_the_packet_go_back_to_their_writer(office: Office, subject: str) -> None:
    """Failure: the customer got the words above that line, and nobody was told of the others."""
    line = "Reply to this mail (to support@harborfile.example). What you write above the quotation is passed on to the"
    words = f"Dear Anna,\r\n\r\n{line}\r\nPlease send us the invoice number."
    reply, _ = office.handle(reply_to(office, text_part(words), subject))
    assert set(office.sent(reply)) == {FAILURE}
    assert "answer above it or delete the quotation" in told(office, reply)


def test_own_words_on_the_page_around_a_line_of_the_packet_are_refused_and_stay_in_the_form(office: Office) -> None:
    """The packet is for staff only, and the words below its line must not be lost."""
    given = proposed_in(office)
    page = Browser(given.office).act(
        f"/cases/{given.answer.case_id}", "own words", words="Do this:\nWHAT WAS CONSIDERED\nAnd then that."
    )
    assert "delete the quotation" in page
    assert "And then that." in page
    assert not office.store.outbox.find(kind=PERSON_REPLY)
