"""Which mail belongs to which case, and who may continue it; what was seen before is not taken up again."""

from __future__ import annotations

import re

import pytest

from support_agent.cases import route
from support_agent.cases.route import case_id_of
from support_agent.demo import SUPPORT_ADDRESS
from support_agent.mail.message import parse
from support_agent.pipeline import handle
from support_agent.store.records import OutgoingKind
from tests.fakes_journey import ANNA, DESK, JAMES, STRANGER, Office, once, with_agent, write
from tests.unit.seen import (
    ACKNOWLEDGEMENT,
    ANSWER,
    CANCEL,
    HUMAN,
    LIST,
    PACKET,
    PERSON_REPLY,
    REFUND,
    SEATS,
    one,
    opened,
    text_of,
)


def test_follow_up_joins_the_case_of_its_thread(office: Office) -> None:
    """An answered case may be answered again, with another Message-ID."""
    first, _ = office.handle(write(REFUND))
    answer = office.sent(first)[ANSWER]
    second, outcome = office.handle(write("And how do I cancel?", in_reply_to=answer.message_id, number=2))
    assert outcome == "answered"
    assert one(office, second).case_id == one(office, first).case_id
    assert office.sent(second)[ANSWER].message_id != answer.message_id


def test_follow_up_in_a_case_that_a_person_has_gets_only_a_packet(office: Office) -> None:
    """Closed to automation: not answered, though it could be, and not acknowledged again."""
    first, _ = office.handle(write(HUMAN))
    reference = office.sent(first)[ACKNOWLEDGEMENT].message_id
    second, outcome = office.handle(write(REFUND, in_reply_to=reference, number=2))
    sent = office.sent(second)
    assert (outcome, set(sent)) == ("escalated", {PACKET})
    assert one(office, second).case_id == one(office, first).case_id
    assert one(office, second).reason_code == "with_person"
    assert "a person has the case already" in text_of(sent[PACKET])


def test_stranger_cannot_enter_a_thread(office: Office) -> None:
    """A Message-ID in a header is no proof: another sender's mail opens a case of its own."""
    first, _ = office.handle(write(HUMAN))
    reference = office.sent(first)[ACKNOWLEDGEMENT].message_id
    second, _ = office.handle(write(REFUND, sender=STRANGER, in_reply_to=reference))
    assert one(office, second).case_id == case_id_of(second) != one(office, first).case_id


def with_file(raw: bytes, content: bytes) -> bytes:
    """The mail with a file attached."""
    head, _, body = raw.partition(b"\r\n\r\n")
    kept = b"\r\n".join(line for line in head.split(b"\r\n") if not line.startswith((b"Content-", b"MIME-")))
    return (
        kept + b'\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n'
        b"--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + body + b"\r\n"
        b'--b\r\nContent-Type: image/png\r\nContent-Disposition: attachment; filename="scan.png"\r\n\r\n'
        + content
        + b"\r\n--b--\r\n"
    )


COPY = b"Received: by another way\r\n"


def test_copy_of_an_answered_mail_is_filed(office: Office) -> None:
    """S31: other bytes, the same mail: delivered twice, or read again from a folder that was numbered anew."""
    office.handle(write(REFUND))
    again, outcome = office.handle(COPY + write(REFUND))
    assert (outcome, office.sent(again)) == ("filed", {})
    assert (one(office, again).screening_rule, one(office, again).reason_code) == ("copy", "copy")
    assert len(office.transport.given) == 1


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b""])
def test_filed_mail_is_a_copy_only_of_one_with_the_same_body(office: Office, line_end: bytes, blank: bytes) -> None:
    """S31: what a bounce says of our mail is below its header.

    Failure: below a header that ends in LF and a blank line in CRLF no body was found, and another bounce of the same
    id, sender and date did nothing. Without any blank line there is no body, and so no copy.
    """
    head = (b"Precedence: bulk\r\n" + write(REFUND)).partition(b"\r\n\r\n")[0].replace(b"\r\n", line_end)
    mails = [head + line_end + blank + body for body in (b"X: one", b"X: two")]
    handled = [office.handle(raw)[0] for raw in (mails[0], COPY + mails[0], mails[1])]
    rules = [one(office, mail_id).screening_rule for mail_id in handled]
    assert rules == ["S5", "copy" if blank else "S5", "S5"]


