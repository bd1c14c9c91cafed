"""The listed embedding models: each is downloaded at the start and loaded once, when it is first used."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from support_agent.config.embedding import EmbeddingModel, EmbeddingSettings
from support_agent.config.settings import ModelSettings, Settings
from support_agent.errors import ConfigError
from support_agent.models import embedders
from support_agent.models.embedders import PINNED, is_needed, load_embedders, needed_models
from support_agent.models.embedding.port import Embedder
from support_agent.models.pinned import EMBEDDING_MODEL, LANGUAGE_MODEL, PinnedModel
from tests.unit.facts.words import WordEmbedder
from tests.unit.models.packages import CONTENT, RecordedProgress, model


def listing(*models: str, cache: Path = Path("nowhere")) -> Settings:
    """Settings with these models on."""
    return Settings(
        embedding=EmbeddingSettings.model_validate({"models": models}), model=ModelSettings(cache_dir=cache)
    )


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[EmbeddingModel]:
    """Each model is a tiny file that is there; the list of those that were loaded."""
    loaded: list[EmbeddingModel] = []
    tiny = model()
    (tmp_path / tiny.name).mkdir()
    (tmp_path / tiny.name / tiny.entry).write_bytes(CONTENT)

    def load(which: EmbeddingModel, folder: Path, threads: int) -> Embedder:
        loaded.append(which)
        return WordEmbedder(which)

    monkeypatch.setattr(embedders, "PINNED", dict.fromkeys(EmbeddingModel, tiny))
    monkeypatch.setattr(embedders, "_open", load)
    return loaded


def test_models_come_in_the_order_of_the_list_and_are_loaded_when_first_used(
    opened: list[EmbeddingModel], tmp_path: Path
) -> None:
    """Rule: what is not used is not loaded; what is used twice is loaded once."""
    first, second = load_embedders(listing("use", "minilm", cache=tmp_path), RecordedProgress())
    assert opened == []
    assert [second.name, second.name, first.name] == ["minilm", "minilm", "use"]
    second.embed(["refund"], "query")
    assert opened == ["minilm", "use"]


def test_the_open_minilm_is_used_again(opened: list[EmbeddingModel], tmp_path: Path) -> None:
    """Rule: the index has it loaded; a second copy would be 60 MB for nothing."""
    mine = WordEmbedder("mine")
    first, second = load_embedders(listing("minilm", "use", cache=tmp_path), RecordedProgress(), minilm=mine)
    assert first is mine
    assert second is not mine


def test_a_model_that_cannot_be_had_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule: before the first mail, not at its first question."""
    monkeypatch.setattr(embedders, "PINNED", dict.fromkeys(EmbeddingModel, model()))
    with pytest.raises(ConfigError, match="model pull"):
        load_embedders(listing("use", cache=tmp_path), RecordedProgress())


def test_every_model_that_can_be_listed_is_pinned() -> None:
    """Rule: and the index's model is needed whatever is listed; what is not listed is not needed."""
    assert set(PINNED) == set(EmbeddingModel)
    for listed in EmbeddingModel:
        settings = listing(listed)
        needed: set[PinnedModel] = {EMBEDDING_MODEL, PINNED[listed]}
        assert set(needed_models(settings)) == needed
        assert {pinned for pinned in PINNED.values() if is_needed(pinned, settings)} == needed
        assert is_needed(LANGUAGE_MODEL, settings)


@pytest.mark.parametrize("models", [(), ("use", "use"), ("other",)])
def test_a_list_that_means_nothing_is_refused(models: tuple[str, ...]) -> None:
    """Rule: at least one model, each once, and a known one."""
    with pytest.raises(ValidationError):
        listing(*models)
