"""The embedded language model's file, loaded once: its weights, its tokens and its chat template.

Invariant: text from outside is tokenised without special tokens, so that it cannot close its own turn. Checked by
tests/integration/models/test_llama.py.
"""

from __future__ import annotations

import ctypes
import logging
import os
from pathlib import Path
from typing import NamedTuple

import llama_cpp
from llama_cpp import llama_cpp as lib
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from support_agent.errors import ConfigError
from support_agent.models.language_model import Prompt

_SPLIT = "\u241e"  # placeholder for the outside text in the chat template
_LONGEST_PIECE_BYTES = 128
_LONGEST_VALUE_BYTES = 32
_LIBRARY = "llama-cpp-python"
"""The library prints what the level of this logger lets pass."""


class ModelShape(NamedTuple):
    """The sizes of a model that decide how much memory a context takes."""

    layers: int
    heads: int
    kv_heads: int
    embedding: int
    n_vocab: int

    def context_bytes(self, *, tokens: int, batch_tokens: int, outputs: int) -> int:
        """About how much memory a context takes.

        Keys and values (16 bits each) of every token in every layer, what attention compares in one batch, and the
        logits of as many tokens as `outputs`.
        """
        values = self.embedding // self.heads * self.kv_heads
        kept, compared = 2 * 2 * self.layers * values * tokens, 4 * batch_tokens * self.heads * tokens
        return kept + compared + 4 * outputs * self.n_vocab


def read_shape(path: Path) -> ModelShape | None:
    """The shape that a GGUF file states, without loading the weights; None: it does not state it in numbers."""
    logging.getLogger(_LIBRARY).setLevel(logging.CRITICAL)
    parameters = lib.llama_model_default_params()
    parameters.vocab_only = True
    model = lib.llama_model_load_from_file(os.fsencode(path), parameters)
    if not model:
        return None
    try:
        name = _stated(model, "general.architecture")
        keys = ("block_count", "attention.head_count", "attention.head_count_kv", "embedding_length")
        numbers = [_stated(model, f"{name}.{key}") for key in keys]
        if not all(number.isdigit() for number in numbers):
            return None
        layers, heads, kv_heads, embedding = map(int, numbers)
        n_vocab = lib.llama_vocab_n_tokens(lib.llama_model_get_vocab(model))
        return ModelShape(layers, heads, kv_heads, embedding, n_vocab)
    finally:
        lib.llama_model_free(model)


def _stated(model: lib.llama_model_p, key: str) -> str:
    """A short value of the file, "" if there is none."""
    buffer = ctypes.create_string_buffer(_LONGEST_VALUE_BYTES)
    lib.llama_model_meta_val_str(model, key.encode("ascii"), buffer, _LONGEST_VALUE_BYTES)
    return buffer.value.decode("utf-8", "replace")


class LlamaWeights:
    """A GGUF file in memory, for several threads; a context is used by one thread at a time.

    Args:
        path: The GGUF file.
    Raises:
        ConfigError: no such file, llama.cpp cannot load it, or it has no chat template.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise ConfigError(f"no model file at {path}: run 'support-agent model pull' or set model.path")
        self.name = path.stem
        try:
            self._llama = llama_cpp.Llama(
                model_path=str(path), vocab_only=False, n_ctx=32, n_seq_max=1, verbose=False, n_threads=1
            )
        except (ValueError, AssertionError, RuntimeError) as error:
            todo = "run 'support-agent model verify'"
            raise ConfigError(f"{path} is not a model llama.cpp can load ({error}): {todo}") from error
        self.model = self._llama._model.model
        self.vocab = lib.llama_model_get_vocab(self.model)
        self.n_vocab: int = lib.llama_vocab_n_tokens(self.vocab)
        self.shape = ModelShape(
            layers=lib.llama_model_n_layer(self.model),
            heads=lib.llama_model_n_head(self.model),
            kv_heads=lib.llama_model_n_head_kv(self.model),
            embedding=lib.llama_model_n_embd(self.model),
            n_vocab=self.n_vocab,
        )
        self._formatter = self._chat_formatter()

    def _chat_formatter(self) -> Jinja2ChatFormatter:
        template = self._llama.metadata.get("tokenizer.chat_template")
        if not template:
            raise ConfigError(f"{self.name} has no chat template: use an instruction-tuned model")
        eos = self.bytes_of(lib.llama_vocab_eos(self.vocab)).decode("utf-8", "replace")
        bos = self.bytes_of(lib.llama_vocab_bos(self.vocab)).decode("utf-8", "replace")
        return Jinja2ChatFormatter(template=template, eos_token=eos, bos_token=bos)

    def bytes_of(self, token: int) -> bytes:
        """The bytes of a token; a negative token has none."""
        if token < 0:
            return b""
        buffer = ctypes.create_string_buffer(_LONGEST_PIECE_BYTES)
        size = lib.llama_token_to_piece(self.vocab, token, buffer, _LONGEST_PIECE_BYTES, 0, True)
        return buffer.raw[: max(size, 0)]

    def tokens(self, text: str, *, trusted: bool) -> list[int]:
        """A text as tokens; only `trusted` text may contain control tokens."""
        if not text:
            return []
        tokens: list[int] = self._llama.tokenize(text.encode("utf-8"), add_bos=False, special=trusted)
        return tokens

    def ends_turn(self, token: int) -> bool:
        """Whether a token ends the model's turn; every control token does."""
        return bool(lib.llama_vocab_is_eog(self.vocab, token) or lib.llama_vocab_is_control(self.vocab, token))

    def prompt_tokens(self, prompt: Prompt) -> list[int]:
        """The prompt as tokens: fixed text is trusted, the mail and the names of options are not."""
        parts = [(prompt.task, True), *prompt.parts]
        frame = self._formatter(
            messages=[
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": _SPLIT},
            ]
        ).prompt
        before, _, after = frame.partition(_SPLIT)
        tokens = self.tokens(before, trusted=True)
        for text, trusted in parts:
            tokens += self.tokens(text, trusted=trusted)
        return tokens + self.tokens(after + prompt.lead, trusted=True)

    def close(self) -> None:
        """Free the weights, after every context on them; a second call does nothing."""
        self._llama.close()
