"""A language model on any OpenAI-compatible server: it makes closed choices, and writes the fact room's drafts.

It implements the ports of `language_model` and `writer.Writer`. A choice is a forced tool call with one closed
argument; a text is one chat completion without tools.

The call's schema lists only the options; a composed call (`compose`) is an argument with a few closed models. The reply
is validated against the schema again: other replies are requested again, a bounded number of times, and then refused,
never corrected. `score` and `compose` return only the index of an option, its probability if the server reports token
probabilities, and members of closed sets: no text of the server. Errors repeat neither mail nor reply.

One background thread owns the connections, so that the timeout covers a whole choice with its retries, or a whole text,
even if a server sends single bytes. Questions of several threads are at the server at the same time. After several
timeouts in a row the server cools down for a while: requests then fail at once.

Checked by tests/contract/test_model.py, tests/contract/test_writer.py, tests/unit/models/test_openai.py,
tests/unit/models/test_openai_writing.py and tests/unit/planner/test_composers.py.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, reduce
from operator import or_
from typing import Any, Literal, TypeVar

import instructor
import openai
from instructor.core.exceptions import (
    IncompleteOutputException,
    InstructorRetryException,
    ResponseParsingError,
)
from openai.types.chat import ChatCompletion
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError, create_model

from support_agent.errors import PermanentError, SupportAgentError, ToolCallRejected
from support_agent.models.completion import Reply, TokenCount
from support_agent.models.language_model import ComposedCall, Prompt, Scores, Usage, check_options
from support_agent.models.server import (
    Cooldown,
    NoAnswer,
    check_server,
    error_of_connection,
    error_of_status,
    http_client,
)
from support_agent.models.token_probabilities import Token, option_log_probabilities
from support_agent.models.writer import Draft, Material, check_writing, most_tokens, writing_prompt

TOOL = "choose"
TOP_LOGPROBS = 5
"""Alternatives to request per token: all known servers allow this many."""
LENGTH = "max_completion_tokens"
"""The name of `max_tokens` on newer servers."""
NEVER_ABOUT_A_PARAMETER = frozenset([401, 403, 429])
"""Statuses about the key or the rate, even if the error names a parameter."""
Optional = Mapping[str, Mapping[str, object]]
"""Optional parameters, by the word for them in a server's refusal."""
_EXTRAS: Optional = {
    "logprobs": {"logprobs": True, "top_logprobs": TOP_LOGPROBS},
    "temperature": {"temperature": 0},
}
"""The optional parameters of a choice."""
LONGEST_TOKEN_CHARACTERS = 16
"""Most characters per token; a longer text is cut, as the server ignored the limit."""

# instructor logs unusable replies, which may quote the mail; the errors raised here say enough.
logging.getLogger("instructor").setLevel(logging.CRITICAL + 1)

T = TypeVar("T")


