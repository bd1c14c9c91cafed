"""What becomes of a mail whose notice was made while the company's database did not answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from unittest.mock import patch

import pytest

from support_agent.company.accounts import Accounts
from support_agent.errors import ConfigError, SupportAgentError, TransientError
from support_agent.pipeline import handle
from support_agent.store.records import CaseId, CaseState, MailId, MailStatus, OutgoingKind
from support_agent.workflow.desk_commands import DeskCommands
from tests.fakes_desk import lines_of
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, Clock, Office, once, with_agent, write
from tests.unit.seen import HUMAN, one, opened, reason_told, state, text_of

PACKET, FAILURE, PERSON_REPLY = OutgoingKind.PACKET, OutgoingKind.FAILURE, OutgoingKind.PERSON_REPLY
AWAY = TransientError("the company's database does not answer", code="accounts")
SEATS = "How many seats have we paid for?"


def quarantined(office: Office, monkeypatch: pytest.MonkeyPatch, then: Exception = AWAY, text: str = SEATS) -> MailId:
    """A customer's mail set aside while the company's database is away; `then` is the error of a second question."""
    mail_id, errors = office.receive(write(text)), iter([AWAY])

    def fail(*_: object) -> None:
        raise next(errors, then)

    with monkeypatch.context() as patched:
        patched.setattr(Accounts, "customer", fail)
        office.stages.notices.quarantine(mail_id, AWAY)
    return mail_id


def quarantined_case(office: Office, monkeypatch: pytest.MonkeyPatch, text: str) -> tuple[MailId, CaseId]:
    """As `quarantined`, and the case that the notice names."""
    mail_id = quarantined(office, monkeypatch, text=text)
    case_id = office.sent(mail_id)[FAILURE].case_id
    assert case_id is not None
    return mail_id, case_id


def second_packet(office: Office, first: MailId) -> MailId:
    """A second mail of the customer in the case of the first, which a person gets when the database is back."""
    answered = office.stages.parse(first).message.message_id
    second, _ = office.handle(write("Is there news?", in_reply_to=answered, number=2))
    assert PACKET in office.sent(second)
    return second


def test_a_person_hears_of_the_mail_though_the_next_error_of_the_database_is_another(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: a database that came back without its tables made the notice fail, and nobody heard of the mail."""
    mail_id = quarantined(office, monkeypatch, ConfigError("no such table"))
    mail = office.store.mails.get(mail_id)
    assert mail is not None
    assert (mail.status, set(office.sent(mail_id))) == (MailStatus.QUARANTINED, {FAILURE})


