"""The port of the language model: it gives the probability of each of a few closed options.

Two implementations: `models.llama.LlamaModel` (embedded) and `models.openai.OpenAIModel` (any OpenAI-compatible
server). Both pass tests/contract/test_model.py. There is no method that returns text. `BatchModel` is a model that
scores several prompts at once, as both do; `CallModel` one that can also compose a whole call with closed arguments by
itself, as servers do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from pydantic import BaseModel

from support_agent.core.frozen import Frozen
from support_agent.errors import PermanentError, SupportAgentError, ToolCallRejected

MAX_OPTIONS = 60
"""Most options of a choice."""
LOWEST = -50.0
"""The least log-probability; lower values are raised to it."""
LOG_SLACK = 1e-3
"""Tolerance for log-probabilities above 0, from rounding."""
T = TypeVar("T")


class Prompt(Frozen):
    """The prompt.

    `system` and `task` are fixed words; `parts` follow as (text, is fixed), so that text from outside is never read as
    control tokens; `lead` is the forced start of the model's turn.
    """

    system: str
    task: str
    parts: tuple[tuple[str, bool], ...]
    lead: str = ""


class Usage(Frozen):
    """The cost of a choice; can be added."""

    prompt_tokens: int = 0
    tree_tokens: int = 0
    forward_passes: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            tree_tokens=self.tree_tokens + other.tree_tokens,
            forward_passes=self.forward_passes + other.forward_passes,
        )

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.tree_tokens


class Scores(Frozen):
    """One log-probability per option, normalised over the options.

    None if the server returned only its pick: then `picked` is the index, and the confidence is unknown.
    """

    log_probabilities: tuple[float, ...] | None
    picked: int | None = None
    usage: Usage


class Model(Protocol):
    """Scores closed options; never returns text."""

    name: str

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        """The probability of each option as the continuation of the prompt.

        Raises:
            TransientError: no answer in time, or the server failed.
            ToolCallRejected: the reply is none of the options, after the bounded retries.
            PermanentError: the prompt does not fit, or the server refused.
        """
        ...


def scoring_of(model: Model) -> Model:
    """The model without its `writer.Writer`: only scoring and composing, for the rooms that choose."""
    names = ("name", "score", "score_each", "compose")
    return cast(Model, SimpleNamespace(**{name: getattr(model, name) for name in names if hasattr(model, name)}))


@runtime_checkable
class BatchModel(Protocol):
    """A model that is asked several prompts at once."""

    def score_each(self, prompts: Sequence[Prompt], options: Sequence[str]) -> tuple[Scores, ...]:
        """`Model.score` for each prompt; the results together have the cost of all.

        In the embedded model a score depends slightly on the other prompts, as their rows are computed together.
        """
        ...


def ask_model(model: Model, prompt: Prompt, options: Sequence[str]) -> Scores:
    """Ask the model, and check its result; no log-probability is below `LOWEST`.

    Raises:
        ToolCallRejected: not one log-probability for each option, or no pick (code `scores`).
        PermanentError: the model raised an unknown error (code `model`).
        SupportAgentError: raised by `Model.score`.
    """
    return _said(lambda: _checked(model.score(prompt, options), options))


def ask_each(model: Model, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Scores]:
    """Ask the model about several prompts, in one batch if it can; else as `ask_model`.

    Args:
        prompts: Ideally with a long common start.
    """
    if len(prompts) < 2 or not isinstance(model, BatchModel):
        return [ask_model(model, prompt, options) for prompt in prompts]
    batched = _said(lambda: model.score_each(prompts, options))
    if not isinstance(batched, tuple) or len(batched) != len(prompts):
        raise ToolCallRejected("the model did not score each prompt", code="scores")
    return _said(lambda: [_checked(scores, options) for scores in batched])


def _said(ask: Callable[[], T]) -> T:
    try:
        return ask()
    except SupportAgentError:
        raise
    except Exception as error:
        raise PermanentError(f"the model failed with {type(error).__name__}", code="model") from error


def _checked(scores: Scores, options: Sequence[str]) -> Scores:
    if not isinstance(scores, Scores):
        raise ToolCallRejected("the model gave no scores", code="scores")
    said = scores.log_probabilities
    if said is None:
        if scores.picked is None or not 0 <= scores.picked < len(options):
            raise ToolCallRejected("the model picked none of the options", code="scores")
        return scores
    if len(said) != len(options) or not all(value <= LOG_SLACK for value in said):  # a NaN is not below it
        raise ToolCallRejected("the model's scores are no log-probabilities of the options", code="scores")
    return scores.model_copy(update={"log_probabilities": tuple(max(value, LOWEST) for value in said)})


class ComposedCall(Frozen):
    """A call that a model composed, with raw arguments: the caller checks whether it was offered."""

    tool: str
    arguments: dict[str, Any]
    usage: Usage


@runtime_checkable
class CallModel(Protocol):
    """A model that composes calls, without a confidence."""

    def compose(self, prompt: Prompt, calls: Sequence[type[BaseModel]]) -> ComposedCall:
        """Compose a call of one of these models: each has the field `tool`, and every field is closed.

        Raises:
            TransientError: no answer in time, or the server failed.
            ToolCallRejected: no usable call, after the bounded retries.
            PermanentError: the server refused.
        """
        ...


def ask_for_call(model: CallModel, prompt: Prompt, calls: Sequence[type[BaseModel]]) -> ComposedCall:
    """Ask the model for a call, and check that it is one.

    Raises:
        ToolCallRejected: the result is no call (code `call`).
        PermanentError: the model raised an unknown error (code `model`).
        SupportAgentError: raised by `CallModel.compose`.
    """
    composed = _said(lambda: model.compose(prompt, calls))
    if not isinstance(composed, ComposedCall):
        raise ToolCallRejected("the model composed no call", code="call")
    return composed


def check_options(options: Sequence[str]) -> None:
    """Refuse invalid lists of options.

    Raises:
        PermanentError: not 2..60 different options (code `options`).
    """
    if not 2 <= len(options) <= MAX_OPTIONS or len(set(options)) < len(options):
        raise PermanentError(
            f"a choice has 2..{MAX_OPTIONS} different options, not these {len(options)}", code="options"
        )
