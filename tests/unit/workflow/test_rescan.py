"""A folder that was numbered anew is read again, its mails changed on the way: nothing acts twice (S31)."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from support_agent.cases.copies import COPY_RULE, DOUBT_RULE, known_as
from support_agent.demo import AUTHSERV_ID
from support_agent.mail.message import parse
from support_agent.outbound.outbox_choices import OutboxChoice, apply_choice
from support_agent.store.records import MailStatus, OutboxStatus, OutgoingKind, mail_id_of
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, Clock, Office, write
from tests.fakes_worker import FakeMailbox, Shift, recipients, status
from tests.unit.reporting import report
from tests.unit.seen import CANCEL, HUMAN, PERSON_REPLY, REFUND, one, reason_told

DATE = b"Date: Fri, 20 Nov 2026 12:00:00 +0000\r\n"
LATER = b"Date: Fri, 20 Nov 2026 15:00:00 +0000\r\n"
SOON, LONG = timedelta(hours=1), timedelta(days=9)
"""Before and after the same answer may be given again (`agent.identical_answer_days`)."""


def without_id(raw: bytes) -> bytes:
    return re.sub(rb"Message-ID: [^\r]*\r\n", b"", raw)


def with_id(raw: bytes, message_id: bytes = b"<form@example.net>") -> bytes:
    return re.sub(rb"Message-ID: [^\r]*", b"Message-ID: " + message_id, raw)


def rule(office: Office, raw: bytes) -> str | None:
    return one(office, mail_id_of(raw)).screening_rule


def read_again(office: Office, *mails: bytes, after: timedelta = LONG) -> None:
    office.clock = Clock(NOON + after)
    Shift(office, FakeMailbox(list(mails), uid_validity=2)).work()


@pytest.mark.parametrize("after", [SOON, LONG])
@pytest.mark.parametrize("dated", [DATE, b""])
def test_mail_without_a_message_id_is_known_by_author_date_and_text(
    office: Office, dated: bytes, after: timedelta
) -> None:
    """Its synthetic id came from its bytes, which the move has changed: it was answered again."""
    raw = without_id(write(REFUND)).replace(DATE, dated)
    Shift(office, FakeMailbox([raw])).work()
    moved = b"X-Moved: yes\r\n" + raw
    read_again(office, moved, after=after)
    assert (recipients(office), rule(office, moved)) == ([ANNA], COPY_RULE)


def test_mail_without_a_message_id_of_the_same_second_is_another_where_its_text_is(office: Office) -> None:
    """Author and date alone are no id: in a rescan a person decides."""
    first, other = without_id(write(REFUND)), without_id(write(CANCEL))
    Shift(office, FakeMailbox([first])).work()
    read_again(office, other)
    assert (recipients(office), rule(office, other)) == ([ANNA, DESK], DOUBT_RULE)


def test_two_mails_without_a_message_id_are_both_answered(office: Office) -> None:
    """Outside a rescan nothing but their text need differ."""
    Shift(office, FakeMailbox([without_id(write(REFUND)), without_id(write(CANCEL))])).work()
    assert recipients(office) == [ANNA, ANNA]


def test_id_of_a_mail_without_one_is_not_that_of_another_author_or_date() -> None:
    raw = without_id(write(REFUND))
    others = (raw, raw.replace(DATE, LATER), raw.replace(b"From: <anna", b"From: <anne"), raw.replace(DATE, b""))
    assert len({known_as(parse(other)) for other in others}) == 4
    assert known_as(parse(b"X-Moved: yes\r\n" + raw)) == known_as(parse(raw))


def test_copy_that_is_better_proven_is_still_a_copy(office: Office) -> None:
    """The new server's own Authentication-Results raise the level of all that is moved there."""
    Shift(office, FakeMailbox([write(REFUND, proof="spf")])).work()
    results = f"Authentication-Results: {AUTHSERV_ID}; dmarc=pass header.from=example.net\r\n".encode()
    moved = results + write(REFUND, proof=None)
    read_again(office, moved)
    assert (recipients(office), rule(office, moved)) == ([ANNA], COPY_RULE)


@pytest.mark.parametrize(
    ("dated", "text", "expected"),
    [(DATE, CANCEL, COPY_RULE), (LATER, REFUND, COPY_RULE), (LATER, CANCEL, DOUBT_RULE), (b"", CANCEL, DOUBT_RULE)],
)
def test_of_one_id_and_author_date_or_text_must_agree_too(
    office: Office, dated: bytes, text: str, expected: str
) -> None:
    """A form gives every mail the same id: its new mail was filed unread; now a person gets it, and hears why."""
    Shift(office, FakeMailbox([with_id(write(REFUND))])).work()
    other = with_id(write(text)).replace(DATE, dated)
    read_again(office, other)
    assert rule(office, other) == expected
    assert recipients(office) == ([ANNA] if expected == COPY_RULE else [ANNA, DESK])
    if expected == DOUBT_RULE:
        code, why = reason_told(office, mail_id_of(other))
        assert code == "screening"
        assert "renumbered" in str(why)
        assert "has the same id and sender" in str(why)


