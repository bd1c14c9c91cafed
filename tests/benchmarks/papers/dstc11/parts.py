"""DSTC11 track 5 with the language model: the workflow and its parts, switched off in turn, on a sample of the turns.

What the workflow answers with is measured as the other ways are; a turn that it does not answer counts as wrong, and
how many it answers stands beside. Checked by tests/unit/benchmarks/papers/test_dstc11_parts.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

from support_agent.core.frozen import Frozen
from support_agent.facts.material import Retriever
from support_agent.facts.spending import Budget
from support_agent.tools.fact_room import RetrievalResult
from tests.benchmarks.papers.dstc11.data import Benchmark
from tests.benchmarks.papers.dstc11.measures import (
    Row,
    Truth,
    measured,
    names_by_entity,
    overlap,
    position_of,
    truth_of,
)
from tests.benchmarks.papers.dstc11.selection import link_all


class Finder(Protocol):
    """`facts.inquiry.workflow.Workflow`, or another that looks into a question and says with pointers what it found."""

    def find(self, question: str, budget: Budget) -> RetrievalResult: ...


@dataclass(frozen=True)
class Variant:
    """The workflow with some part switched off; `is_linked`: it looks at the linked entities' snippets alone."""

    name: str
    open_finder: Callable[[Retriever], Finder]
    is_linked: bool = True


class PartRow(Frozen):
    """One variant on the sample: `chosen` as of the other ways, an unanswered turn with nothing chosen.

    `answered` is the share of turns that were answered, `knowledge_f1_answered` the mean over these; tokens, forward
    passes and seconds are means a turn.
    """

    chosen: Row
    answered: float
    knowledge_f1_answered: float
    tokens: float
    forward_passes: float
    seconds: float


class PartsReport(Frozen):
    """The sample, by its size and its seed, and a row a variant."""

    sample: int
    seed: int
    rows: tuple[PartRow, ...]


def evaluate_parts(
    benchmark: Benchmark,
    among: Callable[[AbstractSet[str] | None], Retriever],
    variants: Sequence[Variant],
    *,
    sample: int,
    seed: int,
    max_tokens: int,
) -> PartsReport:
    """Look into the sampled turns with each variant.

    Args:
        benchmark: As `data.load_benchmark` reads it.
        among: A retriever of these sources of `sources_of(benchmark)` alone; of None: of all.
        variants: In the order of the report.
        sample: How many turns, 1 or more; all, where there are fewer.
        seed: Of the sample.
        max_tokens: For each turn.
    """
    turns = sampled(benchmark, sample, seed)
    names, linked = names_by_entity(benchmark), link_all(benchmark)
    rows = []
    for variant in variants:
        found: dict[int, RetrievalResult] = {}
        for turn in turns:
            allowed = frozenset(name for entity in linked[turn] for name in names[entity])
            finder = variant.open_finder(among(allowed if variant.is_linked else None))
            found[turn] = finder.find(benchmark.turns[turn].utterances[-1], Budget(max_tokens))
        rows.append(_row(truth_of(benchmark), variant.name, found, seed))
    return PartsReport(sample=len(turns), seed=seed, rows=tuple(rows))


def sampled(benchmark: Benchmark, sample: int, seed: int) -> list[int]:
    """Positions of so many turns, in order; of all, where there are fewer."""
    return sorted(random.Random(seed).sample(range(len(benchmark.turns)), min(sample, len(benchmark.turns))))


def _row(truth: Truth, name: str, found: dict[int, RetrievalResult], seed: int) -> PartRow:
    chosen = {turn: _positions(findings) for turn, findings in found.items()}
    overlaps = [overlap(chosen[turn], truth.golds[turn], truth.texts) for turn in found if found[turn].is_answered]
    return PartRow(
        chosen=measured(name, chosen, truth, seed=seed),
        answered=len(overlaps) / len(found),
        knowledge_f1_answered=sum(overlaps) / max(1, len(overlaps)),
        tokens=sum(one.tokens for one in found.values()) / len(found),
        forward_passes=sum(one.forward_passes for one in found.values()) / len(found),
        seconds=sum(one.seconds for one in found.values()) / len(found),
    )


def _positions(findings: RetrievalResult) -> list[int]:
    """What would be sent: the sentences that bear the draft out, else the passages; nothing without an answer."""
    if not findings.is_answered:
        return []
    sources = [one.source for one in findings.sentences or findings.evidence]
    return list(dict.fromkeys(position_of(source) for source in sources))
