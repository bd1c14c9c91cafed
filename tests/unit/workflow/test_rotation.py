"""`agent.secret` is changed: what the previous one has signed still counts, until it is taken out of the settings."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import SecretStr

from support_agent.cases.commands import Command
from support_agent.mail.keys import envelope_id, is_own_message_id, named_id
from support_agent.mail.machines.screening import OWN_MAIL_RULE
from support_agent.store.records import OutgoingKind
from tests.fakes_desk import order, proposed_in, status_of, told
from tests.fakes_journey import JAMES, NOON, Clock, Office, with_agent, write
from tests.unit.seen import HUMAN, REFUND, one

OLD, NEW = SecretStr("0123456789abcdef0123456789abcdef"), SecretStr("fedcba9876543210fedcba9876543210")


def rotated(office: Office, *previous: SecretStr) -> Office:
    """The office with a new secret, and these previous ones."""
    return with_agent(office, secret=NEW, previous_secrets=previous)


def answer_to(office: Office, raw: bytes) -> str:
    mail_id, _ = office.handle(raw)
    return office.sent(mail_id)[OutgoingKind.ANSWER].message_id


def test_new_mails_are_signed_with_the_new_secret_only(office: Office) -> None:
    made = answer_to(rotated(office, OLD), write(REFUND))
    assert is_own_message_id((NEW,), made)
    assert not is_own_message_id((OLD,), made)


def test_an_old_thread_goes_on_after_a_rotation(office: Office) -> None:
    """A reply to an answer of before joins its case."""
    own_id = answer_to(office, write(REFUND))
    reply, _ = rotated(office, OLD).handle(write(HUMAN, in_reply_to=own_id, number=2))
    (first,) = office.store.outbox.find(message_id=own_id)
    assert one(office, reply).case_id == first.case_id


@pytest.mark.parametrize("is_kept", [True, False])
def test_an_old_mail_of_ours_is_known_until_its_secret_is_removed(office: Office, is_kept: bool) -> None:
    """It comes back in a loop, by its Message-ID; and a bounce names it by its envelope id."""
    own_id = answer_to(office, write(REFUND))
    after = rotated(office, *([OLD] if is_kept else []))
    looped = write(REFUND, sender=JAMES).replace(b"Message-ID: <", b"X-Before: <", 1)
    looped = f"Message-ID: {own_id}\r\n".encode() + looped
    mail_id, _ = after.handle(looped)
    assert (one(office, mail_id).screening_rule == OWN_MAIL_RULE) is is_kept
    domain = office.settings.agent.address.rpartition("@")[2]
    assert named_id(after.settings.agent.secrets, domain, envelope_id(own_id)) == (own_id if is_kept else None)


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_command_of_the_desk_works_until_its_secret_is_removed(office: Office, is_kept: bool) -> None:
    """Its packet was made before the rotation."""
    given = proposed_in(office)
    after = rotated(given.office, *([OLD] if is_kept else []))
    mail_id = order(after, given.lines["approve"])
    assert status_of(after, given.answer) == ("sent" if is_kept else "proposed")
    assert bool(told(after, mail_id)) is not is_kept


def test_a_command_of_the_desk_still_expires_after_a_rotation(office: Office) -> None:
    given = proposed_in(office)
    valid = timedelta(hours=given.office.settings.desk.key_valid_h)
    after = replace(rotated(given.office, OLD), clock=Clock(NOON + valid + valid))
    mail_id = order(after, given.lines["approve"])
    assert status_of(after, given.answer) == "proposed"
    assert "its key expired" in told(after, mail_id)


def test_a_command_that_was_used_with_the_old_secret_is_not_offered_with_the_new_one(office: Office) -> None:
    """Failure: the desk's page made a key of the new secret, which nobody had used."""
    given = proposed_in(office)
    case_id = one(office, given.mail_id).case_id
    assert case_id is not None
    order(given.office, given.lines["approve"])
    before, after = (at.wired.desk.offer(case_id) for at in (given.office, rotated(given.office, OLD)))
    assert before is not None
    assert after is not None
    assert set(after.keys) == set(before.keys)
    assert Command.APPROVE not in after.keys
    assert set(after.keys.values()).isdisjoint(before.keys.values())
