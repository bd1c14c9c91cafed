"""What fails ends with a person who hears of it: lost mails, failed decisions, journeys that failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from email import message_from_bytes, policy
from typing import Any

import pytest
from structlog.testing import capture_logs

from support_agent.cases.decision import failed
from support_agent.cases.pause import end_pause, write_pause
from support_agent.cases.route import RoutedMail
from support_agent.company.accounts import Accounts
from support_agent.config.settings import EngineSettings, StoreSettings
from support_agent.core.levels import PROVEN
from support_agent.engine.steps import Steps
from support_agent.errors import PermanentError, TransientError
from support_agent.mail.message import Message, parse
from support_agent.outbound.outbox_choices import OutboxChoice, apply_choice
from support_agent.outbound.queueing import OutboundQueue
from support_agent.outbound.sender import SendResult
from support_agent.pipeline import handle
from support_agent.store.mails import Mails
from support_agent.store.outbox import Outbox
from support_agent.store.records import (
    CaseState,
    MailId,
    MailRecord,
    MailStatus,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
    OutgoingMail,
)
from support_agent.tools.base import Match
from support_agent.transport.submission import Delivery
from tests.fakes_journey import DESK, JAMES, NOON, Clock, Office, WordSearch, once, twice, write
from tests.fakes_worker import fails_once

ANSWER, ACKNOWLEDGEMENT = OutgoingKind.ANSWER, OutgoingKind.ACKNOWLEDGEMENT
PACKET, FAILURE, PERSON_REPLY = OutgoingKind.PACKET, OutgoingKind.FAILURE, OutgoingKind.PERSON_REPLY
REFUND = "Can I get a refund?"
SEATS = "How many seats have we paid for?"
HUMAN = "Let me talk to a human."
READY = OutboxStatus.READY
UNKNOWN = Delivery(status="uncertain", detail="cut after the final dot")
OFF_TOPIC = "Do you have a table for four on Saturday?"


def with_tries(office: Office, tries: int) -> Office:
    """The same office, whose mails are tried so often."""
    smtp = office.settings.smtp.model_copy(update={"max_attempts": tries})
    return replace(office, settings=office.settings.model_copy(update={"smtp": smtp}))


def one(office: Office, mail_id: MailId) -> MailRecord:
    mail = office.store.mails.get(mail_id)
    assert mail is not None
    return mail


def text_of(row: OutboxRecord) -> str:
    body = message_from_bytes(row.raw, policy=policy.default).get_body(("plain",))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


def reason_told(office: Office, mail_id: MailId, kind: OutgoingKind = PACKET) -> tuple[object, object]:
    """Code and sentence of what the desk got for a mail."""
    record = office.store.outbox.rendered_mail(mail_id, kind)
    assert record is not None
    return record.payload["reason_code"], record.payload["why"]


@pytest.mark.parametrize("status", ["failed", "uncertain"])
def test_answer_that_did_not_arrive_goes_to_a_person(office: Office, status: str) -> None:
    """The desk hears of it with the server's word; the mail counts as escalated, the case is a person's."""
    office.transport.deliveries = [Delivery.model_validate({"status": status, "detail": "550 no such user"})]
    mail_id, outcome = office.handle(write(REFUND, sender=JAMES))
    mail = one(office, mail_id)
    assert (outcome, mail.status) == ("escalated", MailStatus.ESCALATED)
    told = reason_told(office, mail_id, FAILURE)
    assert told == ("undelivered", f"the answer to {JAMES} is {status}: 550 no such user")
    assert (mail.reason_code, mail.why) == told
    assert set(office.sent(mail_id)) == {ANSWER, FAILURE}
    assert office.sent(mail_id)[FAILURE].status is OutboxStatus.SENT
    assert mail.case_id is not None
    case = office.store.cases.get(mail.case_id)
    assert case is not None
    assert case.state is CaseState.WITH_PERSON


def test_acknowledgement_waits_until_the_desk_has_the_packet(office: Office) -> None:
    """The desk's server is away: no customer reads that a person has the case while none has."""
    office.transport.deliveries = [Delivery(status="retry", detail="later")]
    mail_id, _ = office.handle(write(HUMAN, sender=JAMES))
    assert [recipient for recipient, _ in office.transport.given] == [DESK]
    assert office.sent(mail_id)[ACKNOWLEDGEMENT].status is OutboxStatus.READY
    office.clock = Clock(NOON + timedelta(days=1))
    office.stages.send(mail_id)
    assert [recipient for recipient, _ in office.transport.given] == [DESK, DESK, JAMES]


