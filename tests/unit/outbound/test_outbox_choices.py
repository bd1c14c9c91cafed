"""S62, S64: what a person decides about a mail that was tried, and addresses that get no mail any more."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from support_agent.errors import ConfigError, PermanentError
from support_agent.mail.keys import envelope_id
from support_agent.ops.explain import timeline
from support_agent.outbound.outbox_choices import OutboxChoice, apply_choice, entries
from support_agent.outbound.sender import SendResult
from support_agent.pipeline import handle
from support_agent.store.records import DeliverySource, OutboxRecord, OutboxStatus
from support_agent.store.suppressions import Suppressions
from support_agent.transport.submission import Delivery
from tests.fakes_journey import JAMES, NOON, Clock, Office, once, twice, with_autonomy, write
from tests.fakes_worker import FakeMailbox, Shift
from tests.unit.reporting import (
    ANSWER,
    FAILED,
    PACKET,
    READY,
    REFUND,
    SENDING,
    SENT,
    UNCERTAIN,
    again,
    answered,
    cancelled,
    proposed,
    report,
)
from tests.unit.seen import HUMAN

# A person decides


def bring_to(office: Office, status: OutboxStatus) -> OutboxRecord:
    if status.is_unsent:
        record = proposed(office) if status is OutboxStatus.PROPOSED else cancelled(office)
    else:
        record = answered(office, {READY: "retry", SENDING: "retry"}.get(status, status.value))
    if status is SENDING:
        assert office.store.outbox.claim(record.id, NOON + timedelta(days=1))
    assert again(office, record).status is status
    return record


MAY = {
    (OutboxChoice.APPROVE, OutboxStatus.PROPOSED): READY,
    (OutboxChoice.APPROVE, READY): READY,
    (OutboxChoice.UNDO, OutboxStatus.PROPOSED): OutboxStatus.CANCELLED,
    (OutboxChoice.UNDO, READY): OutboxStatus.CANCELLED,
    (OutboxChoice.UNDO, OutboxStatus.CANCELLED): OutboxStatus.CANCELLED,
    (OutboxChoice.RETRY, UNCERTAIN): READY,
    (OutboxChoice.RETRY, FAILED): READY,
    (OutboxChoice.RETRY, READY): READY,
    (OutboxChoice.SENT, UNCERTAIN): SENT,
    (OutboxChoice.SENT, SENT): SENT,
    (OutboxChoice.GIVE_UP, UNCERTAIN): FAILED,
    (OutboxChoice.GIVE_UP, READY): FAILED,
    (OutboxChoice.GIVE_UP, FAILED): FAILED,
}


@pytest.mark.parametrize("status", OutboxStatus)
@pytest.mark.parametrize("choice", OutboxChoice)
def test_s62_a_person_settles_what_makes_sense_and_twice_is_once(
    office: Office, choice: OutboxChoice, status: OutboxStatus
) -> None:
    """S62: an uncertain mail is a person's decision; nonsense is refused with what it is."""
    record, after = bring_to(office, status), MAY.get((choice, status))
    if after is None:
        before = again(office, record)
        with pytest.raises(PermanentError, match=f"is {status}: "):
            apply_choice(office.store, record.id, choice, NOON)
        assert again(office, record) == before
        return
    is_new = apply_choice(office.store, record.id, choice, NOON).is_new
    unchanged = {(OutboxChoice.APPROVE, READY), (OutboxChoice.RETRY, READY), (OutboxChoice.SENT, SENT)}
    assert is_new is ((choice, status) not in unchanged | {(OutboxChoice.UNDO, OutboxStatus.CANCELLED)})
    settled = apply_choice(office.store, record.id, choice, NOON)
    assert (settled.status, settled.is_new, again(office, record).status) == (after, False, after)
    assert len(office.store.deliveries.of(record.id)) == is_new + (status is OutboxStatus.CANCELLED)


