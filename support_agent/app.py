"""The composition root: the one file that picks implementations and puts them together.

Nothing here decides anything about a mail. What takes a second to import (model, index, engine) is imported where it
is opened, so that `show` and `replay` need not wait for it. Checked by tests/acceptance, through the real program.
"""

from __future__ import annotations

import logging
import os
import random
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, assert_never

import structlog

from support_agent.answer.templates import Templates
from support_agent.company.company import Company
from support_agent.config.facts import Looks
from support_agent.config.packaged_files import packaged
from support_agent.config.settings import LogSettings, ModelSettings, Settings
from support_agent.core.cursor import Cursor
from support_agent.errors import ConfigError
from support_agent.models.language_model import Model, Prompt, Scores
from support_agent.models.progress import Progress, progress_on
from support_agent.ops.doctor import Probes, SeenMailbox
from support_agent.store.lock import only_process
from support_agent.store.records import MailId
from support_agent.store.store import Store
from support_agent.transport.mailbox import Mailbox
from support_agent.transport.oauth import TokenSource
from support_agent.transport.outbox import SmtpTransport, Transport

if TYPE_CHECKING:
    from support_agent.engine.steps import Steps
    from support_agent.facts.inquiry.room import Rooms
    from support_agent.facts.inquiry.workflow import Workflow
    from support_agent.facts.search import CompanySearch
    from support_agent.facts.spending import CountTokens
    from support_agent.facts.writer import Writer
    from support_agent.mail.senders.dkim_check import TxtLookup
    from support_agent.models.embedding.minilm import MiniLM
    from support_agent.models.openai import OpenAIModel
    from support_agent.ops.dry_run import DryRun
    from support_agent.planner.combiner import Calibration
    from support_agent.planner.pieces import Read
    from support_agent.workflow.decide import Decider
    from support_agent.workflow.stages import Stages
    from support_agent.workflow.worker import Worker

SUGGESTING_S = 300.0
"""Seconds for a text that nobody waits for but the operator."""


def utc_now() -> datetime:
    """The clock."""
    return datetime.now(UTC)


def progress() -> Progress:
    """Where downloads say how far they are."""
    return progress_on(sys.stderr)


def configure_log(settings: LogSettings) -> None:
    """One event per step on stderr; JSON or for people."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if settings.format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(settings.level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def open_model(settings: ModelSettings, progress: Progress) -> Model:
    """The model's seat: embedded, or a server."""
    match settings.planner:
        case "llama":
            from support_agent.models.llama import LlamaModel
            from support_agent.models.pulling import language_model

            return LlamaModel(
                language_model(settings, progress),
                context_tokens=settings.context_tokens,
                threads=settings.threads,
                timeout_s=settings.timeout_s,
            )
        case "openai":
            return _open_server(settings)
        case _ as never:
            assert_never(never)


def _open_server(settings: ModelSettings) -> OpenAIModel:
    from support_agent.models.openai import OpenAIModel

    return OpenAIModel(
        base_url=settings.base_url,
        name=settings.name,
        api_key=settings.api_key,
        timeout_s=settings.timeout_s,
        max_retries=settings.max_retries,
    )


def open_writer(settings: Settings, model: Model) -> Writer:
    """What writes the fact room's drafts: on the weights of the open model, or on its server. Close it before those.

    Raises:
        ConfigError: the model that is open is not the configured one.
    """
    match settings.model.planner:
        case "llama":
            from support_agent.facts.llama_writer import LlamaWriter
            from support_agent.models.llama import LlamaModel

            if not isinstance(model, LlamaModel):
                raise ConfigError("model.planner = 'llama' needs the embedded model: drafts are written on its weights")
            return LlamaWriter(
                model.weights,
                context_tokens=settings.model.context_tokens,
                threads=settings.model.threads,
                timeout_s=settings.grading.timeout_s,
            )
        case "openai":
            from support_agent.facts.openai_writer import OpenAIWriter

            return OpenAIWriter(
                base_url=settings.model.base_url,
                name=settings.model.name,
                api_key=settings.model.api_key,
                timeout_s=settings.grading.timeout_s,
            )
        case _ as never:
            assert_never(never)


