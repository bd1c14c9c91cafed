"""Which passages of the sources may hold an answer: nearness of meaning and shared words, fused by rank.

Each chunk is found by its source's title, its heading and its text together; what is handed on is a pointer to whole
sentences and the chunk's text. The vectors are kept in Chroma; the chunks and their words are kept in memory, and made
anew at each start from the sources.

Invariant: nothing is found but chunks of the sources last given to `update`, and of these only from the sources that
the caller allows, whatever the vector store holds or says. Checked by tests/integration/facts/test_passages.py on
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
from support_agent.facts.chunks import Cutting, Source, cut
from support_agent.facts.index import Collection, TextEmbedder, id_of, version_of
from support_agent.facts.material import Passage
from support_agent.facts.words import Allowed, WordIndex
from support_agent.models.embedding.port import Vectors

COLLECTION = "passages"
SOURCE = "source"
"""What the vector store knows of a chunk besides its vector: the key of its source."""
RANK_CONSTANT = 60
"""k of reciprocal rank fusion; the published value."""
DEPTH = 64
"""Chunks that each way proposes, at least; what is behind them adds next to nothing to a fused score."""
FEW_SOURCES = 200
"""So many allowed sources or fewer are named to the vector store; of more, what it finds is sifted here: Chroma takes
40 times as long where it is to leave out some of 5,000 sources."""


class PassageIndex:
    """`Retriever` over the sources given to `update`; may be searched from several threads while it is updated."""

    def __init__(self, collection: Collection, embedder: TextEmbedder, cutting: Cutting, ways: Ways) -> None:
        """An index that finds nothing until its first `update`.

        Args:
            collection: Where the vectors are kept, of this index alone.
            embedder: At most the first 256 tokens of a chunk are seen by it; the words see all.
            cutting: How long chunks are.
            ways: What to search by; by words alone nothing is embedded, nor is the vector store asked.
        """
        self._collection = collection
        self._embedder = embedder
        self._cutting = cutting
        self.ways = ways
        self._held = _Held()

    @property
    def version(self) -> str:
        """Checksum over all chunks, the embedding model and the ways: the same for the same sources; "" before any."""
        return self._held.version

    def update(self, sources: Iterable[Source]) -> int:
        """Search these sources from now on, and no others; returns how many chunks had to be embedded.

        Only the chunks of new and of changed sources are. A search that runs meanwhile sees the sources of before, at
        the end without the vectors of those that are gone.

        Raises:
            TransientError: the vector store does not answer; the sources are those of before.
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
            allowed: Keys of the sources that may be found, such as those that are valid today and for this sender;
                None: all.
            ways: One of the index's ways, to search in that alone; None: in all that it has.
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
            return self._embedder.embed([texts[chunk_id] for chunk_id in ids])

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
    """All that one search needs; replaced as a whole, so that a search sees one state of the sources."""

    version: str = ""
    chunks: tuple[Passage, ...] = ()
    """A chunk's place here is its row."""
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
