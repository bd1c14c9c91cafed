"""The embedding models' section of the configuration; `settings.Settings` holds it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

from pydantic import Field, field_validator

from support_agent.core.frozen import Frozen


class EmbeddingModel(StrEnum):
    """The embedding models for comparing texts."""

    MINILM = "minilm"
    """all-MiniLM-L6-v2: English."""
    USE = "use"
    """Universal Sentence Encoder multilingual: 16 languages, short questions."""
    E5 = "e5"
    """multilingual-E5-small: about 100 languages, adapted to customers' questions and what answers them."""


EMBEDDERS = tuple(model.value for model in EmbeddingModel)
"""Their names, as the fitted weights have them."""
MULTILINGUAL = (EmbeddingModel.USE.value, EmbeddingModel.E5.value)
"""Those that read many languages; the faster one comes first."""


def set_name(models: Iterable[str]) -> str:
    """The key of a set of embedders in a file of weights."""
    return "+".join(sorted(models))


class EmbeddingSettings(Frozen):
    """The models that compare texts. The index of documents and passages always needs MiniLM."""

    models: Annotated[tuple[EmbeddingModel, ...], Field(min_length=1)] = tuple(EmbeddingModel)
    """Models that choose among the company's documents and fields; each has its own vectors. `e5` chooses best; it
    takes 20 ms of a core for a sentence."""
    threads: Annotated[int, Field(ge=0, le=256)] = 0
    """Cores for each model; 0: the fastest number, which is one for `use` and at most four for the others."""
    kept_vectors: Annotated[int, Field(ge=0, le=10_000_000)] = 200_000
    """Most vectors of the company's texts to keep in `vectors.sqlite3` beside the models, 2 kB each, so that dry runs
    and the desk need not compute them at each start. The oldest are deleted first. 0: none; delete the file yourself.
    In a read-only folder, as in the containers of `deploy/`, none is kept."""

    @field_validator("models")
    @classmethod
    def _each_once(cls, models: tuple[EmbeddingModel, ...]) -> tuple[EmbeddingModel, ...]:
        if len(set(models)) < len(models):
            raise ValueError("a model is listed twice")
        return models
