"""The combiner: probabilities of what may answer and of none, out of raw signals; what is not known has no say."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.config.embedding import EMBEDDERS
from support_agent.planner.combiner import (
    Calibration,
    CombinerWeights,
    HiddenUnits,
    Votes,
    committed,
    features_of,
    standardised,
)
from support_agent.tools.base import Match
from support_agent.tools.signals import Signals
from tests.fakes import PLAIN


def match(number: int, near: float, **changes: object) -> Match:
    signals = Signals(likeness={name: {"head": near} for name in EMBEDDERS}, fluency=dict.fromkeys(EMBEDDERS, 1.0))
    return Match(topic=f"document:{number}", score=near, signals=signals.model_copy(update=changes))


cosines = st.lists(st.floats(-1, 1), min_size=1, max_size=8)


@given(cosines, st.booleans())
def test_probabilities_add_up_to_one_and_none_is_always_among_them(near: list[float], is_asked: bool) -> None:
    topics, none = features_of([match(number, value) for number, value in enumerate(near)])
    votes = [Votes(picked=-1.0, judged=0.5)] * (len(near) + 1) if is_asked else None
    chances = committed().chances(topics, none, votes, Calibration())
    assert len(chances) == len(near) + 1
    assert sum(chances) == pytest.approx(1.0)
    assert all(0 <= chance <= 1 and math.isfinite(chance) for chance in chances)


def test_the_nearer_topic_is_the_likelier_one() -> None:
    topics, none = features_of([match(1, 0.8), match(2, 0.3), match(3, 0.2)])
    chances = committed().chances(topics, none, None, Calibration())
    assert chances[0] > chances[1]


def test_where_there_is_nothing_to_choose_from_none_is_certain() -> None:
    """Failure: an index that was out of range."""
    assert committed().chances(*features_of([]), None, Calibration()) == [1.0]


def test_where_nothing_is_near_none_is_likelier_than_where_something_is() -> None:
    far, near = (
        committed().chances(*features_of([match(1, best), match(2, 0.1), match(3, 0.1)]), None, Calibration())[-1]
        for best in (0.12, 0.9)
    )
    assert far > near


def test_a_question_that_by_itself_asks_for_a_person_or_the_account_gets_what_it_asks_for_sooner() -> None:
    """Rule: the vote on the kind of answer speaks for `none`, or for every account value, and against the others."""
    field = Match(topic="field:plan", score=0.5, signals=match(2, 0.5).signals)

    def chances(**changes: float) -> list[float]:
        listed = [match(1, 0.5), field]
        own = [
            one.model_copy(update={"signals": (one.signals or Signals(likeness={})).model_copy(update=changes)})
            for one in listed
        ]
        return committed().chances(*features_of(own), None, Calibration())

    document, account, none = chances()
    assert chances(person_log_odds=2.0)[2] > none > chances(person_log_odds=-2.0)[2]
    assert chances(account_log_odds=2.0)[1] > account > chances(account_log_odds=-2.0)[1]
    assert chances(account_log_odds=2.0)[0] < document


def test_an_embedder_that_does_not_read_the_language_has_no_say() -> None:
    """The English one, of a Polish question: whatever it finds near."""
    foreign = {"minilm": 0.0, "use": 1.0}
    one = [match(1, 0.5, fluency=foreign), match(2, 0.4, fluency=foreign)]
    swapped = {"minilm": {"head": 0.99}, "use": {"head": 0.4}}
    other = [one[0], match(2, 0.4, fluency=foreign, likeness=swapped)]
    named = ("minilm", "words")
    for before, after in zip(features_of(one)[0], features_of(other)[0], strict=True):
        differ = {name for name in before if before[name] != after[name]}
        assert not {name for name in differ if name.startswith(named)}


def test_hidden_units_add_what_features_say_only_together() -> None:
    """Rule: they see an option's features beside those of the list, and nothing for a feature that is unknown."""
    hidden = HiddenUnits(
        topic={"near": (2.0, 0.0), "unheard": (9.0, 9.0)},
        none={"topics": (0.0, 1.0)},
        is_none=(0.0, -3.0),
        bias=(0.5, 0.0),
        out=(1.0, 2.0),
    )
    weights = CombinerWeights(topic={"near": 1.0}, none={"topics": 0.5}, hidden=hidden)
    scores = weights.scores([{"near": 0.25}, {}], {"topics": 2.0})
    of_list = 2 * math.tanh(2.0)
    assert scores == pytest.approx(
        [0.25 + math.tanh(1.0) + of_list, math.tanh(0.5) + of_list, 1.0 + math.tanh(0.5) + 2 * math.tanh(-1.0)]
    )
    assert weights.model_copy(update={"hidden": None}).scores([{"near": 0.25}, {}], {"topics": 2.0}) == [0.25, 0.0, 1.0]


def test_what_is_unknown_is_neither_near_nor_far() -> None:
    assert standardised([0.5, None, 0.1])[1] == 0.0
    assert standardised([None, 0.4]) == [0.0, 0.0]
    bare = features_of([Match(topic="document:1", score=0.4), Match(topic="document:2", score=0.2)])[0]
    assert bare[0]["classifier"] == bare[0]["use.any"] == 0.0


def test_a_yes_of_the_model_makes_a_topic_likelier_and_a_no_less_likely() -> None:
    topics, none = features_of([match(1, 0.5), match(2, 0.5)])
    silent = [Votes(judged=0.0), Votes(judged=0.0), Votes()]
    yes, no = ([Votes(judged=said), *silent[1:]] for said in (2.0, -2.0))
    chances = [committed().chances(topics, none, votes, Calibration())[0] for votes in (yes, silent, no)]
    assert chances == sorted(chances, reverse=True)


def test_a_sharper_calibration_moves_probabilities_apart() -> None:
    topics, none = features_of([match(1, 0.8), match(2, 0.3)])
    soft, sharp = (PLAIN.chances(topics, none, None, Calibration(sharpness=value)) for value in (0.5, 2.0))
    assert max(sharp) > max(soft)
