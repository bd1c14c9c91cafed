"""The desk by mail: what a person orders with a packet's line is done, once, by the tools and gate of every answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from support_agent.config.settings import CompanySettings
from support_agent.core.modes import Mode
from support_agent.engine.steps import Steps
from support_agent.ops.explain import timeline, why
from support_agent.ops.replay import chosen, replay
from support_agent.store.desk_records import LabelOutcome
from support_agent.store.records import CaseId, CaseState, MailStatus, OutboxStatus
from tests.fakes_desk import Proposed, lines_of, order, proposed_in, status_of, told
from tests.fakes_journey import ANNA, DESK, JAMES, STRANGER, Office, office_in, once, twice, write
from tests.fakes_worker import FakeMailbox, Shift
from tests.journey.test_staff_files import with_file
from tests.unit.seen import ANSWER, CANCEL, FAILURE, HUMAN, PACKET, PERSON_REPLY, REFUND, one, opened, state, text_of


class Traces(NamedTuple):
    """All that a command leaves: in the store, and what was sent to whom."""

    told: str
    labels: Sequence[object]
    outbox: Sequence[object]
    updates: Sequence[object]
    changes: Sequence[object]
    given: Sequence[str]


def to_customer(office: Office, address: str = JAMES) -> list[bytes]:
    return [raw for recipient, raw in office.transport.given if recipient == address]


def assert_replays(office: Office, given: Proposed) -> None:
    """Each mail of the case renders again to its bytes, and each line of an answer has a source."""
    case_id = str(given.answer.case_id)
    assert all(entry.is_identical for entry in replay(office.store, chosen(office.store, case=case_id)))
    answers = [mail for mail in why(office.store, case_id) if mail.kind is ANSWER]
    assert answers
    assert all(part.what for mail in answers for line in mail.lines for part in line.sources)


def is_said_to_be_approved(text: str) -> bool:
    """Whether the mail says that a person decided, and not that nobody has read the customer's mail."""
    return "A person in our team has approved it." in text and "No person has read" not in text


@pytest.mark.parametrize("mode", [Mode.SHADOW, Mode.APPROVE])
def test_approve_sends_the_answer_as_it_was_shown(office: Office, mode: Mode) -> None:
    """The bytes of the packet's proposal; the case is the machine's again, and shows who said so."""
    given = proposed_in(office, mode)
    mail_id = order(given.office, given.lines["approve"])
    assert to_customer(office)[1:] == [given.answer.raw]
    assert (status_of(office, given.answer), state(office, given.mail_id)) == ("sent", CaseState.OPEN)
    assert one(office, mail_id).status is MailStatus.FILED
    story = timeline(office.store, str(given.answer.case_id))
    assert is_said_to_be_approved(text_of(given.answer))
    (settled,) = next(sent.delivery_updates for sent in story.mails[0].sent if sent.record.kind is ANSWER)
    assert settled.detail == f"approved by {DESK}, says mail {mail_id}"
    assert_replays(office, given)


def test_approve_gives_no_case_back_while_another_packet_of_it_is_open(office: Office) -> None:
    """Failure: a colleague's claim was gone, and the machine answered while the second mail still waited."""
    given = proposed_in(office)
    order(given.office, given.lines["claim"])
    parent = one(office, given.mail_id).message_id
    given.office.handle(write(HUMAN, sender=JAMES, in_reply_to=parent, number=9))
    order(given.office, given.lines["approve"], number=51)
    case = office.store.cases.get_one(str(given.answer.case_id))
    assert (status_of(office, given.answer), case.state, case.assignee) == ("sent", CaseState.WITH_PERSON, DESK)


