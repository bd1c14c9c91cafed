"""No text is embedded twice while its vector is kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from support_agent.facts.web.vector_memory import VectorMemory
from tests.unit.facts.words import WordEmbedder

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_a_text_is_embedded_once_while_it_is_kept() -> None:
    """Also one that stands twice in one call; in the order that was asked for."""
    embedder = WordEmbedder()
    memory = VectorMemory(embedder, max_age_s=60, max_bytes=10**6)
    first = memory.vectors(["a cat", "a dog", "a cat"], NOW)
    again = memory.vectors(["a dog", "a bird", "a cat"], NOW)
    assert embedder.embedded == ["a cat", "a dog", "a bird"]
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(again[[0, 2]], first[[1, 0]])
    memory.vectors(["a cat"], NOW + timedelta(seconds=60))
    assert embedder.embedded[3:] == ["a cat"]


def test_vectors_are_right_where_none_can_be_kept() -> None:
    """Rule: the memory is for time, never for the result."""
    memory = VectorMemory(WordEmbedder(), max_age_s=60, max_bytes=0)
    assert np.array_equal(memory.vectors(["a", "b"], NOW), WordEmbedder().embed(["a", "b"]))
