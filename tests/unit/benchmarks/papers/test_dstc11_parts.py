"""The parts that need the language model: what is sampled, what a variant may find, and what counts."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

from support_agent.config.facts import Ways
from support_agent.facts.material import Retriever
from support_agent.facts.spending import Budget
from support_agent.tools.fact_room import FindingReason, RetrievalResult
from support_agent.tools.fact_trace import Evidence
from tests.benchmarks.papers.dstc11.data import Benchmark, load_benchmark
from tests.benchmarks.papers.dstc11.measures import sources_of
from tests.benchmarks.papers.dstc11.parts import PartsReport, Variant, evaluate_parts
from tests.benchmarks.papers.dstc11.selection import Report, evaluate
from tests.benchmarks.papers.dstc11.table import Measured, table
from tests.benchmarks.papers.retrieval import Among
from tests.unit.benchmarks.papers.indexes import open_index
from tests.unit.benchmarks.papers.small_dstc11 import write_benchmark
from tests.unit.facts.words import WordEmbedder


class FirstPassage:
    """Stands in for the workflow: answers with the first passage, unless it is asked about the bed."""

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever

    def find(self, question: str, budget: Budget) -> RetrievalResult:
        budget.spend(10)
        found = self.retriever.find(question, 1)
        return RetrievalResult(
            reason=FindingReason.IRRELEVANT if "bed" in question or not found else FindingReason.ANSWERED,
            evidence=tuple(Evidence(**dict(passage.place), grade=0.9) for passage in found),
            index_version="v",
            tokens=10,
            forward_passes=2,
            seconds=0.5,
        )


VARIANTS = (Variant("Workflow", FirstPassage), Variant("Workflow, not linked", FirstPassage, is_linked=False))


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return load_benchmark(write_benchmark(tmp_path))


def run(benchmark: Benchmark, sample: int, seed: int = 1) -> PartsReport:
    index = open_index(Ways.WORDS, sources_of(benchmark))

    def among(allowed: AbstractSet[str] | None) -> Retriever:
        return index if allowed is None else Among(index, allowed)

    return evaluate_parts(benchmark, among, VARIANTS, sample=sample, seed=seed, max_tokens=100)


def test_what_is_not_answered_counts_as_wrong(benchmark: Benchmark) -> None:
    """Rule: of six turns one is not answered, and one names no entity; its passages are nowhere to be found."""
    linked, everything = run(benchmark, 99).rows
    assert (linked.answered, everything.answered) == pytest.approx((4 / 6, 5 / 6))
    assert linked.chosen.sentences == pytest.approx(4 / 6)
    assert linked.knowledge_f1_answered * 4 == pytest.approx(linked.chosen.knowledge_f1 * 6)
    assert (linked.tokens, linked.forward_passes, linked.seconds) == (10, 2, 0.5)


def test_a_variant_looks_where_it_may(benchmark: Benchmark) -> None:
    """Rule: the linked one finds nothing of another house, so every sentence it chooses can be right."""
    linked, everything = run(benchmark, 99).rows
    assert linked.chosen.precision > everything.chosen.precision


def test_the_sample_is_drawn_by_its_seed(benchmark: Benchmark) -> None:
    """Rule: the same seed, the same turns, for every variant; never more than there are."""
    assert run(benchmark, 2, seed=3) == run(benchmark, 2, seed=3)
    assert run(benchmark, 2).sample == 2
    assert run(benchmark, 99).sample == 6


def test_the_table_has_the_parts_below(benchmark: Benchmark) -> None:
    """Rule: a row a variant, with what it cost a turn."""
    report: Report = evaluate(benchmark, WordEmbedder(), open_index, seed=1, ways=())
    lines = table(Measured(report=report, parts=run(benchmark, 99))).splitlines()
    assert lines[-4] == "With the language model, on 6 turns by seed 1:"
    assert lines[-2].split()[-2:] == ["10", "0.5"]
    assert "66.7%" in lines[-2]
