"""Groups the questions that no document answers, so that a company sees which document to write first.

Questions are compared in meaning and grouped bottom-up, by the mean cosine between all members of two groups; the
customers' words name a group. The same questions give the same groups. Checked by
tests/unit/ops/backtest/test_clusters.py.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from sklearn.cluster import AgglomerativeClustering  # type: ignore[import-untyped]

from support_agent.core.frozen import Frozen
from support_agent.models.embedding.port import Vectors
from support_agent.ops.backtest.results import PastResult

MOST_GROUPED = 5_000
"""Questions that are compared with each other, the newest: the table of all pairs takes 200 MB."""
EXAMPLES = 3
WORDS = 4
_WORD = re.compile(r"[^\W\d_]{4,}")


class Cluster(Frozen):
    """Questions alike; `share` is their part of all questions, 0..1. `words` are more frequent in it than elsewhere.

    `examples` are the most typical questions, `said` is what a person answered the first of them that has an answer.
    """

    size: int
    share: float
    words: tuple[str, ...]
    examples: tuple[str, ...]
    said: str
    languages: tuple[str, ...]


def clusters_of(
    results: Sequence[PastResult], vectors: Vectors, least: float, fewest: int, asked: int
) -> tuple[Cluster, ...]:
    """The groups of at least `fewest` questions, the largest first.

    Args:
        vectors: A row of length 1 for each result.
        least: The mean cosine within a group, `backtest.near_questions`.
        asked: All questions, of which `share` is a part.
    """
    results, vectors = results[-MOST_GROUPED:], vectors[-MOST_GROUPED:]
    if len(results) < max(2, fewest):
        return ()
    grouping = AgglomerativeClustering(
        n_clusters=None, metric="cosine", linkage="average", distance_threshold=1.0 - least
    )
    members: dict[int, list[int]] = defaultdict(list)
    for place, group in enumerate(grouping.fit_predict(vectors.astype(np.float64))):
        members[int(group)].append(place)
    texts = [one.text.casefold() for one in results]
    everywhere = _documents_with(texts)
    found = [_cluster(results, vectors, places, texts, everywhere, asked) for places in members.values()]
    return tuple(sorted((one for one in found if one.size >= fewest), key=lambda one: (-one.size, one.words)))


def _cluster(
    results: Sequence[PastResult],
    vectors: Vectors,
    places: Sequence[int],
    texts: Sequence[str],
    everywhere: dict[str, int],
    asked: int,
) -> Cluster:
    centre = vectors[places].mean(axis=0)
    typical = sorted(places, key=lambda place: (-float(vectors[place] @ centre), place))
    own = _documents_with([texts[place] for place in places])
    least = max(2, len(places) // 5)
    telling = sorted(
        (word for word, count in own.items() if count >= least),
        key=lambda word: (-(own[word] ** 2) / everywhere[word], word),
    )
    return Cluster(
        size=len(places),
        share=len(places) / max(1, asked),
        words=tuple(telling[:WORDS]),
        examples=tuple(results[place].text for place in typical[:EXAMPLES]),
        said=next((results[place].said for place in typical if results[place].said), ""),
        languages=tuple(sorted({results[place].language for place in places} - {""})),
    )


def _documents_with(texts: Sequence[str]) -> dict[str, int]:
    """In how many texts each word is."""
    counts: dict[str, int] = defaultdict(int)
    for text in texts:
        for word in set(_WORD.findall(text)):
            counts[word] += 1
    return counts
