"""What the benchmarks search: single sentences, each a source of its own, by the fact room's own index, in memory.

Checked by tests/unit/benchmarks/papers/test_retrieval.py, test_wikiqa.py and test_dstc11_selection.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import count
from typing import Protocol

import numpy as np

from support_agent.company.documents import Sentence
from support_agent.config.facts import Ways
from support_agent.facts.chunks import Source, in_characters
from support_agent.facts.index import Collection, TextEmbedder, memory_client
from support_agent.facts.material import Passage, Retriever
from support_agent.facts.passages import PassageIndex
from support_agent.models.embedding.port import Vectors

WHOLE_CHARACTERS = 10_000
"""Of a sentence that is searched whole."""
_NUMBERS = count(1)
"""Of the collections, as those in memory share one store."""


class Search(Protocol):
    """`facts.passages.PassageIndex`, or another search among some sources."""

    def find(self, question: str, n: int, allowed: AbstractSet[str] | None = None) -> Sequence[Passage]: ...


OpenSearch = Callable[[Ways, Sequence[Source]], Search]
"""Makes a search by one of the ways over these sources."""


class KeptEmbedder:
    """A `TextEmbedder` that embeds no text twice; what it keeps is 1.5 kB a text."""

    def __init__(self, embedder: TextEmbedder) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._kept: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        if new := [text for text in dict.fromkeys(texts) if text not in self._kept]:
            self._kept.update(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._kept[text] for text in texts]) if texts else self._embedder.embed([])


class Cosines:
    """A `Similarity` of texts by an embedding model."""

    def __init__(self, embedder: TextEmbedder) -> None:
        self._embedder = embedder

    def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        vectors = self._embedder.embed([text, *others])
        return [float(score) for score in vectors[1:] @ vectors[0]]


def sentence_source(key: str, title: str, text: str) -> Source:
    """A source of one sentence, whatever marks are in it; the title is searched along with it."""
    sentence = Sentence(index=0, text=text, heading="", paragraph=0, kind="sentence", line=1)
    return Source(key=key, title=title, sentences=(sentence,))


def sentence_search(embedder: TextEmbedder) -> OpenSearch:
    """Makes the room's retrieval over sentences, each searched whole; for the same sentences each time."""
    name = f"papers-{next(_NUMBERS)}"
    return lambda way, sources: _index(embedder, name, way, sources)


def retriever_among(
    embedder: TextEmbedder, sources: Sequence[Source]
) -> Callable[[AbstractSet[str] | None], Retriever]:
    """The room's retrieval over these sentences, by both ways: of all, or of some alone."""
    index = _index(embedder, f"papers-{next(_NUMBERS)}", Ways.BOTH, sources)
    return lambda allowed: index if allowed is None else Among(index, allowed)


@dataclass(frozen=True)
class Among:
    """`Retriever` that finds nothing outside some sources of an index."""

    index: PassageIndex
    allowed: AbstractSet[str]

    def find(self, question: str, n: int) -> tuple[Passage, ...]:
        """At most `n` passages, the nearest first."""
        return self.index.find(question, n, self.allowed)


def _index(embedder: TextEmbedder, name: str, way: Ways, sources: Sequence[Source]) -> PassageIndex:
    index = PassageIndex(Collection(memory_client(), name), embedder, in_characters(WHOLE_CHARACTERS, 0), way)
    index.update(sources)
    return index
