"""`python -m tests.benchmarks.adapter [--fit]`: what E5 learns of support mail, and what that is worth.

`--fit` learns the adapter that ships (`support_agent/models/embedding/e5_adapter.npz`) from the questions to made-up
companies in `tests/trades`; it needs `torch`, which nothing else does, and half an hour on two cores. Without it,
printed is how often the nearest text alone names the right topic of the companies in `tests/companies`, with the
adapter and without; none of them is among those it was learnt from.

A step is one company: each question is compared with all its pages, with some of its other questions, as if they were
example questions, and with a constant, the likeness from which on something answers. What is minimised is the negative
log-probability of what answers it (of the constant, where nothing does), and half of that of the right section among
the sections. Vectors of words and the lower layers stay as they are.
Source: Hu et al. 2021, LoRA; van den Oord et al. 2018, InfoNCE.
"""

from __future__ import annotations

import argparse
import io
import math
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from support_agent.config.embedding import EmbeddingModel
from support_agent.config.settings import Settings
from support_agent.facts.topics import topics_of
from support_agent.models.embedders import PINNED
from support_agent.models.embedding import adapter
from support_agent.models.embedding.adapter import DOWN, UP, Adapter
from support_agent.models.embedding.e5 import MODEL_FILE, MultilingualE5
from support_agent.models.embedding.e5_file import read_file, unpacked
from support_agent.models.progress import stderr_progress
from support_agent.models.pulling import pull
from tests.benchmarks.companies import FITTED, company_questions, demo_settings, open_company, search_of
from tests.benchmarks.trades import NOTHING, Trade, topic_of, trades

WRITTEN = Path(adapter.__file__).parent / adapter.ADAPTER_FILE
REPORTED = ("rail", "insurer")
FIRST = 4
"""The lowest layer that changes."""
RANK = 16
EPOCHS = 2
RATE, CONSTANT_RATE = 1e-3, 5e-3
WARM_UP, LEAST_RATE = 0.08, 0.02
"""Shares: of the steps that the rate rises in, and of the rate that is left at the end."""
SCALE, CONSTANT = 40.0, 0.86
"""At the start: what cosines are multiplied by, and the constant that they are compared with."""
MOST_EXAMPLES = 0.5
"""At most this share of a company's questions is used as example questions."""
SECTION_SHARE = 0.5
BATCH_TOKENS = 4_096
NEVER = -1e4
SEED = 0
PARTS = ("q", "k", "v", "ao", "fi", "fo")
Tensor = Any
"""A tensor of torch, which is imported where it is used."""


