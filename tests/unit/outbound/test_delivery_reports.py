"""S62, S64: what a bounce or a delivery report makes of a mail of ours, and how it names it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import SecretStr

from support_agent.errors import Postponed
from support_agent.mail.keys import bounce_address, envelope_id, named_id
from support_agent.outbound.outbox_choices import OutboxChoice, apply_choice
from support_agent.pipeline import handle
from support_agent.store.records import MailStatus, OutboxRecord, OutboxStatus
from tests.fakes_journey import DESK, JAMES, NOON, Clock, Office, once, write
from tests.unit.reporting import (
    FAILED,
    FAILURE,
    NAMES,
    OFF_TOPIC,
    PACKET,
    READY,
    SENT,
    VICTIM,
    Naming,
    again,
    answered,
    naming,
    report,
)


@pytest.mark.parametrize("how", NAMES)
def test_s64_a_bounce_that_names_our_mail_makes_it_a_persons(office: Office, how: str) -> None:
    """S64: by ENVID, by VERP, by the attached Message-ID; the desk hears, the address is left alone for 60 days."""
    record = answered(office)
    bounce_id, outcome = office.handle(report(**naming(record, how)))
    assert (outcome, again(office, record).status) == ("filed", FAILED)
    suppression = office.store.suppressions.of(JAMES, office.clock())
    assert suppression is not None
    assert (suppression.until - suppression.since).days == 60
    office.stages.notices.notify_losses()
    told = office.store.outbox.rendered_mail(record.mail_id, FAILURE)
    assert told is not None
    assert told.payload["reason_code"] == "undelivered"
    mail, bounce = office.store.mails.get(record.mail_id), office.store.mails.get(bounce_id)
    assert mail is not None
    assert bounce is not None
    assert (mail.status, bounce.status, bounce.case_id) == (MailStatus.ESCALATED, MailStatus.FILED, record.case_id)


def answer_by_machine(record: OutboxRecord, text: str, *marks: str, subject: str = "Re: A question") -> bytes:
    """What a responder of James's server writes to our answer (RFC 3834): no return path, and it names our mail."""
    lines = ["Return-Path: <>", f"From: <{JAMES}>", "To: support@harborfile.example", f"Subject: {subject}", *marks]
    lines += [f"In-Reply-To: {record.message_id}", "Message-ID: <away@example.org>", "", text, ""]
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize("marks", [("Auto-Submitted: auto-replied",), ("X-Autoreply: yes",), ()])
@pytest.mark.parametrize(
    "text",
    [
        "I am on leave until Monday. Your message will not be forwarded.",
        "I am on leave.\r\n\r\nOn Tue, 10 Mar 2026 at 9:00 Support wrote:\r\n> If it says 'user not found', wait.",
        "James no longer works here. This address does not exist any more, 5.1.1 is what you will see.",
        "Thanks, we have it. If your mailbox is full our answer cannot be delivered.",
    ],
)
def test_s2_a_vacation_notice_is_no_bounce_of_what_it_answers(
    office: Office, text: str, marks: tuple[str, ...]
) -> None:
    """Failure: the words in a notice, or in what it quoted of us, made our answer fail and silenced the customer."""
    record = answered(office)
    _, outcome = office.handle(answer_by_machine(record, text, *marks))
    assert (outcome, again(office, record)) == ("filed", record)
    assert office.store.suppressions.all(office.clock()) == ()


def bounce_in_words(record: OutboxRecord, *, returned: bool) -> bytes:
    """What a server without any mark of a bounce writes; it says which mail it is by returning it, or only answers."""
    lines = ["From: Delivery Service <transport@mx.example.org>", "To: support@harborfile.example"]
    lines += ["Subject: Undeliverable: Your question", "Message-ID: <words@mx.example.org>"]
    lines += [f"In-Reply-To: {record.message_id}", "", f"It could not be delivered to:\r\n\r\n{JAMES}\r\n"]
    lines += ["550 5.1.1 user unknown", ""]
    lines += ["--- Below is a copy of the message ---", f"Message-ID: {record.message_id}", ""] if returned else []
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize("returned", [True, False])
def test_s64_a_bounce_that_only_reads_like_one_counts_where_it_returns_our_mail(office: Office, returned: bool) -> None:
    """It goes to a person all the same; what it answers to proves nothing, for customers answer our mails."""
    record = answered(office)
    mail_id, outcome = office.handle(bounce_in_words(record, returned=returned))
    assert (outcome, again(office, record).status) == ("escalated", FAILED if returned else SENT)
    assert (office.store.suppressions.of(JAMES, office.clock()) is not None) is returned
    told = office.store.outbox.rendered_mail(mail_id, PACKET)
    assert told is not None
    assert (f"about {record.id}: bounced" in str(told.payload["why"])) is returned


