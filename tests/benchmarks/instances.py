"""`python -m tests.benchmarks.instances [--mails N] [--rounds N]`: ways to answer questions of several mails at once.

The embedded model gets the questions that the plans of the first labelled mails asked: one after the other; from as
many threads as there are instances, which have the cores between them; and with the questions of two mails joined into
one batch (a prototype, here alone). The ways take turns, and each one's best round counts. Printed are the seconds of
the wall clock and of the processor, how many choices differ from the first way's, the largest difference of a
probability, and the memory that the way's model has for itself, beside the file of the weights that is mapped.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, cast

from llama_cpp import llama_cpp as lib

from support_agent.app.wiring import open_decider
from support_agent.config.loading import load
from support_agent.config.settings import ModelSettings
from support_agent.demo.workspace import CONFIG_FILE, init
from support_agent.models.language_model import MAX_OPTIONS, Prompt, Scores
from support_agent.models.llama import LlamaModel
from support_agent.models.llama_context import LEAST_BATCH_TOKENS, MAX_BATCH_TOKENS, LlamaContext, shared_start
from support_agent.models.opening import close
from support_agent.models.option_tree import TokenNode, build_tree
from support_agent.models.progress import stderr_progress
from support_agent.models.pulling import language_model
from support_agent.models.weights import LlamaWeights
from support_agent.models.writer import LanguageModel
from tests.benchmarks.labelled import TODAY, try_label
from tests.labelled import labels

Chances = list[float]
CONTEXT_TOKENS = 4096
JOINED = 2
"""Mails whose questions are joined."""
MOST_ENDS = 16
"""Most prompts in a joined batch."""
TIMEOUT_S = 600.0


class Question(NamedTuple):
    """What a plan asked: one prompt, or several with the same options."""

    prompts: tuple[Prompt, ...]
    options: tuple[str, ...]


@dataclass
class Recorder:
    """A model that keeps what it was asked."""

    model: LlamaModel
    questions: list[Question] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        self.questions.append(Question((prompt,), tuple(options)))
        return self.model.score(prompt, options)

    def score_each(self, prompts: Sequence[Prompt], options: Sequence[str]) -> tuple[Scores, ...]:
        self.questions.append(Question(tuple(prompts), tuple(options)))
        return self.model.score_each(prompts, options)


Mail = Sequence[Question]
Way = Callable[[Sequence[Mail]], list[Chances]]
"""Answers all questions of all mails; returns the probabilities of the options, in the order of mails and questions."""


@dataclass
class Tally:
    """One way: its seconds, what it found, and its memory."""

    name: str
    way: Way
    private_bytes: int = 0
    wall_s: float = math.inf
    processor_s: float = math.inf
    found: list[Chances] = field(default_factory=list)


def answer(model: LlamaModel, mail: Mail) -> list[Chances]:
    """The questions of one mail, as a plan asks them."""
    found: list[Chances] = []
    for prompts, options in mail:
        scores = model.score_each(prompts, options) if len(prompts) > 1 else (model.score(prompts[0], options),)
        found += [chances_of(one.log_probabilities or ()) for one in scores]
    return found


def one_by_one(model: LlamaModel) -> Way:
    return lambda mails: [chances for mail in mails for chances in answer(model, mail)]


def in_threads(model: LlamaModel, threads: int) -> Way:
    def way(mails: Sequence[Mail]) -> list[Chances]:
        with ThreadPoolExecutor(threads) as pool:
            return [chances for found in pool.map(lambda mail: answer(model, mail), mails) for chances in found]

    return way


def joined(weights: LlamaWeights, context: LlamaContext) -> Way:
    """The n-th questions of two mails are one batch."""

    def way(mails: Sequence[Mail]) -> list[Chances]:
        found: list[list[Chances]] = [[] for _ in mails]
        for start in range(0, len(mails), JOINED):
            together = range(start, min(start + JOINED, len(mails)))
            for questions in zip_longest(*(mails[row] for row in together)):
                asked = [(row, one) for row, one in zip(together, questions, strict=True) if one is not None]
                each = [(row, prompt, one.options) for row, one in asked for prompt in one.prompts]
                scores = score_together(weights, context, [(prompt, options) for _, prompt, options in each])
                for (row, *_), chances in zip(each, scores, strict=True):
                    found[row].append(chances)
        return [chances for mail in found for chances in mail]

    return way


def score_together(
    weights: LlamaWeights, context: LlamaContext, asked: Sequence[tuple[Prompt, Sequence[str]]]
) -> list[Chances]:
    """The probabilities of the options of several prompts: their ends are one batch, their trees another."""
    tokens = [weights.prompt_tokens(prompt) for prompt, _ in asked]
    line_end = weights.tokens("\n", trusted=True)
    trees = [build_tree([weights.tokens(one, trusted=False) + line_end for one in options]) for _, options in asked]
    shared = shared_start([own[:-LEAST_BATCH_TOKENS] for own in tokens])
    context.begin(math.inf, TIMEOUT_S)
    if shared:
        context.evaluate(tokens[0][:shared], then=MAX_BATCH_TOKENS)
    else:
        context.clear()
    scores = [[0.0] * len(options) for _, options in asked]
    sequences = range(1, len(asked) + 1)
    try:
        for sequence in sequences:
            lib.llama_memory_seq_cp(context.memory, 0, sequence, -1, -1)
        _decode_ends(context, [own[shared:] for own in tokens], shared, trees, scores)
        _decode_trees(context, list(map(len, tokens)), trees, scores)
    finally:
        for sequence in range(1, 1 + len(asked) + sum(map(len, scores))):
            lib.llama_memory_seq_rm(context.memory, sequence, -1, -1)
    return [chances_of(one) for one in scores]


def _decode_ends(
    context: LlamaContext,
    ends: Sequence[list[int]],
    start: int,
    trees: Sequence[TokenNode],
    scores: Sequence[list[float]],
) -> None:
    rows = [(i, place) for i, end in enumerate(ends) for place in range(len(end))]
    for first in range(0, len(rows), MAX_BATCH_TOKENS):
        batch = rows[first : first + MAX_BATCH_TOKENS]
        for row, (i, place) in enumerate(batch):
            context.put(row, ends[i][place], start + place, [i + 1], place == len(ends[i]) - 1)
        context.decode(len(batch))
        for row, (i, place) in enumerate(batch):
            if place == len(ends[i]) - 1:
                trees[i].add_branch(context.logits(row), scores[i])


def _decode_trees(
    context: LlamaContext, lengths: Sequence[int], trees: Sequence[TokenNode], scores: Sequence[list[float]]
) -> None:
    rows: list[tuple[int, TokenNode]] = []
    offset = len(trees) + 1
    for i, tree in enumerate(trees):
        nodes = [node for node in tree.below if len(node.leaves) > 1]
        if nodes:
            for leaf in range(len(scores[i])):
                lib.llama_memory_seq_cp(context.memory, i + 1, offset + leaf, -1, -1)
        for node in nodes:
            place = lengths[i] + node.depth - 1
            context.put(len(rows), node.token, place, [offset + leaf for leaf in node.leaves], len(node.children) > 1)
            rows.append((i, node))
        offset += len(scores[i])
    if rows:
        context.decode(len(rows))
        for row, (i, node) in enumerate(rows):
            if len(node.children) > 1:
                node.add_branch(context.logits(row), scores[i])


def chances_of(log_probabilities: Sequence[float]) -> Chances:
    return [math.exp(value) for value in log_probabilities]


def joined_context(weights: LlamaWeights, tokens: int, threads: int) -> LlamaContext:
    """A context for joined questions."""
    sequences = 1 + MOST_ENDS + JOINED * MAX_OPTIONS
    return LlamaContext(weights, tokens=tokens, sequences=sequences, threads=threads, clock=lambda: 0.0)


def measure(tallies: Sequence[Tally], mails: Sequence[Mail], rounds: int) -> None:
    """Let the ways take turns, `rounds` times, each after a warm start."""
    for _ in range(rounds):
        for tally in tallies:
            tally.way(mails[:1])
            wall_s, processor_s = time.perf_counter(), time.process_time()
            tally.found = tally.way(mails)
            tally.wall_s = min(tally.wall_s, time.perf_counter() - wall_s)
            tally.processor_s = min(tally.processor_s, time.process_time() - processor_s)


def table(tallies: Sequence[Tally], mails: int) -> str:
    """A line a way; the ratio is that of the seconds to the first way's."""
    lines = [f"{'way':<44} {'s a mail':>8} {'cpu s':>6} {'ratio':>6} {'differ':>6} {'by':>6} {'MB':>5}"]
    first = tallies[0]
    for tally in tallies:
        differ = sum(best(one) != best(other) for one, other in zip(tally.found, first.found, strict=True))
        by = max(
            abs(a - b)
            for one, other in zip(tally.found, first.found, strict=True)
            for a, b in zip(one, other, strict=True)
        )
        lines.append(
            f"{tally.name:<44} {tally.wall_s / mails:8.2f} {tally.processor_s / mails:6.2f} "
            f"{tally.wall_s / first.wall_s:6.2f} {differ:6} {by:6.3f} {tally.private_bytes / 1e6:5.0f}"
        )
    return "\n".join(lines)