def test_an_approval_that_leaves_nothing_open_gives_the_case_back(office: Office) -> None:
    """The other packet of the case was answered before."""
    given = proposed_in(office)
    parent = one(office, given.mail_id).message_id
    second, _ = given.office.handle(write(HUMAN, sender=JAMES, in_reply_to=parent, number=9))
    packet = office.sent(second)[PACKET].message_id
    given.office.handle(write("We call you.", sender=DESK, in_reply_to=packet, number=10))
    assert state(office, second) is CaseState.WITH_PERSON
    order(given.office, given.lines["approve"], number=51)
    assert (status_of(office, given.answer), state(office, second)) == ("sent", CaseState.OPEN)


def test_the_words_of_a_reply_do_as_well_as_the_link(office: Office) -> None:
    """The line alone above the quotation of the packet."""
    given = proposed_in(office)
    packet = office.sent(given.mail_id)[PACKET]
    quoted = "\r\n".join(f"> {line}" for line in text_of(packet).splitlines())
    text = f"{given.lines['approve']}\r\n\r\nOn Fri, 20 Nov 2026 at 12:00, Support <a@b.example> wrote:\r\n{quoted}"
    reply, _ = given.office.handle(write(text, sender=DESK, in_reply_to=packet.message_id, number=7))
    Shift(given.office, FakeMailbox([])).work()
    assert (status_of(office, given.answer), told(office, reply)) == ("sent", "")


def test_another_document_is_sent_instead(office: Office) -> None:
    """Made by the tool, the templates and gate of every answer; the proposal is withdrawn, a person has the case."""
    given = proposed_in(office)
    mail_id = order(given.office, given.lines["document 1"].replace("document 1", "document 2"))
    (sent,) = to_customer(office)[1:]
    row = office.sent(mail_id)[ANSWER]
    assert (row.raw, row.recipient, row.status) == (sent, JAMES, OutboxStatus.SENT)
    assert "document no. 2" in text_of(row)
    assert is_said_to_be_approved(text_of(row))
    assert (status_of(office, given.answer), state(office, given.mail_id)) == ("cancelled", CaseState.WITH_PERSON)
    assert_replays(office, given)


@pytest.mark.parametrize(("proof", "is_threaded"), [("dmarc", True), ("spf", False)])
def test_a_document_that_a_person_chose_names_the_mail_of_a_proven_sender_alone(
    office: Office, proof: str, is_threaded: bool
) -> None:
    """Rule: a forged mail's ids must not put the company's answer into another conversation of the address's owner."""
    asked, _ = office.handle(write(HUMAN, sender=JAMES, proof=proof))
    mail_id = order(office, lines_of(office.sent(asked)[PACKET])["document 1"])
    assert (b"\nIn-Reply-To:" in office.sent(mail_id)[ANSWER].raw) is is_threaded


def test_a_document_answers_a_mail_for_which_nothing_was_proposed(office: Office) -> None:
    """The model was not asked; a person names the document."""
    asked, _ = office.handle(write(f"{HUMAN} About a refund.", sender=JAMES))
    line = lines_of(office.sent(asked)[PACKET])["document 1"]
    mail_id = order(office, line)
    assert "document no. 1" in text_of(office.sent(mail_id)[ANSWER])


def test_own_words_are_passed_on_and_the_proposal_is_withdrawn(office: Office) -> None:
    given = proposed_in(office)
    mail_id = order(given.office, given.lines["own words"], "Dear James,\r\nwe will call you.")
    assert text_of(office.sent(mail_id)[PERSON_REPLY]) == "Dear James,\nwe will call you.\n"
    assert status_of(office, given.answer) == "cancelled"


@pytest.mark.parametrize("words", ["close", "approve"])
def test_own_words_that_read_like_a_command_stay_here(office: Office, words: str) -> None:
    """As in a plain reply. Failure: the order to us reached the customer."""
    given = proposed_in(office)
    mail_id = order(given.office, given.lines["own words"], words)
    assert "it reads like a command" in told(office, mail_id)
    assert (len(to_customer(office)), status_of(office, given.answer)) == (1, "proposed")


