"""A classifier fitted to the company's own words: which topic a text sounds like.

Kernel ridge regression with a Gaussian kernel on the joined vectors of all embedders, one target a topic: it is fitted
in closed form, and the same words give the same classifier. Above `LANDMARKS` texts the kernel is approximated by its
values at as many of them, taken evenly from the topics.

Invariant: the memory that fitting takes beside the vectors does not grow with the number of texts. Checked by
tests/unit/facts/test_classifier.py; what it adds is measured by `python -m tests.benchmarks.fit`.
Source: kernel ridge regression as in Saunders, Gammerman and Vovk 1998; Nyström's approximation as in Williams and
Seeger 2001.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve, solve_triangular  # type: ignore[import-untyped]
from sklearn.metrics.pairwise import rbf_kernel  # type: ignore[import-untyped]

from support_agent.models.embedding.port import Vectors

GAMMA = 1.0
"""Gamma of the kernel exp(-gamma * squared distance); vectors have length 1."""
RIDGE = 0.1
"""Gamma and this were chosen on public training splits: some questions of each topic to fit, others to test."""
LANDMARKS = 6_000
"""The time to fit grows with the cube of it, and only in proportion to the number of texts."""
TEXTS_AT_ONCE = 2_000
"""Texts per batch of fitting: their kernel takes 32 MB."""
TWINS = 1e-6
"""Added to each landmark's similarity to itself, so that two similar texts can both be landmarks."""
Scores = NDArray[np.float64]


class Classifier:
    """Scores every topic for a text; a topic with a score near 1 is the one its texts belong to."""

    def __init__(self, vectors: Vectors, topics: Sequence[int], weights: Sequence[float]) -> None:
        """Fit.

        Args:
            vectors: Of the company's texts, shape (texts, dimensions): those of all embedders side by side.
            topics: The topic of each text, 0..n-1; each topic has at least one.
            weights: The weight of each text, above 0.
        """
        self._mean = vectors.mean(axis=0)
        self._landmarks = centred(vectors[_evenly(topics, LANDMARKS)], self._mean)
        root = cholesky(self._near(self._landmarks) + TWINS * np.eye(len(self._landmarks)), lower=True)
        products, sums = RIDGE * np.eye(len(root)), np.zeros((len(root), max(topics) + 1))
        for start in range(0, len(topics), TEXTS_AT_ONCE):
            part = slice(start, start + TEXTS_AT_ONCE)
            features = solve_triangular(root, self._near(centred(vectors[part], self._mean)).T, lower=True)
            counted = features * np.asarray(weights[part])
            products += counted @ features.T
            sums += counted @ np.eye(max(topics) + 1)[np.asarray(topics[part])]
        self._weights = solve_triangular(root, solve(products, sums, assume_a="pos"), lower=True, trans="T")

    def scores(self, vectors: Vectors) -> Scores:
        """The score of each topic for each text, shape (texts, topics), about 0..1."""
        found: Scores = self._near(centred(vectors, self._mean)) @ self._weights
        return found

    def _near(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """The kernel of texts and landmarks, shape (texts, landmarks)."""
        near: NDArray[np.float64] = rbf_kernel(inputs, self._landmarks, gamma=GAMMA)
        return near


def centred(vectors: Vectors, mean: Vectors) -> NDArray[np.float64]:
    """The vectors minus the mean of the fitted ones, of length 1: common parts do not help to distinguish topics."""
    apart = (vectors - mean).astype(np.float64)
    unit: NDArray[np.float64] = apart / np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-9)
    return unit


def _evenly(topics: Sequence[int], most: int) -> NDArray[np.intp]:
    """Positions of at most so many texts, in order: the first of every topic, then the second of every topic, ..."""
    seen: dict[int, int] = {}
    turns = []
    for topic in topics:
        turns.append(seen.get(topic, 0))
        seen[topic] = turns[-1] + 1
    order = sorted(range(len(topics)), key=lambda place: (turns[place], place))
    return np.array(sorted(order[:most]), dtype=np.intp)
