"""Weights in a file: read back as they were saved, or refused with what to do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from support_agent.errors import ConfigError
from support_agent.facts.inquiry.memory import begin
from support_agent.facts.inquiry.policy import ACTIONS, FEATURES, InquiryLimits
from support_agent.facts.learning.policy_weights import PolicyWeights, load, save, weights_of


@pytest.fixture
def weights() -> PolicyWeights:
    values = np.random.default_rng(1).normal(size=(len(ACTIONS), len(FEATURES)))
    return weights_of(values, limits=InquiryLimits(retrievals=2), episodes=10, seed=1, people=0)


def test_weights_read_back_as_they_were_saved(weights: PolicyWeights, tmp_path: Path) -> None:
    """Rule: the name is the checksum, and the policy decides the same before and after."""
    path = save(weights, tmp_path / "new")
    assert path.name == f"policy-{weights.name}.json"
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    read = load(path)
    assert read == weights
    memory = begin("case", "How much?")
    assert read.policy().probabilities(memory) == weights.policy().probabilities(memory)
    assert read.policy().name == weights.name
    assert read.policy().limits == InquiryLimits(retrievals=2)
    assert '"looks": 2' in path.read_text("utf-8")  # as the files of earlier versions have it


def test_other_weights_have_another_name(weights: PolicyWeights) -> None:
    other = weights.model_copy(update={"seed": 2})
    assert len(weights.name) == 64
    assert other.name != weights.name


def rewritten(weights: PolicyWeights, folder: Path, **change: object) -> Path:
    """A file with something else in it, under the name it would have."""
    other = PolicyWeights.model_validate(weights.model_dump() | change)
    path = folder / f"policy-{other.name}.json"
    path.write_text(other.to_json())
    return path


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"features": FEATURES[:-1]}, r"other features \(answered_before\)"),
        ({"features": FEATURES[::-1]}, "in another order"),
        ({"actions": ("draft", "answer")}, "for the actions draft, answer"),
        ({"values": ((0.0,) * len(FEATURES),) * 3}, "not 4 rows of 16"),
        ({"values": ((0.0,) * 3,) * 4}, "rows of 3 3 3 3 numbers"),
    ],
)
def test_weights_for_something_else_are_refused(
    weights: PolicyWeights, tmp_path: Path, change: dict[str, object], what: str
) -> None:
    """Rule: the numbers would mean something else, and nobody would see it."""
    with pytest.raises(ConfigError, match=what) as caught:
        load(rewritten(weights, tmp_path, **change))
    assert "train the policy again" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"format": 2}, "format"),
        ({"mood": 1}, "mood"),
        ({"values": [["a"]]}, r"values\.0\.0"),
        ({"values": [[None] * len(FEATURES)] * len(ACTIONS)}, r"values\.0\.0"),
        ({"limits": {"looks": 0, "drafts": 1}}, r"limits\.looks"),
    ],
)
def test_a_file_of_another_form_is_refused(
    weights: PolicyWeights, tmp_path: Path, change: dict[str, object], what: str
) -> None:
    path = tmp_path / "policy-x.json"
    path.write_text(json.dumps(json.loads(weights.to_json()) | change))
    with pytest.raises(ConfigError, match=what):
        load(path)


def test_a_weight_that_is_no_number_is_refused(weights: PolicyWeights, tmp_path: Path) -> None:
    path = tmp_path / "policy-x.json"
    path.write_text(weights.to_json().replace(str(weights.values[0][0]), "NaN", 1))
    with pytest.raises(ConfigError, match="not a number"):
        load(path)


def test_a_changed_file_is_refused(weights: PolicyWeights, tmp_path: Path) -> None:
    """Rule: one weight changed by hand, or a file under another's name, is not what was trained."""
    path = save(weights, tmp_path)
    path.write_text(path.read_text().replace('"episodes": 10', '"episodes": 11'))
    with pytest.raises(ConfigError, match="changed or renamed"):
        load(path)
    save(weights, tmp_path)
    path.write_text(path.read_text() + " ")
    with pytest.raises(ConfigError, match="changed or renamed"):
        load(path)
    moved = save(weights, tmp_path).rename(tmp_path / "best.json")
    with pytest.raises(ConfigError, match="changed or renamed"):
        load(moved)


def test_what_is_no_file_or_no_json_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read.*train the policy again"):
        load(tmp_path / "policy-none.json")
    (tmp_path / "a").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        load(tmp_path / "a")
    (tmp_path / "b").write_text("[")
    with pytest.raises(ConfigError, match="JSON"):
        load(tmp_path / "b")


def test_a_folder_that_cannot_be_made_is_said(weights: PolicyWeights, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="another folder"):
        save(weights, tmp_path / "file")