def test_mail_that_was_only_filed_and_looks_like_a_question_now_is_a_persons(office: Office) -> None:
    """The list's copy was filed; the same mail without the list's marks may never have been answered."""
    raw = write(REFUND)
    Shift(office, FakeMailbox([b"Precedence: list\r\nList-Id: <x.example.net>\r\n" + raw])).work()
    assert recipients(office) == []
    read_again(office, raw)
    assert (recipients(office), rule(office, raw)) == ([DESK], DOUBT_RULE)


def test_staff_reply_that_may_have_been_passed_on_is_not_passed_on_again(office: Office) -> None:
    """Date and text have changed on the way: the customer must not read the person's words twice."""
    asked = write(HUMAN)
    Shift(office, FakeMailbox([asked])).work()
    packet = office.store.outbox.find(mail_id=mail_id_of(asked), kind=OutgoingKind.PACKET)[0]
    reply = with_id(write("We look at it.", sender=DESK, in_reply_to=packet.message_id))
    Shift(office, FakeMailbox([asked, reply])).work()
    moved = with_id(write("We look at it. [moved]", sender=DESK, in_reply_to=packet.message_id)).replace(DATE, LATER)
    read_again(office, moved)
    assert len(office.store.outbox.find(mail_id=mail_id_of(reply), kind=PERSON_REPLY)) == 1
    assert office.store.outbox.find(mail_id=mail_id_of(moved), kind=PERSON_REPLY) == ()
    assert rule(office, moved) == DOUBT_RULE


# Bounces


def test_bounce_that_is_read_again_undoes_nothing(office: Office) -> None:
    """A person had the answer sent again and it arrived: the old bounce made it fail and suppressed a good address."""
    raw = write(REFUND)
    Shift(office, FakeMailbox([raw])).work()
    row = office.store.outbox.find(mail_id=mail_id_of(raw), kind=OutgoingKind.ANSWER)[0]
    mailbox = FakeMailbox([raw, report(returned=row.message_id, recipient=ANNA)])
    Shift(office, mailbox).work()
    apply_choice(office.store, row.id, OutboxChoice.RETRY, office.clock())
    Shift(office, mailbox).work()
    read_again(office, *mailbox.numbered_anew().mails)
    now = office.store.outbox.get(row.id)
    assert now is not None
    assert now.status is OutboxStatus.SENT
    assert office.store.suppressions.of(ANNA, office.clock()) is None


def test_bounce_that_comes_by_two_ways_acts_once(office: Office) -> None:
    """Not in a rescan: the second cancelled the try that a person had asked for."""
    raw = write(REFUND)
    Shift(office, FakeMailbox([raw])).work()
    row = office.store.outbox.find(mail_id=mail_id_of(raw), kind=OutgoingKind.ANSWER)[0]
    bounce = report(returned=row.message_id, recipient=ANNA)
    Shift(office, FakeMailbox([raw, bounce])).work()
    apply_choice(office.store, row.id, OutboxChoice.RETRY, office.clock())
    second = b"Delivered-To: archive@harborfile.example\r\n" + bounce
    Shift(office, FakeMailbox([raw, bounce, second])).work()
    now = office.store.outbox.get(row.id)
    assert now is not None
    assert now.status is OutboxStatus.SENT
    assert rule(office, second) == COPY_RULE


@pytest.mark.parametrize("is_rescan", [False, True])
def test_other_bounce_of_the_same_message_id_acts(office: Office, is_rescan: bool) -> None:
    """Some servers give each bounce the same id and no date: what they are about tells them apart."""
    raws = [write(REFUND), write(CANCEL, sender=JAMES)]
    Shift(office, FakeMailbox(raws)).work()
    rows = [office.store.outbox.find(mail_id=mail_id_of(raw), kind=OutgoingKind.ANSWER)[0] for raw in raws]
    bounces = [report(returned=row.message_id, recipient=row.recipient) for row in rows]
    Shift(office, FakeMailbox([*raws, bounces[0]])).work()
    Shift(office, FakeMailbox([*raws, *bounces], uid_validity=2 if is_rescan else 1)).work()
    assert all(status(office, bounce) is MailStatus.FILED for bounce in bounces)
    assert {row.recipient for row in office.store.outbox.find(status=OutboxStatus.FAILED)} == {ANNA, JAMES}


# What retention has deleted


@pytest.mark.parametrize("is_told", [False, True])
def test_mail_that_retention_may_have_forgotten_is_a_persons(office: Office, is_told: bool) -> None:
    """The server does not say when it came, or says when it was moved: only its own date tells."""
    store = office.settings.store.model_copy(update={"retention_days": 90})
    settings = office.settings.model_copy(update={"store": store})
    office = replace(office, settings=settings, decider=replace(office.decider, settings=settings))
    first = FakeMailbox([write(REFUND)])
    Shift(office, first).work()
    for days in (199, 200):  # the first reading after such a pause is doubted
        office.clock = Clock(NOON + timedelta(days=days))
        Shift(office, first).work()
    assert office.store.mails.find() == ()
    fresh = write(CANCEL, sender=JAMES).replace(b"20 Nov 2026", b"07 Jun 2027")
    moved = first.numbered_anew()
    moved.mails.append(fresh)
    moved.arrivals = dict.fromkeys((1, 2), office.clock()) if is_told else {}
    Shift(office, moved).work()
    assert recipients(office) == [ANNA, DESK, JAMES]
    code, why = reason_told(office, mail_id_of(moved.mails[0]))
    assert code == "screening"
    assert "deleted after 90 days" in str(why)
