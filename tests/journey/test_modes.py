"""A mail's journey in each mode: what leaves, what the desk is shown, and what a person's word does."""

from __future__ import annotations

import pytest

from support_agent.cli.case_printing import why as printed_why
from support_agent.cli.printing import outbox as outbox_table
from support_agent.core.modes import Mode
from support_agent.ops.explain import timeline, why
from support_agent.ops.replay import chosen, replay
from support_agent.outbound.outbox_choices import OutboxChoice, apply_choice, entries
from support_agent.store.desk_records import ModeSource
from support_agent.store.records import CaseState, MailId, MailStatus, OutboxStatus
from tests.fakes_journey import DESK, JAMES, Office, twice, with_autonomy, write
from tests.fakes_worker import FakeMailbox, Shift
from tests.unit.seen import (
    ACKNOWLEDGEMENT,
    ANSWER,
    CANCEL,
    PACKET,
    REFUND,
    SEATS,
    TWO,
    one,
    reason_told,
    state,
    text_of,
)

PROPOSING = (Mode.SHADOW, Mode.APPROVE)


def in_mode(office: Office, mode: Mode, text: str = REFUND) -> tuple[Office, MailId]:
    """A mail of James's that was handled where everything starts in this mode."""
    office = with_autonomy(office, start=mode)
    return office, office.handle(write(text, sender=JAMES))[0]


def set_mode(office: Office, key: str, mode: Mode) -> None:
    office.store.modes.change(key, mode, ModeSource.BY_HAND, "the operator", "a test", office.clock())


@pytest.mark.parametrize("mode", PROPOSING)
def test_an_answer_that_may_not_leave_by_itself_is_shown_to_the_desk_and_not_sent(office: Office, mode: Mode) -> None:
    """As it would arrive, with its subject; the customer hears that a person has the case."""
    office, mail_id = in_mode(office, mode)
    sent = office.sent(mail_id)
    assert {kind: row.status for kind, row in sent.items()} == {
        ANSWER: OutboxStatus.PROPOSED,
        PACKET: OutboxStatus.SENT,
        ACKNOWLEDGEMENT: OutboxStatus.SENT,
    }
    assert [recipient for recipient, _ in office.transport.given] == [DESK, JAMES]
    packet = text_of(sent[PACKET])
    assert "| Subject: Re: A question" in packet
    for line in filter(None, text_of(sent[ANSWER]).splitlines()):
        assert f"| {line}" in packet
    assert sent[ANSWER].id in packet
    assert reason_told(office, mail_id)[0] == mode.value
    assert (one(office, mail_id).status, one(office, mail_id).reason_code) == (MailStatus.ESCALATED, mode.value)
    assert state(office, mail_id) is CaseState.WITH_PERSON


def test_what_is_off_goes_to_a_person_without_a_proposal(office: Office) -> None:
    office, mail_id = in_mode(office, Mode.OFF)
    assert set(office.sent(mail_id)) == {PACKET, ACKNOWLEDGEMENT}
    assert reason_told(office, mail_id) == ("off", "document:1 is in mode off (set by autonomy.start)")
    assert "NOT SENT" not in text_of(office.sent(mail_id)[PACKET])


def test_an_item_has_its_own_mode_whatever_the_others_have(office: Office) -> None:
    """In an office where all is automatic one document waits for a person; the next mail is answered."""
    set_mode(office, "document:1", Mode.APPROVE)
    refund, _ = office.handle(write(REFUND, sender=JAMES))
    cancel, _ = office.handle(write(CANCEL, sender=JAMES, number=2))
    assert office.sent(refund)[ANSWER].status is OutboxStatus.PROPOSED
    assert office.sent(cancel)[ANSWER].status is OutboxStatus.SENT


def test_a_mail_waits_for_its_strictest_item(office: Office) -> None:
    set_mode(office, "document:1", Mode.SHADOW)
    mail_id, _ = office.handle(write(f"1. {SEATS}\r\n2. Can I get a refund?", sender=JAMES))
    assert office.sent(mail_id)[ANSWER].status is OutboxStatus.PROPOSED
    assert reason_told(office, mail_id) == ("shadow", "document:1 is in mode shadow (by hand, the operator: a test)")


def test_a_partial_proposal_says_that_a_part_is_open(office: Office) -> None:
    office, mail_id = in_mode(office, Mode.APPROVE, TWO)
    code, told = reason_told(office, mail_id)
    assert (code, str(told).rpartition("; ")[2]) == ("approve", "a part is open: not_covered")
    assert [row.kind for row in office.store.outbox.find(mail_id=mail_id)].count(PACKET) == 1


