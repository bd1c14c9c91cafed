"""A model whose calls are observed does what the model does, and each call is counted with its tokens."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pydantic import BaseModel

from support_agent.errors import TransientError
from support_agent.models.language_model import BatchModel, CallModel, Prompt, scoring_of
from support_agent.models.observed import observed
from support_agent.models.writer import LanguageModel
from support_agent.watch.observer import WorkerObserver
from support_agent.watch.recorder import Recorder
from tests.fakes import ScriptedCallModel, ScriptedModel
from tests.fakes_watch import Ticking, series_in, value

PROMPT = Prompt(system="You choose.", task="Choose yes.", parts=())


def test_calls_tokens_and_errors_are_counted() -> None:
    recorder = Recorder([""], lambda _brand: ())
    inner = ScriptedCallModel(ScriptedModel(["yes", TransientError("away")]), [("finish", {})])
    model: Any = observed(cast(LanguageModel, inner), WorkerObserver("", Ticking(), recorder))
    assert model.score(PROMPT, ("yes", "no")).log_probabilities is not None
    assert model.compose(PROMPT, [call_of("finish")]).tool == "finish"
    with pytest.raises(TransientError):
        model.score(PROMPT, ("yes", "no"))
    found = series_in(recorder.rendered("")[0].decode())
    assert value(found, "support_agent_model_calls_total", call="score", result="ok") == 1
    assert value(found, "support_agent_model_calls_total", call="score", result="transient") == 1
    assert value(found, "support_agent_model_seconds_count", call="score") == 2
    assert value(found, "support_agent_model_seconds_count", call="compose") == 1
    assert value(found, "support_agent_model_tokens_total", part="prompt") > 10
    assert value(found, "support_agent_model_forward_passes_total") == 2


def test_it_is_still_the_same_kind_of_model() -> None:
    """Rule: what a model cannot do, the observed one cannot do either; the rooms ask it by its methods."""
    observer = WorkerObserver("", Ticking())
    plain = observed(cast(LanguageModel, ScriptedModel([])), observer)
    composing = observed(cast(LanguageModel, ScriptedCallModel(ScriptedModel([]), [])), observer)
    assert plain.name == "scripted"
    assert not isinstance(plain, BatchModel | CallModel)
    assert isinstance(composing, CallModel)
    assert isinstance(scoring_of(composing), CallModel)


def call_of(tool: str) -> type[BaseModel]:
    """A closed call without arguments."""
    from typing import Literal

    from pydantic import create_model

    return create_model("Call", tool=(Literal["finish"], tool))  # type: ignore
