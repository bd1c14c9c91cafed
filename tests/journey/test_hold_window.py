"""The hold window: an automatic answer waits a while, and a person can undo it until it leaves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from support_agent.core.modes import Mode
from support_agent.errors import PermanentError
from support_agent.outbound.delivery_status import Choice
from support_agent.store.desk_records import ModeSource
from support_agent.store.records import CaseState, MailStatus, OutboxStatus
from support_agent.workflow.approval import THE_OPERATOR, choose
from tests.fakes_journey import DESK, JAMES, Clock, Office, with_autonomy, write
from tests.fakes_worker import FakeMailbox, Shift
from tests.unit.seen import ANSWER, FAILURE, PACKET, REFUND, TWO, one, reason_told, state, text_of

HOLD_S = 600.0


@pytest.fixture
def holding(office: Office) -> Office:
    """An office whose answers wait ten minutes."""
    return with_autonomy(office, hold_s=HOLD_S)


def later(office: Office, seconds: float) -> Office:
    office.clock = Clock(office.clock() + timedelta(seconds=seconds))
    return office


def work(office: Office) -> list[str]:
    """One round of the worker; who has got mail by now."""
    Shift(office, FakeMailbox([])).work()
    return [recipient for recipient, _ in office.transport.given]


def undo(office: Office, outbox_id: str) -> None:
    """`support-agent outbox undo`."""
    choose(office.store, office.settings, outbox_id, Choice.UNDO, office.clock)


def test_an_answer_leaves_when_its_time_has_come_and_not_before(holding: Office) -> None:
    mail_id, outcome = holding.handle(write(REFUND, sender=JAMES))
    assert (outcome, work(holding)) == ("answered", [])
    row = holding.sent(mail_id)[ANSWER]
    assert row.next_try_at - row.created_at == timedelta(seconds=HOLD_S)
    assert work(later(holding, HOLD_S - 60)) == []
    assert work(later(holding, 61)) == [JAMES]


def test_a_longer_window_than_the_longest_retry_is_kept(office: Office) -> None:
    """Retry times that lie impossibly far ahead are reset; a hold is not one of them."""
    office = with_autonomy(office, hold_s=86_400)
    office.handle(write(REFUND, sender=JAMES))
    assert work(later(office, 43_200)) == []


def test_without_a_window_an_answer_leaves_at_once(office: Office) -> None:
    office.handle(write(REFUND, sender=JAMES))
    assert [recipient for recipient, _ in office.transport.given] == [JAMES]


def test_an_answer_undone_in_the_window_never_leaves_and_a_person_has_the_case(holding: Office) -> None:
    """The desk hears it once, with what was undone; the item is corrected."""
    mail_id, _ = holding.handle(write(REFUND, sender=JAMES))
    undo(holding, holding.sent(mail_id)[ANSWER].id)
    for _ in range(2):
        assert work(later(holding, HOLD_S)) == [DESK]
    sent = holding.sent(mail_id)
    assert (sent[ANSWER].status, sent[ANSWER].attempts) == (OutboxStatus.CANCELLED, 0)
    code, why = reason_told(holding, mail_id, FAILURE)
    assert (code, "is cancelled: undone, by the operator" in str(why)) == ("undone", True)
    assert "undone before it left" in text_of(sent[FAILURE])
    assert (one(holding, mail_id).status, one(holding, mail_id).reason_code) == (MailStatus.ESCALATED, "undone")
    assert state(holding, mail_id) is CaseState.WITH_PERSON
    (item,) = holding.stages.autonomy.modes(("document:1",))
    assert (item.mode, "corrected" in item.why) == (Mode.APPROVE, True)


def test_undoing_twice_is_once(holding: Office) -> None:
    mail_id, _ = holding.handle(write(REFUND, sender=JAMES))
    for _ in range(2):
        undo(holding, holding.sent(mail_id)[ANSWER].id)
        assert work(later(holding, HOLD_S)) == [DESK]
    assert len(holding.store.modes.history()) == 1


def test_what_has_left_cannot_be_undone(holding: Office) -> None:
    mail_id, _ = holding.handle(write(REFUND, sender=JAMES))
    work(later(holding, HOLD_S + 1))
    with pytest.raises(PermanentError, match="cannot be called back"):
        undo(holding, holding.sent(mail_id)[ANSWER].id)
    assert holding.store.labels.valid() == ()


def test_only_answers_are_undone(holding: Office) -> None:
    """A packet that the desk never got would lose a case."""
    mail_id, _ = holding.handle(write(TWO, sender=JAMES))
    with pytest.raises(PermanentError, match="only answers are undone"):
        undo(holding, holding.sent(mail_id)[PACKET].id)


def test_the_packet_of_a_partial_answer_does_not_wait(holding: Office) -> None:
    """A person can begin with the rest."""
    holding.handle(write(TWO, sender=JAMES))
    assert work(holding) == [DESK]
    assert work(later(holding, HOLD_S)) == [DESK, JAMES]


def test_an_undone_proposal_is_told_to_the_desk(office: Office) -> None:
    """The operator withdrew what the desk may be reading."""
    office = with_autonomy(office, start=Mode.APPROVE)
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    undo(office, office.sent(mail_id)[ANSWER].id)
    work(office)
    assert reason_told(office, mail_id, FAILURE)[0] == "undone"


@pytest.mark.parametrize("mode", [Mode.OFF, Mode.SHADOW, Mode.APPROVE])
def test_an_answer_whose_item_loses_auto_in_the_window_does_not_leave(holding: Office, mode: Mode) -> None:
    """A correction of another mail, or a person's word, holds for what has not left; the desk is told why."""
    mail_id, _ = holding.handle(write(REFUND, sender=JAMES))
    holding.store.modes.change("document:1", mode, ModeSource.BY_HAND, "the operator", "a test", holding.clock())
    for _ in range(2):
        assert work(later(holding, HOLD_S)) == [DESK]
    assert holding.sent(mail_id)[ANSWER].status is OutboxStatus.CANCELLED
    assert f"document:1 is {mode.value}" in str(reason_told(holding, mail_id, FAILURE)[1])
    assert state(holding, mail_id) is CaseState.WITH_PERSON