def test_copy_of_a_passed_on_reply_is_filed(office: Office) -> None:
    """The person's words reach the customer once, though the reply came by the list and directly."""
    first, _ = office.handle(write(HUMAN))
    reply = write("We look at it.", sender=DESK, in_reply_to=office.sent(first)[PACKET].message_id)
    office.handle(LIST + reply)
    again, outcome = office.handle(reply)
    assert (outcome, office.sent(again)) == ("filed", {})


def test_mail_that_came_by_a_list_first_is_answered_when_it_comes_directly(office: Office) -> None:
    """What was filed was not taken up: it hides nothing."""
    listed, _ = office.handle(LIST + write(REFUND))
    direct, outcome = office.handle(write(REFUND))
    assert (office.sent(listed), outcome, set(office.sent(direct))) == ({}, "answered", {ANSWER})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Date: Fri, 20 Nov 2026 12:00:00", b"Date: Fri, 20 Nov 2026 12:00:01"),
        (b"From: <anna.keller@example.net>", b"From: <james.okafor@example.org>"),
        (b"can I get a refund?", b"how do I cancel?"),
        (b"Subject: A question", b"Subject: Cancel my contract"),
    ],
)
def test_same_message_id_alone_makes_no_copy(office: Office, old: bytes, new: bytes) -> None:
    """Forms and old machines give every mail the same: one that differs in sender, date, subject or text is another
    mail.
    """
    office.handle(write(REFUND))
    raw = write(REFUND)
    assert old in raw
    other, _ = office.handle(raw.replace(old, new))
    assert one(office, other).screening_rule is None
    assert office.sent(other)


@pytest.mark.parametrize("machine", [b"", b"Auto-Submitted: auto-replied\r\n"], ids=["a person's", "a machine's"])
def test_mails_of_others_with_the_same_id_are_not_parsed_again(
    office: Office, monkeypatch: pytest.MonkeyPatch, machine: bytes
) -> None:
    """Failure: the fortieth mail of 93 kB with one Message-ID took half a second to screen, and each one longer."""
    for number in range(4):
        raw = write(f"{REFUND} {number}", sender=f"one{number}@elsewhere.example")
        mail_id = office.receive(machine + re.sub(rb"Message-ID: .*", b"Message-ID: <same@elsewhere.example>\r", raw))
        mail, parsed = office.stages.parse(mail_id), list[bytes]()
        with monkeypatch.context() as patch:
            patch.setattr(route, "parse", lambda raw, parsed=parsed: parsed.append(raw) or parse(raw))
            screening = office.stages.screen(mail)
        assert (screening.rule, parsed) == ("S2" if machine else None, [])
        handle(mail_id, once(), office.stages)


def test_mail_with_another_file_is_no_copy(office: Office) -> None:
    """Failure: a scanner gives every mail the same few words, and the second scan was filed unread."""
    for number, scan in enumerate((b"one", b"two")):
        mail_id, outcome = office.handle(with_file(write("Please see the attached scan."), scan))
        assert (outcome, PACKET in office.sent(mail_id)) == ("escalated", True), number


def test_tag_of_a_server_on_the_way_makes_no_other_mail(office: Office) -> None:
    office.handle(write(REFUND))
    tagged = write(REFUND).replace(b"Subject: A", b"Subject: [EXTERNAL] A")
    assert office.handle(tagged)[1] == "filed"


def test_mail_without_id_and_date_that_repeats_itself_is_a_persons(office: Office) -> None:
    """Nobody can tell whether it was delivered twice or written twice; it is not answered twice, nor filed unread."""
    raw = re.sub(rb"(Message-ID|Date): [^\r]*\r\n", b"", write(REFUND))
    office.handle(raw)
    mail_id, outcome = office.handle(COPY + raw)
    assert (outcome, ANSWER in office.sent(mail_id), PACKET in office.sent(mail_id)) == ("escalated", False, True)


def test_mails_without_a_date_are_told_apart_by_their_text(office: Office) -> None:
    dated = b"Date: Fri, 20 Nov 2026 12:00:00 +0000\r\n"
    first = write(REFUND).replace(dated, b"")
    office.handle(first)
    _, of_copy = office.handle(COPY + first)
    _, of_other = office.handle(first.replace(b"can I get a refund?", b"how do I cancel?"))
    assert (of_copy, of_other) == ("filed", "answered")


