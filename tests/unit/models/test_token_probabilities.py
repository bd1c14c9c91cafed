"""Probabilities of options from the tokens of a call: what is not known counts against the pick."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.models.token_probabilities import Alternative, Token, option_log_probabilities


def token(text: str, probability: float, **others: float) -> Token:
    """A token; `others` are its alternatives, with `_` for a space in front."""
    alternatives = {text: probability, **{name.replace("_", " "): chance for name, chance in others.items()}}
    return Token(
        token=text,
        logprob=math.log(probability),
        top_logprobs=tuple(Alternative(token=t, logprob=math.log(p)) for t, p in alternatives.items()),
    )


def bare(text: str, probability: float = 1.0) -> Token:
    """A token of a server that reports no alternatives."""
    return Token(token=text, logprob=math.log(probability))


def probabilities(options: list[str], picked: int, tokens: list[Token]) -> list[float]:
    scores = option_log_probabilities(options, picked, tokens)
    assert scores is not None
    return [math.exp(score) for score in scores]


def test_without_alternatives_the_rest_is_shared_by_the_others() -> None:
    """The picked option has the product of its tokens' probabilities."""
    tokens = [bare('{"choice": "'), bare("Re", 0.8), bare("fund", 0.5), bare('"}')]
    assert probabilities(["Refund", "Reset", "Export"], 0, tokens) == pytest.approx([0.4, 0.5, 0.1])


def test_an_alternative_gives_its_probability_to_the_option_it_leads_to() -> None:
    """A server's runner-up tells which option would have been next."""
    tokens = [bare('{"choice": "'), token("Refund", 0.7, Export=0.2, Re=0.1), bare('"}')]
    options = ["Refund", "Reset", "Export"]
    assert probabilities(options, 0, tokens) == pytest.approx([0.75, 0.05, 0.2])


def test_alternatives_that_lead_to_no_option_are_left_out() -> None:
    """A grammar forbade them: the server could not have written them."""
    tokens = [bare('{"choice": "'), token("Refund", 0.3, Sorry=0.6, Export=0.1), bare('"}')]
    assert probabilities(["Refund", "Export"], 0, tokens) == pytest.approx([0.75, 0.25])


def test_what_the_server_did_not_report_counts_against_its_pick() -> None:
    """A pick that a grammar forced out of an unwilling model looks unlikely, not certain."""
    tokens = [bare('{"choice": "'), token("Refund", 0.01, Sorry=0.9), bare('"}')]
    assert probabilities(["Refund", "Export"], 0, tokens) == pytest.approx([0.1, 0.9])


def test_tokens_that_are_no_choice_do_not_lower_the_probability() -> None:
    """Braces and the field's name come before the option; what follows from it is forced."""
    tokens = [
        bare('{"', 0.03),
        bare("choice", 0.0003),
        bare('": "', 0.5),
        bare("Ex", 0.9),
        bare('port"}', 0.2),
    ]
    assert probabilities(["Refund", "Export"], 1, tokens) == pytest.approx([0.1, 0.9])


def test_the_closing_quote_decides_between_an_option_and_a_longer_one() -> None:
    """`Refund` may go on to `Refund policy`: the end is a choice of its own."""
    tokens = [bare('{"choice": "'), bare("Refund"), token('"}', 0.75, _policy=0.25)]
    assert probabilities(["Refund", "Refund policy"], 0, tokens) == pytest.approx([0.75, 0.25])


def test_a_token_may_hold_the_quote_and_the_start_of_the_option() -> None:
    """Alternatives count only where they have the same text in front of the option."""
    tokens = [bare('{"choice":'), token(' "Re', 0.6, Refund=0.1, **{'_"Ex': 0.3}), bare('fund"}')]
    assert probabilities(["Refund", "Export"], 0, tokens) == pytest.approx([2 / 3, 1 / 3])


def test_an_alternative_that_fits_several_options_is_shared_by_them() -> None:
    """A shorter token of the same option speaks for all options that begin so."""
    tokens = [bare('{"choice": "'), token("Refund", 0.5, Re=0.5), bare('"}')]
    assert probabilities(["Refund", "Reset"], 0, tokens) == pytest.approx([0.75, 0.25])


@pytest.mark.parametrize("spelling", ['Gr\\u00f6\\u00dfe \\"L\\"', 'Größe \\"L\\"'])
def test_escaped_and_plain_spellings_are_the_same_option(spelling: str) -> None:
    """Servers escape accents, or do not."""
    tokens = [bare('{"choice": "'), bare(spelling, 0.6), bare('"}')]
    assert probabilities(['Größe "L"', "Refund"], 0, tokens) == pytest.approx([0.6, 0.4])


@pytest.mark.parametrize("tokens", [[], [bare("Refund")], [bare('{"choice": "'), bare('Export"}')]])
def test_tokens_that_do_not_spell_the_pick_tell_nothing(tokens: list[Token]) -> None:
    """Probabilities of another text, such as a server's own call format, are not taken for the option's."""
    assert option_log_probabilities(["Refund", "Other"], 0, tokens) is None


def test_an_impossible_pick_is_no_error() -> None:
    """A server may report minus infinity for what it wrote."""
    tokens = [bare('{"choice": "'), Token(token="Refund", logprob=-math.inf), bare('"}')]
    assert probabilities(["Refund", "Export"], 0, tokens) == pytest.approx([0.0, 1.0])


@given(
    options=st.lists(st.text(max_size=6), min_size=2, max_size=6, unique=True),
    cuts=st.sets(st.integers(0, 30)),
    chances=st.lists(st.floats(1e-9, 1.0), min_size=40, max_size=40),
    is_ascii=st.booleans(),
    data=st.data(),
)
def test_scores_are_always_a_distribution(
    options: list[str], cuts: set[int], chances: list[float], is_ascii: bool, data: st.DataObject
) -> None:
    """Whatever the options and wherever the tokens are cut, the probabilities add up to one."""
    picked = data.draw(st.integers(0, len(options) - 1))
    text = json.dumps({"choice": options[picked]}, ensure_ascii=is_ascii)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in pairwise(places)]
    tokens = [token(piece, chance) for piece, chance in zip(pieces, chances, strict=False)]
    assert sum(probabilities(options, picked, tokens)) == pytest.approx(1.0)
