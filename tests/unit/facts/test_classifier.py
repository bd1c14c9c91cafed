"""The classifier that is fitted to the company's words: closed form, deterministic, bounded."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel  # type: ignore[import-untyped]

from support_agent.facts import classifier
from support_agent.facts.classifier import Classifier, _evenly


def clouds(topics: int, texts: int, spread: float = 0.1, seed: int = 14) -> tuple[np.ndarray, list[int]]:
    rng = np.random.default_rng(seed)
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


@pytest.mark.parametrize("texts", [1, 3])
def test_a_company_of_one_topic_has_a_score_for_it(texts: int) -> None:
    """The failure: scores came without the side of the topics, and each mail to such a company crashed."""
    vectors, topics = clouds(1, texts)
    assert Classifier(vectors, topics, [1.0] * texts).scores(vectors).shape == (texts, 1)


def test_texts_that_are_all_alike_score_alike() -> None:
    vectors = np.repeat(clouds(1, 1)[0], 90, axis=0)
    scores = Classifier(vectors, [place % 3 for place in range(90)], [1.0] * 90).scores(vectors[:2])
    assert scores == pytest.approx(np.full((2, 3), 1 / 3), abs=0.01)


def test_texts_are_learned_from_some_at_a_time_as_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 texts took 1.3 GB where their kernel was made at once."""
    vectors, topics = clouds(5, 6)
    weights = [1.0, 0.5] * 15
    whole = Classifier(vectors, topics, weights).scores(vectors)
    seen: list[int] = []

    def watched(inputs: NDArray[np.float64], landmarks: NDArray[np.float64], *, gamma: float) -> NDArray[np.float64]:
        seen.append(len(inputs))
        near: NDArray[np.float64] = rbf_kernel(inputs, landmarks, gamma=gamma)
        return near

    monkeypatch.setattr(classifier, "TEXTS_AT_ONCE", 7)
    monkeypatch.setattr(classifier, "rbf_kernel", watched)
    parts = Classifier(vectors, topics, weights)
    assert seen == [30, 7, 7, 7, 7, 2]
    assert parts.scores(vectors) == pytest.approx(whole, abs=1e-6)


def test_where_there_are_too_many_texts_every_topic_keeps_some() -> None:
    topics = [0] * 50 + [1] * 3 + [2]
    kept = [topics[place] for place in _evenly(topics, 10)]
    assert len(kept) == 10
    assert set(kept) == {0, 1, 2}
    assert kept.count(1) == 3


def test_beside_few_landmarks_all_texts_are_still_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two noisy texts a topic are the landmarks; ten times as many tell the topics apart better.

    On the mean of many draws: a single one says little.
    """
    monkeypatch.setattr(classifier, "LANDMARKS", 24)
    gains = []
    for seed in range(30):
        vectors, topics = clouds(12, 40, spread=0.9, seed=seed)
        places = np.arange(len(topics))
        few, learned = (_right(vectors, topics, places % step == 0) for step in (20, 2))
        gains.append(learned - few)
    assert np.mean(gains) > 0.05


def _right(vectors: np.ndarray, topics: list[int], kept: NDArray[np.bool_]) -> float:
    """The share of the texts at odd places whose topic is found, where the kept ones are learned from."""
    labels = [topic for topic, is_kept in zip(topics, kept, strict=True) if is_kept]
    found = Classifier(vectors[kept], labels, [1.0] * len(labels)).scores(vectors[1::2])
    return float((found.argmax(axis=1) == np.array(topics[1::2])).mean())
