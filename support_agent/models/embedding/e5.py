"""multilingual-E5-small with 4-bit weights: 384 dimensions, about 100 languages, separate roles for questions.

Its upper layers are adapted to support mail (`adapter`). The network is computed here with numpy. The C engine that
comes with the weights is not used, as it would read customers' text: ten times U+FDFA, a character that stands for
eighteen, makes it write beyond its memory.

Invariant: a text's vector does not depend on the other texts of a call, to within 1e-5.
tests/contract/test_embedders.py checks it on the model.
Source: Wang et al. 2024, Multilingual E5 Text Embeddings: BERT (Devlin et al. 2019), the mean over the last hidden
state, L2 norm, and "query: " or "passage: " before the text.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from support_agent.models.embedding.adapter import Adapter, packaged
from support_agent.models.embedding.e5_file import E5File, read_file, unpacked
from support_agent.models.embedding.files import checksum, unusable
from support_agent.models.embedding.port import Role, Vectors
from support_agent.models.embedding.texts import readable
from support_agent.models.embedding.unigram import Unigram

MODEL_FILE = "e5-small-q4.bin"
DIMENSIONS = 384
MAX_TOKENS = 512
"""Positions of the model; later tokens are not read."""
MAX_CHARACTERS = 2_000
"""Characters to read, about 500 tokens in most languages."""
BATCH_TOKENS = 512
"""Tokens per batch: larger matrices are not faster."""
MARKERS = frozenset({"<s>", "<pad>", "</s>", "<mask>"})
MAX_THREADS = 4
"""Batches computed at once; each on one core, as a second one does not help with small matrices."""
VERSION = 2
"""Change it when this file computes other vectors."""
NORMALIZED = tuple[Vectors, Vectors]
"""Weights and bias of a layer normalization."""


class _Layer(NamedTuple):
    """The matrices of one layer, one column per output, each with its bias."""

    attention: tuple[Vectors, Vectors]
    mixed: tuple[Vectors, Vectors]
    after_attention: NORMALIZED
    widened: tuple[Vectors, Vectors]
    narrowed: tuple[Vectors, Vectors]
    after_all: NORMALIZED


class MultilingualE5:
    """An `Embedder`, loaded once. May be used from several threads."""

    dimensions = DIMENSIONS

    def __init__(self, model_dir: Path, *, threads: int = 0, adapter: Adapter | None = None) -> None:
        """Load the model.

        Args:
            model_dir: The folder with `e5-small-q4.bin`, verified.
            threads: Cores to use; 0: one per core, 4 at most.
            adapter: What is added to its weights; the adapter that ships by default.
        Raises:
            ConfigError: the folder does not hold the model.
        """
        path = model_dir / MODEL_FILE
        adapter = packaged() if adapter is None else adapter
        try:
            file = read_file(path)
            self._network = _Network(file, adapter)
            self.name = f"{checksum([path])}/{MAX_TOKENS}/{MAX_CHARACTERS}/{VERSION}/{adapter.version}"
            """Changes when the vectors do: from the checksums of both weights, the read length and the method."""
        except (OSError, ValueError, KeyError) as error:
            raise unusable(model_dir, error) from error
        self._ends = (file.first, file.last)
        markers = [number for number, piece in enumerate(file.pieces) if piece in MARKERS]
        self._tokenizer = Unigram(
            file.pieces, file.scores, unknown=file.unknown, markers=markers, replacements=file.replacements
        )
        self._threads = threads or min(os.cpu_count() or 1, MAX_THREADS)

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """Vectors of length 1, shape (len(texts), 384), in the order of the texts."""
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        tokens = [self.tokens(text, role) for text in texts]

        def computed(indices: Sequence[int]) -> Vectors:
            return self._network.run([tokens[index] for index in indices])

        parts = list(_batches([len(row) for row in tokens]))
        with ONE_CORE.limited():
            if len(parts) == 1 or self._threads == 1:
                found = list(map(computed, parts))
            else:
                with ThreadPoolExecutor(self._threads) as pool:
                    found = list(pool.map(computed, parts))
            for indices, rows in zip(parts, found, strict=True):
                vectors[indices] = rows
        return vectors

    def tokens(self, text: str, role: Role) -> list[int]:
        """The numbers of a text's pieces, its role and its ends among them; at most as many as it has characters.

        A character may stand for eighteen, and a mail of these would otherwise take seconds.
        """
        first, last = self._ends
        marked = f"{role}: {readable(text, MAX_CHARACTERS)}"
        numbers = self._tokenizer.encode(marked, MAX_CHARACTERS)
        return [first, *numbers[: min(len(marked), MAX_TOKENS - 2)], last]


class OneCore:
    """Limits the matrix library to one core per product while any call of E5 runs: the limit is the whole process's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limit: Any = None

    @contextmanager
    def limited(self) -> Iterator[None]:
        """The last of several concurrent calls restores the limit."""
        with self._lock:
            if not self._users:
                self._limit = ThreadpoolController().limit(limits=1, user_api="blas")
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._limit.restore_original_limits()


