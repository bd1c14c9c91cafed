"""A case with several authors: what staff write goes to whom the packet is about, and to nobody by a guess."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from support_agent.cases.copies import known_as
from support_agent.config.desk import DeskSettings, ReminderSettings
from support_agent.core.cursor import Cursor
from support_agent.mail.message import parse
from support_agent.pipeline import handle
from support_agent.store.records import CaseState, DeliverySource, MailId, OutboxRecord, OutboxStatus, OutgoingKind
from support_agent.transport.submission import Delivery
from tests.fakes_desk import lines_of, order, told
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, Clock, Office, once, write
from tests.fakes_page import Browser
from tests.fakes_worker import work
from tests.unit.seen import ANSWER, FAILURE, HUMAN, PACKET, PERSON_REPLY, REFUND, one, state, text_of

BOB, TOM = "bob@partner.example", "tom@harborfile.example"
SECRET = "Your code is 4711."
BROKEN = Delivery(status="failed", detail="552 5.2.2 mailbox full", smtp_code=552)


@pytest.fixture
def of_james(office: Office) -> OutboxRecord:
    """The packet of James's mail, in a case in which Bob wrote last."""
    first, _ = office.handle(f"Cc: {BOB}\r\n".encode() + write(HUMAN, sender=JAMES))
    root = one(office, first).message_id
    office.handle(write("Please call me as well.", sender=BOB, in_reply_to=root, number=2))
    work(office)
    return office.sent(first)[PACKET]


def recipients(office: Office, mail_id: MailId) -> list[str]:
    return [row.recipient for kind, row in office.sent(mail_id).items() if kind is PERSON_REPLY]


def replied(office: Office, notice: OutboxRecord, number: int) -> list[str]:
    """Who gets a plain reply to a notice."""
    mail_id, _ = office.handle(write(SECRET, sender=DESK, in_reply_to=notice.message_id, number=number))
    return recipients(office, mail_id)


def offered(office: Office, packet: OutboxRecord, author: str) -> OutboxRecord:
    """The packet that the page of a case offers, which is about a mail of this author."""
    assert packet.case_id is not None
    offer = office.wired.desk.offer(packet.case_id)
    assert offer is not None
    assert offer.customer_mail.message.from_ is not None
    assert offer.customer_mail.message.from_.addr == author
    packet_as_stored = office.store.outbox.get(offer.packet.id)
    assert packet_as_stored is not None
    return packet_as_stored


def staffed(office: Office, *staff: str) -> Office:
    desk = DeskSettings.model_validate({**dict(office.settings.desk), "staff": staff})
    settings = office.settings.model_copy(update={"desk": desk})
    return replace(office, settings=settings, decider=replace(office.decider, settings=settings))


def test_the_notice_of_a_lost_reply_is_about_whom_it_was_for(office: Office, of_james: OutboxRecord) -> None:
    office.transport.deliveries = [BROKEN]
    notice = office.sent(order(office, lines_of(of_james)["own words"], SECRET))[FAILURE]
    assert replied(office, notice, 5) == [JAMES]
    assert recipients(office, order(office, lines_of(notice)["own words"], SECRET, number=51)) == [JAMES]


def test_the_lines_that_replace_an_expired_one_are_for_the_same_customer(
    office: Office, of_james: OutboxRecord
) -> None:
    office.clock = Clock(NOON + timedelta(days=60))
    notice = office.sent(order(office, lines_of(of_james)["own words"], SECRET))[FAILURE]
    assert f"Customer: {JAMES}" in text_of(notice)
    assert recipients(office, order(office, lines_of(notice)["own words"], SECRET, number=51)) == [JAMES]


def test_a_line_whose_key_fits_nothing_is_about_nobody(office: Office, of_james: OutboxRecord) -> None:
    """A typing error in a key: the notice offers no lines, and a reply to it goes to no customer."""
    line = lines_of(of_james)["own words"]
    notice = office.sent(order(office, line[:-1] + ("A" if line[-1] != "A" else "B"), SECRET))[FAILURE]
    assert "it is not known which customer it is for" in " ".join(text_of(notice).split())
    assert not lines_of(notice)
    assert replied(office, notice, 5) == []


@pytest.mark.parametrize("command", ["close", "give back", "spam"])
def test_no_order_of_an_older_packet_ends_the_wait_of_a_later_mail(
    office: Office, of_james: OutboxRecord, command: str
) -> None:
    """Whoever sends it may not have seen that mail."""
    mail_id = order(office, lines_of(of_james)[command])
    assert f"a mail of {BOB} came after it" in told(office, mail_id)
    assert state(office, of_james.mail_id) is CaseState.WITH_PERSON


def test_spam_of_one_author_closes_no_case_in_which_another_waits(office: Office, of_james: OutboxRecord) -> None:
    (last,) = (row for row in office.store.outbox.find(kind=PACKET) if row.mail_id != of_james.mail_id)
    assert f"{JAMES} waits in this case, too" in told(office, order(office, lines_of(last)["spam"]))
    assert state(office, of_james.mail_id) is CaseState.WITH_PERSON


