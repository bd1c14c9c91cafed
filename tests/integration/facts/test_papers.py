"""The benchmarks of papers on real parts: the embedding model, servers on loopback, the workflow with its parts off."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from support_agent.models.embedding.minilm import MiniLM
from support_agent.models.language_model import Prompt, Scores, Usage
from support_agent.models.writer import Draft, Material, most_tokens
from tests.benchmarks.papers import command, enhancer, wikiqa
from tests.benchmarks.papers.command import run
from tests.benchmarks.papers.dstc11 import __main__ as dstc11
from tests.benchmarks.papers.dstc11 import variants
from tests.unit.benchmarks.papers.indexes import open_search
from tests.unit.benchmarks.papers.small_dstc11 import write_benchmark
from tests.unit.benchmarks.papers.test_wikiqa import HEAD, ROWS
from tests.unit.facts.words import WordEmbedder


class Agreeing:
    """A model that says yes to everything, and always writes the same."""

    name = "brief"

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        return Scores(log_probabilities=(-0.01, -5.0), usage=Usage(prompt_tokens=20, forward_passes=1))

    def count_tokens(self, text: str) -> int:
        return most_tokens(text)

    def generate(
        self, instruction: str, material: Material, *, temperature: float, max_tokens: int, seed: int
    ) -> Draft:
        return Draft(text="It is so.", usage=Usage(prompt_tokens=30, tree_tokens=4, forward_passes=4))


def measured(
    capsys: pytest.CaptureFixture[str], command: Callable[..., None], name: str, *arguments: str
) -> dict[str, Any]:
    """What the command prints with `--json`."""
    with pytest.raises(SystemExit) as exit_:
        run(command, name, [*arguments, "--json"])
    assert exit_.value.code == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def test_the_sentence_that_answers_is_found_by_meaning(
    tmp_path: Path, embedder: MiniLM, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: with the real embedding model both questions have a right sentence first, which share few words."""
    monkeypatch.setattr(wikiqa, "open_embedder", lambda _settings: embedder)
    (tmp_path / "WikiQA-test.tsv").write_text("\n".join([HEAD, *ROWS]), "utf-8")
    by_meaning, *_ = measured(capsys, wikiqa.main, "wikiqa", "--data", str(tmp_path))["rows"]
    assert (by_meaning["way"], by_meaning["right"]) == ("vectors", 1.0)


def test_the_workflows_parts_are_switched_off_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: the same turns for each; without grading nothing is asked of the model, and everything is answered."""
    monkeypatch.setattr(dstc11, "open_embedder", lambda _settings: WordEmbedder())
    monkeypatch.setattr(dstc11, "open_topic_search", lambda _settings, **_options: open_search())
    monkeypatch.setattr(variants, "open_model", lambda *_: Agreeing())
    data = write_benchmark(tmp_path / "small")
    parts = measured(capsys, dstc11.main, "dstc11", "--data", str(data), "--sample", "3", "--seed", "2")["parts"]
    rows = {row["chosen"]["name"]: row for row in parts["rows"]}
    assert (parts["sample"], parts["seed"]) == (3, 2)
    assert list(rows) == [
        "Workflow",
        "Workflow without grading",
        "Workflow without feedback",
        "Workflow without cycles",
        "Workflow without graph",
        "Workflow without entity linking",
    ]
    assert rows["Workflow without grading"]["tokens"] == 0
    assert rows["Workflow"]["tokens"] > rows["Workflow"]["forward_passes"] > 0
    assert rows["Workflow without entity linking"]["answered"] == 1.0


def test_wikiqas_questions_are_answered_from_the_local_web(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: from the file to the table, by each source and by all; a model that never answers right is never right."""
    monkeypatch.setattr(enhancer, "open_embedder", lambda _settings: WordEmbedder())
    monkeypatch.setattr(command, "open_model", lambda *_: Agreeing())
    (tmp_path / "WikiQA-test.tsv").write_text("\n".join([HEAD, *ROWS]), "utf-8")
    report = measured(capsys, enhancer.main, "enhancer", "--data", str(tmp_path), "--questions", "1", "--seed", "3")
    assert (report["questions"], report["of_questions"], report["pages"], report["model"]) == (1, 2, 3, "brief")
    rows = {row["name"]: row for row in report["rows"]}
    services = ["google", "duckduckgo", "searxng", "wikipedia", "site"]
    assert list(rows) == ["offline model", *services, "sequential", "merged"]
    assert (rows["merged"]["found"], rows["merged"]["failed_sources"]) == (1, 0)
    assert rows["merged"]["waits"]["slowest_source"] < rows["merged"]["waits"]["sum_of_sources"]
    assert (rows["merged"]["by_words"]["wrong"], rows["merged"]["by_model"]["right"]) == (1, 1)
