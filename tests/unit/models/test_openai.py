"""The OpenAI client in front of servers that misbehave: a usable call, or an error that says what is next."""

from __future__ import annotations

import json
import logging
import math
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import SecretStr

from support_agent.errors import ConfigError, PermanentError, ToolCallRejected, TransientError
from support_agent.models.language_model import Prompt, Scores
from support_agent.models.openai import OpenAIModel
from tests.servers.openai import HUGE, MEET_S, FakeOpenAI, Reply, failure, message, pick, token, tool_call

OPTIONS = ("Refund policy", "Data export", "None: a person must handle it")
SECRET_TEXT = "my card number is X4000 0000"
PROMPT = Prompt(system="Choose.", task="Mail:\n", parts=((SECRET_TEXT, False), ("\nWhich?", True)), lead="Answer: ")
GOOD = pick("Data export")
RETRIES = 2
KEY = SecretStr("sk-test")


@pytest.fixture
def model(fake_openai: FakeOpenAI) -> Iterator[OpenAIModel]:
    opened = OpenAIModel(fake_openai.base_url, "m", KEY, timeout_s=MEET_S, max_retries=RETRIES)
    yield opened
    opened.close()


@pytest.fixture
def hasty_model(fake_openai: FakeOpenAI) -> Iterator[OpenAIModel]:
    """One that waits for a fifth of a second only."""
    opened = OpenAIModel(fake_openai.base_url, "m", KEY, timeout_s=0.2, max_retries=RETRIES)
    yield opened
    opened.close()


