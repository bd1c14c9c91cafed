"""Vectors of texts that come and go, kept by the texts' content.

Invariant: no text is embedded twice while its vector is kept. Checked by tests/unit/facts/web/test_vector_memory.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from threading import Lock

import numpy as np

from support_agent.embedding.port import Vectors
from support_agent.facts.index import TextEmbedder
from support_agent.facts.web.bounded_cache import BoundedCache


class VectorMemory:
    """Vectors by their texts' content. May be used from several threads, which embed one after the other."""

    def __init__(self, embedder: TextEmbedder, *, max_age_s: float, max_bytes: int) -> None:
        self._embedder = embedder
        self._lock = Lock()
        self._kept: BoundedCache[bytes, Vectors] = BoundedCache(max_age_s=max_age_s, max_bytes=max_bytes)

    @property
    def name(self) -> str:
        """That of the embedding model."""
        return self._embedder.name

    def vectors(self, texts: Sequence[str], now: datetime) -> Vectors:
        """Vectors of length 1, shape (len(texts), n), in the order of the texts; each new text is embedded once."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        with self._lock:
            known = {key: self._kept.get(key, now) for key in keys}
            new = {key: text for key, text in zip(keys, texts, strict=True) if known[key] is None}
            if new:
                for key, vector in zip(new, self._embedder.embed(list(new.values())), strict=True):
                    known[key] = vector
                    self._kept.put(key, vector, n_bytes=vector.nbytes, now=now)
        rows: Vectors = np.stack([vector for vector in map(known.__getitem__, keys) if vector is not None])
        return rows
