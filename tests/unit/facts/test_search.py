"""The search compares a question whole and sentence by sentence, and names topics of the company only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from support_agent.facts.embedding import Embedder, Vectors
from support_agent.facts.index import Entry, Index, memory_client
from support_agent.facts.search import CompanySearch

WORDS = ("refund", "password", "invoice", "cat")


class WordEmbedder:
    """A text is the words of `WORDS` that it holds, and a little of nothing."""

    name = "words"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        rows = [[float(word in text.lower()) for word in WORDS] + [0.1] for text in texts]
        vectors = np.array(rows, dtype=np.float32)
        return cast(Vectors, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def index(request: pytest.FixtureRequest, embedder: WordEmbedder) -> Index:
    index = Index(memory_client(), embedder, name=f"search-{abs(hash(request.node.name)) % 10**8}")
    index.update([Entry(key="document:1", text="Refund"), Entry(key="document:6", text="Password")])
    return index


@pytest.fixture
def search(index: Index, embedder: WordEmbedder) -> CompanySearch:
    return CompanySearch(index, cast(Embedder, embedder))


def test_a_text_is_embedded_once_for_one_version_of_the_index(
    search: CompanySearch, index: Index, embedder: WordEmbedder
) -> None:
    """What has changed in the documents since is found."""
    before = search.nearest("a lost invoice")
    assert search.nearest("a lost invoice") == before
    assert embedder.asked.count("a lost invoice") == 1
    index.update([Entry(key="document:10", text="Invoice"), Entry(key="document:6", text="Password")])
    assert search.nearest("a lost invoice")[0].topic == "document:10"


def test_the_nearest_topic_comes_first(search: CompanySearch) -> None:
    assert [match.topic for match in search.nearest("I want a refund")] == ["document:1", "document:6"]


def test_one_sentence_that_asks_is_not_drowned_by_a_story(search: CompanySearch) -> None:
    """The whole is as near to the cat and the invoice as to the password; the sentence is about the password alone."""
    story = "My cat sat on an invoice. The password is lost again."
    best = search.nearest(story)[0]
    whole = search.nearest("My cat sat on an invoice and the password is lost again")[0]
    assert best.topic == whole.topic == "document:6"
    assert best.score > whole.score


def test_similarities_are_one_a_text_in_order(search: CompanySearch) -> None:
    near, far = search.similarities("refund", ["a refund", "a cat"])
    assert near > 0.9 > far


def test_the_version_is_that_of_what_was_indexed(search: CompanySearch, tmp_path: Path) -> None:
    assert len(search.version) >= 32
