"""What the desk hears besides a mail's own packet: each loss once each time, whatever else it was told of the mail."""

from __future__ import annotations

from datetime import timedelta

import pytest

from support_agent.errors import PermanentError
from support_agent.mail.keys import envelope_id
from support_agent.ops.replay import replay
from support_agent.outbound.outbox_choices import OutboxChoice, apply_choice
from support_agent.outbound.sender import SendResult
from support_agent.store.deliveries import Deliveries
from support_agent.store.outbox import Outbox
from support_agent.store.records import (
    MailId,
    MailStatus,
    OutboxId,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
    OutgoingMail,
)
from support_agent.transport.submission import Delivery
from tests.fakes_journey import DESK, JAMES, NOON, Clock, Office, with_agent, write
from tests.unit.reporting import report
from tests.unit.seen import ANSWER, CANCEL, FAILURE, PERSON_REPLY, REFUND, one, opened, text_of

REFUSED = Delivery(status="failed", detail="550 no")


def lost_answer(office: Office) -> MailId:
    """A mail of James's whose answer the server refused; the desk was told."""
    office.transport.deliveries = [REFUSED]
    return office.handle(write(REFUND, sender=JAMES))[0]


def retried(office: Office, mail_id: MailId, delivery: Delivery = REFUSED) -> None:
    """A person sends the answer again, and this comes of it."""
    answer = office.sent(mail_id)[ANSWER]
    apply_choice(office.store, answer.id, OutboxChoice.RETRY, office.clock())
    office.transport.deliveries = [delivery]
    office.stages.outbox_sender.deliver(office.sent(mail_id)[ANSWER])


def notices(office: Office, mail_id: MailId) -> list[OutboxRecord]:
    return sorted(office.store.outbox.find(mail_id=mail_id, kind=FAILURE), key=lambda row: row.number)


def test_s62_mail_that_is_lost_again_after_a_person_sent_it_again_is_told_again(office: Office) -> None:
    """By a mail of its own, which is kept and made again like any other."""
    mail_id = lost_answer(office)
    assert office.stages.notices.notify_losses() == []
    retried(office, mail_id, Delivery(status="uncertain", detail="cut after the dot"))
    assert [office.stages.notices.notify_losses() for _ in range(2)] == [[SendResult.SENT], []]
    first, second = notices(office, mail_id)
    assert (first.id, second.id) == (f"{mail_id}-failure", f"{mail_id}-failure-2")
    assert first.message_id != second.message_id
    assert "is failed: 550 no" in text_of(first)
    assert "is uncertain: cut after the dot" in text_of(second)
    assert [recipient for recipient, _ in office.transport.given] == [JAMES, DESK, JAMES, DESK]
    replayed = replay(office.store, [mail_id])
    assert ([entry.kind for entry in replayed], {entry.is_identical for entry in replayed}) == (
        [ANSWER, FAILURE, FAILURE], {True},
    )  # fmt: skip


def test_s62_mail_that_was_sent_again_and_went_out_is_not_told(office: Office) -> None:
    mail_id = lost_answer(office)
    retried(office, mail_id, Delivery(status="sent", detail="250 ok"))
    assert (office.stages.notices.notify_losses(), len(notices(office, mail_id))) == ([], 1)


def test_desk_may_answer_the_second_notice(office: Office) -> None:
    """What a staff member writes goes into the customer's thread, and of the notice nothing does."""
    mail_id = lost_answer(office)
    retried(office, mail_id)
    office.stages.notices.notify_losses()
    second = notices(office, mail_id)[1]
    copied = "\r\n".join(["We look at it.", "", *text_of(second).split("\n")])
    reply, _ = office.handle(write(copied, sender=DESK, in_reply_to=second.message_id))
    sent = office.sent(reply)[PERSON_REPLY]
    assert (sent.recipient, text_of(sent).strip()) == (JAMES, "We look at it.")
    parent = office.store.mails.get(mail_id)
    assert parent is not None
    assert opened(sent)["In-Reply-To"] == parent.message_id


