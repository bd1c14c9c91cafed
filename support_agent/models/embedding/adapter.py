"""What E5 has learnt beside its own weights: which page of a company answers a customer's mail, in eight languages.

A low-rank change to the matrices of the upper layers, fitted by `python -m tests.benchmarks.adapter` to questions to
made-up companies; the questions do not ship. It is added to the weights when they are loaded: a text takes no longer.

Invariant: a matrix without a change stays as it is. Checked by tests/unit/models/embedding/test_adapter.py.
Source: Hu et al. 2021, LoRA: Low-Rank Adaptation of Large Language Models.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from importlib.resources import files

import numpy as np

from support_agent.models.embedding.port import Vectors

ADAPTER_FILE = "e5_adapter.npz"
DOWN, UP = "down", "up"
"""The two factors of a change: (rank, inputs) and (outputs, rank)."""


class Adapter:
    """Changes by the name of the matrix, such as `l4.q`."""

    def __init__(self, factors: Mapping[str, Vectors], version: str = "") -> None:
        """Keep the factors.

        Args:
            factors: `l4.q.down` and `l4.q.up` for each changed matrix.
            version: Changes with them.
        """
        self._factors = factors
        self.version = version

    def changed(self, name: str, weights: Vectors) -> Vectors:
        """The weights, one row per output, with their change.

        Raises:
            ValueError: the change has another shape.
            KeyError: half of it is missing.
        """
        if f"{name}.{UP}" not in self._factors:
            return weights
        up, down = (self._factors[f"{name}.{part}"].astype(np.float32) for part in (UP, DOWN))
        changed: Vectors = weights + up @ down
        return changed


def packaged() -> Adapter:
    """The adapter that ships."""
    data = files(__package__).joinpath(ADAPTER_FILE).read_bytes()
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return Adapter({name: stored[name] for name in stored.files}, hashlib.sha256(data).hexdigest())
