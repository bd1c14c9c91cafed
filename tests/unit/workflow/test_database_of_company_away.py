"""What becomes of a mail whose notice was made while the company's database did not answer."""

from __future__ import annotations

import pytest

from support_agent.company.accounts import Accounts
from support_agent.errors import ConfigError, TransientError
from support_agent.store.records import CaseState, MailId, MailStatus, OutgoingKind
from tests.fakes_desk import lines_of
from tests.fakes_journey import ANNA, DESK, Office, write

PACKET, FAILURE, PERSON_REPLY = OutgoingKind.PACKET, OutgoingKind.FAILURE, OutgoingKind.PERSON_REPLY
AWAY = TransientError("the company's database does not answer", code="accounts")
SEATS = "How many seats have we paid for?"


def quarantined(office: Office, monkeypatch: pytest.MonkeyPatch, then: Exception = AWAY) -> MailId:
    """A customer's mail set aside while the company's database is away; `then` is the error of a second question."""
    mail_id, errors = office.receive(write(SEATS)), iter([AWAY])

    def fail(*_: object) -> None:
        raise next(errors, then)

    with monkeypatch.context() as patched:
        patched.setattr(Accounts, "customer", fail)
        office.stages.notices.quarantine(mail_id, AWAY)
    return mail_id


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
