"""Reads the file of multilingual-E5-small with 4-bit weights: vocabulary, character table, tensors.

The file ("E5S1", version 1) is little-endian: a head, the pieces of the unigram vocabulary with their scores, a table
of character replacements, a directory of tensors, the tensors. A tensor is float32, or blocks of 32 weights: a float16
scale and 16 bytes; byte j has weight j in its low half and weight j + 16 in its high half, each half as the weight
divided by the scale, plus 8.

Invariant: a file with other sizes is refused; nothing beyond the file's end is read.
tests/unit/models/embedding/test_e5_file.py checks it on a tiny file.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from support_agent.models.embedding.port import Vectors

MAGIC, VERSION = b"E5S1", 1
BLOCK = 32
BLOCKS = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
BLOCK_BYTES = BLOCKS.itemsize
FLOATS, HALVES = 0, 1
"""The two kinds of tensor: float32, and blocks."""


class Sizes(NamedTuple):
    """The sizes of the network."""

    width: int
    layers: int
    heads: int
    inner: int
    words: int
    positions: int
    types: int


class E5File(NamedTuple):
    """The content of the file; tensors are read from the disk on request."""

    sizes: Sizes
    epsilon: float
    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    unknown: int
    first: int
    last: int
    """The numbers of the unknown piece, and of the pieces that begin and end a text."""
    replacements: Mapping[int, str]
    tensors: Mapping[str, NDArray[np.uint8]]

    def floats(self, name: str) -> Vectors:
        """A float32 tensor, in memory."""
        return np.array(self.tensors[name]).view("<f4")

    def blocks(self, name: str, columns: int) -> NDArray[Any]:
        """A tensor of blocks, one row per output, on the disk."""
        return self.tensors[name].view(BLOCKS).reshape(-1, columns // BLOCK)

    def matrix(self, name: str, columns: int) -> Vectors:
        """A tensor of blocks as float32, one row per output, in memory."""
        return unpacked(self.blocks(name, columns))


def unpacked(blocks: NDArray[Any]) -> Vectors:
    """Rows of blocks as rows of weights."""
    halves = blocks["halves"]
    weights = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - 8
    scaled: Vectors = weights * blocks["scale"].astype(np.float32)[..., np.newaxis]
    return scaled.reshape(len(blocks), -1)


class _Reader:
    """Reads the file in sequence; reading beyond the end raises a ValueError or a struct.error."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> NDArray[np.uint8]:
        return self.slice(self.at, count, moves=True)

    def slice(self, start: int, count: int, *, moves: bool = False) -> NDArray[np.uint8]:
        if start < 0 or count < 0 or start + count > len(self.data):
            raise ValueError("it ends too early")
        if moves:
            self.at = start + count
        return self.data[start : start + count]

    def read(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")).tobytes())


def read_file(path: Path) -> E5File:
    """Read the file's head and vocabulary.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not such a file.
    """
    reader = _Reader(np.memmap(path, dtype=np.uint8, mode="r"))
    try:
        if reader.read("4sI") != (MAGIC, VERSION):
            raise ValueError("it is no E5S1 file")
        sizes = Sizes(*reader.read("7i"))
        epsilon, block = reader.read("fi")
        if block != BLOCK:
            raise ValueError(f"its blocks have {block} weights, not {BLOCK}")
        count, first, last, _, unknown = reader.read("5i")
        pieces, scores = _pieces(reader, count)
        return E5File(*(sizes, epsilon, pieces, scores, unknown, first, last), _replacements(reader), _tensors(reader))
    except (struct.error, UnicodeDecodeError, OverflowError) as error:
        raise ValueError(str(error)) from error


def _pieces(reader: _Reader, count: int) -> tuple[tuple[str, ...], tuple[float, ...]]:
    (text_bytes,) = reader.read("Q")
    ends = reader.take(4 * (count + 1)).view("<u4").tolist()
    scores = tuple(reader.take(4 * count).view("<f4").tolist())
    text = reader.take(text_bytes).tobytes()
    return tuple(text[start:end].decode() for start, end in pairwise(ends)), scores


def _replacements(reader: _Reader) -> dict[int, str]:
    count, _ = reader.read("iI")
    found = {}
    for _ in range(count):
        character, length = reader.read("IB")
        found[character] = "".join(map(chr, reader.read(f"{length}I")))
    return found


def _tensors(reader: _Reader) -> dict[str, NDArray[np.uint8]]:
    (count,) = reader.read("i")
    found = {}
    for _ in range(count):
        (length,) = reader.read("H")
        name = reader.take(length).tobytes().decode()
        kind, weights, start, size_bytes = reader.read("BIQQ")
        if size_bytes != {FLOATS: 4 * weights, HALVES: weights // BLOCK * BLOCK_BYTES}.get(kind):
            raise ValueError(f"the tensor {name} has a wrong size")
        found[name] = reader.slice(start, size_bytes)
    return found