def test_s62_the_case_says_who_decided(office: Office) -> None:
    record = answered(office, "uncertain")
    apply_choice(office.store, record.id, OutboxChoice.SENT, NOON)
    assert record.case_id is not None
    (mail,) = timeline(office.store, record.case_id).mails
    (update,) = next(sent.delivery_updates for sent in mail.sent if sent.record.kind is ANSWER)
    assert (update.by, update.detail) == (DeliverySource.OPERATOR, "it went out, by the operator")


def test_a_mail_that_is_sent_again_by_a_person_goes_to_a_suppressed_address(office: Office) -> None:
    """Who sends again says that the address is good: it is written to again."""
    record = answered(office)
    office.handle(report(envelope=envelope_id(record.message_id)))
    apply_choice(office.store, record.id, OutboxChoice.RETRY, office.clock())
    office.stages.outbox_sender.deliver(again(office, record))
    assert again(office, record).status is SENT
    assert office.transport.given[-1] == (JAMES, record.raw)


def test_a_death_while_a_person_sends_again_leaves_no_mail_that_fails_at_once(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address is written to again before the mail waits to be sent there."""
    record = answered(office)
    office.handle(report(envelope=envelope_id(record.message_id)))

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Suppressions, "lift", die)
        with pytest.raises(KeyboardInterrupt):
            apply_choice(office.store, record.id, OutboxChoice.RETRY, office.clock())
    assert again(office, record).status is FAILED


def test_an_unknown_mail_is_named(office: Office) -> None:
    with pytest.raises(ConfigError, match="`support-agent outbox` lists them"):
        apply_choice(office.store, "nothing", OutboxChoice.RETRY, NOON)


def test_s62_what_is_not_known_to_be_out_is_listed_until_it_is_settled(office: Office) -> None:
    record = answered(office, "uncertain")
    (entry,) = [found for found in entries(office.store, NOON + timedelta(hours=3)) if found.kind is ANSWER]
    assert (entry.outbox_id, entry.status, entry.recipient, entry.case_id) == (
        record.id, UNCERTAIN, JAMES, record.case_id,
    )  # fmt: skip
    assert 10_000 < entry.age_s < 10_800
    apply_choice(office.store, record.id, OutboxChoice.GIVE_UP, NOON)
    assert entries(office.store, NOON) == []


# Addresses that bounced


def test_s64_a_suppressed_address_gets_no_automatic_mail_and_a_person_its_case(office: Office) -> None:
    """S64: what is new goes to the desk with that reason; what was queued before fails and is told."""
    record = answered(office)
    office.handle(report(envelope=envelope_id(record.message_id)))
    mail_id, outcome = office.handle(write("And what about seats?", sender=JAMES, proof="spf"))
    assert (outcome, set(office.sent(mail_id))) == ("escalated", {PACKET})
    told = office.store.outbox.rendered_mail(mail_id, PACKET)
    assert told is not None
    assert (told.payload["reason_code"], JAMES in str(told.payload["why"])) == ("suppressed", True)


def test_s64_a_proven_mail_shows_that_the_address_lives(office: Office) -> None:
    """A forged bounce, or a mailbox that is there again: who writes gets answers."""
    record = answered(office)
    office.handle(report(envelope=envelope_id(record.message_id)))
    mail_id, outcome = office.handle(write("How do I cancel?", sender=JAMES), twice())
    assert (outcome, set(office.sent(mail_id))) == ("answered", {ANSWER})
    assert office.store.suppressions.all(office.clock()) == ()


def test_s64_a_mail_from_before_the_bounce_shows_nothing(office: Office) -> None:
    """The desk's notice of the loss finds the place of the mail anew, and one that waited is begun anew."""
    record, waiting = answered(office), office.receive(write("How do I cancel?", sender=JAMES))
    office.handle(report(envelope=envelope_id(record.message_id)))
    assert office.stages.notices.notify_losses() == [SendResult.SENT]
    assert handle(waiting, once(), office.stages) == "escalated"
    assert [entry.address for entry in office.store.suppressions.all(office.clock())] == [JAMES]


def test_s64_a_mail_from_while_the_clock_was_ahead_shows_nothing(office: Office) -> None:
    """Failure: an old mail of the bounced address, by its date a later one, let mail go there again."""
    clock, office.clock = office.clock, Clock(NOON + timedelta(hours=3))
    record, waiting = answered(office), office.receive(write("How do I cancel?", sender=JAMES))
    office.clock = clock
    office.handle(report(envelope=envelope_id(record.message_id)))
    office.stages.notices.notify_losses()
    assert handle(waiting, once(), office.stages) == "escalated"
    assert [entry.address for entry in office.store.suppressions.all(office.clock())] == [JAMES]


def test_s64_a_bounce_from_while_the_clock_was_ahead_is_lifted_like_any_other(office: Office) -> None:
    """Failure: nothing automatic went to the address for twenty years, however often its owner wrote."""
    record, clock = answered(office), office.clock
    office.clock = Clock(NOON + timedelta(days=7300))
    office.handle(report(envelope=envelope_id(record.message_id)))
    office.clock = clock
    assert office.handle(write("How do I cancel?", sender=JAMES))[1] == "answered"


def test_s64_a_clock_that_is_ahead_forgets_no_suppression(office: Office) -> None:
    record = answered(office)
    office.handle(report(envelope=envelope_id(record.message_id)))
    Shift(replace(office, clock=Clock(NOON + timedelta(days=61))), FakeMailbox([])).work()
    assert office.store.suppressions.of(JAMES, office.clock()) is not None


def test_s64_a_mail_that_was_queued_before_the_bounce_does_not_go_out(office: Office) -> None:
    waiting = answered(office, "retry")
    office.store.suppressions.add(waiting, "550 5.1.1", NOON, NOON + timedelta(days=60))
    office.clock = Clock(NOON + timedelta(days=1))
    given = len(office.transport.given)
    office.stages.outbox_sender.deliver(waiting)
    assert len(office.transport.given) == given
    now = again(office, waiting)
    assert (now.status, "no automatic mail until 2027-01-19" in str(now.last_detail)) == (FAILED, True)


def test_s64_a_held_answer_that_was_never_tried_does_not_go_out_after_a_bounce(office: Office) -> None:
    """Rule: the address is looked up before the first try too, which may be long after the answer was queued."""
    office = with_autonomy(office, hold_s=600)
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    (held,) = office.store.outbox.find(mail_id=mail_id, kind=ANSWER)
    assert (held.status, held.attempts) == (READY, 0)
    office.store.suppressions.add(held, "550 5.1.1", NOON, NOON + timedelta(days=60))
    office.clock = Clock(NOON + timedelta(minutes=11))
    office.stages.outbox_sender.deliver(held)
    assert JAMES not in [recipient for recipient, _ in office.transport.given]
    assert again(office, held).status is FAILED


@pytest.mark.parametrize("is_bad", [True, False])
def test_s64_an_address_that_the_server_refuses_for_good_is_suppressed_too(office: Office, is_bad: bool) -> None:
    office.transport.deliveries = [Delivery(status="failed", detail="550 5.1.1", smtp_code=550, is_bad_address=is_bad)]
    office.handle(write(REFUND, sender=JAMES))
    assert (office.store.suppressions.of(JAMES, office.clock()) is not None) is is_bad


def test_s64_a_desk_that_the_server_refuses_is_not_suppressed(office: Office) -> None:
    """Rule: an address of staff may be a customer's too, and what is wrong there is for the operator to mend."""
    office.transport.deliveries = [Delivery(status="failed", detail="550 5.1.1", smtp_code=550, is_bad_address=True)]
    mail_id, _ = office.handle(write(HUMAN, sender=JAMES))
    (packet, *_) = office.store.outbox.find(mail_id=mail_id, kind=PACKET)
    assert packet.status is FAILED
    assert office.store.suppressions.all(office.clock()) == ()
