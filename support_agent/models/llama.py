"""The embedded language model, through llama.cpp: scores closed options, and writes the fact room's drafts.

It implements `language_model.Model` and `writer.Writer` on the same weights, each with contexts of its own, so that
writing does not change scores, and both can run at once. `open_writing`, or the first text, opens the writing context.
With several instances as many choices are made at once, each on its share of the cores.

Scores: the model decides only at the branch points of the tree of continuations; other tokens are forced. The whole
tree is *one* batch in which every node belongs to the sequences of the options below it; the unchanged start of the
prompt stays in the cache. Several prompts with a common start are one batch, too. Scores need no sampling.

Texts: the same prompt, temperature and seed give the same text on the same machine: each text starts with an empty
cache, and all random choices come from the seed. A text ends at the token limit, at the time limit, or when the model
ends its turn or writes a control token.

Text from outside (the mail) is tokenised without special tokens, so a mail cannot close its own turn.

Checked by tests/contract/test_model.py, tests/contract/test_writer.py, tests/unit/models/test_llama.py,
tests/integration/models/test_llama.py and tests/integration/facts/test_llama_writer.py.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from llama_cpp import llama_cpp as lib

from support_agent.errors import PermanentError
from support_agent.models.language_model import MAX_OPTIONS, Prompt, Scores, Usage, check_options
from support_agent.models.llama_context import MAX_BATCH_TOKENS, ContextPool, LlamaContext, shared_start
from support_agent.models.memory import require_memory, usable_bytes
from support_agent.models.option_tree import Logits, TokenNode, build_tree
from support_agent.models.weights import LlamaWeights, ModelShape
from support_agent.models.writer import Draft, Material, check_writing, writing_prompt

MOST_LIKELY = 40
"""Sample from this many of the likeliest tokens."""


def require_room(
    shape: ModelShape, instances: int, context_tokens: int, usable_bytes: Callable[[], int | None] = usable_bytes
) -> None:
    """Refuse several instances that do not fit into memory beside the weights.

    Raises:
        ConfigError: there is too little memory.
    """
    if instances > 1:
        each = shape.context_bytes(tokens=context_tokens, batch_tokens=MAX_BATCH_TOKENS, outputs=MAX_OPTIONS + 1)
        require_memory(instances * each, instances, usable_bytes())


class LlamaModel:
    """`language_model.Model` and `writer.Writer` on a GGUF file; several threads may use it at once.

    Args:
        path: The GGUF file.
        context_tokens: Most tokens of a prompt and its options, and of a prompt and its text.
        threads: For all instances together; 0: one per core.
        instances: Choices at a time; texts are written one at a time.
        usable_bytes: Returns the memory that there is; None: unknown, nothing is checked.
        timeout_s: Seconds for one choice, including the wait for other threads. A started batch of up to
            `MAX_BATCH_TOKENS` is finished: an interrupt inside llama.cpp's own callback would be lost.
        writing_timeout_s: The same for one text.
        clock: Monotonic seconds.
    Raises:
        ConfigError: no such file, llama.cpp cannot use it, or there is too little memory for several instances.
    """

    def __init__(
        self,
        path: Path,
        *,
        context_tokens: int,
        threads: int = 0,
        instances: int = 1,
        usable_bytes: Callable[[], int | None] = usable_bytes,
        timeout_s: float = 30.0,
        writing_timeout_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.weights = LlamaWeights(path)
        self.name = self.weights.name
        self.timeout_s, self.writing_timeout_s = timeout_s, writing_timeout_s
        require_room(self.weights.shape, instances, context_tokens, usable_bytes)
        n_threads = max(1, (threads or os.cpu_count() or 1) // instances)
        self._open = partial(LlamaContext, self.weights, tokens=context_tokens, threads=n_threads, clock=clock)
        self._clock = clock
        self._scoring = ContextPool([self._open(sequences=MAX_OPTIONS + 1) for _ in range(instances)], clock)
        self._writing: ContextPool | None = None
        self._opening = threading.Lock()
        self._is_closed = False

    # Scores

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        """The probability of each option as the continuation, given that one of them follows.

        Args:
            prompt: Its start stays in the cache between calls.
            options: 2..60 different texts.
        Raises:
            PermanentError: prompt and options exceed the context (code `context`), or not 2..60 different
                options whose shared starts fit a batch (code `options`).
            TransientError: no result within `timeout_s`, or the model could not evaluate the batch.
        """
        check_options(options)
        with self._scoring.turn(self.timeout_s) as take:
            tree, tokens = self._option_tree(options), self.weights.prompt_tokens(prompt)
            context = take(tokens)
            evaluated = context.evaluate(tokens, then=MAX_BATCH_TOKENS)
            probabilities, more, passes = self._score_tree(context, tree, len(options))
        usage = Usage(prompt_tokens=evaluated, tree_tokens=more, forward_passes=passes)
        return Scores(log_probabilities=tuple(probabilities), usage=usage)

    def score_each(self, prompts: Sequence[Prompt], options: Sequence[str]) -> tuple[Scores, ...]:
        """As `score` for each prompt; the common start is evaluated once, and the ends as one batch.

        If the first tokens do not distinguish the options, or the ends do not fit a batch, the prompts are scored one
        by one, each within `timeout_s`.
        """
        check_options(options)
        tokens = [self.weights.prompt_tokens(prompt) for prompt in prompts]
        shared = shared_start(tokens)
        ends = [own[shared:] for own in tokens]
        if shared and len(ends) <= MAX_OPTIONS and sum(map(len, ends)) <= MAX_BATCH_TOKENS:
            with self._scoring.turn(self.timeout_s) as take:
                tree = self._option_tree(options)
                if not any(len(node.children) > 1 for node in tree.below):
                    return self._score_ends(take(tokens[0]), tokens[0][:shared], ends, tree, len(options))
        return tuple(self.score(prompt, options) for prompt in prompts)

    def _score_ends(
        self, context: LlamaContext, start: list[int], ends: Sequence[list[int]], tree: TokenNode, count: int
    ) -> tuple[Scores, ...]:
        """The scores of prompts with a common start: each end is a sequence after it."""
        evaluated = context.evaluate(start, then=MAX_BATCH_TOKENS)
        sequences = range(1, len(ends) + 1)
        rows, last_rows = 0, []
        for sequence, end in zip(sequences, ends, strict=True):
            for place, token in enumerate(end):
                context.put(rows + place, token, len(start) + place, [sequence], place == len(end) - 1)
            rows += len(end)
            last_rows.append(rows - 1)
        try:
            for sequence in sequences:
                lib.llama_memory_seq_cp(context.memory, 0, sequence, -1, -1)
            context.decode(rows)
            branches = [[0.0] * count for _ in ends]
            for row, scores in zip(last_rows, branches, strict=True):
                tree.add_branch(context.logits(row), scores)
        finally:
            for sequence in sequences:
                lib.llama_memory_seq_rm(context.memory, sequence, -1, -1)
        whole = Usage(prompt_tokens=evaluated + rows, forward_passes=2)
        usages = [whole, *[Usage()] * (len(ends) - 1)]
        return tuple(
            Scores(log_probabilities=tuple(scores), usage=usage) for scores, usage in zip(branches, usages, strict=True)
        )

    def _option_tree(self, options: Sequence[str]) -> TokenNode:
        ends = self.weights.tokens("\n", trusted=True)
        try:
            tree = build_tree([self.weights.tokens(option, trusted=False) + ends for option in options])
        except ValueError as error:
            raise PermanentError(f"the options cannot be told apart: {error}", code="options") from error
        if sum(len(node.leaves) > 1 for node in tree.below) > MAX_BATCH_TOKENS:
            raise PermanentError(f"the options share more than {MAX_BATCH_TOKENS} tokens", code="options")
        return tree

    def _score_tree(self, context: LlamaContext, tree: TokenNode, count: int) -> tuple[list[float], int, int]:
        """Log-probabilities of the leaves; tokens and forward passes spent beyond the prompt's own."""
        scores = [0.0] * count
        tree.add_branch(context.logits(-1), scores)
        nodes = [node for node in tree.below if len(node.leaves) > 1]
        if not nodes:
            return scores, 0, 1
        for leaf in range(count):
            lib.llama_memory_seq_cp(context.memory, 0, leaf + 1, -1, -1)
        base = context.n_evaluated
        for row, node in enumerate(nodes):
            sequences = [leaf + 1 for leaf in node.leaves]
            context.put(row, node.token, base + node.depth - 1, sequences, len(node.children) > 1)
        try:
            context.decode(len(nodes))
            for row, node in enumerate(nodes):
                if len(node.children) > 1:
                    node.add_branch(context.logits(row), scores)
        finally:
            for leaf in range(count):
                lib.llama_memory_seq_rm(context.memory, leaf + 1, -1, -1)
        return scores, len(nodes), 2

    # Texts

    def count_tokens(self, text: str) -> int:
        """See `writer.Writer.count_tokens`; the number is exact."""
        return len(self.weights.tokens(text, trusted=False))

    def generate(
        self, instruction: str, material: Material, *, temperature: float, max_tokens: int, seed: int
    ) -> Draft:
        """See `writer.Writer.generate`."""
        check_writing(temperature, max_tokens)
        with self._writing_pool().turn(self.writing_timeout_s) as take:
            prompt = self.weights.prompt_tokens(writing_prompt(instruction, material))
            context = take(prompt)
            context.clear()
            context.evaluate(prompt, then=max_tokens)
            written, rows = self._continue(context, temperature, max_tokens, np.random.default_rng(seed))
            text = b"".join(map(self.weights.bytes_of, written)).decode("utf-8", "replace")
        return Draft(text=text, usage=Usage(prompt_tokens=len(prompt), tree_tokens=rows, forward_passes=rows))

    def open_writing(self) -> None:
        """See `writer.LanguageModel.open_writing`."""
        self._writing_pool()

    def _writing_pool(self) -> ContextPool:
        with self._opening:
            if self._is_closed:
                raise PermanentError("the model is closed", code="closed")
            if self._writing is None:
                self._writing = ContextPool([self._open(sequences=1)], self._clock)
            return self._writing

    def _continue(
        self, context: LlamaContext, temperature: float, max_tokens: int, random: np.random.Generator
    ) -> tuple[list[int], int]:
        """The written tokens, and the number of chosen ones, including the one that ends the text."""
        written: list[int] = []
        while True:
            token = choose_token(context.logits(-1), temperature, random)
            if self.weights.ends_turn(token):
                return written, len(written) + 1
            written.append(token)
            if len(written) == max_tokens:
                return written, max_tokens
            context.put(0, token, context.n_evaluated + len(written) - 1, [0], True)
            context.decode(1)

    def close(self) -> None:
        """Free the contexts, then the weights; a second call does nothing."""
        with self._opening:
            self._is_closed = True
            for pool in filter(None, (self._writing, self._scoring)):
                pool.close()
            self.weights.close()


def choose_token(logits: Logits, temperature: float, random: np.random.Generator) -> int:
    """The next token: the likeliest at temperature 0, else one of the `MOST_LIKELY` by softmax(logits / temperature).

    Args:
        logits: One per token of the vocabulary, finite.
        temperature: 0..2.
        random: The source of the choice; used once, but not at temperature 0.
    """
    if temperature == 0:
        return int(logits.argmax())
    kept = min(MOST_LIKELY, len(logits))
    best = np.sort(np.argpartition(-logits, kept - 1)[:kept])
    scaled = logits[best].astype(np.float64) / temperature
    chances = np.exp(scaled - scaled.max())
    return int(random.choice(best, p=chances / chances.sum()))
