"""Texts by the words they share with a question."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.facts.bm25 import K1, B, WordIndex, words_of

TEXTS = ["how to reset a password", "the refund policy", "a password and a second password", "cancel the plan"]
FEW_WORDS = st.lists(st.sampled_from(["ab", "cd", "ef", "gh"]), max_size=6).map(" ".join)


def bm25(texts: list[str], question: str) -> list[float]:
    """The scores by the formula, as Lucene has it."""
    rows = [Counter(words_of(text)) for text in texts]
    mean = sum(row.total() for row in rows) / len(rows)
    scores = [0.0] * len(rows)
    for word in words_of(question):
        having = sum(word in row for row in rows)
        weight = math.log(1 + (len(rows) - having + 0.5) / (having + 0.5))
        for position, row in enumerate(rows):
            length = K1 * (1 - B + B * row.total() / mean) if mean else 1.0
            scores[position] += weight * row[word] / (row[word] + length) if row[word] else 0.0
    return scores


@given(st.lists(FEW_WORDS, min_size=1, max_size=8), FEW_WORDS)
def test_the_order_is_that_of_the_formula(texts: list[str], question: str) -> None:
    """Rule: BM25, the highest first; what shares no word is not found, and each text is found once."""
    scores = bm25(texts, question)
    found = WordIndex(texts).nearest(question, len(texts))
    assert sorted(found) == [position for position, score in enumerate(scores) if score > 0]
    ordered = [scores[position] for position in found]
    assert ordered == pytest.approx(sorted(ordered, reverse=True), rel=1e-5)


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    """Rule: the telling word decides."""
    assert WordIndex(TEXTS).nearest("password password reset", 1) == [0]


def test_the_commonest_words_find_nothing() -> None:
    """Story: of a place's twenty short answers the one with "is" and "the" twice came before the one with "beer"."""
    assert WordIndex(TEXTS).nearest("is it the plan", 4) == [3]
    assert WordIndex(TEXTS).nearest("is it to the", 4) == []


def test_only_what_is_allowed_is_found_and_no_more_than_asked_for() -> None:
    """Rule: the mask holds before the best are taken, so that what is not allowed takes no place."""
    words = WordIndex(TEXTS)
    assert words.nearest("password", 4) == [2, 0]
    assert words.nearest("password", 1) == [2]
    assert words.nearest("password", 1, np.array([True, True, False, True])) == [0]
    assert words.nearest("password", 4, np.zeros(4, dtype=np.bool_)) == []


def test_equal_texts_come_in_the_order_given() -> None:
    """Rule: the same question finds the same, every time."""
    assert WordIndex(["same words", "other", "same words"]).nearest("same words", 3) == [0, 2]


def test_small_and_capital_letters_and_composed_ones_are_alike() -> None:
    """Rule: PASSWORT is Passwort, and a decomposed umlaut is one letter."""
    words = WordIndex(["Das Passwort", "Die Ku\u0308ndigung", "STRASSE"])
    assert words.nearest("PASSWORT", 3) == [0]
    assert words.nearest("k\u00fcndigung", 3) == [1]
    assert words.nearest("stra\u00dfe", 3) == [2]


@pytest.mark.parametrize(
    ("texts", "question"), [([], "password"), (["", "..."], "password"), (TEXTS, ""), (TEXTS, "?")]
)
def test_no_words_find_nothing(texts: list[str], question: str) -> None:
    """Rule: an index without words and a question without any are no errors."""
    assert WordIndex(texts).nearest(question, 3) == []
