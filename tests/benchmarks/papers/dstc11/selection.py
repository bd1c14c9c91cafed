"""DSTC11 track 5: how much of what people chose is in the sentences that are chosen here, word for word.

The answer is the chosen sentences, joined; Knowledge-F1 compares it with the sentences that people chose. How many
sentences are chosen, and with what weights, is learned on one half of the turns and reported on the other, both ways
round; the halves share no entity that a turn's gold begins with. Each part is switched off in turn; those that need
the language model are in `parts`. Checked by tests/unit/benchmarks/papers/test_dstc11_selection.py.
Source: LLM-Augmenter (Peng et al. 2023), table of customer service; DSTC11 track 5 (Zhao et al. 2023).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from support_agent.config.facts import Ways
from support_agent.core.frozen import Frozen
from support_agent.facts.index import TextEmbedder
from support_agent.facts.passages import RANK_CONSTANT
from tests.benchmarks.papers.dstc11.data import Benchmark, EntityKey
from tests.benchmarks.papers.dstc11.linking import NameLinker
from tests.benchmarks.papers.dstc11.measures import (
    Row,
    Truth,
    measured,
    names_by_entity,
    overlap,
    position_of,
    sources_of,
    truth_of,
)
from tests.benchmarks.papers.dstc11.ranking import WAYS, Numbers, Positions, Ranking, fit_weights, likelihood
from tests.benchmarks.papers.retrieval import OpenSearch, Search

GOLD = "Gold knowledge, word for word"
TRAINED = "trained on the other half of validation"
MAX_CHOSEN = 15
"""Sentences of one answer."""
COUNTS = range(1, 11)
FLOORS = tuple(round(0.05 * step, 2) for step in range(2, 13))

Scope = Literal["linked", "gold", "all"]
"""Whose snippets are looked at: those of the linked entities, of the gold's entities, or all."""


class Linking(Frozen):
    """How often the linked entities are those of the gold knowledge: 0..1, `exact` counts turns."""

    precision: float
    recall: float
    exact: float


class Report(Frozen):
    """What was measured on `turns` of the `whole` benchmark; `linking` is of all of them."""

    turns: int
    whole: int
    snippets: int
    seed: int
    embedder: str
    linking: Linking
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Way:
    """How sentences are chosen.

    `passages`: the best of the room's own retrieval, by these ways. Otherwise by `columns`, positions in `WAYS`: with
    `is_learned` they are weighed as learned and chosen from a likelihood on, else the best are chosen by the fusion of
    their ranks.
    """

    name: str
    columns: tuple[int, ...] = ()
    passages: Ways | None = None
    is_learned: bool = False
    entities: Scope = "linked"

    @property
    def told(self) -> str:
        """The name, with what of it was trained on what."""
        if self.passages is not None:
            return f"{self.name}, count {TRAINED}"
        return f"{self.name}, {TRAINED}" if self.is_learned else f"{self.name}, examples and count {TRAINED}"


def _columns(*left_out: str) -> tuple[int, ...]:
    return tuple(n for n, name in enumerate(WAYS) if name.split()[0] not in left_out)


RETRIEVAL = (
    Way("BM25 only", passages=Ways.WORDS),
    Way("Vectors only", passages=Ways.VECTORS),
    Way("BM25 and vectors, fused", passages=Ways.BOTH),
    Way("Fused, without entity linking", passages=Ways.BOTH, entities="all"),
)
LEARNED = (
    Way("All", _columns(), is_learned=True),
    Way("All, with gold entities", _columns(), is_learned=True, entities="gold"),
    Way("All without entity linking", _columns(), is_learned=True, entities="all"),
    Way("All without learned weights", tuple(map(WAYS.index, ("words", "meaning", "spread", "example", "examples")))),
    Way("All without BM25", _columns("words"), is_learned=True),
    Way("All without vectors", _columns("meaning", "spread", "example", "examples"), is_learned=True),
    Way("All without spread", _columns("spread"), is_learned=True),
    Way("All without answered questions", _columns("example", "examples"), is_learned=True),
)


@dataclass(frozen=True)
class _Seen:
    """One turn with its candidates by position, their features, and what is right."""

    candidates: Positions
    features: Numbers
    gold: frozenset[int]


