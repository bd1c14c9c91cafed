"""What makes a snippet fit a question, and what is never looked at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.benchmarks.papers.dstc11.data import Benchmark, EntityKey, load_benchmark
from tests.benchmarks.papers.dstc11.ranking import POOL, WAYS, Numbers, Ranking, fit_weights, likelihood
from tests.unit.benchmarks.papers.small_dstc11 import write_benchmark
from tests.unit.facts.words import WordEmbedder

FOX, HARE = EntityKey("hotel", 0), EntityKey("hotel", 3)


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return load_benchmark(write_benchmark(tmp_path))


@pytest.fixture
def ranking(benchmark: Benchmark) -> Ranking:
    return Ranking(benchmark, WordEmbedder())


def column(features: Numbers, way: str) -> list[float]:
    """One way's numbers."""
    return [round(float(value), 6) for value in features[:, WAYS.index(way)]]


def test_the_candidates_are_the_linked_entities_snippets(ranking: Ranking) -> None:
    """Rule: in the order of the file; of an entity that does not exist none; of no linking the nearest of all."""
    assert [ranking.texts[n] for n in ranking.candidates(0, [HARE])] == [
        "The wifi is good here.", "The garden is green.", "No, parking is in the street.",
    ]  # fmt: skip
    assert ranking.candidates(0, [EntityKey("hotel", 99)]).tolist() == []
    assert ranking.candidates(0, None).tolist() == list(range(len(ranking.texts)))
    assert len(ranking.texts) < POOL


def test_words_and_meaning_find_what_is_asked_for(ranking: Ranking) -> None:
    """Rule: 1 / rank by telling words, else 0; cosine by meaning; both are of the last utterance."""
    candidates = ranking.candidates(0, [HARE])
    features = ranking.features(0, candidates, [HARE], [])
    assert features.shape == (3, len(WAYS))
    assert column(features, "words") == [1.0, 0.0, 0.0]
    assert int(np.argmax(features[:, WAYS.index("meaning")])) == 0
    assert column(features, "meaning below best")[0] == 0.0
    assert column(features, "answer") == [0.0, 0.0, 1.0]


def test_an_answered_question_helps_with_another_entity(ranking: Ranking) -> None:
    """Rule: what people chose for "Is the wifi good?" at one house is like what is right at another."""
    candidates = ranking.candidates(1, [HARE])
    without = ranking.features(1, candidates, [HARE], [])
    features = ranking.features(1, candidates, [HARE], [0])
    assert column(without, "example") == [0.0, 0.0, 0.0]
    assert int(np.argmax(features[:, WAYS.index("example")])) == 0
    assert int(np.argmax(features[:, WAYS.index("examples")])) == 0


def test_no_gold_of_the_same_entity_is_looked_at(ranking: Ranking) -> None:
    """Rule: neither the turn's own, nor that of another turn that speaks of its entity: it could be its answer."""
    candidates = ranking.candidates(0, [FOX])
    blind = ranking.features(0, candidates, [FOX], [])
    assert np.array_equal(ranking.features(0, candidates, [FOX], [0, 3, 4]), blind)
    assert not np.array_equal(ranking.features(0, candidates, [FOX], [0, 1]), blind)


def test_a_turn_without_candidates_has_no_features(ranking: Ranking) -> None:
    """Rule: a dialogue that names no entity is no error."""
    nothing = ranking.candidates(0, [])
    assert ranking.features(0, nothing, [], [1, 2]).shape == (0, len(WAYS))


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.booleans()), max_size=30))
def test_weights_are_finite_whatever_they_are_learned_from(rows: list[tuple[float, float, bool]]) -> None:
    """Rule: also of nothing, of one class, and of what can be told apart wholly."""
    features = np.array([row[:2] for row in rows], dtype=np.float64).reshape(len(rows), 2)
    weights = fit_weights(features, np.array([row[2] for row in rows], dtype=np.float64))
    assert weights.shape == (3,)
    assert np.isfinite(weights).all()
    assert ((likelihood(features, weights) >= 0) & (likelihood(features, weights) <= 1)).all()


def test_weights_tell_what_matters() -> None:
    """Rule: the way that goes with gold gets the weight, the one that does not gets none to speak of."""
    random = np.random.default_rng(3)
    features = random.normal(size=(500, 2))
    weights = fit_weights(features, (features[:, 0] > 0).astype(np.float64))
    assert weights[0] > 5
    assert abs(weights[1]) < 1
