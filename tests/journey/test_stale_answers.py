"""An answer that waited says only what is still so: a value that changed, or an address that is not the customer's any
more, sends it to a person.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from support_agent.company.accounts import Accounts
from support_agent.core.modes import Mode
from support_agent.errors import TransientError
from support_agent.store.records import OutboxStatus
from support_agent.transport.submission import Delivery
from tests.fakes_desk import Proposed, order, proposed_in, status_of, told
from tests.fakes_journey import ANNA, JAMES, Clock, Office, make_company, office_in, write
from tests.fakes_worker import FakeMailbox, Shift
from tests.unit.seen import ANSWER, FAILURE, REFUND, SEATS, text_of

MOVED = "UPDATE customers SET address = 'new.owner@example.org' WHERE address = ?"
TAKEN = f"UPDATE customers SET address = ? WHERE address = '{ANNA}'"
MORE_SEATS = "UPDATE subscriptions SET seats_paid = 999 WHERE ? <> ''"
CHANGES = {"an address": MOVED, "a value": MORE_SEATS}


@pytest.fixture
def office(empty_store: Path, tmp_path: Path) -> Iterator[Office]:
    """An office whose company's database a test may change."""
    (tmp_path / "company").mkdir()
    with office_in(tmp_path, make_company(tmp_path / "company"), empty_store) as opened:
        yield opened


def change(office: Office, statement: str) -> None:
    with closing(sqlite3.connect(office.settings.company.accounts.parent / "harborfile.sqlite3")) as database, database:
        database.execute(statement, (JAMES,))


def later(office: Office, **time: float) -> None:
    office.clock = Clock(office.clock() + timedelta(**time))


def approved(given: Proposed) -> tuple[str, str]:
    """The answer's status after the desk approved it, and what the desk was told."""
    mail_id = order(given.office, given.lines["approve"])
    return status_of(given.office, given.answer), told(given.office, mail_id)


@pytest.mark.parametrize("statement", CHANGES.values(), ids=CHANGES)
def test_an_approval_of_what_is_not_so_any_more_is_refused_with_why(office: Office, statement: str) -> None:
    given = proposed_in(office, Mode.APPROVE, SEATS)
    change(given.office, statement)
    later(given.office, days=6)
    status, why = approved(given)
    assert status == OutboxStatus.PROPOSED
    assert "the account has changed since" in why
    assert not any(b"Seats paid for" in raw for recipient, raw in given.office.transport.given if recipient == JAMES)


def test_an_approval_of_what_is_still_so_sends_it_days_later(office: Office) -> None:
    given = proposed_in(office, Mode.APPROVE, SEATS)
    later(given.office, days=6)
    assert approved(given) == (OutboxStatus.SENT, "")


@pytest.mark.parametrize("statement", CHANGES.values(), ids=CHANGES)
def test_an_answer_that_could_not_leave_for_days_leaves_only_if_it_is_still_so(office: Office, statement: str) -> None:
    """Nobody is asked: the server was busy, or the agent was paused. A person gets the case, and is told why."""
    office.transport.deliveries = [Delivery(status="retry", detail="451 later")]
    mail_id, _ = office.handle(write(SEATS, sender=JAMES))
    change(office, statement)
    later(office, days=5)
    Shift(office, FakeMailbox([])).work()
    sent = office.sent(mail_id)
    assert sent[ANSWER].status is OutboxStatus.CANCELLED
    assert "any more" in text_of(sent[FAILURE]) or "another value now" in text_of(sent[FAILURE])
    assert [recipient for recipient, _ in office.transport.given].count(JAMES) == 1, "the first try alone"


def test_an_approved_answer_that_waited_is_read_again_too(office: Office) -> None:
    """A person has approved what was so then."""
    given = proposed_in(office, Mode.APPROVE, SEATS)
    given.office.transport.deliveries = [Delivery(status="retry", detail="451 later")]
    order(given.office, given.lines["approve"])
    assert status_of(given.office, given.answer) == OutboxStatus.READY
    change(given.office, MORE_SEATS)
    later(given.office, days=2)
    Shift(given.office, FakeMailbox([])).work()
    assert status_of(given.office, given.answer) == OutboxStatus.CANCELLED


def test_a_value_that_changed_within_the_time_of_the_settings_is_still_sent(office: Office) -> None:
    """A counter that moves every minute would else never reach anybody."""
    office.transport.deliveries = [Delivery(status="retry", detail="451 later")]
    mail_id, _ = office.handle(write(SEATS, sender=JAMES))
    change(office, MORE_SEATS)
    later(office, minutes=59)
    Shift(office, FakeMailbox([])).work()
    assert office.sent(mail_id)[ANSWER].status is OutboxStatus.SENT


def test_an_answer_goes_to_nobody_who_has_the_address_since_however_short_the_wait(office: Office) -> None:
    """The values may be minutes old, but they are another customer's."""
    office.transport.deliveries = [Delivery(status="retry", detail="451 later")]
    mail_id, _ = office.handle(write(SEATS, sender=JAMES))
    change(office, MOVED)
    change(office, TAKEN)
    later(office, minutes=59)
    Shift(office, FakeMailbox([])).work()
    sent = office.sent(mail_id)
    assert sent[ANSWER].status is OutboxStatus.CANCELLED
    assert "the address is not this customer's any more" in text_of(sent[FAILURE])


def test_values_that_were_read_while_the_clock_was_ahead_are_read_again(office: Office) -> None:
    """Failure: for as long as the clock had been ahead they counted as new, and a value of the day before was sent."""
    later(office, hours=30)
    given = proposed_in(office, Mode.APPROVE, SEATS)
    change(given.office, MORE_SEATS)
    later(given.office, hours=-10)
    status, why = approved(given)
    assert status == OutboxStatus.PROPOSED
    assert "another value now" in why


def test_an_answer_that_cannot_be_checked_now_is_tried_later(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The company's database is away for a while: nothing is sent, and nothing else is held up."""
    office.transport.deliveries = [Delivery(status="retry", detail="451 later")]
    mail_id, _ = office.handle(write(SEATS, sender=JAMES))
    later(office, days=1)
    with monkeypatch.context() as patched:
        patched.setattr(Accounts, "customer", _away)
        Shift(office, FakeMailbox([])).work()
    waiting = office.sent(mail_id)[ANSWER]
    assert (waiting.status, waiting.attempts) == (OutboxStatus.READY, 2)
    later(office, days=1)
    Shift(office, FakeMailbox([])).work()
    assert office.sent(mail_id)[ANSWER].status is OutboxStatus.SENT


def test_an_answer_from_documents_alone_needs_no_account(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.transport.deliveries = [Delivery(status="retry", detail="451 later")]
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    change(office, MOVED)
    later(office, days=5)
    monkeypatch.setattr(Accounts, "customer", _away)
    Shift(office, FakeMailbox([])).work()
    assert office.sent(mail_id)[ANSWER].status is OutboxStatus.SENT


def _away(self: Accounts, address: str) -> None:
    raise TransientError("the company's database does not answer", code="accounts")
