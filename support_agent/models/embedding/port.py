"""The embedder port: turn short texts into vectors whose dot product says how alike their meanings are.

Every embedder keeps the same rules; tests/contract/test_embedders.py checks them on all of them: a text has one vector
(to within 1e-5), whatever it is embedded together with, in whatever order and with however many threads; every string
has a vector, also an empty one and one with characters that are none; nothing is sent anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""One row a text, each of length 1, so that a dot product is a cosine."""

Role = Literal["query", "passage"]
"""What a text is: a question, or what may answer it. Texts that are compared as equals take one role, `query`."""


class Embedder(Protocol):
    """An embedding model. May be used from several threads."""

    @property
    def name(self) -> str:
        """Changes when the vectors do; vectors are kept under it."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of a row."""
        ...

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """Vectors of length 1, shape (len(texts), dimensions), in the order of the texts.

        Each embedder reads the start of a text only, as far as its model can: cut long texts into pieces before.
        """
        ...
