"""What a reply says outside its visible text: nothing that no mail of the thread says is taken for a quotation."""

from __future__ import annotations

import pytest

from support_agent.mail.message import Message, parse
from support_agent.mail.text.left_out import LeftOut, Thread, left_out
from support_agent.mail.text.quotation import quoted_content

OURS = "You get your money back within 14 days of the order,\nif you have not used it.\n\nKind regards\nHarborfile"
SENDER = "Support <support@harborfile.example>"
IMAGE = "iVBORw0KGgo="
PICTURE = "Content-Type: image/png\nContent-ID: <a>\nContent-Disposition: inline\nContent-Transfer-Encoding: base64"


def mail(text: str, subject: str = "Re: Refund", image: str = "") -> Message:
    body = f"Content-Type: text/plain; charset=utf-8\n\n{text}\n"
    if image:
        picture = (
            "Content-Type: image/png\nContent-ID: <a>\nContent-Disposition: inline\nContent-Transfer-Encoding: base64"
        )
        body = f"Content-Type: multipart/related; boundary=cut\n\n--cut\n{body}--cut\n{picture}\n\n{image}\n--cut--\n"
    return parse(f"From: Anna <anna@example.net>\nSubject: {subject}\nMIME-Version: 1.0\n{body}".encode())


THREAD = Thread.of([mail("Can I get a refund?\n\n-- \nAnna Keller\nKeller & Sons, 3 Mill Lane", "Refund"), mail(OURS)])
NOTHING = LeftOut((), has_more=False)
QUOTED = "".join(f"\n> {line}" for line in OURS.splitlines())
HEADERS = (
    "From: Support <support@harborfile.example>\nSent: Friday, 20 November 2026 12:00\nTo: Anna Keller\nSubject: Refund"
)


@pytest.mark.parametrize(
    "text",
    [
        "Thank you.",
        f"Thank you.\n\nOn Fri, 20 Nov 2026 at 12:00, {SENDER} wrote:{QUOTED}",
        f"Thank you.\n\nAm 20.11.2026 um 12:00 schrieb Support:{QUOTED}",
        "Thank you.\n\n> You get your money back within 14\n> days of the order, if you have not\n> used it.",
        f"Thank you.\n\n-----Original Message-----\n{HEADERS}\n\n{OURS}",
        f"Thank you.\n\n________________________________\n{HEADERS}\n\n{OURS}",
        "Thank you.\n\n-- \nAnna Keller\nKeller & Sons, 3 Mill Lane",
    ],
)
def test_what_the_thread_says_is_known_however_a_client_quotes_it(text: str) -> None:
    assert left_out(mail(text), THREAD) == NOTHING


@pytest.mark.parametrize(
    "text",
    [
        "Thank you.\n\n> You get your money back within 14 days of the order,\n> mine was 12 days ago, so where is it",
        f"Thank you.\n\n-----Original Message-----\n{HEADERS}\n\n{OURS}\n\nI want my money back now.",
        f"Thank you.\n\n-----Original Message-----\n{HEADERS}: cancel my plan\n\n{OURS}",
        f"Thank you.\n\nOn Fri, 20 Nov 2026 at 12:00, {SENDER} wrote:{QUOTED}\n>\n> cancel it",
    ],
)
def test_own_words_among_a_quotation_are_found(text: str) -> None:
    assert left_out(mail(text), THREAD) == LeftOut((), has_more=True)


def test_a_signature_that_no_mail_of_the_thread_has_is_read() -> None:
    found = left_out(mail("Thank you.\n\n-- \nAnna Keller\nPlease cancel my plan today."), THREAD)
    assert found == LeftOut(("Please cancel my plan today.",), has_more=False)


@pytest.mark.parametrize("subject", ["Refund", "Re: Refund", "AW: Re: refund"])
def test_the_subject_of_the_thread_is_known(subject: str) -> None:
    assert left_out(mail("Thank you.", subject), THREAD) == NOTHING


def test_another_subject_is_read() -> None:
    assert left_out(mail("Thank you.", "Re: My account was hacked"), THREAD).lines == ("My account was hacked",)


def test_a_picture_is_known_only_if_the_thread_has_it() -> None:
    """A logo comes with each mail, a screenshot once."""
    assert left_out(mail("Thank you.", image=IMAGE), THREAD).has_more
    assert left_out(mail("Thank you.", image=IMAGE), Thread.of([mail("A refund?", "Refund", IMAGE)])) == NOTHING


def test_words_count_only_whole_and_in_their_order() -> None:
    assert THREAD.has("> your money back!")
    assert not THREAD.has("money your back")
    assert not THREAD.has("our money back")


def test_a_mark_inside_a_line_stays() -> None:
    assert quoted_content("> > open Billing > Invoices") == ["open Billing > Invoices"]


def test_a_line_with_a_label_that_no_client_writes_so_is_content() -> None:
    assert quoted_content("> Subject: the form\nTo: whom it may concern, please cancel all that I have with you") == [
        "Subject: the form",
        "To: whom it may concern, please cancel all that I have with you",
    ]
