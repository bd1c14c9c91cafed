"""Who a sender is, once recorded, stays so: rows S21 and S24 within the journey."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support_agent.company.accounts import Accounts
from support_agent.company.values import Customer
from support_agent.errors import ConfigError, PermanentError, SupportAgentError
from support_agent.pipeline import handle
from support_agent.store.records import OutgoingKind
from support_agent.workflow.stages import Stages
from tests.dkim_signing import Names, make_key, sign
from tests.fakes_journey import ANNA, DESK, Office, once, twice, write

KEY = make_key()
PUBLISHED = {"s1._domainkey.example.net": KEY.record, "s1._domainkey.harborfile.example": KEY.record}
SEATS = "How many seats have we paid for?"


def stages_of(office: Office, lookup: Names) -> Stages:
    """The office's stages in a house whose mail server says nothing of DKIM."""
    agent = office.settings.agent.model_copy(update={"authserv_ids": (), "verify_dkim": True})
    settings = office.settings.model_copy(update={"agent": agent})
    return replace(office, settings=settings, lookup_txt=lookup).stages


def test_s21_a_customer_whose_mail_we_verify_gets_the_own_values(office: Office) -> None:
    lookup = Names(PUBLISHED)
    mail_id = office.receive(sign(write(SEATS, proof=None), KEY, "example.net"))
    handle(mail_id, once(), stages_of(office, lookup))
    recorded = office.store.mails.get(mail_id)
    assert recorded is not None
    assert (recorded.level, recorded.sender_why) == (
        3,
        "DKIM signature of example.net, checked by us, a known customer",
    )
    assert OutgoingKind.ANSWER in office.sent(mail_id)


def test_s21_the_dns_is_asked_once_a_mail_however_often_the_journey_runs(office: Office) -> None:
    """A key that is gone tomorrow, or a DNS that fails, changes nothing of what was found."""
    lookup = Names(PUBLISHED)
    mail_id = office.receive(sign(write(SEATS, proof=None), KEY, "example.net"))
    stages = stages_of(office, lookup)
    handle(mail_id, twice(), stages)
    handle(mail_id, once(), stages_of(office, Names({}, silent=["s1._domainkey.example.net"])))
    assert len(lookup.asked) == 1
    assert stages.identify(stages.parse(mail_id)).level == 3


def test_s21_a_dns_that_does_not_answer_sends_the_mail_to_a_person(office: Office) -> None:
    silent = Names(PUBLISHED, silent=["s1._domainkey.example.net"])
    mail_id = office.receive(sign(write(SEATS, proof=None), KEY, "example.net"))
    handle(mail_id, once(), stages_of(office, silent))
    recorded = office.store.mails.get(mail_id)
    assert recorded is not None
    assert recorded.level == 0
    assert recorded.sender_why is not None
    assert "the DNS did not answer" in recorded.sender_why
    assert set(office.sent(mail_id)) == {OutgoingKind.PACKET}


def test_s21_a_copy_is_known_by_what_was_recorded_of_the_first(office: Office) -> None:
    """The key may be gone when the copy comes; the copy then proves less and is filed."""
    raw = sign(write(SEATS, proof=None), KEY, "example.net")
    stages = stages_of(office, Names(PUBLISHED))
    handle(office.receive(raw), once(), stages)
    lookup = Names({})
    copy = office.receive(b"Received: from elsewhere by elsewhere\r\n" + raw)
    assert handle(copy, once(), stages_of(office, lookup)) == "filed"
    assert office.sent(copy) == {}
    assert [name for name, _ in lookup.asked] == ["s1._domainkey.example.net"]


def test_s21_staff_whom_we_verify_may_answer_a_packet(office: Office) -> None:
    stages = stages_of(office, Names(PUBLISHED))
    first = office.receive(sign(write("Let me talk to a human.", sender=ANNA, proof=None), KEY, "example.net"))
    handle(first, once(), stages)
    packet = office.sent(first)[OutgoingKind.PACKET]
    reply = write("We will call you today.", sender=DESK, proof=None, in_reply_to=packet.message_id)
    unsigned = office.receive(reply)
    handle(unsigned, once(), stages)
    assert OutgoingKind.PERSON_REPLY not in office.sent(unsigned)
    signed = office.receive(sign(reply, KEY, "harborfile.example"))
    handle(signed, once(), stages)
    assert OutgoingKind.PERSON_REPLY in office.sent(signed)


UNUSABLE = (
    PermanentError("not text but NoneType", code="account_value"),
    ConfigError("more than one customer for one address", code="accounts"),
)


@pytest.mark.parametrize("error", UNUSABLE, ids=["a value", "the query"])
def test_a_sender_whose_account_data_cannot_be_used_is_no_customer_and_a_person_hears_why(
    office: Office, monkeypatch: pytest.MonkeyPatch, error: SupportAgentError
) -> None:
    """Failure: a customer without a name in the database got no answer, and the desk heard of none of her mails."""
    monkeypatch.setattr(Accounts, "customer", _raising(error))
    mail_id, outcome = office.handle(write(SEATS))
    recorded = office.store.mails.get(mail_id)
    assert recorded is not None
    assert (outcome, recorded.level) == ("escalated", 2)
    assert recorded.sender_why is not None
    assert str(error) in recorded.sender_why
    assert set(office.sent(mail_id)) == {OutgoingKind.PACKET, OutgoingKind.ACKNOWLEDGEMENT}


@pytest.mark.parametrize("error", UNUSABLE, ids=["a value", "the query"])
def test_a_customer_whose_account_data_cannot_be_used_any_more_gets_a_person(
    office: Office, monkeypatch: pytest.MonkeyPatch, error: SupportAgentError
) -> None:
    """They were read when the mail came, and not when it was decided: after a pause, say."""
    mail = office.stages.parse(office.receive(write(SEATS)))
    assert office.stages.identify(mail).level == 3
    monkeypatch.setattr(Accounts, "customer", _raising(error))
    assert handle(mail.id, once(), office.stages) == "escalated"
    assert set(office.sent(mail.id)) == {OutgoingKind.PACKET, OutgoingKind.ACKNOWLEDGEMENT}


def _raising(error: SupportAgentError) -> object:
    def customer(_accounts: Accounts, _address: str) -> Customer | None:
        raise error

    return customer
