"""A collection in memory of the chunks from web sources, as vectors in Chroma.

It is always in this process, even with `chroma.url`: web text never enters the company's store. Old or surplus chunks
are overwritten, not deleted, because Chroma's index never forgets deleted entries: after 25,600 changes with 3,200
entries left, 160 more took 2 s; the first took 0.03 s.

Invariant: a search returns only texts that it was given, and no text is embedded twice while it is stored. Checked by
tests/unit/facts/web/test_page_collection.py.
Source: LLM-ENHANCER, Algorithm 2: the merged chunks become vectors in Chroma, which finds the nearest to the question.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import count
from threading import Lock
from typing import NamedTuple

from support_agent.facts.index import Collection, TextEmbedder, memory_client
from support_agent.facts.web.bounded_cache import ENTRY_BYTES

_NUMBERS = count()
"""Numbers the collections: all in memory share one store."""


class PageText(NamedTuple):
    """A chunk's text, the first source of its page, and the page's address."""

    text: str
    source: str
    address: str


class _Held(NamedTuple):
    id: str
    since: datetime


class PageCollection:
    """Distinct texts. Searches from several threads run one after the other."""

    def __init__(self, embedder: TextEmbedder, *, max_age_s: float, max_bytes: int) -> None:
        """An empty collection.

        Args:
            embedder: Computes all vectors; Chroma computes none.
            max_age_s: A text of this age or older is embedded again.
            max_bytes: For all stored texts; the texts of one search are always stored.
        """
        self._embedder = embedder
        self._max_age = timedelta(seconds=max_age_s)
        self._max_bytes = max_bytes
        self._collection = Collection(memory_client(), f"pages-{next(_NUMBERS)}")
        self._held: dict[str, _Held] = {}
        """Stored texts by checksum, the oldest first."""
        self._lock = Lock()

    def nearest(self, question: str, texts: Sequence[PageText], now: datetime) -> list[tuple[int, float]]:
        """The positions of all texts with their cosines, the nearest to the question first.

        Raises:
            TransientError: Chroma does not answer.
        """
        asked, keys = _key(question), [_key(text.text) for text in texts]
        with self._lock:
            self._hold(dict(zip((asked, *keys), (PageText(question, "", ""), *texts), strict=True)), now)
            ids = [self._held[key].id for key in keys]
            (vector,) = self._collection.vectors([self._held[asked].id])
            distances = self._collection.distances(vector, list(dict.fromkeys(ids)))
        scores = [1.0 - distances[each] for each in ids]
        return sorted(enumerate(scores), key=lambda entry: -entry[1])

    def _hold(self, texts: dict[str, PageText], now: datetime) -> None:
        """Embed new texts; remove old ones, and the oldest of too many."""
        self._held = {key: held for key, held in self._held.items() if timedelta(0) <= now - held.since < self._max_age}
        new = [key for key in texts if key not in self._held]
        if not new:
            return
        vectors = self._embedder.embed([texts[key].text for key in new])
        most = self._max_bytes // (ENTRY_BYTES + vectors[0].nbytes)
        others = [key for key in self._held if key not in texts]
        for key in others[: max(len(self._held) + len(new) - most, 0)]:
            del self._held[key]
        taken = {held.id for held in self._held.values()}
        free = (number for number in map(str, count()) if number not in taken)
        placed = {key: _Held(next(free), now) for key in new}
        about: list[dict[str, str | float]] = [
            {"source": texts[key].source, "address": texts[key].address, "when": now.timestamp()} for key in new
        ]
        self._collection.put([held.id for held in placed.values()], vectors, about)
        self._held |= placed


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