def call(arguments: object, name: str = "choose") -> Reply:
    """A reply with one call."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return message(tool_calls=[tool_call(text, name=name)])


def picked(scores: Scores) -> str:
    assert scores.picked is not None
    return OPTIONS[scores.picked]


def test_the_schema_holds_the_options_and_nothing_else(fake_openai: FakeOpenAI, model: OpenAIModel) -> None:
    """One forced tool, one required field, closed over the options."""
    fake_openai.answer(GOOD)
    assert picked(model.score(PROMPT, OPTIONS)) == "Data export"
    (request,) = fake_openai.requests
    (tool,) = request["tools"]
    parameters = tool["function"]["parameters"]
    assert request["tool_choice"] == {"type": "function", "function": {"name": tool["function"]["name"]}}
    assert list(parameters["properties"]) == parameters["required"] == ["choice"]
    assert parameters["properties"]["choice"]["enum"] == list(OPTIONS)
    assert parameters["additionalProperties"] is False
    assert request["model"] == "m"


def test_the_prompt_arrives_as_a_system_and_a_user_text(fake_openai: FakeOpenAI, model: OpenAIModel) -> None:
    """Template syntax and image links in a mail are sent as they are: nothing expands or fetches them."""
    hostile = "{{ 7 * 7 }} {% raw %} data:image/png;base64,AAAA https://images.example/a.png"
    fake_openai.answer(GOOD)
    model.score(PROMPT.model_copy(update={"parts": ((hostile, False), ("\nWhich?", True))}), OPTIONS)
    assert fake_openai.requests[0]["messages"] == [
        {"role": "system", "content": "Choose."},
        {"role": "user", "content": f"Mail:\n{hostile}\nWhich?\nAnswer: "},
    ]


UNUSABLE = {
    "wrong JSON": call('{"choice": "Data export"'),
    "JSON of another shape": call(["Data export"]),
    "empty arguments": call("{}"),
    "an argument too many": call({"choice": "Data export", "note": SECRET_TEXT}),
    "an unknown tool": call({"choice": "Data export"}, name="delete_account"),
    "two calls": message(tool_calls=[tool_call('{"choice": "Data export"}')] * 2),
    "an unknown option": call({"choice": "Sell the company"}),
    "an option's number": call({"choice": 1}),
    "an option nearly right": call({"choice": "data export"}),
    "an option with a space": call({"choice": "Data export "}),
    "text instead of a call": message(content=f"I would say Data export. {SECRET_TEXT}", finish_reason="stop"),
    "a refusal": message(refusal=f"I cannot help. {SECRET_TEXT}", finish_reason="stop"),
    "a filtered reply": message(content="", finish_reason="content_filter"),
    "no choices": Reply(b'{"id": "x", "object": "chat.completion", "choices": []}'),
    "null": Reply(b"null"),
    "an empty object": Reply(b"{}"),
    "an empty body": Reply(b""),
    "a page": Reply(b"<html>welcome</html>", content_type="text/html"),
    "half a body": Reply(b'{"choices": [{"mess'),
    "a message of another shape": Reply(b'{"choices": [{"message": "Data export"}]}'),
}


@pytest.mark.parametrize("reply", UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_reply_is_asked_for_anew_and_then_rejected(
    fake_openai: FakeOpenAI, model: OpenAIModel, reply: Reply
) -> None:
    """Never repaired, never guessed: bounded retries, then ToolCallRejected, which quotes neither side."""
    fake_openai.answer(reply)
    with pytest.raises(ToolCallRejected) as caught:
        model.score(PROMPT, OPTIONS)
    assert len(fake_openai.requests) == 1 + RETRIES
    assert "X4000" not in str(caught.value)
    assert "Data export" not in str(caught.value)


@pytest.mark.parametrize("reply", UNUSABLE.values(), ids=UNUSABLE)
def test_a_usable_reply_to_a_retry_counts(fake_openai: FakeOpenAI, model: OpenAIModel, reply: Reply) -> None:
    """One bad reply is no reason to give up."""
    fake_openai.answer(reply, GOOD)
    assert picked(model.score(PROMPT, OPTIONS)) == "Data export"
    assert len(fake_openai.requests) == 2


def test_a_call_that_was_cut_off_is_rejected_at_once(fake_openai: FakeOpenAI, model: OpenAIModel) -> None:
    """The next reply would be cut off at the same place."""
    fake_openai.answer(message(tool_calls=[tool_call('{"choice": "Data export"}')], finish_reason="length"))
    with pytest.raises(ToolCallRejected, match="cut off"):
        model.score(PROMPT, OPTIONS)


def test_a_slow_server_is_transient(fake_openai: FakeOpenAI, hasty_model: OpenAIModel) -> None:
    """It may be quicker later."""
    fake_openai.answer(Reply(held=True))
    with pytest.raises(TransientError, match=r"did not answer within 0\.2 s"):
        hasty_model.score(PROMPT, OPTIONS)


def test_a_server_that_trickles_cannot_stretch_the_time(fake_openai: FakeOpenAI, hasty_model: OpenAIModel) -> None:
    """The time-out is for the whole choice, not for each byte."""
    fake_openai.answer(Reply(trickles=True))
    with pytest.raises(TransientError, match=r"did not answer within 0\.2 s"):
        hasty_model.score(PROMPT, OPTIONS)


@pytest.mark.parametrize("reply", HUGE)
def test_a_reply_that_would_fill_the_memory_is_not_read(
    fake_openai: FakeOpenAI, model: OpenAIModel, reply: Reply
) -> None:
    """Nor asked for again."""
    fake_openai.answer(reply)
    with pytest.raises(PermanentError, match=r"sent more than|packs"):
        model.score(PROMPT, OPTIONS)
    assert len(fake_openai.requests) == 1


def test_retries_share_the_time(fake_openai: FakeOpenAI, hasty_model: OpenAIModel) -> None:
    """A bad reply in time and a retry without one is a time-out, not a rejection."""
    fake_openai.answer(call("{}"), Reply(held=True))
    with pytest.raises(TransientError, match="did not answer within"):
        hasty_model.score(PROMPT, OPTIONS)


@pytest.mark.parametrize("status", [500, 502, 503, 429, 408])
def test_a_server_in_trouble_is_transient_and_not_pressed(
    fake_openai: FakeOpenAI, model: OpenAIModel, status: int
) -> None:
    """One request: the engine retries with backoff, the client does not."""
    fake_openai.answer(failure(status))
    with pytest.raises(TransientError, match=f"answered {status}"):
        model.score(PROMPT, OPTIONS)
    assert len(fake_openai.requests) == 1


def test_no_server_is_transient(model: OpenAIModel, fake_openai: FakeOpenAI) -> None:
    """Nobody listens on the port."""
    fake_openai.close()
    with pytest.raises(TransientError, match=f"no connection .* {fake_openai.base_url}"):
        model.score(PROMPT, OPTIONS)


@pytest.mark.parametrize(
    ("status", "setting"),
    [(401, "model.api_key"), (403, "model.api_key"), (404, "model.name"), (307, "model.base_url")],
)
def test_a_wrong_setting_is_named(fake_openai: FakeOpenAI, model: OpenAIModel, status: int, setting: str) -> None:
    """Key, model or URL: the operator reads which one to correct; the mail is sent nowhere else."""
    reply = failure(status)
    fake_openai.answer(Reply(reply.body, status, location="/v1/elsewhere"))
    with pytest.raises(ConfigError, match=setting) as caught:
        model.score(PROMPT, OPTIONS)
    assert len(fake_openai.requests) == 1
    assert KEY.get_secret_value() not in str(caught.value)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_the_server_cannot_use_is_permanent(
    fake_openai: FakeOpenAI, model: OpenAIModel, status: int
) -> None:
    """Such as a mail that is longer than the context."""
    fake_openai.answer(failure(status, "maximum context length exceeded"))
    with pytest.raises(PermanentError, match=f"answered {status}") as caught:
        model.score(PROMPT, OPTIONS)
    assert caught.value.code == "model_request"


@pytest.mark.parametrize(
    "refusal",
    [
        failure(400, "bad request"),
        failure(422, "top_logprobs: extra inputs are not permitted"),
        failure(500, "logprobs is not supported for models created with logits_all=False"),
    ],
    ids=["unnamed", "named", "llama-cpp-python's own"],
)
def test_token_probabilities_are_given_up_where_they_are_refused(
    fake_openai: FakeOpenAI, model: OpenAIModel, refusal: Reply
) -> None:
    """Asked without them at once, and from then on; nothing is then known of how sure the model was."""
    fake_openai.answer(refusal, GOOD)
    scores = model.score(PROMPT, OPTIONS)
    assert (scores.log_probabilities, picked(scores)) == (None, "Data export")
    model.score(PROMPT, OPTIONS)
    assert ["logprobs" in request for request in fake_openai.requests] == [True, False, False]
    assert ["temperature" in request for request in fake_openai.requests] == [True, True, True]


def test_what_a_text_must_not_have_is_still_given_for_a_choice(fake_openai: FakeOpenAI, model: OpenAIModel) -> None:
    """Failure: a draft that was refused its temperature took it from every later choice, which was then sampled."""
    fake_openai.answer(failure(400, "Unsupported value: 'temperature' does not support 0"), GOOD, GOOD)
    model.generate("Write.", (), temperature=0.0, max_tokens=4, seed=1)
    model.score(PROMPT, OPTIONS)
    assert ["temperature" in request for request in fake_openai.requests] == [True, False, True]


def test_temperature_is_given_up_where_it_is_refused(fake_openai: FakeOpenAI, model: OpenAIModel) -> None:
    """Models that reason take no temperature; their probabilities are kept."""
    fake_openai.answer(failure(400, "Unsupported value: 'temperature' does not support 0"), GOOD)
    model.score(PROMPT, OPTIONS)
    assert ["temperature" in request for request in fake_openai.requests] == [True, False]
    assert ["logprobs" in request for request in fake_openai.requests] == [True, True]


def test_a_mail_that_is_too_long_costs_later_mails_nothing(fake_openai: FakeOpenAI, model: OpenAIModel) -> None:
    """A refusal that has another cause does not end the probabilities for good."""
    fake_openai.answer(failure(400), failure(400), pick("Data export", probability=0.9))
    with pytest.raises(PermanentError):
        model.score(PROMPT, OPTIONS)
    assert model.score(PROMPT, OPTIONS).log_probabilities is not None
    assert ["logprobs" in request for request in fake_openai.requests] == [True, False, True]


def test_probabilities_come_from_the_tokens_of_the_option(fake_openai: FakeOpenAI, model: OpenAIModel) -> None:
    """The reply's own shape, alternatives included, as llama-cpp-python and OpenAI send it."""
    tokens = [
        token('{"', 0.03),
        token("choice", 0.0003),
        token('": "', 0.9),
        token("Data", 0.6, [("Ref", 0.3), ("None", 0.1)]),
        token(' export"}', 0.2, [(" exports", 0.8)]),
    ]
    arguments = '{"choice": "Data export"}'
    fake_openai.answer(message(tool_calls=[tool_call(arguments)], logprobs={"content": tokens}))
    scores = model.score(PROMPT, OPTIONS)
    assert scores.log_probabilities is not None
    assert [math.exp(value) for value in scores.log_probabilities] == pytest.approx([0.3, 0.6, 0.1])


