"""Classifies how a text is phrased; each class is given by examples, in any language.

Kernel ridge regression, fitted in closed form to the examples: a Gaussian kernel on their vectors carries over to
languages without examples; the cosine of character n-grams is added because it separates "highest" from "lowest", whose
vectors are close. A new class needs only examples.

Invariant: the chances of a text sum to 1, and the same examples give the same chances. Checked by
tests/unit/facts/test_phrasing.py; measured by `python -m tests.benchmarks.forms`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]

from support_agent.facts.classifier import centred
from support_agent.models.embedding.port import Vectors
from support_agent.tools.base import Examples

GAMMA = 1.0
"""Gamma of the kernel exp(-gamma * squared distance); vectors are centred and have length 1."""
RIDGE = 0.3
"""Divided by the weight of a text: texts of a class with few examples weigh more."""
NGRAMS = (2, 4)
SHARPNESS = 14.0
"""Turns scores of about 0..1 into probabilities. All were chosen with one subject and one language left out."""
Floats = NDArray[np.float64]


class Phrasing:
    """A classifier of texts, fitted when it is made: some seconds for 2,000 examples."""

    def __init__(self, examples: Examples, embed: Callable[[Sequence[str]], Vectors]) -> None:
        """Fit.

        Args:
            examples: By class, in order; each class has at least one.
            embed: Returns vectors of length 1.
        """
        self._embed = embed
        self._classes = [name for name, _ in examples]
        texts = [text for _, of_class in examples for text in of_class]
        own = np.array([place for place, (_, of_class) in enumerate(examples) for _ in of_class])
        self._own = own
        vectors = embed(texts)
        self._mean = vectors.mean(axis=0)
        self._vectors = centred(vectors, self._mean)
        self._grams = TfidfVectorizer(analyzer="char_wb", ngram_range=NGRAMS, sublinear_tf=True, lowercase=True)
        counted = self._grams.fit_transform(texts)
        self._counted = counted.T.tocsr()  # once, and not again for every text
        kernel = self._kernel(self._vectors, counted)
        counts = np.bincount(own)
        kernel[np.diag_indices(len(texts))] += RIDGE * np.sqrt(counts[own] / counts.mean())
        self._weights = np.linalg.solve(kernel, np.eye(len(examples))[own])

    def chances(self, text: str) -> Mapping[str, float]:
        """How likely a text is of each class, 0..1."""
        near = self._kernel(centred(self._embed([text]), self._mean), self._grams.transform([text]))
        scores = (near @ self._weights)[0]
        raised = np.exp(SHARPNESS * (scores - scores.max()))
        return dict(zip(self._classes, map(float, raised / raised.sum()), strict=True))

    def likeness(self, text: str) -> Mapping[str, float]:
        """How near a text is to the nearest example of each class: the cosine of their vectors, -1..1."""
        near = (centred(self._embed([text]), self._mean) @ self._vectors.T)[0]
        return {name: float(near[self._own == place].max()) for place, name in enumerate(self._classes)}

    def _kernel(self, vectors: Floats, counted: object) -> Floats:
        """Similarity of texts to the examples, shape (texts, examples)."""
        words: Floats = (counted @ self._counted).toarray()
        near: Floats = np.exp(-2 * GAMMA * (1.0 - vectors @ self._vectors.T)) + words
        return near
