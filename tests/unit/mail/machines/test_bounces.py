"""S64: what a bounce says, by RFC 3464, by the library for other notices, and by the general rules behind it."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.mail.machines import bounces
from support_agent.mail.machines.bounces import DeliveryNotice, Fate, read_bounce, read_delivery_notice
from support_agent.mail.message import not_read, parse
from tests.unit.mail.mails import EMAILS, raw_mail

TOM = "tom.berg@example.org"
OURS = "<case-1@harborfile.example>"
RETURNED = f"From: support@harborfile.example\nTo: {TOM}\nSubject: Re: Refund\nMessage-ID: {OURS}\n"
HEAD = """From: {sender}
To: support@harborfile.example
Subject: {subject}
Message-ID: <bounce@mx.example.org>
"""
STATUS = f"""Reporting-MTA: dns; mx.example.org
Original-Envelope-Id: env-1

Final-Recipient: rfc822; {TOM}
Action: failed
Status: 5.1.1
"""


def read(raw: str | bytes) -> DeliveryNotice | None:
    data = raw if isinstance(raw, bytes) else raw.encode()
    return read_bounce(parse(data), data)


def notice(
    text: str, subject: str = "failure notice", sender: str = "MAILER-DAEMON@mx.example.org"
) -> DeliveryNotice | None:
    return read(f"{HEAD.format(sender=sender, subject=subject)}\n{text}")


def report(status: str, *, subject: str = "Undelivered Mail", coding: str = "7bit", returned: str = RETURNED) -> str:
    head = HEAD.format(sender="MAILER-DAEMON@mx.example.org", subject=subject)
    return (
        f"{head}Content-Type: multipart/report; report-type=delivery-status; boundary=r\n\n"
        "--r\nContent-Type: text/plain\n\nThis is the mail system.\n"
        f"--r\nContent-Type: message/delivery-status\nContent-Transfer-Encoding: {coding}\n\n{status}\n"
        f"--r\nContent-Type: message/rfc822\n\n{returned}\nHello\n--r--\n"
    )


def test_s64_a_delivery_report_says_who_failed_why_and_which_mail_it_was() -> None:
    assert read(report(STATUS)) == DeliveryNotice(
        fate=Fate.FAILED,
        recipients=(TOM,),
        status="5.1.1",
        original_message_ids=(OURS,),
        is_returned=True,
        envelope_ids=("env-1",),
    )


def test_s64_a_delay_is_no_failure() -> None:
    found = read(report(STATUS.replace("failed", "delayed").replace("5.1.1", "4.4.1")))
    assert found is not None
    assert (found.recipients, found.status, found.is_permanent) == ((TOM,), "4.4.1", False)


def test_s64_where_some_failed_the_late_ones_are_not_named() -> None:
    late = "\nFinal-Recipient: rfc822; late@example.org\nAction: delayed\nStatus: 4.4.1\n"
    found = read(report(STATUS + late))
    assert found is not None
    assert (found.recipients, found.is_permanent) == ((TOM,), True)


@pytest.mark.parametrize("action", ["delivered", "relayed", "expanded"])
def test_s64_a_report_of_success_is_no_bounce(action: str) -> None:
    """It is read all the same, by the same way: what was lost on the way to the server did arrive."""
    raw = report(STATUS.replace("failed", action).replace("5.1.1", "2.0.0"), subject="Report").encode()
    assert read(raw) is None
    notice = read_delivery_notice(parse(raw), raw)
    assert notice is not None
    assert (notice.fate, notice.recipients, notice.is_permanent) == (Fate.DELIVERED, (TOM,), False)
    assert (notice.envelope_ids, notice.original_message_ids) == (("env-1",), (OURS,))


def test_s64_who_is_late_has_not_failed_where_the_failed_one_has_no_address() -> None:
    """Failure: the other of two recipients, who was only late, was named as failed for good."""
    nameless = STATUS.replace(f"rfc822; {TOM}", "x400; /G=tom/S=berg/")
    late = "\nFinal-Recipient: rfc822; late@example.org\nAction: delayed\nStatus: 4.4.1\n"
    found = read(report(nameless + late, returned=RETURNED.replace(f"To: {TOM}\n", "")))
    assert found is not None
    assert (found.recipients, found.is_permanent) == ((), True)


@pytest.mark.parametrize("charset", ["", "Content-Type: text/plain; charset*=utf-8''utf-8\n"])
def test_s64_an_internationalised_report_is_read(charset: str) -> None:
    """RFC 6533: its fields are UTF-8. Failure: 8-bit text under a charset in the form of RFC 2231 was a TypeError."""
    status = f"Reporting-MTA: dns; mx.example.org\n{charset}\nFinal-Recipient: utf-8; jürgen@bücher.example\n"
    raw = report(f"{status}Action: failed\nStatus: 5.1.1\n").replace("/delivery-status", "/global-delivery-status")
    found = read(raw.replace("7bit", "8bit"))
    assert found is not None
    assert (found.recipients, found.status) == (("jürgen@xn--bcher-kva.example",), "5.1.1")


def test_eight_bit_text_of_a_bounce_may_have_its_charset_in_the_form_of_rfc_2231() -> None:
    text = "Content-Type: text/plain; charset*=utf-8''utf-8\nContent-Transfer-Encoding: 8bit\n\nFür Sie"
    found = read(report(STATUS).replace("Content-Type: text/plain\n\nThis", f"{text}\nThis"))
    assert found is not None
    assert found.recipients == (TOM,)


def test_a_report_part_in_an_encoding_that_it_may_not_have_is_read() -> None:
    found = read(report(base64.encodebytes(STATUS.encode()).decode(), coding="base64"))
    assert found is not None
    assert (found.recipients, found.status) == ((TOM,), "5.1.1")


def test_a_report_that_a_gateway_made_text_of_is_read() -> None:
    found = notice(f"This is the mail system.\n\n{STATUS}\n{RETURNED}")
    assert found is not None
    assert (found.recipients, found.status, found.envelope_ids) == ((TOM,), "5.1.1", ("env-1",))


def test_a_report_beyond_the_parsers_limits_is_read_from_its_bytes() -> None:
    raw = not_read("only its beginning was read") + report(STATUS).encode()
    found = read(raw)
    assert found is not None
    assert found.recipients == (TOM,)


def test_s64_failed_recipients_of_a_header_are_named() -> None:
    head = HEAD.format(sender="Mailer-Daemon@mx.example.org", subject="Mail delivery failed")
    found = read(f"X-Failed-Recipients: {TOM}\n{head}\nIt failed.\n")
    assert found is not None
    assert found.recipients == (TOM,)


@pytest.mark.parametrize("with_library", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "Hi. This is the qmail-send program.\n"
        "I'm afraid I wasn't able to deliver your message to the following addresses.\n"
        f"This is a permanent error; I've given up.\n\n<{TOM}>:\nno mailbox here by that name. (#5.1.1)\n\n"
        f"--- Below this line is a copy of the message.\n\n{RETURNED}",
        f"A message that you sent could not be delivered to one or more of its recipients.\n"
        f"The following address(es) failed:\n\n  {TOM}\n    550 5.1.1 unknown user\n\n"
        f"------ This is a copy of the message, including all the headers. ------\n\n{RETURNED}",
    ],
)
def test_s64_other_notices_are_read_with_and_without_the_library(
    text: str, with_library: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library knows many servers; where it fails, as on the next unknown one, the general rules stand."""
    if not with_library:
        monkeypatch.setattr(bounces, "all_failures", lambda mail: (frozenset(), frozenset()))
    found = notice(text)
    assert found is not None
    assert (found.recipients, found.status, found.is_permanent) == ((TOM,), "5.1.1", True)
    assert found.original_message_ids == (OURS,)