@pytest.mark.parametrize("mode", PROPOSING)
def test_a_proposal_that_runs_twice_is_one(office: Office, mode: Mode) -> None:
    """A process that dies between its work and the record."""
    office = with_autonomy(office, start=mode)
    mail_id, outcome = office.handle(write(REFUND, sender=JAMES), twice())
    rows = office.store.outbox.find(mail_id=mail_id)
    assert (outcome, len(rows), len(office.transport.given)) == ("escalated", 3, 2)


def test_no_sender_takes_a_proposal(office: Office) -> None:
    """Not the journey, not the worker's round, not after a restart."""
    office, mail_id = in_mode(office, Mode.APPROVE)
    proposed = office.sent(mail_id)[ANSWER]
    assert office.stages.outbox_sender.deliver(proposed).value == "claimed"
    Shift(office, FakeMailbox([])).work()
    assert office.store.outbox.get(proposed.id) == proposed
    assert [row.outbox_id for row in entries(office.store, office.clock())] == [proposed.id]
    assert "proposed" in outbox_table(entries(office.store, office.clock()))


def test_an_approved_answer_is_sent_once_with_the_bytes_that_were_shown(office: Office) -> None:
    """The promise holds for it: it renders again to the same bytes, and each line has its source."""
    office, mail_id = in_mode(office, Mode.APPROVE)
    proposed = office.sent(mail_id)[ANSWER]
    apply_choice(office.store, proposed.id, OutboxChoice.APPROVE, office.clock())
    for _ in range(2):
        Shift(office, FakeMailbox([])).work()
    assert office.transport.given[2:] == [(JAMES, proposed.raw)]
    sent = office.sent(mail_id)[ANSWER]
    assert (sent.status, sent.raw, sent.attempts) == (OutboxStatus.SENT, proposed.raw, 1)
    case_id = str(sent.case_id)
    assert all(entry.is_identical for entry in replay(office.store, chosen(office.store, case=case_id)))
    answer = next(mail for mail in why(office.store, case_id) if mail.kind is ANSWER)
    assert "not sent" not in printed_why([answer])
    assert all(part.what for line in answer.lines for part in line.sources)
    (told,) = [mail for mail in timeline(office.store, case_id).mails[0].sent if mail.record.kind is ANSWER]
    assert [(entry.before, entry.after) for entry in told.delivery_updates] == [
        (OutboxStatus.PROPOSED, OutboxStatus.READY)
    ]


def test_an_answer_that_waits_is_explained_and_replayed_and_said_to_be_unsent(office: Office) -> None:
    office, mail_id = in_mode(office, Mode.SHADOW)
    case_id = str(office.sent(mail_id)[ANSWER].case_id)
    mails = why(office.store, case_id)
    assert {mail.kind: mail.status for mail in mails}[ANSWER] is OutboxStatus.PROPOSED
    assert "  proposed, not sent" in printed_why(mails)
    assert all(entry.is_identical for entry in replay(office.store, chosen(office.store, case=case_id)))


def test_a_proposal_is_no_answer_that_was_given_before(office: Office) -> None:
    """Asked again in another case, the same is proposed again; after it was sent, a person hears that it was."""
    office, first = in_mode(office, Mode.APPROVE)
    second, _ = office.handle(write(REFUND, sender=JAMES, number=2))
    assert office.sent(second)[ANSWER].status is OutboxStatus.PROPOSED
    apply_choice(office.store, office.sent(first)[ANSWER].id, OutboxChoice.APPROVE, office.clock())
    Shift(office, FakeMailbox([])).work()
    third, _ = office.handle(write(REFUND, sender=JAMES, number=3))
    assert (ANSWER in office.sent(third), one(office, third).reason_code) == (False, "repeated")


def test_a_dry_run_shows_the_answer_and_the_mode_in_which_it_would_leave(office: Office) -> None:
    for mode in Mode:
        tried = with_autonomy(office, start=mode).dry_run.try_mail("m.eml", write(REFUND, sender=JAMES), office.clock())
        is_answer = mode is not Mode.OFF
        assert (tried.line.outcome, tried.line.mode) == ("answer" if is_answer else "escalate", mode)
        assert (tried.line.answer is not None) is is_answer
    assert office.dry_run.try_mail("m.eml", write("Is it warm?"), office.clock()).line.mode is None
