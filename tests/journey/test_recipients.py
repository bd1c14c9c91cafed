"""Who is written to at all, at which address, and what of the own mail comes back: S13 and S16."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from support_agent.mail.message import parse
from support_agent.ops.replay import replay
from support_agent.store.records import OutgoingKind
from tests.fakes_journey import ANNA, DESK, JAMES, STRANGER, Office, with_agent, write
from tests.unit.seen import (
    ACKNOWLEDGEMENT,
    ANSWER,
    CANCEL,
    HUMAN,
    OFF_TOPIC,
    PACKET,
    PERSON_REPLY,
    REFUND,
    SEATS,
    TWO,
    one,
    opened,
    text_of,
)

STAFF = "bob@harborfile.example"


@pytest.mark.parametrize(("proof", "level"), [(None, 0), ("spf", 1), ("dmarc", 2)])
def test_level_decides_what_a_stranger_gets(office: Office, proof: str | None, level: int) -> None:
    """Without any proof the address may be anybody's: nothing at all is sent to it. Above, a public document is."""
    mail_id, _ = office.handle(write(REFUND, sender=STRANGER, subject="Money", proof=proof))
    assert one(office, mail_id).level == level
    assert set(office.sent(mail_id)) == ({ANSWER} if level else {PACKET})


@pytest.mark.parametrize(("proof", "subject"), [("spf", "Your message to Harborfile"), ("dmarc", "Re: Money")])
def test_level_one_is_answered_without_its_own_words(office: Office, proof: str, subject: str) -> None:
    """A public document, and nothing of the mail comes back, not even its subject."""
    mail_id, _ = office.handle(write(REFUND, sender=STRANGER, subject="Money", proof=proof))
    assert opened(office.sent(mail_id)[ANSWER])["Subject"] == subject


def test_only_known_customers_may_be_answered(office: Office) -> None:
    """Where a company wants that: a proven stranger is told that a person has the case, a customer is answered."""
    office = with_agent(office, answers_from_level=3)
    stranger, _ = office.handle(write(REFUND, sender=STRANGER))
    customer, _ = office.handle(write(REFUND, sender=JAMES))
    assert set(office.sent(stranger)) == {PACKET, ACKNOWLEDGEMENT}
    assert set(office.sent(customer)) == {ANSWER}


@pytest.mark.parametrize(("from_level", "kinds"), [(1, {PACKET, ACKNOWLEDGEMENT}), (2, {PACKET})])
def test_level_decides_who_is_told_that_a_person_has_the_case(
    office: Office, from_level: int, kinds: set[OutgoingKind]
) -> None:
    """An acknowledgement is mail to a stranger too, where the sender is forged."""
    office = with_agent(office, acknowledges_from_level=from_level)
    mail_id, _ = office.handle(write(HUMAN, sender=STRANGER, proof="spf"))
    assert set(office.sent(mail_id)) == kinds


def test_forged_customer_gets_no_value(office: Office) -> None:
    """Anna's address without proof: a packet to the desk, and no plan read her account."""
    mail_id, _ = office.handle(write("How many seats have we paid for?", proof=None))
    assert set(office.sent(mail_id)) == {PACKET}
    assert one(office, mail_id).reason_code == "level"


# S13: nothing of a mail whose sender nobody knows comes back


@pytest.mark.parametrize("text", [REFUND, HUMAN, OFF_TOPIC, TWO])
@pytest.mark.parametrize("levels", [{}, {"answers_from_level": 1, "acknowledges_from_level": 1}])
def test_s13_level_0_is_told_nothing_at_all(office: Office, text: str, levels: dict[str, int]) -> None:
    """Whatever is asked, and however open the settings are: the only mail that goes out is the desk's packet."""
    office = with_agent(office, **levels)
    mail_id, _ = office.handle(write(text, proof=None, subject="Buy pills at pills.example"))
    assert set(office.sent(mail_id)) == {PACKET}
    assert [recipient for recipient, _ in office.transport.given] == [DESK]


@pytest.mark.parametrize("level", [-1, 0])
@pytest.mark.parametrize("setting", ["answers_from_level", "acknowledges_from_level"])
def test_s13_no_setting_lets_level_0_be_written_to(office: Office, setting: str, level: int) -> None:
    with pytest.raises(ValidationError):
        with_agent(office, **{setting: level})


def test_s13_level_0_in_a_thread_is_told_nothing_either(office: Office) -> None:
    """In-Reply-To our own answer and a customer's address do not raise the level."""
    first, _ = office.handle(write(REFUND))
    answer = office.sent(first)[ANSWER].message_id
    mail_id, _ = office.handle(write(CANCEL, proof=None, in_reply_to=answer, number=2))
    assert set(office.sent(mail_id)) == {PACKET}


