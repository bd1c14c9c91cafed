"""The vectors of a company's texts, computed once for a run of the tests, in whichever process needs them first.

Each opening of the agent without a stored index embeds the documents, which takes MiniLM longer than a mail takes the
language model; most tests that open it are about something else. A text's vector does not depend on the others of a
call, which tests/contract/test_embedders.py checks, so a remembered one is the same. The demo still embeds everything
(tests/acceptance/test_demo.py).
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

from support_agent.models import opening
from tests.shared_folder import shared_folder

if TYPE_CHECKING:
    from support_agent.models.embedding.minilm import MiniLM
    from support_agent.models.embedding.port import Role, Vectors

MANY = 50
"""Texts of a call that embeds documents; a customer's mail has fewer."""


class RememberedVectors:
    """An embedder that reads known texts of long calls from a file."""

    def __init__(self, embedder: MiniLM, folder: Path) -> None:
        self._embedder, self._folder = embedder, folder
        self._known: dict[str, Vectors] = {}

    def __getattr__(self, name: str) -> object:
        return getattr(self._embedder, name)

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """What MiniLM computes, of whom the role changes nothing."""
        if len(texts) < MANY:
            return self._embedder.embed(texts, role)
        if not self._known.keys() >= set(texts):
            self._read()
        if new := [text for text in dict.fromkeys(texts) if text not in self._known]:
            self._known |= zip(new, self._embedder.embed(new, role), strict=True)
            self._write()
        return np.stack([self._known[text] for text in texts])

    def _read(self) -> None:
        for path in self._folder.glob("*.pickle"):
            self._known |= pickle.loads(path.read_bytes())

    def _write(self) -> None:
        """A file of this process's own, complete at once."""
        part = self._folder / f"{os.getpid()}.part"
        part.write_bytes(pickle.dumps(self._known))
        part.replace(part.with_suffix(".pickle"))


def remember(patch: pytest.MonkeyPatch) -> None:
    """Let every opening of MiniLM in this process remember, where there is a shared folder."""
    original = opening._minilm

    @cache
    def remembering(folder: Path, threads: int) -> MiniLM:
        embedder, shared = original(folder, threads), shared_folder()
        return cast("MiniLM", RememberedVectors(embedder, shared)) if shared else embedder

    patch.setattr(opening, "_minilm", remembering)
