"""S12: the same answer is not sent to the same sender twice, nor in a case; and what makes it another answer."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from pydantic import JsonValue
from sqlalchemy import text

from support_agent.company.values import Count
from support_agent.config.settings import EngineSettings
from support_agent.engine.steps import Steps, Work
from support_agent.ops.replay import plan_again
from support_agent.pipeline import handle
from support_agent.store.records import CaseState
from support_agent.transport.submission import Delivery
from tests.fakes_journey import ANNA, JAMES, NOON, Clock, Office, once, twice, with_agent, write
from tests.unit.seen import (
    ACKNOWLEDGEMENT,
    ANSWER,
    CANCEL,
    PACKET,
    REFUND,
    SEATS,
    one,
    reason_told,
    state,
    text_of,
)


def test_s12_same_answer_is_not_sent_to_the_same_sender_twice(office: Office) -> None:
    """In a new case too: it did not help, or a machine asks; the desk reads when and where it went out."""
    first, _ = office.handle(write(REFUND))
    second, outcome = office.handle(write(REFUND, number=2))
    assert (outcome, set(office.sent(second))) == ("escalated", {PACKET, ACKNOWLEDGEMENT})
    code, why = reason_told(office, second)
    assert code == "repeated"
    assert why == f"the same was answered on 2026-11-20 12:00 UTC, in case {one(office, first).case_id}"


def test_s12_of_two_mails_that_are_decided_at_the_same_time_one_gets_the_answer(office: Office) -> None:
    """While the first is decided, another thread or worker decides and answers the second."""
    second: list[str] = []

    def record(name: str, work: Work) -> JsonValue:
        result = work()
        if name == "decide" and not second:
            second.append("handled meanwhile")
            second[:] = [office.handle(write(REFUND, number=2))[1]]
        return result

    first = office.receive(write(REFUND))
    outcome = handle(first, Steps(record, EngineSettings(), lambda _s: None), office.stages)
    assert (second, outcome) == (["answered"], "escalated")
    assert set(office.sent(first)) == {PACKET, ACKNOWLEDGEMENT}
    code, why = reason_told(office, first)
    assert (code, str(why).partition(" UTC, in case ")[0]) == ("repeated", "the same was answered on 2026-11-20 12:00")


def test_s12_same_answer_in_the_same_case_goes_to_a_person(office: Office) -> None:
    """A follow-up whose answer is the one that it follows."""
    first, _ = office.handle(write(REFUND))
    again, outcome = office.handle(write(REFUND, in_reply_to=office.sent(first)[ANSWER].message_id, number=2))
    assert (outcome, one(office, again).reason_code) == ("escalated", "repeated")
    assert state(office, first) is CaseState.WITH_PERSON


def test_s12_answer_of_a_version_that_kept_no_tables_is_not_sent_again(office: Office) -> None:
    """The same sentences are the same answer, however the lists and tables in them are set since."""
    first, _ = office.handle(write(REFUND))
    with office.store.database.write() as connection:
        connection.execute(
            text(
                "UPDATE rendered_mails SET payload = REPLACE(payload, '\"keeps_form\": true', '\"keeps_form\": false')"
            )
        )
    answer = office.store.outbox.rendered_mail(first, ANSWER)
    assert answer is not None
    assert '"keeps_form": false' in json.dumps(answer.payload)
    second, _ = office.handle(write(REFUND, number=2))
    assert reason_told(office, second)[0] == "repeated"


def with_colleague(raw: bytes) -> bytes:
    """The same mail, to James too."""
    return raw.replace(b"Subject:", f"Cc: {JAMES}\r\nSubject:".encode(), 1)


@pytest.mark.parametrize(("days", "age_days"), [(7, 0), (7, 8), (0, 0), (0, 8)])
@pytest.mark.parametrize("sender", [ANNA, JAMES])
def test_s12_what_the_case_was_answered_is_known_whoever_asks_and_however_late(
    office: Office, sender: str, days: int, age_days: int
) -> None:
    """A case is one conversation: a colleague has read the answer too; `identical_answer_days` is for other cases."""
    office = with_agent(office, identical_answer_days=days)
    first, _ = office.handle(with_colleague(write(REFUND)))
    office.clock = Clock(NOON + timedelta(days=age_days, minutes=1))
    thread = office.sent(first)[ANSWER].message_id
    again, outcome = office.handle(write(REFUND, sender=sender, in_reply_to=thread, number=2), twice())
    case_id = one(office, first).case_id
    assert (outcome, one(office, again).case_id) == ("escalated", case_id)
    assert reason_told(office, again) == (
        "repeated", f"the same was answered on 2026-11-20 12:00 UTC, in case {case_id}",
    )  # fmt: skip
    replanned = plan_again(office.store, office.dry_run, [first, again])
    assert [entry.status for entry in replanned] == ["same", "same"]


def test_s12_another_question_in_the_case_is_answered(office: Office) -> None:
    """What was said is known, and nothing else is."""
    first, _ = office.handle(write(REFUND))
    assert office.handle(write(CANCEL, in_reply_to=office.sent(first)[ANSWER].message_id))[1] == "answered"


def test_s12_only_the_part_that_was_sent_before_goes_to_a_person(office: Office) -> None:
    """The other question is answered, and the customer reads that a person has the rest."""
    office.handle(write(REFUND, sender=JAMES))
    both, outcome = office.handle(write(f"1. Can I get a refund?\r\n2. {CANCEL}", sender=JAMES))
    assert (outcome, set(office.sent(both))) == ("answered", {ANSWER, PACKET})
    assert "document no. 2" in text_of(office.sent(both)[ANSWER])
    assert "document no. 1" not in text_of(office.sent(both)[ANSWER])
    assert reason_told(office, both)[0] == "repeated"


@pytest.mark.parametrize(("days", "age_days", "outcome"), [(7, 6, "escalated"), (7, 8, "answered"), (0, 0, "answered")])
def test_s12_same_answer_may_go_out_again_after_some_days(
    office: Office, days: int, age_days: int, outcome: str
) -> None:
    """`agent.identical_answer_days`; 0: at once."""
    office = with_agent(office, identical_answer_days=days)
    office.handle(write(REFUND))
    office.clock = Clock(NOON + timedelta(days=age_days, minutes=1))
    assert office.handle(write(REFUND, number=2))[1] == outcome


def test_s12_answer_with_another_value_is_another_answer(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anna has bought seats in between, so what she asks again has news for her."""
    office.handle(write(SEATS))
    assert office.handle(write(SEATS, number=2))[1] == "escalated"
    changed = Count(count=13)
    monkeypatch.setattr(type(office.decider.company.accounts), "field", lambda *_: changed)
    assert office.handle(write(SEATS, number=3))[1] == "answered"