def test_own_words_may_carry_the_customers_mail_along(office: Office) -> None:
    """As in a plain reply: what the packet enclosed is not sent back, whatever a mail program calls it."""
    given = proposed_in(office)
    raw = write("We will call you.", subject=given.lines["own words"], sender=DESK, number=50)
    enclosed = office.store.mails.raw(given.mail_id)
    mail_id, _ = given.office.handle(with_file(raw, "forwarded.eml", enclosed, "message/rfc822"))
    assert told(office, mail_id) == ""
    assert list(opened(office.sent(mail_id)[PERSON_REPLY]).iter_attachments()) == []


def test_a_plain_reply_withdraws_the_proposal_as_well(office: Office) -> None:
    """Otherwise somebody could approve it afterwards, and the customer would have two answers."""
    given = proposed_in(office)
    packet = office.sent(given.mail_id)[PACKET].message_id
    given.office.handle(write("We will call you.", sender=DESK, in_reply_to=packet, number=8))
    assert status_of(office, given.answer) == "cancelled"
    mail_id = order(given.office, given.lines["approve"])
    assert "is cancelled" in told(office, mail_id)
    (label,) = office.store.labels.of(given.mail_id)
    assert label.outcome is LabelOutcome.OWN_WORDS


def test_an_approval_that_is_refused_leaves_the_other_commands(office: Office) -> None:
    """Failure: it used up the one answer that commands may send to the mail."""
    given = proposed_in(office)
    packet = office.sent(given.mail_id)[PACKET].message_id
    given.office.handle(write("We look into it.", sender=DESK, in_reply_to=packet, number=8))
    order(given.office, given.lines["approve"])
    mail_id = order(given.office, given.lines["document 1"].replace("document 1", "document 2"), number=51)
    assert (told(office, mail_id), len(to_customer(office))) == ("", 3)
    assert "document no. 2" in text_of(office.sent(mail_id)[ANSWER])


@pytest.mark.parametrize("command", ["close", "spam"])
def test_a_closed_case_sends_nothing(office: Office, command: str) -> None:
    given = proposed_in(office)
    mail_id = order(given.office, given.lines[command])
    assert (status_of(office, given.answer), state(office, given.mail_id)) == ("cancelled", CaseState.CLOSED)
    assert (len(to_customer(office)), told(office, mail_id)) == (1, "")


def test_a_mail_to_a_closed_case_goes_to_a_person(office: Office) -> None:
    """A person has dealt with it, so a machine does not go on by itself."""
    given = proposed_in(office)
    order(given.office, given.lines["close"])
    first = one(office, given.mail_id).message_id
    again, outcome = office.handle(write(CANCEL, sender=JAMES, in_reply_to=first, number=9))
    assert (outcome, one(office, again).reason_code) == ("escalated", "with_person")
    assert state(office, given.mail_id) is CaseState.WITH_PERSON


def test_a_case_is_given_back_to_the_machine(office: Office) -> None:
    """Its next mail is answered again; what is proposed still waits."""
    asked, _ = office.handle(write(HUMAN, sender=JAMES))
    first = one(office, asked).message_id
    order(office, lines_of(office.sent(asked)[PACKET])["give back"])
    assert state(office, asked) is CaseState.OPEN
    _, outcome = office.handle(write(REFUND, sender=JAMES, in_reply_to=first, number=9))
    assert outcome == "answered"


def test_what_the_company_does_not_say_any_more_is_not_approved(office: Office) -> None:
    """A document that was taken away since: the desk hears it, and the answer still waits."""
    given = proposed_in(office)
    company = given.office.decider.company
    without = replace(company, documents=tuple(one for one in company.documents if one.number != 1))
    later = replace(given.office, decider=replace(given.office.decider, company=without))
    mail_id = order(later, given.lines["approve"])
    assert (status_of(office, given.answer), "is not there" in told(office, mail_id)) == ("proposed", True)
    mail_id = order(later, given.lines["document 1"], number=51)
    assert "has changed since" in told(office, mail_id)


