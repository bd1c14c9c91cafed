"""An embedding that needs no model: texts are near when they share words."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from support_agent.models.embedding.minilm import DIMENSIONS
from support_agent.models.embedding.port import Role, Vectors


class WordEmbedder:
    """An `Embedder`: each word is a direction of its own; `embedded` keeps the texts."""

    dimensions = DIMENSIONS

    def __init__(self, name: str = "words") -> None:
        self.name = name
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """The sum of the words' directions, of length 1."""
        self.embedded += texts
        rows = [sum((_direction(word) for word in text.lower().split()), _direction("")) for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), DIMENSIONS)
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


def _direction(word: str) -> Vectors:
    random = np.random.default_rng(zlib.crc32(word.encode("utf-8", "replace")))
    direction: Vectors = random.normal(size=DIMENSIONS).astype(np.float32) * (1.0 if word else 0.05)
    return direction
