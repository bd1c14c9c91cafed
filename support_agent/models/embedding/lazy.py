"""An embedder that is loaded at its first use, so that commands without embedding save time and memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from support_agent.models.embedding.port import Embedder, Role, Vectors


class LazyEmbedder:
    """An `Embedder` in place of the one that `load` returns; the first thread to need it loads it, once."""

    def __init__(self, load: Callable[[], Embedder]) -> None:
        self._load = load
        self._loaded: Embedder | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """See `Embedder.name`."""
        return self._embedder().name

    @property
    def dimensions(self) -> int:
        """See `Embedder.dimensions`."""
        return self._embedder().dimensions

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """See `Embedder.embed`."""
        return self._embedder().embed(texts, role)

    def _embedder(self) -> Embedder:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded
