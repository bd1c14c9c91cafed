"""Whether a person has answered: reminders, routing, the desk's list and the numbers of coverage say the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from support_agent.cases.handling import Handling, Order
from support_agent.desk.coverage import coverage_of
from support_agent.outbound.outbox_choices import OutboxChoice
from support_agent.store.desk_records import LabelOutcome, LabelSource
from support_agent.store.records import CaseId, DeliverySource, OutboxStatus
from support_agent.transport.submission import Delivery
from support_agent.workflow.approval import choose
from tests.fakes_desk import Proposed, order, proposed_in
from tests.fakes_journey import DESK, Office, write
from tests.fakes_worker import FakeMailbox, Shift
from tests.unit.seen import PACKET, REFUND, TWO

DAY = timedelta(days=1)
Act = Callable[[Proposed], object]


def command(words: str) -> Act:
    """The desk's mail with the packet's line."""
    return lambda given: order(given.office, given.lines[words])


def wrote(given: Proposed) -> None:
    packet = given.office.sent(given.mail_id)[PACKET].message_id
    given.office.handle(write("We call you.", sender=DESK, in_reply_to=packet, number=8))


def wrote_in_vain(given: Proposed) -> None:
    given.office.transport.deliveries = [Delivery(status="failed", detail="550 no such user")]
    wrote(given)


def wrote_and_slipped(given: Proposed) -> None:
    wrote(given)
    order(given.office, f"[{given.answer.case_id}] close {'A' * 26}", number=61)


def sent_folder(given: Proposed) -> None:
    after, by, before = OutboxStatus.CANCELLED, DeliverySource.SENT_FOLDER, (OutboxStatus.PROPOSED,)
    given.office.store.deliveries.update(given.answer.id, after, by, "answered", given.office.clock(), before)


def undone(given: Proposed) -> None:
    choose(given.office.store, given.office.settings, given.answer.id, OutboxChoice.UNDO, given.office.clock)
    Shift(given.office, FakeMailbox([])).work()


def judged(given: Proposed) -> None:
    autonomy, at = given.office.stages.autonomy, given.office.clock()
    autonomy.judge(given.mail_id, None, LabelOutcome.SAME, None, DESK, LabelSource.BY_HAND, at)


def ordered(*orders: Order) -> Act:
    def act(given: Proposed) -> None:
        for one in orders:
            handling = Handling(given.office.store, given.office.settings)
            handling.order(str(given.answer.case_id), one, "the operator", given.office.clock(), to=DESK)

    return act


@pytest.mark.parametrize(
    ("text", "act", "is_waiting"),
    [
        pytest.param(REFUND, lambda given: None, True, id="nothing was done"),
        pytest.param(REFUND, wrote, False, id="own words"),
        pytest.param(REFUND, wrote_in_vain, True, id="own words that no server took"),
        pytest.param(REFUND, wrote_and_slipped, False, id="own words, then a command that was refused"),
        pytest.param(REFUND, command("approve"), False, id="approved"),
        pytest.param(TWO, command("approve"), True, id="a part approved, the rest is open"),
        pytest.param(REFUND, command("document 1"), False, id="a document chosen"),
        pytest.param(REFUND, command("claim"), True, id="claimed"),
        pytest.param(REFUND, command("close"), False, id="closed"),
        pytest.param(REFUND, command("give back"), False, id="given back"),
        pytest.param(REFUND, sent_folder, False, id="answered from a mail program"),
        pytest.param(REFUND, undone, True, id="the proposal undone, and nothing else"),
        pytest.param(REFUND, judged, True, id="judged, and not sent"),
        pytest.param(REFUND, ordered(Order.CLOSE, Order.REOPEN), True, id="closed by mistake"),
        pytest.param(REFUND, ordered(Order.GIVE_BACK, Order.CLAIM), False, id="given back, then claimed"),
    ],
)
def test_all_who_ask_whether_a_person_answered_hear_the_same(
    office: Office, text: str, act: Act, *, is_waiting: bool
) -> None:
    given = proposed_in(office, text=text)
    act(given)
    office, now = given.office, given.office.clock()
    assert bool(office.store.waits.cases(now - DAY)) is is_waiting
    assert office.stages.routing.waits_for_person(CaseId(str(given.answer.case_id))) is is_waiting
    assert coverage_of(office.store, (), now, 1).people.open == int(is_waiting)
    assert office.store.queue.facets().total == int(is_waiting)
