"""How the fact room is opened, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest

from support_agent.company.company import Company
from support_agent.config.embedding import EmbeddingModel, EmbeddingSettings
from support_agent.config.facts import FactSettings, GradingSettings, Ways
from support_agent.config.loading import load
from support_agent.config.settings import ModelSettings, Settings
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.facts.opening import open_rooms, open_topic_search
from support_agent.facts.topics import Topic
from support_agent.models import embedders
from support_agent.models.embedding.kept import FILE
from tests.unit.facts.words import WordEmbedder


class Counting(WordEmbedder):
    """An embedder that counts tokens, and the search that has it."""

    def __init__(self, version: str = "topics") -> None:
        super().__init__()
        self.version = version

    @property
    def embedder(self) -> Counting:
        return self

    @property
    def own_embedder(self) -> Counting:
        return self

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


class Model:
    """A `LanguageModel` of which only the opening is looked at."""

    name = "model"
    opened = 0

    def open_writing(self) -> None:
        self.opened += 1


@pytest.mark.parametrize(("drafts", "cycles"), [(True, 0), (False, 1), (False, 0)])
def test_what_writes_takes_its_memory_before_the_first_mail(tmp_path: Path, drafts: bool, cycles: int) -> None:
    """So that an operator sees at the start what it needs; where nothing is written, nothing is taken."""
    init(tmp_path / "workspace", date(2026, 6, 1))
    parts = {"facts": FactSettings(ways=Ways.WORDS), "grading": GradingSettings(drafts=drafts, max_cycles=cycles)}
    settings = load(tmp_path / "workspace" / CONFIG_FILE).model_copy(update=parts)
    company, model = Company.load(settings.company), Model()
    rooms = open_rooms(settings, company, cast(Any, Counting()), cast(Any, model), in_memory=True)
    assert model.opened == (drafts or cycles > 0)
    assert len(rooms.workflow.index_version.split()) == 1 + drafts, (
        "the index, and the graph of what drafts are held to"
    )


def test_the_version_names_topics_and_passages(tmp_path: Path) -> None:
    """Rule: what is kept with an answer changes when either of the two does."""
    init(tmp_path / "workspace", date(2026, 6, 1))
    settings = load(tmp_path / "workspace" / CONFIG_FILE).model_copy(update={"facts": FactSettings(ways=Ways.WORDS)})
    company = Company.load(settings.company)
    fewer = replace(company, documents=company.documents[1:])

    def version(of: Company, topics: str) -> str:
        search = cast(Any, Counting(version=topics))
        return open_rooms(settings, of, search, cast(Any, Model()), in_memory=True).workflow.index_version

    assert version(company, "1") == version(company, "1")
    assert len({version(company, "1"), version(company, "2"), version(fewer, "1")}) == 3


@pytest.mark.parametrize("is_own", [False, True])
def test_only_vectors_of_the_companys_own_topics_are_kept_on_the_disk(
    is_own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: `eval intents` compares customers' questions, and leaves nothing of them behind."""
    embedder = Counting()
    monkeypatch.setattr("support_agent.facts.opening.open_embedder", lambda _: embedder)
    monkeypatch.setattr(embedders, "load_embedders", lambda *_, **__: (embedder,))
    monkeypatch.setattr(embedders, "FILE", FILE)
    settings = Settings(
        model=ModelSettings(cache_dir=tmp_path), embedding=EmbeddingSettings(models=(EmbeddingModel.MINILM,))
    )
    search = open_topic_search(settings, in_memory=True, name=f"kept-{is_own}", keeps_vectors=is_own)
    search.update([Topic(key="document:1", title="Refund")])
    assert (tmp_path / FILE).exists() is is_own