def close(*parts: object) -> None:
    """Close what can be closed, in this order: a writer's context is on its model's weights."""
    for part in parts:
        getattr(part, "close", lambda: None)()


def open_embedder(settings: Settings) -> MiniLM:
    """The embedding model of the index of documents and passages.

    Raises:
        ConfigError: it cannot be used.
    """
    from support_agent.models.embedding.minilm import MiniLM
    from support_agent.models.pulling import embedding_model

    return MiniLM(embedding_model(settings.model, progress()), threads=settings.embedding.threads)


def count_tokens_of(model: Model) -> CountTokens:
    """How many tokens a text has for the model, at most: the embedded one counts, of a server it is not known."""
    from support_agent.facts.spending import most_tokens
    from support_agent.models.llama import LlamaModel

    return model.weights.count if isinstance(model, LlamaModel) else most_tokens


def open_rooms(settings: Settings, company: Company, search: CompanySearch, model: Model, *, in_memory: bool) -> Rooms:
    """The fact room over the company's documents, brought up to date; only changed passages are embedded.

    Args:
        search: The company's topics, which say in which documents to look.
        model: Grades; drafts are written on its weights, or on its server. Close the room's writer before it.
        in_memory: For a dry run: the passages are not kept.
    Raises:
        ConfigError: the model that is open is not the configured one.
    """
    from support_agent.facts.chunks import cutting_of, document_source
    from support_agent.facts.documents_first import DocumentsFirst
    from support_agent.facts.graph.company_entities import entities_of
    from support_agent.facts.graph.entities import Linker
    from support_agent.facts.graph.open_evidence import open_chaining
    from support_agent.facts.index import Collection, memory_client, open_client
    from support_agent.facts.inquiry.room import Rooms
    from support_agent.facts.inquiry.workflow import Workflow
    from support_agent.facts.judge import ModelJudge
    from support_agent.facts.learning.configured_policy import policy_for
    from support_agent.facts.passages import COLLECTION, PassageIndex
    from support_agent.facts.web.open_search import open_merged_search

    client = memory_client() if in_memory else open_client(settings.chroma)
    embedder = search.embedder
    cutting = cutting_of(settings.facts, embedder.count_tokens)
    passages = PassageIndex(Collection(client, COLLECTION), embedder, cutting, settings.facts.ways)
    sources = [document_source(document) for document in company.documents]
    passages.update(sources)
    writer = open_writer(settings, model)
    chaining = None
    if settings.grading.writes_drafts:  # it bears drafts out; of 10,000 documents its graph takes 14 s and 155 MB
        chaining = open_chaining(settings.evidence, sources, writer, search, seed=settings.grading.seed)
    workflow = Workflow(
        judge=ModelJudge(model, prior=settings.grading.prior),
        writer=writer,
        retriever=passages,
        web=open_merged_search(settings.search, embedder, utc_now),
        settings=settings.grading,
        clock=time.monotonic,
        policy=policy_for(settings.facts),
        chaining=chaining,
        count_tokens=count_tokens_of(model),
    )

    def among(allowed: AbstractSet[str]) -> DocumentsFirst:
        return DocumentsFirst(search, passages, allowed)

    documents = {int(document.number): document for document in company.documents}
    return Rooms(workflow, among, Linker(entities_of(sources)), documents)


