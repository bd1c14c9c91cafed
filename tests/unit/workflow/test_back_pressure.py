"""A worker whose mails are decided slowly: it fetches less, in order, and loses nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from structlog.testing import capture_logs

from support_agent.cases.pause import end_pause, write_pause
from support_agent.engine.journeys import InHand
from support_agent.errors import TransientError
from support_agent.pipeline import handle
from support_agent.store.records import MailId, MailStatus, mail_id_of
from support_agent.workflow.intake import ALONE
from tests.fakes_journey import CUSTOMERS, Office, once, with_agent, write
from tests.fakes_worker import REFUND, FakeMailbox, InlineEngine, Shift, recipients

MAILS = [write(REFUND, sender=sender) for sender in CUSTOMERS[:5]]
IDS = [mail_id_of(raw) for raw in MAILS]


class SlowEngine(InlineEngine):
    """Queues mails, and handles the oldest one each time somebody waits for it."""

    def __init__(self, office: Office) -> None:
        super().__init__(lambda mail_id: handle(mail_id, once(), office.stages))
        self.queued: list[MailId] = []
        self.most_queued = 0

    def start(self, mail_id: str, thread: str) -> None:
        if mail_id not in self.keys:
            self.keys[mail_id] = thread
            self.queued.append(MailId(mail_id))
            self.most_queued = max(self.most_queued, len(self.queued))

    def wait_until_idle(self, timeout_s: float) -> bool:
        if self.queued:
            self.journey(self.queued.pop(0))
        return not self.queued

    def in_hand(self) -> InHand:
        return InHand(len(self.queued), 0)


def shift_of(office: Office, max_waiting: int, mailbox: FakeMailbox, **imap: object) -> Shift:
    settings = office.settings
    engine = settings.engine.model_copy(update={"max_waiting": max_waiting})
    changed = {"engine": engine, "imap": settings.imap.model_copy(update=imap)}
    office = replace(office, settings=settings.model_copy(update=changed))
    shift = Shift(office, mailbox)
    shift.engine = SlowEngine(office)
    return shift


@pytest.fixture
def mailbox() -> FakeMailbox:
    return FakeMailbox(list(MAILS))


def fetch(shift: Shift) -> int:
    return shift.agent.intake.fetch(shift.mailbox, shift.stop, ALONE)


def recorded(shift: Shift) -> list[MailId]:
    return [mail.id for mail in shift.office.store.mails.find()]


def test_no_more_mails_are_recorded_than_may_wait_and_the_rest_stays_unflagged(
    office: Office, mailbox: FakeMailbox
) -> None:
    shift = shift_of(office, 2, mailbox)
    with capture_logs() as logs:
        assert fetch(shift) == 2
        assert fetch(shift) == 0, "there is no room"
    assert (recorded(shift), mailbox.handled) == (IDS[:2], [1, 2])
    assert [entry["max_waiting"] for entry in logs if entry["event"] == "fetch_bounded"] == [2, 2]


def test_a_place_that_gets_free_goes_to_the_next_mail_in_the_mailbox(office: Office, mailbox: FakeMailbox) -> None:
    shift = shift_of(office, 2, mailbox)
    fetch(shift)
    shift.engine.wait_until_idle(0)
    assert fetch(shift) == 1
    assert (recorded(shift), mailbox.handled) == (IDS[:3], [1, 2, 3])


def test_every_mail_is_answered_in_the_order_of_the_mailbox(office: Office, mailbox: FakeMailbox) -> None:
    shift = shift_of(office, 2, mailbox)
    shift.work()
    assert recipients(shift.office) == list(CUSTOMERS[:5])
    assert isinstance(shift.engine, SlowEngine)
    assert shift.engine.most_queued == 2


def test_a_process_that_dies_at_the_bound_loses_nothing(office: Office, mailbox: FakeMailbox) -> None:
    """Its queue is gone: the next one starts what was recorded, and fetches the rest."""
    fetch(shift_of(office, 2, mailbox))
    second = shift_of(office, 2, mailbox)
    second.work()
    assert (recipients(office), mailbox.handled) == (list(CUSTOMERS[:5]), [1, 2, 3, 4, 5])


def test_what_was_left_is_fetched_as_soon_as_there_is_room(office: Office, mailbox: FakeMailbox) -> None:
    """Failure: no new mail comes, and what is left waits for the next poll, in this test for an hour."""
    shift = shift_of(office, 2, mailbox, poll_interval_s=3600.0)
    mailbox.after_mail = lambda: shift.stop.set() if len(mailbox.handled) == len(MAILS) else None
    shift.agent.run(shift.stop)
    assert mailbox.handled == [1, 2, 3, 4, 5]


class StopAtFirstWait(Event):
    """Set by the first wait on it; a loop that turns without a wait fails."""

    turns = 0

    def wait(self, timeout: float | None = None) -> bool:
        self.set()
        return True

    def is_set(self) -> bool:
        self.turns += 1
        assert self.turns < 100, "the loop turns without a wait"
        return super().is_set()


def test_a_mailbox_that_goes_away_at_the_bound_is_waited_for(office: Office, mailbox: FakeMailbox) -> None:
    """Failure: the loop would turn without a wait until the mailbox is back."""
    shift = shift_of(office, 2, mailbox)
    shift.stop = StopAtFirstWait()

    def break_off() -> None:
        if mailbox.handled:
            raise TransientError("the connection is gone")

    mailbox.on_fetch = break_off
    shift.agent.run(shift.stop)
    assert mailbox.handled == [1, 2]


def test_mails_that_wait_for_the_end_of_a_pause_take_no_place(
    office: Office, mailbox: FakeMailbox, tmp_path: Path
) -> None:
    """Their journeys have ended for now; a rule may still give the next mail to a person."""
    office = with_agent(office, pause_file=tmp_path / "paused")
    write_pause(office.settings.agent, "holidays")
    shift = shift_of(office, 2, mailbox)
    shift.work()
    assert [mail.status for mail in office.store.mails.find()] == [MailStatus.NEW] * 5
    assert end_pause(office.settings.agent)
    shift.work()
    assert recipients(office) == list(CUSTOMERS[:5])
