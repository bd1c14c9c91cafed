"""The journey of a mail that the fitted vote takes for a machine's: to a person, and nothing to its writer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support_agent.mail.machines.machine_vote import MACHINE_RULE, MAYBE_MACHINE_RULE
from support_agent.ops.explain import timeline
from support_agent.store.records import MailStatus, OutgoingKind
from tests.fakes_journey import ANNA, DESK, NOON, Office, write
from tests.unit.mail.machines.test_machine_vote import vote
from tests.unit.seen import text_of

CANCEL = "How do I cancel?"


def judging(office: Office, score: float) -> Office:
    """The same office, with a vote that gives every mail this score."""
    return replace(office, decider=replace(office.decider, machine=vote(score)))


@pytest.mark.parametrize(("score", "rule"), [(3.0, MACHINE_RULE), (0.5, MAYBE_MACHINE_RULE)])
def test_a_machines_mail_is_never_answered_and_never_lost(office: Office, score: float, rule: str) -> None:
    """Rule: a packet to the desk with the reason, no answer and no acknowledgement: a machine may answer those."""
    office = judging(office, score)
    mail_id, _ = office.handle(write(CANCEL, sender=ANNA))
    mail = office.store.mails.get(mail_id)
    assert mail is not None
    assert (mail.status, mail.screening_rule, mail.reason_code) == (MailStatus.ESCALATED, rule, "screening")
    assert mail.why is not None
    assert "by the fitted vote test-1" in mail.why
    assert [record.kind for record in office.store.outbox.find(mail_id=mail_id)] == [OutgoingKind.PACKET]
    assert mail.case_id is not None
    assert "by the fitted vote test-1" in timeline(office.store, mail.case_id).model_dump_json()


def test_a_packet_names_no_vote(office: Office) -> None:
    """Failure: the desk read "0.95 by the fitted vote e5-5af0c2d1", which only the operator understands."""
    office = judging(office, 3.0)
    mail_id, _ = office.handle(write(CANCEL, sender=ANNA))
    packet = text_of(office.sent(mail_id)[OutgoingKind.PACKET])
    assert "[screening] machine: the mail's wording looks like a machine's: 0.95\n" in packet
    assert "vote" not in packet


def test_a_persons_mail_is_answered_beside_the_vote(office: Office) -> None:
    office = judging(office, -3.0)
    mail_id, _ = office.handle(write(CANCEL, sender=ANNA))
    mail = office.store.mails.get(mail_id)
    assert mail is not None
    assert mail.status is MailStatus.ANSWERED


def test_a_trial_says_what_the_vote_says(office: Office) -> None:
    office = judging(office, 3.0)
    done = office.dry_run.try_mail("m.eml", write(CANCEL), NOON)
    assert (done.line.outcome, done.line.reason, done.screening.rule) == ("escalate", "screening", MACHINE_RULE)
    assert done.line.answer is None


def test_a_staff_reply_is_not_voted_on(office: Office) -> None:
    """Rule: people of the company write like the machines of one; the rules about wording still hold for them."""
    asked, _ = office.handle(write("I want to talk to a human.", sender=ANNA))
    packet = office.sent(asked)[OutgoingKind.PACKET].message_id
    office = judging(office, 3.0)
    reply, _ = office.handle(write("We look at it.", sender=DESK, in_reply_to=packet, number=2))
    assert set(office.sent(reply)) == {OutgoingKind.PERSON_REPLY}
