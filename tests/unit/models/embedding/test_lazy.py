"""An embedder that is loaded when it is first asked."""

from __future__ import annotations

import threading

import numpy as np

from support_agent.models.embedding.lazy import LazyEmbedder
from tests.unit.facts.words import WordEmbedder


def test_nothing_is_loaded_before_it_is_asked_and_then_once() -> None:
    """Rule: of eight threads that ask at once, one loads."""
    loaded: list[WordEmbedder] = []
    start = threading.Barrier(8)

    def load() -> WordEmbedder:
        loaded.append(WordEmbedder("words"))
        return loaded[-1]

    lazy = LazyEmbedder(load)
    assert loaded == []

    def ask() -> None:
        start.wait(60)
        assert (lazy.name, lazy.dimensions) == ("words", 384)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(loaded) == 1
    np.testing.assert_array_equal(lazy.embed(["refund"], "query"), WordEmbedder().embed(["refund"]))
