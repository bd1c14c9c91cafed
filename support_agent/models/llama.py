"""The embedded language model: scores closed options in one forward pass each, through llama.cpp.

The valid continuations of a prompt form a finite tree of tokens. The model decides at its branch points only:
the tokens between them are forced. The whole tree is evaluated as *one* batch in which every node belongs to
the sequences of the options below it, and the prompt's unchanged start stays in the cache, so it is not
evaluated again. Several prompts that begin alike are one batch, too, each behind the start that they share. Nothing
is sampled: there is no call in this file that makes the model write text.

Scores do not depend on what was asked before. llama.cpp computes the rows of a batch in groups of four, and a
small batch in another way than a large one, which moves a probability by a hundredth; so the cache is kept up
to a multiple of `ROW_GROUP` only, a batch of a prompt has `LEAST_BATCH_TOKENS` or more (unless the prompt is
shorter), and flash attention is off, which changes its ways at 64 rows.

Text from outside (the mail) is tokenised without special tokens, so a mail cannot close its own turn.

Checked by tests/contract/test_model.py, tests/unit/models/test_llama_tree.py and
tests/integration/models/test_llama.py.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from llama_cpp import llama_cpp as lib

from support_agent.errors import PermanentError, TransientError
from support_agent.models.language_model import MAX_OPTIONS, Prompt, Scores, Usage, check_options
from support_agent.models.weights import MAX_BATCH_TOKENS, LlamaWeights

LEAST_BATCH_TOKENS = 16
ROW_GROUP = 4


@dataclass
class Node:
    """One token of the tree of continuations; the root's token is -1 and is the prompt's last token."""

    token: int
    depth: int
    leaves: list[int] = field(default_factory=list)
    children: dict[int, Node] = field(default_factory=dict)
    row: int = -1
    """The row of the batch whose logits predict the children."""


def build_tree(continuations: Sequence[Sequence[int]]) -> Node:
    """The tree of the continuations, cut after the last token that distinguishes each from the others.

    Raises:
        ValueError: a continuation is empty, or the start of another one (give each an end token).
    """
    root = Node(token=-1, depth=0)
    ends = []
    for leaf, tokens in enumerate(continuations):
        node = root
        node.leaves.append(leaf)
        for token in tokens:
            node = node.children.setdefault(token, Node(token=token, depth=node.depth + 1))
            node.leaves.append(leaf)
        ends.append(node)
    if any(end is root or end.children or len(end.leaves) > 1 for end in ends):
        raise ValueError("each continuation must differ from, and not begin, another one")
    return root


class LlamaModel:
    """`support_agent.models.language_model.Model` on a GGUF file. One at a time: calls are serialised by a lock.

    Args:
        path: The GGUF file.
        context_tokens: Most tokens of a prompt and its options.
        threads: 0: one per core.
        timeout_s: Seconds for one choice, waiting for other threads' choices included. A batch of up to
            `MAX_BATCH_TOKENS` that has begun is finished: an interrupt inside llama.cpp's own callback would be lost.
        clock: Monotonic seconds.
    Raises:
        ConfigError: no such file, or llama.cpp cannot use it.
    """

    def __init__(
        self,
        path: Path,
        *,
        context_tokens: int,
        threads: int = 0,
        timeout_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.weights = LlamaWeights(path)
        self.name = self.weights.name
        self.timeout_s = timeout_s
        self._n_ctx = context_tokens
        self._context = self.weights.new_context(
            tokens=context_tokens, sequences=MAX_OPTIONS + 1, threads=threads or os.cpu_count() or 1
        )
        self._memory = lib.llama_get_memory(self._context)
        self._batch = lib.llama_batch_init(MAX_BATCH_TOKENS, 0, MAX_OPTIONS + 1)
        self._cached: list[int] = []
        self._lock = threading.Lock()
        self._clock = clock
        self._deadline = math.inf

    def prompt_tokens(self, prompt: Prompt) -> list[int]:
        """The prompt as tokens: the program's own text trusted, the mail and every name of an option not."""
        return self.weights.prompt_tokens(prompt)

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        """The probability of each option as the continuation, given that one of them follows.

        Args:
            prompt: What the model reads; its start is kept in the cache from call to call.
            options: 2..60 different texts.
        Raises:
            PermanentError: prompt and options exceed the context (code `context`), or not 2..60 different
                options whose shared starts fit a batch (code `options`).
            TransientError: no result within `timeout_s`, or the model could not evaluate the batch.
        """
        check_options(options)
        with self._in_time():
            tree, count = self._option_tree(options), len(options)
            evaluated = self._evaluate_prompt(self.prompt_tokens(prompt))
            probabilities, more, passes = self._score_tree(tree, count)
        usage = Usage(prompt_tokens=evaluated, tree_tokens=more, forward_passes=passes)
        return Scores(log_probabilities=tuple(probabilities), usage=usage)

    def score_each(self, prompts: Sequence[Prompt], options: Sequence[str]) -> tuple[Scores, ...]:
        """As `score` for each prompt; what all begin with is evaluated once, and their ends as one batch.

        One after the other, each within `timeout_s`, where the options' first tokens do not tell them apart, or the
        ends do not fit a batch.
        """
        check_options(options)
        tokens = [self.prompt_tokens(prompt) for prompt in prompts]
        shared = shared_start(tokens)
        ends = [own[shared:] for own in tokens]
        if shared and len(ends) <= MAX_OPTIONS and sum(map(len, ends)) <= MAX_BATCH_TOKENS:
            with self._in_time():
                tree = self._option_tree(options)
                if not any(len(node.children) > 1 for node in _below(tree)):
                    return self._score_ends(tokens[0][:shared], ends, tree, len(options))
        return tuple(self.score(prompt, options) for prompt in prompts)

    def _score_ends(self, start: list[int], ends: Sequence[list[int]], tree: Node, count: int) -> tuple[Scores, ...]:
        """The scores of prompts that begin alike: each end is a sequence of its own behind the start."""
        evaluated = self._evaluate_prompt(start)
        sequences = range(1, len(ends) + 1)
        rows, last_rows = 0, []
        for sequence, end in zip(sequences, ends, strict=True):
            for place, token in enumerate(end):
                self._put(rows + place, token, len(start) + place, [sequence], place == len(end) - 1)
            rows += len(end)
            last_rows.append(rows - 1)
        try:
            for sequence in sequences:
                lib.llama_memory_seq_cp(self._memory, 0, sequence, -1, -1)
            self._decode(rows)
            branches = [[0.0] * count for _ in ends]
            for row, scores in zip(last_rows, branches, strict=True):
                self._add_branch(tree, self._logits(row), scores)
        finally:
            for sequence in sequences:
                lib.llama_memory_seq_rm(self._memory, sequence, -1, -1)
        whole = Usage(prompt_tokens=evaluated + rows, forward_passes=2)
        usages = [whole, *[Usage()] * (len(ends) - 1)]
        return tuple(
            Scores(log_probabilities=tuple(scores), usage=usage) for scores, usage in zip(branches, usages, strict=True)
        )

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """Holds the lock, and sets the deadline that `_decode` keeps."""
        deadline = self._clock() + self.timeout_s
        if not self._lock.acquire(timeout=self.timeout_s):
            raise self._late()
        try:
            self._deadline = deadline
            yield
        finally:
            self._lock.release()

    def _late(self) -> TransientError:
        return TransientError(f"the model did not answer within {self.timeout_s:g} s", code="model")

    def _option_tree(self, options: Sequence[str]) -> Node:
        ends = self.weights.tokens("\n", trusted=True)
        try:
            tree = build_tree([self.weights.tokens(option, trusted=False) + ends for option in options])
        except ValueError as error:
            raise PermanentError(f"the options cannot be told apart: {error}", code="options") from error
        if sum(len(node.leaves) > 1 for node in _below(tree)) > MAX_BATCH_TOKENS:
            raise PermanentError(f"the options share more than {MAX_BATCH_TOKENS} tokens", code="options")
        return tree

    def _evaluate_prompt(self, tokens: list[int]) -> int:
        """Brings sequence 0 to `tokens`, leaves the last one's logits; returns how many were evaluated."""
        if len(tokens) + MAX_BATCH_TOKENS > self._n_ctx:
            room = self._n_ctx - MAX_BATCH_TOKENS
            raise PermanentError(
                f"the prompt has {len(tokens)} tokens, there is room for {room}: raise model.context_tokens",
                code="context",
            )
        kept = 0
        for old, new in zip(self._cached, tokens[:-LEAST_BATCH_TOKENS], strict=False):
            if old != new:
                break
            kept += 1
        kept -= kept % ROW_GROUP
        lib.llama_memory_seq_rm(self._memory, 0, kept, -1)
        self._cached = tokens[:kept]
        start = kept
        while start < len(tokens):
            end = min(start + MAX_BATCH_TOKENS, len(tokens))
            if 0 < len(tokens) - end < LEAST_BATCH_TOKENS:
                end -= LEAST_BATCH_TOKENS
            for row, token in enumerate(tokens[start:end]):
                self._put(row, token, start + row, [0], start + row == len(tokens) - 1)
            self._decode(end - start)
            self._cached = tokens[:end]
            start = end
        return len(tokens) - kept

    def _put(self, row: int, token: int, position: int, sequences: Sequence[int], wants_logits: bool) -> None:
        self._batch.token[row] = token
        self._batch.pos[row] = position
        self._batch.n_seq_id[row] = len(sequences)
        for i, sequence in enumerate(sequences):
            self._batch.seq_id[row][i] = sequence
        self._batch.logits[row] = wants_logits

    def _decode(self, rows: int) -> None:
        if self._clock() >= self._deadline:
            raise self._late()
        self._batch.n_tokens = rows
        status = lib.llama_decode(self._context, self._batch)
        if status == 0 and self._clock() >= self._deadline:
            lib.llama_memory_clear(self._memory, True)
            self._cached = []
            raise self._late()
        if status != 0:
            lib.llama_memory_clear(self._memory, True)
            self._cached = []
            raise TransientError(f"llama.cpp could not evaluate {rows} tokens, status {status}", code="model")

    def _logits(self, row: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        pointer = lib.llama_get_logits_ith(self._context, row)
        return np.ctypeslib.as_array(pointer, shape=(self.weights.n_vocab,))

    def _score_tree(self, tree: Node, count: int) -> tuple[list[float], int, int]:
        """Log-probabilities of the leaves; tokens and forward passes spent beyond the prompt's own."""
        scores = [0.0] * count
        self._add_branch(tree, self._logits(-1), scores)
        nodes = [node for node in _below(tree) if len(node.leaves) > 1]
        if not nodes:
            return scores, 0, 1
        for leaf in range(count):
            lib.llama_memory_seq_cp(self._memory, 0, leaf + 1, -1, -1)
        base = len(self._cached)
        for row, node in enumerate(nodes):
            node.row = row
            sequences = [leaf + 1 for leaf in node.leaves]
            self._put(row, node.token, base + node.depth - 1, sequences, len(node.children) > 1)
        try:
            self._decode(len(nodes))
            for node in nodes:
                if len(node.children) > 1:
                    self._add_branch(node, self._logits(node.row), scores)
        finally:
            for leaf in range(count):
                lib.llama_memory_seq_rm(self._memory, leaf + 1, -1, -1)
        return scores, len(nodes), 2

    @staticmethod
    def _add_branch(node: Node, logits: np.ndarray[Any, np.dtype[np.float32]], scores: list[float]) -> None:
        if len(node.children) < 2:
            return
        children = list(node.children.values())
        values = logits[[child.token for child in children]].astype(np.float64)
        peak = float(values.max())
        norm = peak + math.log(float(np.exp(values - peak).sum()))
        for child, value in zip(children, values, strict=True):
            for leaf in child.leaves:
                scores[leaf] += float(value) - norm

    def close(self) -> None:
        """Frees the model's memory, and with it every other context on its weights; a second call does nothing."""
        if not self._context:
            return
        lib.llama_batch_free(self._batch)
        self._context = None
        self.weights.close()


def shared_start(prompts: Sequence[Sequence[int]]) -> int:
    """With how many tokens, whole groups of rows, all prompts begin and none ends; 0 where there are none."""
    if not prompts:
        return 0
    first, *others = prompts
    same = 0
    while all(len(own) > same + 1 for own in prompts) and all(own[same] == first[same] for own in others):
        same += 1
    return same - same % ROW_GROUP


def _below(node: Node) -> list[Node]:
    nodes = []
    for child in node.children.values():
        nodes.append(child)
        nodes += _below(child)
    return nodes
