"""How much of what people chose and wrote is in what was chosen here, and the snippets as sources to search.

A snippet's position is its place among all snippets of the benchmark, entity by entity. Checked by
tests/unit/benchmarks/papers/test_dstc11_measures.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from support_agent.core.frozen import Frozen
from support_agent.facts.chunks import Source
from support_agent.facts.inquiry.utility import knowledge_f1
from support_agent.tools.fact_trace import DOCUMENT_SOURCE
from tests.benchmarks.papers.dstc11.data import Benchmark, EntityKey, Snippet
from tests.benchmarks.papers.dstc11.text_measures import Likeness, likeness
from tests.benchmarks.papers.resamples import middle, resamples
from tests.benchmarks.papers.retrieval import sentence_source

Numbers = NDArray[np.float64]


class Row(Frozen):
    """One way of choosing on all turns; shares are 0..1.

    `knowledge_f1` is the mean over the turns, of the chosen sentences word for word against the gold ones; precision,
    recall and F1 are of chosen sentences, all turns together; the ranges hold the two F1 in 95% of the resamples of the
    turns. `likeness` compares the chosen sentences with what people wrote. `answered` is the share of turns with a
    sentence chosen, `sentences` the mean number, and `learned` says how many were chosen, one text a half.
    """

    name: str
    knowledge_f1: float
    knowledge_range: tuple[float, float]
    precision: float
    recall: float
    selection_f1: float
    selection_range: tuple[float, float]
    likeness: Likeness
    answered: float
    sentences: float
    learned: tuple[str, ...] = ()


class Truth(NamedTuple):
    """What is right: the gold positions and the response of every turn, and the text of every snippet by position."""

    golds: list[frozenset[int]]
    responses: list[str]
    texts: list[str]


def truth_of(benchmark: Benchmark) -> Truth:
    """What every way is measured against."""
    texts = [snippet.text for snippet in snippets_of(benchmark)]
    return Truth(golds_of(benchmark), [turn.response for turn in benchmark.turns], texts)


def snippets_of(benchmark: Benchmark) -> list[Snippet]:
    """All snippets by position."""
    return [snippet for found in benchmark.snippets.values() for snippet in found]


def golds_of(benchmark: Benchmark) -> list[frozenset[int]]:
    """The positions that people chose, a turn each."""
    positions = {snippet.key: position for position, snippet in enumerate(snippets_of(benchmark))}
    return [frozenset(positions[key] for key in turn.gold) for turn in benchmark.turns]


def sources_of(benchmark: Benchmark) -> list[Source]:
    """Each snippet as a source, by position: an answer is searched with its question as the title."""
    sources = []
    for position, snippet in enumerate(snippets_of(benchmark)):
        title = snippet.searched.removesuffix(snippet.text).rstrip("\n")
        sources.append(sentence_source(_name(position), title, snippet.text))
    return sources


def names_by_entity(benchmark: Benchmark) -> dict[EntityKey, frozenset[str]]:
    """The names of each entity's sources."""
    found: dict[EntityKey, frozenset[str]] = {}
    start = 0
    for entity, snippets in benchmark.snippets.items():
        found[entity] = frozenset(map(_name, range(start, start + len(snippets))))
        start += len(snippets)
    return found


def position_of(name: str) -> int:
    """The position of a source of `sources_of`."""
    return int(name.removeprefix(DOCUMENT_SOURCE))


def _name(position: int) -> str:
    """Snippets stand for the company's documents, which alone may make an answer."""
    return f"{DOCUMENT_SOURCE}{position}"


def text_of(chosen: Collection[int], texts: Sequence[str]) -> str:
    """What would be sent: the chosen sentences word for word, by position."""
    return " ".join(texts[n] for n in sorted(chosen))


def overlap(chosen: Collection[int], gold: frozenset[int], texts: Sequence[str]) -> float:
    """Knowledge-F1 of the chosen sentences, word for word, against the gold ones: 0..1."""
    return knowledge_f1(text_of(chosen, texts), text_of(gold, texts))


def measured(
    name: str, chosen: Mapping[int, Sequence[int]], truth: Truth, *, seed: int, learned: tuple[str, ...] = ()
) -> Row:
    """The measures of one way.

    Args:
        name: Of the way.
        chosen: Positions of snippets by turn, 1 turn or more; none chosen counts as wrong.
        truth: Of every turn of the benchmark.
        seed: Of the resamples.
        learned: See `Row`.
    """
    golds, texts = [truth.golds[turn] for turn in chosen], truth.texts
    overlaps = np.array([overlap(found, gold, texts) for found, gold in zip(chosen.values(), golds, strict=True)])
    counts = np.array(
        [
            (len(gold.intersection(found)), len(found), len(gold))
            for found, gold in zip(chosen.values(), golds, strict=True)
        ]
    )
    right, n_chosen, n_gold = map(int, counts.sum(axis=0))
    draws = resamples(len(chosen), seed)
    return Row(
        name=name,
        knowledge_f1=float(overlaps.mean()),
        knowledge_range=middle(overlaps[draws].mean(axis=1)),
        precision=right / max(1, n_chosen),
        recall=right / max(1, n_gold),
        selection_f1=2 * right / max(1, n_chosen + n_gold),
        selection_range=middle(_selection_f1(counts[draws].sum(axis=1))),
        likeness=likeness(
            [text_of(found, texts) for found in chosen.values()], [truth.responses[turn] for turn in chosen]
        ),
        answered=float((counts[:, 1] > 0).mean()),
        sentences=n_chosen / len(chosen),
        learned=learned,
    )


def _selection_f1(counts: NDArray[np.int64]) -> Numbers:
    """Of each row of (right, chosen, gold)."""
    return np.asarray(2 * counts[:, 0] / np.maximum(1, counts[:, 1] + counts[:, 2]), dtype=np.float64)
