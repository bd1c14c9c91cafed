"""What people do on the desk's page is what they would do by mail: one answer, one label, kept with who did it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support_agent.core.modes import Mode
from support_agent.pipeline import handle
from support_agent.store.desk_records import LabelOutcome
from support_agent.store.records import CaseState, MailStatus, OutboxStatus, OutgoingKind
from tests.fakes_desk import order, proposed_in, status_of
from tests.fakes_journey import DESK, JAMES, Office, once, with_autonomy, write
from tests.fakes_page import BY_PROXY, Browser
from tests.fakes_room import found, says
from tests.journey.test_fact_room import with_rooms
from tests.unit.seen import REFUND

ADA = "ada@harborfile.example"


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
    assert "Send this instead" in browser.get(f"{case}?choose=document:2")
    form = browser.forms(f"{case}?choose=document:2")["document"]
    assert "What you chose leaves now." in browser.send(form).text
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


def test_two_people_never_answer_one_case(office: Office) -> None:
    """Who takes a case over has it; the other's open page is refused, and so is a form that was opened before."""
    proposed = proposed_in(office)
    one, other = Browser(_with_staff(proposed.office)), Browser(_with_staff(proposed.office), address=ADA)
    case = _case_of(one)
    before = other.forms(case)["approve"]
    one.act(case, "claim")
    assert "has changed since you opened it" in other.send(before).text
    assert "approve" not in other.forms(case)
    assert f"{DESK} has the case" in other.get(case)
    assert status_of(office, proposed.answer) == OutboxStatus.PROPOSED
    other.act(case, "claim")
    assert "Approved" in other.act(case, "approve")


def test_a_new_mail_of_the_customer_makes_an_open_page_stale(office: Office) -> None:
    proposed = proposed_in(office)
    browser = Browser(proposed.office)
    case = _case_of(browser)
    form = browser.forms(case)["approve"]
    answered = office.store.outbox.find(mail_id=proposed.mail_id, kind=OutgoingKind.ACKNOWLEDGEMENT)
    later = write("Forget it: I mean the yearly plan.", sender=JAMES, number=77, in_reply_to=answered[0].message_id)
    proposed.office.handle(later)
    assert "has changed since you opened it" in browser.send(form).text
    assert status_of(office, proposed.answer) == OutboxStatus.PROPOSED


def test_own_words_are_shown_before_they_are_sent_and_nothing_is_sent_by_that(office: Office) -> None:
    browser = Browser(proposed_in(office).office)
    case = _case_of(browser)
    page = browser.send(browser.forms(case)["own words"], {"do": "preview words", "words": "It is <b>fixed</b>."}).text
    assert page.count("It is &lt;b&gt;fixed&lt;/b&gt;.") == 2
    assert not office.store.outbox.find(kind=OutgoingKind.PERSON_REPLY)


def test_an_answer_in_the_hold_window_is_kept_from_leaving(office: Office) -> None:
    held = with_autonomy(office, start=Mode.AUTO, hold_s=600)
    mail_id, _ = held.handle(write(REFUND, sender=JAMES, number=3))
    browser = Browser(held)
    assert "does not leave" in browser.act(_case_of(browser), "undo")
    (answer,) = office.store.outbox.find(mail_id=mail_id, kind=OutgoingKind.ANSWER)
    assert answer.status is OutboxStatus.CANCELLED
    assert DESK in (answer.last_detail or "")


def test_what_the_page_sent_renders_again_to_the_same_bytes(office: Office) -> None:
    browser = Browser(proposed_in(office).office)
    case = _case_of(browser)
    browser.act(case, "own words", [("price.txt", b"9 EUR\n", "text/plain")], words="Look at the file.")
    page = browser.get(f"{case}/replay")
    assert "differs" not in page
    assert page.count("identical") >= 2


def test_a_read_user_sees_the_case_and_finds_no_button(office: Office) -> None:
    page = BY_PROXY.model_copy(update={"readers": (ADA,)})
    browser = Browser(proposed_in(office).office, address=ADA, page=page)
    case = _case_of(browser)
    assert "What the customer would get" in browser.get(case)
    assert not browser.forms(case)


def test_the_evidence_of_a_question_is_shown_in_its_document(office: Office) -> None:
    office, _ = with_rooms(office, refund=found(says(1, 26)))
    proposed = proposed_in(replace(office, settings=office.decider.settings))
    browser = Browser(proposed.office)
    assert f"/facts/{proposed.mail_id}/1" in browser.get(_case_of(browser))
    page = browser.client.get(f"{_case_of(browser)}/facts/{proposed.mail_id}/1")
    assert page.status_code == 200
    assert "<mark" in page.text
    assert "sandbox" in page.headers["content-security-policy"]


def _with_staff(office: Office) -> Office:
    desk = office.settings.desk.model_copy(update={"staff": (ADA,)})
    return replace(office, settings=office.settings.model_copy(update={"desk": desk}))


def test_a_person_may_write_again_and_close_again(office: Office) -> None:
    """A packet's keys work once; what the page offers after that is an order of the case, or a further reply."""
    browser = Browser(proposed_in(office).office)
    case = _case_of(browser)
    for words in ("First.", "Second."):
        assert "leave now" in browser.act(case, "own words", words=words)
    assert len(office.store.outbox.find(kind=OutgoingKind.PERSON_REPLY)) == 2
    for _ in range(2):
        assert "Closed." in browser.act(case, "close")
        browser.act(case, "reopen")


def test_an_act_that_died_half_way_is_finished_by_the_worker(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mail of the act is new until it is done: the worker takes it up like any mail of staff."""
    proposed = proposed_in(office)
    browser = Browser(proposed.office)
    form = browser.forms(_case_of(browser))["approve"]
    with monkeypatch.context() as patched:
        patched.setattr("support_agent.workflow.approval.Approval.of", _die)
        assert browser.send(form).status_code == 500
    assert status_of(office, proposed.answer) == OutboxStatus.PROPOSED
    (mail,) = office.store.mails.find(status=MailStatus.NEW)
    handle(mail.id, once(), proposed.office.stages)
    assert status_of(office, proposed.answer) in (OutboxStatus.READY, OutboxStatus.SENT)


def _die(*_: object, **__: object) -> None:
    raise RuntimeError
