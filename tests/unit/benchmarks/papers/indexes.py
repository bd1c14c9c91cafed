"""The product's own retrieval without a model: indexes in memory, on an embedding of words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from support_agent.config.facts import Ways
from support_agent.facts.chunks import Source, in_characters
from support_agent.facts.index import Collection, Index, memory_client
from support_agent.facts.passages import PassageIndex
from support_agent.facts.search import CompanySearch
from tests.unit.facts.words import WordEmbedder

NUMBERS = count(1)


def open_index(way: Ways, sources: Sequence[Source]) -> PassageIndex:
    """An `OpenSearch`; each index has a collection of its own."""
    collection = Collection(memory_client(), f"evals-{next(NUMBERS)}")
    index = PassageIndex(collection, WordEmbedder(), in_characters(400, 0), way)
    index.update(sources)
    return index


class _CountingEmbedder(WordEmbedder):
    """Also counts the pieces of a text, as the search asks."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def open_search() -> CompanySearch:
    """A search among a company's topics that holds nothing yet."""
    embedder = _CountingEmbedder()
    index = Index(memory_client(), embedder, name=f"evals-{next(NUMBERS)}")
    return CompanySearch({"minilm": embedder}, {"minilm": index})
