"""Replies of staff to a packet: whose are passed on, to whom, and in which words."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from support_agent.cases.handling import Handling, Order
from support_agent.store.records import (
    CaseState,
    MailId,
    MailStatus,
    OutgoingKind,
)
from support_agent.store.retention import delete_whole
from tests.fakes_desk import digest, held_in, lines_of
from tests.fakes_journey import (
    ANNA,
    DESK,
    JAMES,
    NOON,
    STRANGER,
    Office,
    with_agent,
    write,
)
from tests.unit.seen import (
    FAILURE,
    HUMAN,
    LIST,
    PACKET,
    PERSON_REPLY,
    REFUND,
    one,
    opened,
    reason_told,
    state,
    text_of,
)


def staff_reply(office: Office, words: str, *, sender: str = DESK, proof: str | None = "dmarc") -> MailId:
    """A case that a person has, and a reply to its packet; the reply's id."""
    first, _ = office.handle(write(HUMAN, subject="My card"))
    packet = office.sent(first)[PACKET].message_id
    reply, _ = office.handle(write(words, sender=sender, proof=proof, in_reply_to=packet, number=2))
    return reply


def test_persons_reply_is_passed_on_in_the_customers_thread(office: Office) -> None:
    """Her own words, without the quotation; a person wrote them, so the mail is not automatic."""
    quoted = (
        "Dear Anna,\r\nwe look at it now.\r\n\r\n"
        "On Fri, 20 Nov 2026 at 12:00, Support <support@harborfile.example> wrote:\r\n> the packet"
    )
    reply = staff_reply(office, quoted)
    sent = office.sent(reply)
    assert set(sent) == {PERSON_REPLY}
    mail = opened(sent[PERSON_REPLY])
    assert sent[PERSON_REPLY].recipient == ANNA
    assert text_of(sent[PERSON_REPLY]) == "Dear Anna,\nwe look at it now.\n"
    assert mail["Subject"] == "Re: My card"
    assert mail["Auto-Submitted"] is None
    first = office.store.mails.find()[0]
    assert mail["In-Reply-To"] == first.message_id
    assert one(office, reply).status is MailStatus.FILED


@pytest.mark.parametrize(("sender", "proof"), [(DESK, None), (DESK, "spf"), (STRANGER, "dmarc"), (ANNA, "dmarc")])
def test_only_a_proven_staff_address_speaks_for_the_company(office: Office, sender: str, proof: str | None) -> None:
    """Whoever else names the packet's id is a customer at best: nothing of theirs goes to Anna."""
    reply = staff_reply(office, "Send me your password.", sender=sender, proof=proof)
    assert PERSON_REPLY not in office.sent(reply)
    assert not any(row.recipient == ANNA for row in office.store.outbox.find(mail_id=reply))


def packet_reply(office: Office, more: bytes, *, sender: str = DESK, proof: str | None = "dmarc") -> MailId:
    """A reply to the packet of a new case, with further header fields."""
    first, _ = office.handle(write(HUMAN))
    packet = office.sent(first)[PACKET].message_id
    reply = write("We look at it.", sender=sender, proof=proof, in_reply_to=packet, number=2)
    return office.handle(more + reply)[0]


def test_persons_reply_is_passed_on_through_a_mailing_list(office: Office) -> None:
    """The desk's address is often a list, and what a list adds is not what an automatic reply bears."""
    assert set(office.sent(packet_reply(office, LIST))) == {PERSON_REPLY}


BY_LIST = pytest.mark.parametrize(("before", "after"), [(b"", b""), (b"", LIST), (LIST, b"")])


