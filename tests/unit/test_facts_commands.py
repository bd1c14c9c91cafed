"""`support-agent facts find`: what it hands on, prints and exits with; what it finds out is checked elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pytest

from support_agent import cli
from support_agent.company.company import Company
from support_agent.facts.spending import Budget
from support_agent.facts.trace import Findings, GradedPointer, Outcome, Pointer
from support_agent.settings import Settings
from support_agent.tools.fact_room import FindingReason
from support_agent.workspace import init

QUESTION = "Can I get a refund?"


class Finder:
    """Stands in for the workflow: one answer, and what it was asked."""

    def __init__(self, reason: FindingReason) -> None:
        self.reason = reason
        self.asked: list[tuple[str, int]] = []
        self.allowed: set[str] = set()

    def find(self, question: str, budget: Budget) -> Findings:
        self.asked.append((question, budget.max_tokens))
        evidence = (GradedPointer(pointer=Pointer(source="document:1", first=0, last=0), grade=0.9),)
        return Findings(outcome=Outcome(reason=self.reason, evidence=evidence, index_version="v"), trace=())


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    init(tmp_path / "here", date(2026, 3, 14))
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def run(monkeypatch: pytest.MonkeyPatch, finder: Finder, *arguments: str) -> int:
    @contextmanager
    def opened(_settings: Settings, _company: Company, allowed: AbstractSet[str]) -> Iterator[Finder]:
        finder.allowed = set(allowed)
        yield finder

    monkeypatch.setattr("support_agent.app.open_workflow", opened)
    with pytest.raises(SystemExit) as exit_:
        cli.main(["facts", "find", QUESTION, *arguments])
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


@pytest.mark.parametrize(("reason", "code"), [(FindingReason.ANSWERED, 0), (FindingReason.IRRELEVANT, 1)])
def test_question_that_no_document_answers_is_exit_1(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, reason: FindingReason, code: int
) -> None:
    """A script can ask a hundred questions and list those that need a document."""
    assert run(monkeypatch, Finder(reason)) == code


def test_script_gets_the_whole_story(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    finder = Finder(FindingReason.ANSWERED)
    assert run(monkeypatch, finder, "--json") == 0
    story = json.loads(capsys.readouterr().out)
    assert (story["question"], story["is_answered"], story["evidence"][0]["document"]) == (QUESTION, True, 1)
    assert (finder.asked, "document:1" in finder.allowed) == ([(QUESTION, 20_000)], True)
