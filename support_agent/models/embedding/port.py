"""The embedder port: turns short texts into vectors whose dot product is the similarity of their meanings.

tests/contract/test_embedders.py checks the rules on every embedder: a text's vector (to within 1e-5) does not depend on
the other texts of a call, their order or the number of threads; every string has a vector, even an empty one or one
with invalid characters; nothing is sent anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""One row per text, each of length 1, so that a dot product is a cosine."""

Role = Literal["query", "passage"]
"""The role of a text: a question, or a possible answer. Texts of one kind are compared in one role, `query`."""


class Embedder(Protocol):
    """An embedding model. May be used from several threads."""

    @property
    def name(self) -> str:
        """Changes when the vectors do; it is the key of stored vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """The dimensions of a vector."""
        ...

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """Vectors of length 1, shape (len(texts), dimensions), in the order of the texts.

        Each embedder reads only the start of a text, as far as its model can: split long texts first.
        """
        ...
