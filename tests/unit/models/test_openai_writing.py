"""The writer in front of a server that sends sense and nonsense."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from support_agent.errors import ConfigError, PermanentError, SupportAgentError, TransientError
from support_agent.models.openai import LONGEST_TOKEN_CHARACTERS, OpenAIModel
from support_agent.models.writer import Draft
from tests.servers.openai import HUGE, FakeOpenAI, Reply, failure, message

SECRET_TEXT = "my card number is X4000 0000"
MATERIAL = (("Text", SECRET_TEXT),)
KEY = SecretStr("sk-test")


def open_writer(url: str, key: SecretStr = KEY, *, timeout_s: float = 20.0) -> OpenAIModel:
    return OpenAIModel(url, "m", key, timeout_s=20.0, max_retries=0, writing_timeout_s=timeout_s)


@pytest.fixture
def writer(fake_openai: FakeOpenAI) -> Iterator[OpenAIModel]:
    opened = open_writer(fake_openai.base_url)
    yield opened
    opened.close()


def write(writer: OpenAIModel) -> Draft:
    return writer.generate("Say it.", MATERIAL, temperature=0.3, max_tokens=9, seed=5)


def said(text: object, **fields: object) -> Reply:
    body = json.loads(message(content=text, finish_reason="stop").body)
    return Reply(json.dumps({**body, **fields}).encode())


def test_the_request_says_what_was_ordered_and_no_more(fake_openai: FakeOpenAI, writer: OpenAIModel) -> None:
    """No tools, no stream; what varies in the workflow arrives."""
    fake_openai.answer(said("Fine."))
    assert write(writer).text == "Fine."
    (request,) = fake_openai.requests
    assert request.pop("messages")[1] == {"role": "user", "content": f"Text:\n{SECRET_TEXT}\n\nSay it."}
    assert request == {"model": "m", "temperature": 0.3, "seed": 5, "max_tokens": 9}


def test_a_null_text_is_an_empty_one(fake_openai: FakeOpenAI, writer: OpenAIModel) -> None:
    fake_openai.answer(said(None))
    assert write(writer).text == ""


def test_a_server_that_does_not_keep_to_the_length_is_cut(fake_openai: FakeOpenAI, writer: OpenAIModel) -> None:
    """What comes after is not even graded."""
    fake_openai.answer(said("x" * 100_000))
    assert len(write(writer).text) == 9 * LONGEST_TOKEN_CHARACTERS


def test_half_a_surrogate_pair_breaks_nothing(fake_openai: FakeOpenAI, writer: OpenAIModel) -> None:
    """JSON can spell what no text can hold."""
    fake_openai.answer(said("a\ud800b"))
    assert write(writer).text.encode("utf-8")


def test_what_the_server_counts_is_the_cost(fake_openai: FakeOpenAI, writer: OpenAIModel) -> None:
    fake_openai.answer(said("Fine."))
    assert (write(writer).usage.prompt_tokens, write(writer).usage.tree_tokens) == (40, 7)


def test_what_a_server_does_not_count_costs_the_most_it_can(fake_openai: FakeOpenAI, writer: OpenAIModel) -> None:
    """Silence is no discount on a mail's budget."""
    fake_openai.answer(said("Fine.", usage=None))
    usage = write(writer).usage
    assert usage.prompt_tokens > len(SECRET_TEXT)
    assert usage.tree_tokens == 9


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"null"),
        Reply(b"{}"),
        Reply(b'{"choices": []}'),
        Reply(b'{"choices": [{"message": "Fine."}]}'),
        Reply(b"<html>welcome</html>", content_type="text/html"),
        Reply(b"<html>welcome</html>"),
        Reply(b""),
        Reply(b'"\xff"'),
        Reply(b"[" * 1_000_000),
        said(["Fine."]),
        said("Fine.", usage={"prompt_tokens": -5, "completion_tokens": 1, "total_tokens": 0}),
        said("Fine.", usage={"prompt_tokens": 1, "completion_tokens": 10**30, "total_tokens": 0}),
    ],
)
def test_what_is_no_completion_is_refused(fake_openai: FakeOpenAI, writer: OpenAIModel, reply: Reply) -> None:
    """One request; the error quotes neither side."""
    fake_openai.answer(reply)
    with pytest.raises(PermanentError) as caught:
        write(writer)
    assert caught.value.code == "model_reply"
    assert len(fake_openai.requests) == 1


