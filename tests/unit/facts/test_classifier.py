"""The classifier that is fitted to the company's words: closed form, deterministic, bounded."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from support_agent.facts import classifier
from support_agent.facts.classifier import Classifier, _evenly


def clouds(topics: int, texts: int, spread: float = 0.1) -> tuple[np.ndarray, list[int]]:
    rng = np.random.default_rng(14)
    centres = rng.normal(size=(topics, 16))
    vectors = np.concatenate([centre + spread * rng.normal(size=(texts, 16)) for centre in centres])
    labels = [topic for topic in range(topics) for _ in range(texts)]
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32), labels


def test_a_text_scores_highest_for_the_topic_that_it_sounds_like() -> None:
    vectors, topics = clouds(5, 6)
    fitted = Classifier(vectors[::2], topics[::2], [1.0] * len(topics[::2]))
    scores = fitted.scores(vectors[1::2])
    assert list(scores.argmax(axis=1)) == topics[1::2]


def test_the_same_words_give_the_same_classifier() -> None:
    vectors, topics = clouds(4, 5)
    one, other = (Classifier(vectors, topics, [1.0] * len(topics)).scores(vectors) for _ in range(2))
    assert (one == other).all()


def test_one_text_a_topic_is_enough() -> None:
    vectors, topics = clouds(3, 1)
    assert list(Classifier(vectors, topics, [1.0] * 3).scores(vectors).argmax(axis=1)) == topics


def test_where_there_are_too_many_texts_every_topic_keeps_some() -> None:
    topics = [0] * 50 + [1] * 3 + [2]
    kept = [topics[place] for place in _evenly(topics, 10)]
    assert len(kept) == 10
    assert set(kept) == {0, 1, 2}
    assert kept.count(1) == 3


def test_beside_few_landmarks_all_texts_are_still_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two noisy texts a topic are the landmarks; ten times as many tell the topics apart better."""
    vectors, topics = clouds(12, 40, spread=1.1)
    learned, asked = np.arange(len(topics)) % 2 == 0, np.arange(len(topics)) % 2 == 1
    right = np.array(topics)[asked]
    monkeypatch.setattr(classifier, "LANDMARKS", 24)
    few = np.arange(len(topics)) % 20 == 0

    def share(kept: NDArray[np.bool_]) -> float:
        labels = [topic for topic, is_kept in zip(topics, kept, strict=True) if is_kept]
        found = Classifier(vectors[kept], labels, [1.0] * len(labels)).scores(vectors[asked])
        return float((found.argmax(axis=1) == right).mean())

    assert share(learned) > share(few) + 0.03
