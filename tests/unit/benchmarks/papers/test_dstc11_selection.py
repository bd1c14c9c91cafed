"""What the benchmark reports: the right shares, learned on one half and told of the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.config.facts import Ways
from tests.benchmarks.papers.dstc11.data import Benchmark, load_benchmark
from tests.benchmarks.papers.dstc11.measures import Row
from tests.benchmarks.papers.dstc11.ranking import WAYS
from tests.benchmarks.papers.dstc11.selection import LEARNED, RETRIEVAL, Report, Way, evaluate, split_by_entity
from tests.benchmarks.papers.dstc11.table import Measured, table
from tests.unit.benchmarks.papers.indexes import open_index
from tests.unit.benchmarks.papers.small_dstc11 import write_benchmark
from tests.unit.facts.words import WordEmbedder


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return load_benchmark(write_benchmark(tmp_path))


@pytest.fixture
def report(benchmark: Benchmark) -> Report:
    return evaluate(benchmark, WordEmbedder(), open_index, seed=1)


def row(report: Report, name: str) -> Row:
    """The row of that name."""
    (found,) = [row for row in report.rows if row.name.partition(",")[0] == name or row.name == name]
    return found


def test_every_way_is_measured_on_all_turns(report: Report) -> None:
    """Rule: one row a way, in their order, after the gold; shares are 0..1 and belong together."""
    assert [row.name for row in report.rows[1:]] == [way.told for way in (*RETRIEVAL, *LEARNED)]
    assert (report.turns, report.snippets, report.embedder) == (6, 10, "words")
    for found in report.rows:
        assert 0 <= found.knowledge_f1 <= 1
        harmonic = 2 * found.precision * found.recall / ((found.precision + found.recall) or 1)
        assert found.selection_f1 == pytest.approx(harmonic)


def test_gold_sentences_word_for_word_are_all_of_the_gold(report: Report) -> None:
    """Rule: the ceiling is 1, and it is measured, not asserted in a table."""
    gold = row(report, "Gold knowledge, word for word")
    assert (gold.knowledge_f1, gold.precision, gold.recall, gold.sentences) == (1.0, 1.0, 1.0, 8 / 6)


def test_linking_is_right_on_made_up_names(report: Report) -> None:
    """Rule: of seven right entities six are found and none is wrong; a wrong letter in a name hides one."""
    linking = report.linking
    assert (linking.precision, linking.recall, linking.exact) == pytest.approx((1.0, 6 / 7, 5 / 6))


def test_a_dialogue_that_names_nothing_counts_as_wrong(benchmark: Benchmark) -> None:
    """Rule: nothing is chosen, the overlap is 0, and precision is not bettered by silence alone."""
    silent = benchmark.turns[0].model_copy(update={"utterances": ("Is the wifi good?",)})
    changed = benchmark.model_copy(update={"turns": (silent, *benchmark.turns[1:])})
    way = Way("Vectors only", passages=Ways.VECTORS)
    before = evaluate(benchmark, WordEmbedder(), open_index, seed=1, ways=(way,))
    after = evaluate(changed, WordEmbedder(), open_index, seed=1, ways=(way,))
    assert after.linking.exact == pytest.approx(before.linking.exact - 1 / 6)
    assert row(after, "Vectors only").knowledge_f1 < row(before, "Vectors only").knowledge_f1
    assert row(after, "Vectors only").recall < row(before, "Vectors only").recall


def test_the_same_seed_gives_the_same_report(benchmark: Benchmark, report: Report) -> None:
    """Rule: nothing is drawn but by the seed."""
    assert evaluate(benchmark, WordEmbedder(), open_index, seed=1) == report


@pytest.mark.parametrize("seed", range(8))
def test_the_halves_share_no_entity(benchmark: Benchmark, seed: int) -> None:
    """Rule: every turn is in one half; what was learned of an entity is not told of the same one."""
    one, other = split_by_entity(benchmark, seed)
    assert sorted([*one, *other]) == list(range(6))
    assert one
    assert other
    firsts = [{min(key.entity for key in benchmark.turns[n].gold) for n in half} for half in (one, other)]
    assert firsts[0].isdisjoint(firsts[1])


def test_the_reported_half_teaches_nothing(benchmark: Benchmark, report: Report) -> None:
    """The failure's story: a score learned on what it is told of. With another gold in one half, the rule that was
    learned on the other half stays."""
    _, other = split_by_entity(benchmark, 1)
    turns = list(benchmark.turns)
    for n in other:
        entities = {key.entity for key in turns[n].gold}
        everything = frozenset(snippet.key for entity in entities for snippet in benchmark.snippets[entity])
        turns[n] = turns[n].model_copy(update={"gold": everything})
    changed = evaluate(benchmark.model_copy(update={"turns": tuple(turns)}), WordEmbedder(), open_index, seed=1)
    for way in (*RETRIEVAL, *LEARNED):
        assert row(changed, way.told).learned[0] == row(report, way.told).learned[0]
    assert row(changed, "Vectors only").learned[1] != row(report, "Vectors only").learned[1]


def test_a_part_that_is_left_out_leaves_its_columns(report: Report) -> None:
    """Rule: an ablation is without all columns of its part and with all others."""
    left = {way.name: {WAYS[n] for n in range(len(WAYS)) if n not in way.columns} for way in LEARNED}
    assert left["All without answered questions"] == {"example", "examples", "examples below best"}
    assert left["All without BM25"] == {"words"}
    assert left["All"] == set()


def test_the_table_shows_the_published_numbers_beside(report: Report) -> None:
    """Rule: a row a way, in percent, and what others reached below."""
    lines = table(Measured(report=report)).splitlines()
    assert lines[0].startswith("DSTC11 track 5: 6 of 6 turns, 10 sentences")
    assert lines[1] == "Entity linking: precision 100.0%, recall 85.7%, exact 83.3%"
    gold = next(line for line in lines if line.startswith("Gold")).split()
    assert gold[5:13] == ["100.00%", "100.0", "to", "100.0", "100.0%", "100.0%", "100.0%", "100.0"]
    assert [line.split()[-1] for line in lines[-3:]] == ["37.41%", "52.83%", "28.75%"]
    assert len(lines) == 4 + len(report.rows) + 3


def test_every_row_says_what_it_was_trained_on(report: Report) -> None:
    """The failure's story: 65.3 stood in the README as if nothing had been trained on the benchmark."""
    assert all(row.name.endswith("trained on the other half of validation") for row in report.rows[1:])


def test_a_sample_is_measured_by_what_all_turns_taught(benchmark: Benchmark, report: Report) -> None:
    """Rule: only what is counted is less; what was learned stays."""
    some = evaluate(benchmark, WordEmbedder(), open_index, seed=1, turns=(0, 2))
    assert (some.turns, some.whole) == (2, 6)
    assert [row.learned for row in some.rows] == [row.learned for row in report.rows]
    assert row(some, "Gold knowledge").sentences == 1.5
