"""The composition root: the only file that wires the rooms; it gives them the clock and the random source.

This file decides nothing about a mail. The rooms open their own models and indexes (`models.opening`,
`facts.opening`), as the settings say. Slow modules (model, index, engine) are imported inside functions, so that
`show` and `replay` start fast. Checked by tests/acceptance, through the real program.
"""

from __future__ import annotations

import os
import random
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from functools import cache, lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, cast

import structlog

from support_agent.answer.templates import Templates
from support_agent.company.company import Company, Stamp, stamp_of
from support_agent.config.facts import Retrieve
from support_agent.config.loading import require_mail_settings
from support_agent.config.mail_servers import ImapSettings
from support_agent.config.packaged_files import packaged
from support_agent.config.senders import SenderSettings
from support_agent.config.settings import ModelSettings, Settings
from support_agent.core.clock import utc_now
from support_agent.core.cursor import Cursor
from support_agent.core.observing import UNOBSERVED, Observer
from support_agent.errors import ConfigError
from support_agent.facts.opening import open_rooms, open_search, open_topic_search
from support_agent.models.language_model import scoring_of
from support_agent.models.opening import ask_server, open_model
from support_agent.models.progress import Progress, stderr_progress
from support_agent.store.keys import key_settings
from support_agent.store.lock import among_workers
from support_agent.store.records import MailId
from support_agent.store.store import Store
from support_agent.transport.mailbox import Mailbox
from support_agent.transport.oauth import TokenSource
from support_agent.transport.openid import Provider
from support_agent.transport.outbox import SmtpTransport, Transport

if TYPE_CHECKING:
    from support_agent.engine.engine import Engine
    from support_agent.engine.steps import Steps
    from support_agent.facts.search import CompanySearch
    from support_agent.mail.senders.dkim_check import TxtLookup
    from support_agent.models.writer import LanguageModel
    from support_agent.ops.backtest.running import Bench
    from support_agent.ops.backtest.sources import PastMails
    from support_agent.ops.doctor import Probes, SeenMailbox
    from support_agent.ops.dry_run import DryRun
    from support_agent.ops.probe import Probe
    from support_agent.planner.combiner import Calibration
    from support_agent.store.desk_records import ModeChange
    from support_agent.watch.health import WatchedWorker
    from support_agent.workflow.decide import Decider
    from support_agent.workflow.stages import Stages
    from support_agent.workflow.worker import Worker


