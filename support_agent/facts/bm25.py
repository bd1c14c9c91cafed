"""Finds the texts that share rare words with a question: BM25, in memory.

Words are runs of letters, digits and underscores, in any case. The 33 commonest English words are left out, as in
Lucene: in a short question they outweigh the rare ones. Nothing is stemmed.

Invariant: the same texts and question give the same order, equal scores by position. Checked by
tests/unit/facts/test_bm25.py.
Source: BM25 as in Lucene (k1 1.5, b 0.75), Robertson and Zaragoza 2009; scores computed ahead as in BM25S (Lù 2024).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import bm25s  # type: ignore[import-untyped]
import numpy as np
from bm25s.stopwords import STOPWORDS_EN  # type: ignore[import-untyped]
from numpy.typing import NDArray

K1 = 1.5
B = 0.75

LEFT_OUT: frozenset[str] = frozenset(STOPWORDS_EN)

_WORD = re.compile(r"\w+")

Allowed = NDArray[np.bool_]


class WordIndex:
    """The words of a list of texts; a text is named by its position in the list."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._scores: bm25s.BM25 | None = None
        self._numbers: dict[str, int] = {}
        numbers = self._numbers
        rows = [[numbers.setdefault(word, len(numbers)) for word in words_of(text)] for text in texts]
        if numbers:
            self._scores = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numpy", csc_backend="numpy")
            self._scores.index((rows, dict(numbers)), create_empty_token=False, show_progress=False)

    def nearest(self, question: str, n: int, allowed: Allowed | None = None) -> list[int]:
        """Positions of the texts that share words with the question, the best first, at most `n`.

        Args:
            question: Any length; a repeated word counts each time.
            n: 1 or more.
            allowed: Whether each text may be found, shape (number of texts,); None: all may.
        """
        numbers = [self._numbers[word] for word in words_of(question) if word in self._numbers]
        if self._scores is None or not numbers:
            return []
        scores: NDArray[np.float32] = self._scores.get_scores_from_ids(numbers)
        found = np.flatnonzero(scores > 0 if allowed is None else (scores > 0) & allowed)
        best = found[np.lexsort((found, -scores[found]))][:n]
        return [int(position) for position in best]


def words_of(text: str) -> list[str]:
    """The words of a text, in order, as they are compared."""
    words: list[str] = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return [word for word in words if word not in LEFT_OUT]
