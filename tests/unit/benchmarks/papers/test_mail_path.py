"""By the path a mail takes: entities are documents, and the product's search, untrained, chooses in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.planner.combiner import committed
from tests.benchmarks.papers.dstc11.data import Benchmark, EntityKey, load_benchmark
from tests.benchmarks.papers.dstc11.mail_path import MailPath, Mode, Thresholds, documents_of
from tests.benchmarks.papers.dstc11.measures import snippets_of
from tests.unit.benchmarks.papers.indexes import open_search
from tests.unit.benchmarks.papers.small_dstc11 import write_benchmark

NEVER_SURE = Thresholds(1.01, 1.01)


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return load_benchmark(write_benchmark(tmp_path))


def path_of(benchmark: Benchmark, thresholds: Thresholds = NEVER_SURE) -> MailPath:
    return MailPath(benchmark, open_search(), committed(), thresholds)


def test_every_sentence_of_a_document_is_a_snippet_in_its_place(benchmark: Benchmark) -> None:
    """Rule: positions in a document lead back to positions in the benchmark."""
    texts = [snippet.text for snippet in snippets_of(benchmark)]
    for placed in documents_of(benchmark).values():
        for sentence in placed.document.sentences:
            assert texts[placed.first + sentence.index] == sentence.text


def test_a_review_is_a_section_and_an_answer_stands_below_its_question(benchmark: Benchmark) -> None:
    """Rule: sections as the product cuts them, a review whole."""
    document = documents_of(benchmark)[EntityKey("hotel", 0)].document
    assert [[sentence.text for sentence in section] for section in document.sections] == [
        ["The wifi was fast.", "The bed was soft."],
        ["Breakfast came late.", "Our wifi broke at night."],
        ["Yes, parking is free."],
    ]
    assert document.headings == ("Review 1", "Review 2", "Is there parking?")


def test_the_document_that_a_mail_names_is_the_likeliest(benchmark: Benchmark) -> None:
    path = path_of(benchmark)
    placed, chance = path.likeliest("How are the noodles of the badger noodle bar?")
    assert placed.document.head.title == "BADGER NOODLE BAR"
    assert 0 <= chance <= 1


def test_what_is_unsure_is_not_sent_and_counts_as_wrong(benchmark: Benchmark) -> None:
    """Rule: below a threshold a person would have it; what would have been sent stands in a row of its own."""
    shipped, unsure, named, linked = path_of(benchmark).rows(range(6), seed=1)
    assert [row.name for row in (shipped, unsure, named, linked)] == [mode.value for mode in Mode]
    assert (shipped.answered, shipped.knowledge_f1) == (0.0, 0.0)
    assert unsure.answered == named.answered == 1.0
    assert linked.answered == 5 / 6
    sure, same, *_ = path_of(benchmark, Thresholds(0.0, 0.0)).rows(range(6), seed=1)
    assert sure.knowledge_f1 == same.knowledge_f1 > 0


def test_a_question_that_names_no_place_is_asked_of_the_one_named_before(benchmark: Benchmark) -> None:
    """Rule: by the product's own linker, of what the titles differ in; elsewhere the likeliest of all is asked."""
    path = path_of(benchmark)
    best, _ = path.likeliest("How are the noodles of the badger noodle bar?", {"document:1"})
    assert best.document.number == 1
    everywhere, _ = path.likeliest("How are the noodles of the badger noodle bar?", {"document:99"})
    assert everywhere.document.head.title == "BADGER NOODLE BAR"


def test_nobodys_gold_decides_what_is_chosen(benchmark: Benchmark) -> None:
    """Rule: with another gold the same sentences are chosen."""
    gold = frozenset({snippets_of(benchmark)[-1].key})
    changed = benchmark.model_copy(
        update={"turns": tuple(turn.model_copy(update={"gold": gold}) for turn in benchmark.turns)}
    )
    before, after = (path_of(one).rows(range(6), seed=1)[1] for one in (benchmark, changed))
    assert before.sentences == after.sentences
    assert before.likeness == after.likeness
