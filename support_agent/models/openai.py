"""A language model on any OpenAI-compatible server: a choice is a forced tool call with one closed argument.

The call's schema lists the options and nothing else; a composed call (`compose`) is such an argument as well, one of a
few closed models. What arrives is validated against them again: an answer
that is not exactly one of them is asked for anew, a bounded number of times, and then refused; it is never
repaired by likeness. No text that the server writes leaves this file: what leaves it is the index of an
option, its probability where the server tells those of its tokens, the members of closed sets that a composed call
has, and error lines without mail or reply.

One background thread keeps the connections, so that the time-out covers a whole choice with its retries, and
a server that sends byte after byte cannot stretch it.

Checked by tests/contract/test_model.py, tests/unit/models/test_openai.py and tests/integration/planner/.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine, Mapping, Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Annotated, Any, Literal, TypeVar

import instructor
import openai
from instructor.core.exceptions import (
    IncompleteOutputException,
    InstructorRetryException,
    ResponseParsingError,
)
from openai.types.chat import ChatCompletion
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    create_model,
)

from support_agent.errors import SupportAgentError, ToolCallRejected, TransientError
from support_agent.models.language_model import ComposedCall, Prompt, Scores, Usage, check_options
from support_agent.models.server import MOST_TOKENS, check_server, error_of_connection, error_of_status, http_client
from support_agent.models.token_probabilities import Token, option_log_probabilities

TOOL = "choose"
TOP_LOGPROBS = 5
"""Alternatives asked for at each token: as many as every known server grants."""
_EXTRAS: Mapping[str, Mapping[str, object]] = {
    "logprobs": {"logprobs": True, "top_logprobs": TOP_LOGPROBS},
    "temperature": {"temperature": 0},
}
"""Parameters that make an answer better and that some servers refuse, by the word that names them then."""

# instructor logs replies it could not use, and they may quote the mail; the errors raised here tell enough.
logging.getLogger("instructor").setLevel(logging.CRITICAL + 1)

T = TypeVar("T")


class _Arrived(BaseModel):
    """A piece of a reply: what is used of it is validated, the rest ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Function(_Arrived):
    name: str
    arguments: str


class _Call(_Arrived):
    function: _Function


class _Message(_Arrived):
    refusal: str | None = None
    tool_calls: tuple[_Call, ...] | None = None
    function_call: _Function | None = None


class _LogProbs(_Arrived):
    content: tuple[Token, ...] | None = None


def _log_probs_or_none(value: object) -> object:
    """Probabilities of an unknown shape are none: the choice itself still counts."""
    try:
        return _LogProbs.model_validate(value)
    except ValidationError:
        return None


class _Choice(_Arrived):
    message: _Message
    finish_reason: str | None = None
    logprobs: Annotated[_LogProbs | None, BeforeValidator(_log_probs_or_none)] = None


class _TokenCount(_Arrived):
    prompt_tokens: int = Field(default=0, ge=0, le=MOST_TOKENS)
    completion_tokens: int = Field(default=0, ge=0, le=MOST_TOKENS)


class _Reply(_Arrived):
    choices: Annotated[tuple[_Choice, ...], Field(min_length=1)]
    usage: _TokenCount | None = None


