"""What people do on the desk's page is what they would do by mail: one answer, one label, kept with who did it."""

from __future__ import annotations

from support_agent.store.desk_records import LabelOutcome
from support_agent.store.records import CaseState, OutboxStatus, OutgoingKind
from tests.fakes_desk import order, proposed_in, status_of
from tests.fakes_journey import DESK, Office
from tests.fakes_page import Browser


def _case_of(browser: Browser) -> str:
    (case,) = browser.office.store.cases.recent(10)
    return f"/cases/{case.case.id}"


def test_what_waits_is_approved_and_leaves_and_is_labelled(office: Office) -> None:
    proposed = proposed_in(office)
    browser = Browser(proposed.office)
    page = browser.act(_case_of(browser), "approve")
    assert "Approved. The answer leaves now." in page
    assert status_of(office, proposed.answer) == OutboxStatus.READY
    label = office.store.labels.valid_of(proposed.mail_id)
    assert label is not None
    assert (label.outcome, label.who) == (LabelOutcome.SAME, DESK)


def test_a_document_replaces_what_was_proposed(office: Office) -> None:
    proposed = proposed_in(office)
    browser = Browser(proposed.office)
    case = _case_of(browser)
    assert "Send document 2" in browser.get(f"{case}?choose=document:2")
    form = browser.forms(f"{case}?choose=document:2")["document"]
    assert "The document leaves now." in browser.send(form).text
    assert status_of(office, proposed.answer) == OutboxStatus.CANCELLED
    label = office.store.labels.valid_of(proposed.mail_id)
    assert label is not None
    assert label.choice == "document:2"


def test_own_words_and_files_reach_the_customer(office: Office) -> None:
    proposed = proposed_in(office)
    browser = Browser(proposed.office)
    text = [("price.txt", b"9 EUR\n", "text/plain")]
    page = browser.act(_case_of(browser), "own words", text, words="We have looked.\n\nIt is fixed.")
    assert "Your words leave now." in page
    (reply,) = office.store.outbox.find(kind=OutgoingKind.PERSON_REPLY)
    assert b"It is fixed." in reply.raw
    assert b"price.txt" in reply.raw


def test_an_act_after_a_command_by_mail_is_refused_and_says_who_was_first(office: Office) -> None:
    proposed = proposed_in(office)
    browser = Browser(proposed.office)
    case = _case_of(browser)
    form = browser.forms(f"{case}?choose=document:2")["document"]
    order(proposed.office, proposed.lines["approve"])
    assert "Nothing was done" in browser.send(form).text
    assert status_of(office, proposed.answer) == OutboxStatus.SENT
    assert len(office.store.outbox.find(kind=OutgoingKind.ANSWER)) == 1


def test_the_same_form_sent_twice_sends_once(office: Office) -> None:
    proposed = proposed_in(office)
    browser = Browser(proposed.office)
    form = browser.forms(_case_of(browser))["own words"]
    for _ in range(2):
        browser.send(form, {"words": "Once."})
    assert len(office.store.outbox.find(kind=OutgoingKind.PERSON_REPLY)) == 1


def test_a_case_is_claimed_given_back_closed_and_reopened(office: Office) -> None:
    browser = Browser(proposed_in(office).office)
    case = _case_of(browser)
    browser.act(case, "claim")
    assert browser.office.store.cases.recent(1)[0].case.assignee == DESK
    browser.act(case, "give back")
    assert browser.office.store.cases.recent(1)[0].case.state is CaseState.OPEN
    browser.act(case, "close")
    assert browser.office.store.cases.recent(1)[0].case.state is CaseState.CLOSED
    browser.act(case, "reopen")
    assert browser.office.store.cases.recent(1)[0].case.state is CaseState.WITH_PERSON