@BY_LIST
@pytest.mark.parametrize(
    "mark",
    [
        b"Auto-Submitted: auto-replied\r\n",
        b"X-Autoreply: yes\r\n",
        b"Return-Path: <>\r\nPrecedence: bulk\r\n",
        b"Precedence: auto_reply\r\n",
        b"Precedence: bulk\r\nX-Autoreply: yes\r\n",
        b"X-Auto-Response-Suppress: All\r\nAuto-Submitted: auto-generated\r\n",
        b"Subject: Out of Office: A case\r\nX-Auto-Response-Suppress: OOF\r\n",
        b"X-Spam-Flag: YES\r\nX-Failed-Recipients: anna@elsewhere.example\r\n",
    ],
)
def test_automatic_reply_of_a_person_is_not_passed_on(office: Office, mark: bytes, before: bytes, after: bytes) -> None:
    """An out-of-office note to the packet, by a list or not: the customer has not written to that person.

    Nobody is notified, because a program that answers each mail would answer the notice too.
    """
    reply = packet_reply(office, before + mark + after)
    assert (office.sent(reply), one(office, reply).status) == ({}, MailStatus.FILED)
    assert str(one(office, reply).reason_code).startswith("S")


BULK = (
    b"X-Auto-Response-Suppress: All\r\n",
    b"X-Auto-Response-Suppress: OOF\r\n",
    b"Precedence: bulk\r\n",
    b"Precedence: junk\r\n",
    b"X-Spam-Flag: YES\r\n",
)
"""Fields that servers, lists and spam filters also add to mail that people write."""


@BY_LIST
@pytest.mark.parametrize("mark", BULK)
def test_reply_that_a_rule_takes_for_bulk_mail_goes_back_to_its_writer(
    office: Office, mark: bytes, before: bytes, after: bytes
) -> None:
    """Failure: S5, S6 and S14 filed a person's reply, the customer got nothing, and the writer was told nothing.

    The notice names the field, and is itself marked as automatic, so that programs do not answer it.
    """
    reply = packet_reply(office, before + mark + after)
    sent = office.sent(reply)
    assert (set(sent), sent[FAILURE].recipient) == ({FAILURE}, DESK)
    assert mark.decode().strip() in text_of(sent[FAILURE])
    assert opened(sent[FAILURE])["Auto-Submitted"] == "auto-generated"
    assert reason_told(office, reply, FAILURE)[0] == one(office, reply).reason_code == "not_passed_on"


POSTMASTER = "postmaster@harborfile.example"


def shared_by_postmaster(office: Office) -> Office:
    """The office with a member of its staff whose address is a machine's name."""
    desk = office.settings.desk.model_copy(update={"staff": (POSTMASTER,)})
    return replace(office, settings=office.settings.model_copy(update={"desk": desk}))


@BY_LIST
def test_s8_a_persons_reply_from_a_machines_name_goes_back_to_its_writer(
    office: Office, before: bytes, after: bytes
) -> None:
    """Failure: it was filed, the customer got nothing, and nobody was notified."""
    office = shared_by_postmaster(office)
    reply = packet_reply(office, before + after, sender=POSTMASTER)
    notice = office.sent(reply)[FAILURE]
    assert (set(office.sent(reply)), opened(notice)["Auto-Submitted"]) == ({FAILURE}, "auto-generated")
    assert f"S8, From is {POSTMASTER}" in text_of(notice)
    assert reason_told(office, reply, FAILURE)[0] == one(office, reply).reason_code == "not_passed_on"


@pytest.mark.parametrize(
    ("sender", "proof"), [(POSTMASTER, None), (POSTMASTER, "spf"), ("no-reply@harborfile.example", "dmarc")]
)
def test_s8_a_machines_name_of_anybody_else_is_filed(office: Office, sender: str, proof: str | None) -> None:
    reply = packet_reply(shared_by_postmaster(office), b"", sender=sender, proof=proof)
    assert (office.sent(reply), one(office, reply).reason_code) == ({}, "S8")


@pytest.mark.parametrize(
    "mark",
    [
        b"Auto-Submitted: auto-replied\r\n",
        b"X-Autoreply: yes\r\n",
        b"Return-Path: <>\r\n",
        b"Precedence: bulk\r\n",
        b"X-Auto-Response-Suppress: All\r\n",
        b"Subject: Out of Office: A case\r\n",
    ],
)
def test_s8_an_automatic_reply_from_a_machines_name_is_filed(office: Office, mark: bytes) -> None:
    """Nobody is notified: a program that answers each mail would answer the notice, too."""
    office = shared_by_postmaster(office)
    reply = packet_reply(office, mark, sender=POSTMASTER)
    assert (office.sent(reply), one(office, reply).status) == ({}, MailStatus.FILED)


