"""What people do on the desk's page is what they would do by mail: one answer, one label, kept with who did it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from support_agent.config.settings import CompanySettings
from support_agent.core.modes import Mode
from support_agent.errors import TransientError
from support_agent.pipeline import handle
from support_agent.store.database import Database
from support_agent.store.desk_records import LabelOutcome
from support_agent.store.mails import Mails
from support_agent.store.records import CaseState, MailStatus, OutboxStatus, OutgoingKind
from tests.fakes_desk import order, proposed_in, status_of
from tests.fakes_journey import DESK, JAMES, Office, office_in, once, with_autonomy, write
from tests.fakes_page import BY_PROXY, Browser, Form, forms_of
from tests.fakes_room import LikelyRooms, found, says
from tests.fakes_worker import FakeMailbox, Shift
from tests.journey.test_fact_room import with_rooms
from tests.unit.seen import HUMAN, REFUND, opened

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


def test_of_two_acts_at_the_same_moment_the_later_one_is_refused(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: the case was compared before the act's mail was in it, and the customer got two answers.

    The first act is a command by mail, which waits for no lock of the page.
    """
    proposed = proposed_in(office)
    browser = Browser(proposed.office)
    form = browser.forms(_case_of(browser))["own words"]
    record = Mails.record

    def after_the_other(self: Mails, *given: Any, **more: Any) -> Any:
        monkeypatch.setattr(Mails, "record", record)
        order(proposed.office, proposed.lines["approve"])
        return record(self, *given, **more)

    monkeypatch.setattr(Mails, "record", after_the_other)
    assert "has changed since you opened it" in browser.send(form, {"words": "We call you."}).text
    assert status_of(office, proposed.answer) == OutboxStatus.SENT
    assert not office.store.outbox.find(kind=OutgoingKind.PERSON_REPLY)


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


LOST = (
    "Please restart it:\n-- \nand call us then.",
    "See below.\n-----Original Message-----\nPress the red button.",
    "You wrote:\n> it is slow\nWhich day was that?",
)
"""Words that a mail program would have quoted or signed with."""


@pytest.mark.parametrize("words", LOST)
def test_what_would_be_left_out_of_own_words_is_shown_before_anything_leaves(office: Office, words: str) -> None:
    """Failure: the page says that the words leave, and the customer gets half of them."""
    browser = Browser(proposed_in(office).office)
    page = browser.act(_case_of(browser), "own words", words=words)
    assert "would be left out" in page
    assert words.splitlines()[-1] in page, "the form still has the words"
    assert not office.store.outbox.find(kind=OutgoingKind.PERSON_REPLY)
    shown = next(form for form in forms_of(page) if "previewed" in form.fields)
    assert "would be left out" in browser.send(shown, {"words": f"Now this.\n{words}"}).text, (
        "other words than were seen"
    )
    assert "Your words leave now." in browser.send(shown, {"words": words}).text
    (reply,) = office.store.outbox.find(kind=OutgoingKind.PERSON_REPLY)
    assert opened(reply).get_content().strip() in words


def test_the_same_words_again_are_not_said_to_leave(office: Office) -> None:
    """Failure: the first mail bounced, the person sends it again, the page says yes, and nothing is sent."""
    browser = Browser(proposed_in(office).office)
    case = _case_of(browser)
    assert "Your words leave now." in browser.act(case, "own words", words="It is fixed.")
    assert "you wrote exactly these words" in browser.act(case, "own words", words="It is fixed.")
    assert "Your words leave now." in browser.act(case, "own words", words="It is fixed, really.")
    assert len(office.store.outbox.find(kind=OutgoingKind.PERSON_REPLY)) == 2


@pytest.mark.parametrize("file", [("original.eml", b"x", "text/plain"), ("a.asc", b"x", "application/pgp-signature")])
def test_a_file_that_would_be_left_out_is_refused(office: Office, file: tuple[str, bytes, str]) -> None:
    browser = Browser(proposed_in(office).office)
    page = browser.act(_case_of(browser), "own words", [file], words="It is attached.")
    assert "would be left out" in page
    assert not office.store.outbox.find(kind=OutgoingKind.PERSON_REPLY)


def test_refused_words_are_still_in_the_form(office: Office) -> None:
    browser = Browser(proposed_in(office).office)
    page = browser.act(_case_of(browser), "own words", words="approve ABC\nIt took me an hour to write this.")
    assert "Nothing was done" in page
    assert "It took me an hour to write this." in page


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


