"""The ways to find the sentences behind an answer that `evidence.py` compares.

Each is a function from a question, an answer and a source to positions of the source's sentences. Checked by
tests/unit/benchmarks/papers/test_evidence.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from functools import partial

from support_agent.company.text import split_sentences
from support_agent.config.facts import EvidenceSettings
from support_agent.facts.chunks import Source
from support_agent.facts.graph.entailment import Entailment, JudgedEntailment, SimilarEntailment
from support_agent.facts.graph.evidence import EvidenceChainer
from support_agent.facts.graph.extraction import Extraction, Extractor, RuleExtractor
from support_agent.facts.graph.graph import graph_of
from support_agent.facts.graph.steps import DraftSteps, StepSplitter, WrittenSteps
from support_agent.facts.inquiry.utility import knowledge_f1
from support_agent.models.judge import Grade, Judge
from support_agent.models.writer import Material, Writer
from support_agent.tools.base import Similarity

CITED_ASK = (
    "Which of the numbered texts bear the answer out? Write their numbers with commas between them, and nothing else."
)
CITED_TOKENS = 40
_NUMBER = re.compile(r"(?<!\d)\d{1,4}(?!\d)")

FindEvidence = Callable[[str, str, Source], Collection[int]]
"""Positions of the sentences of a source that stand behind an answer: (question, answer, source)."""


def nearest_by_meaning(similarity: Similarity) -> FindEvidence:
    """For each sentence of the answer the one that is nearest by meaning, the first of equal ones."""

    def find(question: str, answer: str, source: Source) -> set[int]:
        texts = [sentence.text for sentence in source.sentences]
        return {_best(similarity.similarities(claim, texts)) for claim in split_sentences(answer)}

    return find


def nearest_by_words(question: str, answer: str, source: Source) -> set[int]:
    """For each sentence of the answer the one that shares most of its words with it, if any does."""
    scores = [[knowledge_f1(claim, one.text) for one in source.sentences] for claim in split_sentences(answer)]
    return {_best(claim) for claim in scores if any(claim)}


def nearest_by_graph(
    similarity: Similarity,
    entailment: Callable[[], Entailment],
    settings: EvidenceSettings,
    *,
    steps: StepSplitter | None = None,
    extractor: Extractor | None = None,
) -> FindEvidence:
    """For each step of the answer the sentence that the evidence chainer finds, on a graph made by rules, if any.

    Args:
        similarity: Makes the shortlists.
        entailment: Makes a new one for each case: one that a model failed asks it no more.
        settings: Weights and bounds.
        steps: Takes the answer apart; None: into its sentences.
        extractor: Finds the entities of the graph; None: by rules.
    """

    def find(question: str, answer: str, source: Source) -> set[int]:
        chainer = EvidenceChainer(
            graph_of([source], extractor or RuleExtractor()),
            [source],
            settings=settings,
            steps=steps or DraftSteps(),
            similarity=similarity,
            entailment=entailment(),
        )
        return {one.first for one in chainer.find(question, answer, sources={source.key}).sentences}

    return find


class NoEntities:
    """An `Extractor` that finds nothing: without entities each sentence of the document is compared."""

    name = "none"

    def extract(self, source: Source) -> Extraction:
        """See `Extractor.extract`."""
        return Extraction(by=self.name, entities=())


def by_prompting(writer: Writer, seed: int) -> FindEvidence:
    """The numbers that the model writes when it is shown the numbered sentences; those of no sentence are dropped."""

    def find(question: str, answer: str, source: Source) -> set[int]:
        numbered = [(str(number), sentence.text) for number, sentence in enumerate(source.sentences, start=1)]
        material = (*numbered, ("question", question), ("answer", answer))
        draft = writer.generate(CITED_ASK, material, temperature=0.0, max_tokens=CITED_TOKENS, seed=seed)
        cited = {int(number) - 1 for number in _NUMBER.findall(draft.text)}
        return cited & set(range(len(source.sentences)))

    return find


class KeptJudge:
    """A `Judge` that asks another one no question twice."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._kept: dict[tuple[str, tuple[tuple[str, str], ...]], Grade] = {}

    def yes(self, question: str, material: Material) -> Grade:
        """See `Judge.yes`."""
        key = (question, tuple(material))
        if key not in self._kept:
            self._kept[key] = self._judge.yes(question, material)
        return self._kept[key]


def _best(scores: Iterable[float]) -> int:
    return max(enumerate(scores), key=lambda pair: (pair[1], -pair[0]))[0]


def ways_without_model(similarity: Similarity, settings: EvidenceSettings) -> dict[str, FindEvidence]:
    """The ways that need no language model, by name."""
    similar = SimilarEntailment(similarity)
    return {
        "Nearest by words": nearest_by_words,
        "Nearest by meaning": nearest_by_meaning(similarity),
        "No graph": nearest_by_graph(similarity, lambda: similar, settings, extractor=NoEntities()),
        "Graph": nearest_by_graph(similarity, lambda: similar, settings),
    }


def ways_with_model(
    similarity: Similarity, settings: EvidenceSettings, judge: Judge, writer: Writer, seed: int
) -> dict[str, FindEvidence]:
    """The ways that need it: direct prompting, and the graph with the model's yes, and with its steps."""
    similar, kept = SimilarEntailment(similarity), KeptJudge(judge)
    plain = partial(JudgedEntailment, kept, similar)
    calibrated = partial(plain, slope=settings.slope, intercept=settings.intercept)
    steps = WrittenSteps(writer, seed=seed)
    return {
        "Direct prompting": by_prompting(writer, seed),
        "Graph, yes not calibrated": nearest_by_graph(similarity, plain, settings),
        "Graph, yes calibrated": nearest_by_graph(similarity, calibrated, settings),
        "Graph, elicited steps": nearest_by_graph(similarity, lambda: similar, settings, steps=steps),
    }
