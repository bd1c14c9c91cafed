"""`python -m tests.benchmarks.passages [--dstc11 DIR]`: what the index of passages costs, and what it finds.

At each size the same collection is searched by both ways, by vectors and by words, over documents made by rules; with
`--dstc11` also over the questions and answers of that data set, among those of the right place and among all.
Recall@k is the share of questions whose document is the source of one of the first k passages. A size adds to the one
before, so its embedding is that of the new documents alone. Ratios are to the first row; seconds are this machine's
and are asserted nowhere. `--hashed` takes vectors that need no model: what is left is the cost of the index alone, for
more and longer documents than can be embedded within minutes.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from chromadb.api import ClientAPI

from support_agent.config.facts import FactSettings, Ways
from support_agent.config.settings import ChromaSettings, ModelSettings
from support_agent.facts.chunks import Source, cut, in_characters, page_source
from support_agent.facts.index import Collection, TextEmbedder, open_client
from support_agent.facts.passages import PassageIndex
from support_agent.models.embedding.minilm import MiniLM
from support_agent.models.embedding.port import Vectors
from support_agent.models.progress import stderr_progress
from support_agent.models.pulling import embedding_model
from tests.benchmarks.documents import MOST, Question, by_code, documents, in_other_words, topics
from tests.unit.facts.words import WordEmbedder

SEED = 4
ASKED = 200
DEPTHS = (1, 4, 10)
CUTTING = in_characters(FactSettings().chunk_size, FactSettings().chunk_overlap)
KILOBYTES_A_MEGABYTE = 1024
COSTS = (
    *("documents", "chunks", "new", "embedding s", "the rest s"),
    *("ms a new chunk", "a start s", "one changed s", "peak MB"),
)
FOUND = ("searched", "way", *(f"recall@{depth}" for depth in DEPTHS), "ms a question", "slowest ms", "ratio")

Asked = Sequence[tuple[Question, frozenset[str] | None]]
"""Each question with the sources that may be found; None: all."""


class Timed:
    """An embedder that knows how long it took."""

    def __init__(self, embedder: TextEmbedder) -> None:
        self._embedder = embedder
        self.seconds = 0.0

    @property
    def name(self) -> str:
        return self._embedder.name

    def embed(self, texts: Sequence[str]) -> Vectors:
        started = time.perf_counter()
        vectors = self._embedder.embed(texts)
        self.seconds += time.perf_counter() - started
        return vectors


@dataclass
class Bench:
    """One collection, searched in three ways."""

    client: ClientAPI
    embedder: Timed
    name: str

    def index(self, ways: Ways) -> PassageIndex:
        return PassageIndex(Collection(self.client, self.name), self.embedder, CUTTING, ways)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What the index of passages costs, and what it finds.")
    parser.add_argument("--documents", type=int, nargs="*", default=[20, 1_000, MOST], metavar="COUNT")
    parser.add_argument(
        "--asked", type=int, default=ASKED, metavar="COUNT", help="questions of each kind, at each size"
    )
    parser.add_argument("--paragraphs", type=int, default=2, help="of about 170 characters, a document")
    parser.add_argument("--dstc11", type=Path, metavar="DIR", help="the folder of its three files")
    parser.add_argument("--hashed", action="store_true", help="vectors that need no model and mean nothing")
    parser.add_argument("--threads", type=int, default=0, help="of the embedding model; 0: one per core")
    asked = parser.parse_args(arguments)
    model = WordEmbedder() if asked.hashed else _minilm(asked.threads)
    with tempfile.TemporaryDirectory() as folder:
        client = open_client(ChromaSettings(path=Path(folder)))
        if asked.documents:
            _made(Bench(client, Timed(model), "made"), asked.documents, asked.paragraphs, asked.asked)
        if asked.dstc11:
            _dstc11(Bench(client, Timed(model), "dstc11"), asked.dstc11)


def _minilm(threads: int) -> MiniLM:
    return MiniLM(embedding_model(ModelSettings(), stderr_progress()), threads=threads)


def _made(bench: Bench, sizes: Sequence[int], paragraphs: int, count: int) -> None:
    """The same number of questions at each size; the first topics are part of all sizes."""
    chosen = topics(max(sizes), SEED)
    sources = documents(chosen, SEED, paragraphs)
    costs: list[tuple[str, ...]] = [COSTS]
    found: list[tuple[str, ...]] = [FOUND]
    for size in sorted(sizes):
        costs.append(_cost(bench, sources[:size]))
        for ask in (in_other_words, by_code):
            asked = [(question, None) for question in ask(chosen[:size], count, SEED)]
            found += _ways(bench, sources[:size], asked, f"{size} documents, {ask.__name__}")
    _print(costs)
    _print(found)


def _cost(bench: Bench, sources: Sequence[Source]) -> tuple[str, ...]:
    """Update to these sources, then as a new process would, then with one document changed."""
    index = bench.index(Ways.BOTH)
    before_s = bench.embedder.seconds
    new, took_s = _timed(index, sources)
    embedding_s = bench.embedder.seconds - before_s
    _, start_s = _timed(bench.index(Ways.BOTH), sources)
    changed = sources[0].model_copy(update={"title": "Changed"})
    _, changed_s = _timed(index, [changed, *sources[1:]])
    index.update(sources)
    chunks = sum(len(cut(source, CUTTING)) for source in sources)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILOBYTES_A_MEGABYTE
    each_ms = 1_000 * took_s / new if new else 0.0
    numbers = (embedding_s, took_s - embedding_s, each_ms, start_s, changed_s)
    return (str(len(sources)), str(chunks), str(new), *(f"{number:.2f}" for number in numbers), f"{peak_mb:.0f}")


def _timed(index: PassageIndex, sources: Sequence[Source]) -> tuple[int, float]:
    started = time.perf_counter()
    return index.update(sources), time.perf_counter() - started


def _ways(bench: Bench, sources: Sequence[Source], asked: Asked, what: str) -> list[tuple[str, ...]]:
    """A row for each way; the time of a question has its embedding in it."""
    rows, base_s = [], 0.0
    for ways in Ways:
        index = bench.index(ways)
        index.update(sources)
        places, seconds = _places(index, asked)
        base_s = base_s or median(seconds)
        recalls = (sum(place <= depth for place in places) / len(places) for depth in DEPTHS)
        times = (f"{1_000 * median(seconds):.1f}", f"{1_000 * max(seconds):.1f}", f"{median(seconds) / base_s:.2f}")
        rows.append((what, ways.value, *(f"{recall:.3f}" for recall in recalls), *times))
    return rows


def _places(index: PassageIndex, asked: Asked) -> tuple[list[int], list[float]]:
    """Where the right document first stands, from 1 on, and how long each question took."""
    index.find("warm", 1)
    places, seconds = [], []
    for question, allowed in asked:
        started = time.perf_counter()
        found = index.find(question.text, max(DEPTHS), allowed)
        seconds.append(time.perf_counter() - started)
        at = [place for place, passage in enumerate(found, start=1) if passage.source in question.keys]
        places.append(min(at, default=max(DEPTHS) + 1))
    return places, seconds


def _dstc11(bench: Bench, folder: Path) -> None:
    """Each question and answer is a source; asked is the last turn, where a question and answer is what was used."""
    knowledge, labels, logs = (
        json.loads((folder / f"{name}.json").read_text("utf-8")) for name in ("knowledge", "labels", "logs")
    )
    sources = [
        page_source(f"{domain}/{place}/{number}", f"{entry['name']}: {faq['question']}", faq["answer"])
        for domain, places in knowledge.items()
        for place, entry in places.items()
        for number, faq in entry["faqs"].items()
    ]
    of_place: list[tuple[Question, frozenset[str] | None]] = []
    of_all: list[tuple[Question, frozenset[str] | None]] = []
    for log, label in zip(logs, labels, strict=True):
        used = [s for s in label.get("knowledge", ()) if s["doc_type"] == "faq"]
        if used:
            place = f"{used[0]['domain']}/{used[0]['entity_id']}"
            keys = frozenset(f"{s['domain']}/{s['entity_id']}/{s['doc_id']}" for s in used)
            name = knowledge[used[0]["domain"]][str(used[0]["entity_id"])]["name"]
            near = frozenset(source.key for source in sources if source.key.startswith(f"{place}/"))
            of_place.append((Question(log[-1]["text"], keys), near))
            of_all.append((Question(f"{name}: {log[-1]['text']}", keys), None))
    rows = _ways(bench, sources, of_place, f"dstc11: {len(of_place)} turns, the place's")
    rows += _ways(bench, sources, of_all, f"dstc11: all {len(sources)}, the place named")
    _print([FOUND, *rows])


def _print(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())  # noqa: T201
    print()  # noqa: T201


if __name__ == "__main__":
    main()