class Network:
    """E5 in torch; the changes are what is learnt."""

    def __init__(self, path: Path) -> None:
        import torch

        self.torch = torch
        file = read_file(path)
        width, inner = file.sizes.width, file.sizes.inner
        self._heads, self._epsilon, self._layers = file.sizes.heads, file.epsilon, file.sizes.layers
        self._words = file.blocks("emb.word", width)
        places = file.floats("emb.pos").reshape(-1, width) + file.floats("emb.type").reshape(-1, width)[0]
        self._places = torch.tensor(places)
        self._start = [torch.tensor(file.floats(f"emb.ln.{part}")) for part in "wb"]
        self._fixed: dict[str, Tensor] = {}
        self.changes: dict[str, Tensor] = {}
        generator = torch.Generator().manual_seed(SEED)
        for number in range(self._layers):
            for part in PARTS:
                name = f"l{number}.{part}"
                weights = torch.tensor(file.matrix(f"{name}.w", inner if part == "fo" else width))
                self._fixed[f"{name}.w"] = weights
                self._fixed[f"{name}.b"] = torch.tensor(file.floats(f"{name}.b"))
                if number >= FIRST:
                    outputs, inputs = weights.shape
                    down = torch.randn(RANK, inputs, generator=generator) / inputs**0.5
                    self.changes[f"{name}.{DOWN}"] = down.requires_grad_()
                    self.changes[f"{name}.{UP}"] = torch.zeros(outputs, RANK, requires_grad=True)
            for part in ("aln", "oln"):
                self._fixed |= {
                    f"l{number}.{part}.{end}": torch.tensor(file.floats(f"l{number}.{part}.{end}")) for end in "wb"
                }

    def embed(self, texts: Sequence[Sequence[int]]) -> Tensor:
        """Vectors of length 1, of texts as tokens."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        batches: list[list[int]] = []
        batch: list[int] = []
        for place in order:
            if batch and (len(batch) + 1) * len(texts[place]) > BATCH_TOKENS:
                batches.append(batch)
                batch = []
            batch.append(place)
        vectors = self.torch.cat([self._run([texts[place] for place in own]) for own in [*batches, batch]])
        return vectors[self.torch.tensor(np.argsort(order))]

    def _run(self, texts: Sequence[Sequence[int]]) -> Tensor:
        torch = self.torch
        longest = max(map(len, texts))
        numbers = np.zeros((len(texts), longest), dtype=np.int64)
        real = torch.zeros(len(texts), longest)
        for row, text in enumerate(texts):
            numbers[row, : len(text)] = text
            real[row, : len(text)] = 1
        mask = torch.zeros(len(texts), 1, 1, longest, dtype=torch.bfloat16)
        mask.masked_fill_(real[:, None, None, :] == 0, NEVER)
        with torch.no_grad():
            words = torch.tensor(unpacked(self._words[numbers.ravel()])).reshape(*numbers.shape, -1)
            x = self._normalized(words + self._places[:longest], *self._start).to(torch.bfloat16)
            for number in range(FIRST):
                x = self._layer(x, number, mask)
        for number in range(FIRST, self._layers):
            x = self._layer(x, number, mask)
        means = (x.float() * real[:, :, None]).sum(1) / real.sum(1, keepdim=True)
        return torch.nn.functional.normalize(means, dim=1)

    def _layer(self, x: Tensor, number: int, mask: Tensor) -> Tensor:
        functional = self.torch.nn.functional
        texts, tokens, width = x.shape

        def heads(part: str) -> Tensor:
            return self._linear(x, f"l{number}.{part}").view(texts, tokens, self._heads, -1).transpose(1, 2)

        mixed = functional.scaled_dot_product_attention(heads("q"), heads("k"), heads("v"), attn_mask=mask)
        mixed = self._linear(mixed.transpose(1, 2).reshape(texts, tokens, width), f"l{number}.ao")
        x = self._after(x + mixed, f"l{number}.aln")
        inner = functional.gelu(self._linear(x, f"l{number}.fi"))
        return self._after(x + self._linear(inner, f"l{number}.fo"), f"l{number}.oln")

    def _linear(self, x: Tensor, name: str) -> Tensor:
        weights = self._fixed[f"{name}.w"]
        if f"{name}.{UP}" in self.changes:
            weights = weights + self.changes[f"{name}.{UP}"] @ self.changes[f"{name}.{DOWN}"]
        return self.torch.nn.functional.linear(x, weights.to(x.dtype), self._fixed[f"{name}.b"].to(x.dtype))

    def _after(self, x: Tensor, name: str) -> Tensor:
        return self._normalized(x.float(), self._fixed[f"{name}.w"], self._fixed[f"{name}.b"]).to(x.dtype)

    def _normalized(self, x: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
        return self.torch.nn.functional.layer_norm(x, x.shape[-1:], weights, bias, self._epsilon)


class Step(NamedTuple):
    """What a step compares: each question with pages, with questions that stand for examples, and with the constant."""

    examples: tuple[int, ...]
    """Places of those questions."""
    right: tuple[tuple[int, ...], ...]
    """For each question the columns that answer it: pages, then examples, last the constant."""
    ignored: tuple[tuple[int, ...], ...]
    """And those that neither do nor do not: itself, and other sections of the right document."""
    sections: tuple[tuple[int, int], ...]
    """Questions with the column of their section or account value."""


def step_of(trade: Trade, chance: random.Random) -> Step:
    """The columns of a company, with other examples each time."""
    pages, questions = trade.pages, trade.questions
    share = MOST_EXAMPLES * chance.random()
    examples = tuple(place for place, one in enumerate(questions) if one.page != NOTHING and chance.random() < share)
    constant = len(pages) + len(examples)
    right: list[tuple[int, ...]] = []
    ignored: list[tuple[int, ...]] = []
    sections: list[tuple[int, int]] = []
    for place, question in enumerate(questions):
        if question.page == NOTHING:
            right.append((constant,))
            ignored.append(())
            continue
        topic = topic_of(question.page)
        columns = [(column, page.number) for column, page in enumerate(pages) if page.topic == topic]
        columns += [
            (len(pages) + column, questions[example].page)
            for column, example in enumerate(examples)
            if topic_of(questions[example].page) == topic and example != place
        ]
        answers = tuple(column for column, number in columns if number in (question.page, topic))
        own = tuple(len(pages) + column for column, example in enumerate(examples) if example == place)
        right.append(answers)
        ignored.append((*own, *(column for column, _ in columns if column not in answers)))
        sections.append((place, next(column for column, page in enumerate(pages) if page.number == question.page)))
    return Step(examples, tuple(right), tuple(ignored), tuple(sections))


def fit(epochs: int, folder: Path) -> dict[str, Any]:
    """Learn the factors of the changes."""
    import torch

    torch.manual_seed(SEED)
    chance = random.Random(SEED)
    network, read = Network(folder / MODEL_FILE), MultilingualE5(folder, adapter=Adapter({}))
    companies = [(trade, _tokens(read, trade)) for trade in trades()]
    scale = torch.tensor(math.log(SCALE), requires_grad=True)
    constant = torch.tensor(CONSTANT, requires_grad=True)
    rates = (RATE, CONSTANT_RATE)
    learnt = list(network.changes.values())
    optimizer = torch.optim.AdamW([{"params": learnt}, {"params": [scale, constant], "weight_decay": 0.0}])
    total = epochs * len(companies)
    for number in range(epochs):
        started, losses = time.monotonic(), []
        chance.shuffle(companies)
        for place, (trade, tokens) in enumerate(companies):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * _share(number * len(companies) + place, total)
            loss = _loss(network, trade, tokens, step_of(trade, chance), scale.exp(), constant)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(learnt, 1.0)
            optimizer.step()
            losses.append(loss.item())
        _print(f"epoch {number + 1}: loss {np.mean(losses):.3f}, {time.monotonic() - started:.0f} s")
    return {name: change.detach().numpy().astype(np.float16) for name, change in network.changes.items()}


def _share(step: int, total: int) -> float:
    """Of the rate: it rises, and falls as a cosine."""
    return min(1.0, (step + 1) / (WARM_UP * total)) * max(LEAST_RATE, (1 + math.cos(math.pi * step / total)) / 2)


class _Tokens(NamedTuple):
    """The texts of a company as tokens: pages, its questions, and its questions as example questions."""

    pages: list[list[int]]
    asked: list[list[int]]
    examples: list[list[int]]


def _tokens(read: MultilingualE5, trade: Trade) -> _Tokens:
    asked = [question.text for question in trade.questions]
    return _Tokens(
        [read.tokens(page.text, "passage") for page in trade.pages],
        [read.tokens(text, "query") for text in asked],
        [read.tokens(text, "passage") for text in asked],
    )


def _loss(network: Network, trade: Trade, tokens: _Tokens, step: Step, scale: Tensor, constant: Tensor) -> Tensor:
    torch = network.torch
    shown = network.embed([*tokens.pages, *(tokens.examples[place] for place in step.examples)])
    cosines = network.embed(tokens.asked) @ shown.T
    count = len(trade.questions)
    scores = scale * torch.cat([cosines, constant.expand(count, 1)], dim=1)
    is_right = torch.zeros(scores.shape, dtype=torch.bool)
    is_ignored = torch.zeros(scores.shape, dtype=torch.bool)
    for place in range(count):
        is_right[place, list(step.right[place])] = True
        is_ignored[place, list(step.ignored[place])] = True
    chances = torch.log_softmax(scores.masked_fill(is_ignored, NEVER), dim=1)
    loss = -torch.logsumexp(chances.masked_fill(~is_right, NEVER), dim=1).mean()
    exact = torch.tensor([page.is_exact for page in trade.pages])
    asked, wanted = zip(*step.sections, strict=True)
    among = (scale * cosines[list(asked), : len(trade.pages)]).masked_fill(~exact, NEVER)
    return loss + SECTION_SHARE * torch.nn.functional.cross_entropy(among, torch.tensor(wanted))


def measured(name: str, settings: Settings, readers: Sequence[MultilingualE5]) -> str:
    """A company's line: how often the nearest text names a right topic, by each reader."""
    with open_company(name, settings) as company:
        topics = topics_of(company)
        asked = company_questions(name, search_of(name, settings).read)
    texts = [(topic.key, text) for topic in topics for texts in topic.texts().values() for text in texts]
    answered = [one for one in asked if {topic.key for topic in topics} & set(one.topics)]
    hits = []
    for reader in readers:
        near = reader.embed([one.question for one in answered], "query") @ reader.embed([text for _, text in texts]).T
        hits.append(sum(texts[best][0] in one.topics for best, one in zip(near.argmax(axis=1), answered, strict=True)))
    return f"{name:<10} {len(answered)} questions, right: {hits[0]} without the adapter, {hits[1]} with it"


def main() -> None:
    """Learn if told to, then measure."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.adapter")
    parser.add_argument("--fit", action="store_true", help="learn the adapter and write it; needs torch")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("companies", nargs="*", default=[*FITTED, *REPORTED], help="those to measure")
    args = parser.parse_args()
    with demo_settings() as settings:
        folder = pull(PINNED[EmbeddingModel.E5], settings.model, stderr_progress())
        if args.fit:
            WRITTEN.write_bytes(written(fit(args.epochs, folder)))
        readers = [MultilingualE5(folder, adapter=Adapter({})), MultilingualE5(folder)]
        for name in args.companies:
            _print(measured(name, settings, readers))


def written(factors: Mapping[str, Any]) -> bytes:
    """The file of the factors."""
    file = io.BytesIO()
    np.savez(file, **factors)
    return file.getvalue()


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
