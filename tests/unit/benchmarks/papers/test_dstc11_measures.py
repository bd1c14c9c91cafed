"""The measures against values worked out by hand, and snippets as sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.papers.dstc11.data import Benchmark, EntityKey, load_benchmark
from tests.benchmarks.papers.dstc11.measures import (
    Truth,
    golds_of,
    measured,
    names_by_entity,
    overlap,
    position_of,
    snippets_of,
    sources_of,
)
from tests.unit.benchmarks.papers.small_dstc11 import write_benchmark

TEXTS = ["fast wifi", "soft bed", "late breakfast"]


def truth(*golds: frozenset[int]) -> Truth:
    """A turn for each gold; people wrote something else."""
    return Truth(list(golds), ["It is quiet."] * len(golds), TEXTS)


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return load_benchmark(write_benchmark(tmp_path))


def test_measures_by_hand() -> None:
    """Rule: Knowledge-F1 is a mean of turns, the others are of all sentences together.

    Turn 0 chose one of two (words 2 of 2 and 2 of 4: F1 2/3), turn 1 two where one is right (2 of 4, 2 of 2: 2/3).
    """
    row = measured("x", {0: [0], 1: [2, 1]}, truth(frozenset([0, 1]), frozenset([2])), seed=1)
    assert row.knowledge_f1 == pytest.approx(2 / 3)
    assert (row.precision, row.recall, row.selection_f1) == pytest.approx((2 / 3,) * 3)
    assert (row.sentences, row.answered) == (1.5, 1.0)


def test_nothing_chosen_is_wrong() -> None:
    """Rule: a turn without a choice has no overlap; nothing is divided by nothing."""
    row = measured("x", {0: []}, truth(frozenset([0])), seed=1)
    assert (row.knowledge_f1, row.precision, row.recall, row.selection_f1, row.sentences) == (0, 0, 0, 0, 0)
    assert (row.answered, row.likeness.bleu, row.likeness.rouge_l, row.likeness.chrf) == (0, 0, 0, 0)


def test_the_answer_is_compared_with_what_a_person_wrote() -> None:
    """Rule: the chosen sentences word for word against the response, not against the gold."""
    row = measured("x", {0: [1]}, truth(frozenset([0]))._replace(responses=["soft bed"]), seed=1)
    assert (row.knowledge_f1, row.likeness.rouge_l, row.likeness.chrf) == pytest.approx((0.0, 1.0, 1.0))


def test_the_ranges_are_those_of_resampled_turns() -> None:
    """Rule: turns that are all alike leave no doubt; 20 of 40 are 0.35 to 0.65, as the binomial distribution has it."""
    alike = measured("x", {0: [0], 1: [2]}, truth(frozenset([0]), frozenset([2])), seed=1)
    assert (alike.knowledge_range, alike.selection_range) == ((1.0, 1.0), (1.0, 1.0))
    chosen = {n: [n % 2] for n in range(40)}
    golds = truth(*[frozenset([0])] * 40)
    row = measured("x", chosen, golds, seed=1)
    assert (row.knowledge_f1, row.selection_f1) == (0.5, 0.5)
    assert row.knowledge_range == pytest.approx((0.35, 0.65), abs=0.03)
    assert row.selection_range == pytest.approx((0.35, 0.65), abs=0.03)
    assert measured("x", chosen, golds, seed=1) == row


def test_the_order_of_choice_does_not_matter() -> None:
    """Rule: the sentences are joined by position."""
    assert overlap([2, 0], frozenset([0, 2]), TEXTS) == 1.0


def test_each_snippet_is_a_source_of_its_own(benchmark: Benchmark) -> None:
    """Rule: by position, an answer under its question; the names lead back."""
    sources = sources_of(benchmark)
    assert [position_of(source.key) for source in sources] == list(range(10))
    assert [source.sentences[0].text for source in sources] == [snippet.text for snippet in snippets_of(benchmark)]
    assert (sources[4].title, sources[0].title) == ("Is there parking?", "")
    fox = names_by_entity(benchmark)[EntityKey("hotel", 0)]
    assert fox == {source.key for source in sources[:5]}
    assert golds_of(benchmark)[3] == {4, 7}
