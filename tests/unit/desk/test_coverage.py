"""The last weeks: what was answered by what, what went to people and why, how long they took, what grows."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from support_agent.cases.route import staff_addresses
from support_agent.desk.coverage import Coverage, coverage_of
from support_agent.store.records import DeliverySource, MailId, OutboxStatus, OutgoingKind
from tests.fakes_desk import proposed_in
from tests.fakes_journey import DESK, JAMES, NOON, Office, write

REFUND = "Can I get a refund?"
CANCEL = "How do I cancel?"
SEATS = "How many seats have we paid for?"
NOTHING = "Do you have a table for four on Saturday?"
HUMAN = "Let me talk to a human."
BOUNCE = write("You cannot reach me.", number=9).replace(b"From: <", b"Auto-Submitted: auto-replied\r\nFrom: <", 1)


def at(office: Office, when: datetime, raw: bytes) -> MailId:
    """Handle a mail at that instant."""
    office.clock = lambda: when
    return office.handle(raw)[0]


def coverage(office: Office, weeks: int = 4) -> Coverage:
    return coverage_of(office.store, staff_addresses(office.settings), NOON, weeks)


def test_mails_are_counted_by_their_end_and_by_what_answered_them(office: Office) -> None:
    day = NOON - timedelta(days=1)
    at(office, day, write(REFUND))
    at(office, day, write(CANCEL, sender=JAMES))
    at(office, day, write(f"{SEATS}\r\n\r\n{NOTHING}", sender="priya.nair@example.net"))
    at(office, day, write(NOTHING, sender="david.chen@example.net"))
    at(office, day, write(HUMAN, sender="noah.williams@example.net"))
    at(office, day, BOUNCE)
    found = coverage(office)
    assert (found.mails, found.answered, found.partly_answered) == (6, 3, 1)
    assert (found.escalated, found.filed, found.waiting) == (2, 1, 0)
    assert {one.name: one.mails for one in found.answered_by} == {
        "document:1": 1,
        "document:2": 1,
        "field:seats_paid": 1,
    }
    assert {one.name: one.mails for one in found.reasons} == {"not_covered": 1, "person_asked_for": 1}
    assert [one.name for one in found.filed_by] == ["S2"]


def test_replies_of_the_staff_are_no_mails_of_customers(office: Office) -> None:
    """Rule: whoever only claims the desk's address is counted, and so is a question of the staff's own."""
    mail = at(office, NOON - timedelta(days=1), write(HUMAN))
    packet = office.sent(mail)[OutgoingKind.PACKET].message_id
    at(office, NOON, write("We look at it.", sender=DESK, in_reply_to=packet, number=10))
    assert (coverage(office).mails, coverage(office).filed) == (1, 0)
    at(office, NOON, write(REFUND, sender=DESK, proof=None, number=11))
    assert coverage(office).mails == 2
    at(office, NOON, write(REFUND, sender=DESK, number=12))
    assert coverage(office).mails == 3


def test_older_mails_and_those_of_a_clock_that_was_ahead_do_not_count(office: Office) -> None:
    at(office, NOON - timedelta(weeks=5), write(REFUND))
    at(office, NOON + timedelta(days=1), write(REFUND, sender=JAMES))
    assert coverage(office).mails == 0
    assert coverage(office, weeks=6).mails == 1


def test_people_took_as_long_as_from_the_mail_to_their_answer_through_the_desk(office: Office) -> None:
    start = NOON - timedelta(days=2)
    for number, (sender, hours) in enumerate([("a@example.net", 2), ("b@example.net", 6), ("c@example.net", None)]):
        mail = at(office, start, write(HUMAN, sender=sender, number=number))
        if hours is not None:
            packet = office.sent(mail)[OutgoingKind.PACKET].message_id
            reply = write("We look at it.", sender=DESK, in_reply_to=packet, number=10 + number)
            at(office, start + timedelta(hours=hours), reply)
    people = coverage(office).people
    assert (people.answered, people.open) == (2, 1)
    assert people.median_hours == pytest.approx(4, abs=0.01)
    assert people.ninetieth_hours == pytest.approx(6, abs=0.01)


@pytest.mark.parametrize("command", ["approve", "document 1"])
def test_what_people_approve_or_choose_ends_the_wait(office: Office, command: str) -> None:
    """Failure: an approved mail stayed open for ever."""
    office.clock = lambda: NOON - timedelta(days=1)
    given = proposed_in(office)
    given.office.clock = lambda: NOON - timedelta(hours=20)
    given.office.handle(write("", subject=given.lines[command], sender=DESK, number=50))
    people = coverage(office).people
    assert (people.answered, people.open, people.approved) == (1, 0, int(command == "approve"))
    assert people.median_hours == pytest.approx(4, abs=0.01)


def test_an_answer_in_the_sent_folder_ends_the_wait(office: Office) -> None:
    office.clock = lambda: NOON - timedelta(days=1)
    given, by = proposed_in(office), DeliverySource.SENT_FOLDER
    after, sources = OutboxStatus.CANCELLED, (OutboxStatus.PROPOSED,)
    office.store.deliveries.update(given.answer.id, after, by, "answered", NOON - timedelta(hours=18), sources)
    people = coverage(office).people
    assert (people.answered, people.open, people.approved) == (1, 0, 0)
    assert people.median_hours == pytest.approx(6, abs=0.01)


def test_a_topic_grows_if_the_newer_half_has_more_mails_than_chance_explains(office: Office) -> None:
    """Rule: of topics that were answered or only likely; what went to people counts too."""
    for number in range(9):
        at(office, NOON - timedelta(days=2), write(REFUND, sender=f"{number}@example.net", number=number))
    at(office, NOON - timedelta(days=2), write(CANCEL, sender="x@example.net"))
    at(office, NOON - timedelta(days=20), write(REFUND, sender="y@example.net"))
    found = {one.topic: (one.before, one.now, one.is_sure) for one in coverage(office).growth}
    assert found == {"document:1": (1, 9, True), "document:2": (0, 1, False)}
    assert coverage(office).growth[0].topic == "document:1"


def test_an_empty_store_has_an_empty_coverage(office: Office) -> None:
    found = coverage(office)
    assert (found.mails, found.growth, found.people.median_hours) == (0, (), None)
