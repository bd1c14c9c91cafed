"""`support-agent policies suggest-questions`: the file it writes, what it prints and exits with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pytest
import yaml

from support_agent.cli import main as cli
from support_agent.company.company import Company
from support_agent.config.settings import Settings
from support_agent.demo.workspace import init
from support_agent.tools.base import Match
from tests.fakes_facts import ScriptedWriter
from tests.unit.tools.fakes import FakeSearch

NEAR = FakeSearch([Match(topic="document:3", score=0.9)])


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    init(tmp_path / "here", date(2026, 3, 14))
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def run(monkeypatch: pytest.MonkeyPatch, texts: list[str], *arguments: str) -> int:
    @contextmanager
    def opened(_settings: Settings, _company: Company) -> Iterator[tuple[FakeSearch, ScriptedWriter]]:
        yield NEAR, ScriptedWriter(texts)

    monkeypatch.setattr("support_agent.facts.opening.open_suggester", opened)
    with pytest.raises(SystemExit) as exit_:
        cli.main(["policies", "suggest-questions", *arguments])
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def test_a_person_is_told_where_they_are_and_no_document_changes(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in workspace.rglob("policies/**/*") if path.is_file()}
    assert run(monkeypatch, ["Will it run on ReactOS?\nOh."], "--document", "3", "--count", "1") == 0
    assert capsys.readouterr().out.splitlines() == [
        "suggested-questions.yaml: proposed by scripted, not used until a person has copied it",
        "document 3 (Installation on Windows): 1 question proposed, 0 left out",
        "read them, copy what is good into `questions:` of the documents, and run `support-agent check`",
    ]
    written = (workspace / "suggested-questions.yaml").read_text("utf-8")
    assert yaml.safe_load(written) == {"questions": ["Will it run on ReactOS?"]}
    assert {path: path.read_bytes() for path in workspace.rglob("policies/**/*") if path.is_file()} == before


def test_a_person_sees_how_far_it_is(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model writes for minutes."""
    seen: list[tuple[str, int]] = []

    def counted(items: Sequence[object], what: str, total: int) -> Sequence[object]:
        seen.append((what, total))
        return items

    monkeypatch.setattr("support_agent.cli.policies.with_progress", counted)
    assert run(monkeypatch, ["Will it run on ReactOS?"], "--document", "3", "--count", "1") == 0
    assert seen == [("documents", 1)]


def test_without_any_proposal_it_exits_with_1_and_a_script_is_told_why(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, ["Oh.", ""], "--document", "3", "--count", "2", "--out", "x.yaml", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["file"] == "x.yaml"
    assert told["documents"][0]["left_out"] == [{"text": "Oh.", "why": "not a question"}]


def test_the_model_is_not_asked_where_the_file_may_not_be_written(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, [], "--document", "3", "--out", "policies/003-more.md") == 2
    assert "among the documents" in capsys.readouterr().err
