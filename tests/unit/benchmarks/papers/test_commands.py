"""The commands of the papers' benchmarks: what they hand on, print and exit with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pytest

from support_agent.company.company import Company
from support_agent.config.facts import FactSettings
from support_agent.config.settings import Settings
from support_agent.demo.workspace import init
from support_agent.facts.spending import Budget
from support_agent.tools.fact_room import FindingReason, RetrievalResult
from tests.benchmarks.papers import command, enhancer, entailment, evidence, grading, wikiqa
from tests.benchmarks.papers.dstc11 import __main__ as dstc11
from tests.benchmarks.papers.dstc11.ablations import WITHOUT, title_of
from tests.benchmarks.papers.dstc11.mail_path import Mode
from tests.benchmarks.papers.process_table import Way
from tests.fakes_facts import ScriptedWriter
from tests.unit.benchmarks.papers.indexes import open_search
from tests.unit.benchmarks.papers.small_dstc11 import write_benchmark
from tests.unit.benchmarks.papers.test_wikiqa import HEAD, ROWS
from tests.unit.facts.graph.fakes import WordJudge
from tests.unit.facts.words import WordEmbedder

COMMANDS: dict[str, Callable[..., None]] = {
    "wikiqa": wikiqa.main,
    "dstc11": dstc11.main,
    "entailment": entailment.main,
    "evidence": evidence.main,
    "grading": grading.main,
    "enhancer": enhancer.main,
}


class Silent:
    """Stands in for the workflow: it answers nothing."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    def find(self, question: str, budget: Budget) -> RetrievalResult:
        self.asked.append((question, budget.max_tokens))
        return RetrievalResult(reason=FindingReason.IRRELEVANT, index_version="v")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    init(tmp_path / "here", date(2026, 3, 14))
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model: texts are near when they share words."""
    for module in (wikiqa, dstc11, entailment, evidence, enhancer):
        monkeypatch.setattr(module, "open_embedder", lambda _settings: WordEmbedder())
    monkeypatch.setattr(dstc11, "open_topic_search", lambda _settings, **_options: open_search())


def run(name: str, *arguments: str) -> int:
    """The exit code."""
    with pytest.raises(SystemExit) as exit_:
        command.run(COMMANDS[name], name, arguments)
    return int(exit_.value.code or 0)


@pytest.mark.parametrize("benchmark", ["wikiqa", "dstc11", "enhancer"])
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


def test_dstc11_parts_of_the_rooms_search_are_switched_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rule: on request, below what a mail would get, on as many turns."""
    data = str(write_benchmark(tmp_path / "small"))
    assert run("dstc11", "--data", data, "--ablations", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    names = [row["name"] for row in found["by_mail"]]
    assert names[len(Mode) :] == list(map(title_of, WITHOUT))
    assert found["report"]["turns"] == 6


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
    rows = json.loads(capsys.readouterr().out)["everything"]["rows"]
    names = ["Nearest by words", "Nearest by meaning", "No graph", "Graph"]
    assert [(row["name"], row["f1"]) for row in rows] == [(name, 1.0) for name in names]


def test_evidence_constructs_its_cases_and_asks_the_model_about_a_sample(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: as many cases as are asked for; rows without the model on all, every row on the sample."""

    @contextmanager
    def opened(_settings: Settings) -> Iterator[tuple[WordJudge, ScriptedWriter]]:
        yield WordJudge("the"), ScriptedWriter(["1, 2", ""] * 4)

    monkeypatch.setattr(evidence, "open_both", opened)
    assert run("evidence", "--cases", "12", "--by-model", "--sample", "4", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    everything, sample = report["everything"], report["sample"]
    assert (everything["cases"], len(everything["rows"])) == (12, 4)
    assert (sample["cases"], len(sample["rows"])) == (4, 8)
    assert run("evidence", "--cases", "12", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"everything": everything, "sample": None}


def test_entailment_is_measured_on_the_companies_that_are_reported(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: so many claims; the numbers of the configuration, unless the fitting companies are asked for."""

    @contextmanager
    def opened(_settings: Settings) -> Iterator[WordJudge]:
        yield WordJudge("the")

    monkeypatch.setattr(entailment, "open_judge", opened)
    assert run("entailment", "--claims", "4") == 0
    told = capsys.readouterr().out
    assert told.startswith("Entailment, reported companies: 4 claims")
    assert "as configured" in told
    assert "slope 2.17, intercept -0.948" in told
    assert run("entailment", "--claims", "4", "--slope", "0.5", "--intercept", "-2") == 0
    assert "slope 0.5, intercept -2.0" in capsys.readouterr().out
    assert run("entailment", "--part", "fitting", "--claims", "4") == 0
    assert "as fitted here" in capsys.readouterr().out


@pytest.mark.parametrize(("company", "companies"), [("demo", 1), ("all", 6)])
def test_grading_asks_each_companys_questions_with_chunks_of_the_size_and_the_local_web(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], company: str, companies: int
) -> None:
    """Rule: each with a mail's budget of its own; where nothing answers only the unanswerable ones end right."""
    finder = Silent()
    seen: list[FactSettings] = []

    @contextmanager
    def opened(settings: Settings, _company: Company) -> Iterator[dict[Way, Callable[[str, Budget], RetrievalResult]]]:
        assert all(url.startswith("http://127.0.0.1") for url in (settings.search.serper_url, settings.search.site_url))
        seen.append(settings.facts)
        yield {Way.WHOLE: finder.find}

    monkeypatch.setattr(grading, "open_ways", opened)
    assert run("grading", "--company", company, "--chunk-tokens", "512", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert [(row["kind"], row["right"], row["questions"]) for row in report["totals"]] == [
        ("easy", 0, 3 * companies), ("regular", 0, 4 * companies), ("hard", 0, 3 * companies),
        ("unanswerable", 2 * companies, 2 * companies), (None, 2 * companies, 12 * companies),
    ]  # fmt: skip
    assert {tokens for _, tokens in finder.asked} == {20_000}
    assert {(one.chunk_unit, one.chunk_size, one.chunk_overlap) for one in seen} == {("tokens", 512, 64)}
    assert len(seen) == companies


def test_grading_names_the_companies_that_it_knows(capsys: pytest.CaptureFixture[str]) -> None:
    """Rule: exit 2, one line."""
    assert run("grading", "--company", "bakery") == 2
    assert "write one of demo, shop, utility, office, rail, insurer, or all" in capsys.readouterr().err


def test_search_without_sources_says_what_to_set(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rule: the web is off by default, and this asks nothing."""
    (workspace / "search.jsonl").write_text('{"question": "a", "answer": "b"}', "utf-8")
    assert run("enhancer", "--set", "own", "--data", ".", "--live") == 2
    assert "search.sources names no source" in capsys.readouterr().err
