"""What E5 has learnt beside its own weights: which page of a company answers a customer's mail, in eight languages.

A low-rank change to the matrices of the upper layers, fitted by `python -m tests.benchmarks.adapter` to questions to
made-up companies; the questions do not ship. It is added to the weights when they are loaded: a text takes no longer.

Invariant: a matrix without a change stays as it is. Checked by tests/unit/models/embedding/test_adapter.py.
Source: Hu et al. 2021, LoRA: Low-Rank Adaptation of Large Language Models.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Mapping
from importlib.resources import files

import numpy as np

from support_agent.core.size_limits import first_line
from support_agent.errors import ConfigError
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
            ValueError: the change has another shape, or is not finite.
            KeyError: half of it is missing.
        """
        if not {f"{name}.{UP}", f"{name}.{DOWN}"} & self._factors.keys():
            return weights
        up, down = (self._factors[f"{name}.{part}"].astype(np.float32) for part in (UP, DOWN))
        change = up @ down
        if change.shape != weights.shape or not np.isfinite(change).all():
            raise ValueError(f"the change of {name} is no change of a matrix of shape {weights.shape}")
        changed: Vectors = weights + change
        return changed


def packaged() -> Adapter:
    """The adapter that ships.

    Raises:
        ConfigError: its file is damaged.
    """
    return read(files(__package__).joinpath(ADAPTER_FILE).read_bytes())


def read(data: bytes) -> Adapter:
    """As `packaged`, of the file's bytes."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            return Adapter({name: stored[name] for name in stored.files}, hashlib.sha256(data).hexdigest())
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ConfigError(f"{ADAPTER_FILE} of the program is damaged: {first_line(error)}: install it again") from error