def test_an_answer_whose_document_expires_in_the_window_does_not_leave(holding: Office) -> None:
    mail_id, _ = holding.handle(write(REFUND, sender=JAMES))
    holding = with_document(holding, 1, valid_until=holding.clock().date())
    assert work(later(holding, 2 * 86_400)) == [DESK]
    assert "document 1 is not valid any more" in str(reason_told(holding, mail_id, FAILURE)[1])


def test_what_a_person_approved_leaves_whatever_the_mode_is(office: Office) -> None:
    """A person saw exactly this."""
    office = with_autonomy(office, start=Mode.APPROVE)
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    choose(office.store, office.settings, office.sent(mail_id)[ANSWER].id, Choice.APPROVE, office.clock)
    office.store.modes.change("document:1", Mode.OFF, ModeSource.BY_HAND, "the operator", "a test", office.clock())
    assert JAMES in work(office)


def test_a_document_that_has_expired_is_not_approved(office: Office) -> None:
    """The proposal waited too long."""
    office = with_autonomy(office, start=Mode.APPROVE)
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    office = with_document(office, 1, valid_until=office.clock().date())
    later(office, 2 * 86_400)
    stages = office.stages
    with pytest.raises(PermanentError, match="document 1 is not valid any more"):
        stages.desk.approval.of(office.sent(mail_id)[ANSWER].id, THE_OPERATOR)


def with_document(office: Office, number: int, **head: object) -> Office:
    """The same office, where the document's front matter says otherwise and its version is the same."""
    company = office.decider.company
    documents = tuple(
        document.model_copy(update={"head": document.head.model_copy(update=head)})
        if document.number == number
        else document
        for document in company.documents
    )
    return replace(office, decider=replace(office.decider, company=replace(company, documents=documents)))