def test_the_page_offers_the_last_mail_that_waits(office: Office, of_james: OutboxRecord) -> None:
    """Bob's is answered in own words; then James's is left."""
    packet = offered(office, of_james, BOB)
    order(office, lines_of(packet)["own words"], "I call you, Bob.")
    offered(office, of_james, JAMES)


def test_a_packet_stays_about_its_mail_when_its_author_leaves_or_joins_the_staff(office: Office) -> None:
    office = staffed(office, TOM)
    first, _ = office.handle(write(HUMAN, sender=ANNA))
    packet = office.sent(first)[PACKET]
    of_staff, _ = office.handle(write("", sender=TOM, in_reply_to=packet.message_id, number=2))
    office = staffed(office)
    assert replied(office, office.sent(of_staff)[FAILURE], 3) == [ANNA]
    of_stranger, _ = office.handle(write("What is this about?", sender=TOM, in_reply_to=packet.message_id, number=4))
    office = staffed(office, TOM)
    assert replied(office, office.sent(of_stranger)[PACKET], 5) == [TOM]


def test_words_about_a_staff_mail_that_may_have_gone_out_before_go_to_no_customer(office: Office) -> None:
    """A restored store: the staff mail in doubt is a packet of its own, and so are the words about it."""
    first, _ = office.handle(write(HUMAN, sender=ANNA))
    raw = write("We look into it.", sender=DESK, in_reply_to=office.sent(first)[PACKET].message_id, number=3)
    in_doubt = Cursor(folder="INBOX", uid_validity=1, last_uid=50, in_doubt_until=50)
    mail_id = office.store.mails.record(raw, known_as(parse(raw)), in_doubt, office.clock()).id
    handle(mail_id, once(), office.stages)
    packet = office.sent(mail_id)[PACKET]
    assert replied(office, packet, 4) == [DESK]
    assert told(office, order(office, lines_of(packet)["close"])) == ""


def test_a_mail_whose_packet_never_arrived_is_sent_to_the_desk_again(office: Office) -> None:
    """Though a person answered an earlier mail of its author meanwhile."""
    first, _ = office.handle(write(HUMAN, sender=JAMES))
    root = one(office, first).message_id
    office.transport.deliveries = [BROKEN]
    second, _ = office.handle(write("My boat sinks!", sender=JAMES, in_reply_to=root, number=2))
    order(office, lines_of(office.sent(first)[PACKET])["own words"], "We look into it.")
    packets = office.store.outbox.find(mail_id=second, kind=PACKET)
    assert [row.status for row in packets] == [OutboxStatus.FAILED, OutboxStatus.SENT]
    (waiting,) = office.store.waits.cases(NOON - timedelta(days=1))
    assert waiting.mail_id == second


@pytest.mark.parametrize("way", ["words", "close", "spam", "give back", "page"])
def test_a_case_whose_order_was_lost_can_be_answered_and_ended(office: Office, way: str) -> None:
    """Failure: the notice that a chosen document was lost was a later mail, of staff, that nobody could answer."""
    first, _ = office.handle(write(HUMAN, sender=JAMES))
    packet = office.sent(first)[PACKET]
    office.transport.deliveries = [BROKEN]
    notice = office.sent(order(office, lines_of(packet)["document 1"]))[FAILURE]
    if way == "words":
        assert replied(office, notice, 5) == [JAMES]
    elif way == "page":
        Browser(office).act(f"/cases/{packet.case_id}", "close")
    else:
        assert told(office, order(office, lines_of(notice)[way], number=51)) == ""
    assert office.store.waits.cases(NOON - timedelta(days=1)) == ()
    if way != "words":
        assert state(office, first) is not CaseState.WITH_PERSON


def test_the_last_packet_of_a_case_ends_it_though_it_is_about_an_earlier_mail(office: Office) -> None:
    """The answer to the first mail bounces when a person has the second."""
    first, _ = office.handle(write(REFUND, sender=JAMES))
    root = one(office, first).message_id
    second, _ = office.handle(write(HUMAN, sender=JAMES, in_reply_to=root, number=2))
    lost = office.sent(first)[ANSWER].id
    office.store.deliveries.update(lost, OutboxStatus.FAILED, DeliverySource.BOUNCE, "552", NOON, (OutboxStatus.SENT,))
    office.stages.notices.notify_losses()
    assert office.sent(first)[FAILURE].status is OutboxStatus.SENT
    Browser(office).act(f"/cases/{one(office, second).case_id}", "close")
    assert state(office, second) is CaseState.CLOSED


def test_a_reminder_of_a_lost_order_is_about_its_customer(office: Office, of_james: OutboxRecord) -> None:
    office.transport.deliveries = [BROKEN]
    order_id = order(office, lines_of(of_james)["document 1"])
    settings = office.settings.model_copy(update={"reminders": ReminderSettings(after_h=1.0)})
    office = replace(office, settings=settings, clock=Clock(NOON + timedelta(hours=3)))
    office.wired.reminders.look_after()
    (reminder,) = office.store.outbox.find(mail_id=order_id, kind=OutgoingKind.REMINDER)
    assert replied(office, reminder, 9) == [JAMES]
