"""The benchmark is read as it was published, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.errors import ConfigError
from tests.benchmarks.papers.dstc11.data import EntityKey, SnippetKey, load_benchmark
from tests.unit.benchmarks.papers.small_dstc11 import RESPONSE, review, write_benchmark

FOX = EntityKey("hotel", 0)


def test_the_turns_that_need_knowledge_are_read(tmp_path: Path) -> None:
    """Rule: utterances oldest first, gold as the keys of snippets, and what a person wrote."""
    benchmark = load_benchmark(write_benchmark(tmp_path))
    assert len(benchmark.turns) == 6
    assert benchmark.turns[0].utterances[-1] == "Is the wifi good?"
    assert benchmark.turns[0].response == RESPONSE
    assert benchmark.turns[0].gold == {SnippetKey(FOX, "review", 0, 0), SnippetKey(FOX, "review", 1, 1)}
    assert SnippetKey(FOX, "faq", 0, -1) in benchmark.turns[3].gold


def test_a_snippet_is_a_sentence_or_an_answer(tmp_path: Path) -> None:
    """Rule: an answer is shown alone, and found with its question."""
    found = load_benchmark(write_benchmark(tmp_path)).snippets[FOX]
    assert [snippet.text for snippet in found] == [
        "The wifi was fast.", "The bed was soft.", "Breakfast came late.", "Our wifi broke at night.",
        "Yes, parking is free.",
    ]  # fmt: skip
    assert found[-1].searched == "Is there parking?\nYes, parking is free."


@pytest.mark.parametrize("name", ["logs.json", "labels.json", "knowledge.json"])
def test_a_file_that_is_not_there_or_damaged_is_named(tmp_path: Path, name: str) -> None:
    """Rule: one line with the file and what to do."""
    write_benchmark(tmp_path)
    (tmp_path / name).write_text('{"hotel": [', encoding="utf-8")
    with pytest.raises(ConfigError, match=f"{name}: not as published"):
        load_benchmark(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ConfigError, match=f"{name}: .*--data"):
        load_benchmark(tmp_path)


@pytest.mark.parametrize(
    "labels",
    [
        [{"target": False}] * 7,
        [{"target": True, "knowledge": [review(0, 0, 99)]}] * 7,
        [{"target": True, "knowledge": []}] * 7,
        [{"target": True, "knowledge": [review(0, 0, 0)]}] * 7,
        [{"target": False}],
    ],
)
def test_files_that_do_not_belong_together_are_refused(tmp_path: Path, labels: list[dict[str, object]]) -> None:
    """Rule: a gold sentence or a response that does not exist would only lower the score, silently."""
    with pytest.raises(ConfigError, match="one release"):
        load_benchmark(write_benchmark(tmp_path, labels=labels))