def test_forgery_that_comes_first_does_not_silence_the_true_mail(office: Office) -> None:
    """Who guesses or saw the Message-ID sends the same text without proof; the reverse order is still a copy."""
    true = write(REFUND)
    forged = true.replace(b"dmarc=pass", b"dmarc=fail")
    outcomes = [office.handle(raw)[1] for raw in (forged, true, COPY + forged)]
    assert outcomes == ["escalated", "answered", "filed"]


# S22: who may continue a case


def copied(raw: bytes, *addresses: str) -> bytes:
    """The same mail, with these in Cc."""
    return raw.replace(b"MIME-Version", f"Cc: {', '.join(addresses)}\r\nMIME-Version".encode())


def in_thread(raw: bytes, *references: str) -> bytes:
    """The same mail, with these References, the oldest first."""
    return raw.replace(b"MIME-Version", f"References: {' '.join(references)}\r\nMIME-Version".encode())


@pytest.mark.parametrize("proof", [None, "spf"])
def test_s22_unproven_follow_up_of_a_participant_opens_a_case_of_its_own(office: Office, proof: str | None) -> None:
    """Whoever forges Anna's address and saw the id of our answer does not come into her case."""
    first, _ = office.handle(write(REFUND))
    answer = office.sent(first)[ANSWER].message_id
    forged, _ = office.handle(write(CANCEL, in_reply_to=answer, proof=proof, number=2))
    assert one(office, forged).case_id == case_id_of(forged) != one(office, first).case_id


def test_s22_follow_up_may_name_the_customers_own_earlier_mail(office: Office) -> None:
    """People answer their own mail to add something; also through References alone."""
    raw = write(REFUND)
    first, _ = office.handle(raw)
    own = parse(raw).message_id
    by_reply, _ = office.handle(write(CANCEL, in_reply_to=own, number=2))
    by_references, _ = office.handle(in_thread(write(SEATS, number=3), own, "<unknown@example.net>"))
    assert {one(office, mail_id).case_id for mail_id in (by_reply, by_references)} == {one(office, first).case_id}


def test_s22_tag_or_number_in_the_subject_is_no_proof(office: Office) -> None:
    """The number of a case is in no header of ours that counts, and whoever writes it into a subject gets nothing."""
    first, _ = office.handle(write(REFUND))
    case_id = one(office, first).case_id
    second, _ = office.handle(write(CANCEL, subject=f"Re: [{case_id}] case {case_id}", number=2))
    assert one(office, second).case_id == case_id_of(second) != case_id


def test_s22_copied_message_id_of_a_customers_mail_moves_no_thread(office: Office) -> None:
    """A stranger's mail bears the id that Anna's will have: her follow-up still finds her own case."""
    raw = write(REFUND)
    own = parse(raw).message_id
    office.handle(re.sub(rb"Message-ID: <[^>]*>", f"Message-ID: {own}".encode(), write(CANCEL, sender=STRANGER)))
    first, _ = office.handle(raw)
    second, _ = office.handle(write(CANCEL, in_reply_to=own, number=2))
    assert one(office, second).case_id == one(office, first).case_id


def test_s22_stranger_who_knows_an_id_learns_nothing(office: Office) -> None:
    """Whoever names a mail of Anna's is answered as if it were nobody's, whatever became of her case."""
    office = with_agent(office, identical_answer_days=0)
    own = write(HUMAN)
    office.handle(own)
    told = []
    for number, reference in enumerate((parse(own).message_id, "<nobody@example.net>")):
        mail_id, outcome = office.handle(write(REFUND, sender=JAMES, in_reply_to=reference, number=number))
        sent = office.sent(mail_id)
        told.append((outcome, set(sent), text_of(sent[ANSWER]), opened(sent[ANSWER])["Subject"]))
    assert told[0] == told[1]
    assert told[0][:2] == ("answered", {ANSWER})


@pytest.mark.parametrize(("text", "kind"), [(HUMAN, ACKNOWLEDGEMENT), (REFUND, ANSWER), (HUMAN, PACKET)])
@pytest.mark.parametrize("proof", ["dmarc", "spf"])
def test_s22_who_answers_our_mail_to_somebody_else_gets_nothing_automatic(
    office: Office, text: str, kind: OutgoingKind, proof: str
) -> None:
    """Failure: a machine that answers from a new address each time was answered a hundred times an hour, and so was
    one behind the desk's address. A person reads it; who has the case, and what it is, is in nothing that goes out.
    """
    first, _ = office.handle(write(text))
    known = office.sent(first)[kind].message_id
    mail_id, outcome = office.handle(write(CANCEL, sender=JAMES, proof=proof, in_reply_to=known))
    assert (outcome, set(office.sent(mail_id))) == ("escalated", {PACKET})
    assert one(office, mail_id).case_id == case_id_of(mail_id)
    told = office.store.outbox.rendered_mail(mail_id, PACKET)
    assert told is not None
    assert told.payload["reason_code"] == "not_participant"