def test_a_ticket_systems_reply_that_looks_like_bulk_mail_takes_no_case_from_the_agent(office: Office) -> None:
    """Failure: the desk's program answered the notice of an answer that waits, and the customer's next question went
    to a person.
    """
    held = held_in(office)
    notice = held.office.sent(held.mail_id)[OutgoingKind.HELD]
    raw = b"Precedence: bulk\r\n" + write("Ticket 77 created.", sender=DESK, in_reply_to=notice.message_id, number=9)
    reply, _ = held.office.handle(raw)
    assert set(held.office.sent(reply)) == {FAILURE}
    assert state(held.office, held.mail_id) is CaseState.OPEN


def test_command_that_a_rule_takes_for_bulk_mail_goes_back_to_its_writer(office: Office) -> None:
    """It has no effect, and whoever gave it hears so."""
    first, _ = office.handle(write(HUMAN))
    packet = office.sent(first)[PACKET]
    line = f"[{packet.case_id}] close ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    raw = BULK[0] + write(line, sender=DESK, in_reply_to=packet.message_id, number=2)
    reply, _ = office.handle(raw)
    assert (set(office.sent(reply)), reason_told(office, reply, FAILURE)[0]) == ({FAILURE}, "not_carried_out")


@pytest.mark.parametrize("address", ["it-request@harborfile.example", "home-owner@harborfile.example"])
def test_s2_an_absence_notice_of_staff_whose_name_a_machine_may_have_reaches_no_customer(
    office: Office, address: str
) -> None:
    """Failure: "a name that machines and people use" (S8) was found first, and then no rule looked at the wording."""
    desk = office.settings.desk.model_copy(update={"staff": (address,)})
    office = replace(office, settings=office.settings.model_copy(update={"desk": desk}))
    first, _ = office.handle(write(HUMAN))
    packet = office.sent(first)[PACKET].message_id
    words = "I am out of the office until Monday and will answer your mail when I am back."
    raw = write(words, subject="Automatic reply: A case", sender=address, in_reply_to=packet, number=2)
    assert set(office.sent(office.handle(raw)[0])) == {FAILURE}
    assert len(office.store.waits.cases(NOON)) == 1
    reply, _ = office.handle(write("We look at it.", sender=address, in_reply_to=packet, number=3))
    assert set(office.sent(reply)) == {PERSON_REPLY}


def test_s8_a_program_that_answers_a_digest_opens_no_case(office: Office) -> None:
    """Failure: the desk's program became a customer with a case of its own, of which the desk was reminded."""
    office = shared_by_postmaster(office)
    first, _ = office.handle(write(REFUND))
    row = digest(office, first)
    raw = write("The matter is on the list of the team.", sender=POSTMASTER, in_reply_to=row.message_id, number=2)
    reply, _ = office.handle(raw)
    assert (office.sent(reply), one(office, reply).status) == ({}, MailStatus.FILED)
    assert not office.store.waits.cases(NOON)


def test_s12_failed_commands_use_up_no_notice_about_what_looks_like_bulk_mail(office: Office) -> None:
    """Failure: the address may be a machine's or people's (S8), so its mails counted though none had been refused."""
    person = "support-request@harborfile.example"
    desk = office.settings.desk.model_copy(update={"staff": (person,)})
    office = replace(office, settings=office.settings.model_copy(update={"desk": desk}))
    first, _ = office.handle(write(HUMAN))
    packet = office.sent(first)[PACKET]
    line = f"[{packet.case_id}] close ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    for number in range(2, 5):
        failed, _ = office.handle(write(line, sender=person, in_reply_to=packet.message_id, number=number))
        assert reason_told(office, failed, FAILURE)[0] == "not_carried_out"
    raw = BULK[0] + write("We look at it.", sender=person, in_reply_to=packet.message_id, number=5)
    assert set(office.sent(office.handle(raw)[0])) == {FAILURE}


