"""Finds the sentences that support a draft: for each step of its reasoning the best and shortest one.

Invariant: the result is positions of whole sentences of known sources, each once, in the sources' order. So a sentence
sent to a customer is exactly the company's, independent of draft, steps, graph and model.
tests/unit/facts/graph/test_evidence.py checks it with hostile ones.
Source: GE-Chat (2025): reasoning steps, the entities' sub-graph of two hops, its source chunks, and equation 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from support_agent.config.facts import EvidenceSettings
from support_agent.facts.chunks import Source
from support_agent.facts.graph.entailment import FLOOR, Entailment
from support_agent.facts.graph.extraction import LOOKED_AT
from support_agent.facts.graph.graph import Graph
from support_agent.facts.graph.steps import StepSplitter
from support_agent.tools.base import Similarity
from support_agent.tools.fact_trace import DraftStep, SentenceRange, sentence_at

CHUNK_REACH = 2
"""A chunk is a sentence of the sub-graph with this many neighbours on each side, under its heading."""
MAX_CANDIDATES = 128
"""Most sentences to compare with one step: at most half a second of embedding on two idle cores."""


class Chained(NamedTuple):
    """The evidence for a draft: `sentences` may be sent, `steps` are for the trace only."""

    sentences: tuple[SentenceRange, ...]
    steps: tuple[DraftStep, ...]


class EvidenceChainer:
    """Finds the evidence for the drafts of one mail in some sources and their graph."""

    def __init__(
        self,
        graph: Graph,
        sources: Iterable[Source],
        *,
        settings: EvidenceSettings,
        steps: StepSplitter,
        similarity: Similarity,
        entailment: Entailment,
    ) -> None:
        """The sources must be those of the graph; results are in their order."""
        self._graph = graph
        self._sources = {source.key: source for source in sources}
        self._settings = settings
        self._steps = steps
        self._similarity = similarity
        self._entailment = entailment

    def find(self, question: str, draft: str, *, sources: AbstractSet[str] | None = None) -> Chained:
        """The evidence for a draft; failures of a model and unusable model text raise nothing.

        Args:
            question: The customer's, any length.
            draft: Internal text; evidence is sought for each of its steps, six at most.
            sources: Search only these; None: all. If the graph has no sentence for a step, all their sentences are
                compared; with None the step then has no evidence.
        """
        steps = tuple(self._step(claim, sources) for claim in self._steps.of(question, draft))
        sentences = {step.pointer for step in steps if step.pointer is not None}
        order = {key: number for number, key in enumerate(self._sources)}
        return Chained(tuple(sorted(sentences, key=lambda one: (order[one.source], one.first))), steps)

    def _step(self, claim: str, sources: AbstractSet[str] | None) -> DraftStep:
        places = self._candidates(self._graph.match(claim), sources)
        if not places:
            return DraftStep(claim=claim)
        shortlist = self._nearest(claim, places)
        sentences = [self._text(place) for place in shortlist]
        probabilities = self._entailment.entailed(sentences, claim)
        alpha, beta = self._settings.alpha, self._settings.beta
        chosen = choose_sentence(sentences, probabilities, floor=FLOOR, alpha=alpha, beta=beta)
        if chosen is None:
            return DraftStep(claim=claim)
        index, score = chosen
        return DraftStep(claim=claim, pointer=shortlist[index], probability=probabilities[index], score=score)

    def _candidates(self, entities: Sequence[str], sources: AbstractSet[str] | None) -> list[SentenceRange]:
        """The sentences of the chunks around the entities' sub-graph, those of the best chunk first."""
        middles = self._graph.around(entities, hops=self._settings.hops, sources=sources).places
        places = [place for middle in middles for place in self._chunk(middle)]
        if not places:
            known = [source for source in self._sources.values() if source.key in (sources or ())]
            places = [sentence_at(source.key, one.index) for source in known for one in source.sentences]
        return [place for place in dict.fromkeys(places) if len(self._text(place)) <= LOOKED_AT][:MAX_CANDIDATES]

    def _chunk(self, middle: SentenceRange) -> list[SentenceRange]:
        source = self._sources.get(middle.source)
        if source is None or middle.first >= len(source.sentences):  # the graph is older than the source
            return []
        heading = source.sentences[middle.first].heading
        first, last = max(0, middle.first - CHUNK_REACH), middle.first + CHUNK_REACH
        near = [sentence.index for sentence in source.sentences[first : last + 1] if sentence.heading == heading]
        return [sentence_at(middle.source, index) for index in near]

    def _nearest(self, claim: str, places: Sequence[SentenceRange]) -> list[SentenceRange]:
        """The most similar sentences, in the order of the candidates."""
        scores = self._similarity.similarities(claim, [self._text(place) for place in places])
        best = sorted(range(len(places)), key=lambda index: (-scores[index], index))[: self._settings.shortlist]
        return [places[index] for index in sorted(best)]

    def _text(self, place: SentenceRange) -> str:
        return self._sources[place.source].sentences[place.first].text


def choose_sentence(
    sentences: Sequence[str], probabilities: Sequence[float], *, floor: float, alpha: float, beta: float
) -> tuple[int, float] | None:
    """Choose the sentence that best supports a claim.

    Args:
        sentences: 0..n whole sentences.
        probabilities: P(entails), 0..1, one per sentence.
        floor: Least probability of a chosen sentence. Without it the equation prefers a short, empty sentence to a
            long, complete one.
        alpha: Weight of the probability, 0..1.
        beta: Weight of the length, 0..1.
    Returns:
        Index into `sentences` (the first of equal ones), and its score alpha * P(entails) - beta * length, length in
        words / longest; None if no sentence reaches the floor.
    Source: GE-Chat, equation 2.
    """
    lengths = [len(sentence.split()) for sentence in sentences]
    longest = max(lengths, default=0) or 1
    scores = [
        (alpha * probability - beta * length / longest, -index)
        for index, (probability, length) in enumerate(zip(probabilities, lengths, strict=True))
        if probability >= floor
    ]
    if not scores:
        return None
    score, index = max(scores)
    return -index, score