@dataclass(frozen=True)
class _Scored:
    """One turn's candidates as one way scores them."""

    candidates: Positions
    scores: Numbers


def evaluate(
    benchmark: Benchmark,
    embedder: TextEmbedder,
    open_search: OpenSearch,
    *,
    seed: int,
    ways: Sequence[Way] = (*RETRIEVAL, *LEARNED),
    turns: Sequence[int] | None = None,
) -> Report:
    """Measure each way, trained on all turns of the other half.

    Args:
        benchmark: As `data.load_benchmark` reads it.
        embedder: Embeds some 12,000 short texts once.
        open_search: Makes the room's retrieval over the snippets.
        seed: Of the split into halves, and of the resamples.
        turns: Positions of those that are measured, 1 or more; None: all.
    """
    ranking = Ranking(benchmark, embedder)
    linked = link_all(benchmark)
    gold = [tuple(sorted({key.entity for key in turn.gold})) for turn in benchmark.turns]
    halves = split_by_entity(benchmark, seed)
    truth = truth_of(benchmark)
    asked = range(len(benchmark.turns)) if turns is None else turns
    rows = {GOLD: _gold_row(truth, asked, seed)}
    sources = sources_of(benchmark)
    search_by = cache(lambda ways: open_search(ways, sources))
    for scope in dict.fromkeys(way.entities for way in ways):
        entities = gold if scope == "gold" else linked
        chosen_by = _Scope(benchmark, ranking, entities, halves, is_all=scope == "all")
        for way in ways:
            if way.entities == scope:
                chosen, learned = chosen_by.chosen(way, search_by)
                kept = {n: chosen[n] for n in asked}
                rows[way.name] = measured(way.told, kept, truth, seed=seed, learned=learned)
    return Report(
        turns=len(asked),
        whole=len(benchmark.turns),
        snippets=len(ranking.texts),
        seed=seed,
        embedder=embedder.name,
        linking=_linking(linked, gold),
        rows=(rows[GOLD], *(rows[way.name] for way in ways)),
    )


def link_all(benchmark: Benchmark) -> list[tuple[EntityKey, ...]]:
    """The entities that each turn's last question is about, as the linker has it."""
    linker = NameLinker(benchmark.names)
    return [linker.link(turn.utterances) for turn in benchmark.turns]