@contextmanager
def open_workflow(settings: Settings, company: Company, allowed: AbstractSet[str]) -> Iterator[Workflow]:
    """What looks into questions that belong to no case, with drafts: closed at the end.

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
    """What looks into the questions of labelled mails, without the web, and what reads the pieces of a mail.

    The names in such a mail are not known, so nothing of it may leave the house. See `open_workflow`.
    """
    with _open_workflow(settings, company, allowed, drafts=drafts) as (workflow, read):
        yield replace(workflow, web=None), read


@contextmanager
def _open_workflow(
    settings: Settings, company: Company, allowed: AbstractSet[str], *, drafts: bool
) -> Iterator[tuple[Workflow, Read]]:
    search = open_search(settings, company, in_memory=True)
    model = open_model(settings.model, progress())
    grading = settings.grading.model_copy(update={"drafts": drafts})
    settings = settings.model_copy(update={"grading": grading})
    rooms = open_rooms(settings, company, search, model, in_memory=True)
    try:
        yield replace(rooms.workflow, retriever=rooms.retriever(allowed)), search.read
    finally:
        close(rooms.workflow.writer, model)


@contextmanager
def open_suggester(settings: Settings, company: Company) -> Iterator[tuple[CompanySearch, Writer]]:
    """The company's search, and what writes, with time for it: no customer waits. Closed at the end.

    Raises:
        ConfigError: a model cannot be used.
    """
    search = open_search(settings, company, in_memory=True)
    model = open_model(settings.model, progress())
    patient = settings.grading.model_copy(update={"timeout_s": max(settings.grading.timeout_s, SUGGESTING_S)})
    writer = open_writer(settings.model_copy(update={"grading": patient}), model)
    try:
        yield search, writer
    finally:
        close(writer, model)


def open_search(settings: Settings, company: Company, *, in_memory: bool) -> CompanySearch:
    """The search over the company's topics, brought up to date; only changed texts are embedded."""
    from support_agent.facts.topics import topics_of

    search = open_topic_search(settings, in_memory=in_memory)
    search.update(topics_of(company))
    return search


def open_topic_search(settings: Settings, *, in_memory: bool, name: str = "options") -> CompanySearch:
    """A search that holds nothing yet.

    Args:
        name: Of its collections in the vector store; one that is kept in memory needs a name of its own.
    """
    from support_agent.facts.index import Index, memory_client, open_client
    from support_agent.facts.search import ENGLISH, CompanySearch
    from support_agent.models.embedders import load_embedders

    models = [model.value for model in settings.embedding.models]
    embedders = dict(zip(models, load_embedders(settings, progress(), minilm=open_embedder(settings)), strict=True))
    client = memory_client() if in_memory else open_client(settings.chroma)
    names = {model: name if model == ENGLISH else f"{name}-{model}" for model in models}
    return CompanySearch(embedders, {model: Index(client, embedders[model], name=names[model]) for model in models})


def open_calibration(settings: Settings, company: Company) -> Calibration:
    """How choices are adjusted to the company: what `support-agent calibrate` kept, as far as it still holds.

    Raises:
        ConfigError: the file cannot be used.
    """
    from support_agent.facts.topics import topics_of, version_of_topics
    from support_agent.planner.calibration import calibration_findings, calibration_of

    topics = version_of_topics(topics_of(company))
    for finding in calibration_findings(settings, topics):
        structlog.get_logger(__name__).warning("calibration", problem=str(finding))
    return calibration_of(settings, topics)


def open_decider(
    settings: Settings,
    progress: Progress,
    *,
    in_memory: bool,
    model: Model | None = None,
    company: Company | None = None,
    templates: Templates | None = None,
) -> Decider:
    """What decides mails.

    Args:
        in_memory: For a dry run: the index is not kept.
        model: One that is open already; else the configured one is opened.
        company: The company's files where they are read already, and so its `templates`.
    Raises:
        ConfigError: a file of the company or a model cannot be used.
    """
    from support_agent.mail.machines.machine_vote import open_vote
    from support_agent.planner.combiner import committed
    from support_agent.planner.loop import Planner
    from support_agent.workflow.decide import Decider

    company = company or Company.load(settings.company)
    templates = templates or Templates.load(settings.company.templates)
    search = open_search(settings, company, in_memory=in_memory)
    model = model or open_model(settings.model, progress)
    planner = Planner(
        model,
        settings.planner,
        time.monotonic,
        combiner=committed(tuple(settings.embedding.models)),
        calibration=open_calibration(settings, company),
    )
    return Decider(
        company=company,
        planner=planner,
        search=search,
        templates=templates,
        settings=settings,
        rooms=open_rooms(settings, company, search, model, in_memory=in_memory)
        if settings.facts.looks is not Looks.NEVER
        else None,
        machine=open_vote(search.embedders, settings.screening),
    )


