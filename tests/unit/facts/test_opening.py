"""How the fact room is opened, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest

from support_agent.company.company import Company
from support_agent.config.facts import FactSettings, GradingSettings, Ways
from support_agent.config.loading import load
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.facts.opening import open_rooms
from tests.unit.facts.words import WordEmbedder


class Counting(WordEmbedder):
    """An embedder that counts tokens, and the search that has it."""

    @property
    def embedder(self) -> Counting:
        return self

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


class Model:
    """A `LanguageModel` of which only the opening is looked at."""

    name = "model"
    opened = 0

    def open_writing(self) -> None:
        self.opened += 1


@pytest.mark.parametrize("drafts", [True, False])
def test_what_writes_drafts_takes_its_memory_before_the_first_mail(tmp_path: Path, drafts: bool) -> None:
    """So that an operator sees at the start what it needs; where no draft is written, nothing is taken."""
    init(tmp_path / "workspace", date(2026, 6, 1))
    parts = {"facts": FactSettings(ways=Ways.WORDS), "grading": GradingSettings(drafts=drafts)}
    settings = load(tmp_path / "workspace" / CONFIG_FILE).model_copy(update=parts)
    company, model = Company.load(settings.company), Model()
    open_rooms(settings, company, cast(Any, Counting()), cast(Any, model), in_memory=True)
    assert model.opened == drafts
