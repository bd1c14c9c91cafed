"""Drafts by the embedded language model, on the weights that are in memory already.

It has a context of its own, so that what is written moves nothing in the planner's cache, and both may work at once.

Invariant: the same prompt, temperature and seed give the same text on the same machine: each text begins with an empty
cache, and the random choices come from the seed alone. A text ends at its tokens' number, at its time, or where the
model ends its turn; a control token ends it too. Checked by tests/contract/test_writer.py,
tests/unit/models/test_llama_writer.py and tests/integration/facts/test_llama_writer.py.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from llama_cpp import llama_cpp as lib
from numpy.typing import NDArray

from support_agent.errors import PermanentError, TransientError
from support_agent.models.weights import MAX_BATCH_TOKENS, LlamaWeights
from support_agent.models.writer import Draft, Material, WritingUsage, check_writing, writing_prompt

MOST_LIKELY = 40
"""Tokens of which one is taken at random; the others are too unlikely to be meant."""

Logits = NDArray[np.float32]


class LlamaWriter:
    """`models.writer.Writer` on loaded weights. One text at a time: calls are serialised by a lock.

    Args:
        weights: The embedded model's; they are closed by whoever opened them, after this.
        context_tokens: Most tokens of a prompt and what is written.
        threads: 0: one per core.
        timeout_s: Seconds for one text, waiting for other threads' texts included.
        clock: Monotonic seconds.
    Raises:
        ConfigError: llama.cpp gives no context of that size.
    """

    def __init__(
        self,
        weights: LlamaWeights,
        *,
        context_tokens: int,
        threads: int = 0,
        timeout_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = weights.name
        self.timeout_s = timeout_s
        self._weights = weights
        self._n_ctx = context_tokens
        self._context = weights.new_context(tokens=context_tokens, sequences=1, threads=threads or os.cpu_count() or 1)
        self._batch = lib.llama_batch_init(MAX_BATCH_TOKENS, 0, 1)
        self._lock = threading.Lock()
        self._clock = clock

    def write(self, instruction: str, material: Material, *, temperature: float, max_tokens: int, seed: int) -> Draft:
        """See `models.writer.Writer.write`."""
        check_writing(temperature, max_tokens)
        prompt = self._weights.prompt_tokens(writing_prompt(instruction, material))
        if len(prompt) + max_tokens > self._n_ctx:
            what = f"the prompt has {len(prompt)} tokens, there is room for {self._n_ctx - max_tokens}"
            raise PermanentError(f"{what}: raise model.context_tokens", code="context")
        deadline = self._clock() + self.timeout_s
        if not self._lock.acquire(timeout=self.timeout_s):
            raise self._late()
        try:
            if self._context is None:
                raise PermanentError("the writer is closed", code="closed")
            self._weights.require_open()
            written, rows = self._continue(prompt, temperature, max_tokens, np.random.default_rng(seed), deadline)
        finally:
            self._lock.release()
        text = b"".join(map(self._weights.bytes_of, written)).decode("utf-8", "replace")
        return Draft(text=text, usage=WritingUsage(prompt_tokens=len(prompt), written_tokens=rows))

    def _continue(
        self, prompt: list[int], temperature: float, max_tokens: int, random: np.random.Generator, deadline: float
    ) -> tuple[list[int], int]:
        """The tokens written, and how many were chosen in all: the one that ends a text is paid for too."""
        lib.llama_memory_clear(lib.llama_get_memory(self._context), True)
        for start in range(0, len(prompt), MAX_BATCH_TOKENS):
            self._decode(prompt[start : start + MAX_BATCH_TOKENS], start, deadline)
        written: list[int] = []
        while True:
            token = choose_token(self._logits(), temperature, random)
            if self._is_end(token):
                return written, len(written) + 1
            written.append(token)
            if len(written) == max_tokens:
                return written, max_tokens
            self._decode([token], len(prompt) + len(written) - 1, deadline)

    def _decode(self, tokens: list[int], position: int, deadline: float) -> None:
        """One forward pass; the last token's logits are kept."""
        if self._clock() >= deadline:
            raise self._late()
        batch = self._batch
        for row, token in enumerate(tokens):
            batch.token[row] = token
            batch.pos[row] = position + row
            batch.n_seq_id[row] = 1
            batch.seq_id[row][0] = 0
            batch.logits[row] = row == len(tokens) - 1
        batch.n_tokens = len(tokens)
        status = lib.llama_decode(self._context, batch)
        if status != 0:
            raise TransientError(f"llama.cpp could not evaluate {len(tokens)} tokens, status {status}", code="model")

    def _logits(self) -> Logits:
        pointer: Any = lib.llama_get_logits_ith(self._context, -1)
        return np.ctypeslib.as_array(pointer, shape=(self._weights.n_vocab,))

    def _is_end(self, token: int) -> bool:
        vocab = self._weights.vocab
        return bool(lib.llama_vocab_is_eog(vocab, token) or lib.llama_vocab_is_control(vocab, token))

    def _late(self) -> TransientError:
        return TransientError(f"the model did not write within {self.timeout_s:g} s", code="model")

    def close(self) -> None:
        """Frees the context and leaves the weights; a second call does nothing."""
        if self._context is None:
            return
        self._weights.free_context(self._context)
        lib.llama_batch_free(self._batch)
        self._context = None


def choose_token(logits: Logits, temperature: float, random: np.random.Generator) -> int:
    """The next token: the likeliest at temperature 0, else one of the `MOST_LIKELY` by softmax(logits / temperature).

    Args:
        logits: One a token of the vocabulary, finite.
        temperature: 0..2.
        random: Where the choice comes from; drawn from once, and not at temperature 0.
    """
    if temperature == 0:
        return int(logits.argmax())
    kept = min(MOST_LIKELY, len(logits))
    best = np.sort(np.argpartition(-logits, kept - 1)[:kept])
    scaled = logits[best].astype(np.float64) / temperature
    chances = np.exp(scaled - scaled.max())
    return int(random.choice(best, p=chances / chances.sum()))
