"""`support-agent eval`: what it hands on, prints and exits with; what is measured is checked in tests/unit/evals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

from support_agent import cli
from support_agent.company.company import Company
from support_agent.eval_commands import Benchmark
from support_agent.eval_parts import KeptEmbedder
from support_agent.facts.index import Index, memory_client
from support_agent.facts.search import CompanySearch
from support_agent.facts.spending import Budget
from support_agent.facts.trace import Findings, Outcome
from support_agent.settings import Settings
from support_agent.tools.fact_room import FindingReason
from support_agent.workspace import init
from tests.fakes_journey import Office, write
from tests.unit.evals.small_dstc11 import write_benchmark
from tests.unit.evals.test_wikiqa import HEAD, ROWS
from tests.unit.facts.test_search import WordEmbedder as SearchEmbedder
from tests.unit.facts.words import WordEmbedder


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
    monkeypatch.setattr("support_agent.app.open_embedder", lambda _settings: WordEmbedder())


def run(*arguments: str) -> int:
    """The exit code."""
    try:
        cli.main(["eval", *arguments])
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 0
    return 0


def test_the_help_names_every_benchmark_and_its_files() -> None:
    """Rule: what to write into a file can be read where it is needed."""
    told = CliRunner().invoke(cli.app, ["eval", "--help"]).stdout
    for word in (
        *Benchmark,
        "WikiQA-test.tsv",
        "evidence.jsonl",
        "process.toml",
        "search.jsonl",
        "--sample",
        "--data",
        "labels.jsonl",
    ):
        assert word in told


@pytest.mark.parametrize("benchmark", ["wikiqa", "dstc11", "evidence", "search"])
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
    """Rule: no turn is sampled unless it is asked for; the seed is handed on."""
    assert run("dstc11", "--data", str(write_benchmark(tmp_path / "small")), "--seed", "3", "--json") == 0
    measured = json.loads(capsys.readouterr().out)
    assert (measured["parts"], measured["report"]["turns"], measured["report"]["seed"]) == (None, 6, 3)


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

    monkeypatch.setattr("support_agent.app.open_workflow", opened)
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
    assert run("search", "--data", ".") == 2
    assert "search.sources names no source" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("wikiqa", "--sample", "3"),
        ("dstc11", "--by-model"),
        ("grading", "--train", "x"),
        ("search", "--picture", "x.svg"),
        ("wikiqa", "--model-votes", "never"),
    ],
)
def test_an_option_of_another_benchmark_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    """Rule: what would change nothing is not taken in silence."""
    assert run(*arguments, "--data", str(tmp_path)) == 2
    assert f"{arguments[1]}: no option of {arguments[0]}: leave it out" in capsys.readouterr().err


def lines(folder: Path, name: str, *pairs: tuple[str, str]) -> str:
    path = folder / name
    path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in pairs), "utf-8")
    return str(path)


def test_intents_are_measured_without_a_configuration_and_a_language_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: the training lines are the examples, every line of --oos is for a person, and never asks nobody."""
    embedder = SearchEmbedder()

    def opened(_settings: Settings, *, in_memory: bool, name: str) -> CompanySearch:
        return CompanySearch({"minilm": embedder}, {"minilm": Index(memory_client(), embedder, name=name)})

    monkeypatch.setattr("support_agent.eval_parts.open_topic_search", opened)
    monkeypatch.setattr("support_agent.eval_parts.open_model", lambda *_: pytest.fail("a model was loaded"))
    monkeypatch.chdir(tmp_path)
    train = lines(tmp_path, "train", ("my refund", "money"), ("a password", "access"))
    test = lines(tmp_path, "test", ("a refund", "money"), ("lost password", "access"), ("cat", "oos"))
    outside = lines(tmp_path, "oos", ("another cat", "anything"))
    files = ("--train", train, "--test", test, "--oos", outside)
    assert run("intents", *files, "--model-votes", "never", "--picture", "seen.svg", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["lines"], report["in_scope"], report["accuracy"]) == (4, 2, 1.0)
    assert sum(step["lines"] for step in report["steps"]) == 4
    assert (report["forward_passes"], report["steps"][2]["lines"]) == (0.0, 0)
    assert (tmp_path / "seen.svg").is_file()


def test_intents_need_both_files_and_a_label(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = lines(tmp_path, "empty", ("nothing answers", "oos"))
    assert run("intents", "--train", empty) == 2
    assert "--test FILE" in capsys.readouterr().err
    assert run("intents", "--train", empty, "--test", empty) == 2
    assert "no line with a label" in capsys.readouterr().err


def test_mails_are_decided_by_the_products_own_decider_on_their_day(
    office: Office, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: as `try` decides them; the level and the customer are those of the label."""
    monkeypatch.setattr("support_agent.eval_parts.open_decider", lambda *_args, **_more: office.decider)
    mails = workspace / "mails"
    mails.mkdir()
    for name, text in (("1", "Can I get a refund?"), ("2", "Do you have a table for four on Saturday?")):
        (mails / f"{name}.eml").write_bytes(write(text))
    rows = [
        {"file": "1.eml", "level": 2, "kind": "document", "expected": [["send_document(1)"]]},
        {"file": "2.eml", "level": 2, "kind": "uncovered", "expected": [["escalate"]]},
    ]
    (mails / "labels.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert run("mails", "mails", "--json", "--picture", "seen.svg") == 0
    whole = json.loads(capsys.readouterr().out)["all"]
    assert (whole["mails"], whole["answered"], whole["wrong"], whole["answerable_answered"]) == (2, 1, 0, 1)
    assert run("mails", "--data", "mails") == 0
    told = capsys.readouterr().out
    assert "right  1.eml en document: send_document(1)" in told
    assert "kind uncovered: 1 mails, 0 answered" in told
    assert run("mails", "mails", "--data", "mails") == 2
    assert run("mails") == 2


def test_no_text_is_embedded_twice() -> None:
    """Rule: the order of the texts is kept, of none there is nothing."""
    words = WordEmbedder()
    kept = KeptEmbedder(words)
    first = kept.embed(["a", "b", "a"])
    assert words.embedded == ["a", "b"]
    texts: Sequence[str] = ["b", "c"]
    second = kept.embed(texts)
    assert words.embedded == ["a", "b", "c"]
    assert (first[0] == first[2]).all()
    assert (first[1] == second[0]).all()
    assert kept.embed([]).shape == (0, first.shape[1])