@pytest.mark.parametrize(
    ("reply", "error", "words"),
    [
        (failure(401, SECRET_TEXT), ConfigError, "model.api_key"),
        (failure(404, SECRET_TEXT), ConfigError, "model.name"),
        (failure(400, SECRET_TEXT), PermanentError, "answered 400"),
        (failure(429, SECRET_TEXT), TransientError, "answered 429"),
        (failure(503, SECRET_TEXT), TransientError, "answered 503"),
    ],
)
def test_a_failure_is_named_by_what_happens_next(
    fake_openai: FakeOpenAI, writer: OpenAIModel, reply: Reply, error: type[SupportAgentError], words: str
) -> None:
    fake_openai.answer(reply)
    with pytest.raises(error, match=words) as caught:
        write(writer)
    assert "X4000" not in str(caught.value)
    assert len(fake_openai.requests) == 1


@pytest.mark.parametrize("reply", HUGE)
def test_a_reply_that_would_fill_the_memory_is_not_read(
    fake_openai: FakeOpenAI, writer: OpenAIModel, reply: Reply
) -> None:
    """Failure: a server that never ended took 400 MB for one draft, and the process with it."""
    fake_openai.answer(reply)
    with pytest.raises(PermanentError, match=r"sent more than|packs") as caught:
        write(writer)
    assert caught.value.code == "model_reply"


@pytest.mark.parametrize("reply", [Reply(held=True), Reply(trickles=True)])
def test_a_slow_server_is_transient(fake_openai: FakeOpenAI, reply: Reply) -> None:
    """The time-out is for the whole text, not for each byte."""
    fake_openai.answer(reply)
    with pytest.raises(TransientError, match=r"did not answer within 0\.2 s"):
        write(open_writer(fake_openai.base_url, timeout_s=0.2))


def test_no_server_is_transient(fake_openai: FakeOpenAI, writer: OpenAIModel) -> None:
    fake_openai.close()
    with pytest.raises(TransientError, match="no connection"):
        write(writer)


@pytest.mark.parametrize("name", ["temperature", "seed"])
def test_a_parameter_that_is_refused_is_left_out_from_then_on(
    fake_openai: FakeOpenAI, writer: OpenAIModel, name: str
) -> None:
    """Models that reason take no temperature; an answer without it is better than none."""
    fake_openai.answer(failure(400, f"Unsupported parameter: '{name}'"), said("Fine."))
    write(writer)
    write(writer)
    assert [name in request for request in fake_openai.requests] == [True, False, False]


def test_the_length_is_said_in_the_word_that_the_server_knows(fake_openai: FakeOpenAI, writer: OpenAIModel) -> None:
    """It is never left out: a text without a bound could cost anything."""
    refusal = failure(400, "Unsupported parameter: 'max_tokens', use 'max_completion_tokens' instead")
    fake_openai.answer(refusal, said("Fine."))
    write(writer)
    assert fake_openai.requests[-1]["max_completion_tokens"] == 9
    assert "max_tokens" not in fake_openai.requests[-1]


def test_a_length_that_is_refused_by_both_names_ends(fake_openai: FakeOpenAI, writer: OpenAIModel) -> None:
    fake_openai.answer(failure(400, "max_tokens"), failure(400, "max_completion_tokens"))
    with pytest.raises(PermanentError):
        write(writer)
    assert len(fake_openai.requests) == 2


def test_what_is_meant_for_another_server_is_not_sent(fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client library reads variables of its own; a server gets only what the settings say."""
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "other")
    fake_openai.answer(said("Fine."))
    write(open_writer(fake_openai.base_url, SecretStr("")))
    assert "other" not in json.dumps(fake_openai.headers)
