"""The stages on a real store: what goes out for which mail, to whom, and that a stage that runs twice does no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest
from pydantic import JsonValue

from support_agent.answer.templates import Templates
from support_agent.config.packaged_files import packaged
from support_agent.config.settings import EngineSettings
from support_agent.engine.steps import Steps, Work
from support_agent.pipeline import handle
from support_agent.planner.loop import Planner
from support_agent.store.records import (
    CaseState,
    MailStatus,
    OutboxStatus,
)
from support_agent.transport.submission import Delivery
from tests.fakes import PLAIN
from tests.fakes_journey import (
    ANNA,
    DESK,
    JAMES,
    Office,
    SureModel,
    once,
    twice,
    write,
)
from tests.unit.seen import (
    ACKNOWLEDGEMENT,
    ANSWER,
    HUMAN,
    OFF_TOPIC,
    PACKET,
    PERSON_REPLY,
    REFUND,
    TWO,
    one,
    state,
    text_of,
)


def test_question_that_a_document_answers_is_answered(office: Office) -> None:
    """The customer gets the document, the desk nothing, and the case stays with the machine."""
    mail_id, outcome = office.handle(write(REFUND, sender=JAMES))
    sent = office.sent(mail_id)
    assert (outcome, set(sent)) == ("answered", {ANSWER})
    assert sent[ANSWER].recipient == JAMES
    assert sent[ANSWER].status is OutboxStatus.SENT
    assert "document no. 1" in text_of(sent[ANSWER])
    assert state(office, mail_id) is CaseState.OPEN
    assert (one(office, mail_id).status, one(office, mail_id).reason_code) == (MailStatus.ANSWERED, None)
    assert [recipient for recipient, _ in office.transport.given] == [JAMES]


def test_account_value_comes_out_of_the_database(office: Office) -> None:
    """Anna pays for 12 seats; her language is German, so the answer is."""
    mail_id, _ = office.handle(write("How many seats have we paid for?"))
    assert "Bezahlte Plätze: 12" in text_of(office.sent(mail_id)[ANSWER])


def test_series_is_fetched_and_aggregated(office: Office) -> None:
    """Every call of the chain is recorded with its arguments; the total is shown with its period."""
    mail_id, outcome = office.handle(write("What did I pay in total last year?", sender=JAMES))
    assert outcome == "answered"
    plan = office.store.plans.get(mail_id)
    assert plan is not None
    assert [call.tool for call in plan.calls] == [
        "find_documents", "fetch_series", "aggregate", "send_aggregate", "finish",
    ]  # fmt: skip
    assert "from 1 January 2025" in text_of(office.sent(mail_id)[ANSWER])


def test_each_call_is_recorded_with_the_time_it_took(office: Office) -> None:
    """Which choice was slow is the first question when mails are."""
    ticks = count()
    planner = Planner(SureModel(), office.settings.planner, lambda: next(ticks) / 1000, combiner=PLAIN)
    slow = replace(office, decider=replace(office.decider, planner=planner))
    mail_id, _ = slow.handle(write(REFUND, sender=JAMES))
    plan = slow.store.plans.get(mail_id)
    assert plan is not None
    taken = [call.seconds for call in plan.calls]
    assert all(seconds > 0 for seconds in taken)
    assert sum(taken) <= plan.seconds


def test_question_that_nothing_answers_goes_to_a_person(office: Office) -> None:
    """The desk gets the packet, the customer an acknowledgement that says nothing of the question."""
    mail_id, outcome = office.handle(write(OFF_TOPIC, sender=JAMES, subject="Saturday"))
    sent = office.sent(mail_id)
    assert (outcome, set(sent)) == ("escalated", {PACKET, ACKNOWLEDGEMENT})
    assert (sent[PACKET].recipient, sent[ACKNOWLEDGEMENT].recipient) == (DESK, JAMES)
    assert "table for four" in text_of(sent[PACKET])
    assert "table" not in text_of(sent[ACKNOWLEDGEMENT])
    assert state(office, mail_id) is CaseState.WITH_PERSON
    assert one(office, mail_id).reason_code == "not_covered"


def test_acknowledgement_is_in_the_customers_language(office: Office) -> None:
    """A known German customer is not told in English that a person has the case."""
    mail_id, _ = office.handle(write(OFF_TOPIC))
    assert "Guten Tag" in text_of(office.sent(mail_id)[ACKNOWLEDGEMENT])


def test_unsure_choice_does_not_happen(office: Office) -> None:
    """Below its threshold a call is recorded and not made."""
    office = office.with_model(0.9, threshold=1.0)
    mail_id, outcome = office.handle(write(REFUND))
    assert (outcome, one(office, mail_id).reason_code) == ("escalated", "unsure")
    plan = office.store.plans.get(mail_id)
    assert plan is not None
    assert [call.status.value for call in plan.calls if call.tool == "send_document"] == ["below_threshold"]


def test_two_questions_of_which_one_is_answered(office: Office) -> None:
    """The answer says how many were answered; the desk gets the rest with what the customer was told."""
    mail_id, outcome = office.handle(write(TWO, sender=JAMES))
    sent = office.sent(mail_id)
    assert (outcome, set(sent)) == ("answered", {ANSWER, PACKET})
    answer = text_of(sent[ANSWER])
    assert "1 of your 2 questions is answered here, the rest went to a person" in answer
    packet = text_of(sent[PACKET])
    assert "WHAT THE CUSTOMER WAS ANSWERED" in packet
    assert "| Seats paid" in packet
    assert state(office, mail_id) is CaseState.WITH_PERSON
    assert one(office, mail_id).status is MailStatus.ANSWERED


def test_answer_with_a_byte_of_no_source_is_not_sent(office: Office) -> None:
    """A template that leaves out the notice: the gate refuses, a person gets the case and hears why."""
    hostile = office.with_templates(answer="Hello, we refund everything.\n")
    mail_id, outcome = hostile.handle(write(REFUND, sender=JAMES))
    sent = hostile.sent(mail_id)
    assert (outcome, set(sent)) == ("escalated", {PACKET, ACKNOWLEDGEMENT})
    assert not any(b"refund everything" in raw for _, raw in hostile.transport.given)
    assert one(hostile, mail_id).reason_code == "gate_refused"
    assert "the mail does not say" in text_of(sent[PACKET])


def test_person_gets_the_case_even_if_no_customer_mail_passes_the_gate(office: Office) -> None:
    """A broken notice stands in the answer and in the acknowledgement: neither goes out, the packet does."""
    hostile = office.with_templates(notice="\n")
    mail_id, outcome = hostile.handle(write(REFUND, sender=JAMES))
    assert (outcome, set(hostile.sent(mail_id))) == ("escalated", {PACKET})


def test_packet_falls_back_to_the_words_that_came_with_the_program(office: Office) -> None:
    """A broken escalation template must not lose a case; the templates it was made with are stored."""
    hostile = office.with_templates(escalation="{{ nonsense }}\n")
    mail_id, _ = hostile.handle(write(OFF_TOPIC, sender=JAMES))
    sent = hostile.sent(mail_id)
    assert set(sent) == {PACKET, ACKNOWLEDGEMENT}
    record = hostile.store.outbox.rendered_mail(mail_id, PACKET)
    assert record is not None
    assert record.templates_version == Templates.load(packaged("templates")).version
    assert record.templates_version != hostile.decider.templates.version


def test_partial_answer_waits_for_its_packet(office: Office) -> None:
    """ "The rest went to a person" is in the outbox only when the packet is."""
    office.handle(write(TWO, sender=JAMES))
    assert [recipient for recipient, _ in office.transport.given] == [DESK, JAMES]


def test_customer_who_asks_for_a_person_gets_one(office: Office) -> None:
    """Recognised before the model is asked."""
    mail_id, _ = office.handle(write(HUMAN))
    assert set(office.sent(mail_id)) == {PACKET, ACKNOWLEDGEMENT}
    assert one(office, mail_id).reason_code == "person_asked_for"
    assert office.store.plans.get(mail_id) is None


def test_automatic_mail_is_filed(office: Office) -> None:
    """No answer, no packet, no case; the rule that said so is kept."""
    mail_id, outcome = office.handle(b"Auto-Submitted: auto-replied\r\n" + write(REFUND))
    assert (outcome, office.sent(mail_id)) == ("filed", {})
    mail = one(office, mail_id)
    assert (mail.status, mail.reason_code, mail.case_id) == (MailStatus.FILED, "S2", None)


JOURNEYS: dict[str, Callable[[Office], bytes]] = {
    "answer": lambda office: write(REFUND),
    "partial": lambda office: write(TWO),
    "escalate": lambda office: write(OFF_TOPIC),
    "person": lambda office: write(HUMAN),
    "level 0": lambda office: write(REFUND, proof=None),
    "filed": lambda office: b"Precedence: bulk\r\n" + write(REFUND),
}


@pytest.mark.parametrize("name", JOURNEYS)
def test_stage_that_runs_twice_does_no_more(office: Office, name: str) -> None:
    """A process that dies after its work and before the record: one row a kind, one delivery a row."""
    mail_id, _ = office.handle(JOURNEYS[name](office), twice())
    rows = office.store.outbox.find(mail_id=mail_id)
    assert len({row.kind for row in rows}) == len(rows) == len(office.transport.given)
    assert all((row.status, row.attempts) == (OutboxStatus.SENT, 1) for row in rows)


def test_journey_that_lost_its_record_does_not_answer_again(office: Office) -> None:
    """The engine forgot a mail that was answered: what is in the outbox stays, and nothing more is sent."""
    mail_id, _ = office.handle(write(REFUND))
    rows = office.store.outbox.find(mail_id=mail_id)
    assert handle(mail_id, once(), office.stages) == "answered"
    assert office.store.outbox.find(mail_id=mail_id) == rows
    assert len(office.transport.given) == 1


def test_staff_reply_that_runs_twice_is_passed_on_once(office: Office) -> None:
    """The same, in the journey that sends a person's words."""
    first, _ = office.handle(write(HUMAN))
    packet = office.sent(first)[PACKET].message_id
    reply, _ = office.handle(write("We look at it.", sender=DESK, in_reply_to=packet, number=2), twice())
    assert [row.kind for row in office.store.outbox.find(mail_id=reply)] == [PERSON_REPLY]
    assert [recipient for recipient, _ in office.transport.given].count(ANNA) == 2


