"""Downloads, verifies and opens the embedding models of the settings.

Invariant: each model is loaded once, at its first use. tests/unit/models/test_embedders.py checks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import assert_never

from support_agent.config.embedding import EmbeddingModel
from support_agent.config.settings import Settings
from support_agent.models.embedding.kept import FILE, KeptEmbedder
from support_agent.models.embedding.lazy import LazyEmbedder
from support_agent.models.embedding.port import Embedder
from support_agent.models.pinned import E5, EMBEDDING_MODEL, SENTENCE_ENCODER, PinnedModel
from support_agent.models.progress import Progress
from support_agent.models.pulling import cache_dir, pull

PINNED: dict[EmbeddingModel, PinnedModel] = {
    EmbeddingModel.MINILM: EMBEDDING_MODEL,
    EmbeddingModel.USE: SENTENCE_ENCODER,
    EmbeddingModel.E5: E5,
}


def needed_models(settings: Settings) -> tuple[PinnedModel, ...]:
    """The pinned models for comparing texts: the configured ones, and MiniLM, which the index needs."""
    listed = (PINNED[model] for model in settings.embedding.models)
    return tuple(dict.fromkeys((EMBEDDING_MODEL, *listed)))


def is_needed(model: PinnedModel, settings: Settings) -> bool:
    """Whether the program uses the pinned model: the language model, or a needed embedding model."""
    return model not in PINNED.values() or model in needed_models(settings)


def load_embedders(settings: Settings, progress: Progress, *, minilm: Embedder | None = None) -> tuple[Embedder, ...]:
    """The configured embedders, in order. Their files exist on return; each is loaded at its first use.

    Args:
        progress: Shows the downloads.
        minilm: MiniLM, if it is open already.
    Raises:
        ConfigError: a model cannot be downloaded or, at its first use, loaded.
    """
    return tuple(
        minilm if minilm is not None and model is EmbeddingModel.MINILM else _lazy(model, settings, progress)
        for model in settings.embedding.models
    )


def keeping(embedders: Mapping[str, Embedder], settings: Settings) -> Mapping[str, Embedder]:
    """The same embedders for the company's own texts: their vectors are kept on the disk."""
    path, most = cache_dir(settings.model) / FILE, settings.embedding.kept_vectors
    return {name: KeptEmbedder(each, path, most=most) if most else each for name, each in embedders.items()}


def _lazy(model: EmbeddingModel, settings: Settings, progress: Progress) -> Embedder:
    return _shared(model, pull(PINNED[model], settings.model, progress), settings.embedding.threads)


@cache
def _shared(model: EmbeddingModel, folder: Path, threads: int) -> Embedder:
    """The one embedder of this process: brands share it."""
    return LazyEmbedder(lambda: _open(model, folder, threads))


def _open(model: EmbeddingModel, folder: Path, threads: int) -> Embedder:
    """Load a model; its slow runtime is imported here."""
    match model:
        case EmbeddingModel.MINILM:
            from support_agent.models.embedding.minilm import MiniLM

            return MiniLM(folder, threads=threads)
        case EmbeddingModel.USE:
            from support_agent.models.embedding.use import SentenceEncoder

            return SentenceEncoder(folder, threads=threads)
        case EmbeddingModel.E5:
            from support_agent.models.embedding.e5 import MultilingualE5

            return MultilingualE5(folder, threads=threads)
        case never:
            assert_never(never)
