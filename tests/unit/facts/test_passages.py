"""What passages are found, without a server: how ways are fused, and what is refused."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.config.facts import Ways
from support_agent.facts.chunks import in_characters, page_source
from support_agent.facts.index import Collection, memory_client
from support_agent.facts.passages import RANK_CONSTANT, PassageIndex, fuse
from tests.unit.facts.words import WordEmbedder

RANKINGS = st.lists(st.permutations(range(6)).flatmap(lambda rows: st.just(rows[:4])), max_size=3)


def index(ways: Ways, name: str) -> PassageIndex:
    """An index in memory that holds one page."""
    passages = PassageIndex(Collection(memory_client(), name), WordEmbedder(), in_characters(80, 20), ways)
    passages.update([page_source("https://a.example/", "Refunds", "Money goes back within a week.")])
    return passages


@given(RANKINGS)
def test_ranks_are_fused_by_the_sum_of_their_inverses(rankings: list[list[int]]) -> None:
    """Rule: 1 / (60 + rank) for each ranking that has the row; each row once, the highest sum first."""
    fused = fuse(rankings)
    assert Counter(row for row, _ in fused) == Counter({row for ranking in rankings for row in ranking})
    for row, score in fused:
        ranks = [ranking.index(row) + 1 for ranking in rankings if row in ranking]
        assert score == pytest.approx(sum(1 / (RANK_CONSTANT + rank) for rank in ranks))
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)


def test_what_both_ways_find_comes_before_what_one_finds_first() -> None:
    """Rule: two second places are more than one first place; a tie goes to the earlier row."""
    assert [row for row, _ in fuse([[1, 2], [3, 2]])] == [2, 1, 3]


def test_no_passages_cannot_be_asked_for() -> None:
    """Rule: a caller that wants nothing made a mistake."""
    with pytest.raises(ValueError, match="ask for 1 or more"):
        index(Ways.WORDS, "no-passages").find("refund", 0)


def test_two_sources_of_one_key_are_refused() -> None:
    """Rule: a pointer means one sentence; the sources of before stay."""
    passages = index(Ways.BOTH, "one-key-twice")
    version = passages.version
    page = page_source("https://b.example/", "Plans", "There are two plans.")
    with pytest.raises(ValueError, match=r"https://b\.example/ is the key of two sources"):
        passages.update([page, page])
    assert passages.version == version
    assert [passage.source for passage in passages.find("plans", 5)] == ["https://a.example/"]


def test_by_words_alone_nothing_is_embedded() -> None:
    """Rule: what is switched off costs nothing."""
    embedder = WordEmbedder()
    passages = PassageIndex(Collection(memory_client(), "words-alone"), embedder, in_characters(80, 20), Ways.WORDS)
    page = page_source("https://a.example/", "Refunds", "Money goes back within a week.")
    assert passages.update([page]) == 0
    assert [passage.text for passage in passages.find("money", 5)] == ["Money goes back within a week."]
    assert embedder.embedded == []


def test_what_a_long_sentence_repeats_is_one_passage() -> None:
    """Story: a page of one sentence, the same word a thousand times; equal chunks of it are the same pointer."""
    passages = index(Ways.BOTH, "repeated")
    passages.update([page_source("https://a.example/", "", "word " * 1000)])
    found = passages.find("word", 100)
    assert len(found) == len({(passage.first, passage.last, passage.text) for passage in found})


def test_a_question_never_reaches_the_embedder_that_keeps_vectors() -> None:
    """Rule: the sources are the company's, the question is a customer's."""
    asked, own = WordEmbedder(), WordEmbedder()
    collection = Collection(memory_client(), "kept-passages")
    passages = PassageIndex(collection, asked, in_characters(80, 20), Ways.BOTH, own=own)
    passages.update([page_source("https://a.example/", "", "Money goes back within a week.")])
    passages.find("where is my money", 5)
    assert (own.embedded, asked.embedded) == (["Money goes back within a week."], ["where is my money"])
