"""`support-agent facts find`: what it hands on, prints and exits with; what it finds out is checked elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pytest

from support_agent.cli import main as cli
from support_agent.company.company import Company
from support_agent.config.facts import EntailmentBy, EvidenceSettings, GradingSettings
from support_agent.config.settings import Settings
from support_agent.demo.workspace import init
from support_agent.facts.chunks import document_source
from support_agent.facts.grading_words import DOCUMENT_ASK, HALLUCINATION_ASK
from support_agent.facts.graph.extraction import RuleExtractor
from support_agent.facts.graph.graph import graph_of
from support_agent.facts.graph.open_evidence import Chaining
from support_agent.facts.graph.shown import EntityGraph
from support_agent.facts.inquiry.workflow import Workflow
from support_agent.facts.spending import Budget
from support_agent.tools.fact_room import FindingReason, RetrievalResult
from support_agent.tools.fact_trace import Evidence
from tests.fakes_facts import Piece, ScriptedJudge, ScriptedRetriever, ScriptedWriter
from tests.unit.facts.graph.fakes import WordSimilarity

QUESTION = "Can I get a refund?"


def scripted(company: Company) -> Workflow:
    """The workflow itself, on a model that drafts what document 1 says word for word, and rejects document 9."""
    sources = [document_source(document) for document in company.documents]
    refunds = next(source for source in sources if source.key == "document:1")
    draft = refunds.sentences[1].text
    found = [
        Piece(source="document:1", first=0, last=2, text=draft),
        Piece(source="document:9", first=0, last=0, text="Cards."),
    ]
    return Workflow(
        judge=ScriptedJudge({DOCUMENT_ASK: [0.9, 0.1], HALLUCINATION_ASK: [0.8]}),
        writer=ScriptedWriter([draft]),
        retriever=ScriptedRetriever([found]),
        web=None,
        settings=GradingSettings(drafts=True),
        clock=lambda: 0.0,
        chaining=Chaining(
            settings=EvidenceSettings(entailment=EntailmentBy.SIMILARITY),
            graph=graph_of(sources, RuleExtractor()),
            sources=sources,
            similarity=WordSimilarity(),
            seed=1,
        ),
    )


class Finder:
    """Stands in for the workflow: one answer, and what it was asked."""

    def __init__(self, reason: FindingReason, *, may_show: bool = False) -> None:
        self.reason = reason
        self.may_show = may_show
        self.asked: list[tuple[str, int]] = []
        self.allowed: set[str] = set()

    def find(self, question: str, budget: Budget) -> RetrievalResult:
        self.asked.append((question, budget.max_tokens))
        evidence = (Evidence(source="document:1", first=0, last=0, grade=0.9),)
        return RetrievalResult(reason=self.reason, evidence=evidence, index_version="v")

    def entity_graph(self, found: RetrievalResult) -> EntityGraph:
        assert self.may_show, "it is built for the page alone"
        return EntityGraph()


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    init(tmp_path / "here", date(2026, 3, 14))
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def run(monkeypatch: pytest.MonkeyPatch, finder: Finder | None, *arguments: str) -> int:
    """The exit code of the command, with a finder, or with None on the scripted workflow."""

    @contextmanager
    def opened(_settings: Settings, company: Company, allowed: AbstractSet[str]) -> Iterator[Finder | Workflow]:
        if finder is not None:
            finder.allowed = set(allowed)
        yield finder or scripted(company)

    monkeypatch.setattr("support_agent.facts.opening.open_workflow", opened)
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
    told = (story["text"], story["result"]["reason"], story["evidence"][0]["number"])
    assert told == (QUESTION, FindingReason.ANSWERED, 1)
    assert (finder.asked, "document:1" in finder.allowed) == ([(QUESTION, 20_000)], True)


def test_page_has_the_evidence_the_steps_and_what_was_rejected(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: all of it in a new file, beside the text and the JSON as they are without it."""
    assert run(monkeypatch, None, "--json") == 0
    story = json.loads(capsys.readouterr().out)
    assert run(monkeypatch, None, "--json", "--html", "page.html") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == story
    assert "page.html: written" in captured.err
    page = (workspace / "page.html").read_text(encoding="utf-8")
    said = story["evidence"][0]["sentences"][0]["text"]
    assert f'<mark class="strong">{said}</mark>' in page
    assert re.search(rf'<div class="model">\s*<p class="label">[^<]*</p>\s*<p dir="auto">{re.escape(said)}</p>', page)
    assert '<g class="hop0">' in page
    assert re.search(r"0\.10\s*<strong>rejected</strong>", page)


def test_page_is_written_of_a_question_that_no_document_answers(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: staff wants to see why not most of all; the exit code stays 1."""
    assert run(monkeypatch, Finder(FindingReason.IRRELEVANT, may_show=True), "--html", "page.html") == 1
    assert "Not answered: irrelevant" in (workspace / "page.html").read_text(encoding="utf-8")


def test_page_that_cannot_be_written_is_refused_before_the_model_is_asked(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: nothing is overwritten, and nobody waits a minute to hear it."""
    (workspace / "page.html").write_text("mine", encoding="utf-8")
    finder = Finder(FindingReason.ANSWERED)
    assert run(monkeypatch, finder, "--html", "page.html") == 2
    assert "page.html: exists" in capsys.readouterr().err
    assert (finder.asked, (workspace / "page.html").read_text(encoding="utf-8")) == ([], "mine")
