"""DSTC11 track 5 by the path that a mail takes: reviews and FAQs as a company's documents, chosen as the product does.

Each hotel and restaurant is one document whose sections are its reviews and its answered questions; all of them are one
company's. The dialogue so far is the mail, asked whole. One document and its sections are chosen by the product's own
search, weights and thresholds, without the language model. Nothing is trained on the benchmark, and no gold is looked
at. Checked by tests/unit/benchmarks/papers/test_mail_path.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from support_agent.company.documents import Document, Sentence
from support_agent.company.front_matter import FrontMatter
from support_agent.facts.chunks import document_source
from support_agent.facts.graph.company_entities import entities_of
from support_agent.facts.graph.entities import Linker
from support_agent.facts.search import CompanySearch
from support_agent.facts.topics import Topic, section_texts
from support_agent.planner.combiner import Calibration, Combiner, features_of
from support_agent.tools.base import Match
from support_agent.tools.excerpts import choose_sections, positions_of
from tests.benchmarks.papers.dstc11.data import Benchmark, EntityKey, Snippet, Turn
from tests.benchmarks.papers.dstc11.measures import Row, measured, truth_of
from tests.benchmarks.papers.dstc11.selection import link_all

URL = "https://example.org/"
SINCE = date(2020, 1, 1)


class Mode(Enum):
    """What is done where the product is not sure, or with the documents given; the value is the row's name.

    The company's linker knows what the titles differ in, and takes the names that the last question leaves open from
    what was said before it. The linked entities are those that the other rows choose among. In both the last question
    is asked alone.
    """

    SHIPPED = "By the path a mail takes, nothing trained"
    UNSURE = "The same, sent however unsure"
    NAMED = "The same of the place that the company's linker finds"
    LINKED = "The same of the linked entities, sent however unsure"


class Thresholds(NamedTuple):
    """How sure the choice of a document and of its sections must be, 0..1."""

    answer: float
    section: float


class Placed(NamedTuple):
    """A document, and the position of its first sentence among all snippets of the benchmark."""

    document: Document
    first: int


def documents_of(benchmark: Benchmark) -> dict[EntityKey, Placed]:
    """Each entity as a document; its sentences are the entity's snippets, in their order."""
    found: dict[EntityKey, Placed] = {}
    first = 0
    for number, (entity, snippets) in enumerate(benchmark.snippets.items(), start=1):
        found[entity] = Placed(_document(number, benchmark.names[entity], snippets), first)
        first += len(snippets)
    return found


def _document(number: int, name: str, snippets: Sequence[Snippet]) -> Document:
    """A review is a section below its number, an answer one below its question."""
    sentences = tuple(
        Sentence(
            index=index,
            text=snippet.text,
            heading=_heading(snippet),
            paragraph=snippet.key.document if snippet.key.kind == "review" else index + len(snippets),
            kind="sentence",
            line=1,
        )
        for index, snippet in enumerate(snippets)
    )
    head = FrontMatter(
        number=number,
        title=name,
        summary=f"What guests say of {name}, and answers to questions about it.",
        url=URL,
        valid_from=SINCE,
    )
    raw = "\n".join(snippet.searched for snippet in snippets).encode()
    version = hashlib.sha256(raw).hexdigest()
    return Document(head=head, version=version, path=Path(f"{number:03}.md"), raw=raw, sentences=sentences)


def _heading(snippet: Snippet) -> str:
    if snippet.key.kind == "review":
        return f"Review {snippet.key.document + 1}"
    return snippet.searched.removesuffix(snippet.text).rstrip("\n")


def mail_of(turn: Turn) -> str:
    """The turn as a mail: the last question, below what was said before."""
    return "\n".join(turn.utterances)


class MailPath:
    """Chooses sentences for the turns of a benchmark as the product chooses what to send."""

    def __init__(self, benchmark: Benchmark, search: CompanySearch, combiner: Combiner, thresholds: Thresholds) -> None:
        """Embed the documents; the search holds them from now on."""
        self._benchmark = benchmark
        self._placed = documents_of(benchmark)
        self._search = search
        self._combiner = combiner
        self._least = thresholds
        self._by_topic = {f"document:{placed.document.number}": placed for placed in self._placed.values()}
        self._linker = Linker(entities_of(document_source(placed.document) for placed in self._placed.values()))
        search.update([_topic(placed.document) for placed in self._placed.values()])

    def rows(self, turns: Sequence[int], *, seed: int) -> tuple[Row, ...]:
        """A row a mode, in their order, of the turns in these positions."""
        truth, linked = truth_of(self._benchmark), link_all(self._benchmark)
        chosen: Mapping[Mode, dict[int, list[int]]] = {mode: {} for mode in Mode}
        for number in turns:
            turn = self._benchmark.turns[number]
            mail, last = mail_of(turn), turn.utterances[-1]
            best, chance = self.likeliest(mail)
            found, sure = self.sections(mail, best)
            named = self._linker.sources_of(self._linker.about(last, turn.utterances[-2::-1]))
            chosen[Mode.NAMED][number] = self.sections(last, self.likeliest(mail, named)[0])[0]
            is_sure = chance >= self._least.answer and sure >= self._least.section
            chosen[Mode.SHIPPED][number] = found if is_sure else []
            chosen[Mode.UNSURE][number] = found
            chosen[Mode.LINKED][number] = [
                position for entity in linked[number] for position in self.sections(last, self._placed[entity])[0]
            ]
        return tuple(measured(mode.value, chosen[mode], truth, seed=seed) for mode in Mode)

    def likeliest(self, mail: str, among: AbstractSet[str] = frozenset()) -> tuple[Placed, float]:
        """The likeliest document, and how likely it answers, 0..1, where nothing may.

        Args:
            mail: What is asked.
            among: Topics of which it is one, as far as any of them is near.
        """
        matches: Sequence[Match] = self._search.nearest(mail)
        chances = self._combiner.chances(*features_of(matches), None, Calibration())[:-1]
        places = [place for place in range(len(chances)) if matches[place].topic in among] or range(len(chances))
        best = max(places, key=lambda place: chances[place])
        return self._by_topic[matches[best].topic], chances[best]

    def sections(self, question: str, placed: Placed) -> tuple[list[int], float]:
        """The positions of what an excerpt of the document holds, and how likely it answers."""
        document = placed.document
        chosen = choose_sections(document, self._search.sections(question, document), self._least.section)
        return [placed.first + index for index in positions_of(document, chosen)], chosen.probability


def _topic(document: Document) -> Topic:
    return Topic(
        key=f"document:{document.number}",
        title=document.head.title,
        summary=document.head.summary,
        sections=tuple(section_texts(document)),
    )
