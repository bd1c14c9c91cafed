"""What the desk's mail server refuses for good goes to the desk once more without the customer's mail, and a customer
hears that a person has the case only if the desk has it.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from support_agent.answer.packet import Packet
from support_agent.mail.keys import envelope_id
from support_agent.ops.replay import replay
from support_agent.outbound.outbox_choices import OutboxChoice, apply_choice
from support_agent.outbound.sender import SendResult
from support_agent.store.deliveries import Deliveries
from support_agent.store.outbox import Outbox
from support_agent.store.records import (
    DeliverySource,
    MailId,
    OutboxId,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
    OutgoingMail,
)
from support_agent.store.watch_records import AlarmKind
from support_agent.transport.submission import Delivery
from support_agent.watch.causes import causes
from tests.fakes_desk import digest, held_in, lines_of, order, proposed_in, remind
from tests.fakes_journey import DESK, JAMES, NOON, Clock, Office, with_agent, write
from tests.fakes_worker import work
from tests.unit.reporting import report
from tests.unit.seen import ACKNOWLEDGEMENT, ANSWER, FAILURE, HUMAN, PACKET, PERSON_REPLY, REFUND, opened, text_of

READY, SENT, FAILED = OutboxStatus.READY, OutboxStatus.SENT, OutboxStatus.FAILED
CANCELLED, HELD, REMINDER = OutboxStatus.CANCELLED, OutgoingKind.HELD, OutgoingKind.REMINDER
NOT_ATTACHED = "{% if packet.original_id %}"
REFUSED = Delivery(status="failed", detail="552 too big", smtp_code=552)
DESK_UNDELIVERED = AlarmKind.DESK_UNDELIVERED


def for_person(office: Office, *deliveries: Delivery) -> MailId:
    """A mail of James's that a person gets; this comes of the first tries to send."""
    office.transport.deliveries = list(deliveries)
    return office.handle(write(HUMAN, sender=JAMES))[0]


def of_kind(office: Office, mail_id: MailId, kind: OutgoingKind = PACKET) -> list[OutboxRecord]:
    return sorted(office.store.outbox.find(mail_id=mail_id, kind=kind), key=lambda row: row.number)


def encloses(row: OutboxRecord) -> bool:
    return any(part.get_filename() == "original.eml" for part in opened(row).walk())


def alarmed(office: Office) -> list[str]:
    return [cause.what for cause in causes(office.store, office.settings, NOON) if cause.kind is DESK_UNDELIVERED]


def test_a_refused_packet_goes_once_more_without_the_original_and_says_where_it_is(office: Office) -> None:
    """Failure: 8 MB of photos were 11 MB as base64, and nobody ever heard of the case."""
    mail_id = for_person(office, REFUSED)
    first, second = of_kind(office, mail_id)
    assert [(row.id, row.status, encloses(row)) for row in (first, second)] == [
        (f"{mail_id}-packet", FAILED, True),
        (f"{mail_id}-packet-2", SENT, False),
    ]
    assert first.message_id != second.message_id
    assert second.recipient == DESK
    said = text_of(second)
    assert f"It is mail {mail_id};" in said
    assert f"`support-agent show {second.case_id}`" in said
    assert "is not attached" not in text_of(first)
    assert alarmed(office) == []


def test_it_replays_to_the_same_bytes(office: Office) -> None:
    mail_id = for_person(office, REFUSED)
    work(office)
    replayed = replay(office.store, [mail_id])
    assert sorted(entry.kind for entry in replayed) == [ACKNOWLEDGEMENT, PACKET, PACKET]
    assert {entry.is_identical for entry in replayed} == {True}


def test_the_customer_hears_that_a_person_has_the_case_once_the_desk_has_the_smaller_packet(office: Office) -> None:
    mail_id = for_person(office, REFUSED, Delivery(status="retry", detail="421 later"))
    work(office)
    assert [recipient for recipient, _ in office.transport.given] == [DESK, DESK]
    assert office.sent(mail_id)[ACKNOWLEDGEMENT].status is READY
    office.clock = Clock(NOON + timedelta(days=1))
    for _ in range(2):
        work(office)
    assert [recipient for recipient, _ in office.transport.given] == [DESK, DESK, DESK, JAMES]
    assert office.sent(mail_id)[ACKNOWLEDGEMENT].status is SENT