def test_acknowledgement_waits_while_the_agent_is_paused_though_the_desk_has_the_packet(office: Office) -> None:
    """Rule: the pause stops every automatic mail to a customer, not the answers alone; the desk's mail goes on."""
    office.transport.deliveries = [Delivery(status="retry", detail="later")]
    mail_id, _ = office.handle(write(HUMAN, sender=JAMES))
    write_pause(office.settings.agent, "stop")
    office.clock = Clock(NOON + timedelta(days=1))
    office.stages.send(mail_id)
    assert [recipient for recipient, _ in office.transport.given] == [DESK, DESK]
    assert office.sent(mail_id)[PACKET].status is OutboxStatus.SENT
    assert office.sent(mail_id)[ACKNOWLEDGEMENT].status is OutboxStatus.READY
    end_pause(office.settings.agent)
    office.stages.send(mail_id)
    assert [recipient for recipient, _ in office.transport.given] == [DESK, DESK, JAMES]


@pytest.mark.parametrize("status", ["failed", "uncertain"])
def test_lost_packet_is_an_alarm_and_no_other_packet(office: Office, status: str) -> None:
    """Nothing can be sent to a desk that cannot be reached: the log says so, and the outbox keeps it for `doctor`. A
    failed one is sent once more without the original, and no more.
    """
    office = with_tries(office, 1)
    office.transport.deliveries = [Delivery.model_validate({"status": status, "detail": "550"})] * 2
    with capture_logs() as events:
        mail_id, _ = office.handle(write(HUMAN, proof=None))
    rows = office.store.outbox.find(mail_id=mail_id)
    assert [(row.kind, row.status.value) for row in rows] == [(PACKET, status)] * (2 if status == "failed" else 1)
    alarms = [event for event in events if event["log_level"] == "critical"]
    assert [(alarm["event"], alarm["outbox_id"]) for alarm in alarms] == [
        ("packet_undelivered", row.id) for row in rows
    ]


def test_s62_packet_of_unknown_fate_is_sent_again_before_the_customer_hears(office: Office) -> None:
    """Failure: the desk never had the case, and the customer read that a person has it."""
    office.transport.deliveries = [UNKNOWN, UNKNOWN]
    mail_id, _ = office.handle(write(HUMAN, sender=JAMES))
    assert (office.sent(mail_id)[PACKET].status, office.sent(mail_id)[ACKNOWLEDGEMENT].attempts) == (READY, 0)
    for day in (1, 2):
        office.clock = Clock(NOON + timedelta(days=day))
        office.stages.send(mail_id)
    assert [recipient for recipient, _ in office.transport.given] == [DESK, DESK, DESK, JAMES]
    assert len({raw for recipient, raw in office.transport.given if recipient == DESK}) == 1
    assert {row.status for row in office.store.outbox.find(mail_id=mail_id)} == {OutboxStatus.SENT}


def test_s62_packet_of_unknown_fate_is_tried_as_often_as_any_mail_and_the_customer_hears_nothing(
    office: Office,
) -> None:
    """The last try leaves it to a person, who says that it arrived: then the customer may hear it."""
    office, uncertain = with_tries(office, 2), OutboxStatus.UNCERTAIN
    office.transport.deliveries = [UNKNOWN, UNKNOWN]
    mail_id, _ = office.handle(write(HUMAN, sender=JAMES))
    for day in (1, 2):
        office.clock = Clock(NOON + timedelta(days=day))
        office.stages.send(mail_id)
    assert [recipient for recipient, _ in office.transport.given] == [DESK, DESK]
    packet, acknowledgement = office.sent(mail_id)[PACKET], office.sent(mail_id)[ACKNOWLEDGEMENT]
    assert (packet.status, acknowledgement.status) == (uncertain, READY)
    apply_choice(office.store, packet.id, OutboxChoice.SENT, office.clock())
    office.stages.send(mail_id)
    assert office.sent(mail_id)[ACKNOWLEDGEMENT].status is OutboxStatus.SENT


