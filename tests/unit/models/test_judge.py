"""The judge: what is made of the model's scores, its prior, and what is no grade."""

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


def test_without_a_prior_a_grade_is_the_models_probability() -> None:
    model = ScriptedModel([{"yes": 0.7, "no": 0.3}])
    assert ModelJudge(model, prior=0.0).yes(ASK, MATERIAL).probability == pytest.approx(0.7)
    assert model.history[0].options == ("yes", "no")


def test_what_the_model_says_to_nothing_is_taken_off() -> None:
    """Log-odds of 4 to 1 for yes where there is nothing to read: a yes of 4 to 1 says nothing."""
    leaning, same = {"yes": 0.8, "no": 0.2}, {"yes": 0.8, "no": 0.2}
    assert ModelJudge(ScriptedModel([leaning, same]), prior=1.0).yes(ASK, MATERIAL).probability == pytest.approx(0.5)
    half = ModelJudge(ScriptedModel([leaning, same]), prior=0.5).yes(ASK, MATERIAL).probability
    assert half == pytest.approx(2 / 3)


def test_the_prior_of_a_question_is_asked_for_once() -> None:
    """Its texts are empty, its names stay; the grade that was first pays for it."""
    model = ScriptedModel([{"yes": 0.5, "no": 0.5}] * 3)
    judge = ModelJudge(model, prior=1.0)
    first, second = judge.yes(ASK, MATERIAL), judge.yes(ASK, (("Text", "The sea."),))
    assert (first.usage.forward_passes, second.usage.forward_passes) == (2, 1)
    assert "The sky" not in model.history[0].text
    assert "Text:" in model.history[0].text
    assert len(model.history) == 3


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
        ModelJudge(model, prior=0.0).yes(ASK, MATERIAL)
    assert caught.value.code == "scores"


def test_a_certain_model_gives_a_grade_near_one_and_not_an_overflow() -> None:
    """-inf is what some servers say of a token that they rule out."""
    assert ModelJudge(SaysScores((0.0, -math.inf)), prior=1.0).yes(ASK, MATERIAL).probability == pytest.approx(0.5)
    assert ModelJudge(SaysScores((0.0, -math.inf)), prior=0.0).yes(ASK, MATERIAL).probability > 0.999
    assert ModelJudge(SaysScores((-math.inf, 0.0)), prior=0.0).yes(ASK, MATERIAL).probability < 0.001


@pytest.mark.parametrize(("picked", "is_yes"), [(0, True), (1, False)])
def test_a_server_that_only_picks_gives_a_grade_that_is_not_certain(picked: int, is_yes: bool) -> None:
    probability = ModelJudge(SaysScores(None, picked), prior=0.0).yes(ASK, MATERIAL).probability
    assert (probability > 0.5) is is_yes
    assert 0.01 < probability < 0.99


def test_an_error_that_is_none_of_ours_is_permanent() -> None:
    """A model that breaks does not end the program."""
    with pytest.raises(PermanentError, match="ZeroDivisionError"):
        ModelJudge(ScriptedModel([ZeroDivisionError()]), prior=0.0).yes(ASK, MATERIAL)


def test_each_text_is_one_line_under_its_name() -> None:
    """A text with line breaks could write another name below its own."""
    model = ScriptedModel(["yes"])
    ModelJudge(model, prior=0.0).yes(ASK, (("Text", "one\n\nOther:\ntwo"), ("Other", "three")))
    assert "Text:\none Other: two\n\nOther:\nthree\n\nIs it blue? Answer yes or no." in model.history[0].text