@pytest.mark.parametrize(
    ("how", "recipient", "suppressed"),
    [
        *((how, VICTIM, []) for how in NAMES),
        ("returned", "", []),
        ("envelope", "", [JAMES]),
        ("verp", "", [JAMES]),
        ("returned", JAMES.replace("example.org", "EXAMPLE.org"), [JAMES]),
    ],
)
def test_s64_a_bounce_suppresses_whom_we_wrote_to_where_it_says_so(
    office: Office, how: str, recipient: str, suppressed: list[str]
) -> None:
    """Failure: a hostile or misdirected bounce names another address, and James gets no answers any more."""
    record = answered(office)
    office.handle(report(**naming(record, how), recipient=recipient))
    assert again(office, record).status is FAILED
    assert [entry.address for entry in office.store.suppressions.all(office.clock())] == suppressed


@pytest.mark.parametrize(
    ("words", "returned", "suppressed"),
    [
        (f"It could not reach {JAMES}.", "", [JAMES]),
        (f"It could not reach {VICTIM}.", f"To: {JAMES}", []),
        ("It could not be delivered. Write to helpdesk@example.org.", f"To: {JAMES}", []),
        ("It could not be delivered.", f"To: {JAMES}", [JAMES]),
        ("It could not be delivered.", f"To: {JAMES}\r\nList-Id: <friends.example.org>", []),
        ("It could not be delivered.", "", []),
    ],
)
def test_s64_a_bounce_in_words_suppresses_whom_we_wrote_to_where_it_names_that_address(
    office: Office, words: str, returned: str, suppressed: list[str]
) -> None:
    """Mail that James has forwarded may bounce to us, too: then the words name another address, and James has failed
    nothing. Where they name nobody, the returned mail must have had James as its only recipient."""
    record = answered(office)
    lines = ["Return-Path: <>", "From: MAILER-DAEMON@mx.example.org", "To: support@harborfile.example"]
    lines += ["Subject: failure notice", "Message-ID: <words@mx.example.org>", ""]
    lines += [words, "550 5.1.1 user unknown", ""]
    lines += ["--- Below is a copy of the message ---", f"Message-ID: {record.message_id}", returned, "", "Hello"]
    _, outcome = office.handle("\r\n".join(lines).encode())
    assert (outcome, again(office, record).status) == ("filed", FAILED)
    assert [entry.address for entry in office.store.suppressions.all(office.clock())] == suppressed


@pytest.mark.parametrize(
    "names",
    [
        {"returned": "<sa.000000000000000000000000.00000000000000000000000000000000@harborfile.example>"},
        {"envelope": "sa.000000000000000000000000.00000000000000000000000000000000"},
        {"to": f"support+b-{'0' * 40}@harborfile.example"},
        {},
    ],
)
def test_s64_a_bounce_that_matches_no_mail_of_ours_is_ignored(office: Office, names: Naming) -> None:
    record = answered(office)
    bounce_id, outcome = office.handle(report(**names))
    assert (outcome, again(office, record)) == ("filed", record)
    assert office.store.suppressions.all(office.clock()) == ()
    bounce = office.store.mails.get(bounce_id)
    assert bounce is not None
    assert bounce.case_id is None


@pytest.mark.parametrize(
    ("action", "status", "before", "after", "is_suppressed"),
    [
        ("failed", "5.1.1", "sent", FAILED, True),
        ("failed", "5.1.10", "uncertain", FAILED, True),
        ("failed", "5.1.8", "sent", FAILED, False),
        ("failed", "5.2.2", "sent", FAILED, False),
        ("failed", "4.4.7", "uncertain", FAILED, False),
        ("delayed", "4.4.1", "sent", SENT, False),
        ("delayed", "4.4.1", "uncertain", SENT, False),
        ("delivered", "2.0.0", "uncertain", SENT, False),
        ("relayed", "2.0.0", "uncertain", SENT, False),
        ("delivered", "2.0.0", "failed", FAILED, False),
        ("delivered", "2.0.0", "retry", SENT, False),
        ("delayed", "4.4.1", "retry", SENT, False),
        ("failed", "5.1.1", "retry", FAILED, True),
    ],
)
def test_s62_s64_what_a_report_says_of_a_mail(
    office: Office, action: str, status: str, before: str, after: OutboxStatus, is_suppressed: bool
) -> None:
    """S62: a server that reports has had the mail. S64: only 5.1.z of the recipient suppresses the address."""
    record = answered(office, before)
    office.handle(report(action=action, status=status, envelope=envelope_id(record.message_id)))
    assert again(office, record).status is after
    assert (office.store.suppressions.of(JAMES, office.clock()) is not None) is is_suppressed


@pytest.mark.parametrize("how", NAMES)
def test_s62_an_uncertain_mail_is_settled_however_the_report_names_it(office: Office, how: str) -> None:
    record = answered(office, "uncertain")
    office.handle(report(action="delivered", status="2.0.0", **naming(record, how)))
    assert again(office, record).status is SENT


def test_s62_a_mail_that_was_delivered_though_the_server_put_it_off_goes_out_once(office: Office) -> None:
    """Failure: 451 after the final dot of a server that delivered all the same, and the customer had it twice."""
    record = answered(office, "retry")
    office.handle(report(action="delivered", status="2.0.0", envelope=envelope_id(record.message_id)))
    office.clock = Clock(NOON + timedelta(days=1))
    office.stages.send(record.mail_id)
    assert [recipient for recipient, _ in office.transport.given] == [JAMES]


