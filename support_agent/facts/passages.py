"""Finds passages that may hold an answer: by meaning and by shared words, fused by rank.

A chunk is indexed by its source's title, its heading and its text; a result is a pointer to whole sentences and the
chunk's text. The vectors are in Chroma; the chunks and their words are in memory, rebuilt from the sources at each
start.

Invariant: every result is a chunk of a source that was given to the last `update` and that the caller allows, even if
the vector store holds or returns others. Checked by tests/integration/facts/test_passages.py on
every kind of client.
Source: reciprocal rank fusion with its constant of 60 (Cormack, Clarke and Buettcher 2009, equation 1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import numpy as np

from support_agent.config.facts import Ways
from support_agent.facts.bm25 import Allowed, WordIndex
from support_agent.facts.chunks import Cutting, Source, cut
from support_agent.facts.index import Collection, TextEmbedder, id_of, version_of
from support_agent.facts.material import Passage
from support_agent.models.embedding.port import Vectors

COLLECTION = "passages"
SOURCE = "source"
"""What the vector store knows of a chunk besides its vector: the key of its source."""
RANK_CONSTANT = 60
"""k of reciprocal rank fusion; the published value."""
DEPTH = 64
"""Fewest chunks that each search proposes; later ones add almost nothing to a fused score."""
FEW_SOURCES = 200
"""Up to this many allowed sources are named to the vector store; with more, its results are filtered here: Chroma takes
40 times as long to leave out some of 5,000 sources."""


class PassageIndex:
    """`Retriever` over the sources given to `update`; may be searched from several threads while it is updated."""

    def __init__(
        self,
        collection: Collection,
        embedder: TextEmbedder,
        cutting: Cutting,
        ways: Ways,
        *,
        own: TextEmbedder | None = None,
    ) -> None:
        """An index that finds nothing until its first `update`.

        Args:
            collection: Stores the vectors of this index alone.
            embedder: Reads at most the first 256 tokens of a chunk; the word index reads all.
            cutting: How long chunks are.
            ways: How to search; by words alone, nothing is embedded and the vector store is not used.
            own: The same embedder for the chunks, which may keep their vectors on the disk.
        """
        self._collection = collection
        self._embedder, self._own = embedder, own or embedder
        self._cutting = cutting
        self.ways = ways
        self._held = _Held()

    @property
    def version(self) -> str:
        """Checksum over all chunks, the embedding model and the ways: the same for the same sources; "" before any."""
        return self._held.version

    def update(self, sources: Iterable[Source]) -> int:
        """Search these sources from now on, and no others; returns how many chunks had to be embedded.

        Only chunks of new and changed sources are embedded. A concurrent search uses the previous sources; towards the
        end it may miss vectors of removed ones.

        Raises:
            TransientError: the vector store does not answer; the previous sources stay.
            ValueError: two sources have one key.
        """
        texts: dict[str, str] = {}
        chunks: dict[str, Passage] = {}
        keys: Counter[str] = Counter()
        for source in sources:
            keys[source.key] += 1
            for chunk in cut(source, self._cutting):
                text = "\n".join(filter(None, (source.title, chunk.heading, chunk.text)))
                chunk_id = id_of(self._embedder.name, source.key, f"{chunk.first}-{chunk.last}", text)
                texts[chunk_id], chunks[chunk_id] = text, chunk
        if twice := [key for key, count in keys.items() if count > 1]:
            raise ValueError(f"{twice[0]} is the key of two sources: give each its own")
        n_new = 0 if self.ways is Ways.WORDS else self._keep_vectors(texts, chunks)
        self._held = _held(chunks, texts, self.ways)
        return n_new

    def find(
        self, question: str, n: int, allowed: AbstractSet[str] | None = None, ways: Ways | None = None
    ) -> tuple[Passage, ...]:
        """The passages nearest to a question, nearest first.

        Args:
            question: Any length; at most its first 256 tokens are compared by meaning.
            n: How many at most, 1 or more.
            allowed: Keys of the sources to search, such as those valid today and for this sender; None: all.
            ways: One of the index's ways; None: all of them.
        Raises:
            TransientError: the vector store does not answer.
        """
        if n < 1:
            raise ValueError(f"n is {n}: ask for 1 or more")
        ways = ways or self.ways
        if self.ways not in (Ways.BOTH, ways):
            raise ValueError(f"an index that is searched by {self.ways} cannot be searched by {ways}")
        held = self._held
        mask = None if allowed is None else held.mask(allowed)
        if not held.chunks or (mask is not None and not mask.any()):
            return ()
        depth = max(n, DEPTH)
        rankings: list[Sequence[int]] = []
        if ways is not Ways.WORDS:
            rankings.append(self._by_meaning(held, question, depth, mask))
        if ways is not Ways.VECTORS:
            rankings.append(held.words.nearest(question, depth, mask))
        return tuple(held.chunks[row].model_copy(update={"score": score}) for row, score in fuse(rankings)[:n])

    def _keep_vectors(self, texts: Mapping[str, str], chunks: Mapping[str, Passage]) -> int:
        def vectors_of(ids: Sequence[str]) -> Vectors:
            return self._own.embed([texts[chunk_id] for chunk_id in ids])

        return self._collection.hold(
            {chunk_id: {SOURCE: chunk.source} for chunk_id, chunk in chunks.items()}, vectors_of
        )

    def _by_meaning(self, held: _Held, question: str, depth: int, mask: Allowed | None) -> list[int]:
        """Rows by the distance of their vectors; `depth` of them, if so many are allowed."""
        vectors = self._embedder.embed([question])
        sources = held.sources_of(mask) if mask is not None else []
        among = (SOURCE, sources) if 0 < len(sources) <= FEW_SOURCES else None
        n_asked = depth
        while True:
            (near,) = self._collection.nearest(vectors, n_asked, among)
            known = [(entry.distance, held.rows[entry.id]) for entry in near if entry.id in held.rows]
            rows = [row for _, row in sorted(known) if mask is None or mask[row]]
            if len(rows) >= depth or len(near) < n_asked:
                return rows[:depth]
            n_asked *= 4


def fuse(rankings: Sequence[Sequence[int]]) -> list[tuple[int, float]]:
    """Reciprocal rank fusion: (row, score), the best first; equal scores by row.

    Args:
        rankings: Rows, the best first, each at most once a ranking.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking, start=1):
            scores[row] = scores.get(row, 0.0) + 1 / (RANK_CONSTANT + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


@dataclass(frozen=True)
class _Held:
    """The state of one search; replaced as a whole, so that a search sees one set of sources."""

    version: str = ""
    chunks: tuple[Passage, ...] = ()
    """A chunk's row is its index here."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """The row of each id in the vector store."""
    words: WordIndex = field(default_factory=lambda: WordIndex(()))

    def mask(self, allowed: AbstractSet[str]) -> Allowed:
        """For each row whether its source is allowed."""
        return np.fromiter((chunk.source in allowed for chunk in self.chunks), dtype=np.bool_, count=len(self.chunks))

    def sources_of(self, mask: Allowed) -> list[str]:
        """The sources of the rows in the mask, each once, in order."""
        return list(dict.fromkeys(self.chunks[row].source for row in np.flatnonzero(mask)))


def _held(chunks: Mapping[str, Passage], texts: Mapping[str, str], ways: Ways) -> _Held:
    return _Held(
        version=id_of(ways, version_of(chunks)),
        chunks=tuple(chunks.values()),
        rows={chunk_id: row for row, chunk_id in enumerate(chunks)},
        words=WordIndex(() if ways is Ways.VECTORS else [texts[chunk_id] for chunk_id in chunks]),
    )
