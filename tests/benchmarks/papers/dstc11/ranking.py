"""How well each snippet fits a dialogue's last question: one number a way of looking at it.

The ways: its words (BM25), its meaning (cosine), what the whole knowledge says of the question (the mean of the
nearest snippets of all entities, as a second question), and what people chose for the nearest questions that were
answered before. An answered question that speaks of the same entity is never looked at, so that no sentence is
found because it was somebody's gold. Checked by tests/unit/benchmarks/papers/test_dstc11_ranking.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from support_agent.facts.bm25 import WordIndex
from support_agent.facts.index import TextEmbedder
from support_agent.models.embedding.port import Vectors
from tests.benchmarks.papers.dstc11.data import Benchmark, EntityKey
from tests.benchmarks.papers.dstc11.measures import golds_of, snippets_of

Numbers = NDArray[np.float64]
Positions = NDArray[np.int64]

WAYS = (
    "words",
    "meaning",
    "meaning below best",
    "spread",
    "example",
    "examples",
    "examples below best",
    "answer",
    "length",
)
"""The columns of `Ranking.features`."""
POOL = 200
"""Snippets compared in full where no entity is known: the nearest by meaning."""
SPREAD = 30
"""Nearest snippets of all entities whose mean is the second question."""
EXAMPLES = 8
"""Answered questions looked at."""
SHARPNESS = 12.0
"""How fast an example's weight falls with its distance: exp(sharpness * cosine)."""
EMBEDDED_AT_ONCE = 512
NEWTON_STEPS = 20
RIDGE = 0.1


class Ranking:
    """A benchmark's snippets by position, all entities together, and how well they fit its turns."""

    def __init__(self, benchmark: Benchmark, embedder: TextEmbedder) -> None:
        """Embed snippets and questions."""
        self._turns = benchmark.turns
        self._second_question = cache(self._from_domains)
        self._words = WordIndex(searched_texts(benchmark))
        snippets = snippets_of(benchmark)
        self.texts = [snippet.text for snippet in snippets]
        self._entities = [snippet.key.entity for snippet in snippets]
        self._places: dict[EntityKey, list[int]] = defaultdict(list)
        for number, entity in enumerate(self._entities):
            self._places[entity].append(number)
        self._domains = np.array([entity.domain for entity in self._entities])
        self._is_answer = np.array([snippet.key.kind == "faq" for snippet in snippets], dtype=np.float64)
        self._lengths = np.log1p([len(text.split()) for text in self.texts])
        self._vectors = _embedded(embedder, searched_texts(benchmark))
        self._questions = _embedded(embedder, [turn.utterances[-1] for turn in benchmark.turns])
        self.gold = golds_of(benchmark)

    def candidates(self, turn: int, entities: Collection[EntityKey] | None) -> Positions:
        """Positions of the entities' snippets; None: of the nearest ones of all."""
        if entities is None:
            return np.sort(np.argsort(-self._vectors @ self._questions[turn], kind="stable")[:POOL])
        return np.array(sorted(n for entity in entities for n in self._places.get(entity, ())), dtype=np.int64)

    def features(
        self, turn: int, candidates: Positions, entities: Collection[EntityKey], examples: Sequence[int]
    ) -> Numbers:
        """How well each candidate fits, shape (candidates, ways).

        Args:
            turn: Position in the benchmark.
            candidates: As `candidates` returns them.
            entities: Those of the dialogue; examples that speak of one of them are passed over.
            examples: Positions of turns whose gold may be looked at.
        """
        vectors = self._vectors[candidates]
        meaning = vectors @ self._questions[turn]
        domains = tuple(sorted(set(self._domains[candidates])))
        spread = vectors @ self._second_question(turn, domains)
        example, of_examples = self._from_examples(turn, vectors, entities, examples)
        columns = [
            self._by_words(turn, candidates), meaning, meaning - meaning.max(initial=-1), spread, example, of_examples,
            of_examples - of_examples.max(initial=-1), self._is_answer[candidates], self._lengths[candidates],
        ]  # fmt: skip
        return np.stack(columns, axis=1).astype(np.float64)

    def _by_words(self, turn: int, candidates: Positions) -> Numbers:
        """1 / rank, 0 for what shares no word."""
        allowed = np.zeros(len(self.texts), dtype=np.bool_)
        allowed[candidates] = True
        found = self._words.nearest(self._turns[turn].utterances[-1], max(1, len(candidates)), allowed)
        scores = np.zeros(len(self.texts))
        scores[found] = 1 / np.arange(1, len(found) + 1)
        by_words: Numbers = scores[candidates]
        return by_words

    def _from_domains(self, turn: int, domains: tuple[str, ...]) -> Vectors:
        """The mean of what all entities of the domains say nearest to the question, of length 1."""
        scores = np.where(np.isin(self._domains, domains), self._vectors @ self._questions[turn], -2)
        return _unit(self._vectors[np.argsort(-scores, kind="stable")[:SPREAD]].mean(axis=0))

    def _from_examples(
        self, turn: int, vectors: Vectors, entities: Collection[EntityKey], examples: Sequence[int]
    ) -> tuple[Numbers, Numbers]:
        """How near each candidate is to the gold of the nearest questions: to its nearest sentence, to its mean."""
        known = set(entities)
        others = [n for n in examples if n != turn and known.isdisjoint(self._entities[g] for g in self.gold[n])]
        nearness = dict(zip(others, self._questions[others] @ self._questions[turn], strict=True))
        nearest = sorted(others, key=lambda n: (-nearness[n], n))[:EXAMPLES]
        if not nearest:
            return np.zeros(len(vectors)), np.zeros(len(vectors))
        weights = np.exp([SHARPNESS * nearness[n] for n in nearest])
        golds = [self._vectors[sorted(self.gold[n])] for n in nearest]
        best = sum(w * (vectors @ gold.T).max(axis=1, initial=-1) for w, gold in zip(weights, golds, strict=True))
        mean = _unit(sum(w * gold.mean(axis=0) for w, gold in zip(weights, golds, strict=True)))
        return np.asarray(best / weights.sum(), dtype=np.float64), np.asarray(vectors @ mean, dtype=np.float64)