ONE_CORE = OneCore()


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Batches as indices of texts, in order; at least one text each."""
    batch: list[int] = []
    filled = 0
    for index, length in enumerate(lengths):
        if batch and filled + length > BATCH_TOKENS:
            yield batch
            batch, filled = [], 0
        batch.append(index)
        filled += length
    if batch:
        yield batch


class _Network:
    """The network's weights: float32, except for the 250,000 word vectors, which stay on the disk in 4 bits."""

    def __init__(self, file: E5File, adapter: Adapter) -> None:
        sizes = file.sizes
        if sizes.width != DIMENSIONS or sizes.positions != MAX_TOKENS or len(file.pieces) > sizes.words:
            raise ValueError(f"it holds another model: {sizes}")
        self._heads = sizes.heads
        self._epsilon = file.epsilon
        self._words = file.blocks("emb.word", sizes.width)
        places = file.floats("emb.pos").reshape(-1, sizes.width)
        self._places = places + file.floats("emb.type").reshape(-1, sizes.width)[0]
        self._start = (file.floats("emb.ln.w"), file.floats("emb.ln.b"))
        self._layers = [_layer(file, f"l{number}", adapter) for number in range(sizes.layers)]

    def run(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """One vector per text: the tokens of all texts form one matrix, but attend only within their text."""
        words = unpacked(self._words[np.concatenate(texts)])
        x = self._normalized(words + np.concatenate([self._places[: len(text)] for text in texts]), self._start)
        ends = np.cumsum([len(text) for text in texts])
        spans = [slice(end - len(text), end) for text, end in zip(texts, ends, strict=True)]
        for layer in self._layers:
            projected = x @ layer.attention[0] + layer.attention[1]
            attended = np.concatenate([self._attended(projected[span]) for span in spans])
            x = self._normalized(x + (attended @ layer.mixed[0] + layer.mixed[1]), layer.after_attention)
            inner = _gelu(x @ layer.widened[0] + layer.widened[1])
            x = self._normalized(x + (inner @ layer.narrowed[0] + layer.narrowed[1]), layer.after_all)
        means = np.stack([x[span].mean(axis=0) for span in spans])
        unit: Vectors = means / np.linalg.norm(means, axis=1, keepdims=True)
        return unit

    def _attended(self, projected: Vectors) -> Vectors:
        """Scaled dot-product attention of one text; `projected` is queries, keys and values side by side."""
        tokens, width = len(projected), projected.shape[1] // 3
        size = width // self._heads
        queries, keys, values = projected.reshape(tokens, 3, self._heads, size).transpose(1, 2, 0, 3)
        scores = queries @ keys.transpose(0, 2, 1) * np.float32(size**-0.5)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        attended: Vectors = (shares @ values).transpose(1, 0, 2).reshape(tokens, width)
        return attended

    def _normalized(self, x: Vectors, weights: NORMALIZED) -> Vectors:
        x = x - x.mean(axis=1, keepdims=True)
        deviations = np.sqrt(np.square(x).mean(axis=1, keepdims=True) + np.float32(self._epsilon))
        normalized: Vectors = x / deviations * weights[0] + weights[1]
        return normalized


def _layer(file: E5File, name: str, adapter: Adapter) -> _Layer:
    width, inner = file.sizes.width, file.sizes.inner

    def linear(*parts: str, columns: int = width) -> tuple[Vectors, Vectors]:
        names = [f"{name}.{part}" for part in parts]
        rows = np.concatenate([adapter.changed(each, file.matrix(f"{each}.w", columns)) for each in names])
        return np.ascontiguousarray(rows.T), np.concatenate([file.floats(f"{each}.b") for each in names])

    return _Layer(
        attention=linear("q", "k", "v"),
        mixed=linear("ao"),
        after_attention=(file.floats(f"{name}.aln.w"), file.floats(f"{name}.aln.b")),
        widened=linear("fi"),
        narrowed=linear("fo", columns=inner),
        after_all=(file.floats(f"{name}.oln.w"), file.floats(f"{name}.oln.b")),
    )


def _gelu(x: Vectors) -> Vectors:
    """GELU: x times the normal distribution function, by the error function of Abramowitz and Stegun, 7.1.26."""
    size = np.abs(x) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = np.full_like(t, 1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series *= t
        series += np.float32(factor)
    series *= t
    np.multiply(size, size, out=size)
    series *= np.exp(-size)
    half = np.float32(0.5) * x
    result: Vectors = half + np.abs(half) * (1 - series)
    return result
