"""Opens the evidence as the settings say: the graph of the documents, and a chainer for each mail.

Checked by tests/unit/facts/graph/test_open_evidence.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import assert_never

from support_agent.config.facts import EntailmentBy, EvidenceSettings, ExtractionBy, StepsBy
from support_agent.facts.chunks import Source
from support_agent.facts.graph.entailment import Entailment, JudgedEntailment, SimilarEntailment
from support_agent.facts.graph.evidence import EvidenceChainer
from support_agent.facts.graph.extraction import Extractor, RuleExtractor
from support_agent.facts.graph.graph import Graph, graph_of
from support_agent.facts.graph.shown import EntityGraph, shown
from support_agent.facts.graph.steps import DraftSteps, StepSplitter, WrittenSteps
from support_agent.facts.graph.written_extraction import KeptExtractor, WrittenExtractor
from support_agent.models.judge import Judge
from support_agent.models.writer import Writer
from support_agent.tools.base import Similarity
from support_agent.tools.fact_trace import DraftStep


def open_extractor(settings: EvidenceSettings, writer: Writer, *, seed: int) -> Extractor:
    """The extractor of the graph.

    Args:
        settings: Whether the model is asked, and where its results are kept.
        writer: Asked once per content, outside the budget of any mail.
        seed: Seed of the writer.
    """
    match settings.extraction:
        case ExtractionBy.RULES:
            return RuleExtractor()
        case ExtractionBy.MODEL:
            return KeptExtractor(WrittenExtractor(writer, seed=seed), settings.entities_path, RuleExtractor())
        case never:
            assert_never(never)


@dataclass(frozen=True, kw_only=True)
class Chaining:
    """Creates the chainer for a question.

    Args:
        settings: Which parts the model is asked.
        graph: The graph of the sources, by `graph_of`.
        sources: The documents; sentences are sent in their order.
        similarity: The embedding's.
        seed: Seed of the writer.
    """

    settings: EvidenceSettings
    graph: Graph
    sources: Sequence[Source]
    similarity: Similarity
    seed: int

    def chainer(self, judge: Judge, writer: Writer) -> EvidenceChainer:
        """A chainer for one question; judge and writer charge the mail's budget."""
        return EvidenceChainer(
            self.graph,
            self.sources,
            settings=self.settings,
            steps=_steps(self.settings, writer, self.seed),
            similarity=self.similarity,
            entailment=_entailment(self.settings, self.similarity, judge),
        )

    def shown(self, steps: Sequence[DraftStep], among: AbstractSet[str]) -> EntityGraph:
        """The sub-graph around some steps in these sources, for people; a mail does not need it."""
        named = [key for step in steps for key in self.graph.match(step.claim)]
        near = self.graph.around(named, hops=self.settings.hops, sources=among)
        chosen = {step.pointer for step in steps if step.pointer is not None}
        return shown(self.graph, near, {source.key: source for source in self.sources}, chosen, among=among)


def open_chaining(
    settings: EvidenceSettings, sources: Sequence[Source], writer: Writer, similarity: Similarity, *, seed: int
) -> Chaining:
    """Create the graph of the documents and the factory of chainers."""
    graph = graph_of(sources, open_extractor(settings, writer, seed=seed))
    return Chaining(settings=settings, graph=graph, sources=sources, similarity=similarity, seed=seed)


def _steps(settings: EvidenceSettings, writer: Writer, seed: int) -> StepSplitter:
    match settings.steps:
        case StepsBy.DRAFT:
            return DraftSteps()
        case StepsBy.MODEL:
            return WrittenSteps(writer, seed=seed)
        case never:
            assert_never(never)


def _entailment(settings: EvidenceSettings, similarity: Similarity, judge: Judge) -> Entailment:
    similar = SimilarEntailment(similarity)
    match settings.entailment:
        case EntailmentBy.SIMILARITY:
            return similar
        case EntailmentBy.MODEL:
            return JudgedEntailment(judge, similar, slope=settings.slope, intercept=settings.intercept)
        case never:
            assert_never(never)