def searched_texts(benchmark: Benchmark) -> list[str]:
    """What the snippets are found by, in the order of their positions."""
    return [snippet.searched for snippet in snippets_of(benchmark)]


def fit_weights(features: Numbers, is_gold: Numbers) -> Numbers:
    """Weights of a logistic regression of gold on features: Newton's method, ridge 0.1, always the same.

    Args:
        features: Shape (candidates, ways).
        is_gold: 0 or 1, shape (candidates,).
    Returns:
        One weight a way and the constant, last.
    """
    rows = np.column_stack([features, np.ones(len(features))])
    weights = np.zeros(rows.shape[1])
    for _ in range(NEWTON_STEPS):
        likely = likelihood(features, weights)
        slope = rows.T @ (is_gold - likely) - RIDGE * weights
        curve = (rows * (likely * (1 - likely))[:, np.newaxis]).T @ rows + RIDGE * np.eye(len(weights))
        weights = weights + np.linalg.solve(curve, slope)
    return weights


def likelihood(features: Numbers, weights: Numbers) -> Numbers:
    """How likely each candidate is gold, 0..1, as `fit_weights` learned it."""
    likely: Numbers = 1 / (1 + np.exp(-np.clip(features @ weights[:-1] + weights[-1], -30, 30)))
    return likely


def _embedded(embedder: TextEmbedder, texts: Sequence[str]) -> Vectors:
    parts = [
        embedder.embed(texts[start : start + EMBEDDED_AT_ONCE]) for start in range(0, len(texts), EMBEDDED_AT_ONCE)
    ]
    return np.concatenate(parts)


def _unit(vector: Vectors) -> Vectors:
    unit: Vectors = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return unit
