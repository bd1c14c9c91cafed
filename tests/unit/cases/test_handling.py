"""Who has a case: what a person orders is done once, kept with who ordered it, and possible for staff only."""

from __future__ import annotations

from datetime import timedelta

import pytest

from support_agent.cases.handling import Handling, Order
from support_agent.config.desk import DeskSettings
from support_agent.errors import ConfigError
from support_agent.ops.explain import timeline
from support_agent.store.records import CaseId, CaseState, MailId, OutboxStatus
from support_agent.transport.submission import Delivery
from tests.fakes_desk import lines_of, order, proposed_in, status_of
from tests.fakes_journey import DESK, JAMES, Clock, Office, with_autonomy, write
from tests.fakes_worker import FakeMailbox, Shift
from tests.unit.seen import ANSWER, CANCEL, HUMAN, PACKET, REFUND, one, state

ADA = "ada@harborfile.example"
OPEN, WITH_PERSON, CLOSED = CaseState


@pytest.fixture
def staffed(office: Office) -> Office:
    """An office whose desk has somebody with an address of her own."""
    office.settings = office.settings.model_copy(update={"desk": DeskSettings(address=DESK, staff=(ADA,))})
    return office


def with_person(office: Office) -> tuple[str, MailId]:
    """A case that a person has, and its mail."""
    mail_id, _ = office.handle(write(HUMAN, sender=JAMES))
    return str(one(office, mail_id).case_id), mail_id


def ordered(office: Office, case_id: str, what: Order, to: str | None = None) -> bool:
    handling = Handling(office.store, office.settings)
    return handling.order(case_id, what, "the operator", office.clock(), "a test", to) is not None


@pytest.mark.parametrize(
    ("what", "to", "after", "assignee"),
    [
        (Order.CLOSE, None, CLOSED, None), (Order.GIVE_BACK, None, OPEN, None),
        (Order.CLAIM, ADA, WITH_PERSON, ADA), (Order.ASSIGN, DESK, WITH_PERSON, DESK),
    ],
)  # fmt: skip
def test_an_order_is_done_once_and_kept(
    staffed: Office, what: Order, to: str | None, after: CaseState, assignee: str | None
) -> None:
    case_id, _ = with_person(staffed)
    assert [ordered(staffed, case_id, what, to) for _ in range(2)] == [True, False]
    story = timeline(staffed.store, case_id)
    assert (story.case.state, story.case.assignee) == (after, assignee)
    (change,) = story.changes
    assert (change.before, change.after, change.who, change.why) == (WITH_PERSON, after, "the operator", "a test")


def test_a_closed_case_is_reopened_for_who_had_it(staffed: Office) -> None:
    case_id, mail_id = with_person(staffed)
    ordered(staffed, case_id, Order.CLAIM, ADA)
    ordered(staffed, case_id, Order.CLOSE)
    ordered(staffed, case_id, Order.REOPEN)
    assert (state(staffed, mail_id), timeline(staffed.store, case_id).case.assignee) == (WITH_PERSON, ADA)
    assert [change.after for change in timeline(staffed.store, case_id).changes] == [WITH_PERSON, CLOSED, WITH_PERSON]


@pytest.mark.parametrize("to", [None, "", "eve@elsewhere.example", JAMES])
def test_only_staff_get_a_case(staffed: Office, to: str | None) -> None:
    """Packets go to the assignee, and hold a customer's mail."""
    case_id, _ = with_person(staffed)
    with pytest.raises(ConfigError, match="is no address of the staff"):
        ordered(staffed, case_id, Order.ASSIGN, to)
    assert timeline(staffed.store, case_id).changes == ()


def test_the_packets_of_an_assigned_case_go_to_its_person(staffed: Office) -> None:
    """Until she is no staff any more; then the desk has them again."""
    case_id, mail_id = with_person(staffed)
    first = one(staffed, mail_id).message_id
    ordered(staffed, case_id, Order.ASSIGN, ADA)
    second, _ = staffed.handle(write(CANCEL, sender=JAMES, in_reply_to=first, number=2))
    assert staffed.sent(second)[PACKET].recipient == ADA
    staffed.settings = staffed.settings.model_copy(update={"desk": DeskSettings(address=DESK)})
    third, _ = staffed.handle(write("And now?", sender=JAMES, in_reply_to=first, number=3))
    assert staffed.sent(third)[PACKET].recipient == DESK


def test_a_case_is_claimed_by_mail(staffed: Office) -> None:
    """By the person who sends the line, whoever got the packet."""
    case_id, mail_id = with_person(staffed)
    order(staffed, lines_of(staffed.sent(mail_id)[PACKET])["claim"], sender=ADA)
    assert timeline(staffed.store, case_id).case.assignee == ADA


def test_closing_withdraws_what_waits(office: Office) -> None:
    given = proposed_in(office)
    assert ordered(office, str(given.answer.case_id), Order.CLOSE)
    assert status_of(office, given.answer) == "cancelled"


def test_a_customer_who_needs_nothing_more_withdraws_what_waits(office: Office) -> None:
    """Rule: an answer that a person approves after that has become pointless, and is not sent."""
    given = proposed_in(office)
    assert given.answer.case_id is not None
    for _ in range(2):  # as after a death in between
        Handling(office.store, office.settings).close_for_customer(
            given.answer.case_id, given.answer.recipient, "solved", office.clock()
        )
    assert status_of(office, given.answer) == "cancelled"
    order(office, given.lines["approve"])
    assert status_of(office, given.answer) == "cancelled"
    (change,) = timeline(office.store, str(given.answer.case_id)).changes
    assert (change.after, change.who, change.why) == (CLOSED, "the customer", "solved")


@pytest.mark.parametrize("is_customer", [True, False])
def test_an_answer_that_is_held_does_not_leave_a_closed_case(office: Office, *, is_customer: bool) -> None:
    """Failure: it left when the hold window was over."""
    office = with_autonomy(office, hold_s=600)
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    answer = office.sent(mail_id)[ANSWER]
    if is_customer:
        Handling(office.store, office.settings).close_for_customer(
            CaseId(str(answer.case_id)), JAMES, "x", office.clock()
        )
    else:
        assert ordered(office, str(answer.case_id), Order.CLOSE)
    assert status_of(office, answer) == "cancelled"
    office.clock = Clock(office.clock() + timedelta(seconds=601))
    Shift(office, FakeMailbox([])).work()
    assert office.transport.given == []


@pytest.mark.parametrize("command", ["approve", "document 1"])
def test_what_a_person_approved_or_chose_leaves_a_closed_case(office: Office, command: str) -> None:
    """The server was busy: it is no draft of the machine any more."""
    given = proposed_in(office)
    office.transport.deliveries = [Delivery(status="retry", detail="451 later")]
    given.office.handle(write("", subject=given.lines[command], sender=DESK, number=50))
    (row,) = office.store.outbox.find(kind=ANSWER, status=OutboxStatus.READY)
    assert ordered(office, str(row.case_id), Order.CLOSE)
    assert status_of(office, row) == "ready"


def test_an_unknown_case_is_named(office: Office) -> None:
    with pytest.raises(ConfigError, match="`support-agent cases` lists them"):
        ordered(office, "nothing", Order.CLOSE)
