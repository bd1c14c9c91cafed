"""The vote on what answers a question: 0 where nothing was fitted, bounded, and the same whatever the order."""

from __future__ import annotations

import numpy as np
import pytest

from support_agent.config.embedding import EMBEDDERS, set_name
from support_agent.facts.answer_kinds import KINDS, MOST_LOG_ODDS, committed, inputs, kinds_version, log_odds
from support_agent.models.embedding.port import Vectors

DIMENSIONS = {"minilm": 384, "use": 512, "e5": 384}
SETS = (EMBEDDERS, ("minilm", "use"))


def questions(models: tuple[str, ...], length: float = 1.0) -> dict[str, Vectors]:
    """Vectors of this length, of three texts."""
    random = np.random.default_rng(14)
    vectors = {name: random.normal(size=(3, DIMENSIONS[name])).astype(np.float32) for name in models}
    return {name: length * rows / np.linalg.norm(rows, axis=1, keepdims=True) for name, rows in vectors.items()}


@pytest.mark.parametrize("models", SETS)
def test_every_set_of_embedders_that_is_offered_has_weights_for_its_inputs(models: tuple[str, ...]) -> None:
    weights = committed()[set_name(models)]
    n_inputs = sum(DIMENSIONS[name] for name in models) + 1
    assert len(weights.account) == len(weights.person) == n_inputs
    assert kinds_version(models) == weights.version != ""
    assert inputs(questions(models)).shape == (3, n_inputs)


@pytest.mark.parametrize("models", SETS)
def test_the_order_of_the_embedders_changes_nothing(models: tuple[str, ...]) -> None:
    asked = questions(models)
    odds = log_odds(asked)
    assert np.array_equal(log_odds(dict(reversed(asked.items()))), odds)
    assert odds.shape == (3, len(KINDS))
    assert (odds != 0).all()


def test_the_vote_is_bounded() -> None:
    """Rule: no question is so plain that the company's own words could not outweigh it."""
    assert set(np.abs(log_odds(questions(EMBEDDERS, length=1_000.0))).ravel()) == {MOST_LOG_ODDS}


def test_without_weights_for_the_embedders_or_with_a_broken_vector_nothing_is_said() -> None:
    assert not log_odds(questions(("minilm",))).any()
    assert kinds_version(("minilm",)) == ""
    broken = questions(EMBEDDERS)
    broken["use"][1] = np.nan
    odds = log_odds(broken)
    assert not odds[1].any()
    assert odds[[0, 2]].all()