@pytest.mark.parametrize("mark", BULK)
@pytest.mark.parametrize(("sender", "proof"), [(DESK, None), (DESK, "spf"), (STRANGER, "dmarc"), (ANNA, "dmarc")])
def test_bulk_mail_of_anybody_else_is_filed(office: Office, mark: bytes, sender: str, proof: str | None) -> None:
    """Only a proven staff address is told: anybody can write the id of a packet."""
    reply = packet_reply(office, mark, sender=sender, proof=proof)
    assert (office.sent(reply), one(office, reply).reason_code) in [({}, "S5"), ({}, "S6"), ({}, "S14")]


@pytest.mark.parametrize(("mark", "program"), [*((mark, DESK) for mark in BULK), (b"", POSTMASTER)])
def test_s12_a_program_whose_mail_looks_like_bulk_mail_gets_three_notices_in_a_case(
    office: Office, mark: bytes, program: str
) -> None:
    """A ticket system may answer each notice; its day's notices must not be used up by one case.

    What nobody was told of keeps its reason. A colleague is told all the same, and so is the writer in another case.
    """
    desk = office.settings.desk.model_copy(update={"staff": (JAMES, POSTMASTER)})
    office = replace(office, settings=office.settings.model_copy(update={"desk": desk}))
    first, _ = office.handle(write(HUMAN))
    answered = office.sent(first)[PACKET].message_id
    replies = []
    for number in range(2, 8):
        raw = mark + write(f"Ticket {number}.", sender=program, in_reply_to=answered, number=number)
        reply, _ = office.handle(raw)
        replies.append(reply)
        answered = office.sent(reply)[FAILURE].message_id if office.sent(reply) else answered
    assert [set(office.sent(reply)) for reply in replies] == [{FAILURE}] * 3 + [set()] * 3
    assert [(one(office, reply).status, one(office, reply).reason_code) for reply in replies] == [
        (MailStatus.FILED, "not_passed_on")
    ] * 6
    colleague, _ = office.handle(BULK[0] + write("We look at it.", sender=JAMES, in_reply_to=answered, number=9))
    assert set(office.sent(colleague)) == {FAILURE}
    other, _ = office.handle(write(HUMAN, sender=STRANGER, number=10))
    in_other = write("We look at it.", sender=program, in_reply_to=office.sent(other)[PACKET].message_id, number=11)
    assert set(office.sent(office.handle(mark + in_other)[0])) == {FAILURE}


@pytest.mark.parametrize(("sender", "proof"), [(DESK, None), (DESK, "spf"), (STRANGER, "dmarc"), (ANNA, "dmarc")])
def test_list_mail_of_anybody_else_is_filed(office: Office, sender: str, proof: str | None) -> None:
    """Only a proven staff address that answers a packet is let through."""
    reply = packet_reply(office, LIST, sender=sender, proof=proof)
    assert (office.sent(reply), one(office, reply).reason_code) == ({}, "S4")


def test_list_mail_of_staff_that_answers_no_packet_is_filed(office: Office) -> None:
    """A colleague's newsletter."""
    mail_id, _ = office.handle(LIST + write(REFUND, sender=DESK))
    assert (office.sent(mail_id), one(office, mail_id).reason_code) == ({}, "S4")


def test_staff_reply_without_words_goes_back_to_the_desk(office: Office) -> None:
    """A quotation alone would reach the customer as an empty mail; who wrote it must hear that it did not."""
    assert list(office.sent(staff_reply(office, "> the packet"))) == [FAILURE]