def test_the_notice_asks_the_database_once(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question to one that hangs holds up the round for `[database] timeout_s`."""
    asked: list[str] = []

    def fail(_: Accounts, address: str) -> None:
        asked.append(address)
        raise AWAY

    mail_id = office.receive(write(SEATS))
    monkeypatch.setattr(Accounts, "customer", fail)
    office.stages.notices.quarantine(mail_id, AWAY)
    assert (asked, set(office.sent(mail_id))) == ([ANNA], {FAILURE})


def test_the_address_is_recorded_and_the_level_is_not(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    mail = office.store.mails.get(quarantined(office, monkeypatch))
    assert mail is not None
    assert (mail.sender_address, mail.level) == (ANNA, None)


def test_a_persons_answer_to_a_later_mail_of_the_author_ends_the_wait_of_that_mail(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: its author was unknown, so the case was reminded of for ever."""
    first = quarantined(office, monkeypatch)
    packet = office.sent(second_packet(office, first))[PACKET]
    assert packet.case_id is not None
    assert first in office.store.waits.mails(packet.case_id)
    reply, _ = office.handle(write("We look at it.", sender=DESK, in_reply_to=packet.message_id, number=3))
    assert set(office.sent(reply)) == {PERSON_REPLY}
    assert not office.store.waits.mails(packet.case_id)


def test_spam_is_not_refused_because_of_another_mail_of_the_same_author(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: "spam: None waits in this case, too"."""
    packet = office.sent(second_packet(office, quarantined(office, monkeypatch)))[PACKET]
    assert packet.case_id is not None
    order, _ = office.handle(write("", subject=lines_of(packet)["spam"], sender=DESK, number=3))
    assert not office.sent(order)
    case = office.store.cases.get(packet.case_id)
    assert case is not None
    assert case.state is CaseState.CLOSED


@contextmanager
def away() -> Iterator[None]:
    """The company's database does not answer in the block."""
    with patch.object(Accounts, "customer", side_effect=AWAY):
        yield


def arrive(office: Office, *raws: bytes) -> list[MailId]:
    """What becomes of these mails: the worker quarantines one whose journey fails."""
    mail_ids = [office.receive(raw) for raw in raws]
    for mail_id in mail_ids:
        try:
            handle(mail_id, once(), office.stages)
        except SupportAgentError as error:
            office.stages.notices.quarantine(mail_id, error)
    return mail_ids


def test_a_reply_of_staff_reaches_the_customer_while_the_database_is_away(office: Office) -> None:
    """Failure: the reply was set aside, and the desk had a notice as about a customer's mail."""
    (first,) = arrive(office, write(HUMAN))
    packet = office.sent(first)[PACKET]
    with away():
        (reply,) = arrive(office, write("We look at it.", sender=DESK, in_reply_to=packet.message_id, number=2))
    assert set(office.sent(reply)) == {PERSON_REPLY}
    assert one(office, reply).status is MailStatus.FILED


def test_a_command_of_staff_is_carried_out_while_the_database_is_away(office: Office) -> None:
    (first,) = arrive(office, write(HUMAN))
    line = lines_of(office.sent(first)[PACKET])["close"]
    with away():
        (order,) = arrive(office, write("", subject=line, sender=DESK, number=2))
    assert (office.sent(order), state(office, first)) == ({}, CaseState.CLOSED)


def test_a_command_that_needs_the_database_goes_back_to_its_writer_while_it_is_away(office: Office) -> None:
    """Failure: the notice began "A customer's mail needs a person."."""
    (first,) = arrive(office, write(HUMAN))
    line = lines_of(office.sent(first)[PACKET])["document 1"]
    with away():
        (order,) = arrive(office, write("", subject=line, sender=DESK, number=2))
    notice = office.sent(order)[FAILURE]
    assert (set(office.sent(order)), notice.recipient) == ({FAILURE}, DESK)
    assert reason_told(office, order, FAILURE) == ("not_carried_out", f"document: {AWAY}")
    assert text_of(notice).startswith("A command of the desk was not carried out.")
    assert one(office, order).status is MailStatus.QUARANTINED


def test_a_customers_subject_is_no_command_in_the_notice_about_a_reply(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: the notice said that a command was not carried out, so that its writer took the reply for passed on."""
    (first,) = arrive(office, write(HUMAN, subject=f"close {'A' * 26}"))
    packet = office.sent(first)[PACKET]

    def fail(*_: object) -> None:
        raise AWAY

    monkeypatch.setattr(DeskCommands, "pass_on", fail)
    subject = f"Re: {opened(packet)['Subject']}"
    raw = write("We look at it.", sender=DESK, subject=subject, in_reply_to=packet.message_id, number=2)
    (reply,) = arrive(office, raw)
    assert reason_told(office, reply, FAILURE) == ("not_passed_on", str(AWAY))


def test_s12_a_program_at_the_desk_that_answers_each_notice_gets_a_days_most_while_the_database_is_away(
    office: Office,
) -> None:
    """Failure: each answer to a notice made the next notice, until the limit of the hour was reached."""
    office = with_agent(office, max_packets_per_sender_a_day=3)
    (first,) = arrive(office, write(HUMAN))
    packet, told = office.sent(first)[PACKET], []
    answered = packet.message_id
    with away():
        for number in range(2, 8):
            (reply,) = arrive(office, write("> Ticket.", sender=DESK, in_reply_to=answered, number=number))
            told.append(set(office.sent(reply)))
            answered = next((row.message_id for row in office.sent(reply).values()), answered)
    assert told == [{FAILURE}] * 3 + [set()] * 3


def test_s12_a_sender_whose_mails_fail_makes_no_more_notices_than_packets(office: Office) -> None:
    """Failure: while the database was away each mail of one sender made a notice, up to the limit of the hour.

    The first over the limit says so; the others are set aside, and `doctor` counts them. Another sender's are told.
    """
    office = with_agent(office, max_packets_per_sender_a_day=3)
    with away():
        mails = arrive(office, *(write(SEATS, number=number) for number in range(6)))
        (other,) = arrive(office, write(SEATS, sender=JAMES))
    assert [set(office.sent(mail_id)) for mail_id in mails] == [{FAILURE}] * 4 + [set()] * 2
    assert {one(office, mail_id).status for mail_id in mails} == {MailStatus.QUARANTINED}
    assert [reason_told(office, mail_id, FAILURE)[0] for mail_id in mails[:4]] == ["accounts"] * 3 + ["flood"]
    assert set(office.sent(other)) == {FAILURE}
    office = replace(office, clock=Clock(NOON + timedelta(days=1, minutes=1)))
    with away():
        (next_day,) = arrive(office, write(SEATS, number=9))
    assert reason_told(office, next_day, FAILURE)[0] == "accounts"


def test_s12_packets_and_notices_about_one_sender_count_together(office: Office) -> None:
    office = with_agent(office, max_packets_per_sender_a_day=3)
    packets = arrive(office, *(write(HUMAN, number=number) for number in range(2)))
    with away():
        mails = arrive(office, *(write(SEATS, number=number) for number in range(2, 5)))
    assert all(PACKET in office.sent(mail_id) for mail_id in packets)
    assert [reason_told(office, mail_id, FAILURE)[0] for mail_id in mails[:2]] == ["accounts", "flood"]
    assert not office.sent(mails[2])


def test_a_language_that_the_customers_locale_decides_is_noted_when_that_is_known(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failure: a short German mail was taken for Luxembourgish, and the case stayed so."""
    first, case_id = quarantined_case(office, monkeypatch, "Rechnung?")
    assert office.store.cases.get_one(case_id).language is None
    answered = office.stages.parse(first).message.message_id
    office.handle(write("Rechnung?", in_reply_to=answered, number=2))
    assert office.store.cases.get_one(case_id).language == "de"


def test_a_language_that_is_the_only_likely_one_is_noted_at_once(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, case_id = quarantined_case(office, monkeypatch, "Wie ist der Stand?")
    assert office.store.cases.get_one(case_id).language == "de"
