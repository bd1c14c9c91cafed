"""The used parts of a server's chat completion, validated on arrival; the rest is ignored.

Checked by tests/unit/models/test_openai.py and tests/unit/models/test_openai_writing.py.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from support_agent.models.server import MOST_TOKENS
from support_agent.models.token_probabilities import Token


class Arrived(BaseModel):
    """A part of a reply: the used fields are validated, the rest is ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Function(Arrived):
    name: str
    arguments: str


class Call(Arrived):
    function: Function


class Message(Arrived):
    content: str | None = None
    refusal: str | None = None
    tool_calls: tuple[Call, ...] | None = None
    function_call: Function | None = None


class LogProbs(Arrived):
    content: tuple[Token, ...] | None = None


def _log_probs_or_none(value: object) -> object:
    """Ignore probabilities of an unknown shape: the choice itself still counts."""
    try:
        return LogProbs.model_validate(value)
    except ValidationError:
        return None


class Choice(Arrived):
    message: Message
    finish_reason: str | None = None
    logprobs: Annotated[LogProbs | None, BeforeValidator(_log_probs_or_none)] = None


class TokenCount(Arrived):
    prompt_tokens: Annotated[int, Field(ge=0, le=MOST_TOKENS)] | None = None
    completion_tokens: Annotated[int, Field(ge=0, le=MOST_TOKENS)] | None = None


class Reply(Arrived):
    choices: Annotated[tuple[Choice, ...], Field(min_length=1)]
    usage: TokenCount | None = None
