"""The fit of the vote on kinds of answers: it learns the kinds, and writes what the program reads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from pydantic import TypeAdapter

from support_agent.facts.answer_kinds import KindWeights, inputs
from tests.benchmarks import answer_kinds as module
from tests.benchmarks.trades import NOTHING, Question, Trade
from tests.benchmarks.weights_text import weights_text
from tests.unit.facts.words import WordEmbedder

ASKED = {
    "1.1": ("how long may I return a parcel", "what does shipping cost", "which cards may I use for shipping"),
    "F1": ("what is my own balance", "when was my own last invoice", "how much is my own bill"),
    NOTHING: ("please call me back", "please send somebody now", "please cancel it now"),
}


@pytest.fixture
def weights(monkeypatch: pytest.MonkeyPatch) -> KindWeights:
    """Fitted to a company whose kinds differ by their words."""
    questions = tuple(Question("en", page, text) for page, texts in ASKED.items() for text in texts)
    monkeypatch.setattr(module, "trades", lambda: [Trade("made", (), questions)])
    return module.fit({"minilm": WordEmbedder("minilm")})


def test_each_kind_is_learnt_from_the_questions_of_its_own(weights: KindWeights) -> None:
    texts = [text for texts in ASKED.values() for text in texts]
    odds = (
        inputs({"minilm": WordEmbedder("minilm").embed(texts, "query")}) @ np.array([weights.account, weights.person]).T
    )
    assert (odds[3:6, 0] > odds[:3, 0].max()).all()
    assert (odds[3:6, 0] > odds[6:, 0].max()).all()
    assert (odds[6:, 1] > odds[:6, 1].max()).all()


def test_what_is_written_is_what_the_program_reads(weights: KindWeights) -> None:
    """Rule: a line for each kind of each set of embedders."""
    written = weights_text({"minilm": weights.model_dump(), "e5": weights.model_dump()})
    read: Mapping[str, KindWeights] = TypeAdapter(dict[str, KindWeights]).validate_json(written)
    assert read == {"minilm": weights, "e5": weights}
    assert written.count('"person"') == 2
    assert len(written.splitlines()) < 20
