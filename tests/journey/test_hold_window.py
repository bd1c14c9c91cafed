"""The hold window: an automatic answer waits a while, and a person can undo it until it leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from support_agent.core.modes import Mode
from support_agent.engine.steps import Steps
from support_agent.errors import PermanentError
from support_agent.ops.replay import replay
from support_agent.outbound.outbox_choices import OutboxChoice
from support_agent.store.desk_records import LabelOutcome, LabelSource, ModeSource
from support_agent.store.records import CaseState, MailStatus, OutboxStatus, OutgoingKind
from support_agent.workflow.approval import THE_OPERATOR, choose
from tests.fakes_desk import held_in, lines_of, order, status_of, told
from tests.fakes_journey import DESK, JAMES, NOON, Clock, Office, once, twice, with_autonomy, write
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
    choose(office.store, office.settings, outbox_id, OutboxChoice.UNDO, office.clock)


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


def test_the_desk_gets_what_waits_only_if_it_is_set(holding: Office) -> None:
    holding.handle(write(REFUND, sender=JAMES))
    assert holding.store.outbox.find(kind=OutgoingKind.HELD) == ()


def test_the_desk_gets_what_waits_with_the_one_command_that_undoes_it(office: Office) -> None:
    """At once, as it would arrive; the case stays the machine's, and nobody is reminded of it."""
    given = held_in(office)
    (notice,) = office.store.outbox.find(kind=OutgoingKind.HELD)
    assert (notice.recipient, notice.status, set(given.lines)) == (DESK, OutboxStatus.SENT, {"undo"})
    text = text_of(notice)
    assert text.startswith("An answer leaves by itself at ")
    assert "unless somebody undoes it. [held] in 600 seconds, by autonomy.hold_s" in text
    assert "HOW TO REPLY" not in text
    for line in text_of(given.answer).splitlines():
        assert f"| {line}".rstrip() in text.splitlines()
    assert (state(office, given.mail_id), one(office, given.mail_id).reason_code) == (CaseState.OPEN, None)
    assert office.store.waits.cases(NOON - timedelta(days=1)) == ()
    assert work(later(office, HOLD_S + 1)) == [DESK, JAMES]
    assert all(entry.is_identical for entry in replay(office.store, [given.mail_id]))


@pytest.mark.parametrize("steps", [once, twice])
def test_a_person_undoes_it_by_mail(office: Office, steps: Callable[[], Steps]) -> None:
    """It does not leave, it is corrected once, and the desk gets the case with all of its commands."""
    given = held_in(office)
    said, _ = given.office.handle(write("", subject=given.lines["undo"], sender=DESK, number=50), steps())
    assert work(later(given.office, HOLD_S + 1)) == [DESK, DESK]
    assert (status_of(office, given.answer), told(office, said)) == ("cancelled", "")
    (label,) = office.store.labels.of(given.mail_id)
    assert (label.outcome, label.who, label.how) == (LabelOutcome.NOTHING, DESK, LabelSource.COMMAND)
    assert state(office, given.mail_id) is CaseState.WITH_PERSON
    assert one(office, given.mail_id).status is MailStatus.ESCALATED
    code, why = reason_told(office, given.mail_id, FAILURE)
    assert (code, f"undone by {DESK}" in str(why)) == ("undone", True)
    lines = lines_of(office.sent(given.mail_id)[FAILURE])
    order(given.office, lines["own words"], "We call you.", number=51)
    assert work(given.office)[-1] == JAMES


@pytest.mark.parametrize("is_by_mail", [True, False])
def test_what_another_version_wrote_is_undone_unjudged_whoever_undoes_it(office: Office, *, is_by_mail: bool) -> None:
    """Failure: its data are read to be judged, so it could not be kept from leaving."""
    given = held_in(office)
    with office.store.database.write() as connection:
        connection.exec_driver_sql("UPDATE rendered_mails SET payload = '{}' WHERE kind = 'answer'")
    if is_by_mail:
        order(given.office, given.lines["undo"])
    else:
        undo(given.office, given.answer.id)
    assert (status_of(office, given.answer), office.store.labels.valid()) == ("cancelled", ())


def test_what_has_left_cannot_be_undone_by_mail(office: Office) -> None:
    """The desk hears so, and nothing is judged."""
    given = held_in(office)
    work(later(given.office, HOLD_S + 1))
    said = order(given.office, given.lines["undo"])
    assert "is sent: it went out already and cannot be called back" in told(office, said)
    assert office.store.labels.valid() == ()


def test_a_reply_to_the_notice_reaches_nobody(office: Office) -> None:
    """Failure: the customer gets the words of a person, and the answer that still waits."""
    given = held_in(office)
    notice = office.sent(given.mail_id)[OutgoingKind.HELD]
    said, _ = given.office.handle(write("That is wrong!", sender=DESK, in_reply_to=notice.message_id, number=5))
    assert "undo that answer" in told(office, said)
    assert office.store.outbox.find(kind=OutgoingKind.PERSON_REPLY) == ()


def test_a_part_that_waits_is_told_beside_the_packet_for_the_rest(office: Office) -> None:
    office = with_autonomy(office, hold_s=HOLD_S, hold_notice=True)
    mail_id, _ = office.handle(write(TWO, sender=JAMES))
    sent = office.sent(mail_id)
    assert "undo" not in lines_of(sent[PACKET])
    order(office, lines_of(sent[OutgoingKind.HELD])["undo"])
    assert status_of(office, sent[ANSWER]) == "cancelled"


@pytest.mark.parametrize("mode", [Mode.OFF, Mode.SHADOW, Mode.APPROVE])
def test_an_answer_whose_item_loses_auto_in_the_window_does_not_leave(holding: Office, mode: Mode) -> None:
    """A correction of another mail, or a person's word, holds for what has not left; the desk is told why."""
    mail_id, _ = holding.handle(write(REFUND, sender=JAMES))
    holding.store.modes.change("document:1", mode, ModeSource.BY_HAND, "the operator", "a test", holding.clock())
    for _ in range(2):
        assert work(later(holding, HOLD_S)) == [DESK]
    assert holding.sent(mail_id)[ANSWER].status is OutboxStatus.CANCELLED
    assert f"document:1 is in mode {mode.value}" in str(reason_told(holding, mail_id, FAILURE)[1])
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
    choose(office.store, office.settings, office.sent(mail_id)[ANSWER].id, OutboxChoice.APPROVE, office.clock)
    office.store.modes.change("document:1", Mode.OFF, ModeSource.BY_HAND, "the operator", "a test", office.clock())
    assert JAMES in work(office)


def test_a_document_that_has_expired_is_not_approved(office: Office) -> None:
    """The proposal waited too long."""
    office = with_autonomy(office, start=Mode.APPROVE)
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    office = with_document(office, 1, valid_until=office.clock().date())
    later(office, 2 * 86_400)
    desk = office.wired.desk
    with pytest.raises(PermanentError, match="document 1 is not valid any more"):
        desk.approval.of(office.sent(mail_id)[ANSWER].id, THE_OPERATOR)


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