def test_a_library_that_fails_leaves_the_general_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(mail: object) -> None:
        raise ValueError("never seen such a mail")

    monkeypatch.setattr(bounces, "all_failures", break_down)
    found = notice(f"The user {TOM} does not exist.\n")
    assert found is not None
    assert found.recipients == (TOM,)


def test_s64_a_notice_that_names_nobody_is_about_the_only_recipient_of_the_returned_mail() -> None:
    found = notice(f"Your mail could not be delivered.\n\n--- Original message follows ---\n{RETURNED}")
    assert found is not None
    assert found.recipients == (TOM,)


@pytest.mark.parametrize("mark", ["List-Id: <friends.example.org>", "Cc: other@example.org", "Precedence: list"])
def test_s64_but_not_where_that_is_a_list_or_there_were_others(mark: str) -> None:
    found = notice(f"Your mail could not be delivered.\n\n--- Original message follows ---\n{mark}\n{RETURNED}")
    assert found is not None
    assert found.recipients == ()


def test_s64_the_id_that_a_bounce_answers_to_counts_where_nothing_was_returned() -> None:
    head = HEAD.format(sender="postmaster@example.org", subject="Undeliverable: Re: Refund")
    found = read(f"{head}In-Reply-To: {OURS}\n\n{TOM}\nThe address was not found.\n")
    assert found is not None
    assert (found.recipients, found.original_message_ids) == ((TOM,), (OURS,))


