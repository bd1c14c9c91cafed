"""The OpenAI client in front of a real server: llama-cpp-python's own, with the pinned model, on loopback.

Each choice takes the model seconds here, so there are few of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from support_agent.errors import ConfigError, PermanentError
from support_agent.models.language_model import Prompt
from support_agent.models.openai import OpenAIModel
from tests.servers.llama import SERVER_CONTEXT_TOKENS, LlamaServer

pytestmark = pytest.mark.model

OPTIONS = ("Refund policy", "Installation on macOS", "Data export")
TIMEOUT_S = 120.0


@pytest.fixture
def model(llama_server: LlamaServer) -> Iterator[OpenAIModel]:
    opened = OpenAIModel(llama_server.base_url, llama_server.model, llama_server.api_key, TIMEOUT_S, max_retries=1)
    yield opened
    opened.close()


def prompt_of(mail: str) -> Prompt:
    listed = "\n\nWhich of these answers it?\n- " + "\n- ".join(OPTIONS)
    system = "You choose what answers a customer's mail."
    return Prompt(system=system, task="Mail:\n", parts=((mail, False), (listed, True)))


def test_a_real_server_makes_the_call_and_tells_its_probability(model: OpenAIModel) -> None:
    """One request; the probability is that of the option's tokens, the call's own braces left out."""
    scores = model.score(prompt_of("How do I install it on my Mac? It runs macOS."), OPTIONS)
    assert scores.picked == OPTIONS.index("Installation on macOS")
    assert scores.log_probabilities is not None
    assert math.exp(scores.log_probabilities[scores.picked]) > 0.5
    assert sum(map(math.exp, scores.log_probabilities)) == pytest.approx(1.0)
    assert 0 < scores.usage.forward_passes < 40 < scores.usage.prompt_tokens


def test_a_mail_longer_than_the_context_is_permanent(model: OpenAIModel) -> None:
    """The server refuses it before the model reads it."""
    with pytest.raises(PermanentError, match="answered 400"):
        model.score(prompt_of("word " * SERVER_CONTEXT_TOKENS), OPTIONS)


def test_a_wrong_key_is_a_matter_of_configuration(llama_server: LlamaServer) -> None:
    """The server's 401 names the setting."""
    model = OpenAIModel(llama_server.base_url, llama_server.model, SecretStr("wrong"), TIMEOUT_S, 1)
    with pytest.raises(ConfigError, match=r"model\.api_key"):
        model.score(prompt_of("Hello"), OPTIONS)
    model.close()