@pytest.mark.parametrize(("text", "kind"), [(REFUND, ANSWER), (HUMAN, ACKNOWLEDGEMENT)])
def test_s13_level_1_reads_none_of_its_own_words(office: Office, text: str, kind: OutgoingKind) -> None:
    """Subject, name and text of the mail may be an advertisement for whoever is forged; an id may hold words too."""
    raw = write(f"{text}\r\n\r\nBest wishes from pillshop", sender=STRANGER, subject="Pillshop", proof="spf")
    raw = raw.replace(b"From: <", b'From: "Pillshop" <')
    raw = b"References: <buy@pillshop.example>\r\nMessage-ID: <now-at@pillshop.example>\r\n" + raw
    mail_id, _ = office.handle(raw)
    mail = opened(office.sent(mail_id)[kind])
    told = [str(mail["Subject"]), *(str(part.get_content()) for part in mail.walk() if not part.is_multipart())]
    assert not any("pillshop" in words.lower() for words in (*told, *map(str, mail.values())))
    assert (mail["References"], mail["In-Reply-To"]) == (None, None)
    assert all(not made.diff and not made.problems for made in replay(office.store, [mail_id]))


@pytest.mark.parametrize(("text", "kind"), [(REFUND, ANSWER), (HUMAN, ACKNOWLEDGEMENT)])
def test_s41_from_level_2_on_the_letters_are_in_the_mails_thread(office: Office, text: str, kind: OutgoingKind) -> None:
    raw = write(text, sender=STRANGER)
    mail_id, _ = office.handle(raw)
    mail = opened(office.sent(mail_id)[kind])
    assert mail["References"] == mail["In-Reply-To"] == parse(raw).message_id


@pytest.mark.parametrize("address", [DESK, DESK.upper(), STAFF])
@pytest.mark.parametrize("text", [REFUND, HUMAN])
def test_s13_nothing_automatic_goes_to_an_address_of_ours_that_is_not_proven(
    office: Office, address: str, text: str
) -> None:
    """A forged mail from the desk would have the desk told; SPF alone passes for the forger's own domain."""
    desk = office.settings.desk.model_copy(update={"staff": (STAFF,)})
    office = replace(office, settings=office.settings.model_copy(update={"desk": desk}))
    mail_id, _ = office.handle(write(text, sender=address, proof="spf"))
    assert set(office.sent(mail_id)) == {PACKET}
    packet = office.sent(mail_id)[PACKET]
    assert (packet.recipient, one(office, mail_id).level) == (DESK, 1)


# S16: the answer goes to the From address, and nowhere else

ELSEWHERE = (
    b"Reply-To: <other@elsewhere.example>\r\nCc: <boss@example.net>\r\nSender: <s@example.net>\r\n"
    b"Disposition-Notification-To: <n@example.net>\r\nReturn-Receipt-To: <r@example.net>\r\n"
)


@pytest.mark.parametrize(("text", "kind"), [(REFUND, ANSWER), (HUMAN, ACKNOWLEDGEMENT)])
def test_s16_letters_go_to_the_from_address_only(office: Office, text: str, kind: OutgoingKind) -> None:
    """RFC 3834, section 4; not to Reply-To, Cc, Sender, or who wants a receipt."""
    mail_id, _ = office.handle(ELSEWHERE + write(text))
    row = office.sent(mail_id)[kind]
    mail = opened(row)
    assert (row.recipient, mail["To"], mail["Cc"], mail["Bcc"]) == (ANNA, ANNA, None, None)
    assert {recipient for recipient, _ in office.transport.given} <= {ANNA, DESK}


def test_s16_differing_reply_to_gets_no_private_field(office: Office) -> None:
    """Even though the From address is proven and known; the same address in Reply-To changes nothing."""
    other, _ = office.handle(ELSEWHERE + write(SEATS))
    assert (set(office.sent(other)), one(office, other).reason_code) == ({PACKET, ACKNOWLEDGEMENT}, "level")
    same, _ = office.handle(f"Reply-To: <{ANNA}>\r\n".encode() + write(SEATS, number=2))
    assert "12" in text_of(office.sent(same)[ANSWER])


def test_s16_a_packet_says_that_a_reply_to_it_does_not_go_to_another_reply_to(office: Office) -> None:
    """Failure: the words of a person went to the form that had sent the mail, whose From address they saw alone."""
    first, _ = office.handle(b"Reply-To: Peter <peter@customer.example>\r\n" + write(HUMAN, sender=STRANGER))
    packet = office.sent(first)[PACKET]
    text = text_of(packet)
    assert "\nReply-To: peter@customer.example\n" in text
    assert f"Your reply goes to the From address, {STRANGER}. Nothing goes to the address in Reply-To" in text
    reply, _ = office.handle(write("We call you.", sender=DESK, in_reply_to=packet.message_id, number=2))
    assert office.sent(reply)[PERSON_REPLY].recipient == STRANGER
    same, _ = office.handle(f"Reply-To: {STRANGER}\r\n".encode() + write(HUMAN, sender=STRANGER, number=3))
    assert "Reply-To" not in text_of(office.sent(same)[PACKET])
