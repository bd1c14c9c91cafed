"""`python -m tests.benchmarks.papers.two_hops`: are both pieces found, where an answer needs two?

34 questions of our own to two companies: two documents answer each together, or a row of a table and a text. They are
asked as a mail's, without the language model: what is compared are the passages of one retrieval, by the search alone,
with the likely document first, and consolidated (linker and chainer) as the fact room does. The demo's questions may be
developed on, the shop's are only reported. Checked by tests/unit/benchmarks/papers/test_two_hops.py.
Source: the setting of OTT-QA (Chen et al. 2021), as LLM-Augmenter (Peng et al. 2023) evaluates its consolidator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from pydantic import Field

from support_agent.cli.options import JsonOption, print_data
from support_agent.cli.terminal import as_table
from support_agent.company.company import Company
from support_agent.company.documents import Document
from support_agent.config.settings import Settings
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.facts.chunks import cutting_of, document_source
from support_agent.facts.documents_first import DocumentsFirst
from support_agent.facts.graph.company_entities import entities_of
from support_agent.facts.graph.entities import Linker
from support_agent.facts.index import Collection, memory_client
from support_agent.facts.inquiry.consolidator import Consolidator
from support_agent.facts.inquiry.room import LikelyFirst
from support_agent.facts.material import Passage, Retriever
from support_agent.facts.opening import open_search
from support_agent.facts.passages import PassageIndex
from support_agent.facts.search import CompanySearch
from support_agent.tools.fact_trace import DOCUMENT_SOURCE
from tests.benchmarks.companies import demo_settings, open_company
from tests.benchmarks.papers.command import run
from tests.benchmarks.papers.files import read_json_lines

FILE = Path(__file__).parent / "data" / "two_hops.jsonl"
RESAMPLES = 1_000
"""Of the questions, drawn with replacement: percentile bootstrap (Efron 1979)."""
_NUMBERS = count(1)
"""Of the collections, as those in memory share one store."""
WAYS = ("search alone", "likely document first", "consolidated, as a mail's")


class Piece(Frozen):
    """A sentence or a row of a document, by words that stand in it."""

    document: int
    words: str = Field(min_length=1)


class Question(Frozen):
    """What is asked, and the pieces that answer it together."""

    company: str
    kind: Literal["two documents", "table and text"]
    question: str
    gold: Annotated[tuple[Piece, ...], Field(min_length=2, max_length=2)]


class Row(Frozen):
    """One way on the questions to one company, or of one kind: shares 0..1, the range that of `both`."""

    of: str
    way: str
    questions: int
    both: float
    both_range: tuple[float, float]
    pieces: float


class Report(Frozen):
    """So many passages a question, and a row a way."""

    passages: int
    seed: int
    rows: tuple[Row, ...]


def ways_of(settings: Settings, company: Company, search: CompanySearch) -> Mapping[str, Retriever]:
    """The ways over the documents of a company."""
    sources = [document_source(document) for document in company.documents]
    name = f"two-hops-{next(_NUMBERS)}"
    cutting = cutting_of(settings.facts, search.embedder.count_tokens)
    index = PassageIndex(Collection(memory_client(), name), search.embedder, cutting, settings.facts.ways)
    index.update(sources)
    keys = frozenset(source.key for source in sources)
    alone = DocumentsFirst(search, index, keys)
    likely = Likely(search, index, frozenset(keys))
    among = lambda names: DocumentsFirst(search, index, names)  # noqa: E731
    return dict(zip(WAYS, (alone, likely, Consolidator(likely, Linker(entities_of(sources)), among)), strict=True))


class Likely:
    """`Retriever` that begins with the likeliest document of each question, as a mail's does."""

    def __init__(self, search: CompanySearch, index: PassageIndex, keys: frozenset[str]) -> None:
        self._search, self._index, self._keys = search, index, keys

    def find(self, question: str, n: int) -> Sequence[Passage]:
        """See `LikelyFirst.find`."""
        near = [match.topic for match in self._search.nearest(question) if match.topic in self._keys]
        everything = DocumentsFirst(self._search, self._index, self._keys)
        if not near:
            return everything.find(question, n)
        return LikelyFirst(DocumentsFirst(self._search, self._index, frozenset(near[:1])), everything).find(question, n)


def found_of(question: Question, passages: Sequence[Passage], documents: Mapping[int, Document]) -> tuple[bool, ...]:
    """Which of the pieces stand in the passages.

    Raises:
        ConfigError: a piece stands nowhere in its document.
    """
    return tuple(_is_found(piece, passages, documents) for piece in question.gold)


def _is_found(piece: Piece, passages: Sequence[Passage], documents: Mapping[int, Document]) -> bool:
    sentences = documents[piece.document].sentences if piece.document in documents else ()
    places = [sentence.index for sentence in sentences if piece.words in sentence.text]
    if not places:
        raise ConfigError(f"{FILE.name}: {piece.words!r} does not stand in document {piece.document}: correct it")
    source = f"{DOCUMENT_SOURCE}{piece.document}"
    return any(one.source == source and one.first <= place <= one.last for one in passages for place in places)


def row_of(of: str, way: str, found: Sequence[tuple[bool, ...]], seed: int) -> Row:
    """The shares of one way; 1 question or more."""
    both = np.array([all(pieces) for pieces in found], dtype=np.float64)
    draws = np.random.default_rng(seed).integers(0, len(both), size=(RESAMPLES, len(both)))
    low, high = np.quantile(both[draws].mean(axis=1), (0.025, 0.975))
    pieces = float(np.mean([each for pieces in found for each in pieces]))
    return Row(of=of, way=way, questions=len(found), both=float(both.mean()), both_range=(low, high), pieces=pieces)


def evaluate(
    asked: Sequence[Question], ways: Mapping[str, Retriever], documents: Mapping[int, Document], n: int
) -> dict[str, list[tuple[bool, ...]]]:
    """What each way finds of each question, `n` passages a question."""
    return {name: [found_of(one, way.find(one.question, n), documents) for one in asked] for name, way in ways.items()}


def main(
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="Of the resamples.")] = 1, as_json: JsonOption = False
) -> None:
    """Look for both pieces of each question among the passages that the fact room would grade."""
    questions = read_json_lines(FILE, Question)
    rows: list[Row] = []
    with demo_settings() as settings:
        n = settings.grading.passages
        for name in dict.fromkeys(one.company for one in questions):
            asked = [one for one in questions if one.company == name]
            with open_company(name, settings) as company:
                ways = ways_of(settings, company, open_search(settings, company, in_memory=True))
                documents = {int(document.number): document for document in company.documents}
                found = evaluate(asked, ways, documents, n)
            rows += [row_of(name, way, pieces, seed) for way, pieces in found.items()]
    report = Report(passages=n, seed=seed, rows=tuple(rows))
    print_data(report, as_json, table(report))


def table(report: Report) -> str:
    """A row a way and company."""
    head = ("QUESTIONS TO", "WAY", "QUESTIONS", "BOTH", "95% OF RESAMPLES", "PIECES")
    rows = [
        (
            *(row.of, row.way, str(row.questions), f"{row.both:.0%}"),
            *(f"{row.both_range[0]:.0%} to {row.both_range[1]:.0%}", f"{row.pieces:.0%}"),
        )
        for row in report.rows
    ]
    return f"Two hops, {report.passages} passages a question, seed {report.seed}:\n{as_table([head, *rows])}"


if __name__ == "__main__":
    run(main, "two_hops")