@pytest.mark.parametrize(
    ("words", "first_line"),
    [
        ("> the packet", "A reply of the desk was not passed on to the customer."),
        ("close ABCDEFGHIJKLMNOPQRSTUVWXYZ", "A command of the desk was not carried out."),
    ],
)
def test_a_notice_about_a_staff_mail_without_effect_says_what_it_is(
    office: Office, words: str, first_line: str
) -> None:
    """Failure: it began "A customer's mail needs a person."."""
    assert text_of(office.sent(staff_reply(office, words))[FAILURE]).startswith(f"{first_line}\n")


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("Re: A case", "I am out of the office until Monday with limited access to email."),
        ("[#4711] A case", "We have received your request. Your ticket number is 4711."),
    ],
)
def test_s2_words_of_a_machine_at_the_desk_are_not_a_persons(office: Office, subject: str, words: str) -> None:
    """No mark says so, but a customer must not be told that her case is on holiday; the desk hears of it."""
    first, _ = office.handle(write(HUMAN))
    packet = office.sent(first)[PACKET].message_id
    reply, _ = office.handle(write(words, sender=DESK, subject=subject, in_reply_to=packet, number=2))
    assert set(office.sent(reply)) <= {FAILURE}
    assert not any(row.recipient == ANNA for row in office.store.outbox.find(mail_id=reply))


def test_s12_a_machine_at_the_desk_that_answers_each_notice_is_told_so_often_and_no_more(office: Office) -> None:
    """A ticket system behind the desk's address writes to each mail that it gets, and is answered with a notice.

    What nobody was told of keeps its reason, and a colleague who writes from another address is told all the same.
    """
    office = with_agent(office, max_packets_per_sender_a_day=3)
    first, _ = office.handle(write(HUMAN))
    packet = office.sent(first)[PACKET].message_id
    words = "I am out of the office until Monday with limited access to email."
    replies = [
        office.handle(write(f"{words} {number}", sender=DESK, in_reply_to=packet, number=number))[0]
        for number in range(2, 7)
    ]
    assert [set(office.sent(reply)) for reply in replies] == [{FAILURE}] * 3 + [set()] * 2
    ended = [office.store.mails.get(reply) for reply in replies]
    why = "it reads like an automatic reply or a bounce"
    assert [(mail.status, mail.reason_code, mail.why) for mail in ended if mail] == [
        (MailStatus.FILED, "not_passed_on", why)
    ] * 5
    desk = office.settings.desk.model_copy(update={"staff": (JAMES,)})
    office = replace(office, settings=office.settings.model_copy(update={"desk": desk}))
    colleague, _ = office.handle(write(words, sender=JAMES, in_reply_to=packet, number=9))
    assert set(office.sent(colleague)) == {FAILURE}


WITHOUT_PACKET = pytest.mark.parametrize("in_reply_to", [None, "<unknown@harborfile.example>"])


BEFORE_A_CASE = [
    "Re: ",
    "AW: Re: ",
    "",
    "[EXTERNAL] Re: ",
    "RIF: ",
    "Re: [EXT!] ",
    "(Extern) Odp: ",
    "回复\uff1a",
    "RE[2] : ",
    "[EXTERNAL]: ",
    "【社外】",
]
"""What mail programs and gateways put before the subject that they answer."""


@WITHOUT_PACKET
@pytest.mark.parametrize("prefix", BEFORE_A_CASE)
def test_s16_a_staff_reply_that_names_its_case_and_no_packet_goes_back_to_its_writer(
    office: Office, prefix: str, in_reply_to: str | None
) -> None:
    """Failure: of a mail program that drops the ids, the reply opened a case with the desk as its customer."""
    first, _ = office.handle(write(HUMAN, subject="My card"))
    packet = office.sent(first)[PACKET]
    subject = prefix + opened(packet)["Subject"]
    raw = write("We look at it.", sender=DESK, subject=subject, in_reply_to=in_reply_to, number=2)
    reply, _ = office.handle(raw)
    sent = office.sent(reply)
    assert (set(sent), sent[FAILURE].recipient) == ({FAILURE}, DESK)
    why = "your reply names no packet: reply to the packet itself, or send one of its lines"
    assert reason_told(office, reply, FAILURE) == ("not_passed_on", why)
    assert one(office, reply).case_id == packet.case_id
    again, _ = office.handle(
        write("What now?", sender=DESK, in_reply_to=sent[FAILURE].message_id, subject=subject, number=3)
    )
    assert set(office.sent(again)) == {FAILURE}


