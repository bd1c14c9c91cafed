"""The embedded language model's file, loaded once: its weights, its tokens and its chat template.

Two rooms work on the same weights, each with a context of its own: `models.llama` scores closed options, and
`facts.llama_writer` writes the internal drafts. This file does neither.

Invariant: text from outside is tokenised without special tokens, so that it cannot close its own turn; and the weights
outlive every context on them. Checked by tests/integration/models/test_llama.py and
tests/integration/facts/test_llama_writer.py.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import llama_cpp
from llama_cpp import llama_cpp as lib
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from support_agent.errors import ConfigError, PermanentError
from support_agent.models.language_model import Prompt

MAX_BATCH_TOKENS = 512
_SPLIT = "\u241e"  # stands for the outside text while the chat template is filled in
_LONGEST_PIECE_BYTES = 128


class LlamaWeights:
    """A GGUF file in memory; several threads may use it, each context belongs to one at a time.

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
        self._model = self._llama._model.model
        self.vocab = lib.llama_model_get_vocab(self._model)
        self.n_vocab: int = lib.llama_vocab_n_tokens(self.vocab)
        self._contexts: list[Any] = []
        self._is_closed = False
        self._formatter = self._chat_formatter()

    def _chat_formatter(self) -> Jinja2ChatFormatter:
        template = self._llama.metadata.get("tokenizer.chat_template")
        if not template:
            raise ConfigError(f"{self.name} has no chat template: use an instruction-tuned model")
        eos = self.bytes_of(lib.llama_vocab_eos(self.vocab)).decode("utf-8", "replace")
        bos = self.bytes_of(lib.llama_vocab_bos(self.vocab)).decode("utf-8", "replace")
        return Jinja2ChatFormatter(template=template, eos_token=eos, bos_token=bos)

    def bytes_of(self, token: int) -> bytes:
        """The bytes a token stands for; of a negative one none."""
        if token < 0:
            return b""
        buffer = ctypes.create_string_buffer(_LONGEST_PIECE_BYTES)
        size = lib.llama_token_to_piece(self.vocab, token, buffer, _LONGEST_PIECE_BYTES, 0, True)
        return buffer.raw[: max(size, 0)]

    def tokens(self, text: str, *, trusted: bool) -> list[int]:
        """A text as tokens; only in the program's own (`trusted`) are control tokens read as such."""
        if not text:
            return []
        tokens: list[int] = self._llama.tokenize(text.encode("utf-8"), add_bos=False, special=trusted)
        return tokens

    def count(self, text: str) -> int:
        """How many tokens a text from outside has."""
        return len(self.tokens(text, trusted=False))

    def prompt_tokens(self, prompt: Prompt) -> list[int]:
        """The prompt as tokens: the program's own text trusted, the mail and every name of an option not."""
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

    def new_context(self, *, tokens: int, sequences: int, threads: int) -> Any:
        """A context of llama.cpp on these weights; `close` frees it, if nobody does before.

        Args:
            tokens: Room for so many.
            sequences: Sequences that share the room.
            threads: Cores to use, 1 or more.
        Raises:
            ConfigError: llama.cpp gives none.
            PermanentError: the weights are closed (code `closed`).
        """
        self.require_open()
        params = lib.llama_context_default_params()
        params.n_ctx = tokens
        params.n_batch = params.n_ubatch = MAX_BATCH_TOKENS
        params.n_seq_max = sequences
        params.kv_unified = True
        params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.n_threads = params.n_threads_batch = threads
        params.no_perf = True
        context = lib.llama_init_from_model(self._model, params)
        if not context:
            raise ConfigError(f"llama.cpp gave no context of {tokens} tokens: lower model.context_tokens")
        self._contexts.append(context)
        return context

    def free_context(self, context: Any) -> None:
        """Frees one of this file's contexts; of one that is gone already, nothing."""
        if context in self._contexts:
            self._contexts.remove(context)
            lib.llama_free(context)

    def require_open(self) -> None:
        """Refuse work on weights that are gone.

        Raises:
            PermanentError: they are closed (code `closed`).
        """
        if self._is_closed:
            raise PermanentError(f"the model {self.name} is closed", code="closed")

    def close(self) -> None:
        """Frees every context and then the weights; a second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        for context in tuple(self._contexts):
            self.free_context(context)
        self._llama.close()
