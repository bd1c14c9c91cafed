"""Cutting words into the pieces of a unigram vocabulary: the best sum of scores, as the library does it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from support_agent.models.embedding.unigram import SPACE, Unigram

VOCABULARY = [
    ("<s>", 0.0), ("</s>", 0.0), ("<unk>", 0.0),
    (SPACE, -3.17), (f"{SPACE}re", -2.93), (f"{SPACE}refund", -4.31), ("fund", -3.71), ("f", -5.13), ("un", -3.37),
    ("u", -5.29), ("n", -5.41), ("d", -5.57), ("r", -5.69), ("e", -5.03), ("s", -3.89), ("ab", -2.11), ("ba", -2.23),
    ("aba", -3.01), ("a", -4.79), ("b", -4.97), ("<", -6.11), (">", -6.23), ("/", -6.37),
]  # fmt: skip
PIECES, SCORES = zip(*VOCABULARY, strict=True)
REPLACEMENTS = {0x07: "", 0x09: " ", 0xFB00: "ff", 0xFDFA: "ab " * 18}


@pytest.fixture(scope="module")
def unigram() -> Unigram:
    return Unigram(PIECES, SCORES, unknown=2, markers=(0, 1), replacements=REPLACEMENTS)


@pytest.fixture(scope="module")
def library() -> Tokenizer:
    """The library's, without the markers."""
    return Tokenizer(models.Unigram([(p, -99.0 if p in ("<s>", "</s>") else s) for p, s in VOCABULARY], 2, False))


def cut(unigram: Unigram, text: str, most_characters: int = 1_000) -> list[str]:
    return [PIECES[number] for number in unigram.encode(text, most_characters)]


@given(text=st.text("abrefunds xé", max_size=30))
def test_the_pieces_are_those_of_the_library(unigram: Unigram, library: Tokenizer, text: str) -> None:
    """Rule: the best way to cut each word; letters without a piece are one unknown together."""
    expected = [number for word in text.split() for number in library.encode(SPACE + word).ids]
    assert unigram.encode(text, 1_000) == expected


def test_white_space_parts_words_and_no_more(unigram: Unigram) -> None:
    """Rule: how much there is of it, and at the ends, changes nothing; a text of nothing else has no piece."""
    assert cut(unigram, " refund\n\n ab\t") == cut(unigram, "refund ab") == [f"{SPACE}refund", SPACE, "ab"]
    assert cut(unigram, "  \n ") == cut(unigram, "") == []


def test_what_a_customer_writes_is_no_marker(unigram: Unigram) -> None:
    """Rule: "</s>" is four letters, not the end of the text."""
    assert cut(unigram, "</s>") == [SPACE, "<", "/", "s", ">"]
    assert cut(unigram, "<unk>").count("<unk>") == 1  # the k, which is in no piece


def test_characters_are_replaced_and_left_out_first(unigram: Unigram) -> None:
    """Rule: a bell is nothing, a tab is a space, a ligature is its letters."""
    assert cut(unigram, "re\x07fund") == [f"{SPACE}refund"]
    assert cut(unigram, "\ufb00") == [SPACE, "f", "f"]


def test_a_letter_that_stands_for_many_cannot_make_a_text_longer_than_allowed(unigram: Unigram) -> None:
    """The failure's story: in the C program, ten of them wrote behind the end of its memory."""
    assert len(unigram.encode("\ufdfa" * 10_000, 300)) == 200
