"""Turn short texts into vectors whose dot product says how alike their meanings are (all-MiniLM-L6-v2, int8).

Invariant: a text has one vector, whatever it is embedded together with, to within 1e-5; the weights are int8,
the activations are not, and padding is masked. Nothing is reported to the makers of the runtime.
tests/integration/facts/test_embedding.py checks both on the model.
Source: mean pooling over the last hidden state and L2 norm, as in Sentence-BERT (Reimers and Gurevych 2019).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from support_agent.errors import ConfigError

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read on import; without it onnxruntime reports to its makers

import onnxruntime  # type: ignore[import-untyped]

MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
DIMENSIONS = 384
MAX_TOKENS = 256
"""The model was trained on texts of up to 256 tokens; what is behind them is not seen."""
BATCH = 32
MAX_THREADS = 4
"""More threads do not help on texts this short."""
LOG_ERRORS_ONLY = 3

Vectors = NDArray[np.float32]


class Embedder:
    """The embedding model, loaded once. May be used from several threads."""

    def __init__(self, model_dir: Path, *, threads: int = 0) -> None:
        """Load the model.

        Args:
            model_dir: The folder with `model.onnx` and `tokenizer.json`, verified.
            threads: Cores to use; 0: one per core, 4 at most.
        Raises:
            ConfigError: the folder does not hold the model.
        """
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or min(os.cpu_count() or 1, MAX_THREADS)
        options.inter_op_num_threads = 1
        options.log_severity_level = LOG_ERRORS_ONLY
        try:
            self._tokenizer: Tokenizer = Tokenizer.from_file(str(model_dir / TOKENIZER_FILE))
            self._session: Any = onnxruntime.InferenceSession(
                str(model_dir / MODEL_FILE), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # both libraries raise bare Exceptions of their own
            what = f"the embedding model in {model_dir} cannot be loaded: {str(error).splitlines()[0]}"
            raise ConfigError(f"{what}: run `support-agent model pull`") from error
        self._tokenizer.no_padding()
        self._whole: Tokenizer = Tokenizer.from_str(self._tokenizer.to_str())
        self._whole.no_truncation()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        digest = hashlib.sha256()
        for name in (MODEL_FILE, TOKENIZER_FILE):
            digest.update((model_dir / name).read_bytes())
        self._name = f"{digest.hexdigest()}/{MAX_TOKENS}"

    @property
    def name(self) -> str:
        """Changes when the vectors do: the checksum of the model's files, and how much of a text is seen."""
        return self._name

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, without the two that mark its ends; parted at white space they add up."""
        return [len(encoding.ids) for encoding in self._whole.encode_batch(list(texts), add_special_tokens=False)]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of length 1, shape (len(texts), 384), in the order of the texts.

        An empty text has a vector too, near to nothing in particular.
        """
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        encodings: list[Encoding] = self._tokenizer.encode_batch(list(texts))
        by_length = sorted(range(len(texts)), key=lambda index: len(encodings[index].ids))
        for start in range(0, len(by_length), BATCH):
            indices = by_length[start : start + BATCH]
            vectors[indices] = self._run([encodings[index] for index in indices])
        return vectors

    def _run(self, encodings: Sequence[Encoding]) -> Vectors:
        """One pass over texts of about one length, padded to the longest."""
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
