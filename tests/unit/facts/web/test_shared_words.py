"""A first look at which texts share words with a question."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from support_agent.facts.web.shared_words import most_alike


def test_the_text_that_shares_most_comes_first_and_of_as_many_the_earlier() -> None:
    texts = ["a cat", "Refunds of plans", "a dog", "the plan's_price"]
    assert most_alike("refund of my plan", texts, 4) == [1, 3, 0, 2]
    assert most_alike("refund of my plan", texts, 1) == [1]


def test_a_word_that_every_text_has_says_little() -> None:
    """Else the one that repeats the question's small change would be first."""
    texts = ["how does the plan", "how does the cat", "how does the refund", "storage"]
    assert most_alike("how does the storage work", texts, 1) == [3]


@given(st.text(max_size=50), st.lists(st.text(max_size=30), max_size=10), st.integers(0, 12))
def test_it_is_n_different_texts_or_all(question: str, texts: list[str], n: int) -> None:
    chosen = most_alike(question, texts, n)
    assert len(chosen) == len(set(chosen)) == min(n, len(texts))
