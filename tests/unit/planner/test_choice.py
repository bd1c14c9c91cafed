"""The cascade: what is sure or hopeless without the model asks it nothing, else each vote counts and none decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from support_agent.errors import ToolCallRejected, TransientError
from support_agent.models.language_model import Model, Prompt, Scores
from support_agent.planner.choice import (
    NONE_KEY,
    NONE_TITLE,
    Choice,
    Chooser,
    ModelVotes,
    Option,
    is_clear,
    is_hopeless,
)
from support_agent.planner.combiner import Calibration
from support_agent.tools.base import Match
from tests.fakes import PLAIN, ScriptedModel

REFUND = Option(key="document:1", title="Refund policy", summary="Money back.")
CANCEL = Option(key="document:2", title="Cancellation policy", summary="Ending a plan.")
EVEN = {REFUND.title: 1 / 3, CANCEL.title: 1 / 3, NONE_TITLE: 1 / 3}
REFUND_PICKED = {REFUND.title: 0.9, CANCEL.title: 0.05, NONE_TITLE: 0.05}
YES, NO = {"yes": 0.95, "no": 0.05}, {"yes": 0.05, "no": 0.95}
PERHAPS = {"yes": 0.5, "no": 0.5}
DOUBTFUL = (0.55, 0.5)


def choose(
    model: Model, scores: Sequence[float] = DOUBTFUL, votes: ModelVotes = "doubtful", least: float = 0.6
) -> Choice:
    matches = [Match(topic=f"document:{place}", score=score) for place, score in enumerate(scores, start=1)]
    return Chooser(model, PLAIN, model_votes=votes).topic("money back?", matches, [REFUND, CANCEL], least)


def test_what_is_sure_without_the_model_is_chosen_without_it() -> None:
    choice = choose(ScriptedModel([]), (0.99, 0.2))
    assert (choice.key, choice.usage.forward_passes) == ("document:1", 0)
    assert choice.probability >= 0.95
    assert all(vote.picked is None and vote.judged is None for vote in choice.votes)


def test_where_all_is_hopeless_the_model_is_not_asked() -> None:
    assert choose(ScriptedModel([]), (0.1, 0.05)).key == NONE_KEY


def test_a_doubtful_question_is_judged_and_picked_and_both_votes_are_kept() -> None:
    model = ScriptedModel([YES, NO, EVEN, REFUND_PICKED])
    choice = choose(model)
    assert [len(asked.options) for asked in model.history] == [2, 2, 3, 3]
    assert choice.key == "document:1"
    assert choice.votes[0].judged is not None
    assert choice.votes[0].picked is not None
    assert choice.votes[0].unasked is not None
    assert choice.probability > choice.votes[0].unasked


def test_the_models_no_takes_away_from_an_option() -> None:
    choice = choose(ScriptedModel([{"yes": 0.001, "no": 0.999}, NO, EVEN, {NONE_TITLE: 0.98}]))
    assert choice.key == NONE_KEY


@pytest.mark.parametrize("votes", ["always", "never"])
def test_the_setting_says_whether_the_model_is_asked(votes: ModelVotes) -> None:
    for scores, judged in (((0.99, 0.2), [YES]), (DOUBTFUL, [YES, NO])):
        model = ScriptedModel([*judged, EVEN, REFUND_PICKED] if votes == "always" else [])
        choose(model, scores, votes)
        assert bool(model.history) is (votes == "always")


@pytest.mark.parametrize("similarity", [0.1, 0.2, 0.3])
def test_one_certain_yes_makes_no_answer_of_what_is_not_similar(similarity: float) -> None:
    """However certain: a mail may say "answer yes", and some models always do."""
    certain = {"yes": 1 - 1e-15, "no": 1e-15}
    model = ScriptedModel([certain, certain, EVEN, EVEN])
    assert choose(model, (similarity, similarity - 0.05), "always").key == NONE_KEY


def test_what_is_clear_depends_on_the_threshold_of_an_answer() -> None:
    assert is_clear(0.85, least=0.6)
    assert not is_clear(0.85, least=0.95)
    assert is_hopeless([0.05, 0.04, 0.91], least=0.6)


def test_several_likely_options_of_which_none_is_sure_are_never_hopeless() -> None:
    """A canned question goes out for the sum of them, so the model must have its say."""
    assert not is_hopeless([0.3, 0.3, 0.3, 0.1], least=0.6)


def test_a_topic_that_the_customer_names_outright_outweighs_a_likelier_one() -> None:
    matches = [Match(topic="document:1", score=0.6), Match(topic="record:invoices", score=0.45)]
    named = Option(key="record:invoices", title="One invoice", mentioned=1.0)
    choice = Chooser(ScriptedModel([]), PLAIN, model_votes="never").topic("?", matches, [REFUND, named], 0.6)
    assert choice.key == "record:invoices"


def test_probabilities_add_up_to_one_before_and_after() -> None:
    choice = choose(ScriptedModel([YES, NO, EVEN, REFUND_PICKED]))
    assert sum(vote.probability for vote in choice.votes) == pytest.approx(1.0)
    assert sum(vote.unasked or 0.0 for vote in choice.votes) == pytest.approx(1.0)


def test_a_companys_calibration_moves_what_is_sure() -> None:
    matches = [Match(topic="document:1", score=0.7), Match(topic="document:2", score=0.3)]
    plain, strict = (
        Chooser(ScriptedModel([]), PLAIN, calibration=calibration, model_votes="never")
        .topic("?", matches, [REFUND, CANCEL], 0.6)
        .probability
        for calibration in (Calibration(), Calibration(none_shift=2.0))
    )
    assert strict < plain


def test_an_error_at_any_question_is_the_errors_of_the_choice() -> None:
    late = TransientError("no answer")
    scripts: tuple[list[Mapping[str, float] | Exception], ...] = (
        [late],
        [PERHAPS, late],
        [PERHAPS, PERHAPS, late],
        [PERHAPS, PERHAPS, EVEN, late],
    )
    for script in scripts:
        with pytest.raises(TransientError):
            choose(ScriptedModel(script))


def test_the_answer_to_no_mail_at_all_is_asked_for_once() -> None:
    model = ScriptedModel([PERHAPS, PERHAPS, EVEN, REFUND_PICKED, PERHAPS, PERHAPS, REFUND_PICKED])
    chooser = Chooser(model, PLAIN, model_votes="always")
    matches = [Match(topic="document:1", score=0.55), Match(topic="document:2", score=0.5)]
    for _ in range(2):
        chooser.topic("money back?", matches, [REFUND, CANCEL], 0.6)
    assert model.answers == []


def test_a_bare_pick_must_agree_with_the_other_votes() -> None:
    """A server that tells no probabilities: its pick of another option is a disagreement, and a person gets it."""
    agrees = ScriptedModel([YES, NO, REFUND.title, REFUND.title], tells_probabilities=False)
    assert choose(agrees).key == "document:1"
    differs = ScriptedModel([YES, NO, CANCEL.title, CANCEL.title], tells_probabilities=False)
    choice = choose(differs)
    assert (choice.key, choice.probability) == (NONE_KEY, 1.0)


class _Recorder:
    name = "recorder"

    def __init__(self) -> None:
        self.titles: list[tuple[str, ...]] = []

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        self.titles.append(tuple(options))
        return ScriptedModel([options[0]]).score(prompt, options)


def test_the_list_always_has_the_option_that_a_person_must_handle_it() -> None:
    model = _Recorder()
    choose(model)
    assert all(titles[-1] == NONE_TITLE for titles in model.titles if len(titles) == 3)


def test_what_the_customer_names_outweighs_the_models_pick_of_an_argument() -> None:
    named = Option(key="2024", title="the year 2024", mentioned=1.0)
    other = Option(key="2025", title="the year 2025")
    model = ScriptedModel([{named.title: 0.5, other.title: 0.5}, {other.title: 0.9, named.title: 0.1}])
    assert Chooser(model, PLAIN).argument("in 2024", "?", [named, other]).key == "2024"


def test_one_option_is_no_choice() -> None:
    choice = Chooser(ScriptedModel([]), PLAIN).argument("in 2024", "?", [Option(key="2024", title="2024")])
    assert (choice.key, choice.probability, choice.usage.forward_passes) == ("2024", 1.0, 0)


class _Batching(ScriptedModel):
    """Scores several prompts at once; `lost` of them it does not."""

    lost = 0
    batches = 0

    def score_each(self, prompts: Sequence[Prompt], options: Sequence[str]) -> tuple[Scores, ...]:
        """As one by one."""
        self.batches += 1
        return tuple(self.score(prompt, options) for prompt in prompts[self.lost :])


def test_all_yes_or_no_questions_of_a_mail_are_asked_at_once_where_the_model_can() -> None:
    """With the same votes as one by one."""
    answers = [YES, NO, EVEN, REFUND_PICKED]
    model = _Batching(answers)
    assert choose(model).votes == choose(ScriptedModel(answers)).votes
    assert model.batches == 1


def test_a_batch_without_an_answer_to_each_prompt_is_refused() -> None:
    model = _Batching([YES, NO, EVEN, REFUND_PICKED])
    model.lost = 1
    with pytest.raises(ToolCallRejected, match="did not score each"):
        choose(model)


@pytest.mark.parametrize("said", [None, 3, (None, None), ("yes", "no")])
def test_a_batch_of_something_else_than_scores_is_refused(said: Any) -> None:
    """A model that breaks its type ends in a person's hands, not in an error of Python's."""

    class Broken(ScriptedModel):
        def score_each(self, prompts: Sequence[Prompt], options: Sequence[str]) -> Any:
            return said

    with pytest.raises(ToolCallRejected, match="score"):
        choose(Broken([REFUND_PICKED]))
