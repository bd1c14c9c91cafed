"""The entities around a finding, for people: those of its steps, or else of the question and the evidence.

A mail needs no graph where no draft was written; this one is made of the documents with evidence when somebody looks.
Checked by tests/unit/facts/graph/test_near_finding.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from support_agent.company.documents import Document
from support_agent.facts.chunks import document_source
from support_agent.facts.graph.extraction import RuleExtractor
from support_agent.facts.graph.graph import graph_of
from support_agent.facts.graph.shown import EntityGraph, shown
from support_agent.tools.fact_room import RetrievalResult
from support_agent.tools.fact_trace import sentence_at


def near_finding(question: str, found: RetrievalResult, documents: Mapping[str, Document], *, hops: int) -> EntityGraph:
    """The shown part of the graph of the documents with evidence.

    Args:
        documents: By source ("document:6"); those without evidence are left out.
        hops: How far from the steps' entities.
    """
    among = {one.source for one in found.evidence} & documents.keys()
    sources = {key: document_source(documents[key]) for key in sorted(among)}
    graph = graph_of(tuple(sources.values()), RuleExtractor())
    steps = next((visit.steps for visit in reversed(found.trace) if visit.steps), ())
    places = {
        sentence_at(one.source, position)
        for one in found.evidence
        if one.source in sources
        for position in range(one.first, min(one.last + 1, len(sources[one.source].sentences)))
    }
    texts = [sources[place.source].sentences[place.first].text for place in sorted(places, key=str)]
    claims = [step.claim for step in steps] or [question, *texts]
    named = [key for claim in claims for key in graph.match(claim)]
    chosen = {step.pointer for step in steps if step.pointer is not None} or places
    return shown(graph, graph.around(named, hops=hops, sources=among), sources, chosen, among=among)
