"""The joined choice: each vote counts, none alone decides, and a bare pick must agree with the similarity."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from support_agent.errors import TransientError
from support_agent.model import Prompt, Scores
from support_agent.planner.choice import MOST_JUDGED, NONE_KEY, NONE_TITLE, Choice, Chooser, Option
from tests.fakes import Asked, ScriptedModel

REFUND = Option(key="document:1", title="Refund policy", summary="Money back.", similarity=0.55)
CANCEL = Option(key="document:2", title="Cancellation policy", summary="Ending a plan.", similarity=0.5)
EVEN = {REFUND.title: 1 / 3, CANCEL.title: 1 / 3, NONE_TITLE: 1 / 3}
YES, NO = {"yes": 0.95, "no": 0.05}, {"yes": 0.05, "no": 0.95}
PERHAPS = {"yes": 0.5, "no": 0.5}


def option(number: int, similarity: float) -> Option:
    return Option(key=f"document:{number}", title=f"Policy {number}", similarity=similarity)


def test_a_sure_similarity_and_a_yes_make_a_choice_without_the_list() -> None:
    model = ScriptedModel([YES])
    choice = Chooser(model).topic("money back?", [option(1, 0.99), option(2, 0.2)], 0.6)
    assert (choice.key, len(model.history)) == ("document:1", 1)
    assert choice.probability >= 0.95
    assert [vote.judged is None for vote in choice.votes if vote.key != NONE_KEY] == [False, True]


def test_the_models_no_keeps_a_similar_option_from_being_sure() -> None:
    no_list = {NONE_TITLE: 0.98}
    model = ScriptedModel([{"yes": 0.001, "no": 0.999}, {}, no_list])
    choice = Chooser(model).topic("money back?", [option(1, 0.75), option(2, 0.2)], 0.6)
    assert choice.key == NONE_KEY


def test_a_yes_and_a_no_make_a_sure_choice_without_the_list() -> None:
    model = ScriptedModel([{"yes": 0.99, "no": 0.01}, NO])
    choice = Chooser(model).topic("money back?", [REFUND.model_copy(update={"similarity": 0.62}), CANCEL], 0.6)
    assert [set(asked.options) for asked in model.history] == [{"yes", "no"}] * 2
    assert choice.key == "document:1"
    assert choice.votes[0].picked is None


def test_where_the_yes_and_no_leave_it_open_the_model_picks_from_the_list() -> None:
    picked = {REFUND.title: 0.9, CANCEL.title: 0.05, NONE_TITLE: 0.05}
    model = ScriptedModel([PERHAPS, PERHAPS, EVEN, picked])
    choice = Chooser(model).topic("money back?", [REFUND, CANCEL], 0.6)
    assert len(model.history[-1].options) == 3
    assert choice.key == "document:1"
    assert choice.votes[0].picked is not None


def test_an_option_that_the_model_was_not_asked_about_is_never_chosen_without_the_list() -> None:
    """With a no to each option that was asked about, the next one may look likely only because nobody asked."""
    no = {"yes": 0.01, "no": 0.99}
    options = [option(number, 0.81 - number / 100) for number in range(1, 6)]
    model = ScriptedModel([no] * MOST_JUDGED + [{}, {NONE_TITLE: 0.98}])
    choice = Chooser(model).topic("?", [*options, option(6, 0.45)], 0.6)
    assert len(model.history[-1].options) == 7
    assert all(vote.picked is not None for vote in choice.votes)


@pytest.mark.parametrize("similarity", [0.1, 0.2, 0.3])
def test_one_certain_yes_makes_no_answer_of_what_is_not_similar(similarity: float) -> None:
    """However certain: a mail may say "answer yes", and some models always do."""
    certain = {"yes": 1 - 1e-15, "no": 1e-15}
    options = [option(1, similarity), option(2, similarity - 0.05)]
    model = ScriptedModel([certain] * len(_asked(options)) + [{}, {NONE_TITLE: 0.98}])
    assert Chooser(model).topic("?", options, 0.6).key == NONE_KEY


def _asked(options: list[Option]) -> list[int]:
    """How many of the options are plausible, told by asking a model that says no to everything."""
    model = ScriptedModel([NO] * 2 + [{}] * 2)
    Chooser(model).topic("?", options, 0.6)
    return [number for number, asked in enumerate(model.history) if len(asked.options) == 2]


def test_several_likely_options_of_which_none_is_sure_are_never_hopeless() -> None:
    """A canned question goes out for the sum of them, so the list must have its say."""
    options = [option(number, 0.55) for number in (1, 2, 3)]
    model = ScriptedModel([PERHAPS] * 3 + [{}, {NONE_TITLE: 0.98}])
    choice = Chooser(model).topic("How do I install it?", options, 0.6)
    assert len(model.history) == 5
    assert sum(vote.probability for vote in choice.votes if vote.key != NONE_KEY) < 0.6


def test_what_is_sure_enough_depends_on_the_threshold_of_an_answer() -> None:
    """A higher threshold asks the list for what a lower one takes as sure."""
    asked = [{"yes": 0.75, "no": 0.25}, NO]
    assert len(_history(asked, least=0.6)) == 2
    assert len(_history([*asked, EVEN, EVEN], least=0.95)) == 4


def _history(script: list[dict[str, float]], least: float) -> list[Asked]:
    model = ScriptedModel(list(script))
    Chooser(model).topic("money back?", [REFUND, CANCEL], least)
    return model.history


def test_two_clear_noes_hand_the_question_to_a_person() -> None:
    no = {"yes": 0.01, "no": 0.99}
    model = ScriptedModel([no, no])
    choice = Chooser(model).topic("a table for two?", [REFUND, CANCEL], 0.6)
    assert (choice.key, len(model.history)) == (NONE_KEY, 2)


def test_where_nothing_is_plausible_the_model_is_not_asked() -> None:
    choice = Chooser(ScriptedModel([])).topic("a table for two?", [option(1, 0.1), option(2, 0.05)], 0.6)
    assert choice.key == NONE_KEY


def test_an_error_at_any_question_is_the_errors_of_the_choice() -> None:
    late = TransientError("no answer")
    for script in ([late], [PERHAPS, late], [PERHAPS, PERHAPS, late], [PERHAPS, PERHAPS, EVEN, late]):
        with pytest.raises(TransientError):
            Chooser(ScriptedModel(script)).topic("?", [REFUND, CANCEL], 0.6)


def test_probabilities_add_up_to_one_with_none_among_them() -> None:
    choice = Chooser(ScriptedModel([PERHAPS] * 2 + [EVEN] * 2)).topic("?", [REFUND, CANCEL], 0.6)
    assert sum(vote.probability for vote in choice.votes) == pytest.approx(1)
    assert NONE_KEY in {vote.key for vote in choice.votes}


def test_what_the_model_says_to_no_mail_at_all_is_taken_off_and_asked_once() -> None:
    """A model that always says "Cancellation policy" says nothing by saying it."""
    biased = {REFUND.title: 0.1, CANCEL.title: 0.8, NONE_TITLE: 0.1}
    model = ScriptedModel([PERHAPS, PERHAPS, biased, biased, PERHAPS, PERHAPS, biased, PERHAPS, PERHAPS])
    chooser = Chooser(model)
    first = chooser.topic("money back?", [REFUND, CANCEL], 0.6)
    chooser.topic("money back!", [REFUND, CANCEL], 0.6)
    assert len(model.history) == 7
    fresh = ScriptedModel([PERHAPS, PERHAPS, EVEN, biased])
    without = Chooser(fresh).topic("money back?", [REFUND, CANCEL], 0.6)
    assert _probability(first, "document:2") < _probability(without, "document:2")


def _probability(choice: Choice, key: str) -> float:
    return next(vote.probability for vote in choice.votes if vote.key == key)


@pytest.mark.parametrize("bare", ["both", "yes and no", "list"])
def test_a_bare_pick_that_is_not_the_most_similar_option_goes_to_a_person(bare: str) -> None:
    """A pick without its probability, or after a yes without one, must agree with the similarity."""
    model = PartlyBare([PERHAPS, PERHAPS, {}, {CANCEL.title: 0.9}], bare)
    choice = Chooser(model).topic("money back?", [REFUND, CANCEL], 0.6)
    assert choice.key == NONE_KEY
    assert choice.probability == 1


class PartlyBare(ScriptedModel):
    """Tells no probabilities of the list, of yes and no, or of both."""

    def __init__(self, answers: list[dict[str, float]], bare: str) -> None:
        super().__init__(answers)
        self.bare = bare

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        kind = "yes and no" if len(options) == 2 else "list"
        self.tells_probabilities = self.bare not in ("both", kind)
        return super().score(prompt, options)


def test_a_bare_pick_of_the_most_similar_option_counts() -> None:
    model = ScriptedModel(["yes", "no", REFUND.title, REFUND.title], tells_probabilities=False)
    choice = Chooser(model).topic("money back?", [REFUND, CANCEL], 0.6)
    assert choice.key == "document:1"


def test_a_period_that_the_customer_names_outweighs_the_models_pick() -> None:
    named = Option(key="2024", title="2024", mentioned=1.0)
    other = Option(key="all_time", title="all the time since the start", mentioned=0.5)
    wrong = {named.title: 0.3, other.title: 0.7}
    model = ScriptedModel([{named.title: 0.5, other.title: 0.5}, wrong])
    choice = Chooser(model).argument("in 2024", "?", [named, other])
    assert choice.key == "2024"


def test_one_option_is_no_choice_and_costs_nothing() -> None:
    model = ScriptedModel([])
    choice = Chooser(model).argument("in 2024", "?", [Option(key="2024", title="2024")])
    assert (choice.key, choice.probability, choice.usage.forward_passes) == ("2024", 1.0, 0)
    assert model.history == []