class OpenAIModel:
    """`support_agent.models.language_model.Model` on a server; several threads may use it at once.

    Args:
        base_url: The server's API, such as http://localhost:8000/v1.
        name: The model's name there.
        api_key: Empty for a server that asks for none.
        timeout_s: Seconds for one choice, retries included.
        max_retries: How often an unusable reply is asked for anew.
    Raises:
        ConfigError: no usable base_url, or no name.
    """

    def __init__(self, base_url: str, name: str, api_key: SecretStr, timeout_s: float, max_retries: int) -> None:
        check_server(base_url, name)
        self.name = name
        self._base_url = base_url
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._extras = dict(_EXTRAS)
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key.get_secret_value() or "none",
            timeout=timeout_s,
            max_retries=0,
            http_client=http_client(timeout_s),
        )
        # The client takes these from variables that are meant for another server.
        self._client.organization = self._client.project = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="openai-model", daemon=True)
        self._thread.start()

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        """The probability of each option where the server tells them, else the option it picked.

        Args:
            prompt: Its system text, and all else as one user text with the lead at its end.
            options: 2..60 different texts.
        Raises:
            PermanentError: not 2..60 different options (code `options`), or the server refused the request
                (code `model_request`).
            TransientError: no answer within `timeout_s`, no connection, or the server failed.
            ToolCallRejected: no usable call after the retries.
            ConfigError: wrong key, model name or URL.
        """
        check_options(options)
        exchange = _Exchange(self)
        answer: Any = self._run(self._ask(exchange, prompt, _choice_model(tuple(options))))
        picked = options.index(answer.choice)
        return Scores(
            log_probabilities=option_log_probabilities(options, picked, exchange.tokens),
            picked=picked,
            usage=exchange.usage,
        )

    def compose(self, prompt: Prompt, calls: Sequence[type[BaseModel]]) -> ComposedCall:
        """One call of these models, chosen and filled in by the server.

        Args:
            prompt: As for `score`.
            calls: At least one; each with a field `tool` for its name, and every field closed.
        Raises:
            PermanentError: the server refused the request (code `model_request`).
            TransientError, ToolCallRejected, ConfigError: as for `score`.
        """
        exchange = _Exchange(self)
        answer: Any = self._run(self._ask(exchange, prompt, _call_model(calls)))
        arguments: dict[str, Any] = answer.call.model_dump(mode="json")
        return ComposedCall(tool=arguments.pop("tool"), arguments=arguments, usage=exchange.usage)

    async def _ask(self, exchange: _Exchange, prompt: Prompt, form: type[BaseModel]) -> object:
        create: Any = instructor.patch(create=exchange.send, mode=instructor.Mode.TOOLS)
        try:
            async with asyncio.timeout(self._timeout_s):
                answer: object = await create(
                    response_model=form,
                    max_retries=self._max_retries,
                    strict=True,
                    model=self.name,
                    messages=[
                        {"role": "system", "content": prompt.system},
                        {"role": "user", "content": _user_text(prompt)},
                    ],
                )
        except TimeoutError:
            raise self._late() from None
        except IncompleteOutputException:
            raise ToolCallRejected("the model's call was cut off by its token limit") from None
        except InstructorRetryException as error:
            raise self._mapped(error.__cause__ or error) from None
        return answer

    async def send(self, request: Mapping[str, Any]) -> object:
        """One request; an optional parameter that the server refuses is left out from then on."""
        create: Any = self._client.chat.completions.create
        extras = dict(self._extras)
        while True:
            optional = {key: value for extra in extras.values() for key, value in extra.items()}
            try:
                completion: object = await create(**request, **optional)
            except openai.APIStatusError as error:
                del extras[_refused(error, extras)]
            else:
                self._extras = extras
                return completion

    def _late(self) -> TransientError:
        return TransientError(f"the model did not answer within {self._timeout_s:g} s", code="model")

    def _mapped(self, error: BaseException) -> SupportAgentError:
        """The error of this package for one of the libraries'; it repeats no text of a mail or a reply."""
        if isinstance(error, openai.APITimeoutError):
            return self._late()
        if isinstance(error, openai.APIConnectionError):
            return error_of_connection(error, self._base_url)
        if not isinstance(error, openai.APIStatusError):
            return ToolCallRejected(f"the model made no usable call: {_reason(error)}")
        return error_of_status(error.status_code, self._base_url, self.name)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Closes the connections and ends the thread; a second call does nothing."""
        if self._loop.is_closed():
            return
        self._run(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Exchange:
    """The requests of one choice: what they cost, and the tokens of the last reply."""

    def __init__(self, model: OpenAIModel) -> None:
        self._model = model
        self.usage = Usage()
        self.tokens: tuple[Token, ...] = ()

    async def send(self, **request: Any) -> ChatCompletion:
        """One reply that makes the call it was asked for; instructor validates the argument.

        Raises:
            ResponseParsingError, ValidationError: any other reply; instructor asks again.
        """
        completion = await self._model.send(request)
        if not isinstance(completion, ChatCompletion):
            raise ResponseParsingError("a reply that is no chat completion")
        reply = _Reply.model_validate(completion.model_dump(warnings=False))
        if reply.usage:
            spent = reply.usage
            self.usage += Usage(prompt_tokens=spent.prompt_tokens, forward_passes=spent.completion_tokens)
        choice = reply.choices[0]
        if choice.message.refusal or choice.finish_reason == "content_filter":
            raise ResponseParsingError("a refusal")
        calls = [call.function for call in choice.message.tool_calls or ()]
        if not calls and choice.message.function_call:
            calls = [choice.message.function_call]
        if len(calls) > 1:
            raise ResponseParsingError("several calls at once")
        if any(call.name != TOOL for call in calls):
            raise ResponseParsingError("a call of an unknown tool")
        self.tokens = (choice.logprobs and choice.logprobs.content) or ()
        return completion


def _user_text(prompt: Prompt) -> str:
    text = prompt.task + "".join(text for text, _ in prompt.parts)
    return f"{text}\n{prompt.lead}" if prompt.lead else text


@lru_cache(maxsize=64)
def _choice_model(options: tuple[str, ...]) -> type[BaseModel]:
    """The schema of a choice: one field, closed over the options."""
    closed: Any = Literal.__getitem__(options)
    return create_model(
        TOOL,
        __config__=ConfigDict(extra="forbid", frozen=True),
        __doc__="Choose exactly one of the options.",
        choice=(closed, ...),
    )


def _call_model(calls: Sequence[type[BaseModel]]) -> type[BaseModel]:
    """The schema of a composed call: one field, which is one of the calls."""
    any_of: Any = reduce(or_, calls)
    return create_model(
        TOOL,
        __config__=ConfigDict(extra="forbid", frozen=True),
        __doc__="Make exactly one of the calls.",
        call=(any_of, ...),
    )


def _refused(error: openai.APIStatusError, extras: Mapping[str, object]) -> str:
    """The optional parameter that a server refused: the one its error names, else the token probabilities.

    Raises:
        APIStatusError: the same error, if it is about something else.
    """
    text = str(error).lower()
    for name in extras:
        if name in text:
            return name
    if error.status_code in (400, 422) and "logprobs" in extras:
        return "logprobs"
    raise error


def _reason(error: BaseException) -> str:
    """What was wrong with a reply, in a few words of our own: names of fields may be the model's too."""
    if isinstance(error, ValidationError):
        return f"its argument is wrong ({error.errors(include_input=False)[0]['type']})"
    if isinstance(error, ResponseParsingError):
        return str(error.args[0])
    return f"its reply cannot be read ({type(error).__name__})"