def split_by_entity(benchmark: Benchmark, seed: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Positions of two halves of the turns; those whose gold begins with one entity stay together."""
    firsts = [min(key.entity for key in turn.gold) for turn in benchmark.turns]
    entities = sorted(set(firsts))
    random.Random(seed).shuffle(entities)
    half: set[EntityKey] = set()
    while 2 * sum(first in half for first in firsts) < len(firsts):
        half.add(entities[len(half)])
    numbers = range(len(firsts))
    return tuple(n for n in numbers if firsts[n] in half), tuple(n for n in numbers if firsts[n] not in half)


class _Scope:
    """All turns, with the snippets of certain entities to choose from."""

    def __init__(
        self,
        benchmark: Benchmark,
        ranking: Ranking,
        entities: Sequence[tuple[EntityKey, ...]],
        halves: tuple[tuple[int, ...], tuple[int, ...]],
        *,
        is_all: bool,
    ) -> None:
        self._benchmark = benchmark
        self._ranking = ranking
        self._entities = entities
        self._halves = halves
        self._is_all = is_all
        self._seen: dict[tuple[int, ...], list[_Seen]] = {}

    def chosen(self, way: Way, search_by: Callable[[Ways], Search]) -> tuple[dict[int, list[int]], tuple[str, ...]]:
        """Learn on each half, choose on the other: the positions by turn, and what was learned on each half."""
        chosen: dict[int, list[int]] = {}
        learned: list[str] = []
        found = None if way.passages is None else self._found(search_by(way.passages))
        for half, other in zip(self._halves, reversed(self._halves), strict=True):
            scored = self._scored(way, half) if found is None else found
            rule = self._best_rule(way, {n: scored[n] for n in half})
            chosen |= {n: _choose(scored[n], rule) for n in other}
            learned.append(f"p >= {rule}" if way.is_learned else f"top {rule:.0f}")
        return chosen, tuple(learned)

    def _found(self, search: Search) -> list[_Scored]:
        """What the room's retrieval finds for each turn's last question."""
        names = names_by_entity(self._benchmark)
        scored = []
        for turn, known in zip(self._benchmark.turns, self._entities, strict=True):
            allowed = None if self._is_all else frozenset(name for entity in known for name in names[entity])
            passages = search.find(turn.utterances[-1], max(COUNTS), allowed)
            positions = np.array([position_of(passage.source) for passage in passages], dtype=np.int64)
            scored.append(_Scored(positions, np.array([passage.score for passage in passages], dtype=np.float64)))
        return scored

    def _scored(self, way: Way, half: tuple[int, ...]) -> list[_Scored]:
        """How good each turn's candidates are, as learned on the half where the way learns."""
        turns = self._turns(half)
        columns = [turn.features[:, way.columns] for turn in turns]
        if not way.is_learned:
            return [_Scored(turn.candidates, _fused(found)) for turn, found in zip(turns, columns, strict=True)]
        is_gold = np.concatenate([np.isin(turns[n].candidates, sorted(turns[n].gold)) for n in half])
        weights = fit_weights(np.concatenate([columns[n] for n in half]), is_gold.astype(np.float64))
        return [
            _Scored(turn.candidates, likelihood(found, weights)) for turn, found in zip(turns, columns, strict=True)
        ]

    def _turns(self, examples: tuple[int, ...]) -> list[_Seen]:
        """Every turn with the gold of one half to look at."""
        if examples not in self._seen:
            self._seen[examples] = [self._see(turn, examples) for turn in range(len(self._entities))]
        return self._seen[examples]

    def _see(self, turn: int, examples: Sequence[int]) -> _Seen:
        known = self._entities[turn]
        candidates = self._ranking.candidates(turn, None if self._is_all else known)
        features = self._ranking.features(turn, candidates, known, examples)
        return _Seen(candidates=candidates, features=features, gold=self._ranking.gold[turn])

    def _best_rule(self, way: Way, scored: Mapping[int, _Scored]) -> float:
        """The count, or the floor, with the best mean Knowledge-F1; the smaller one of two equal ones."""

        def total(rule: float) -> float:
            texts, golds = self._ranking.texts, self._ranking.gold
            return sum(overlap(_choose(found, rule), golds[n], texts) for n, found in scored.items())

        rules: Sequence[float] = FLOORS if way.is_learned else COUNTS
        return max(rules, key=lambda rule: (total(rule), -rule))


def _fused(features: Numbers) -> Numbers:
    """Reciprocal rank fusion of the columns, shape (candidates,)."""
    order = np.argsort(-features, axis=0, kind="stable")
    ranks = np.argsort(order, axis=0, kind="stable") + 1
    fused: Numbers = (1 / (RANK_CONSTANT + ranks)).sum(axis=1)
    return fused


def _choose(found: _Scored, rule: float) -> list[int]:
    """Positions, the best first: as many as a rule of 1 and more says, or all from the floor on and one at least."""
    order = np.argsort(-found.scores, kind="stable")
    n = int(rule) if rule >= 1 else min(MAX_CHOSEN, max(1, int((found.scores >= rule).sum())))
    return [int(position) for position in found.candidates[order[:n]]]


def _gold_row(truth: Truth, turns: Sequence[int], seed: int) -> Row:
    """What people chose, sent word for word: 1.0 by construction, and measured all the same."""
    return measured(GOLD, {n: sorted(truth.golds[n]) for n in turns}, truth, seed=seed)


def _linking(linked: Sequence[tuple[EntityKey, ...]], gold: Sequence[tuple[EntityKey, ...]]) -> Linking:
    pairs = [(set(found), set(wanted)) for found, wanted in zip(linked, gold, strict=True)]
    right = sum(len(found & wanted) for found, wanted in pairs)
    return Linking(
        precision=right / max(1, sum(len(found) for found, _ in pairs)),
        recall=right / max(1, sum(len(wanted) for _, wanted in pairs)),
        exact=sum(found == wanted for found, wanted in pairs) / max(1, len(pairs)),
    )
