"""`support-agent facts train`: one run of the real program, what it writes and what it prints."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support_agent.cli import main as cli
from support_agent.cli.printing import trained_policy
from support_agent.company.company import Company
from support_agent.config.loading import load
from support_agent.config.settings import Settings
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.facts.inquiry.policy import InquiryLimits
from support_agent.facts.inquiry.workflow import Workflow
from support_agent.facts.learning.comparison import TrainedPolicy
from support_agent.facts.learning.configured_policy import policy_for
from support_agent.facts.learning.policy_weights import load as load_weights
from support_agent.facts.learning.recorded import read_cases
from support_agent.facts.learning.training import EscalatedCase, ReviewOutcome, trained
from support_agent.planner.segments import Read
from tests.fakes_journey import WordSearch
from tests.labelled import MAILS
from tests.recorded_cases import made_cases
from tests.unit.desk.test_human_feedback import OPEN
from tests.unit.facts.learning.test_configured_policy import SureJudge
from tests.unit.facts.learning.test_recording import Model, workflow

POLICIES = ["trained", "always", "self-ask", "never", "random"]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new workspace, with cases to learn from and others to report."""
    folder = tmp_path / "here"
    init(folder, date(2026, 3, 14))
    monkeypatch.chdir(folder)
    for name, cases in (("learned", made_cases(6)), ("reported", made_cases(4, first=6))):
        (folder / f"{name}.jsonl").write_text("".join(f"{case.model_dump_json()}\n" for case in cases), "utf-8")
    return folder


def run(*arguments: str, command: str = "train") -> int:
    with pytest.raises(SystemExit) as exit_:
        cli.main(["facts", command, *arguments])
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


CASES = ("learned.jsonl", "--reported", "reported.jsonl")


def test_what_is_printed_switches_the_policy_on(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rule: the last lines are the configuration, to be copied as they are."""
    assert run(*CASES, "--episodes", "8", "--seed", "3") == 0
    said = capsys.readouterr().out
    assert said.startswith("trained on 8 plays of 6 recorded cases and 0 escalated cases, seed 3; on 4 other cases")
    rows = [line.split() for line in said.splitlines()]
    assert [row[0] for row in rows[2:8]] == ["POLICY", *POLICIES]
    section = said.partition("in support-agent.toml:\n")[2]
    assert set(tomllib.loads(section)["facts"]) == {"policy", "policy_file"}
    config = workspace / CONFIG_FILE
    config.write_text(re.sub(r"^\[facts\].*$", lambda _: section, config.read_text(), flags=re.MULTILINE))
    (file,) = workspace.glob("policy-*.json")
    assert policy_for(load(config).facts)(SureJudge(), InquiryLimits()).name == load_weights(file).name


def test_a_script_gets_the_numbers_and_the_file(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*CASES, "--episodes", "8", "--out", "weights", "--json") == 0
    trained = TrainedPolicy.model_validate(json.loads(capsys.readouterr().out))
    assert trained.policy_file.parent == workspace / "weights"
    assert load_weights(trained.policy_file).episodes == 8
    assert [each.policy for each in trained.measured] == POLICIES
    assert f'policy_file = "weights/{trained.policy_file.name}"' in trained_policy(trained, workspace)
    assert f'policy_file = "{trained.policy_file}"' in trained_policy(trained, workspace / "elsewhere")


def test_what_people_did_is_learned_from(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: the same seed with and without them gives other weights, and the file says how many there were."""
    cases = (EscalatedCase(memory=OPEN, outcome=ReviewOutcome.WROTE),) * 2
    monkeypatch.setattr(
        "support_agent.desk.human_feedback.escalated_cases", lambda _store, documents: cases if documents else ()
    )
    assert run(*CASES, "--episodes", "0") == 0
    assert "and 2 escalated cases" in capsys.readouterr().out
    (file,) = workspace.glob("policy-*.json")
    assert load_weights(file).people == 2
    alone = list(trained(made_cases(6), 0, 1))[-1]
    assert load_weights(file).values != alone.values


def test_the_learning_curve_is_drawn(workspace: Path) -> None:
    """Rule: a point for what training began with, for each batch, and for its end; dashed what the rule gets."""
    assert run(*CASES, "--episodes", "160", "--picture", "curve.svg") == 0
    curve, rule = sorted(
        ElementTree.parse(workspace / "curve.svg").iter("{http://www.w3.org/2000/svg}polyline"),
        key=lambda line: -len(line.attrib["points"]),
    )
    assert len(curve.attrib["points"].split()) == 4
    assert rule.get("class") == "guide"


def test_nothing_is_reported_on_what_was_learned(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("learned.jsonl", "--reported", "learned.jsonl") == 2
    assert "learned from and reported" in capsys.readouterr().err


def test_labelled_mails_are_recorded(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: with the settings of a mail, which writes no drafts, and as many cases as were asked for."""

    @contextmanager
    def opened(
        _settings: Settings, _company: Company, _allowed: AbstractSet[str], *, drafts: bool
    ) -> Iterator[tuple[Workflow, Read]]:
        flow = workflow(Model(), drafts=drafts)
        yield flow, WordSearch().read

    monkeypatch.setattr("support_agent.facts.opening.open_recording", opened)
    assert run(str(MAILS / "tuning"), "--out", "cases.jsonl", "--cases", "3", command="record") == 0
    cases = read_cases(workspace / "cases.jsonl")
    assert len(cases) == 3
    assert {case.limits for case in cases} == {InquiryLimits(retrievals=2, drafts=0)}