class OpenAIModel:
    """`language_model.Model` and `writer.Writer` on a server; several threads may use it at once.

    Args:
        base_url: The server's API, such as http://localhost:8000/v1.
        name: The model's name there.
        api_key: Empty for a server without keys.
        timeout_s: Seconds for one choice, retries included.
        max_retries: Most retries after an unusable reply to a choice.
        writing_timeout_s: Seconds for one text.
        max_requests: Most requests at the same time; others wait, within their seconds.
        max_timeouts, cooldown_s: After so many timeouts in a row the server is not asked for so many seconds.
        clock: Monotonic seconds, for the cooldown.
    Raises:
        ConfigError: no usable base_url, or no name.
    """

    def __init__(
        self,
        base_url: str,
        name: str,
        api_key: SecretStr,
        timeout_s: float,
        max_retries: int,
        writing_timeout_s: float = 60.0,
        max_requests: int = 64,
        max_timeouts: int = 3,
        cooldown_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_server(base_url, name)
        self.name, self._base_url = name, base_url
        self._timeout_s, self._writing_timeout_s, self._max_retries = timeout_s, writing_timeout_s, max_retries
        self._cooldown = Cooldown(max_timeouts, cooldown_s, clock)
        self._not_for_choices, self._not_for_texts = set[str](), set[str]()
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key.get_secret_value() or "none",
            max_retries=0,
            http_client=http_client(max(timeout_s, writing_timeout_s), max_requests),
        )
        # By default the client reads these from variables for another server.
        self._client.organization = self._client.project = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="openai-model", daemon=True)
        self._thread.start()

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        """The probability of each option if the server reports them, else the picked option.

        Args:
            prompt: Sent as its system text and one user text that ends with the lead.
            options: 2..60 different texts.
        Raises:
            PermanentError: not 2..60 different options (code `options`), or the server refused the request
                (code `model_request`).
            TransientError: no answer within `timeout_s`, no connection, or the server failed.
            ToolCallRejected: no usable call after the retries.
            ConfigError: wrong key, model name or URL.
        """
        return self.score_each([prompt], options)[0]

    def score_each(self, prompts: Sequence[Prompt], options: Sequence[str]) -> tuple[Scores, ...]:
        """As `score` for each prompt; all are at the server at the same time, and share the seconds.

        Raises:
            PermanentError, TransientError, ToolCallRejected, ConfigError: as for `score`, the first one of any prompt.
        """
        check_options(options)
        exchanges, form = [_Exchange(self) for _ in prompts], _choice_model(tuple(options))

        async def ask() -> list[Any]:
            asked = [
                asyncio.ensure_future(self._ask(exchange, prompt, form))
                for exchange, prompt in zip(exchanges, prompts, strict=True)
            ]
            try:
                return list(await asyncio.gather(*asked))
            finally:
                for one in asked:
                    one.cancel()

        picks = [options.index(answer.choice) for answer in self._ask_server(ask)]
        return tuple(
            Scores(
                log_probabilities=option_log_probabilities(options, picked, exchange.tokens),
                picked=picked,
                usage=exchange.usage,
            )
            for picked, exchange in zip(picks, exchanges, strict=True)
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
        answer: Any = self._ask_server(lambda: self._ask(exchange, prompt, _call_model(calls)))
        arguments: dict[str, Any] = answer.call.model_dump(mode="json")
        return ComposedCall(tool=arguments.pop("tool"), arguments=arguments, usage=exchange.usage)

    async def _ask(self, exchange: _Exchange, prompt: Prompt, form: type[BaseModel]) -> object:
        create: Any = instructor.patch(create=exchange.send, mode=instructor.Mode.TOOLS)
        with self._errors(self._timeout_s):
            async with asyncio.timeout(self._timeout_s):
                answer: object = await create(
                    response_model=form,
                    max_retries=self._max_retries,
                    strict=True,
                    model=self.name,
                    messages=_messages(prompt),
                )
        return answer

    async def choose(self, request: Mapping[str, Any]) -> object:
        """One request for a choice."""
        return await self._send(request, _EXTRAS, self._not_for_choices)

    async def _send(self, request: Mapping[str, Any], optional: Optional, refused: set[str]) -> object:
        """One request; an optional parameter that the server refuses is left out from then on.

        The length of a text is never left out, but has another name on newer servers.
        """
        create: Any = self._client.chat.completions.create
        dropped = set(refused)
        while True:
            given = {name: values for name, values in optional.items() if name not in dropped}
            if "max_tokens" in optional.keys() & dropped:
                given[LENGTH] = {LENGTH: optional["max_tokens"]["max_tokens"]}
            try:
                extras = {key: value for values in given.values() for key, value in values.items()}
                completion: object = await create(**request, **extras)
            except openai.APIStatusError as error:
                dropped.add(_refused(error, given))
            else:
                refused |= dropped
                return completion

    def count_tokens(self, text: str) -> int:
        """See `writer.Writer.count_tokens`; an upper bound, as the server's tokeniser is unknown."""
        return most_tokens(text)

    def open_writing(self) -> None:
        """See `writer.LanguageModel.open_writing`; does nothing, as the memory is the server's."""

    def generate(
        self, instruction: str, material: Material, *, temperature: float, max_tokens: int, seed: int
    ) -> Draft:
        """See `writer.Writer.generate`; without the server's count, the cost is the maximum."""
        check_writing(temperature, max_tokens)
        prompt = writing_prompt(instruction, material)
        parameters: dict[str, object] = {"temperature": temperature, "seed": seed, "max_tokens": max_tokens}
        try:
            reply = Reply.model_validate(self._ask_server(lambda: self._write(prompt, parameters)))
        except (ValueError, RecursionError, ToolCallRejected):  # no JSON, too deep, or no chat completion
            what = f"the model's server at {self._base_url} sent no chat completion"
            raise PermanentError(f"{what}: check model.base_url and model.name", code="model_reply") from None
        text = (reply.choices[0].message.content or "")[: max_tokens * LONGEST_TOKEN_CHARACTERS]
        text = text.encode("utf-8", "replace").decode("utf-8")  # JSON can hold half a surrogate pair
        return Draft(text=text, usage=_text_usage(reply.usage, prompt, max_tokens))

    async def _write(self, prompt: Prompt, parameters: Mapping[str, object]) -> object:
        """The reply as plain data."""
        request = {"model": self.name, "messages": _messages(prompt)}
        with self._errors(self._writing_timeout_s):
            async with asyncio.timeout(self._writing_timeout_s):
                optional = {name: {name: value} for name, value in parameters.items()}
                reply = await self._send(request, optional, self._not_for_texts)
        return reply.model_dump(warnings=False) if isinstance(reply, BaseModel) else reply

    @contextmanager
    def _errors(self, timeout_s: float) -> Iterator[None]:
        """Map errors of the libraries to ours; ours repeat no text of a mail or a reply."""
        try:
            yield
        except TimeoutError:
            raise _late(timeout_s) from None
        except IncompleteOutputException:
            raise ToolCallRejected("the model's call was cut off by its token limit") from None
        except InstructorRetryException as error:
            raise self._mapped(error.__cause__ or error, timeout_s) from None
        except openai.OpenAIError as error:
            raise self._mapped(error, timeout_s) from None

    def _mapped(self, error: BaseException, timeout_s: float) -> SupportAgentError:
        if isinstance(error, openai.APITimeoutError):
            return _late(timeout_s)
        if isinstance(error, openai.APIConnectionError):
            return error_of_connection(error, self._base_url)
        if not isinstance(error, openai.APIStatusError):
            return ToolCallRejected(f"the model made no usable call: {_reason(error)}")
        return error_of_status(error.status_code, self._base_url, self.name)

    def _ask_server(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        with self._cooldown.unless_cooling():
            return self._run(ask())

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
    """The requests of one choice: their cost, and the tokens of the last reply."""

    def __init__(self, model: OpenAIModel) -> None:
        self._model = model
        self.usage = Usage()
        self.tokens: tuple[Token, ...] = ()

    async def send(self, **request: Any) -> ChatCompletion:
        """One reply with the requested call; instructor validates the argument.

        Raises:
            ResponseParsingError, ValidationError: another reply; instructor asks again.
        """
        completion = await self._model.choose(request)
        if not isinstance(completion, ChatCompletion):
            raise ResponseParsingError("a reply that is no chat completion")
        reply = Reply.model_validate(completion.model_dump(warnings=False))
        if reply.usage:
            spent = reply.usage
            self.usage += Usage(prompt_tokens=spent.prompt_tokens or 0, forward_passes=spent.completion_tokens or 0)
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


def _late(timeout_s: float) -> NoAnswer:
    return NoAnswer(f"the model did not answer within {timeout_s:g} s")


def _messages(prompt: Prompt) -> list[dict[str, str]]:
    return [{"role": "system", "content": prompt.system}, {"role": "user", "content": _user_text(prompt)}]


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
    """The schema of a composed call: one field with one of the calls."""
    any_of: Any = reduce(or_, calls)
    return create_model(
        TOOL,
        __config__=ConfigDict(extra="forbid", frozen=True),
        __doc__="Make exactly one of the calls.",
        call=(any_of, ...),
    )


def _refused(error: openai.APIStatusError, given: Optional) -> str:
    """The optional parameter that a server refused: the one in its error, else the token probabilities.

    Raises:
        APIStatusError: the same error, if it is about something else.
    """
    text = str(error).lower()
    if error.status_code not in NEVER_ABOUT_A_PARAMETER:
        for name in given:
            if name in text and name != LENGTH:
                return name
    if error.status_code in (400, 422) and "logprobs" in given:
        return "logprobs"
    raise error


def _reason(error: BaseException) -> str:
    """The error of a reply in fixed words: even field names may come from the model."""
    if isinstance(error, ValidationError):
        return f"its argument is wrong ({error.errors(include_input=False)[0]['type']})"
    if isinstance(error, ResponseParsingError):
        return str(error.args[0])
    return f"its reply cannot be read ({type(error).__name__})"


def _text_usage(counted: TokenCount | None, prompt: Prompt, max_tokens: int) -> Usage:
    read, written = (counted.prompt_tokens, counted.completion_tokens) if counted else (None, None)
    read = most_tokens(prompt.system + _user_text(prompt)) if read is None else read
    written = max_tokens if written is None else written
    return Usage(prompt_tokens=read, tree_tokens=written, forward_passes=written)
