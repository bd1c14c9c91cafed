"""What a text is phrased like: a classifier of any classes, learnt from their examples alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from support_agent.facts.phrasing import Phrasing
from support_agent.models.embedding.port import Vectors
from support_agent.tools.base import Examples

EXAMPLES: Examples = (
    ("highest", ("the highest bill", "my highest payment", "highest order")),
    ("lowest", ("the lowest bill", "my lowest payment", "lowest order")),
    ("none", ("change my address", "where is my parcel", "reset the password")),
)


def blind(texts: Sequence[str]) -> Vectors:
    """All texts are alike."""
    return np.full((len(texts), 4), 0.5, dtype=np.float32)


def meaning(texts: Sequence[str]) -> Vectors:
    """Texts that hold "low" or "niedrig" lie in one direction, "high" or "hoch" in another."""
    rows = [[any(w in text for w in words) for words in (("low", "niedrig"), ("high", "hoch"))] for text in texts]
    vectors = np.array([[*row, not any(row)] for row in rows], dtype=np.float32)
    of_length_1: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return of_length_1


def likeliest(phrasing: Phrasing, text: str) -> str:
    chances = phrasing.chances(text)
    return max(chances, key=chances.__getitem__)


@pytest.mark.parametrize("embed", [blind, meaning])
def test_an_example_is_likeliest_of_its_own_class(embed: Callable[[Sequence[str]], Vectors]) -> None:
    phrasing = Phrasing(EXAMPLES, embed)
    assert all(likeliest(phrasing, text) == name for name, texts in EXAMPLES for text in texts)


def test_letters_tell_apart_what_means_nearly_the_same() -> None:
    assert likeliest(Phrasing(EXAMPLES, blind), "the lowest of my visits") == "lowest"


def test_vectors_carry_over_to_a_language_without_examples() -> None:
    assert likeliest(Phrasing(EXAMPLES, meaning), "die niedrigste Rechnung") == "lowest"


@pytest.mark.parametrize("text", ["", " ", "?", "my highest payment", "\u4e00"])
def test_the_chances_of_any_text_sum_to_one(text: str) -> None:
    chances = Phrasing(EXAMPLES, meaning).chances(text)
    assert sum(chances.values()) == pytest.approx(1.0)
    assert list(chances) == ["highest", "lowest", "none"]


def test_the_same_examples_give_the_same_chances() -> None:
    one, other = (Phrasing(EXAMPLES, meaning).chances("the high one") for _ in range(2))
    assert one == other


def test_a_class_that_is_added_needs_no_more_than_its_examples() -> None:
    added = Phrasing((*EXAMPLES, ("spread", ("the spread of it", "how far it spreads"))), blind)
    assert likeliest(added, "what spread have my bills") == "spread"
    assert likeliest(added, "the highest of my visits") == "highest"
