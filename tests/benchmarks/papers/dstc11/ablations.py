"""DSTC11 track 5: what the fact room would grade, with each part of its search switched off in turn, without a model.

The last question is asked of all places' documents, with what was said before it as the case's earlier questions; what
is measured are the sentences of the passages that one retrieval finds. Nothing is trained. Checked by
tests/unit/benchmarks/papers/test_dstc11_ablations.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import count

from support_agent.config.facts import FactSettings, GradingSettings, Ways
from support_agent.facts.chunks import Source, document_source, in_characters
from support_agent.facts.documents_first import DocumentsFirst, Topics
from support_agent.facts.graph.company_entities import entities_of
from support_agent.facts.graph.entities import Linker
from support_agent.facts.index import Collection, TextEmbedder, memory_client
from support_agent.facts.inquiry.consolidator import Consolidator
from support_agent.facts.material import Retriever
from support_agent.facts.passages import PassageIndex
from support_agent.tools.fact_trace import DOCUMENT_SOURCE
from tests.benchmarks.papers.dstc11.data import Benchmark, Turn
from tests.benchmarks.papers.dstc11.mail_path import documents_of
from tests.benchmarks.papers.dstc11.measures import Row, measured, truth_of
from tests.benchmarks.papers.retrieval import Among

FEWEST = 300
"""Turns that are measured, where no other number is asked for."""
PASSAGES = GradingSettings().passages
CUTTING = in_characters(FactSettings().chunk_size, FactSettings().chunk_overlap)
WITHOUT = ("nothing", "earlier turns", "linker and chainer", "documents first", "words", "vectors")
_NUMBERS = count(1)


def title_of(without: str) -> str:
    """The name of a row."""
    return f"The room's passages without {without}"


class Ablations:
    """The room's search over the places' documents, whole and without each part."""

    def __init__(self, benchmark: Benchmark, topics: Topics, embedder: TextEmbedder) -> None:
        """Embed the passages.

        Args:
            topics: Hold the places' documents; see `mail_path.MailPath`.
            embedder: Embeds no text twice.
        """
        self._benchmark = benchmark
        placed = documents_of(benchmark).values()
        self._first = {f"{DOCUMENT_SOURCE}{one.document.number}": one.first for one in placed}
        sources = [document_source(one.document) for one in placed]
        self._linker = Linker(entities_of(sources))
        self._topics = topics
        self._indexes = {ways: _index(sources, embedder, ways) for ways in Ways}

    def rows(self, turns: Sequence[int], *, seed: int) -> tuple[Row, ...]:
        """A row for what is left out, in the order of `WITHOUT`, of the turns in these positions."""
        truth = truth_of(self._benchmark)
        chosen: Mapping[str, dict[int, list[int]]] = {name: {} for name in WITHOUT}
        for number in turns:
            turn = self._benchmark.turns[number]
            for name in WITHOUT:
                passages = self._retriever(name, turn).find(turn.utterances[-1], PASSAGES)
                places = (self._first[one.source] + at for one in passages for at in range(one.first, one.last + 1))
                chosen[name][number] = list(dict.fromkeys(places))
        return tuple(measured(title_of(name), chosen[name], truth, seed=seed) for name in WITHOUT)

    def _retriever(self, without: str, turn: Turn) -> Retriever:
        ways = {"words": Ways.VECTORS, "vectors": Ways.WORDS}.get(without, Ways.BOTH)
        index = self._indexes[ways]

        def among(names: AbstractSet[str]) -> Retriever:
            is_first = without != "documents first"
            return DocumentsFirst(self._topics, index, names) if is_first else Among(index, names)

        everything = among(self._first.keys())
        if without == "linker and chainer":
            return everything
        context = () if without == "earlier turns" else turn.utterances[-2::-1]
        return Consolidator(everything, self._linker, among, context)


def _index(sources: Sequence[Source], embedder: TextEmbedder, ways: Ways) -> PassageIndex:
    index = PassageIndex(Collection(memory_client(), f"ablations-{next(_NUMBERS)}"), embedder, CUTTING, ways)
    index.update(sources)
    return index