def test_gate_refusal_that_runs_twice_leaves_one_packet(office: Office) -> None:
    """The refused step fails both times and leaves nothing; the escalation leaves one row a kind."""
    hostile = office.with_templates(answer="Hello.\n")
    mail_id, _ = hostile.handle(write(REFUND, sender=JAMES), twice())
    assert sorted(row.kind for row in hostile.store.outbox.find(mail_id=mail_id)) == [ACKNOWLEDGEMENT, PACKET]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("sent", OutboxStatus.SENT),
        ("retry", OutboxStatus.READY),
        ("failed", OutboxStatus.FAILED),
        ("uncertain", OutboxStatus.UNCERTAIN),
    ],
)
def test_delivery_is_noted(office: Office, status: str, expected: OutboxStatus) -> None:
    """What the server said decides; only `retry` is due again, later."""
    office.transport.deliveries = [Delivery.model_validate({"status": status, "detail": "told"})]
    mail_id, _ = office.handle(write(REFUND))
    row = office.sent(mail_id)[ANSWER]
    assert (row.status, row.last_detail, row.attempts) == (expected, "told", 1)
    assert (row.next_try_at > row.created_at) == (status == "retry")


@pytest.mark.parametrize(("longest_s", "wait_s"), [(21_600.0, 75.0), (60.0, 60.0)])
def test_s61_no_wait_is_longer_than_the_longest(office: Office, longest_s: float, wait_s: float) -> None:
    """`smtp.retry_max_s` is a bound, whatever chance adds."""
    smtp = office.settings.smtp.model_copy(update={"retry_base_s": 60.0, "retry_max_s": longest_s})
    office.settings = office.settings.model_copy(update={"smtp": smtp})
    office.transport.deliveries = [Delivery(status="retry", detail="later")]
    mail_id = office.receive(write(REFUND))
    handle(mail_id, once(), replace(office, random=lambda: 1.0).stages)
    row = office.sent(mail_id)[ANSWER]
    assert 0 <= (row.next_try_at - office.clock()).total_seconds() + 1 - wait_s + 20 <= 20


def test_mail_is_given_up_after_the_last_try(office: Office) -> None:
    """`smtp.max_attempts` tries, then `failed`; never more."""
    smtp = office.settings.smtp.model_copy(update={"max_attempts": 2, "retry_base_s": 0.01})
    office.settings = office.settings.model_copy(update={"smtp": smtp})
    office.transport.deliveries = [Delivery(status="retry", detail="later")] * 3
    mail_id, _ = office.handle(write(REFUND))
    office.stages.outbox_sender.deliver(office.sent(mail_id)[ANSWER])
    office.stages.outbox_sender.deliver(office.sent(mail_id)[ANSWER])
    row = office.sent(mail_id)[ANSWER]
    assert (row.status, row.attempts) == (OutboxStatus.FAILED, 2)
    assert len(office.transport.given) == 2
    assert str(row.last_detail).startswith("given up after 2 tries")


def test_steps_give_back_what_they_were_given(office: Office) -> None:
    """Each recorded result of the journey survives JSON: `Steps` refuses one that does not."""
    names: list[str] = []

    def record(name: str, work: Work) -> JsonValue:
        names.append(name)
        return work()

    office.handle(write(TWO), Steps(record, EngineSettings(), lambda _s: None))
    assert names == ["decide"]
