"""When a text contains a right answer: by its words and values, and, told apart, by the model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.papers.comparator import CONTAINED_ASK, Comparison, compare, is_contained
from tests.fakes_facts import ScriptedJudge


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("30 days", "It is refunded within 30 Days."),
        ("thirty days", "It is refunded within 30 days."),
        ("30 days", "Within thirty days."),
        ("1,000 GB", "Pro has 1000 GB."),
        ("1000", "1,000.00 in all"),
        ("19.5", "It costs EUR 19.50."),
        ("The Netherlands", "They are in the netherlands!"),
        ("Daemen and Rijmen", "(Daemen) and - Rijmen"),
        ("Sao Paulo", "in São Paulo"),
        ("customer's", "the customers files"),
        ("5 November 2026", "on 2026-11-05"),
        ("November 5th, 2026", "on 5.11.2026"),
        ("5th of November", "due 2026-11-05 at noon"),
        ("5 November", "It was November 5, 2026."),
        ("2026-03-14", "am 14. März 2026"),
        ("November", "on 5 November 2026"),
        ("the answer", "This is an answer."),
        ("1.2.3", "in version 1.2.3 of it"),
    ],
)
def test_an_answer_is_found_by_its_words_and_values(reference: str, text: str) -> None:
    """Rule: numbers, dates, capitals, accents, punctuation and articles are compared by what they mean."""
    assert is_contained([reference], text)


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("30 days", "within 130 days"),
        ("30 days", "30 business days"),
        ("3", "1,300"),
        ("1.5", "15"),
        ("5 November 2026", "5 November"),
        ("5 November", "6 November 2026"),
        ("cat", "a catalogue"),
        ("days 30", "30 days"),
        ("11", "at once"),
        ("", "anything"),
        ("the", "the end"),
        ("yes", ""),
    ],
)
def test_what_only_looks_alike_is_no_answer(reference: str, text: str) -> None:
    """Rule: whole words in their order; a date may be less exact than the text, never more."""
    assert not is_contained([reference], text)


def test_one_of_several_references_is_enough() -> None:
    """Rule: the same answer may be written in ways that no rule knows."""
    assert is_contained(["two weeks", "14 days"], "It takes 14 days.")
    assert not is_contained([], "It takes 14 days.")


@given(st.text(), st.text())
def test_any_text_is_compared(reference: str, text: str) -> None:
    """Rule: nothing raises, and a text contains itself, if there is a word in it."""
    is_contained([reference], text)
    assert is_contained([text], text) or not is_contained([text], f"{text} {text}")


def test_words_and_model_are_told_apart() -> None:
    """The failure's story: one number for both hid that the model called half of the wrong answers right."""
    judge = ScriptedJudge({CONTAINED_ASK: [0.9, 0.2]})
    said = compare("How long?", ["30 days", "a month"], "It takes four weeks and two days.", judge)
    assert (said, said.is_right_by_model) == (Comparison(by_words=False, by_model=0.9), True)
    other = compare("How long?", ["30 days"], "It takes 30 days.", judge)
    assert (other, other.is_right_by_model) == (Comparison(by_words=True, by_model=0.2), False)
    assert judge.history[0].material[1] == ("Right answer", "30 days / a month")


def test_the_model_is_asked_only_where_there_is_something_to_read() -> None:
    """Rule: without a judge the model's part is missing, not no; of an empty text it is no, for nothing."""
    assert compare("How long?", ["30 days"], "30 days") == Comparison(by_words=True)
    assert not Comparison(by_words=True).is_right_by_model
    assert compare("How long?", ["30 days"], " ", ScriptedJudge({})) == Comparison(by_words=False, by_model=0.0)
