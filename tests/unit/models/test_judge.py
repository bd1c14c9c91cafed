"""The judge: what is made of the model's scores, and what is no grade."""

from __future__ import annotations

import math

import pytest

from support_agent.errors import PermanentError, ToolCallRejected
from support_agent.models.judge import ModelJudge
from support_agent.models.language_model import Prompt, Scores, Usage
from tests.fakes import ScriptedModel

ASK = "Is it blue?"
MATERIAL = (("Text", "The sky."),)


class SaysScores:
    """A model that says exactly this."""

    name = "says"

    def __init__(self, said: tuple[float, ...] | None, picked: int | None = None) -> None:
        self.scores = Scores(log_probabilities=said, picked=picked, usage=Usage(prompt_tokens=1, forward_passes=1))

    def score(self, prompt: Prompt, options: object) -> Scores:
        return self.scores


def test_a_grade_is_the_models_probability() -> None:
    model = ScriptedModel([{"yes": 0.7, "no": 0.3}])
    assert ModelJudge(model).yes(ASK, MATERIAL).probability == pytest.approx(0.7)
    assert model.history[0].options == ("yes", "no")


@pytest.mark.parametrize(
    "model",
    [
        SaysScores((math.nan, -1.0)),
        SaysScores((-1.0, math.nan)),
        SaysScores((math.inf, -1.0)),
        SaysScores((-0.1,)),
        SaysScores((-1.0, -1.0, -1.0)),
        SaysScores(None, picked=None),
        SaysScores(None, picked=2),
    ],
)
def test_what_is_no_probability_is_no_grade(model: SaysScores) -> None:
    """It is refused; it never becomes a low or a high grade."""
    with pytest.raises(ToolCallRejected) as caught:
        ModelJudge(model).yes(ASK, MATERIAL)
    assert caught.value.code == "scores"


def test_a_certain_model_gives_a_grade_near_one_and_not_an_overflow() -> None:
    """-inf is what some servers say of a token that they rule out."""
    assert ModelJudge(SaysScores((0.0, -math.inf))).yes(ASK, MATERIAL).probability > 0.999
    assert ModelJudge(SaysScores((-math.inf, 0.0))).yes(ASK, MATERIAL).probability < 0.001


@pytest.mark.parametrize(("picked", "is_yes"), [(0, True), (1, False)])
def test_a_server_that_only_picks_gives_a_grade_that_is_not_certain(picked: int, is_yes: bool) -> None:
    probability = ModelJudge(SaysScores(None, picked)).yes(ASK, MATERIAL).probability
    assert (probability > 0.5) is is_yes
    assert 0.01 < probability < 0.99


def test_an_error_that_is_none_of_ours_is_permanent() -> None:
    """A model that breaks does not end the program."""
    with pytest.raises(PermanentError, match="ZeroDivisionError"):
        ModelJudge(ScriptedModel([ZeroDivisionError()])).yes(ASK, MATERIAL)


def test_each_text_is_one_line_under_its_name() -> None:
    """A text with line breaks could write another name below its own."""
    model = ScriptedModel(["yes"])
    ModelJudge(model).yes(ASK, (("Text", "one\n\nOther:\ntwo"), ("Other", "three")))
    assert "Text:\none Other: two\n\nOther:\nthree\n\nIs it blue? Answer yes or no." in model.history[0].text