def traces(folder: Path, company: CompanySettings, empty_store: Path, command: str, steps: Steps) -> Traces:
    """What a command leaves in an office of its own."""
    folder.mkdir()
    with office_in(folder, company, empty_store) as office:
        given = proposed_in(office)
        words = "Words." if command == "own words" else ""
        mail_id, _ = given.office.handle(write(words, subject=given.lines[command], sender=DESK, number=60), steps)
        for _ in range(2):
            Shift(given.office, FakeMailbox([])).work()
        rows = office.store.outbox.find()
        return Traces(
            told=told(office, mail_id),
            labels=[(label.outcome, label.choice, label.keys) for label in office.store.labels.of(given.mail_id)],
            outbox=sorted((row.id, row.status, row.recipient) for row in rows),
            updates=[(one.before, one.after, one.detail) for row in rows for one in office.store.deliveries.of(row.id)],
            changes=[
                (one.before, one.after, one.why) for one in office.store.cases.changes(CaseId(str(rows[0].case_id)))
            ],
            given=sorted(recipient for recipient, _ in office.transport.given),
        )


@pytest.mark.parametrize("command", ["approve", "document 1", "own words", "close", "give back", "spam", "claim"])
def test_a_command_that_runs_twice_does_no_more(
    tmp_path: Path, company_settings: CompanySettings, empty_store: Path, command: str
) -> None:
    """A process that dies between its work and the record leaves what a single run leaves."""
    single = traces(tmp_path / "once", company_settings, empty_store, command, once())
    assert single.told == ""
    assert traces(tmp_path / "twice", company_settings, empty_store, command, twice()) == single


def test_a_refused_command_is_told_with_lines_that_work(office: Office) -> None:
    """The notice shows the proposal again, with keys of its own."""
    given = proposed_in(office)
    mail_id = order(given.office, given.lines["document 1"].replace("document 1", "document 777"))
    assert "there is no document 777" in told(office, mail_id)
    notice = office.sent(mail_id)[FAILURE]
    assert f"| {text_of(given.answer).splitlines()[0]}" in text_of(notice)
    order(given.office, lines_of(notice)["approve"], number=51)
    assert status_of(office, given.answer) == "sent"


def test_a_document_that_this_sender_may_not_get_is_refused(office: Office) -> None:
    """A person's order does not widen what a machine may send: an unproven sender gets nothing automatic.

    The packet has no such line, but the notice of a refused command does not know the customer's level.
    """
    asked, _ = office.handle(write(HUMAN, sender=STRANGER, proof=None))
    lines = lines_of(office.sent(asked)[PACKET])
    assert "document 1" not in lines
    refused = order(office, f"{lines['close'][:-1]}{'A' if lines['close'][-1] != 'A' else 'B'}")
    line = lines_of(office.sent(refused)[FAILURE])["document 1"]
    mail_id = order(office, line, number=51)
    assert "a sender of level 0 gets no automatic mail" in told(office, mail_id)
    assert to_customer(office, STRANGER) == []


@pytest.mark.parametrize(("first", "second"), [("approve", "document 1"), ("document 1", "approve")])
def test_commands_send_one_answer_to_a_mail(office: Office, first: str, second: str) -> None:
    """Two people at the desk, each with a line of the same packet."""
    given = proposed_in(office)
    order(given.office, given.lines[first])
    late = order(given.office, given.lines[second], number=51)
    assert len(to_customer(office)) == 2  # the acknowledgement and one answer
    assert told(office, late)


def test_approved_answers_count_for_the_customer_alone(office: Office) -> None:
    given = proposed_in(office, sender=ANNA)
    order(given.office, given.lines["approve"])
    assert [recipient for recipient, _ in office.transport.given] == [DESK, ANNA, ANNA]