def open_store(settings: Settings) -> Store:
    """The database of cases, at the current schema."""
    store = Store.open(settings.store.url, packaged("migrations"), timeout_s=settings.store.timeout_s)
    store.upgrade()
    return store


def wire(
    settings: Settings,
    store: Store,
    transport: Transport,
    company: Company,
    templates: Templates,
    decider: Callable[[], Decider],
    now: Callable[[], datetime],
    random: Callable[[], float] = lambda: 0.0,
    lookup_txt: TxtLookup | None = None,
) -> Stages:
    """The stages of the journey with all that they work with: for the worker, and for a dry run on a store of its own.

    Args:
        decider: Gives what decides mails; asked for only by a mail that gets so far.
        now: The clock.
        random: 0 to 1, for the spread of waits.
        lookup_txt: Asked for the keys of signatures; the system's DNS by default.
    """
    from support_agent.cases.breaker import Breaker
    from support_agent.cases.copies import Copies
    from support_agent.cases.rate_limits import Rates
    from support_agent.cases.routing import CaseRouting
    from support_agent.cases.senders import Senders
    from support_agent.cases.threads import Threads
    from support_agent.outbound.delivery_status import Reports
    from support_agent.outbound.sender import OutboxSender
    from support_agent.transport.dns_lookup import DnsLookup
    from support_agent.workflow.notices import Notices
    from support_agent.workflow.queueing import OutboundQueue
    from support_agent.workflow.stages import Stages

    senders = Senders(store, settings.agent, company.accounts, now, lookup_txt or DnsLookup())
    rates = Rates(store, settings.agent)
    breaker = Breaker(settings.agent, rates, now)
    threads = Threads(store, settings, senders)
    routing = CaseRouting(store, settings, senders, threads, rates, now)
    queue = OutboundQueue(store, settings, company, templates, now)
    outbox_sender = OutboxSender(store, transport, settings.smtp, now, breaker.sending, random)
    return Stages(
        store=store,
        settings=settings,
        company=company,
        decider=decider,
        routing=routing,
        copies=Copies(store, settings.store.retention_days, senders),
        rates=rates,
        breaker=breaker,
        reports=Reports(store, settings, now),
        queue=queue,
        outbox_sender=outbox_sender,
        notices=Notices(store, rates, queue, outbox_sender, routing, now),
        now=now,
    )


