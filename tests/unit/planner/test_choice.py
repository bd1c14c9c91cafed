"""The joined choice: each vote counts, none alone decides, and a bare pick must agree with the similarity."""

from __future__ import annotations

import pytest

from support_agent.planner.choice import JUDGED_WEIGHTS, NONE_KEY, NONE_TITLE, WEIGHTS, Chooser, Option
from tests.fakes import Asked, ScriptedModel

REFUND = Option(key="document:1", title="Refund policy", summary="Money back.", similarity=0.55)
CANCEL = Option(key="document:2", title="Cancellation policy", summary="Ending a plan.", similarity=0.5)
EVEN = {REFUND.title: 1 / 3, CANCEL.title: 1 / 3, NONE_TITLE: 1 / 3}


YES, NO = {"yes": 0.95, "no": 0.05}, {"yes": 0.05, "no": 0.95}
PERHAPS = {"yes": 0.5, "no": 0.5}


def test_the_model_is_asked_about_the_most_similar_option_however_similar_it_is() -> None:
    sure = Option(key="document:1", title="Refund policy", similarity=0.99)
    far = Option(key="document:2", title="Cancellation policy", similarity=0.2)
    model = ScriptedModel([YES])
    choice = Chooser(model).topic("money back?", [sure, far], 0.6)
    assert (choice.key, len(model.history)) == ("document:1", 1)
    assert choice.probability >= 0.95
    assert [vote.judged is None for vote in choice.votes if vote.key != NONE_KEY] == [False, True]


def test_the_models_no_outweighs_a_sure_similarity() -> None:
    sure = Option(key="document:1", title="Refund policy", similarity=0.75)
    far = Option(key="document:2", title="Cancellation policy", similarity=0.2)
    choice = Chooser(ScriptedModel([{"yes": 0.001, "no": 0.999}])).topic("money back?", [sure, far], 0.6)
    assert choice.key == NONE_KEY


def test_a_yes_and_a_no_make_a_sure_choice_without_the_list() -> None:
    model = ScriptedModel([{"yes": 0.99, "no": 0.01}, NO])
    choice = Chooser(model).topic("money back?", [REFUND.model_copy(update={"similarity": 0.62}), CANCEL], 0.6)
    assert [set(asked.options) for asked in model.history] == [{"yes", "no"}] * 2
    assert (choice.key, choice.combiner) == ("document:1", JUDGED_WEIGHTS.version)


def test_where_the_yes_and_no_leave_it_open_the_model_picks_from_the_list() -> None:
    picked = {REFUND.title: 0.9, CANCEL.title: 0.05, NONE_TITLE: 0.05}
    model = ScriptedModel([PERHAPS, PERHAPS, EVEN, picked])
    choice = Chooser(model).topic("money back?", [REFUND, CANCEL], 0.6)
    assert len(model.history[-1].options) == 3
    assert (choice.key, choice.combiner) == ("document:1", WEIGHTS.version)


def test_what_is_sure_enough_depends_on_the_threshold_of_an_answer() -> None:
    """The list is asked only where it could bring the answer over its threshold, or keep it below."""
    asked = [PERHAPS, PERHAPS]
    assert len(_history([*asked], least=0.3)) == 2
    assert len(_history([*asked, EVEN, EVEN], least=0.6)) == 4
    assert len(_history([*asked], least=0.9)) == 2


def _history(script: list[dict[str, float]], least: float) -> list[Asked]:
    model = ScriptedModel(script)
    Chooser(model).topic("money back?", [REFUND, CANCEL], least)
    return model.history


def test_two_clear_noes_hand_the_question_to_a_person() -> None:
    no = {"yes": 0.01, "no": 0.99}
    model = ScriptedModel([no, no])
    choice = Chooser(model).topic("a table for two?", [REFUND, CANCEL], 0.6)
    assert (choice.key, len(model.history)) == (NONE_KEY, 2)


def test_probabilities_add_up_to_one_with_none_among_them() -> None:
    choice = Chooser(ScriptedModel([PERHAPS] * 2 + [EVEN] * 2)).topic("?", [REFUND, CANCEL], 0.6)
    assert sum(vote.probability for vote in choice.votes) == pytest.approx(1)
    assert NONE_KEY in {vote.key for vote in choice.votes}


def test_what_the_model_says_to_no_mail_at_all_is_taken_off_and_asked_once() -> None:
    """A model that always says "Cancellation policy" says nothing by saying it."""
    biased = {REFUND.title: 0.1, CANCEL.title: 0.8, NONE_TITLE: 0.1}
    model = ScriptedModel([PERHAPS, PERHAPS, biased, biased, PERHAPS, PERHAPS, biased])
    chooser = Chooser(model)
    first = chooser.topic("money back?", [REFUND, CANCEL], 0.6)
    chooser.topic("money back!", [REFUND, CANCEL], 0.6)
    assert [vote.key for vote in first.votes if vote.key != NONE_KEY] == ["document:1", "document:2"]
    assert len(model.history) == 7


def test_a_bare_pick_that_is_not_the_most_similar_option_goes_to_a_person() -> None:
    model = ScriptedModel(["yes", "no", REFUND.title, CANCEL.title], tells_probabilities=False)
    choice = Chooser(model).topic("money back?", [REFUND, CANCEL], 0.6)
    assert choice.key == NONE_KEY
    assert choice.probability == 1


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
