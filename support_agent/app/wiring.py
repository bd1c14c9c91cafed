"""Wires the rooms: the store, the decider, and all that works on mails, as the settings say.

This room decides nothing about a mail. The others open their own models and indexes (`models.opening`,
`facts.opening`). Slow modules (model, index, engine) are imported inside functions, so that `show` and `replay` start
fast. Checked by tests/acceptance, through the real program.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import structlog

from support_agent.answer.templates import Templates
from support_agent.company.company import Company
from support_agent.config.database_url import normalise_url, shown_url
from support_agent.config.facts import Retrieve
from support_agent.config.settings import Settings
from support_agent.core.observing import UNOBSERVED, Observer
from support_agent.facts.opening import open_rooms, open_search
from support_agent.models.language_model import scoring_of
from support_agent.models.opening import open_model
from support_agent.models.progress import Progress
from support_agent.store.connections import no_store, require_file
from support_agent.store.store import Store
from support_agent.transport.submission import Transport

if TYPE_CHECKING:
    from support_agent.facts.search import CompanySearch
    from support_agent.mail.senders.dkim_check import TxtLookup
    from support_agent.models.writer import LanguageModel
    from support_agent.planner.combiner import Calibration
    from support_agent.workflow.decide import Decider
    from support_agent.workflow.wired import Wired


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


def existing_store(settings: Settings) -> Store:
    """`open_store`, for what only looks at a store or changes what is there.

    Raises:
        ConfigError, TransientError: as `require_store`.
    """
    store = _found_store(settings)
    store.upgrade()
    return store


def require_store(settings: Settings) -> None:
    """Refuse a database without a store: one that is made now would say that nothing was ever kept.

    Raises:
        ConfigError: there is none, or it is only half restored.
        TransientError: the server does not answer.
    """
    _found_store(settings).close()


def _found_store(settings: Settings) -> Store:
    """The store that is there, in its present schema; as `require_store` where there is none."""
    url = normalise_url(settings.store.url)
    require_file(url)
    store = Store.of(settings.store)
    if store.database.revision() is None:
        store.close()
        raise no_store(f"{shown_url(url)} has no store")
    return store


def open_store(settings: Settings) -> Store:
    """Open the database of cases, which is created if need be, and upgrade it to the current schema."""
    store = Store.of(settings.store)
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
) -> Wired:
    """Wire an agent on a store, for the worker, for the desk's page or, on a temporary store, for a dry run.

    Args:
        decider: Returns the decider; called only when a mail needs it.
        now: The clock.
        random: 0 to 1, for the spread of waits.
        lookup_txt: Looks up DKIM keys; the system's DNS by default.
        worker: The name of the worker among those on the store.
        observer: Notified of what is sent.
    """
    from support_agent.cases.autonomy import Autonomy
    from support_agent.cases.breaker import Breaker
    from support_agent.cases.copies import Copies
    from support_agent.cases.rate_limits import Rates
    from support_agent.cases.routing import CaseRouting
    from support_agent.cases.senders import Senders
    from support_agent.cases.threads import Threads
    from support_agent.outbound.composing import Composer
    from support_agent.outbound.delivery_reports import Reports
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
    from support_agent.workflow.staff_replies import StaffReplies
    from support_agent.workflow.stages import Stages
    from support_agent.workflow.wired import Wired

    senders = Senders(store, settings, company.accounts, now, lookup_txt or DnsLookup())
    rates = Rates(store, settings.agent)
    breaker = Breaker(settings.agent, rates, now)
    threads = Threads(store, settings, senders)
    routing = CaseRouting(store, settings, senders, threads, rates, now)
    queue = OutboundQueue(store, settings, Composer(store, settings, company, templates, now))
    autonomy = Autonomy(store, settings.autonomy)
    approval = Approval(store, settings, company, templates, autonomy, now)
    outbox_sender = OutboxSender(
        store, transport, settings.smtp, now, breaker.sending, approval.withdrawn, random, worker, observer
    )
    labelling = Labelling(store, company, autonomy, now)
    desk = DeskCommands(store, settings, company, decider, routing, queue, labelling, approval, now)
    notices = Notices(store, rates, queue, outbox_sender, routing, now)
    stages = Stages(
        store=store,
        settings=settings,
        company=company,
        decider=decider,
        routing=routing,
        copies=Copies(store, settings.store.retention_days, senders),
        rates=rates,
        breaker=breaker,
        autonomy=autonomy,
        staff_replies=StaffReplies(store, settings, desk, routing, rates, notices, now),
        reports=Reports(store, settings, now),
        queue=queue,
        outbox_sender=outbox_sender,
        notices=notices,
        now=now,
    )
    return Wired(
        stages=stages,
        templates=templates,
        desk=desk,
        reminders=Reminders(store, settings, breaker, routing, queue, outbox_sender, now),
        digest=WeeklyDigest(store, settings, company, breaker, queue, outbox_sender, now),
        alarms=Alarms(store, settings, queue, outbox_sender, now, observer),
    )
