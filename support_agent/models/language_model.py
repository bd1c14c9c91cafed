"""What a language model is to this program: something that says how likely each of a few closed options is.

Two implementations: `models.llama.LlamaModel` (embedded) and `models.openai.OpenAIModel` (any OpenAI-compatible
server). Both pass tests/contract/test_model.py. There is no method that returns text. `BatchModel` is a model that
scores several prompts at once, as the embedded one does; `CallModel` one that can also compose a whole call with closed
arguments by itself, as servers do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from pydantic import BaseModel

from support_agent.core.frozen import Frozen
from support_agent.errors import PermanentError, SupportAgentError, ToolCallRejected

MAX_OPTIONS = 60
"""Options of one choice at most."""
LOWEST = -50.0
"""A log-probability as good as none."""
LOG_SLACK = 1e-3
"""How far above 0 rounding may lift a log-probability."""
T = TypeVar("T")


class Prompt(Frozen):
    """What the model reads.

    `system` and `task` are the program's own words; `parts` follow as (text, is the program's own) so that text from
    outside is never taken for control tokens; `lead` is the start of the model's own turn, forced.
    """

    system: str
    task: str
    parts: tuple[tuple[str, bool], ...]
    lead: str = ""


class Usage(Frozen):
    """What a choice cost; adds up."""

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
    """One log-probability an option, normalised over the options.

    None where the server told only which option it picked: then `picked` is its index and nothing is known of how
    sure it was.
    """

    log_probabilities: tuple[float, ...] | None
    picked: int | None = None
    usage: Usage


class Model(Protocol):
    """Scores closed options; never returns text."""

    name: str

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        """How likely each option is as the continuation of the prompt.

        Raises:
            TransientError: no answer in time, or the server failed.
            ToolCallRejected: what came back is not one of the options, after the bounded retries.
            PermanentError: the prompt does not fit, or the server refused.
        """
        ...


def scoring_of(model: Model) -> Model:
    """Only what scores and composes of a model: what chooses is given nothing that could write.

    The model itself may be a `writer.Writer` too.
    """
    names = ("name", "score", "score_each", "compose")
    return cast(Model, SimpleNamespace(**{name: getattr(model, name) for name in names if hasattr(model, name)}))


@runtime_checkable
class BatchModel(Protocol):
    """A model that evaluates what several prompts begin with once, and the rest of them together."""

    def score_each(self, prompts: Sequence[Prompt], options: Sequence[str]) -> tuple[Scores, ...]:
        """For each prompt what `Model.score` gives; what all have cost together stands in the first.

        A score depends a little on the prompts beside it: their rows are computed together.
        """
        ...


def ask_model(model: Model, prompt: Prompt, options: Sequence[str]) -> Scores:
    """What a model says, if it is an answer at all; no log-probability is below `LOWEST`.

    Raises:
        ToolCallRejected: not one log-probability for each option, or no pick (code `scores`).
        PermanentError: the model raised something that is no error of ours (code `model`).
        SupportAgentError: what `Model.score` raises.
    """
    return _said(lambda: _checked(model.score(prompt, options), options))


def ask_each(model: Model, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Scores]:
    """What a model says to each prompt, all at once where it can; else as `ask_model`.

    Args:
        prompts: Best with one long start.
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
    """A call that a model composed, its arguments as they came: whoever asked for it looks whether it was offered."""

    tool: str
    arguments: dict[str, Any]
    usage: Usage


@runtime_checkable
class CallModel(Protocol):
    """A model that composes calls by itself, and does not tell how sure it is of them."""

    def compose(self, prompt: Prompt, calls: Sequence[type[BaseModel]]) -> ComposedCall:
        """One call, of one of these models: each has the field `tool`, and every field is closed.

        Raises:
            TransientError: no answer in time, or the server failed.
            ToolCallRejected: no usable call, after the bounded retries.
            PermanentError: the server refused.
        """
        ...


def ask_for_call(model: CallModel, prompt: Prompt, calls: Sequence[type[BaseModel]]) -> ComposedCall:
    """What a model composed, if it is a call at all.

    Raises:
        ToolCallRejected: something else (code `call`).
        PermanentError: the model raised something that is no error of ours (code `model`).
        SupportAgentError: what `CallModel.compose` raises.
    """
    composed = _said(lambda: model.compose(prompt, calls))
    if not isinstance(composed, ComposedCall):
        raise ToolCallRejected("the model composed no call", code="call")
    return composed


def check_options(options: Sequence[str]) -> None:
    """Refuse what is no choice.

    Raises:
        PermanentError: not 2..60 different options (code `options`).
    """
    if not 2 <= len(options) <= MAX_OPTIONS or len(set(options)) < len(options):
        raise PermanentError(
            f"a choice has 2..{MAX_OPTIONS} different options, not these {len(options)}", code="options"
        )
