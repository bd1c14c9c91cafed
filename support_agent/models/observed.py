"""A model whose calls are observed: it does what the model does, and nothing of a prompt or an answer is passed on.

Checked by tests/unit/models/test_observed.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

from support_agent.core.observing import Observer, Seen
from support_agent.models.language_model import Usage
from support_agent.models.writer import LanguageModel

CALLS = ("score", "score_each", "compose", "generate")
"""The calls that ask the model."""


def observed(model: LanguageModel, observer: Observer) -> LanguageModel:
    """The same model, as far as it is public; it is still the model itself that is closed and shared."""
    names = [name for name in dir(model) if not name.startswith("_")]
    wrapped = SimpleNamespace(**{name: getattr(model, name) for name in names})
    for name in CALLS:
        if hasattr(model, name):
            setattr(wrapped, name, partial(_asked, getattr(model, name), name, observer))
    return cast(LanguageModel, wrapped)


def _asked(call: Callable[..., Any], name: str, observer: Observer, *arguments: Any, **more: Any) -> Any:
    with observer.model(name) as seen:
        result = call(*arguments, **more)
        for one in result if isinstance(result, tuple) else (result,):
            _add(seen, getattr(one, "usage", None))
        return result


def _add(seen: Seen, usage: object) -> None:
    if isinstance(usage, Usage):
        seen.prompt_tokens += usage.prompt_tokens
        seen.option_tokens += usage.tree_tokens
        seen.forward_passes += usage.forward_passes