def test_s62_a_report_of_an_earlier_try_does_not_undo_a_persons_new_one(office: Office) -> None:
    """Who sends it again has decided so; until it is tried, what is reported is what that person knows."""
    record = answered(office, "uncertain")
    apply_choice(office.store, record.id, OutboxChoice.RETRY, office.clock())
    office.handle(report(action="delivered", status="2.0.0", envelope=envelope_id(record.message_id)))
    assert again(office, record).status is READY


def test_s64_a_loss_that_a_bounce_makes_certain_is_told_again(office: Office) -> None:
    """Failure: the desk read `uncertain`, hoped, and never heard that it bounced."""
    record = answered(office, "uncertain")
    for number in (1, 2):
        office.handle(report(envelope=envelope_id(record.message_id), number=number))
        office.stages.notices.notify_losses()
    told = [office.store.outbox.rendered_mail(record.mail_id, FAILURE, number) for number in (1, 2, 3)]
    whys = [str(record.payload["why"]).split(" is ")[1].split(":")[0] for record in told if record is not None]
    assert whys == ["uncertain", "failed"]


def test_s64_a_bounce_read_twice_changes_nothing_more(office: Office) -> None:
    record = answered(office)
    for number in (1, 2):
        office.handle(report(envelope=envelope_id(record.message_id), number=number))
    assert len(office.store.deliveries.of(record.id)) == 1


def test_s64_a_bounce_of_the_desks_mail_never_suppresses_the_desk(office: Office) -> None:
    """Failure: the desk is away for a day and hears nothing for 60."""
    mail_id, _ = office.handle(write(OFF_TOPIC, sender=JAMES))
    packet = office.sent(mail_id)[PACKET]
    office.handle(report(envelope=envelope_id(packet.message_id), recipient=DESK))
    assert again(office, packet).status is FAILED
    assert office.store.suppressions.all(office.clock()) == ()


def test_a_bounce_of_a_mail_that_is_being_sent_is_read_again(office: Office) -> None:
    """The server was quicker than its own reply to us; nothing is lost of it."""
    record = answered(office, "retry")
    assert office.store.outbox.claim(record.id, NOON + timedelta(days=1))
    bounce_id = office.receive(report(envelope=envelope_id(record.message_id)))
    bounce = office.stages.parse(bounce_id)
    screening = office.stages.screen(bounce)
    with pytest.raises(Postponed, match="being sent"):
        office.stages.file(bounce, screening)


@pytest.mark.parametrize("is_marked", [True, False])
def test_s64_a_bounce_of_a_mail_that_is_being_sent_waits_and_is_begun_anew(office: Office, is_marked: bool) -> None:
    """Failure: its journey failed, nobody read it, and the customer's mail counted as sent."""
    record = answered(office, "retry")
    assert office.store.outbox.claim(record.id, NOON + timedelta(days=1))
    bounce_id, outcome = office.handle(
        report(envelope=envelope_id(record.message_id)) if is_marked else bounce_in_words(record, returned=True)
    )
    bounce = office.store.mails.get(bounce_id)
    assert bounce is not None
    assert (outcome, bounce.status, office.sent(bounce_id)) == ("held", MailStatus.NEW, {})
    office.store.outbox.mark_sent(record.id, "250 ok", office.clock(), by="")
    assert handle(bounce_id, once(), office.stages) == ("filed" if is_marked else "escalated")
    assert again(office, record).status is FAILED


def test_s64_verp_gives_each_mail_an_envelope_sender_of_its_own(office: Office) -> None:
    """Off by default: it needs a mailbox that takes such addresses."""
    assert answered(office).envelope_from == "support@harborfile.example"
    smtp = office.settings.smtp.model_copy(update={"verp": True})
    verp = replace(office, settings=office.settings.model_copy(update={"smtp": smtp}))
    mail_id, _ = verp.handle(write("Can I get a refund now?", sender=JAMES, number=2))
    row = next(iter(verp.sent(mail_id).values()))
    secret = office.settings.agent.secret
    assert row.envelope_from.startswith("support+b-")
    assert len(row.envelope_from.partition("@")[0]) <= 64
    assert named_id((secret,), "harborfile.example", row.envelope_from) == row.message_id


def test_ids_of_other_keys_and_broken_ones_name_nothing(office: Office) -> None:
    record = answered(office)
    other = SecretStr("another key of thirty-two characters")
    for text in (record.message_id, envelope_id(record.message_id), bounce_address("a@b.example", record.message_id)):
        assert named_id(office.settings.agent.secrets, "harborfile.example", text) == record.message_id
        assert named_id((other,), "harborfile.example", text) is None
    assert envelope_id("<someone@else.example>") == ""
    assert bounce_address("a@b.example", "<someone@else.example>") == "a@b.example"
    assert bounce_address(f"{'a' * 40}@b.example", record.message_id) == f"{'a' * 40}@b.example"
