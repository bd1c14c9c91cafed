"""`support-agent calibrate`: from the company's own questions to a file that the next start uses."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from pathlib import Path

import pytest

from support_agent.app.wiring import open_calibration
from support_agent.cli import main as cli
from support_agent.company.company import Company
from support_agent.config.loading import load
from support_agent.config.settings import Settings
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.facts.index import Index, memory_client
from support_agent.facts.search import CompanySearch
from support_agent.planner.calibration import read_calibration
from support_agent.planner.combiner import Calibration
from tests.fakes import PLAIN, ScriptedModel
from tests.unit.facts.test_search import WordEmbedder


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two documents of the demo company, no account data, and no model that is loaded."""
    folder = tmp_path / "here"
    init(folder, date(2026, 3, 14))
    for path in (folder / "policies").rglob("*"):
        if path.is_file() and not path.name.startswith(("001", "006")):
            path.unlink()
    (folder / "accounts.toml").write_text(_without_values(folder / "accounts.toml"), encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SUPPORT_AGENT__PLANNER__MODEL_VOTES", "never")
    monkeypatch.setattr("support_agent.ops.evals.opening.committed", lambda *_: PLAIN)

    def opened(_settings: Settings, *, in_memory: bool, name: str = "options") -> CompanySearch:
        assert in_memory
        embedder = WordEmbedder()
        return CompanySearch({"minilm": embedder}, {"minilm": Index(memory_client(), embedder, name=name)})

    monkeypatch.setattr("support_agent.ops.evals.opening.open_topic_search", opened)
    return folder


def _without_values(accounts: Path) -> str:
    """What stands before the first field: the database and the customers."""
    return accounts.read_text("utf-8").partition("[fields.")[0]


def run(*arguments: str) -> int:
    """The exit code."""
    try:
        cli.main(["calibrate", *arguments])
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 0
    return 0


def test_without_write_nothing_is_kept(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--risk", "0.05") == 0
    told = capsys.readouterr()
    assert "example questions, each left out" in told.out
    assert "not written: add --write" in told.err
    assert not (workspace / "calibration.json").exists()


def test_what_is_written_is_what_the_planner_works_with(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what it was computed from: how many questions, when, for which risk, and from which words."""
    assert run("--risk", "0.05", "--write", "--json", "--picture", "seen.svg") == 0
    told = json.loads(capsys.readouterr().out)
    kept = read_calibration(workspace / "calibration.json")
    assert kept is not None
    assert json.loads(kept.model_dump_json()) == told
    assert (kept.risk, kept.made_for.model_votes, kept.made_from.mails) == (0.05, "never", 0)
    assert kept.made_from.examples > 5
    assert (workspace / "seen.svg").read_text("utf-8").startswith("<svg")
    settings = load(workspace / CONFIG_FILE)
    company = Company.load(settings.company)
    used = open_calibration(settings, company)
    company.accounts.close()
    assert (used.version, used.sharpness) == (kept.version, kept.sharpness)
    doubtful = settings.model_copy(update={"planner": settings.planner.model_copy(update={"model_votes": "always"})})
    assert open_calibration(doubtful, company) == Calibration()


def test_a_person_sees_how_far_it_is(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failure: minutes of silence, without a sign that anything went on."""
    seen: dict[str, tuple[int, int]] = {}

    def counted(items: Iterable[object], what: str, total: int) -> Iterable[object]:
        found = list(items)
        seen[what] = (len(found), total)
        return found

    monkeypatch.setattr("support_agent.cli.calibrate.with_progress", counted)
    assert run() == 0
    assert [*seen] == [
        "questions without their example",
        "questions without their topic",
        "questions decided",
        "decided again",
    ]
    assert all(count <= total for count, total in seen.values())


def test_labelled_mails_add_their_questions(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mails = workspace / "mails"
    mails.mkdir()
    head = "From: a@example.org\r\nTo: support@harborfile.example\r\nMessage-ID: <1@example.org>\r\nSubject: Hi\r\n"
    (mails / "1.eml").write_bytes(f"{head}\r\nHow do I get a refund?\r\n".encode())
    row = {"file": "1.eml", "level": 2, "expected": [["send_document(1)"]]}
    (mails / "labels.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert run("--mails", "mails", "--json") == 0
    assert json.loads(capsys.readouterr().out)["made_from"]["mails"] == 1


def test_where_the_language_model_votes_it_is_asked(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPPORT_AGENT__PLANNER__MODEL_VOTES", "always")

    class Asked(ScriptedModel):
        closed = False

        def close(self) -> None:
            self.closed = True

    model = Asked([])
    monkeypatch.setattr("support_agent.ops.evals.opening.open_model", lambda *_: model)
    assert run() == 1  # the scripted model has no answer
    assert model.history
    assert model.closed


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(("--picture", "a.png"), "ends in .svg"), (("--mails", "nowhere"), "labels.jsonl")],
)
def test_wrong_files_are_usage_errors_before_anything_is_computed(
    workspace: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
) -> None:
    assert run(*arguments) == 2
    assert told in capsys.readouterr().err
