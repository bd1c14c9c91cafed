"""Drafts by a language model on any OpenAI-compatible server: one chat completion a text, without tools.

The time-out covers the whole exchange, so that a server that sends byte after byte cannot stretch it: each text has an
event loop and a connection of its own, which cost little beside seconds of writing. Nothing of a prompt or a reply
stands in an error line.

Checked by tests/contract/test_writer.py and tests/unit/models/test_openai_writer.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import openai
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from support_agent.errors import PermanentError, SupportAgentError, TransientError
from support_agent.models.language_model import Prompt
from support_agent.models.server import MOST_TOKENS, check_server, error_of_connection, error_of_status, http_client
from support_agent.models.writer import Draft, Material, WritingUsage, check_writing, writing_prompt

LONGEST_TOKEN_CHARACTERS = 16
"""A reply with more characters a token than this is cut: the server did not keep to the length."""


class _Arrived(BaseModel):
    """A piece of a reply: what is used of it is validated, the rest ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Message(_Arrived):
    content: str | None = None


class _Choice(_Arrived):
    message: _Message


class _TokenCount(_Arrived):
    prompt_tokens: int = Field(ge=0, le=MOST_TOKENS)
    completion_tokens: int = Field(ge=0, le=MOST_TOKENS)


class _Reply(_Arrived):
    choices: Annotated[tuple[_Choice, ...], Field(min_length=1)]
    usage: _TokenCount | None = None


class OpenAIWriter:
    """`models.writer.Writer` on a server; several threads may use it at once.

    Args:
        base_url: The server's API, such as http://localhost:8000/v1.
        name: The model's name there.
        api_key: Empty for a server that asks for none.
        timeout_s: Seconds for one text.
    Raises:
        ConfigError: no usable base_url, or no name.
    """

    def __init__(self, base_url: str, name: str, api_key: SecretStr, timeout_s: float) -> None:
        check_server(base_url, name)
        self.name = name
        self._base_url = base_url
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._dropped: frozenset[str] = frozenset()

    def write(self, instruction: str, material: Material, *, temperature: float, max_tokens: int, seed: int) -> Draft:
        """See `models.writer.Writer.write`; what a server does not count costs the most that it can."""
        check_writing(temperature, max_tokens)
        prompt = writing_prompt(instruction, material)
        optional: dict[str, object] = {"temperature": temperature, "seed": seed, "max_tokens": max_tokens}
        try:
            reply = _Reply.model_validate(asyncio.run(self._ask(prompt, optional)))
        except TimeoutError:
            raise self._late() from None
        except openai.OpenAIError as error:
            raise self._mapped(error) from None
        except ValidationError:
            raise self._unusable() from None
        text = (reply.choices[0].message.content or "")[: max_tokens * LONGEST_TOKEN_CHARACTERS]
        text = text.encode("utf-8", "replace").decode("utf-8")  # JSON can hold half a surrogate pair
        return Draft(text=text, usage=_usage(reply.usage, prompt, max_tokens))

    async def _ask(self, prompt: Prompt, optional: Mapping[str, object]) -> object:
        """The reply as plain data; a parameter that the server refuses by name is left out from then on."""
        http = http_client(self._timeout_s)
        key = self._api_key.get_secret_value() or "none"
        messages: Any = [{"role": "system", "content": prompt.system}, {"role": "user", "content": _user_text(prompt)}]
        async with (
            asyncio.timeout(self._timeout_s),
            openai.AsyncOpenAI(base_url=self._base_url, api_key=key, max_retries=0, http_client=http) as client,
        ):
            client.organization = client.project = None  # these are read from variables meant for another server
            while True:
                given: Any = _renamed(optional, self._dropped)
                try:
                    completion: Any = await client.chat.completions.create(model=self.name, messages=messages, **given)
                except openai.APIStatusError as error:
                    self._dropped |= {_refused(error, given)}
                else:
                    return completion.model_dump(warnings=False) if isinstance(completion, BaseModel) else completion

    def _late(self) -> TransientError:
        return TransientError(f"the model did not write within {self._timeout_s:g} s", code="model")

    def _unusable(self) -> PermanentError:
        what = f"the model's server at {self._base_url} sent no chat completion"
        return PermanentError(f"{what}: check model.base_url and model.name", code="model_reply")

    def _mapped(self, error: openai.OpenAIError) -> SupportAgentError:
        if isinstance(error, openai.APITimeoutError):
            return self._late()
        if isinstance(error, openai.APIConnectionError):
            return error_of_connection(error, self._base_url)
        if isinstance(error, openai.APIStatusError):
            return error_of_status(error.status_code, self._base_url, self.name)
        return self._unusable()


def _user_text(prompt: Prompt) -> str:
    return "".join(text for text, _ in prompt.parts)


def _renamed(optional: Mapping[str, object], dropped: frozenset[str]) -> dict[str, object]:
    """Without what the server refused; newer servers know the length by another name, and it is never left out."""
    given = {key: value for key, value in optional.items() if key not in dropped or key == "max_tokens"}
    if "max_tokens" in dropped:
        given["max_completion_tokens"] = given.pop("max_tokens")
    return given


def _refused(error: openai.APIStatusError, given: Mapping[str, object]) -> str:
    """The parameter that the server's error names.

    Raises:
        APIStatusError: the same error, if it names none.
    """
    text = str(error).lower()
    for name in given:
        if error.status_code in (400, 422) and name in text and name != "max_completion_tokens":
            return name
    raise error


def _usage(counted: _TokenCount | None, prompt: Prompt, max_tokens: int) -> WritingUsage:
    if counted:
        return WritingUsage(prompt_tokens=counted.prompt_tokens, written_tokens=counted.completion_tokens)
    bytes_read = len((prompt.system + _user_text(prompt)).encode("utf-8"))
    return WritingUsage(prompt_tokens=bytes_read, written_tokens=max_tokens)
