"""`support-agent eval`: what it hands on, prints and exits with; what is measured is checked in tests/unit/evals."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

from support_agent.cli import main as cli
from support_agent.cli.eval import Benchmark
from support_agent.config.settings import Settings
from support_agent.demo.workspace import init
from support_agent.facts.index import Index, memory_client
from support_agent.facts.search import CompanySearch
from tests.fakes_journey import Office, write
from tests.unit.facts.test_search import WordEmbedder as SearchEmbedder


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    init(tmp_path / "here", date(2026, 3, 14))
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


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
        "--data",
        "labels.jsonl",
    ):
        assert word in told


@pytest.mark.parametrize(
    "arguments",
    [
        ("mails", "--train", "x"),
        ("mails", "--oos", "x"),
        ("intents", "--data", "x"),
    ],
)
def test_an_option_of_another_benchmark_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    """Rule: what would change nothing is not taken in silence."""
    assert run(*arguments) == 2
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

    monkeypatch.setattr("support_agent.ops.evals.opening.open_topic_search", opened)
    monkeypatch.setattr("support_agent.ops.evals.opening.open_model", lambda *_: pytest.fail("a model was loaded"))
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


def test_questions_that_are_examples_too_are_counted_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Failure: they raised the result, and nothing said so. Spaces and capitals do not make another question."""
    embedder = SearchEmbedder()
    search = CompanySearch({"minilm": embedder}, {"minilm": Index(memory_client(), embedder, name="examples-in-test")})
    monkeypatch.setattr("support_agent.ops.evals.opening.open_topic_search", lambda *_, **__: search)
    monkeypatch.chdir(tmp_path)
    train = lines(tmp_path, "train", ("my refund", "money"), ("a password", "access"), ("the cat", "access"))
    test = lines(tmp_path, "test", ("My  refund", "money"), ("lost password", "access"))
    outside = lines(tmp_path, "oos", ("the cat", "anything"))
    files = ("--train", train, "--test", test, "--model-votes", "never")
    assert run("intents", *files, "--oos", outside, "--json") == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["in_train"] == 2
    assert "2 of 3 questions are examples of --train, too, which makes the result better than it is" in told.err
    assert run("intents", *files[:2], "--test", lines(tmp_path, "other", ("a refund", "money")), *files[4:]) == 0
    assert capsys.readouterr().err == ""


def test_intents_need_both_files_and_a_label(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = lines(tmp_path, "empty", ("nothing answers", "oos"))
    assert run("intents", "--train", empty) == 2
    assert "--test FILE" in capsys.readouterr().err
    assert run("intents", "--train", empty, "--test", empty) == 2
    assert "every line has the label 'oos'" in capsys.readouterr().err


def test_a_label_without_an_example_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Failure: a misspelt label counted as a question in scope that the choice got wrong."""
    train, test = lines(tmp_path, "train", ("my refund", "money")), lines(tmp_path, "test", ("a refund", "mony"))
    assert run("intents", "--train", train, "--test", test) == 2
    assert "has the label 'mony': correct it, add examples of it, or write 'oos'" in capsys.readouterr().err


def test_mails_are_decided_by_the_products_own_decider_on_their_day(
    office: Office, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: as `try` decides them; the level and the customer are those of the label."""
    monkeypatch.setattr("support_agent.app.dry_runs.open_decider", lambda *_args, **_more: office.decider)
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
