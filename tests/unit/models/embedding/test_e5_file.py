"""The file of 4-bit weights: what is in it is read, and what is not such a file is refused."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from support_agent.errors import ConfigError
from support_agent.models.embedding.e5 import MultilingualE5
from support_agent.models.embedding.e5_file import read_file, unpacked

PIECES = ("<s>", "<pad>", "</s>", "<unk>", "\u2581a")
SCORES = (0.0, 0.0, 0.0, 0.0, -2.5)


def written(tensors: dict[str, tuple[int, int, bytes]], *, sizes: tuple[int, ...] = (32, 1, 1, 32, 5, 512, 2)) -> bytes:
    """A tiny file; each tensor is its kind, its number of weights and its bytes."""
    texts = [piece.encode() for piece in PIECES]
    ends = np.cumsum([0, *map(len, texts)])
    head = struct.pack("<4sI7ifi5iQ", b"E5S1", 1, *sizes, 1e-12, 32, len(PIECES), 0, 2, 1, 3, len(b"".join(texts)))
    head += ends.astype("<u4").tobytes() + np.array(SCORES, "<f4").tobytes() + b"".join(texts)
    head += struct.pack("<iI", 1, 13) + struct.pack("<IB2I", 0xFB00, 2, 0x66, 0x66)
    directory = [struct.pack("<H", len(name)) + name.encode() for name in tensors]
    start = len(head) + 4 + sum(len(entry) + 21 for entry in directory)
    whole = head + struct.pack("<i", len(tensors))
    for entry, (kind, weights, data) in zip(directory, tensors.values(), strict=True):
        whole += entry + struct.pack("<BIQQ", kind, weights, start, len(data))
        start += len(data)
    return whole + b"".join(data for _, _, data in tensors.values())


def block(scale: float, weights: list[int]) -> bytes:
    """32 weights of -8 to 7, as they are packed."""
    halves = [(low + 8) | (high + 8) << 4 for low, high in zip(weights[:16], weights[16:], strict=True)]
    return struct.pack("<e16B", scale, *halves)


WEIGHTS = [number % 16 - 8 for number in range(0, 32 * 5, 5)]
TENSORS = {
    "emb.ln.w": (0, 2, struct.pack("<2f", 0.5, -1.0)),
    "emb.word": (1, 64, block(0.5, WEIGHTS) + block(-2.0, WEIGHTS[::-1])),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "e5-small-q4.bin"


def test_the_vocabulary_and_the_tensors_are_read(path: Path) -> None:
    """Rule: pieces with scores, replacements, and weights times their block's scale."""
    path.write_bytes(written(TENSORS))
    file = read_file(path)
    assert (file.sizes.width, file.sizes.positions, file.unknown, file.first, file.last) == (32, 512, 3, 0, 2)
    assert (file.pieces, file.scores, dict(file.replacements)) == (PIECES, SCORES, {0xFB00: "ff"})
    np.testing.assert_array_equal(file.floats("emb.ln.w"), np.array([0.5, -1.0], np.float32))
    expected = np.array([WEIGHTS, WEIGHTS[::-1]], np.float32) * [[0.5], [-2.0]]
    np.testing.assert_array_equal(file.matrix("emb.word", 32), expected)
    np.testing.assert_array_equal(unpacked(file.blocks("emb.word", 32)[[1, 1, 0]]), expected[[1, 1, 0]])


def test_a_file_that_was_cut_anywhere_is_refused(path: Path) -> None:
    """Rule: nothing is read behind the end."""
    whole = written(TENSORS)
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"\w"):
            read_file(path)


@pytest.mark.parametrize(
    "damaged",
    [
        b"E5S2" + written(TENSORS)[4:],
        written({"emb.word": (0, 64, block(1.0, WEIGHTS) * 2)}),
        written({"emb.word": (7, 64, block(1.0, WEIGHTS) * 2)}),
        written(TENSORS).replace(struct.pack("<i", 32) + struct.pack("<i", 5), struct.pack("<ii", 64, 5)),
    ],
    ids=["another format", "a size that is not the kind's", "an unknown kind", "other blocks"],
)
def test_another_kind_of_file_is_refused(path: Path, damaged: bytes) -> None:
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"\w"):
        read_file(path)


@pytest.mark.parametrize("content", [None, b"", b"no model", written(TENSORS)])
def test_a_folder_without_the_model_says_what_to_run(path: Path, content: bytes | None) -> None:
    """Rule: a configuration error, one line, with the command; so is a model of other sizes."""
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match="model pull") as raised:
        MultilingualE5(path.parent)
    assert "\n" not in str(raised.value)
