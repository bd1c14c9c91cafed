"""all-MiniLM-L6-v2, int8: small, fast, and made for English.

Invariant: a text's vector does not depend on the other texts of a call, to within 1e-5; only the weights are int8, and
padding is masked. tests/integration/facts/test_embedding.py checks it on the model.
Source: mean pooling over the last hidden state and L2 norm, as in Sentence-BERT (Reimers and Gurevych 2019).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from tokenizers import Encoding, Tokenizer

from support_agent.models.embedding.files import checksum, unusable
from support_agent.models.embedding.onnx import open_session
from support_agent.models.embedding.port import Role, Vectors
from support_agent.models.embedding.texts import readable

MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
DIMENSIONS = 384
MAX_TOKENS = 256
"""The model was trained on texts of up to 256 tokens; later tokens are not read."""
BATCH_TOKENS = 1_024
"""Tokens per pass with padding: more are no faster, and the runtime keeps the memory of its largest pass."""
MAX_THREADS = 4
"""More threads do not help on texts this short."""
MAX_CHARACTERS = 10_000
"""Characters to tokenise: more than 256 tokens of any text that people write."""


class MiniLM:
    """An `Embedder`, loaded once; the role changes nothing. May be used from several threads."""

    dimensions = DIMENSIONS

    def __init__(self, model_dir: Path, *, threads: int = 0) -> None:
        """Load the model.

        Args:
            model_dir: The folder with `model.onnx` and `tokenizer.json`, verified.
            threads: Cores to use; 0: one per core, 4 at most.
        Raises:
            ConfigError: the folder does not hold the model.
        """
        self._session = open_session(model_dir / MODEL_FILE, threads or min(os.cpu_count() or 1, MAX_THREADS))
        try:
            self._tokenizer: Tokenizer = Tokenizer.from_file(str(model_dir / TOKENIZER_FILE))
        except Exception as error:  # the library raises bare Exceptions of its own
            raise unusable(model_dir, error) from error
        self._tokenizer.no_padding()
        self._whole: Tokenizer = Tokenizer.from_str(self._tokenizer.to_str())
        self._whole.no_truncation()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        files = [model_dir / name for name in (MODEL_FILE, TOKENIZER_FILE)]
        self.name = f"{checksum(files)}/{MAX_TOKENS}/{MAX_CHARACTERS}"
        """Changes when the vectors do: from the checksum of the model's files and the read length."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, without the two end marks; it adds up over parts split at spaces."""
        return [len(encoding.ids) for encoding in self._whole.encode_batch(list(texts), add_special_tokens=False)]

    def embed(self, texts: Sequence[str], role: Role = "passage") -> Vectors:
        """Vectors of length 1, shape (len(texts), 384), in the order of the texts.

        An empty text has a vector too, close to no topic.
        """
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        encodings: list[Encoding] = self._tokenizer.encode_batch([readable(text, MAX_CHARACTERS) for text in texts])
        for indices in _batches([len(encoding.ids) for encoding in encodings]):
            vectors[indices] = self._run([encodings[index] for index in indices])
        return vectors

    def _run(self, encodings: Sequence[Encoding]) -> Vectors:
        """One pass over texts of similar length, padded to the longest."""
        length = max(len(encoding.ids) for encoding in encodings)
        ids = np.zeros((len(encodings), length), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (hidden,) = self._session.run(None, inputs)
        weights = mask[:, :, np.newaxis].astype(np.float32)
        means = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        unit: Vectors = (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)
        return unit


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Batches as indices of texts of similar length, the shortest first; at least one text each."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[index] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
