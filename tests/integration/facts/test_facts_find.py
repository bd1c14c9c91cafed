"""`support-agent facts find` with the embedded models, on the demo company's documents."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from support_agent.cli import main as cli
from support_agent.demo.workspace import init


@pytest.mark.model
def test_passages_of_the_right_document_are_graded_as_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: what is found is whole sentences of the company's documents, with a grade each and what it cost."""
    init(tmp_path / "here", date(2026, 3, 14))
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("SUPPORT_AGENT__GRADING__MAX_CYCLES", "0")
    monkeypatch.setenv("SUPPORT_AGENT__GRADING__DRAFT_TOKENS", "24")
    monkeypatch.setenv("SUPPORT_AGENT__GRADING__PASSAGES", "2")
    with pytest.raises(SystemExit):
        cli.main(["facts", "find", "How long does it take until refunded money is on my card?", "--json"])
    story = json.loads(capsys.readouterr().out)
    nodes = [visit["node"] for visit in story["result"]["trace"]]
    assert nodes[:3] == ["retriever", "document_grader", "draft_generator"]
    assert story["evidence"][0]["number"] == 1
    assert any(
        "Refunds to cards and PayPal take" in text["text"] for one in story["evidence"] for text in one["sentences"]
    )
    assert story["result"]["tokens"] > 0