def test_a_bounced_packet_goes_once_more_without_the_original(office: Office) -> None:
    """The desk's server took it, and returned it later; a second report of the same bounce changes nothing."""
    mail_id = for_person(office)
    work(office)
    packet = of_kind(office, mail_id)[0]
    for number in (1, 2):
        bounce = report(envelope=envelope_id(packet.message_id), recipient=DESK, status="5.3.4", number=number)
        office.handle(bounce)
        work(office)
    assert [(row.status, encloses(row)) for row in of_kind(office, mail_id)] == [(FAILED, True), (SENT, False)]


def test_a_packet_that_bounces_after_a_person_has_answered_is_not_sent_again(office: Office) -> None:
    """Nobody waits for it any more, and no alarm is raised."""
    mail_id = for_person(office)
    packet = of_kind(office, mail_id)[0]
    office.handle(write("Done.", sender=DESK, in_reply_to=packet.message_id, number=5))
    office.handle(report(envelope=envelope_id(packet.message_id), recipient=DESK, status="5.3.4"))
    work(office)
    assert [row.status for row in of_kind(office, mail_id)] == [FAILED]
    assert alarmed(office) == []
    assert office.store.waits.cases(NOON - timedelta(days=1)) == ()


def test_for_people_the_smaller_packet_is_the_first_once_more(office: Office) -> None:
    """Else an answer that a person gave before it came would not count as one to it."""
    mail_id = for_person(office)
    packet = of_kind(office, mail_id)[0]
    office.clock = Clock(NOON + timedelta(hours=5))
    office.handle(report(envelope=envelope_id(packet.message_id), recipient=DESK, status="5.3.4"))
    work(office)
    assert len(of_kind(office, mail_id)) == 2
    (waiting,) = office.store.waits.cases(NOON - timedelta(days=1))
    assert waiting.since == packet.created_at


def test_half_of_the_hourly_limit_is_left_to_other_mail(office: Office) -> None:
    """After a long outage of the desk's server everything is sent again, but not at once."""
    office = with_agent(office, max_mails_per_hour=10)
    found = []
    for number in range(3):
        office.transport.deliveries = [Delivery(status="retry", detail="421 later")]
        found.append(office.handle(write(HUMAN, sender=f"c{number}@example.org", number=number))[0])
    for mail_id in found:
        office.store.outbox.claim(of_kind(office, mail_id)[0].id, NOON + timedelta(days=1))
        office.store.outbox.mark_failed(of_kind(office, mail_id)[0].id, "552 too big", by="")
    office.stages.notices.send_without_original()
    assert sum(len(of_kind(office, mail_id)) - 1 for mail_id in found) == 0, "packets and acknowledgements are 6 of 10"
    office.clock = Clock(NOON + timedelta(hours=2))
    office.stages.notices.send_without_original()
    assert [len(of_kind(office, mail_id)) for mail_id in found] == [2, 2, 2]
    assert office.stages.rates.room(office.clock()) == 7, "they count from when they were sent again"


@pytest.mark.parametrize("kind", [FAILURE, REMINDER, HELD])
def test_whatever_encloses_the_original_goes_once_more_without_it(office: Office, kind: OutgoingKind) -> None:
    """A notice of a loss, a reminder, the notice of an answer that leaves by itself."""
    if kind is HELD:
        office.transport.deliveries = [REFUSED]
        mail_id = held_in(office).mail_id
    elif kind is FAILURE:
        office.transport.deliveries = [REFUSED, REFUSED]
        mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    else:
        mail_id = for_person(office)
        office.transport.deliveries = [REFUSED]
        office.stages.outbox_sender.deliver(remind(office, mail_id))
    office.stages.notices.send_without_original()
    found = of_kind(office, mail_id, kind)
    assert [(row.status, encloses(row)) for row in found] == [(FAILED, True), (SENT, False)]
    assert {entry.is_identical for entry in replay(office.store, [mail_id])} == {True}


def test_what_is_refused_in_both_forms_is_not_read_again(office: Office) -> None:
    """Only the alarm needs it; for notices of losses and reminders, the number does not say that it is the second."""
    office.transport.deliveries = [REFUSED, REFUSED]
    lost_again = office.store.deliveries.lost_to_desk(held_in(office).mail_id)
    assert [(row.kind, row.number, row.may_enclose_original) for row in lost_again] == [(HELD, 2, False)]


def test_later_mails_about_it_leave_the_original_out_from_the_start(office: Office) -> None:
    """Reminders and notices of losses enclose the same bytes."""
    mail_id = for_person(office, REFUSED, Delivery(status="sent", detail="250 ok"), REFUSED)
    work(office)
    reminder = remind(office, mail_id)
    (lost,) = of_kind(office, mail_id, FAILURE)
    assert [encloses(row) for row in (reminder, lost)] == [False, False]
    assert {entry.is_identical for entry in replay(office.store, [mail_id])} == {True}


