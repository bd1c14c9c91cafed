"""What an admin does on the operations page is what the operator does on the command line, with a name."""

from __future__ import annotations

from support_agent.cases.pause import read_pause
from support_agent.core.modes import Mode
from support_agent.store.desk_records import LabelOutcome
from support_agent.store.records import DeliverySource, OutboxRecord, OutboxStatus, OutgoingKind
from support_agent.transport.submission import Delivery
from tests.fakes_desk import proposed_in, status_of
from tests.fakes_journey import DESK, JAMES, Office, with_autonomy, write
from tests.fakes_page import BY_PROXY, Browser
from tests.fakes_worker import FakeMailbox, Shift
from tests.unit.seen import REFUND

ADMIN = BY_PROXY.model_copy(update={"admins": (DESK,)})


def _lost(office: Office) -> tuple[Office, OutboxRecord]:
    """An answer whose connection was lost after the final dot."""
    auto = with_autonomy(office, start=Mode.AUTO)
    office.transport.deliveries = [Delivery(status="uncertain", detail="the connection was lost")]
    mail_id, _ = auto.handle(write(REFUND, sender=JAMES))
    return auto, office.sent(mail_id)[OutgoingKind.ANSWER]


def _news(office: Office) -> int:
    """How many notices the desk got."""
    Shift(office, FakeMailbox([])).work()
    return len(office.store.outbox.find(kind=OutgoingKind.FAILURE))


def test_an_uncertain_mail_is_marked_as_sent_and_the_case_says_by_whom(office: Office) -> None:
    auto, row = _lost(office)
    page = Browser(auto, page=ADMIN).act("/operations", "sent")
    assert f"{row.id}: sent" in page
    assert status_of(office, row) == OutboxStatus.SENT
    (update,) = office.store.deliveries.of(row.id)
    assert (update.by, update.detail) == (DeliverySource.OPERATOR, f"it went out, by {DESK}")


def test_a_mail_that_an_admin_gives_up_is_off_the_list_and_no_news_for_the_desk(office: Office) -> None:
    auto, row = _lost(office)
    before = _news(auto)
    page = Browser(auto, page=ADMIN).act("/operations", "give-up")
    assert "Every mail that left was taken by the server." in page
    assert status_of(office, row) == OutboxStatus.FAILED
    assert _news(auto) == before
    assert office.store.deliveries.unconfirmed() == ()


def test_a_mail_is_sent_again(office: Office) -> None:
    auto, row = _lost(office)
    Browser(auto, page=ADMIN).act("/operations", "retry")
    assert status_of(office, row) == OutboxStatus.READY
    Shift(auto, FakeMailbox([])).work()
    assert status_of(office, row) == OutboxStatus.SENT


def test_the_same_choice_twice_changes_nothing_and_another_one_is_refused_as_on_the_command_line(
    office: Office,
) -> None:
    auto, row = _lost(office)
    browser = Browser(auto, page=ADMIN)
    forms = browser.forms("/operations")
    assert {"retry", "sent", "give-up"} < set(forms)
    assert "as before" not in browser.send(forms["sent"]).text
    assert f"{row.id}: sent, as before" in browser.send(forms["sent"]).text
    assert "it went out already and cannot be called back" in browser.send(forms["give-up"]).text
    assert len(office.store.deliveries.of(row.id)) == 1


def test_an_undone_proposal_is_judged_under_the_admins_name(office: Office) -> None:
    proposed = proposed_in(office)
    browser = Browser(proposed.office, page=ADMIN)
    form = browser.forms("/operations?outbox=proposed")["undo"]
    assert "not sent" in browser.send(form).text
    assert status_of(office, proposed.answer) == OutboxStatus.CANCELLED
    label = office.store.labels.valid_of(proposed.mail_id)
    assert label is not None
    assert (label.outcome, label.who) == (LabelOutcome.NOTHING, DESK)


def test_the_agent_is_paused_with_a_reason_and_resumed(office: Office) -> None:
    browser, agent = Browser(office, page=ADMIN), office.settings.agent
    assert "resume" not in browser.forms("/operations")
    page = browser.act("/operations", "pause", reason="prices are wrong <b>")
    assert f"paused: prices are wrong &lt;b&gt;, by {DESK}" in page
    pause = read_pause(agent)
    assert pause is not None
    assert "prices are wrong" in pause.reason
    assert "Resumed." in browser.act("/operations", "resume")
    assert read_pause(agent) is None
