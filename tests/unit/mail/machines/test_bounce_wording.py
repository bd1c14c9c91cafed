# ruff: noqa: RUF001 - words in Chinese and other letters
"""How bounces without a report are read: where the notice ends, whom it names, whether the mail is only late."""

from __future__ import annotations

import pytest

from support_agent.mail.machines.bounce_wording import (
    is_delay,
    named_addresses,
    read_notice,
    reports_failure,
    status_in,
)
from support_agent.mail.machines.bounce_words import BOUNCE_SUBJECT

TOM = "tom.berg@example.org"


@pytest.mark.parametrize(
    "subject",
    [
        "Undelivered Mail Returned to Sender",
        "Mail delivery failed: returning message to sender",
        "failure notice",
        "Delivery Status Notification (Failure)",
        "Undeliverable: Your answer",
        "Returned mail: see transcript for details",
        "Warning: message 1abc delayed 24 hours",
        "Unzustellbar: Ihre Antwort",
        "Non remis : votre réponse",
        "No se puede entregar: su respuesta",
        "Falha na entrega",
        "Ваше сообщение не доставлено",
        "退信通知",
        "配信エラーのお知らせ",
    ],
)
def test_s1_the_subject_of_a_bounce_is_known_in_many_languages(subject: str) -> None:
    assert BOUNCE_SUBJECT.search(subject)


@pytest.mark.parametrize(
    "subject", ["Delivery of my order", "Change of plan", "Mail address", "When is the next delivery?"]
)
def test_a_customers_subject_is_no_bounces(subject: str) -> None:
    assert not BOUNCE_SUBJECT.search(subject)


@pytest.mark.parametrize(
    "notice",
    [
        f">>> RCPT TO:<{TOM}>\n<<< 550 no such user\nMAIL FROM:<support@example.net>",
        f"Did not reach the following recipient(s):\n\n'{TOM}' on Tue, 10 Mar 2026 09:15:00 +0100",
        f"收件人邮件地址（{TOM}）不存在。",
    ],
)
def test_s64_every_address_in_the_text_is_named_without_the_marks_around_it_except_our_own(notice: str) -> None:
    """Whether it is the address that we wrote to decides what a bounce suppresses."""
    assert named_addresses(notice, {"support@example.net"}) == (TOM,)


def test_s64_an_alias_is_named_with_what_it_was_expanded_to() -> None:
    """The address that we wrote to is the one that matters to us."""
    notice = f"had permanent fatal errors\nbox17@store.example.org\n    (expanded from: <{TOM}>)"
    assert named_addresses(notice, ()) == ("box17@store.example.org", TOM)


def test_a_notice_that_names_nobody_gives_no_address() -> None:
    assert named_addresses("Your mail could not be delivered.", ()) == ()
    assert named_addresses("postmaster@example.org: no such user", ()) == ()


@pytest.mark.parametrize(
    "line",
    [
        "--- Below this line is a copy of the message.",
        "------ This is a copy of the message, including all the headers. ------",
        "   ----- Original message follows -----",
        "Message header follows:",
        "-----Ursprüngliche Nachricht----- original",
        "Received: from a by b; Tue, 10 Mar 2026 09:15:00 +0100",
        "> Return-Path: <support@example.net>",
        "Message-ID: <case-1@example.net>",
    ],
)
def test_the_notice_ends_where_the_returned_mail_begins(line: str) -> None:
    notice = read_notice(f"It failed.\n\n{line}\nTo: other@example.org")
    assert (notice.text.strip(), notice.has_original) == ("It failed.", True)
    assert "other@example.org" in notice.original


def test_s64_a_mail_that_is_only_late_has_not_failed() -> None:
    assert is_delay("Warning: message delayed", "Delivery attempts will continue.")
    assert is_delay("x", "This is a warning message only. You do not need to resend your message")
    assert is_delay("x", "Die Zustellung hat sich verzögert")
    assert not is_delay("failure notice", "It was delayed for 5 days. I have given up.")
    assert not is_delay("failure notice", "The mail could not be delivered")


@pytest.mark.parametrize(
    ("subject", "notice"),
    [
        ("Delayed Mail (still being retried)", "It could not be delivered for more than 4 hours. It will be retried."),
        ("Delivery Status Notification (Delay)", "We will tell you that delivery fails permanently, where it does."),
        ("Mail delivery", "Your mail is delayed. If it can not be delivered within 5 days it is returned to sender."),
        ("Zustellung", "Die Zustellung verzögert sich. Sollte sie endgültig nicht gelingen, erhalten Sie Nachricht."),
        ("Mail", "There was a problem. We will retry for 47 more hours. You'll be notified if it fails permanently."),
        ("Mail", "Not delivered yet. The server will keep trying for 2 days."),
    ],
)
def test_s64_a_delay_is_no_failure_though_the_notice_says_what_happens_at_its_end(subject: str, notice: str) -> None:
    """Failure: the address of a mail that arrived an hour later was suppressed for 60 days."""
    assert is_delay(subject, notice)


@pytest.mark.parametrize(
    ("notice", "status"),
    [
        ("550 5.1.1 unknown", "5.1.1"),
        ("host 5.1.1.9 said: 550 5.0.0 and then 5.7.1", "5.7.1"),
        ("User unknown", "5.1.1"),
        ("The mailbox is full", "5.2.2"),
        ("Host unknown", "5.1.2"),
        ("550 Requested action not taken: mailbox unavailable", "5.2.1"),
        ("User tom (tom.berg@example.org) not listed in the directory", "5.1.1"),
        ("message exceeds the maximum size", "5.3.4"),
        ("554 Too many hops 26 (25 max)", "5.4.6"),
        ("It did not work", ""),
    ],
)
def test_s64_the_status_is_read_or_follows_from_the_words(notice: str, status: str) -> None:
    assert status_in(notice, is_permanent=True) == status


@pytest.mark.parametrize(
    "words",
    [
        "user unknown",
        "The mailbox\nis full",
        "konnte nicht zugestellt werden",
        "could not\nbe delivered",
        "delivery failed",
        "the address tom@mail.example.org\ndoes not exist",
        "메일 발송이 실패되었습니다",
    ],
)
def test_failure_is_told_over_line_ends(words: str) -> None:
    assert reports_failure(f"Hello,\n{words}")
    assert not reports_failure("Hello,\nhow do I change to the yearly plan?")
