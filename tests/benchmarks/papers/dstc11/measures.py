"""How much of what people chose is in what was chosen here, and the snippets as sources to search.

A snippet's position is its place among all snippets of the benchmark, entity by entity. Checked by
tests/unit/papers/test_dstc11_measures.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from support_agent.facts.chunks import Source
from support_agent.facts.inquiry.utility import knowledge_f1
from support_agent.facts.trace import DOCUMENT_SOURCE
from support_agent.frozen import Frozen
from tests.benchmarks.papers.dstc11.data import Benchmark, EntityKey, Snippet
from tests.benchmarks.papers.retrieval import sentence_source


class Row(Frozen):
    """One way of choosing on all turns; shares are 0..1.

    `knowledge_f1` is the mean over the turns, of the chosen sentences word for word against the gold ones; precision,
    recall and F1 are of chosen sentences, all turns together; `sentences` is the mean number chosen, and `learned` says
    how many were chosen, one text a half.
    """

    name: str
    knowledge_f1: float
    precision: float
    recall: float
    selection_f1: float
    sentences: float
    learned: tuple[str, ...] = ()


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


def overlap(chosen: Sequence[int], gold: frozenset[int], texts: Sequence[str]) -> float:
    """Knowledge-F1 of the chosen sentences, word for word, against the gold ones: 0..1."""
    return knowledge_f1(" ".join(texts[n] for n in sorted(chosen)), " ".join(texts[n] for n in sorted(gold)))


def measured(
    name: str,
    chosen: Mapping[int, Sequence[int]],
    golds: Sequence[frozenset[int]],
    texts: Sequence[str],
    learned: tuple[str, ...] = (),
) -> Row:
    """The measures of one way.

    Args:
        name: Of the way.
        chosen: Positions of snippets by turn, 1 turn or more; none chosen counts as wrong.
        golds: The right ones, of every turn of the benchmark.
        texts: Of all snippets, by position.
        learned: See `Row`.
    """
    right = sum(len(golds[n].intersection(found)) for n, found in chosen.items())
    n_chosen = sum(map(len, chosen.values()))
    n_gold = sum(len(golds[n]) for n in chosen)
    return Row(
        name=name,
        knowledge_f1=sum(overlap(found, golds[n], texts) for n, found in chosen.items()) / len(chosen),
        precision=right / max(1, n_chosen),
        recall=right / max(1, n_gold),
        selection_f1=2 * right / max(1, n_chosen + n_gold),
        sentences=n_chosen / len(chosen),
        learned=learned,
    )