@contextmanager
def open_worker(settings: Settings) -> Iterator[Worker]:
    """The whole agent, launched; stopped at the end.

    Raises:
        ConfigError: something that sending or receiving needs is not set, or another process has the store.
    """
    _require_mail_settings(settings)
    from support_agent.engine.database import engine_url
    from support_agent.engine.engine import Engine, executor_id
    from support_agent.outbound.sent_folder import SentFolder
    from support_agent.pipeline import handle
    from support_agent.workflow.worker import Worker

    holder, timeout_s = f"pid {os.getpid()} on {socket.gethostname()}", settings.store.timeout_s
    with only_process(settings.store.url, holder, timeout_s=timeout_s), open_store(settings) as store:
        decider = open_decider(settings, progress(), in_memory=False)
        tokens = TokenSource(settings.oauth)
        transport = SmtpTransport(settings.smtp, tokens, utc_now)

        def open_mailbox() -> Mailbox:
            return Mailbox(settings.imap, tokens, utc_now)

        company, templates = decider.company, decider.templates
        stages = wire(settings, store, transport, company, templates, lambda: decider, utc_now, random.random)

        def journey(mail_id: str, steps: Steps) -> str:
            return handle(MailId(mail_id), steps, stages)

        engine = Engine(engine_url(settings.store.url), executor_id(uuid.uuid4().hex[:8]), settings.engine, journey)
        agent = Worker(
            settings=settings,
            store=store,
            stages=stages,
            engine=engine,
            open_mailbox=open_mailbox,
            now=utc_now,
            random=random.random,
            sent_folder=SentFolder(store, settings.imap, open_mailbox, utc_now),
        )
        stages.keep_company()
        agent.recover()
        engine.launch()
        try:
            yield agent
        finally:
            engine.stop(settings.engine.stop_timeout_s)
            transport.close()


def open_dry_run(settings: Settings) -> DryRun:
    """The journey on temporary stores, from which nothing is sent; the model is opened by the first mail that needs it.

    Raises:
        ConfigError: a file of the company cannot be used.
    """
    company, templates = Company.load(settings.company), Templates.load(settings.company.templates)
    decider = cache(lambda: open_decider(settings, progress(), in_memory=True, company=company, templates=templates))
    return dry_run_of(settings, company, templates, decider)


def dry_run_of(
    settings: Settings,
    company: Company,
    templates: Templates,
    decider: Callable[[], Decider],
    lookup_txt: TxtLookup | None = None,
) -> DryRun:
    """The same of what is open already; see `wire`."""
    from support_agent.ops.dry_run import DryRun, Journey
    from support_agent.pipeline import handle

    def journey_on(changed: Settings, store: Store, transport: Transport, now: Callable[[], datetime]) -> Journey:
        stages = wire(changed, store, transport, company, templates, decider, now, lookup_txt=lookup_txt)
        return lambda mail_id, steps: handle(mail_id, steps, stages)

    return DryRun(settings, company.accounts, journey_on)


def _require_mail_settings(settings: Settings) -> None:
    needed = {
        "imap.host": settings.imap.host,
        "smtp.host": settings.smtp.host,
        "agent.address": settings.agent.address,
        "desk.address": settings.desk.address,
        "agent.secret_file": settings.agent.secret.get_secret_value(),
    }
    missing = [key for key, value in needed.items() if not value]
    if missing:
        raise ConfigError(
            f"not set: {', '.join(missing)}: fill them in in support-agent.toml, then run 'support-agent doctor'"
        )


def real_probes(now: datetime) -> Probes:
    """What `doctor` connects through: the same parts as those of the agent."""
    from support_agent.facts.index import count_entries

    return Probes(
        now=now,
        look_at_mailbox=_look_at_mailbox,
        check_sender=lambda settings: SmtpTransport(settings.smtp, TokenSource(settings.oauth), utc_now).check(),
        ask_model=_ask_server,
        count_entries=count_entries,
    )


def _look_at_mailbox(settings: Settings, cursor: Cursor | None) -> SeenMailbox:
    from support_agent.outbound.sent_folder import SENT_USE

    with Mailbox(settings.imap, TokenSource(settings.oauth), utc_now) as mailbox:
        folder = settings.imap.sent_folder or mailbox.special_folder(SENT_USE)
        is_there = folder is not None and mailbox.has_folder(folder)
        return SeenMailbox(mailbox.count_after(cursor), folder if is_there else None)


def _ask_server(settings: ModelSettings) -> Scores:
    """One choice of a model on a server: address, key, name and the ability to call are seen at once."""
    model = _open_server(settings)
    try:
        return model.score(Prompt(system="You choose one of two options.", task="Choose yes.", parts=()), ("yes", "no"))
    finally:
        model.close()