def test_whom_the_customer_copies_may_continue_the_case(office: Office) -> None:
    """James is proven when he writes, is answered about his own account only, and Anna is not copied (S16)."""
    first, _ = office.handle(copied(write(REFUND), JAMES))
    answer = office.sent(first)[ANSWER].message_id
    second, _ = office.handle(write(SEATS, sender=JAMES, in_reply_to=answer))
    assert one(office, second).case_id == one(office, first).case_id
    row = office.sent(second)[ANSWER]
    assert (row.recipient, opened(row)["Cc"]) == (JAMES, None)
    assert "12" not in text_of(row).split("Seats paid")[1].splitlines()[0]


@pytest.mark.parametrize("proof", [None, "spf"])
def test_whom_an_unproven_mail_copies_may_not(office: Office, proof: str | None) -> None:
    """Else whoever forges Anna's address lets himself in."""
    first, _ = office.handle(copied(write(REFUND, proof=proof), STRANGER))
    own = parse(write(REFUND, proof=proof)).message_id
    second, _ = office.handle(write(CANCEL, sender=STRANGER, in_reply_to=own))
    assert one(office, second).case_id == case_id_of(second) != one(office, first).case_id


def test_our_own_addresses_and_people_are_no_participants(office: Office) -> None:
    first, _ = office.handle(copied(write(REFUND), DESK, SUPPORT_ADDRESS, JAMES))
    case = office.store.cases.get(case_id_of(first))
    assert case is not None
    assert case.participants == (ANNA, JAMES)


def test_participants_of_a_case_are_limited(office: Office) -> None:
    """`agent.max_participants_per_case`; whoever wrote is always one."""
    office = with_agent(office, max_participants_per_case=3)
    first, _ = office.handle(copied(write(REFUND), *(f"c{number}@example.net" for number in range(9))))
    case = office.store.cases.get(case_id_of(first))
    assert case is not None
    assert case.participants == (ANNA, "c0@example.net", "c1@example.net")


def test_persons_reply_goes_to_the_participant_whose_mail_the_packet_is_about(office: Office) -> None:
    """S16: a stranger who copied Anna into his mail must not get what a person writes to her."""
    first, _ = office.handle(copied(write(REFUND, sender=STRANGER), ANNA))
    reference = office.sent(first)[ANSWER].message_id
    second, _ = office.handle(write(HUMAN, in_reply_to=reference))
    assert one(office, second).case_id == one(office, first).case_id
    packet = office.sent(second)[PACKET].message_id
    reply, _ = office.handle(write("Dear Anna, your card is fine.", sender=DESK, in_reply_to=packet))
    assert office.sent(reply)[PERSON_REPLY].recipient == ANNA
    assert not any(recipient == STRANGER for recipient, raw in office.transport.given if b"your card is fine" in raw)


def test_mail_that_names_two_cases_belongs_to_the_nearest(office: Office) -> None:
    """RFC 5322, section 3.6.4: In-Reply-To first, then References from their end."""
    rows = [office.sent(office.handle(write(text))[0])[ANSWER] for text in (REFUND, CANCEL)]
    for number, (far, near) in enumerate((rows, rows[::-1]), start=2):
        raw = in_thread(write(SEATS, in_reply_to=near.message_id, number=number), far.message_id)
        mail_id, _ = office.handle(raw)
        assert one(office, mail_id).case_id == near.case_id


def test_mail_that_also_names_a_case_of_a_person_goes_to_that_person(office: Office) -> None:
    """The machine must not answer what may be meant for the person."""
    answered, _ = office.handle(write(REFUND))
    escalated, _ = office.handle(write(HUMAN))
    near, far = office.sent(answered)[ANSWER].message_id, office.sent(escalated)[ACKNOWLEDGEMENT].message_id
    mail_id, outcome = office.handle(in_thread(write(CANCEL, in_reply_to=near, number=2), far))
    assert (outcome, set(office.sent(mail_id))) == ("escalated", {PACKET})
    assert one(office, mail_id).case_id == one(office, escalated).case_id
