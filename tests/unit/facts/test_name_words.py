"""Names are compared by their words, and some words name nothing."""

from __future__ import annotations

import pytest

from support_agent.facts.name_words import FUNCTION_WORDS, key_of, stems_of, words_of


def test_words_are_folded_and_without_a_possessive() -> None:
    """Rule: case, width and apostrophes make no other name."""
    assert words_of("Ann's CAF\u00c9, Stra\u00dfe; Ross' dog don\u2019t") == (
        "ann", "caf\u00e9", "strasse", "ross", "dog", "dont",
    )  # fmt: skip


def test_a_number_with_a_point_is_one_word_and_so_is_a_sign() -> None:
    """The failure's story: "9.99" and "99.9" have the same digits in other places."""
    assert words_of("It is 9.99 \u20ac, or 1.000,50, or 5. 6") == (
        "it", "is", "9.99", "\u20ac", "or", "1.000,50", "or", "5", "6",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"),
    [("Team seats", "team SEAT"), ("Two-factor sign-in", "two factor sign in"), ("Ann's plan", "Ann\u2019s Plans")],
)
def test_two_spellings_of_a_name_have_one_key(one: str, other: str) -> None:
    """Rule: a plural's s, a hyphen and a possessive are no difference."""
    assert key_of(one) == key_of(other) != ""


def test_what_only_looks_like_a_plural_keeps_its_s() -> None:
    """Rule: status, address, analysis and gas."""
    assert stems_of("status address analysis gas days") == ("status", "address", "analysis", "gas", "day")


def test_function_words_are_known_as_they_are_written_and_as_stems() -> None:
    """The failure's story: "does" was none, as its stem was looked for in a list of words."""
    assert {"does", *stems_of("does"), "nicht", "para"} <= FUNCTION_WORDS
    assert not {"refund", "plan"} & FUNCTION_WORDS