def open_calibration(settings: Settings, company: Company) -> Calibration:
    """Load what `support-agent calibrate` stored for this company, as far as it still fits the company's topics.

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
    model: LanguageModel | None = None,
    company: Company | None = None,
    templates: Templates | None = None,
    search: CompanySearch | None = None,
) -> Decider:
    """Open the models and the search, and wire the decider.

    Args:
        in_memory: Do not store the index; for a dry run.
        model: An open model; by default the configured one is opened.
        company: The company's files, if they are loaded; by default they are loaded here.
        templates: The company's templates, as `company`.
        search: A search over the company's topics, if one is open.
    Raises:
        ConfigError: a file of the company or a model cannot be used.
    """
    from support_agent.cases.intention_vote import open_intentions
    from support_agent.mail.machines.machine_vote import open_vote
    from support_agent.planner.combiner import committed
    from support_agent.planner.loop import Planner
    from support_agent.workflow.decide import Decider

    company = company or Company.load(settings.company)
    templates = templates or Templates.load(settings.company.templates)
    search = search or open_search(settings, company, in_memory=in_memory)
    model = model or open_model(settings, progress)
    planner = Planner(
        scoring_of(model),
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
        if settings.facts.retrieve is not Retrieve.NEVER
        else None,
        machine=open_vote(search.embedders, settings.screening),
        intentions=open_intentions(search.embedders, settings.intentions),
    )


def open_store(settings: Settings) -> Store:
    """Open the database of cases and upgrade it to the current schema."""
    store = Store.open(
        settings.store.url,
        packaged("migrations"),
        timeout_s=settings.store.timeout_s,
        keys=key_settings(settings.store),
    )
    store.upgrade()
    return store


def engine_records_of(settings: Settings, brand: str) -> Callable[[Sequence[str]], int]:
    """What deletes the engine's records of a brand's mails by their ids, and returns how many there were.

    Args:
        settings: Of the first mailbox, whose store the engine's database is beside.
    """
    from support_agent.engine.database import engine_url
    from support_agent.engine.deletion import delete_records

    url, prefix = engine_url(settings.store.url), f"{brand}:" if brand else ""
    return lambda mail_ids: delete_records(url, [f"{prefix}{mail_id}" for mail_id in mail_ids])


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
    worker: str = "",
    observer: Observer = UNOBSERVED,
) -> Stages:
    """Wire the stages of the journey, for the worker or for a dry run on a temporary store.

    Args:
        decider: Returns the decider; called only when a mail needs it.
        now: The clock.
        random: 0 to 1, for the spread of waits.
        lookup_txt: Looks up DKIM keys; the system's DNS by default.
        worker: The name of the worker among those on the store.
        observer: Told of what is sent.
    """
    from support_agent.cases.autonomy import Autonomy
    from support_agent.cases.breaker import Breaker
    from support_agent.cases.copies import Copies
    from support_agent.cases.rate_limits import Rates
    from support_agent.cases.routing import CaseRouting
    from support_agent.cases.senders import Senders
    from support_agent.cases.threads import Threads
    from support_agent.outbound.delivery_status import Reports
    from support_agent.outbound.notices import Notices
    from support_agent.outbound.queueing import OutboundQueue
    from support_agent.outbound.reminders import Reminders
    from support_agent.outbound.sender import OutboxSender
    from support_agent.transport.dns_lookup import DnsLookup
    from support_agent.workflow.alarms import Alarms
    from support_agent.workflow.approval import Approval
    from support_agent.workflow.desk_commands import DeskCommands
    from support_agent.workflow.digest import WeeklyDigest
    from support_agent.workflow.labelling import Labelling
    from support_agent.workflow.stages import Stages

    senders = Senders(store, settings.agent, company.accounts, now, lookup_txt or DnsLookup())
    rates = Rates(store, settings.agent)
    breaker = Breaker(settings.agent, rates, now)
    threads = Threads(store, settings, senders)
    routing = CaseRouting(store, settings, senders, threads, rates, now)
    queue = OutboundQueue(store, settings, company, templates, now)
    autonomy = Autonomy(store, settings.autonomy)
    approval = Approval(store, settings, company, templates, autonomy, now)
    outbox_sender = OutboxSender(
        store, transport, settings.smtp, now, breaker.sending, approval.withdrawn, random, worker, observer
    )
    labelling = Labelling(store, company, autonomy, now)
    return Stages(
        store=store,
        settings=settings,
        company=company,
        decider=decider,
        routing=routing,
        copies=Copies(store, settings.store.retention_days, senders),
        rates=rates,
        breaker=breaker,
        autonomy=autonomy,
        desk=DeskCommands(store, settings, company, decider, routing, queue, labelling, approval, now),
        reports=Reports(store, settings, now),
        queue=queue,
        outbox_sender=outbox_sender,
        notices=Notices(store, rates, queue, outbox_sender, routing, now),
        reminders=Reminders(store, settings, breaker, routing, queue, outbox_sender, now),
        digest=WeeklyDigest(store, settings, company, breaker, queue, outbox_sender, now),
        alarms=Alarms(store, settings, queue, outbox_sender, now, observer),
        now=now,
    )


@contextmanager
def open_workers(settings: Settings, brands: Mapping[str, Settings] | None = None) -> Iterator[dict[str, Worker]]:
    """Open and launch the workers, one for each mailbox; stop them when the block ends.

    Args:
        brands: Settings of further mailboxes by their names; they share the engine and equal models.
    Yields:
        The workers by the name of their brand; "" is the mailbox of `settings`.
    Raises:
        ConfigError: a setting for sending or receiving is missing, or another process has a store.
    """
    from support_agent.engine.database import engine_url
    from support_agent.engine.engine import Engine, executor_id
    from support_agent.watch.opening import open_watch

    each = {"": settings, **(brands or {})}
    for one in each.values():
        require_mail_settings(one)
    # Equal settings share a model; the embedders are shared by their opening.
    models: dict[tuple[ModelSettings, float], LanguageModel] = {}
    workers: dict[str, Worker] = {}
    with ExitStack() as opened:
        watched = opened.enter_context(open_watch(each, utc_now, time.monotonic))  # while the models load, too
        itself = executor_id(uuid.uuid4().hex[:8])
        engine = Engine(engine_url(settings.store.url), itself, settings.engine, alive=lambda: workers[""].alive())
        for name, one in each.items():
            key = (one.model, one.grading.timeout_s)
            if key not in models:
                models[key] = open_model(one, stderr_progress())
            workers[name] = opened.enter_context(_open_worker(name, one, engine, models[key], watched[name]))
        engine.launch()
        opened.callback(engine.stop, settings.engine.stop_timeout_s)
        yield workers


@contextmanager
def _open_worker(
    name: str, settings: Settings, engine: Engine, model: LanguageModel, watched: WatchedWorker
) -> Iterator[Worker]:
    """Open the worker of one mailbox; its journeys run in the engine, which is launched later."""
    from support_agent.models.observed import observed
    from support_agent.ops.check import require_sound_files
    from support_agent.outbound.sent_folder import SentFolder
    from support_agent.pipeline import handle
    from support_agent.workflow.membership import Membership
    from support_agent.workflow.renewal import Renewal
    from support_agent.workflow.sent_answers import SentAnswers
    from support_agent.workflow.worker import Worker

    observer = watched.observer
    holder, timeout_s = f"pid {os.getpid()} on {socket.gethostname()}", settings.store.timeout_s
    itself = engine.executor_id
    with (
        among_workers(settings.store.url, holder, timeout_s=timeout_s) as has_others,
        open_store(settings) as store,
    ):
        store.sealing.require_keys(may_create=True)
        if not has_others:
            store.leases.end_all()
        started_anew: set[MailId] = set()
        membership = Membership(store.leases, itself, settings.engine.lease_s, utc_now, time.monotonic)
        tokens = TokenSource(settings.oauth, observer)
        transport = SmtpTransport(settings.smtp, tokens, utc_now, observer=observer)

        def open_mailbox() -> Mailbox:
            return Mailbox(settings.imap, tokens, utc_now, observer=observer)

        def open_stages() -> Stages:
            decider = open_decider(settings, stderr_progress(), in_memory=False, model=observed(model, observer))
            company, templates = decider.company, decider.templates
            stages = wire(
                settings,
                store,
                transport,
                company,
                templates,
                lambda: decider,
                utc_now,
                random.random,
                worker=itself,
                observer=observer,
            )
            stages.keep_company()
            stages.audit_versions()
            return stages

        def reopen_stages(before: Stages) -> Stages:
            require_sound_files(settings)
            stages = open_stages()
            before.company.accounts.close()
            return stages

        def journey(mail_id: str, steps: Steps) -> str:
            vault = store.database.vault
            return handle(MailId(mail_id), steps.sealed(partial(vault.record, mail_id), vault.recorded), files.current)

        def worker_on(stages: Stages) -> Worker:
            return Worker(
                settings=settings,
                store=store,
                stages=stages,
                engine=journeys,
                open_mailbox=open_mailbox,
                now=utc_now,
                random=random.random,
                sent_folder=SentFolder(store, settings.imap, open_mailbox, utc_now),
                sent_answers=SentAnswers(store, settings, stages.desk.labelling, open_mailbox, utc_now),
                is_outdated=lambda: files.is_outdated,
                renewed=lambda: worker_on(stages) if (stages := files.renew()) is not None else None,
                membership=membership,
                started_anew=started_anew,
                observer=observer,
            )

        files = Renewal(lambda: stamp_of(settings.company), open_stages, reopen_stages)
        journeys = engine.serve(name, journey, observer)
        watched.opened(store, lambda: files.problem, journeys.in_hand)
        worker = worker_on(files.current)
        with closing(transport), membership.renewing(worker.look_after_dead):
            worker.recover()
            yield worker


@contextmanager
def open_desk(settings: Settings) -> Iterator[tuple[Store, Callable[[], Stages]]]:
    """Open what the desk's page works with, beside a running worker, which sends what people decide.

    Yields:
        The store, and what returns the stages with the company's files as they are now. They have no language model
        and an empty index: a document that a person chooses needs neither, but for its sections the embedders.
    Raises:
        ConfigError: a file of the company or the database cannot be used.
    """
    from support_agent.ops.backtest.running import model_free
    from support_agent.ops.evals.opening import NoModel

    loading, opening = Lock(), Lock()

    @lru_cache(maxsize=1)
    def stages_of(stamp: Stamp) -> Stages:
        company, templates = Company.load(settings.company), Templates.load(settings.company.templates)

        @cache
        def opened() -> Decider:
            return open_decider(
                model_free(settings),
                stderr_progress(),
                in_memory=True,
                model=cast("LanguageModel", NoModel()),
                company=company,
                templates=templates,
                search=open_topic_search(settings, in_memory=True, name="desk"),
            )

        def decider() -> Decider:
            with opening:
                return opened()

        transport = SmtpTransport(settings.smtp, TokenSource(settings.oauth), utc_now)
        made = wire(settings, store, transport, company, templates, decider, utc_now)
        made.keep_company()
        return made

    def stages() -> Stages:
        with loading:
            return stages_of(stamp_of(settings.company))

    with open_store(settings) as store:
        yield store, stages


@contextmanager
def open_probe(settings: Settings) -> Iterator[Probe]:
    """What sends a canary mail and waits for its answer, beside a running worker.

    Raises:
        ConfigError: `[probe]` cannot be used, or there is no store yet.
    """
    from support_agent.ops.probe import Probe, canary_imap, canary_smtp, require_probe_settings
    from support_agent.ops.store_health import current_store

    require_probe_settings(settings)
    imap, transport = canary_imap(settings), SmtpTransport(canary_smtp(settings))

    def open_mailbox() -> Mailbox:
        return Mailbox(imap, read_only=True)

    with current_store(settings) as store, closing(transport):
        if store is None:
            raise ConfigError("there is no store of this version yet: start `support-agent run` first")
        yield Probe(settings, transport, open_mailbox, store, utc_now, time.monotonic, time.sleep)


def open_dry_run(settings: Settings) -> DryRun:
    """Wire the journey on temporary stores that send nothing; the first mail that needs the model opens it.

    Raises:
        ConfigError: a file of the company cannot be used.
    """
    from support_agent.ops.store_health import read_modes

    company, templates = Company.load(settings.company), Templates.load(settings.company.templates)
    decider = cache(
        lambda: open_decider(settings, stderr_progress(), in_memory=True, company=company, templates=templates)
    )
    return dry_run_of(settings, company, templates, decider, modes=read_modes(settings))


def dry_run_of(
    settings: Settings,
    company: Company,
    templates: Templates,
    decider: Callable[[], Decider],
    lookup_txt: TxtLookup | None = None,
    modes: tuple[ModeChange, ...] = (),
) -> DryRun:
    """Wire a dry run from collaborators that are already open; arguments as for `wire` and `DryRun`."""
    from support_agent.ops.dry_run import DryRun, Journey
    from support_agent.pipeline import handle

    def journey_on(changed: Settings, store: Store, transport: Transport, now: Callable[[], datetime]) -> Journey:
        stages = wire(changed, store, transport, company, templates, decider, now, lookup_txt=lookup_txt)
        return lambda mail_id, steps: handle(mail_id, steps, stages)

    return DryRun(settings, company.accounts, journey_on, modes)


def open_bench(
    settings: Settings, level: int | None, *, without_model: bool = False, collection: str = "options"
) -> Bench:
    """Today's agent for past mail, and what compares its choices with people's answers.

    Args:
        level: The sender level to assume; see `Bench`.
        without_model: Decide without the language model: faster, but mails that need it go to people.
        collection: Prefix of the names of its indexes in memory; two that are used at once need two.
    Raises:
        ConfigError: a file of the company or a model cannot be used.
    """
    from support_agent.ops.backtest.contradictions import Numbered
    from support_agent.ops.backtest.judging import Judge
    from support_agent.ops.backtest.meaning import Meaning
    from support_agent.ops.backtest.running import Bench, model_free, todays, version_of
    from support_agent.ops.evals.opening import NoModel

    # How good the agent is does not depend on whom it may answer already.
    settings = settings.model_copy(update={"senders": SenderSettings()})
    settings = model_free(settings) if without_model else settings
    company, templates = (
        todays(Company.load(settings.company), utc_now().date()),
        Templates.load(settings.company.templates),
    )
    search = open_search(settings, company, in_memory=True, name=collection)
    decider = cache(
        lambda: open_decider(
            settings,
            stderr_progress(),
            in_memory=True,
            model=cast("LanguageModel", NoModel()) if without_model else None,
            company=company,
            templates=templates,
            search=search,
        )
    )
    meaning = Meaning(search.embedders, search.embedder.count_tokens)
    return Bench(
        settings=settings,
        company=company,
        dry_run=dry_run_of(settings, company, templates, decider),
        judge=Judge(company.texts, meaning, settings.backtest.shared_meaning),
        numbered=Numbered(company.texts, meaning),
        version=version_of(settings, company, templates, level, without_model),
        level=level,
    )


def read_past(settings: Settings, paths: Sequence[Path], since: datetime | None) -> PastMails:
    """The past mails of files, or, if none are named, of the mailbox and its Sent folder, where no flag changes.

    Raises:
        ConfigError: a file or a folder cannot be read.
    """
    from support_agent.ops.backtest.sources import collect, files_in, in_mailbox

    def open_folder(imap: ImapSettings) -> Mailbox:
        return Mailbox(imap, TokenSource(settings.oauth), utc_now, read_only=True)

    if not paths and not settings.imap.host:
        raise ConfigError("no mails: name an mbox, a Maildir or a folder of .eml files, or set imap.host")
    found = files_in(paths, settings.imap.max_message_bytes) if paths else in_mailbox(settings.imap, open_folder)
    return collect(found, settings.backtest, utc_now(), since)


def read_stored(settings: Settings, since: datetime | None) -> PastMails:
    """The mails that the agent itself has received, and what people wrote through the desk, of its store."""
    from support_agent.ops.backtest.sources import collect, in_store

    with open_store(settings) as store:
        return collect(in_store(store, since), settings.backtest, utc_now())


def real_probes(now: datetime) -> Probes:
    """The connections that `doctor` probes: the same implementations as the worker's."""
    from support_agent.facts.index import count_entries
    from support_agent.ops.doctor import Probes

    return Probes(
        now=now,
        look_at_mailbox=_look_at_mailbox,
        check_sender=lambda settings: SmtpTransport(settings.smtp, TokenSource(settings.oauth), utc_now).check(),
        ask_model=ask_server,
        count_entries=count_entries,
        read_issuer=Provider.read,
    )


def _look_at_mailbox(settings: Settings, cursor: Cursor | None) -> SeenMailbox:
    from support_agent.ops.doctor import SeenMailbox
    from support_agent.outbound.sent_folder import SENT_USE

    with Mailbox(settings.imap, TokenSource(settings.oauth), utc_now) as mailbox:
        folder = settings.imap.sent_folder or mailbox.special_folder(SENT_USE)
        is_there = folder is not None and mailbox.has_folder(folder)
        return SeenMailbox(mailbox.count_after(cursor), folder if is_there else None)