@pytest.mark.parametrize(("order", "stays"), [(Order.GIVE_BACK, CaseState.OPEN), (Order.CLOSE, CaseState.CLOSED)])
def test_s16_a_mail_of_staff_that_only_mentions_a_case_takes_it_from_no_one(
    office: Office, order: Order, stays: CaseState
) -> None:
    """Failure: a forward within the house left the case with a person for whom no mail waited, and no reminder."""
    first, _ = office.handle(write(HUMAN))
    packet = office.sent(first)[PACKET]
    assert packet.case_id is not None
    Handling(office.store, office.settings).order(packet.case_id, order, "staff", office.clock())
    mention, _ = office.handle(write("See below.", sender=DESK, subject=f"Fwd: {opened(packet)['Subject']}", number=2))
    assert (set(office.sent(mention)), state(office, first)) == ({FAILURE}, stays)


def test_s12_staff_replies_that_name_no_packet_are_told_up_to_the_limits(office: Office) -> None:
    """A program at the desk may answer each notice: by the day's limit, and in a case by that for bulk mail."""
    office = with_agent(office, max_packets_per_sender_a_day=5)
    first, _ = office.handle(write(HUMAN))
    subject = f"Re: {opened(office.sent(first)[PACKET])['Subject']}"
    bulk = [BULK[0] + write("Ticket.", sender=DESK, subject=subject, number=number) for number in range(2, 6)]
    assert [set(office.sent(office.handle(raw)[0])) for raw in bulk] == [{FAILURE}] * 3 + [set()]
    replies = [write("We look at it.", sender=DESK, subject=subject, number=number) for number in range(6, 8)]
    assert [set(office.sent(office.handle(raw)[0])) for raw in replies] == [{FAILURE}, set()]


@WITHOUT_PACKET
@pytest.mark.parametrize(("sender", "proof"), [(DESK, None), (DESK, "spf"), (STRANGER, "dmarc"), (ANNA, "dmarc")])
def test_s22_a_case_in_the_subject_means_nothing_for_anybody_but_proven_staff(
    office: Office, sender: str, proof: str | None, in_reply_to: str | None
) -> None:
    first, _ = office.handle(write(HUMAN))
    case_id = one(office, first).case_id
    subject = f"Re: [{case_id}] A question"
    raw = write(REFUND, sender=sender, proof=proof, subject=subject, in_reply_to=in_reply_to, number=2)
    mail_id, _ = office.handle(raw)
    assert one(office, mail_id).case_id != case_id
    assert not {FAILURE, PERSON_REPLY} & set(office.sent(mail_id))


def test_s22_a_case_in_the_subject_of_staff_that_has_no_packet_is_no_case(office: Office) -> None:
    """The mail is handled as any of theirs: it answers nothing of ours."""
    first, _ = office.handle(write(REFUND))
    case_id = one(office, first).case_id
    mail_id, _ = office.handle(write(REFUND, sender=DESK, subject=f"Re: [{case_id}] A question", number=2))
    assert one(office, mail_id).case_id != case_id
    assert FAILURE not in office.sent(mail_id)


@pytest.mark.parametrize("is_case_kept", [False, True])
def test_s22_a_case_that_a_customers_subject_names_is_not_that_of_the_packet(
    office: Office, is_case_kept: bool
) -> None:
    """Failure: when the packet was no longer kept, the reply to it went into the case that the customer had named."""
    others, _ = office.handle(write(HUMAN))
    named = one(office, others).case_id
    mail_id, _ = office.handle(write(HUMAN, sender=JAMES, subject=f"[{named}] My card", number=2))
    packet, case_id = office.sent(mail_id)[PACKET], one(office, mail_id).case_id
    with office.store.database.write() as connection:
        cases = [str(case_id)] if not is_case_kept else []
        delete_whole(connection, office.store.database.vault, cases, [mail_id])
    references = [packet.message_id, *([None] if is_case_kept else [])]  # some programs drop them
    for number, in_reply_to in enumerate(references, start=3):
        subject = f"[EXTERNAL] Re: {opened(packet)['Subject']}"
        reply, _ = office.handle(write("A word.", sender=DESK, subject=subject, in_reply_to=in_reply_to, number=number))
        assert one(office, reply).case_id != named
        if in_reply_to is not None:
            assert reason_told(office, reply)[0] == "not_kept"