def test_s12_answer_that_is_known_not_to_have_gone_out_is_made_again(office: Office) -> None:
    """The customer has not read it."""
    office.transport.deliveries = [Delivery(status="failed", detail="550 no")]
    office.handle(write(REFUND))
    assert office.handle(write(REFUND, number=2))[1] == "answered"


def test_s12_answer_to_a_forged_mail_keeps_no_answer_from_the_address_owner(office: Office) -> None:
    """The owner may have had it, but has not asked."""
    office.handle(write(REFUND, proof="spf"))
    assert office.handle(write(REFUND, number=2))[1] == "answered"


def test_s12_same_answer_to_another_sender_is_sent(office: Office) -> None:
    """Each has read only what was sent to the own address."""
    office.handle(write(REFUND))
    assert office.handle(write(REFUND, sender=JAMES))[1] == "answered"


def test_s12_journey_that_lost_its_record_does_not_take_its_own_answer_for_an_earlier_one(office: Office) -> None:
    mail_id, _ = office.handle(write(REFUND), twice())
    assert handle(mail_id, once(), office.stages) == "answered"
    assert set(office.sent(mail_id)) == {ANSWER}


def test_s12_the_same_answer_that_was_given_while_the_clock_was_ahead_is_known(office: Office) -> None:
    office.clock = Clock(NOON + timedelta(days=30))
    office.handle(write(REFUND))
    office.clock = Clock(NOON)
    mail_id, outcome = office.handle(write(REFUND, number=2))
    assert (outcome, reason_told(office, mail_id)[0]) == ("escalated", "repeated")
