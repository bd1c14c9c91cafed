"""Compares texts in meaning, with the embedders that the agent itself compares with; nothing is sent anywhere.

Invariant: the same texts give the same vectors. Checked by tests/unit/ops/backtest/test_judging.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from support_agent.company.text import split_sentences
from support_agent.facts.search import ENGLISH, MIN_WORDS, fluency
from support_agent.models.embedding.port import Embedder, Vectors

MAX_CHARACTERS = 600
"""Of a text that is compared; questions and sentences are shorter."""
MAX_SENTENCES = 40
"""Of a person's answer."""
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*[-*\d])")


@dataclass(frozen=True)
class Meaning:
    """The embedders by name, and how many pieces of an English vocabulary texts have."""

    embedders: Mapping[str, Embedder]
    count_tokens: Callable[[Sequence[str]], list[int]]

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """One row of length 1 for each text; a dot product is the mean cosine of the embedders that read both."""
        cut = [text[:MAX_CHARACTERS] for text in texts]
        if not cut:
            return np.zeros((0, 1), dtype=np.float32)
        parts = [embedder.embed(cut, "query") * self._weights(name, cut) for name, embedder in self.embedders.items()]
        joined = np.hstack(parts).astype(np.float32)
        unit: Vectors = joined / np.maximum(np.linalg.norm(joined, axis=1, keepdims=True), 1e-9)
        return unit

    def _weights(self, name: str, texts: Sequence[str]) -> Vectors:
        """A column: the square root of how well the embedder reads each text."""
        read = [fluency(text, self.count_tokens) if name == ENGLISH else 1.0 for text in texts]
        return np.sqrt(np.array(read, dtype=np.float32))[:, None]


def sentences_of(text: str) -> tuple[str, ...]:
    """The sentences that say something, in order."""
    parts = (sentence for paragraph in _PARAGRAPH.split(text) for sentence in split_sentences(paragraph))
    return tuple(part for part in parts if len(part.split()) > MIN_WORDS)[:MAX_SENTENCES]