@pytest.mark.parametrize("before", ["We talked about ", "My view on case ", "Refund of 9 EUR, "])
def test_a_case_that_staff_mention_elsewhere_in_a_subject_is_no_case(office: Office, before: str) -> None:
    """Only short prefixes and tags stand before the case of a reply."""
    first, _ = office.handle(write(HUMAN))
    subject = f"{before}{opened(office.sent(first)[PACKET])['Subject']}"
    mail_id, _ = office.handle(write(REFUND, sender=DESK, subject=subject, number=2))
    assert one(office, mail_id).case_id != one(office, first).case_id
    assert FAILURE not in office.sent(mail_id)


@pytest.mark.parametrize("prefix", BEFORE_A_CASE)
def test_a_command_in_a_subject_works_behind_prefixes_and_tags(office: Office, prefix: str) -> None:
    """Failure: a gateway's tag hid the command, and its writer became a customer with a case."""
    first, _ = office.handle(write(HUMAN))
    line = lines_of(office.sent(first)[PACKET])["close"]
    office.handle(write("", sender=DESK, subject=f"{prefix}{line}", number=2))
    assert state(office, first) is CaseState.CLOSED


@pytest.mark.parametrize("has_case", [True, False])
def test_a_command_above_a_quotation_works_without_the_packets_id(office: Office, has_case: bool) -> None:
    """Its key fits one packet of the case alone, which the line or the subject names."""
    first, _ = office.handle(write(HUMAN))
    packet = office.sent(first)[PACKET]
    line = lines_of(packet)["close"]
    words = line if has_case else line.partition("] ")[2]
    office.handle(write(words, sender=DESK, subject=f"Re: {opened(packet)['Subject']}", number=2))
    assert state(office, first) is CaseState.CLOSED


def test_s16_copy_of_what_staff_write_to_each_other_is_not_passed_on(office: Office) -> None:
    """Failure: "I would let her wait", from one colleague to another with us in Cc, was mailed to the customer."""
    first, _ = office.handle(write(HUMAN))
    packet = office.sent(first)[PACKET].message_id
    raw = write("Bea, I would let her wait until Friday.", sender=DESK, in_reply_to="<internal@harborfile.example>")
    chain = f"References: {packet} <internal@harborfile.example>".encode()
    raw = re.sub(rb"References: [^\r]*\r\n", b"", raw).replace(b"In-Reply-To:", chain + b"\r\nIn-Reply-To:")
    internal, _ = office.handle(raw)
    assert set(office.sent(internal)) == {FAILURE}
    copied = write("Bea, she never pays.", sender=DESK, in_reply_to=packet, number=3)
    to_us = f"To: {office.settings.agent.address}".encode()
    assert to_us in copied
    in_copy, _ = office.handle(copied.replace(to_us, b"To: bea@harborfile.example\r\nCc:" + to_us[3:]))
    assert set(office.sent(in_copy)) == {FAILURE}
    assert "a copy is not passed on" in text_of(office.sent(in_copy)[FAILURE])
    assert not any(
        row.recipient == ANNA for mail in (internal, in_copy) for row in office.store.outbox.find(mail_id=mail)
    )


def test_s16_a_reply_about_a_staff_mail_that_answered_a_digest_reaches_no_customer(office: Office) -> None:
    """Failure: a digest is stored beside some customer's mail, and that customer got the words."""
    first, _ = office.handle(write(REFUND))
    row = digest(office, first)
    asked, _ = office.handle(write("Why so many?", sender=DESK, in_reply_to=row.message_id, number=2))
    packet = office.sent(asked)[PACKET].message_id
    reply, _ = office.handle(write("Because of the outage.", sender=DESK, in_reply_to=packet, number=3))
    assert ANNA not in [sent.recipient for sent in office.sent(reply).values()]