def test_a_person_answers_from_the_smaller_packet_as_from_the_first(office: Office) -> None:
    office.transport.deliveries = [REFUSED]
    proposed = proposed_in(office)
    office = proposed.office
    smaller = of_kind(office, proposed.mail_id)[1]
    assert lines_of(smaller) == proposed.lines
    assert f"its id in the outbox is {proposed.answer.id}" in text_of(smaller)
    order(office, lines_of(smaller)["approve"])
    assert office.sent(proposed.mail_id)[ANSWER].status is SENT


def test_a_reply_to_the_smaller_packet_is_passed_on(office: Office) -> None:
    """And nothing of what it says of the original."""
    mail_id = for_person(office, REFUSED)
    smaller = of_kind(office, mail_id)[1]
    copied = "\r\n".join(["We look at it.", "", *text_of(smaller).split("\n")])
    reply, _ = office.handle(write(copied, sender=DESK, in_reply_to=smaller.message_id))
    sent = office.sent(reply)[PERSON_REPLY]
    assert (sent.recipient, text_of(sent).strip()) == (JAMES, "We look at it.")


def test_templates_that_do_not_say_where_the_original_is_are_not_used(office: Office) -> None:
    """Those of an older workspace: the program's are."""
    head, _, rest = office.decider.templates.as_files()["en/escalation.txt.j2"].partition(NOT_ATTACHED)
    mail_id = for_person(office.with_templates(escalation=head + rest.partition("{% endif %}\n")[2]), REFUSED)
    assert f"It is mail {mail_id};" in text_of(of_kind(office, mail_id)[1])


@pytest.mark.parametrize("dies_after", [False, True])
def test_it_is_sent_once_though_the_process_dies(
    office: Office, monkeypatch: pytest.MonkeyPatch, dies_after: bool
) -> None:
    """Before, or right after, the smaller packet comes into the outbox."""
    queue_notice = Outbox.queue_notice

    def dying(outbox: Outbox, notice: OutgoingMail, lost: OutboxId) -> None:
        if dies_after:
            queue_notice(outbox, notice, lost)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Outbox, "queue_notice", dying)
        with pytest.raises(KeyboardInterrupt):
            for_person(office, REFUSED)
    (mail,) = office.store.mails.find()
    assert office.sent(mail.id)[ACKNOWLEDGEMENT].status is READY
    for _ in range(3):
        work(office)
    assert [(row.status, encloses(row)) for row in of_kind(office, mail.id)] == [(FAILED, True), (SENT, False)]
    assert [recipient for recipient, _ in office.transport.given] == [DESK, DESK, JAMES]


def test_it_is_sent_though_the_process_died_when_the_server_had_refused_the_packet(office: Office) -> None:
    """The refusal was recorded, and nobody was alive to act on it."""
    mail_id = for_person(office, Delivery(status="retry", detail="421 later"))
    packet = of_kind(office, mail_id)[0]
    assert office.store.outbox.claim(packet.id, packet.next_try_at)
    office.store.outbox.mark_failed(packet.id, "552 too big", by="")
    work(office)
    assert [row.status for row in of_kind(office, mail_id)] == [FAILED, SENT]