def test_probabilities_of_an_unknown_shape_leave_the_choice(fake_openai: FakeOpenAI, model: OpenAIModel) -> None:
    """They are an extra; without them the similarity vote decides whether a person gets the case."""
    good = message(tool_calls=[tool_call('{"choice": "Data export"}')], logprobs={"content": [{"tok": 1}]})
    fake_openai.answer(good)
    scores = model.score(PROMPT, OPTIONS)
    assert (scores.log_probabilities, picked(scores)) == (None, "Data export")


def test_the_cost_of_retries_is_counted(fake_openai: FakeOpenAI, model: OpenAIModel) -> None:
    """A reply that could not be used was paid for as well."""
    fake_openai.answer(call("{}"), GOOD)
    usage = model.score(PROMPT, OPTIONS).usage
    assert (usage.prompt_tokens, usage.forward_passes) == (80, 14)


@pytest.mark.parametrize("tokens", [-(10**9), 10**30])
def test_a_cost_that_cannot_be_is_no_reply(fake_openai: FakeOpenAI, model: OpenAIModel, tokens: int) -> None:
    """Failure: less than nothing lifted the budget of a mail, and more than a database holds lost its plan."""
    completion = json.loads(GOOD.body)
    completion["usage"]["prompt_tokens"] = tokens
    fake_openai.answer(Reply(json.dumps(completion).encode()), GOOD)
    assert model.score(PROMPT, OPTIONS).usage.prompt_tokens == 40