def test_s62_customers_mail_of_unknown_fate_is_never_sent_again(office: Office) -> None:
    office.transport.deliveries = [UNKNOWN]
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    office.clock = Clock(NOON + timedelta(days=1))
    office.stages.send(mail_id)
    assert [recipient for recipient, _ in office.transport.given].count(JAMES) == 1


@pytest.mark.parametrize("status", ["failed", "uncertain"])
def test_partial_answer_that_did_not_arrive_is_told_beside_its_packet(office: Office, status: str) -> None:
    """The packet says what the customer was answered; the desk must learn that he was not, and he is told nothing."""
    sent = Delivery(status="sent", detail="250 ok")
    lost = Delivery.model_validate({"status": status, "detail": "550 no such user"})
    office.transport.deliveries = [sent, lost]
    mail_id, outcome = office.handle(write(f"{SEATS}\r\n\r\n{OFF_TOPIC}", sender=JAMES), twice())
    rows = office.sent(mail_id)
    assert (outcome, one(office, mail_id).status) == ("escalated", MailStatus.ESCALATED)
    assert {kind: row.status.value for kind, row in rows.items()} == {PACKET: "sent", ANSWER: status, FAILURE: "sent"}
    assert reason_told(office, mail_id) == ("not_covered", "")
    assert reason_told(office, mail_id, FAILURE)[0] == "undelivered"
    assert "Seats paid" in text_of(rows[PACKET])
    assert "WHAT THE CUSTOMER WAS ANSWERED" not in text_of(rows[FAILURE])
    assert [recipient for recipient, _ in office.transport.given] == [DESK, JAMES, DESK]


