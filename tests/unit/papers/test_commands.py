"""The commands of the papers' benchmarks: what they hand on, print and exit with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pytest

from support_agent.company.company import Company
from support_agent.facts.spending import Budget
from support_agent.facts.trace import Findings, Outcome
from support_agent.settings import Settings
from support_agent.tools.fact_room import FindingReason
from support_agent.workspace import init
from tests.benchmarks.papers import command, evidence, grading, web_search, wikiqa
from tests.benchmarks.papers.dstc11 import __main__ as dstc11
from tests.benchmarks.papers.dstc11.mail_path import Mode
from tests.unit.facts.words import WordEmbedder
from tests.unit.papers.indexes import open_search
from tests.unit.papers.small_dstc11 import write_benchmark
from tests.unit.papers.test_wikiqa import HEAD, ROWS

COMMANDS: dict[str, Callable[..., None]] = {
    "wikiqa": wikiqa.main,
    "dstc11": dstc11.main,
    "evidence": evidence.main,
    "grading": grading.main,
    "web_search": web_search.main,
}


class Silent:
    """Stands in for the workflow: it answers nothing."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def find(self, question: str, budget: Budget) -> Findings:
        self.asked.append((question, budget.max_tokens))
        return Findings(outcome=Outcome(reason=FindingReason.IRRELEVANT, index_version="v"), trace=())


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    init(tmp_path / "here", date(2026, 3, 14))
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model: texts are near when they share words."""
    for module in (wikiqa, dstc11, evidence, web_search):
        monkeypatch.setattr(module, "open_embedder", lambda _settings: WordEmbedder())
    monkeypatch.setattr(dstc11, "open_topic_search", lambda _settings, **_options: open_search())


def run(name: str, *arguments: str) -> int:
    """The exit code."""
    with pytest.raises(SystemExit) as exit_:
        command.run(COMMANDS[name], name, arguments)
    return int(exit_.value.code or 0)


@pytest.mark.parametrize("benchmark", ["wikiqa", "dstc11", "evidence", "web_search"])
def test_wrong_data_is_a_usage_error_that_says_what_to_do(
    workspace: Path, capsys: pytest.CaptureFixture[str], benchmark: str
) -> None:
    """Rule: exit 2, one line, with the file and the option."""
    assert run(benchmark) == 2
    assert "with --data DIR" in capsys.readouterr().err
    assert run(benchmark, "--data", str(workspace)) == 2
    told = capsys.readouterr().err
    assert "--data" in told
    assert len(told.splitlines()) == 1


def test_json_has_the_numbers_of_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rule: a script reads what people see."""
    (tmp_path / "WikiQA-test.tsv").write_text("\n".join([HEAD, *ROWS]), "utf-8")
    assert run("wikiqa", "--data", str(tmp_path)) == 0
    text = capsys.readouterr().out
    assert run("wikiqa", "--data", str(tmp_path), "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["counted"], [row["way"] for row in report["rows"]]) == (2, ["vectors", "words", "both"])
    for row in report["rows"]:
        assert f"{row['map']:.4f}  {row['mrr']:.4f}" in text


def test_dstc11_is_measured_without_a_language_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rule: first what a mail would get, then the parts; the seed and the number of turns are handed on."""
    data = str(write_benchmark(tmp_path / "small"))
    assert run("dstc11", "--data", data, "--seed", "3", "--json") == 0
    whole = json.loads(capsys.readouterr().out)
    assert (whole["parts"], whole["report"]["turns"], whole["report"]["seed"]) == (None, 6, 3)
    assert run("dstc11", "--data", data, "--seed", "3", "--turns", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("DSTC11 track 5: 2 of 6 turns")
    assert [row["name"] for row in whole["by_mail"]] == [mode.value for mode in Mode]
    assert lines[4].startswith("By the path a mail takes, nothing trained")


def test_evidence_reads_the_companys_documents(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rule: by their numbers, where a workspace is named or here."""
    line = {
        "question": "?",
        "answer": "Refunds to cards and PayPal take 5 to 7 days.",
        "document": 1,
        "sentences": [25],
    }
    (workspace / "evidence.jsonl").write_text(json.dumps(line), "utf-8")
    assert run("evidence", "--data", ".", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    names = ["Nearest by words", "Nearest by meaning", "Graph"]
    assert [(row["name"], row["f1"]) for row in rows] == [(name, 1.0) for name in names]


def test_grading_asks_the_demo_companys_questions_where_no_others_are_named(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: each with a mail's budget of its own; of those here only the two unanswerable ones end right."""
    finder = Silent()

    @contextmanager
    def opened(_settings: Settings, _company: Company, allowed: AbstractSet[str]) -> Iterator[Silent]:
        assert "document:1" in allowed
        yield finder

    monkeypatch.setattr(grading, "open_workflow", opened)
    assert run("grading", "--json") == 0
    totals = json.loads(capsys.readouterr().out)["totals"]
    assert [(row["kind"], row["right"], row["questions"]) for row in totals] == [
        ("easy", 0, 3), ("regular", 0, 4), ("hard", 0, 3), ("unanswerable", 2, 2), (None, 2, 12),
    ]  # fmt: skip
    assert {tokens for _, tokens in finder.asked} == {20_000}


def test_grading_needs_a_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: the questions are about a company's documents."""
    monkeypatch.chdir(tmp_path)
    assert run("grading") == 2
    assert "--config" in capsys.readouterr().err


def test_search_without_sources_says_what_to_set(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rule: the web is off by default, and this asks nothing."""
    (workspace / "search.jsonl").write_text('{"question": "a", "answer": "b"}', "utf-8")
    assert run("web_search", "--data", ".") == 2
    assert "search.sources names no source" in capsys.readouterr().err
