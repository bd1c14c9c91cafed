"""The joined choice: each vote counts, none alone decides, and a bare pick must agree with the similarity."""

from __future__ import annotations

import pytest

from support_agent.planner.choice import NONE_KEY, NONE_TITLE, Chooser, Option
from tests.fakes import ScriptedModel

REFUND = Option(key="document:1", title="Refund policy", summary="Money back.", similarity=0.55)
CANCEL = Option(key="document:2", title="Cancellation policy", summary="Ending a plan.", similarity=0.5)
EVEN = {REFUND.title: 1 / 3, CANCEL.title: 1 / 3, NONE_TITLE: 1 / 3}


def test_votes_that_agree_make_a_sure_choice_without_asking_the_finalists() -> None:
    sure = Option(key="document:1", title="Refund policy", similarity=0.95)
    model = ScriptedModel([EVEN, {sure.title: 0.98, CANCEL.title: 0.01, NONE_TITLE: 0.01}])
    choice = Chooser(model).topic("money back?", [sure, CANCEL])
    assert choice.key == "document:1"
    assert choice.probability >= 0.95
    assert len(model.history) == 2


def test_where_the_outcome_is_close_the_finalists_are_asked_about_one_by_one() -> None:
    model = ScriptedModel([EVEN, EVEN, {"yes": 0.95, "no": 0.05}, {"yes": 0.05, "no": 0.95}])
    choice = Chooser(model).topic("money back?", [REFUND, CANCEL])
    assert [set(asked.options) for asked in model.history[2:]] == [{"yes", "no"}] * 2
    assert choice.key == "document:1"


def test_two_clear_noes_hand_the_question_to_a_person() -> None:
    no = {"yes": 0.01, "no": 0.99}
    choice = Chooser(ScriptedModel([EVEN, EVEN, no, no])).topic("a table for two?", [REFUND, CANCEL])
    assert choice.key == NONE_KEY


def test_probabilities_add_up_to_one_with_none_among_them() -> None:
    choice = Chooser(ScriptedModel([EVEN] * 2 + [{"yes": 0.5, "no": 0.5}] * 2)).topic("?", [REFUND, CANCEL])
    assert sum(vote.probability for vote in choice.votes) == pytest.approx(1)
    assert NONE_KEY in {vote.key for vote in choice.votes}


def test_what_the_model_says_to_no_mail_at_all_is_taken_off_and_asked_once() -> None:
    """A model that always says "Cancellation policy" says nothing by saying it."""
    biased = {REFUND.title: 0.1, CANCEL.title: 0.8, NONE_TITLE: 0.1}
    yes = {"yes": 0.5, "no": 0.5}
    model = ScriptedModel([biased, biased, yes, yes, biased, yes, yes])
    chooser = Chooser(model)
    first = chooser.topic("money back?", [REFUND, CANCEL])
    chooser.topic("money back!", [REFUND, CANCEL])
    assert [vote.key for vote in first.votes if vote.key != NONE_KEY] == ["document:1", "document:2"]
    assert len(model.history) == 7


def test_a_bare_pick_that_is_not_the_most_similar_option_goes_to_a_person() -> None:
    model = ScriptedModel([REFUND.title, CANCEL.title], tells_probabilities=False)
    choice = Chooser(model).topic("money back?", [REFUND, CANCEL])
    assert choice.key == NONE_KEY
    assert choice.probability == 1


def test_a_bare_pick_of_the_most_similar_option_counts() -> None:
    model = ScriptedModel([REFUND.title, REFUND.title, "yes", "no"], tells_probabilities=False)
    choice = Chooser(model).topic("money back?", [REFUND, CANCEL])
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
