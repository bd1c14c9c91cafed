"""The embedding models that the configuration names, downloaded, verified and opened.

Invariant: each model is loaded once, and not before it is asked. tests/unit/models/test_embedders.py checks it.
"""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from support_agent.config.embedding import EmbeddingModel
from support_agent.config.settings import Settings
from support_agent.models.embedding.lazy import LazyEmbedder
from support_agent.models.embedding.port import Embedder
from support_agent.models.pinned import E5, EMBEDDING_MODEL, SENTENCE_ENCODER, PinnedModel
from support_agent.models.progress import Progress
from support_agent.models.pulling import pull

PINNED: dict[EmbeddingModel, PinnedModel] = {
    EmbeddingModel.MINILM: EMBEDDING_MODEL,
    EmbeddingModel.USE: SENTENCE_ENCODER,
    EmbeddingModel.E5: E5,
}


def needed_models(settings: Settings) -> tuple[PinnedModel, ...]:
    """The pinned models that texts are compared with: those that are listed, and MiniLM, which the index needs."""
    listed = (PINNED[model] for model in settings.embedding.models)
    return tuple(dict.fromkeys((EMBEDDING_MODEL, *listed)))


def is_needed(model: PinnedModel, settings: Settings) -> bool:
    """Whether the program uses the pinned model: it is no embedding model, or one that is needed."""
    return model not in PINNED.values() or model in needed_models(settings)


def load_embedders(settings: Settings, progress: Progress, *, minilm: Embedder | None = None) -> tuple[Embedder, ...]:
    """The listed embedders, in the order of the list. Their files are there on return; each is loaded when first used.

    Args:
        progress: Where downloads say how far they are.
        minilm: MiniLM, where it is open already.
    Raises:
        ConfigError: a model cannot be had; or, when it is first used, it cannot be loaded.
    """
    return tuple(
        minilm if minilm is not None and model is EmbeddingModel.MINILM else _lazy(model, settings, progress)
        for model in settings.embedding.models
    )


def _lazy(model: EmbeddingModel, settings: Settings, progress: Progress) -> Embedder:
    folder = pull(PINNED[model], settings.model, progress)
    return LazyEmbedder(lambda: _open(model, folder, settings.embedding.threads))


def _open(model: EmbeddingModel, folder: Path, threads: int) -> Embedder:
    """Load a model; its runtime takes a second to import, and is imported here."""
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
