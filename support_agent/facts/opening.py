"""Opens the search over the company's topics and the fact room over its documents, as the settings say.

Slow modules are imported inside functions. Checked by tests/acceptance, through the real program.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from support_agent.company.company import Company
from support_agent.config.settings import Settings
from support_agent.core.clock import utc_now
from support_agent.models.opening import close, open_embedder, open_model
from support_agent.models.progress import stderr_progress

if TYPE_CHECKING:
    from support_agent.facts.inquiry.room import Rooms
    from support_agent.facts.inquiry.workflow import Workflow
    from support_agent.facts.search import CompanySearch
    from support_agent.models.writer import LanguageModel, Writer
    from support_agent.tools.base import SegmentReading

    Read = Callable[[Sequence[str]], Sequence[SegmentReading]]

SUGGESTING_S = 300.0
"""Seconds for a text that only the operator waits for."""


def open_search(settings: Settings, company: Company, *, in_memory: bool, name: str = "options") -> CompanySearch:
    """The search over the company's topics, brought up to date; only changed texts are embedded.

    Args:
        name: As `open_topic_search`.
    """
    from support_agent.facts.topics import topics_of

    search = open_topic_search(settings, in_memory=in_memory, name=name, keeps_vectors=True)
    search.update(topics_of(company))
    return search


def open_topic_search(
    settings: Settings, *, in_memory: bool, name: str = "options", keeps_vectors: bool = False
) -> CompanySearch:
    """An empty search.

    Args:
        name: Prefix of its collections in the vector store; each one in memory needs its own.
        keeps_vectors: Keep the vectors of its topics on the disk: they are the company's own words, not its customers'.
    """
    from support_agent.facts.index import Index, memory_client, open_client
    from support_agent.facts.search import ENGLISH, CompanySearch
    from support_agent.models.embedders import keeping, load_embedders

    models = [model.value for model in settings.embedding.models]
    embedders = dict(
        zip(models, load_embedders(settings, stderr_progress(), minilm=open_embedder(settings)), strict=True)
    )
    client, keep_s = (memory_client(), 0.0) if in_memory else (open_client(settings.chroma), settings.chroma.keep_s)
    name = settings.chroma.collection(name)
    names = {model: name if model == ENGLISH else f"{name}-{model}" for model in models}
    own = keeping(embedders, settings) if keeps_vectors else embedders
    indexes = {model: Index(client, own[model], name=names[model], keep_s=keep_s) for model in models}
    return CompanySearch(embedders, indexes, own=own)


def open_rooms(
    settings: Settings, company: Company, search: CompanySearch, model: LanguageModel, *, in_memory: bool
) -> Rooms:
    """The fact room over the company's documents, brought up to date; only changed passages are embedded.

    Args:
        search: The company's topics; they choose the documents to search.
        model: Grades, and writes drafts.
        in_memory: For a dry run: the passages are not kept.
    """
    from support_agent.facts.chunks import cutting_of, document_source
    from support_agent.facts.documents_first import DocumentsFirst
    from support_agent.facts.graph.company_entities import entities_of
    from support_agent.facts.graph.entities import Linker
    from support_agent.facts.graph.open_evidence import open_chaining
    from support_agent.facts.index import Collection, id_of, memory_client, open_client
    from support_agent.facts.inquiry.room import Rooms
    from support_agent.facts.inquiry.workflow import Workflow
    from support_agent.facts.learning.configured_policy import policy_for
    from support_agent.facts.passages import COLLECTION, PassageIndex
    from support_agent.facts.web.open_search import open_merged_search
    from support_agent.models.judge import ModelJudge

    client, keep_s = (memory_client(), 0.0) if in_memory else (open_client(settings.chroma), settings.chroma.keep_s)
    embedder = search.embedder
    cutting = cutting_of(settings.facts, embedder.count_tokens)
    collection = Collection(client, settings.chroma.collection(COLLECTION), keep_s=keep_s)
    passages = PassageIndex(collection, embedder, cutting, settings.facts.ways, own=search.own_embedder)
    sources = [document_source(document) for document in company.documents]
    passages.update(sources)
    chaining, versions = None, [id_of(search.version, passages.version)]
    if settings.grading.writes_drafts or settings.grading.max_cycles:
        model.open_writing()  # drafts, and the rewritten question of another cycle
    if settings.grading.writes_drafts:
        # The graph supports drafts; for 10,000 documents it takes 14 s and 155 MB.
        chaining = open_chaining(settings.evidence, sources, model, search, seed=settings.grading.seed)
        versions.append(chaining.graph.version)
    workflow = Workflow(
        judge=ModelJudge(model),
        writer=model,
        retriever=passages,
        web=open_merged_search(settings.search, embedder, utc_now),
        settings=settings.grading,
        clock=time.monotonic,
        policy=policy_for(settings.facts),
        chaining=chaining,
        index_version=" ".join(versions),
    )

    def among(allowed: AbstractSet[str]) -> DocumentsFirst:
        return DocumentsFirst(search, passages, allowed)

    return Rooms(workflow, among, Linker(entities_of(sources)), company.by_number)


@contextmanager
def open_workflow(settings: Settings, company: Company, allowed: AbstractSet[str]) -> Iterator[Workflow]:
    """Open the workflow for questions that belong to no case, with drafts; closed at the end.

    Args:
        allowed: Names of the sources that may be found ("document:6").
    Raises:
        ConfigError: a model cannot be used.
    """
    with _open_workflow(settings, company, allowed, drafts=True) as (workflow, _):
        yield workflow


@contextmanager
def open_recording(
    settings: Settings, company: Company, allowed: AbstractSet[str], *, drafts: bool
) -> Iterator[tuple[Workflow, Read]]:
    """Open the workflow for labelled mails, without the web, and the reader of the pieces of a mail.

    The names in such a mail are unknown, so no text of it may be sent to the web. See `open_workflow`.
    """
    with _open_workflow(settings, company, allowed, drafts=drafts) as (workflow, read):
        yield replace(workflow, web=None), read


@contextmanager
def _open_workflow(
    settings: Settings, company: Company, allowed: AbstractSet[str], *, drafts: bool
) -> Iterator[tuple[Workflow, Read]]:
    search = open_search(settings, company, in_memory=True)
    model = open_model(settings, stderr_progress())
    grading = settings.grading.model_copy(update={"drafts": drafts})
    settings = settings.model_copy(update={"grading": grading})
    try:
        rooms = open_rooms(settings, company, search, model, in_memory=True)
        yield replace(rooms.workflow, retriever=rooms.retriever(allowed)), search.read
    finally:
        close(model)


@contextmanager
def open_suggester(settings: Settings, company: Company) -> Iterator[tuple[CompanySearch, Writer]]:
    """Open the company's search and a writer with a long time limit, as no customer waits; closed at the end.

    Raises:
        ConfigError: a model cannot be used.
    """
    search = open_search(settings, company, in_memory=True)
    patient = settings.grading.model_copy(update={"timeout_s": max(settings.grading.timeout_s, SUGGESTING_S)})
    model = open_model(settings.model_copy(update={"grading": patient}), stderr_progress())
    try:
        yield search, model
    finally:
        close(model)
