"""Universal Sentence Encoder, multilingual (version 3), int8: 512 dimensions, made for questions in 16 languages.

Invariant: a text's vector does not depend on other texts. The model rounds its activations to int8 by the batch's
largest value, so another text would change a vector by a hundredth and more: each text is its own batch.
tests/contract/test_embedders.py checks it on the model.
Source: Yang et al. 2019, Multilingual Universal Sentence Encoder for Semantic Retrieval (the model without roles).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from onnxruntime_extensions import get_library_path  # type: ignore[import-untyped]

from support_agent.models.embedding.files import checksum
from support_agent.models.embedding.onnx import open_session
from support_agent.models.embedding.port import Role, Vectors
from support_agent.models.embedding.texts import readable

MODEL_FILE = "model.onnx"
DIMENSIONS = 512
MAX_CHARACTERS = 2_000
"""Characters to read: a text of this length takes 20 ms, and the time grows with its square."""
ONE_THREAD = 1
"""Threads: a text takes one or two milliseconds, so a second thread does not help."""


class SentenceEncoder:
    """An `Embedder`, loaded once; the role changes nothing."""

    dimensions = DIMENSIONS

    def __init__(self, model_dir: Path, *, threads: int = 0) -> None:
        """Load the model.

        Args:
            model_dir: The folder with `model.onnx`, verified.
            threads: Cores to use; 0: one.
        Raises:
            ConfigError: the folder does not hold the model.
        """
        path = model_dir / MODEL_FILE
        self._session = open_session(path, threads or ONE_THREAD, operators=get_library_path())
        self.name = f"{checksum([path])}/{MAX_CHARACTERS}"
        """Changes when the vectors do: from the checksum of the model's file and the read length."""

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """Vectors of length 1, shape (len(texts), 512), in the order of the texts."""
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            inputs = np.array([readable(text, MAX_CHARACTERS)], dtype=np.object_)
            (vectors[row : row + 1],) = self._session.run(["outputs"], {"inputs": inputs})
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit
