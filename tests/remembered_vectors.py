"""The vectors of a company's texts, computed once for a run of the tests, in whichever process needs them first.

Each opening of the agent without a stored index embeds the documents, which takes MiniLM longer than a mail takes the
language model, and E5 ten times as long; most tests that open it are about something else. A text's vector does not
depend on the others of a call, which tests/contract/test_embedders.py checks, so a remembered one is the same. The demo
still embeds everything (tests/acceptance/test_demo.py).
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from support_agent.config.embedding import EmbeddingModel
from support_agent.models import embedders, opening
from tests.shared_folder import shared_folder

if TYPE_CHECKING:
    from support_agent.models.embedding.minilm import MiniLM
    from support_agent.models.embedding.port import Embedder, Role, Vectors

MANY = 30
"""Texts of a call that embeds documents; a customer's mail has fewer."""


class RememberedVectors:
    """An embedder that reads known texts of long calls from a file."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder, self._folder = embedder, folder
        self._known: dict[tuple[str, str, str], Vectors] = {}

    def __getattr__(self, name: str) -> object:
        return getattr(self._embedder, name)

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """What the embedder computes."""
        if len(texts) < MANY:
            return self._embedder.embed(texts, role)
        keys = [(self._embedder.name, role, text) for text in texts]
        if not self._known.keys() >= set(keys):
            self._read()
        if new := [key for key in dict.fromkeys(keys) if key not in self._known]:
            self._known |= zip(new, self._embedder.embed([text for _, _, text in new], role), strict=True)
            self._write()
        return np.stack([self._known[key] for key in keys])

    def _read(self) -> None:
        for path in self._folder.glob("*.pickle"):
            self._known |= pickle.loads(path.read_bytes())

    def _write(self) -> None:
        """A file of this process's own, complete at once."""
        part = self._folder / f"{os.getpid()}-{id(self)}.part"
        part.write_bytes(pickle.dumps(self._known))
        part.replace(part.with_suffix(".pickle"))


def remember(patch: pytest.MonkeyPatch) -> None:
    """Let every opening of MiniLM and E5 in this process remember, where there is a shared folder."""
    minilm, other = opening._minilm, embedders._open

    @cache
    def remembering(folder: Path, threads: int) -> MiniLM:
        return cast("MiniLM", _remembered(minilm(folder, threads)))

    def opened(model: EmbeddingModel, folder: Path, threads: int) -> Embedder:
        embedder = other(model, folder, threads)
        return _remembered(embedder) if model is EmbeddingModel.E5 else embedder

    patch.setattr(opening, "_minilm", remembering)
    patch.setattr(embedders, "_open", opened)


def _remembered(embedder: Embedder) -> Embedder:
    shared = shared_folder()
    return cast("Embedder", RememberedVectors(embedder, shared)) if shared else embedder
