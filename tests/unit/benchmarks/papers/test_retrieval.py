"""What the benchmarks search with: vectors are kept, sentences are found."""

from __future__ import annotations

from collections.abc import Sequence

from tests.benchmarks.papers.retrieval import Cosines, KeptEmbedder, retriever_among, sentence_source
from tests.unit.facts.words import WordEmbedder


def test_no_text_is_embedded_twice() -> None:
    """Rule: the order of the texts is kept, of none there is nothing."""
    words = WordEmbedder()
    kept = KeptEmbedder(words)
    first = kept.embed(["a", "b", "a"])
    assert words.embedded == ["a", "b"]
    texts: Sequence[str] = ["b", "c"]
    second = kept.embed(texts)
    assert words.embedded == ["a", "b", "c"]
    assert (first[0] == first[2]).all()
    assert (first[1] == second[0]).all()
    assert kept.embed([]).shape == (0, first.shape[1])


def test_some_sources_alone_can_be_searched() -> None:
    """Rule: the nearest sentence of all, or of those that are allowed."""
    sources = [sentence_source("a", "", "the red cat"), sentence_source("b", "", "the red dog")]
    among = retriever_among(WordEmbedder(), sources)
    assert [passage.source for passage in among(None).find("cat", 1)] == ["a"]
    assert [passage.source for passage in among(frozenset({"b"})).find("cat", 1)] == ["b"]


def test_a_text_is_nearest_to_itself() -> None:
    same, other = Cosines(WordEmbedder()).similarities("red cat", ["red cat", "blue dog"])
    assert same > other
