"""`backtest`, `what-if`, `coverage`: what they print and refuse; what they find is checked in tests/unit/ops."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from support_agent.cli import main as cli
from support_agent.demo.workspace import init
from support_agent.facts.index import Index, memory_client
from support_agent.facts.search import CompanySearch
from support_agent.planner.combiner import Calibration
from support_agent.planner.loop import Planner
from support_agent.store.records import OutgoingKind
from support_agent.workflow.decide import Decider
from tests.fakes import PLAIN
from tests.fakes_journey import ANNA, DESK, JAMES, STRANGER, Office, SureModel, write
from tests.made_mailbox import write_mbox
from tests.unit.facts.test_search import WordEmbedder
from tests.unit.ops.backtest.made import OWN, raw

REFUND, NOTHING = "Can I get a refund?", "Do you have a table for four on Saturday?"
SAID = "Hello Anna,\n\nA yearly plan can be refunded in full within 30 days of the first payment.\n\nRegards"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, office: Office) -> Path:
    """A workspace of the demo company, with fakes for the models; `planner.threshold_answer` decides as it should."""
    init(tmp_path / "here", date(2026, 3, 14))
    monkeypatch.chdir(tmp_path / "here")
    embedder = WordEmbedder()
    search = CompanySearch({"minilm": embedder}, {"minilm": Index(memory_client(), embedder, name="backtest")})

    def decider(settings: Any, *_: object, **more: Any) -> Decider:
        least = settings.planner.threshold_answer
        strict = Calibration(thresholds={"document": least})
        planner = Planner(SureModel(), office.settings.planner, lambda: 0.0, combiner=PLAIN, calibration=strict)
        company, templates = more["company"], more["templates"]
        changed = {"company": company, "templates": templates, "planner": planner, "settings": settings}
        return replace(office.decider, **changed)

    monkeypatch.setattr("support_agent.app.dry_runs.open_search", lambda *_, **__: search)
    monkeypatch.setattr("support_agent.app.dry_runs.open_decider", decider)
    return tmp_path / "here"


def run(*arguments: str) -> int:
    """The exit code."""
    try:
        cli.main(arguments)
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 0
    return 0


def archive(folder: Path) -> str:
    answer = raw(3, SAID, sender=OWN, to=ANNA, subject="Re: A question", hours=4, parent=1)
    stranger = raw(2, NOTHING, sender="x@example.net", hours=1)
    return str(write_mbox(folder / "archive.mbox", [raw(1, REFUND), stranger, answer]))


def test_the_report_comes_as_text_as_json_and_as_a_page(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mails = archive(workspace)
    assert run("backtest", mails, "--html", "report.html", "--json") == 0
    out = capsys.readouterr()
    report = json.loads(out.out)
    assert (report["questions"], report["answered"], report["people_answered"]) == (2, 1, 1)
    assert "2 of 2 mails" in out.err
    assert "Of 2 questions 1 (50 %)" in (workspace / "report.html").read_text("utf-8")
    assert run("backtest", mails) == 0
    text = capsys.readouterr().out
    assert "holds your customers' words" in text
    assert "Of 2 questions 1 (50 %)" in text
    assert "assumed: A person needs 5 minutes" in text


def test_the_results_are_kept_beside_the_configuration_or_in_the_folder_that_is_named(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mails = archive(tmp_path)
    assert run("backtest", mails) == run("backtest", mails, "--work", str(tmp_path / "other")) == 0
    kept, other = ([*folder.iterdir()] for folder in (workspace / "backtest-work", tmp_path / "other"))
    assert [path.name for path in kept] == [path.name for path in other]
    assert len(kept[0].read_text("utf-8").splitlines()) == 2


def test_what_if_shows_both_answers_side_by_side(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rule: only what changes is listed."""
    mails = archive(workspace)
    assert run("what-if", mails, "--thresholds", "answer=1.0") == 0
    text = capsys.readouterr().out
    assert "1 of 2 mails change: 0 newly answered, 1 no longer answered" in text
    (line,) = (line for line in text.splitlines() if "answered with document:1" in line)
    assert "| escalate: unsure" in line
    templates = workspace / "other"
    (workspace / "templates").rename(templates)
    (workspace / "templates").symlink_to(templates)
    assert run("what-if", mails, "--templates", str(templates), "--json") == 0
    assert json.loads(capsys.readouterr().out)["changed"] == []


def test_what_if_without_files_takes_the_mails_that_the_agent_received(
    workspace: Path, office: Office, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: with the level that they prove, and with the answers that people gave through the desk."""
    assert run("what-if", "--thresholds", "answer=1.0") == 2
    assert "there is no store" in capsys.readouterr().err
    monkeypatch.setenv("SUPPORT_AGENT__STORE__URL", f"sqlite:///{workspace.parent / 'store.sqlite3'}")
    office.handle(write(REFUND))
    office.handle(write(REFUND, sender=STRANGER, proof=None))
    asked, _ = office.handle(write("Can I get a refund? Let me talk to a human.", sender=JAMES))
    packet = office.sent(asked)[OutgoingKind.PACKET].message_id
    office.handle(write(SAID, sender=DESK, in_reply_to=packet, number=2))
    assert run("what-if", "--thresholds", "answer=1.0", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["mails"], found["newly_answered"], found["no_longer_answered"]) == (3, 0, 1)
    kept = [line for path in (workspace / "backtest-work").iterdir() for line in path.read_text("utf-8").splitlines()]
    assert sum(json.loads(line)["is_answered"] for line in kept) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("what-if", "x.mbox"), "--policies DIR"),
        (("what-if", "x.mbox", "--thresholds", "answer=2"), "answer=0.7"),
        (("backtest", "missing.mbox"), "missing.mbox: no such file"),
        (("backtest", "x.mbox", "--html", "report.txt"), ".html"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_work(
    workspace: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    assert run(*arguments) == 2
    assert said in capsys.readouterr().err


def test_coverage_prints_the_last_weeks(
    workspace: Path, office: Office, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SUPPORT_AGENT__STORE__URL", str(office.store.database.url))
    assert run("coverage", "--weeks", "2", "--json") == 0
    assert json.loads(capsys.readouterr().out)["weeks"] == 2
    assert run("coverage") == 0
    assert "no answer of a person is known yet" in capsys.readouterr().out
