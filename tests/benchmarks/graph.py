"""`python -m tests.benchmarks.graph [--policies DIR]`: what the graph costs, and whether consolidating loses documents.

The graph is made by rules, of documents that are made by rules. With `--policies` the passages for each question of
the documents' front matter are found plainly and through the consolidator with the documents' entities: "lost" are
questions whose document only the plain way finds. Seconds are this machine's and are asserted nowhere.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from support_agent.company.documents import load_documents
from support_agent.config.facts import FactSettings, GradingSettings, Ways
from support_agent.config.settings import ModelSettings
from support_agent.facts.chunks import Source, document_source, in_characters
from support_agent.facts.graph.company_entities import entities_of
from support_agent.facts.graph.entities import Linker
from support_agent.facts.graph.extraction import RuleExtractor
from support_agent.facts.graph.graph import graph_of
from support_agent.facts.index import Collection, TextEmbedder, memory_client
from support_agent.facts.inquiry.consolidator import Consolidator
from support_agent.facts.passages import PassageIndex
from support_agent.models.embedding.minilm import MiniLM
from support_agent.models.progress import stderr_progress
from support_agent.models.pulling import embedding_model
from tests.benchmarks.documents import MOST, documents, topics
from tests.benchmarks.papers.retrieval import Among

SEED = 4
PASSAGES = GradingSettings().passages
HOPS = 2
KILOBYTES_A_MEGABYTE = 1024
CUTTING = in_characters(FactSettings().chunk_size, FactSettings().chunk_overlap)


def main(arguments: Sequence[str] | None = None, embedder: TextEmbedder | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What the graph costs, and whether consolidating loses documents.")
    parser.add_argument("--documents", type=int, nargs="*", default=[20, 1_000, MOST], metavar="COUNT")
    parser.add_argument("--paragraphs", type=int, default=8, help="of about 170 characters, a document")
    parser.add_argument("--policies", type=Path, metavar="DIR", help="documents with questions in their front matter")
    asked = parser.parse_args(arguments)
    for size in sorted(asked.documents):
        _graph(documents(topics(size, SEED), SEED, asked.paragraphs))
    if asked.policies:
        _consolidation(asked.policies, embedder or MiniLM(embedding_model(ModelSettings(), stderr_progress())))


def _graph(sources: Sequence[Source]) -> None:
    """Make the graph, and walk it from each of the first documents' titles."""
    before_mb = _peak_mb()
    began = time.process_time()
    graph = graph_of(sources, RuleExtractor())
    made = time.process_time()
    walked = sources[:20]
    for source in walked:
        graph.around(graph.match(source.title), hops=HOPS)
    each_ms = 1_000 * (time.process_time() - made) / len(walked)
    print(  # noqa: T201
        f"{len(sources)} documents: {graph.n_entities} entities, {graph.n_edges} edges, "
        f"{made - began:.1f} s of processor, {_peak_mb() - before_mb:.0f} MB more, {each_ms:.0f} ms a walk"
    )


def _consolidation(folder: Path, embedder: TextEmbedder) -> None:
    texts = load_documents(folder)
    sources = [document_source(document) for document in texts]
    index = PassageIndex(Collection(memory_client(), "consolidation"), embedder, CUTTING, Ways.BOTH)
    index.update(sources)
    keys = frozenset(source.key for source in sources)
    consolidator = Consolidator(Among(index, keys), Linker(entities_of(sources)), partial(Among, index))
    plain, kept, lost, gained = 0, 0, 0, 0
    for document, source in zip(texts, sources, strict=True):
        for question in document.head.questions:
            was = source.key in {passage.source for passage in index.find(question, PASSAGES, keys)}
            now = source.key in {passage.source for passage in consolidator.find(question, PASSAGES)}
            plain, kept, lost, gained = plain + was, kept + now, lost + (was and not now), gained + (now and not was)
    n_questions = sum(len(document.head.questions) for document in texts)
    print(  # noqa: T201
        f"{n_questions} questions: right document found plainly {plain}, consolidated {kept}, lost {lost}, "
        f"gained {gained}"
    )


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KILOBYTES_A_MEGABYTE


if __name__ == "__main__":
    main()