def test_loss_is_told_though_the_desk_was_told_of_something_else_in_that_mail(office: Office) -> None:
    """Failure: one notice a mail for ever, and a journey that failed, or the breaker, had used it up."""
    office.transport.deliveries = [Delivery(status="retry", detail="later")]
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    office.stages.notices.quarantine(mail_id, PermanentError("the record does not fit", code="journey_changed"))
    office.clock = Clock(NOON + timedelta(days=1))
    office.transport.deliveries = [REFUSED]
    office.stages.outbox_sender.deliver(office.sent(mail_id)[ANSWER])
    assert office.stages.notices.notify_losses() == [SendResult.SENT]
    office.stages.notices.quarantine(mail_id, PermanentError("the record does not fit", code="journey_changed"))
    found = [office.store.outbox.rendered_mail(mail_id, FAILURE, row.number) for row in notices(office, mail_id)]
    reasons = [record.payload["reason_code"] for record in found if record is not None]
    assert reasons == ["journey_changed", "undelivered"]


@pytest.mark.parametrize("dies_after", [False, True])
@pytest.mark.parametrize("is_retried", [False, True])
def test_loss_is_told_once_though_the_process_dies(
    office: Office, monkeypatch: pytest.MonkeyPatch, is_retried: bool, dies_after: bool
) -> None:
    """Before, or right after, the notice comes into the outbox."""
    queue_notice = Outbox.queue_notice

    def dying(outbox: Outbox, notice: OutgoingMail, lost: OutboxId) -> None:
        if dies_after:
            queue_notice(outbox, notice, lost)
        raise KeyboardInterrupt

    office.transport.deliveries = [Delivery(status="retry", detail="later")]
    mail_id = lost_answer(office) if is_retried else office.handle(write(REFUND, sender=JAMES))[0]
    if is_retried:
        retried(office, mail_id)
    else:
        assert office.store.outbox.claim(office.sent(mail_id)[ANSWER].id, NOON + timedelta(days=1))
        office.store.outbox.recover_sending()
    with monkeypatch.context() as patch:
        patch.setattr(Outbox, "queue_notice", dying)
        with pytest.raises(KeyboardInterrupt):
            office.stages.notices.notify_losses()
    for _ in range(2):
        office.stages.notices.notify_losses()
    found = notices(office, mail_id)
    assert len(found) == 1 + is_retried
    for row in found:
        if row.status is OutboxStatus.READY:  # as the agent's loop does
            office.stages.outbox_sender.deliver(row)
    assert [recipient for recipient, _ in office.transport.given].count(DESK) == 1 + is_retried


def test_two_that_find_the_same_loss_tell_it_once(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journey and the agent's loop look at the outbox at the same time."""
    mail_id = lost_answer(office)
    retried(office, mail_id)
    seen = office.store.deliveries.unnotified_losses()
    office.stages.notices.notify_losses()
    monkeypatch.setattr(Deliveries, "unnotified_losses", lambda *_: seen)
    assert office.stages.notices.notify_losses() == []
    assert len(notices(office, mail_id)) == 2


def test_only_notices_are_numbered() -> None:
    """The ids of all other mails are what they were."""
    assert {kind.named(1) for kind in OutgoingKind} == {kind.value for kind in OutgoingKind}


def test_s12_breaker_does_not_tell_itself_by_a_report_that_waits(office: Office) -> None:
    """Failure: a bounce of a mail that was being sent became a person's, and nobody did what it said (S64)."""
    office = with_agent(office, max_mails_per_hour=1)
    office.transport.deliveries = [Delivery(status="retry", detail="451 later")]
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    answer = office.sent(mail_id)[ANSWER]
    assert office.store.outbox.claim(answer.id, answer.next_try_at)
    bounce_id, outcome = office.handle(report(envelope=envelope_id(answer.message_id)))
    assert (outcome, office.stages.notices.notify_breaker()) == ("held", False)
    waiting, outcome = office.handle(write(CANCEL))
    assert (outcome, office.stages.notices.notify_breaker()) == ("held", True)
    assert [one(office, row).status for row in (bounce_id, waiting)] == [MailStatus.NEW, MailStatus.ESCALATED]
