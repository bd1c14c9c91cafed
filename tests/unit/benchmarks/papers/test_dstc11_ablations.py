"""The fact room's search without each part: what is found is what the part that is left finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.planner.combiner import committed
from tests.benchmarks.papers.dstc11.ablations import WITHOUT, Ablations, title_of
from tests.benchmarks.papers.dstc11.data import load_benchmark
from tests.benchmarks.papers.dstc11.mail_path import MailPath, Thresholds
from tests.benchmarks.papers.dstc11.measures import Row
from tests.unit.benchmarks.papers.indexes import open_search
from tests.unit.benchmarks.papers.small_dstc11 import write_benchmark
from tests.unit.facts.words import WordEmbedder


@pytest.fixture
def rows(tmp_path: Path) -> dict[str, Row]:
    """The rows of all turns, by what is left out."""
    benchmark, search = load_benchmark(write_benchmark(tmp_path)), open_search()
    MailPath(benchmark, search, committed(), Thresholds(0.0, 0.0))  # puts the documents into the search
    found = Ablations(benchmark, search, WordEmbedder()).rows(range(6), seed=1)
    return dict(zip(WITHOUT, found, strict=True))


def test_each_part_has_a_row_of_all_turns(rows: dict[str, Row]) -> None:
    assert [row.name for row in rows.values()] == list(map(title_of, WITHOUT))
    assert rows["nothing"].knowledge_f1 > 0
    assert all(row.answered > 0 for row in rows.values())


def test_the_place_named_before_keeps_others_out(rows: dict[str, Row]) -> None:
    """Rule: with the linker and the earlier turns less is found, and more of it right."""
    assert rows["nothing"].sentences < rows["linker and chainer"].sentences
    assert rows["nothing"].precision > rows["linker and chainer"].precision
    assert rows["nothing"].precision >= rows["earlier turns"].precision