def test_s64_a_persons_mail_that_answers_ours_is_not_about_it() -> None:
    """Failure: a notice of a person's own server made our answer to him a failed one."""
    head = HEAD.format(sender="Anna Keller <anna.keller@example.net>", subject="Undeliverable: Your newsletter")
    found = read(f"Return-Path: <>\n{head}In-Reply-To: {OURS}\n\n{TOM}\nThe address was not found.\n")
    assert found is not None
    assert (found.original_message_ids, found.is_returned) == ((), False)


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("Refund", "How do I get a refund?"),
        ("Delivery failure", "My parcel could not be delivered. Where is it?"),
        ("Re: Undeliverable: Refund", f"My mail to {TOM} could not be delivered, why?"),
        ("Delivery failed", "Your invoice never came, it seems that delivery failed."),
        ("Delivery failed", f"Your mail to {TOM} was returned to sender, unknown user."),
        ("Message not delivered", f"Your newsletter could not be delivered to my address {TOM}, please change it."),
        ("Mail rejected by Gmail", f"I get 550 5.7.1 when I send to {TOM}: the message was rejected."),
        ("Delivery failed", f"Your mail could not be delivered to this address, can you help me?\n\n{TOM}"),
    ],
)
def test_a_customer_who_writes_of_lost_mail_is_no_bounce(subject: str, text: str) -> None:
    assert notice(f"Hello,\n\n{text}\n", subject, "Anna Keller <anna.keller@example.net>") is None


@pytest.mark.parametrize(
    "sender",
    [
        "Harbour Post Office <hello@postoffice.example>",
        "Tom (System Administrator) <tom@example.net>",
        "Mail Server Team <it@example.net>",
        "System Administrator <it@example.net>",
        "Bob Postmasterson <bpostmasterson@example.net>",
    ],
)
def test_a_customer_whose_name_has_a_servers_words_is_no_bounce(sender: str) -> None:
    """A server's name is a local part or the whole display name, and this alone says little."""
    assert notice("Our mailbox is full and the user is unknown.", "Sync does not work", sender) is None


ANSWER = "Auto-Submitted: auto-replied\n"


@pytest.mark.parametrize("marks", [ANSWER, "X-Autoreply: yes\n", ""])
@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("Re: Refund", "I am on leave until Monday. Your message will not be forwarded."),
        ("Re: Refund", "I no longer work here and this mailbox is not active. Please write to info@example.org."),
        ("Re: Refund", "I am on leave.\n\nOn Tue, 10 Mar 2026 at 9:00 Support <s@harborfile.example> wrote:\n"
         "> If it says 'user not found', the address does not exist.\n"),
        ("[#123] Refund", "Thanks, we have it. If your mailbox is full our answer cannot be delivered."),
        ("Automatic reply: Undeliverable mail", "The mailbox is full, I am back on Monday."),
        ("Re: Delivery failed", "I am away until Monday. Your message was not delivered to my deputy."),
    ],
)  # fmt: skip
def test_s2_an_answer_by_machine_without_a_return_path_is_no_bounce(marks: str, subject: str, text: str) -> None:
    """RFC 3834, section 3.3. Failure: a notice that quotes our answer made it a failed one, and nobody heard of it."""
    head = HEAD.format(sender="Anna Keller <anna.keller@example.net>", subject=subject)
    assert read(f"Return-Path: <>\n{marks}{head}In-Reply-To: {OURS}\n\n{text}\n") is None


@pytest.mark.parametrize(
    ("sender", "subject"),
    [
        ("Mail Delivery System <Mailer-Daemon@mx.example.org>", "Mail delivery failed: returning message to sender"),
        (f"Microsoft Outlook <MicrosoftExchange{'0' * 32}@example.org>", "Undeliverable: Refund"),
        ("Mail Delivery Subsystem <admin@example.org>", "Automatically rejected mail"),
    ],
)
def test_s64_a_server_may_say_of_its_bounces_that_they_are_answers(sender: str, subject: str) -> None:
    head = HEAD.format(sender=sender, subject=subject)
    found = read(f"Return-Path: <>\n{ANSWER}{head}\nYour message could not be delivered.\n\n  {TOM}\n")
    assert found is not None
    assert found.recipients == (TOM,)


@pytest.mark.parametrize("subject", ["Out of office: Refund", "Automatic reply: Refund", "Abwesenheitsnotiz"])
def test_an_absence_notice_is_no_bounce(subject: str) -> None:
    """Its return path is empty too, and it may say that mail is not forwarded."""
    head = HEAD.format(sender="Anna Keller <anna.keller@example.net>", subject=subject)
    assert read(f"Return-Path: <>\n{head}\nYour message was not delivered to my deputy, I am back on Monday.\n") is None


def test_a_read_receipt_is_no_bounce() -> None:
    raw = raw_mail("report_read_receipt")
    assert read(raw) is None


def test_a_bounce_that_a_customer_attaches_is_none_of_ours() -> None:
    assert read(raw_mail("customer_forwards_a_bounce")) is None


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_bytes_are_read(data: st.DataObject) -> None:
    """Bytes of bounces, cut and mixed: never an exception, and only usable addresses."""
    base = data.draw(
        st.sampled_from([report(STATUS).encode(), *(p.read_bytes() for p in sorted(EMAILS.glob("*report*")))])
    )
    raw = bytearray(base)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw)))
        raw[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=30))
    found = read(bytes(raw))
    assert found is None or all("@" in address for address in found.recipients)
