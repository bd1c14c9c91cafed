"""`support-agent facts train`: one run of the real program, what it writes and what it prints."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import date
from pathlib import Path

import pytest

from support_agent import cli
from support_agent.configuration import load
from support_agent.facts.inquiry.policy import Limits
from support_agent.facts.learning import comparison, training
from support_agent.facts.learning.comparison import TrainedPolicy
from support_agent.facts.learning.configured_policy import policy_for
from support_agent.facts.learning.policy_weights import PolicyWeights
from support_agent.facts.learning.policy_weights import load as load_weights
from support_agent.facts.learning.simulator import Measured
from support_agent.facts.learning.training import Course, Deed, EscalatedCase
from support_agent.policy_printing import trained_policy
from support_agent.workspace import CONFIG_FILE, init
from tests.unit.facts.learning.test_configured_policy import SureJudge
from tests.unit.test_deeds import OPEN

SMALL = Course(imitated=5, imitation_steps=5, batch=2)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new workspace, where training takes a moment."""
    folder = tmp_path / "here"
    init(folder, date(2026, 3, 14))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(training, "Course", lambda: SMALL)
    everybody = comparison.compared

    def few(weights: PolicyWeights) -> tuple[Measured, ...]:
        return everybody(weights, users=3)

    monkeypatch.setattr(comparison, "compared", few)
    return folder


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        cli.main(["facts", "train", *arguments])
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def test_what_is_printed_switches_the_policy_on(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rule: the last lines are the configuration, to be copied as they are."""
    assert run("--episodes", "8", "--seed", "3") == 0
    said = capsys.readouterr().out
    assert said.startswith("trained on 8 simulated cases and 0 escalated cases, seed 3; on ")
    rows = [line.split() for line in said.splitlines()]
    assert [row[0] for row in rows[2:7]] == ["POLICY", "trained", "never", "self-ask", "always"]
    section = said.partition("in support-agent.toml:\n")[2]
    assert set(tomllib.loads(section)["facts"]) == {"policy", "policy_file"}
    config = workspace / CONFIG_FILE
    config.write_text(re.sub(r"^\[facts\].*$", lambda _: section, config.read_text(), flags=re.MULTILINE))
    (file,) = workspace.glob("policy-*.json")
    assert policy_for(load(config).facts)(SureJudge(), Limits()).name == load_weights(file).name


def test_a_script_gets_the_numbers_and_the_file(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--episodes", "8", "--out", "weights", "--json") == 0
    trained = TrainedPolicy.model_validate(json.loads(capsys.readouterr().out))
    assert trained.policy_file.parent == workspace / "weights"
    assert load_weights(trained.policy_file).episodes == 8
    assert [each.policy for each in trained.measured] == ["trained", "never", "self-ask", "always"]
    assert f'policy_file = "weights/{trained.policy_file.name}"' in trained_policy(trained, workspace)
    assert f'policy_file = "{trained.policy_file}"' in trained_policy(trained, workspace / "elsewhere")


def test_what_people_did_is_learned_from(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rule: the same seed with and without them gives other weights, and the file says how many there were."""
    cases = (EscalatedCase(memory=OPEN, deed=Deed.WROTE),) * 2
    monkeypatch.setattr("support_agent.deeds.escalated_cases", lambda _store, documents: cases if documents else ())
    assert run("--episodes", "0") == 0
    assert "0 simulated cases and 2 escalated cases" in capsys.readouterr().out
    (file,) = workspace.glob("policy-*.json")
    alone = training.train(0, 1)
    assert load_weights(file).people == 2
    assert load_weights(file).values != alone.values