def test_an_act_that_died_right_after_it_was_recorded_is_finished_by_the_worker(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: the mail is stored without its sender, so the worker takes it for a forged one."""
    proposed = proposed_in(office)
    browser = Browser(proposed.office)
    form, record = browser.forms(_case_of(browser))["approve"], Mails.record

    def die_after(*given: Any) -> None:
        record(*given)
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(Mails, "record", die_after)
        assert browser.send(form).status_code == 500
    Shift(proposed.office, FakeMailbox([])).work()
    assert status_of(office, proposed.answer) == OutboxStatus.SENT
    assert len(office.store.cases.recent(10)) == 1


@pytest.mark.parametrize("address", ["postmaster@harborfile.example", "no-reply@harborfile.example"])
def test_an_act_of_a_person_with_a_machines_name_is_finished_by_the_worker(
    office: Office, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """Failure: the worker took it for a machine's mail, and told the person to use the page."""
    desk = office.settings.desk.model_copy(update={"staff": (address,)})
    office = replace(office, settings=office.settings.model_copy(update={"desk": desk}))
    office.handle(write(HUMAN))
    browser = Browser(office, address)
    with monkeypatch.context() as patched:
        patched.setattr("support_agent.workflow.desk_commands.DeskCommands.pass_on", _die)
        assert browser.send(browser.forms(_case_of(browser))["own words"], {"words": "It is fixed."}).status_code == 500
    Shift(office, FakeMailbox([])).work()
    (reply,) = office.store.outbox.find(kind=OutgoingKind.PERSON_REPLY)
    assert reply.status is OutboxStatus.SENT
    assert not office.store.outbox.find(kind=OutgoingKind.FAILURE)


ACTS = {
    "approve": {},
    "document": {},
    "own words": {"words": "It is fixed."},
    "close": {},
    "give back": {},
}
WRITES = range(2, 10)
"""An act's transactions; the first records it. Each is disturbed in one of the ways; all ways take minutes."""
MIDDLE = 4
"""A transaction in the middle of an act."""


def _outcome(office: Office) -> tuple[object, ...]:
    """All that an act changes; what it sends, and whom that reaches."""
    (case,) = (entry.case for entry in office.store.cases.recent(10))
    sent = sorted((row.kind, row.status, len(office.store.deliveries.of(row.id))) for row in office.store.outbox.find())
    labels = [(one.outcome, one.choice, one.who) for one in office.store.labels.valid()]
    changes = [(one.before, one.after, one.who) for one in office.store.cases.changes(case.id)]
    mails = sorted(mail.status for mail in office.store.mails.find())
    given = [to for to, _ in office.transport.given]
    return case.state, case.assignee, sent, labels, changes, mails, given


def _form(browser: Browser, what: str) -> Form:
    case = _case_of(browser)
    return browser.forms(f"{case}?choose=document:2" if what == "document" else case)[what]


@pytest.mark.parametrize("what", ACTS)
def test_whatever_stops_an_act_it_ends_as_if_nothing_had_stopped_it(
    what: str, company_settings: CompanySettings, empty_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is busy or the process dies before or after any write, or the worker comes in between."""

    def ended(name: str, disturb: Callable[[Office, int], None], at: int) -> tuple[object, ...]:
        (tmp_path / name).mkdir()
        with office_in(tmp_path / name, company_settings, empty_store) as office, monkeypatch.context() as patched:
            proposed = proposed_in(office.with_rooms(LikelyRooms()))
            browser = Browser(proposed.office)
            form = _form(browser, what)
            counted = itertools.count(1)
            write = Database.write

            @contextmanager
            def disturbed(database: Database) -> Iterator[Connection]:
                number = next(counted)
                if number == at:
                    disturb(proposed.office, number)
                with write(database) as connection:
                    yield connection
                if number == -at:
                    disturb(proposed.office, number)

            patched.setattr(Database, "write", disturbed)
            browser.send(form, ACTS[what])
            patched.setattr(Database, "write", write)
            Shift(proposed.office, FakeMailbox([])).work()
            return _outcome(office)

    wanted = ended("whole", _busy, 0)
    ways: tuple[Callable[[Office, int], None], ...] = (_busy, _die, _come_in_between)
    for at, disturb in zip(WRITES, itertools.cycle(ways), strict=False):
        assert ended(f"before-{at}", disturb, at) == wanted
    assert ended("after", _busy, -MIDDLE) == wanted


def _busy(*_: object) -> None:
    raise TransientError("busy", code="database")


def _come_in_between(office: Office, _: int) -> None:
    for mail in office.store.mails.find(status=MailStatus.NEW):
        handle(mail.id, once(), office.stages)


def _die(*_: object, **__: object) -> None:
    raise RuntimeError