def best(chances: Chances) -> int:
    return chances.index(max(chances))


def private_bytes() -> int:
    """What this process has of memory for itself, without the mapped file of the weights."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def recorded(path: Path, count: int) -> list[Mail]:
    """What the plans of the first mails of the set asked, of those that asked anything."""
    mails: list[Mail] = []
    with tempfile.TemporaryDirectory() as folder:
        init(Path(folder) / "workspace", TODAY.date())
        settings = load(Path(folder) / "workspace" / CONFIG_FILE)
        recorder = Recorder(LlamaModel(path, context_tokens=CONTEXT_TOKENS, timeout_s=TIMEOUT_S))
        model = cast(LanguageModel, recorder)
        decider = open_decider(settings, stderr_progress(), in_memory=True, model=model)
        for label in labels("labelled"):
            recorder.questions = []
            try_label(decider, label)
            mails += [recorder.questions] if recorder.questions else []
            if len(mails) == count:
                break
        close(recorder.model, decider.company.accounts)
    return mails


def main() -> None:
    """Record, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.instances", description=__doc__)
    parser.add_argument("--mails", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    path = language_model(ModelSettings(), stderr_progress())
    mails = recorded(path, arguments.mails)
    cores = os.cpu_count() or 1
    tallies: list[Tally] = []
    for instances in (1, cores):
        before = private_bytes()
        model = LlamaModel(path, context_tokens=CONTEXT_TOKENS, instances=instances, timeout_s=TIMEOUT_S)
        ways = [(f"{cores} mails at a time", in_threads(model, cores))]
        ways[:0] = [("one mail after the other", one_by_one(model))] if instances == 1 else []
        for _, way in ways:
            way(mails)  # all the memory that it needs
        tallies += [Tally(f"instances = {instances}, {name}", way, private_bytes() - before) for name, way in ways]
    context = joined_context(model.weights, CONTEXT_TOKENS, cores)
    tallies.append(Tally(f"questions of {JOINED} mails in one batch", joined(model.weights, context)))
    measure(tallies, mails, arguments.rounds)
    asked = sum(len(one.prompts) for mail in mails for one in mail)
    print(f"{len(mails)} mails, {asked} prompts, {cores} cores, best of {arguments.rounds} rounds")  # noqa: T201
    print(table(tallies, len(mails)))  # noqa: T201


if __name__ == "__main__":
    main()