def test_answer_that_cannot_be_queued_leaves_no_packet_that_quotes_it(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused after it was rendered: nobody may read what the customer was answered, for he was not."""
    queue = Outbox.queue_first

    def without_answer(outbox: Outbox, *mails: OutgoingMail) -> bool:
        if any(mail.kind is ANSWER for mail in mails):
            raise PermanentError("another mail has this Message-ID", code="message_id_taken")
        return queue(outbox, *mails)

    monkeypatch.setattr(Outbox, "queue_first", without_answer)
    mail_id, outcome = office.handle(write(f"{SEATS}\r\n\r\n{OFF_TOPIC}", sender=JAMES), twice())
    sent = office.sent(mail_id)
    assert (outcome, set(sent)) == ("escalated", {PACKET, ACKNOWLEDGEMENT})
    assert reason_told(office, mail_id) == ("message_id_taken", "another mail has this Message-ID")
    assert "WHAT THE CUSTOMER WAS ANSWERED" not in text_of(sent[PACKET])
    assert one(office, mail_id).reason_code == "message_id_taken"


def test_acknowledgement_that_did_not_arrive_is_told(office: Office) -> None:
    """The customer does not know that a person has the case; why a person has it stays as it was."""
    sent, lost = Delivery(status="sent", detail="250 ok"), Delivery(status="failed", detail="550")
    office.transport.deliveries = [sent, lost]
    mail_id, _ = office.handle(write(HUMAN, sender=JAMES))
    assert reason_told(office, mail_id, FAILURE) == ("undelivered", f"the acknowledgement to {JAMES} is failed: 550")
    assert one(office, mail_id).reason_code == "person_asked_for"


def test_mail_that_is_lost_after_its_journey_makes_it_a_persons(office: Office) -> None:
    """The server was away at first: the mail is answered, until the last try says that it is not."""
    office.transport.deliveries = [Delivery(status="retry", detail="later"), Delivery(status="failed", detail="550")]
    mail_id, outcome = office.handle(write(REFUND, sender=JAMES))
    assert (outcome, office.stages.notices.notify_losses()) == ("answered", [])
    office.clock = Clock(NOON + timedelta(days=1))
    office.stages.outbox_sender.deliver(office.sent(mail_id)[ANSWER])
    assert office.stages.notices.notify_losses() == [SendResult.SENT]
    assert office.stages.notices.notify_losses() == []
    mail = one(office, mail_id)
    assert (mail.status, mail.reason_code) == (MailStatus.ESCALATED, "undelivered")


def test_mail_that_was_being_sent_when_the_program_died_is_told(office: Office) -> None:
    """Nobody was alive to see it lost: the outbox says so, and the next life of the program tells the desk."""
    office.transport.deliveries = [Delivery(status="retry", detail="later")]
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    office.clock = Clock(NOON + timedelta(days=1))
    assert office.store.outbox.claim(office.sent(mail_id)[ANSWER].id, office.clock())
    office.store.outbox.recover_sending()
    assert office.stages.notices.notify_losses() == [SendResult.SENT]
    code, why = reason_told(office, mail_id, FAILURE)
    assert (code, "uncertain" in str(why)) == ("undelivered", True)


def test_loss_that_cannot_be_told_does_not_keep_back_the_next(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one's case is gone from the database: the desk hears of the second, and of the first later."""
    office.transport.deliveries = [Delivery(status="retry", detail="later")] * 2
    (first, _), (second, _) = office.handle(write(REFUND)), office.handle(write(REFUND, sender=JAMES))
    for row in office.store.outbox.find():
        assert office.store.outbox.claim(row.id, NOON + timedelta(days=1))
    office.store.outbox.recover_sending()
    received = Mails.received

    def unreadable(mails: Mails, mail_id: MailId) -> tuple[bytes, datetime, bool]:
        if mail_id == first:
            raise PermanentError("no such mail", code="no_mail")
        return received(mails, mail_id)

    with monkeypatch.context() as patch, capture_logs() as events:
        patch.setattr(Mails, "received", unreadable)
        assert office.stages.notices.notify_losses() == [SendResult.SENT]
    assert [event["event"] for event in events if event["log_level"] == "critical"] == ["loss_not_notified"]
    assert FAILURE in office.sent(second)
    assert office.stages.notices.notify_losses() == [SendResult.SENT]
    assert FAILURE in office.sent(first)


class BrokenSearch(WordSearch):
    """A search whose index is gone."""

    def nearest(self, text: str) -> tuple[Match, ...]:
        """Never answers."""
        raise PermanentError("the index is gone", code="index")


def test_decision_that_fails_goes_to_a_person(office: Office) -> None:
    """Neither silence nor a guess: the packet says what failed."""
    broken = replace(office, decider=replace(office.decider, search=BrokenSearch()))
    mail_id, outcome = broken.handle(write(f"{REFUND}\r\n\r\n{SEATS}", sender=JAMES))
    assert (outcome, set(broken.sent(mail_id))) == ("escalated", {PACKET, ACKNOWLEDGEMENT})
    assert reason_told(broken, mail_id) == ("index", "the index is gone")


def accounts_away(*_: object) -> None:
    raise TransientError("the company's database does not answer", code="accounts")


def test_a_person_gets_the_mail_at_once_though_the_companys_database_goes_away(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: the customer's language was asked of the same database, so desk and customer heard nothing."""
    mail = office.stages.parse(office.receive(write(SEATS)))
    office.stages.identify(mail)
    monkeypatch.setattr(Accounts, "customer", accounts_away)
    assert handle(mail.id, once(), office.stages) == "escalated"
    assert set(office.sent(mail.id)) == {PACKET, ACKNOWLEDGEMENT}
    assert reason_told(office, mail.id) == ("accounts", "the company's database does not answer")


def test_a_person_hears_at_once_of_a_mail_whose_sender_cannot_be_looked_up(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: the notice was made once the database was back. Tried again then, the mail is a customer's as ever."""
    mail_id = office.receive(write(SEATS))
    with monkeypatch.context() as patched:
        patched.setattr(Accounts, "customer", accounts_away)
        with pytest.raises(TransientError) as raised:
            handle(mail_id, once(), office.stages)
        office.stages.notices.quarantine(mail_id, raised.value)
    assert (one(office, mail_id).status, set(office.sent(mail_id))) == (MailStatus.QUARANTINED, {FAILURE})
    assert "the account data cannot be used" in text_of(office.sent(mail_id)[FAILURE])
    assert (one(office, mail_id).level, office.stages.identify(office.stages.parse(mail_id)).level) == (None, 3)


def test_mail_that_is_set_aside_is_told_to_the_desk_once(office: Office) -> None:
    """Its journey failed outside of every stage: a person reads it, however often that is found out."""
    mail_id = office.receive(write(REFUND, sender=JAMES))
    for _ in range(2):
        office.stages.notices.quarantine(mail_id, PermanentError("the record does not fit", code="journey_changed"))
    assert one(office, mail_id).status is MailStatus.QUARANTINED
    assert [row.kind for row in office.store.outbox.find(mail_id=mail_id)] == [FAILURE]
    assert reason_told(office, mail_id, FAILURE) == ("journey_changed", "the record does not fit")


def test_s37_mail_that_cannot_be_read_from_the_store_at_once_is_read_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: one blip of the database before the first step, and a plain question was escalated."""
    mail_id = office.receive(write(REFUND))
    monkeypatch.setattr(Mails, "received", fails_once(Mails.received, TransientError("busy", code="database")))
    steps = Steps(lambda _name, work: work(), EngineSettings(step_attempts=2), lambda _s: None)
    assert handle(mail_id, steps, office.stages) == "answered"


@pytest.mark.parametrize("reads_again", [True, False])
def test_s37_mail_that_finds_a_defect_ends_with_the_desk(
    office: Office, monkeypatch: pytest.MonkeyPatch, reads_again: bool
) -> None:
    """The notice was made of the same mail, found the same defect, and ended the loop for good.

    Now the desk gets a notice without what could not be read; where even that fails, an alarm and a failed mail.
    """
    mail_id = office.receive(write(REFUND, sender=JAMES))
    bad = office.store.mails.raw(mail_id)

    def parse_with_defect(raw: bytes) -> Message:
        if raw == bad or not reads_again:
            raise RecursionError("too deep")
        return parse(raw)

    for module in ("route", "routing"):
        monkeypatch.setattr(f"support_agent.cases.{module}.parse", parse_with_defect)
    with capture_logs() as logs:
        office.stages.notices.quarantine(mail_id, PermanentError("unexpected RecursionError", code="unexpected"))
    assert (one(office, mail_id).status, one(office, mail_id).reason_code) == (MailStatus.QUARANTINED, "unexpected")
    assert {entry["event"] for entry in logs if entry["log_level"] == "critical"} >= {"mail_not_parsed"}
    assert ("quarantine_not_notified" in {entry["event"] for entry in logs}) is not reads_again
    assert [entry["event"] for entry in logs].count("mail_quarantined") == 1
    rows = office.store.outbox.find(mail_id=mail_id)
    assert [row.recipient for row in rows] == [DESK] * reads_again
    assert all(b"Can I get a refund?" in row.raw for row in rows)


def test_suppression_outlives_a_death_before_the_mail_counts_as_failed(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other order lost it for good: nobody looks at a failed mail again."""
    office.transport.deliveries = [Delivery(status="failed", detail="550 5.1.1", smtp_code=550, is_bad_address=True)]
    mail_id = office.receive(write(REFUND, sender=JAMES))

    def die(*_: object, **_by: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Outbox, "mark_failed", die)
    with pytest.raises(KeyboardInterrupt):
        handle(mail_id, once(), office.stages)
    assert office.store.suppressions.of(JAMES, office.clock()) is not None


def test_reply_that_is_not_passed_on_is_told_to_the_desk(office: Office) -> None:
    """Nobody may think that the customer has an answer."""
    first, _ = office.handle(write(HUMAN, sender=JAMES))
    packet = office.sent(first)[PACKET].message_id
    reply, _ = office.handle(write("> the packet", sender=DESK, in_reply_to=packet))
    assert reason_told(office, reply, FAILURE)[0] == one(office, reply).reason_code == "not_passed_on"


BY_HAND = "HOW TO REPLY\nWrite to the customer from your own mail program."


@pytest.mark.parametrize("words", ["We look.", REFUND])
def test_reply_to_a_packet_whose_case_is_gone_is_told_to_the_desk(office: Office, words: str) -> None:
    """Failure: after retention, or an older backup, the agent answered the desk as if a customer had written."""
    first, _ = office.handle(write(HUMAN, sender=JAMES))
    packet = office.sent(first)[PACKET].message_id
    office.store.retention.delete_older_than(office.clock() + timedelta(days=8))
    reply, _ = office.handle(write(words, sender=DESK, in_reply_to=packet))
    assert one(office, reply).status is MailStatus.ESCALATED
    assert set(office.sent(reply)) == {PACKET}
    code, why = reason_told(office, reply, PACKET)
    assert code == "not_kept"
    assert str(why).endswith("no longer kept: write to the customer from your own mail program")
    assert BY_HAND in text_of(office.sent(reply)[PACKET])


def test_the_subject_of_a_notice_names_the_case_once(office: Office) -> None:
    """Failure: each notice about a reply to a notice had the case in its subject once more."""
    first, _ = office.handle(write(HUMAN, sender=JAMES, subject="My card"))
    packet = office.sent(first)[PACKET]
    subject = f"[{packet.case_id}] My card"
    reply, _ = office.handle(
        write("> the packet", sender=DESK, subject=f"Re: {subject}", in_reply_to=packet.message_id)
    )
    for mail in (packet, office.sent(reply)[FAILURE]):
        assert message_from_bytes(mail.raw, policy=policy.default)["Subject"] == subject


@pytest.mark.parametrize("kind", ["raw", "outbox"])
def test_reply_to_a_mail_that_is_no_longer_kept_says_so(office: Office, kind: str) -> None:
    """Failure: the desk was told to reply to the notice, or to a packet that is gone, which both would fail again."""
    first, _ = office.handle(write(HUMAN, sender=JAMES))
    packet = office.sent(first)[PACKET].message_id
    office.handle(write("We look.", sender=DESK, in_reply_to=packet))
    old = StoreSettings.model_validate({f"{kind}_retention_days": 7})
    office.store.retention.run(old, office.clock() + timedelta(days=8))
    reply, _ = office.handle(write("One more thing.", sender=DESK, in_reply_to=packet))
    code, why = reason_told(office, reply, FAILURE)
    assert code == one(office, reply).reason_code == "not_kept"
    assert "no longer kept" in str(why)
    assert str(why).endswith("write to the customer from your own mail program")
    notice = text_of(office.sent(reply)[FAILURE])
    assert notice.startswith("A reply of the desk was not passed on to the customer.")
    assert BY_HAND in notice
    assert "Reply to" not in notice


def test_reply_to_the_failure_of_a_reply_reaches_the_customers_thread(office: Office) -> None:
    """A staff member's words could not be sent; what she answers to that goes to the customer, not to herself."""
    first, _ = office.handle(write(HUMAN, sender=JAMES, subject="My card"))
    office.transport.deliveries = [Delivery(status="failed", detail="550")]
    lost, _ = office.handle(write("We look.", sender=DESK, in_reply_to=office.sent(first)[PACKET].message_id))
    assert set(office.sent(lost)) == {PERSON_REPLY, FAILURE}
    failure = office.sent(lost)[FAILURE]
    assert reason_told(office, lost, FAILURE) == ("undelivered", f"the person reply to {JAMES} is failed: 550")
    copied = "\r\n".join(["We still look.", "", *text_of(failure).split("\n")])
    again, _ = office.handle(write(copied, sender=DESK, in_reply_to=failure.message_id))
    reply = office.sent(again)[PERSON_REPLY]
    mail = message_from_bytes(reply.raw, policy=policy.default)
    customers = office.store.mails.get(first)
    assert customers is not None
    assert (reply.recipient, mail["In-Reply-To"], mail["Subject"]) == (JAMES, customers.message_id, "Re: My card")
    assert text_of(reply) == "We still look.\n"


def test_copied_packet_is_not_passed_on(office: Office) -> None:
    """A quotation in a form that nobody knows: what the packet says of the customer is for staff."""
    first, _ = office.handle(write(HUMAN, sender=JAMES))
    packet = office.sent(first)[PACKET]
    copied = "\r\n".join(["We look at it.", "", "The packet was:", *text_of(packet).split("\n")])
    reply, _ = office.handle(write(copied, sender=DESK, in_reply_to=packet.message_id))
    passed_on = text_of(office.sent(reply)[PERSON_REPLY])
    assert passed_on.startswith("We look at it.")
    assert "dmarc=pass" in text_of(packet)
    assert "dmarc=pass" not in passed_on


def test_packet_that_still_stands_in_a_reply_stays_in_the_house(office: Office) -> None:
    """A client that puts all on one line: nothing goes to the customer, and who wrote it is told what to do."""
    first, _ = office.handle(write(HUMAN, sender=JAMES))
    packet = office.sent(first)[PACKET]
    copied = f"We look at it. {' '.join(text_of(packet).split())}"
    reply, _ = office.handle(write(copied, sender=DESK, in_reply_to=packet.message_id))
    assert set(office.sent(reply)) == {FAILURE}
    why = "your reply still quotes the packet: answer above it or delete the quotation"
    assert reason_told(office, reply, FAILURE) == ("not_passed_on", why)


def test_letter_that_lowers_to_another_makes_no_customer(office: Office) -> None:
    """`str.lower` makes a "k" of the KELVIN SIGN: anna.keller's account is not told to whoever has that address."""
    mail_id = office.receive(write(SEATS, sender="anna.\u212aeller@example.net"))
    assert office.stages.identify(office.stages.parse(mail_id)).level == PROVEN


def test_differing_reply_to_gets_nothing_private(office: Office) -> None:
    """RFC 3834, section 4: mail goes to From alone; and no account value is told to a mail that asks elsewhere."""
    mail_id, outcome = office.handle(b"Reply-To: eve@elsewhere.example\r\n" + write(SEATS, sender=JAMES))
    assert (outcome, reason_told(office, mail_id)[0]) == ("escalated", "level")
    assert {row.recipient for row in office.sent(mail_id).values()} == {DESK, JAMES}


@pytest.mark.parametrize("kind", [ANSWER, PACKET])
def test_worker_that_was_overtaken_before_it_decided_adds_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch, kind: OutgoingKind
) -> None:
    """Failure: two workers had looked into the outbox before either wrote; the customer got an answer, and a person."""
    raw = write(REFUND if kind is ANSWER else HUMAN)
    method = "answer" if kind is ANSWER else "packet"
    queue: Callable[..., bool] = getattr(OutboundQueue, method)

    def overtaken(self: OutboundQueue, mail: RoutedMail, *arguments: Any, **options: Any) -> bool:
        monkeypatch.undo()
        decision = failed(TransientError("the database was away"), office.clock())
        self.packet(mail, decision, is_acknowledged=False)
        return queue(self, mail, *arguments, **options)

    monkeypatch.setattr(OutboundQueue, method, overtaken)
    mail_id, outcome = office.handle(raw)
    assert outcome == "escalated"
    assert set(office.sent(mail_id)) == {PACKET}


def test_answer_that_is_committed_though_the_step_failed_is_not_escalated(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection was lost at the commit, and the database was away for all further tries of the step."""
    queue = OutboundQueue.answer

    def lost(self: OutboundQueue, *given: Any) -> bool:
        queue(self, *given)
        raise PermanentError("the database did not answer")

    monkeypatch.setattr(OutboundQueue, "answer", lost)
    mail_id, outcome = office.handle(write(REFUND))
    assert outcome == "answered"
    assert set(office.sent(mail_id)) == {ANSWER}