def test_nothing_is_printed_of_mail_or_reply(
    fake_openai: FakeOpenAI,
    model: OpenAIModel,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The library's own error lines quote replies; they stay out of the log."""
    caplog.set_level(logging.INFO)
    for reply in (UNUSABLE["a refusal"], UNUSABLE["an argument too many"], failure(500, SECRET_TEXT)):
        fake_openai.answer(reply)
        with pytest.raises((ToolCallRejected, TransientError)):
            model.score(PROMPT, OPTIONS)
    out, err = capsys.readouterr()
    assert "X4000" not in caplog.text + out + err


def test_what_is_meant_for_another_server_is_not_sent(fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client library reads variables of its own; a server gets only what the settings say."""
    variables = {
        "OPENAI_API_KEY": "sk-other",
        "OPENAI_ORG_ID": "org-other",
        "OPENAI_PROJECT_ID": "proj-other",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    model = OpenAIModel(fake_openai.base_url, "m", SecretStr(""), timeout_s=20.0, max_retries=0)
    fake_openai.answer(GOOD)
    model.score(PROMPT, OPTIONS)
    model.close()
    assert "other" not in json.dumps(fake_openai.headers)
    assert fake_openai.headers[0]["authorization"] == "Bearer none"


@pytest.mark.parametrize(
    ("base_url", "name", "setting"),
    [
        ("", "m", "model.base_url"),
        ("localhost:8000", "m", "model.base_url"),
        ("http://[::1]/v1", "", "model.name"),
    ],
)
def test_a_model_that_cannot_be_reached_is_refused_at_the_start(base_url: str, name: str, setting: str) -> None:
    """A ConfigError names the setting."""
    with pytest.raises(ConfigError, match=setting):
        OpenAIModel(base_url, name, KEY, timeout_s=1.0, max_retries=0)


def test_several_threads_may_ask_at_once(fake_openai: FakeOpenAI, model: OpenAIModel) -> None:
    """A slow answer to one case does not hold up the others."""
    fake_openai.answer(Reply(held=True), GOOD)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(model.score, PROMPT, OPTIONS)
        while not fake_openai.requests:
            threading.Event().wait(0.01)
        assert picked(model.score(PROMPT, OPTIONS)) == "Data export"
        assert not waiting.done()
        fake_openai.released.set()
        with pytest.raises(TransientError, match="no connection"):
            waiting.result()


def test_questions_of_several_mails_are_at_the_server_at_once(fake_openai: FakeOpenAI, model: OpenAIModel) -> None:
    """Nothing here puts them in a row, so that a server can evaluate them in one batch."""
    threads = 4
    fake_openai.meeting = threading.Barrier(threads)
    fake_openai.answer(GOOD)
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda _: model.score(PROMPT, OPTIONS), range(threads)))
    assert [picked(scores) for scores in found] == ["Data export"] * threads


def test_questions_of_one_mail_are_at_the_server_at_once(fake_openai: FakeOpenAI, model: OpenAIModel) -> None:
    """As from several threads; one that fails ends the others, too."""
    fake_openai.meeting = threading.Barrier(3)
    fake_openai.answer(GOOD, GOOD, pick("Refund policy"), GOOD, failure(500), GOOD)
    found = model.score_each([PROMPT] * 3, OPTIONS)
    assert sorted(map(picked, found)) == ["Data export", "Data export", "Refund policy"]
    assert all(scores.usage.forward_passes for scores in found)
    with pytest.raises(TransientError, match="500"):
        model.score_each([PROMPT] * 3, OPTIONS)
    assert model.score_each([], OPTIONS) == ()


def test_no_more_requests_are_at_the_server_than_it_may_get(fake_openai: FakeOpenAI) -> None:
    """Those beyond wait for a connection, and all are answered."""
    model = OpenAIModel(fake_openai.base_url, "m", KEY, timeout_s=MEET_S, max_retries=0, max_requests=2)
    fake_openai.answer(GOOD)
    fake_openai.meeting = threading.Barrier(2)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: model.score(PROMPT, OPTIONS), range(8)))
    model.close()
    assert [picked(scores) for scores in found] == ["Data export"] * 8
    assert fake_openai.most_at_once == 2


def test_a_closed_model_leaves_no_thread_behind(fake_openai: FakeOpenAI) -> None:
    """Closing twice is fine."""
    before = threading.active_count()
    model = OpenAIModel(fake_openai.base_url, "m", KEY, timeout_s=20.0, max_retries=0)
    model.close()
    model.close()
    assert threading.active_count() == before
