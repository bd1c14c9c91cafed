"""Contexts of llama.cpp, each with its batch and its cache: one caller at a time for each, within its time.

Scores do not depend on earlier calls. llama.cpp computes the rows of a batch in groups of four, and small batches
differently from large ones, which changes a probability by a hundredth; so the cache is kept only up to a multiple of
`ROW_GROUP`, a batch of a prompt has at least `LEAST_BATCH_TOKENS` (unless the prompt is shorter), and flash attention,
which changes its method at 64 rows, is off.

Checked by tests/integration/models/test_llama.py and tests/integration/facts/test_llama_writer.py.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from llama_cpp import llama_cpp as lib

from support_agent.errors import ConfigError, PermanentError, TransientError
from support_agent.models.option_tree import Logits
from support_agent.models.weights import LlamaWeights

MAX_BATCH_TOKENS = 512
LEAST_BATCH_TOKENS = 16
ROW_GROUP = 4


class LlamaContext:
    """A context on loaded weights; `close` it before them.

    Args:
        weights: The embedded model's.
        tokens: Size of the context.
        sequences: Most sequences in it.
        threads: Cores to use, 1 or more.
        clock: Monotonic seconds.
    Raises:
        ConfigError: llama.cpp cannot create a context of that size.
    """

    def __init__(
        self, weights: LlamaWeights, *, tokens: int, sequences: int, threads: int, clock: Callable[[], float]
    ) -> None:
        params = lib.llama_context_default_params()
        params.n_ctx = tokens
        params.n_batch = params.n_ubatch = MAX_BATCH_TOKENS
        params.n_seq_max = sequences
        params.kv_unified = True
        params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.n_threads = params.n_threads_batch = threads
        params.no_perf = True
        self._context: Any = lib.llama_init_from_model(weights.model, params)
        if not self._context:
            raise ConfigError(f"llama.cpp gave no context of {tokens} tokens: lower model.context_tokens")
        self.memory = lib.llama_get_memory(self._context)
        self._batch = lib.llama_batch_init(MAX_BATCH_TOKENS, 0, sequences)
        self._n_ctx, self._n_vocab = tokens, weights.n_vocab
        self._cached: list[int] = []
        self._clock = clock
        self._deadline, self._timeout_s = math.inf, math.inf

    def begin(self, deadline: float, timeout_s: float) -> None:
        """Set the instant of the clock until which `decode` works, and the seconds that its error names."""
        self._deadline, self._timeout_s = deadline, timeout_s

    def cached_start(self, tokens: Sequence[int]) -> int:
        """How many of these tokens, from the first, are in the cache."""
        return next(
            (i for i, (old, new) in enumerate(zip(self._cached, tokens, strict=False)) if old != new),
            min(len(self._cached), len(tokens)),
        )

    @property
    def n_evaluated(self) -> int:
        """The number of prompt tokens in sequence 0."""
        return len(self._cached)

    def clear(self) -> None:
        """Clear the cache."""
        lib.llama_memory_clear(self.memory, True)
        self._cached = []

    def evaluate(self, tokens: list[int], *, then: int) -> int:
        """Set sequence 0 to `tokens`, with the logits of the last one; returns the number of evaluated tokens.

        Args:
            tokens: A prompt; the common start with the previous one is reused.
            then: The number of further tokens that must fit.
        Raises:
            PermanentError: they do not fit (code `context`).
            TransientError: as `decode`.
        """
        if len(tokens) + then > self._n_ctx:
            what = f"the prompt has {len(tokens)} tokens, there is room for {self._n_ctx - then}"
            raise PermanentError(f"{what}: raise model.context_tokens", code="context")
        kept = self.cached_start(tokens[:-LEAST_BATCH_TOKENS])
        kept -= kept % ROW_GROUP
        lib.llama_memory_seq_rm(self.memory, 0, kept, -1)
        self._cached = tokens[:kept]
        start = kept
        while start < len(tokens):
            end = min(start + MAX_BATCH_TOKENS, len(tokens))
            if 0 < len(tokens) - end < LEAST_BATCH_TOKENS:
                end -= LEAST_BATCH_TOKENS
            for row, token in enumerate(tokens[start:end]):
                self.put(row, token, start + row, [0], start + row == len(tokens) - 1)
            self.decode(end - start)
            self._cached = tokens[:end]
            start = end
        return len(tokens) - kept

    def put(self, row: int, token: int, position: int, sequences: Sequence[int], wants_logits: bool) -> None:
        """Set a row of the next batch."""
        self._batch.token[row] = token
        self._batch.pos[row] = position
        self._batch.n_seq_id[row] = len(sequences)
        for i, sequence in enumerate(sequences):
            self._batch.seq_id[row][i] = sequence
        self._batch.logits[row] = wants_logits

    def decode(self, rows: int) -> None:
        """One forward pass over the rows of the batch.

        Raises:
            TransientError: the deadline has passed, or llama.cpp failed (code `model`); the cache is then cleared.
        """
        if self._clock() >= self._deadline:
            raise _late(self._timeout_s)
        self._batch.n_tokens = rows
        status = lib.llama_decode(self._context, self._batch)
        if status == 0 and self._clock() < self._deadline:
            return
        self.clear()
        if status == 0:
            raise _late(self._timeout_s)
        raise TransientError(f"llama.cpp could not evaluate {rows} tokens, status {status}", code="model")

    def logits(self, row: int) -> Logits:
        """The logits of a row that requested them; -1 is the last one."""
        pointer: Any = lib.llama_get_logits_ith(self._context, row)
        return np.ctypeslib.as_array(pointer, shape=(self._n_vocab,))

    def close(self) -> None:
        """Free the context and its batch."""
        lib.llama_batch_free(self._batch)
        lib.llama_free(self._context)


class ContextPool:
    """Contexts on the same weights, each for one caller at a time; `close` it before the weights."""

    def __init__(self, contexts: Sequence[LlamaContext], clock: Callable[[], float]) -> None:
        self._contexts = tuple(contexts)
        self._free = list(contexts)
        self._turns = threading.Semaphore(len(contexts))
        self._choosing = threading.Lock()
        self._clock = clock
        self._is_closed = False

    @contextmanager
    def turn(self, timeout_s: float) -> Iterator[Callable[[Sequence[int]], LlamaContext]]:
        """Wait until a context is free, and use it exclusively; the wait counts towards the seconds.

        Yields:
            Takes the tokens of a prompt, and returns the free context whose cache holds most of their start. Call it
            once.
        Raises:
            TransientError: none was free in time (code `model`).
            PermanentError: the pool is closed (code `closed`).
        """
        deadline = self._clock() + timeout_s
        if not self._turns.acquire(timeout=timeout_s):
            raise _late(timeout_s)
        taken: list[LlamaContext] = []

        def take(tokens: Sequence[int]) -> LlamaContext:
            with self._choosing:
                best = max(self._free, key=lambda context: context.cached_start(tokens))
                self._free.remove(best)
            taken.append(best)
            best.begin(deadline, timeout_s)
            return best

        try:
            if self._is_closed:
                raise PermanentError("the model is closed", code="closed")
            yield take
        finally:
            with self._choosing:
                self._free += taken
            self._turns.release()

    def close(self) -> None:
        """Free the contexts when nobody uses them any more; a second call does nothing."""
        for _ in self._contexts:
            self._turns.acquire()
        if not self._is_closed:
            self._is_closed = True
            for context in self._contexts:
                context.close()
        for _ in self._contexts:
            self._turns.release()


def _late(timeout_s: float) -> TransientError:
    return TransientError(f"the model did not answer within {timeout_s:g} s", code="model")


def shared_start(prompts: Sequence[Sequence[int]]) -> int:
    """The length of the common start of all prompts, in whole groups of rows, shorter than each prompt; 0: none."""
    if not prompts:
        return 0
    first, *others = prompts
    same = 0
    while all(len(own) > same + 1 for own in prompts) and all(own[same] == first[same] for own in others):
        same += 1
    return same - same % ROW_GROUP