def test_two_that_find_the_same_refused_packet_send_it_once(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journey and the agent's loop look at the outbox at the same time."""
    mail_id = for_person(office, Delivery(status="retry", detail="421 later"))
    packet = of_kind(office, mail_id)[0]
    assert office.store.outbox.claim(packet.id, packet.next_try_at)
    office.store.outbox.mark_failed(packet.id, "552 too big", by="")
    seen = office.store.deliveries.lost_to_desk()
    assert office.stages.notices.send_without_original() == [SendResult.SENT]
    monkeypatch.setattr(Deliveries, "lost_to_desk", lambda *_: seen)
    assert office.stages.notices.send_without_original() == []
    assert len(of_kind(office, mail_id)) == 2


# Nothing reaches the desk


def lost(office: Office) -> MailId:
    """A mail whose packet the desk did not get in either form, some rounds later."""
    mail_id = for_person(office, REFUSED, REFUSED)
    for _ in range(3):
        work(office)
    assert [row.status for row in of_kind(office, mail_id)] == [FAILED, FAILED]
    return mail_id


def test_a_packet_that_is_refused_in_both_forms_is_an_alarm_until_a_person_decides(office: Office) -> None:
    """It is not sent a third time."""
    mail_id = lost(office)
    smaller = of_kind(office, mail_id)[1]
    (what,) = alarmed(office)
    assert what == f"1 mail for the desk could not be delivered, the oldest of 2026-11-20 12:00 UTC: {smaller.case_id}"
    assert len(office.transport.given) == 2
    apply_choice(office.store, smaller.id, OutboxChoice.GIVE_UP, office.clock())
    assert alarmed(office) == []


def test_it_is_sent_when_a_person_says_so(office: Office) -> None:
    mail_id = lost(office)
    apply_choice(office.store, of_kind(office, mail_id)[1].id, OutboxChoice.RETRY, office.clock())
    work(office)
    assert ([row.status for row in of_kind(office, mail_id)], alarmed(office)) == ([FAILED, SENT], [])


def test_the_customer_hears_after_all_that_a_person_has_the_case_once_a_packet_was_sent_again(office: Office) -> None:
    """Failure: the acknowledgement stayed cancelled, and the operator was told that a person did not want it sent."""
    mail_id = lost(office)
    for choice in (OutboxChoice.RETRY, OutboxChoice.RETRY):
        apply_choice(office.store, of_kind(office, mail_id)[1].id, choice, office.clock())
    for _ in range(2):
        work(office)
    assert office.sent(mail_id)[ACKNOWLEDGEMENT].status is SENT
    assert [recipient for recipient, _ in office.transport.given] == [DESK, DESK, DESK, JAMES]


def test_a_packet_whose_data_cannot_be_read_any_more_is_told_as_a_loss(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of the program wrote it; the acknowledgement does not wait for ever."""
    mail_id = for_person(office, Delivery(status="retry", detail="421 later"))
    packet = of_kind(office, mail_id)[0]
    assert office.store.outbox.claim(packet.id, packet.next_try_at)
    office.store.outbox.mark_failed(packet.id, "552 too big", by="")
    with monkeypatch.context() as patched:
        patched.setattr(Packet, "model_validate", lambda _: Packet())  # type: ignore[call-arg]
        office.stages.notices.send_without_original()
    work(office)
    (notice,) = of_kind(office, mail_id, FAILURE)
    assert (notice.status, encloses(notice), "cannot be read any more" in text_of(notice)) == (SENT, True, True)
    assert office.sent(mail_id)[ACKNOWLEDGEMENT].status is CANCELLED
    assert alarmed(office) == []


def test_an_acknowledgement_without_a_packet_is_cancelled_and_the_case_says_why(office: Office) -> None:
    """Nobody has the case, so the customer is not told that a person has; nothing waits for ever."""
    mail_id = lost(office)
    acknowledgement = office.sent(mail_id)[ACKNOWLEDGEMENT]
    (update,) = office.store.deliveries.of(acknowledgement.id)
    assert (acknowledgement.status, update.by, update.detail) == (
        CANCELLED, DeliverySource.LOST_PACKET, "the desk did not get the packet",
    )  # fmt: skip
    assert of_kind(office, mail_id, FAILURE) == []


def test_it_is_forgotten_and_deleted_like_any_other(office: Office) -> None:
    """Failure: the acknowledgement "may still leave", for ever."""
    mail_id = lost(office)
    assert office.store.persons.find([JAMES]).unfinished == ()
    assert office.store.retention.delete_older_than(NOON + timedelta(days=3650)).mails == 1
    assert office.store.mails.get(mail_id) is None


def test_a_packet_that_a_person_gave_up_is_not_sent_again_and_its_acknowledgement_ends(office: Office) -> None:
    mail_id = for_person(office, Delivery(status="retry", detail="421 later"))
    apply_choice(office.store, of_kind(office, mail_id)[0].id, OutboxChoice.GIVE_UP, office.clock())
    work(office)
    assert ([row.status for row in of_kind(office, mail_id)], alarmed(office)) == ([FAILED], [])
    assert office.sent(mail_id)[ACKNOWLEDGEMENT].status is CANCELLED


def test_a_mail_for_the_desk_without_an_original_is_an_alarm_at_once(office: Office) -> None:
    mail_id = for_person(office)
    row = digest(office, mail_id)
    office.transport.deliveries = [REFUSED] * 9
    for _ in range(3):
        work(office)
    (found,) = of_kind(office, mail_id, OutgoingKind.DIGEST)
    assert (found.status, found.attempts) == (FAILED, 1)
    assert [what.rpartition(" ")[2] for what in alarmed(office)] == [row.id]
