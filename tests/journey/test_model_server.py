"""A model's server that is gone, hangs, or talks nonsense: no mail is lost, none is answered with a guess."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from support_agent.config.settings import EngineSettings
from support_agent.engine.steps import Steps
from support_agent.models.language_model import Prompt
from support_agent.models.openai import OpenAIModel
from support_agent.planner.loop import Planner
from support_agent.store.records import MailStatus, OutgoingKind
from tests.fakes import PLAIN
from tests.fakes_journey import ANNA, CUSTOMERS, DESK, JAMES, Office, SureModel, write
from tests.fakes_worker import REFUND
from tests.servers.openai import HUGE, FakeOpenAI, Reply, failure, message, pick, tool_call

ANSWER, ACKNOWLEDGEMENT, PACKET = OutgoingKind.ANSWER, OutgoingKind.ACKNOWLEDGEMENT, OutgoingKind.PACKET
INVENTED = "We refund everything at once, dear customer"
TRIES = 2
HASTE_S, PATIENCE_S = 0.2, 20.0
SICK = {
    "fails": failure(503),
    "is too busy": failure(429),
    "speaks HTML": Reply(f"<h1>{INVENTED}</h1>".encode(), content_type="text/html"),
    "writes prose": message(content=INVENTED, finish_reason="stop"),
    "picks what is no option": pick(INVENTED),
    "breaks off": message(tool_calls=[tool_call('{"choice": "Ref')]),
    "never ends": HUGE[0].values[0],
    "takes no key": failure(401),
    "has no such model": failure(404),
}


def steps() -> Steps:
    """Each step has two tries, without a wait between them."""
    return Steps(lambda _name, work: work(), EngineSettings(step_attempts=TRIES), lambda _s: None)


def open_at(server: FakeOpenAI, timeout_s: float, clock: Callable[[], float] = lambda: 0.0) -> OpenAIModel:
    return OpenAIModel(server.base_url, "m", SecretStr("k"), timeout_s, max_retries=1, clock=clock)


def with_model(office: Office, model: OpenAIModel) -> Office:
    planner = Planner(model, office.settings.planner, lambda: 0.0, combiner=PLAIN)
    return replace(office, decider=replace(office.decider, planner=planner))


@pytest.fixture
def served(office: Office, fake_openai: FakeOpenAI) -> Iterator[Office]:
    """The office with its model on a server."""
    model = open_at(fake_openai, PATIENCE_S)
    yield with_model(office, model)
    model.close()


def sure(request: dict[str, Any]) -> Reply:
    """What a sound server says: the option that a known word of the mail names."""
    text = request["messages"][1]["content"]
    options = request["tools"][0]["function"]["parameters"]["properties"]["choice"]["enum"]
    before, question, after = text.partition(REFUND)
    prompt = Prompt(system="", task="", parts=((question, False), (before + after, True)))
    likely = SureModel().score(prompt, options).log_probabilities or ()
    return pick(options[likely.index(max(likely))], probability=math.exp(max(likely)))


@pytest.mark.parametrize("sick", SICK.values(), ids=SICK)
def test_a_person_gets_the_mail_and_no_word_of_the_server_leaves(
    served: Office, fake_openai: FakeOpenAI, sick: Reply
) -> None:
    """The customer is told that a person has it; the mail after it, which needs no model, is filed unasked."""
    fake_openai.answer(sick)
    mail_id, outcome = served.handle(write(REFUND), steps())
    sent = served.sent(mail_id)
    assert (outcome, set(sent)) == ("escalated", {PACKET, ACKNOWLEDGEMENT})
    assert [recipient for recipient, _ in served.transport.given] == [DESK, ANNA]
    assert not any(INVENTED.encode() in raw for _, raw in served.transport.given)
    asked = len(fake_openai.requests)
    assert asked > 0
    assert served.handle(b"Auto-Submitted: auto-replied\r\n" + write(REFUND, sender=JAMES), steps())[1] == "filed"
    assert len(fake_openai.requests) == asked


@pytest.mark.parametrize("sick", [Reply(held=True), Reply(trickles=True)], ids=["hangs", "trickles"])
def test_a_server_that_does_not_end_its_reply_is_not_waited_for(
    office: Office, fake_openai: FakeOpenAI, sick: Reply
) -> None:
    model = open_at(fake_openai, HASTE_S)
    served = with_model(office, model)
    fake_openai.answer(sick)
    mail_id, outcome = served.handle(write(REFUND), steps())
    model.close()
    assert (outcome, set(served.sent(mail_id))) == ("escalated", {PACKET, ACKNOWLEDGEMENT})
    mail = served.store.mails.get(mail_id)
    assert mail is not None
    assert (mail.reason_code, mail.why) == ("model_failed", f"the model did not answer within {HASTE_S:g} s")


def test_a_server_that_is_gone_is_no_reason_to_lose_or_to_guess(served: Office, fake_openai: FakeOpenAI) -> None:
    fake_openai.close()
    mails = [served.handle(write(REFUND, sender=sender), steps()) for sender in CUSTOMERS[:3]]
    assert [outcome for _, outcome in mails] == ["escalated"] * 3
    assert {mail.status for mail in served.store.mails.find()} == {MailStatus.ESCALATED}
    assert all(set(served.sent(mail_id)) == {PACKET, ACKNOWLEDGEMENT} for mail_id, _ in mails)


def test_a_server_that_comes_back_within_the_tries_of_the_step_answers(served: Office, fake_openai: FakeOpenAI) -> None:
    """A restart of the server is no reason to bother a person."""
    fake_openai.answer(failure(503), sure)
    mail_id, outcome = served.handle(write(REFUND), steps())
    assert (outcome, set(served.sent(mail_id))) == ("answered", {ANSWER})


def test_a_server_that_hangs_holds_up_one_mail_and_not_all(office: Office, fake_openai: FakeOpenAI) -> None:
    """After three timeouts in a row nobody waits for it; a minute later it is asked again."""
    now = [0.0]
    model = open_at(fake_openai, HASTE_S, clock=lambda: now[0])
    served = with_model(office, model)
    fake_openai.answer(Reply(held=True))
    outcomes = [served.handle(write(REFUND, sender=sender), steps())[1] for sender in CUSTOMERS[:4]]
    assert outcomes == ["escalated"] * 4
    asked = len(fake_openai.requests)
    assert asked <= 3, "of two tries for each of four mails"
    now[0] += 31
    fake_openai.answer(failure(403))
    assert served.handle(write(REFUND), steps())[1] == "escalated"
    assert len(fake_openai.requests) > asked
    model.close()
