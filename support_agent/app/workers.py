"""Starts the workers of the mailboxes, in the one order in which nothing is lost or sent twice.

Invariant: a worker is known by its lease before it handles a mail; what a dead one was sending is resolved before the
engine is launched, and the engine is stopped before the lease ends. Checked by tests/journey/test_workers.py and
tests/crash with real processes, whose workers `start_workers` starts of other parts.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from support_agent.app.wiring import open_decider, open_store, wire
from support_agent.company.company import stamp_of
from support_agent.config.loading import require_mail_settings
from support_agent.config.settings import ModelSettings, Settings
from support_agent.core.clock import SET_CLOCK, utc_now, why_impossible
from support_agent.engine.database import engine_url
from support_agent.engine.engine import Engine, executor_id
from support_agent.engine.journeys import Journeys
from support_agent.engine.steps import Steps
from support_agent.errors import TransientError
from support_agent.models.observed import observed
from support_agent.models.opening import open_model
from support_agent.models.progress import stderr_progress
from support_agent.models.writer import LanguageModel
from support_agent.ops.check import require_sound_addresses, require_sound_files
from support_agent.outbound.sent_folder import SentFolder
from support_agent.pipeline import handle
from support_agent.store.lock import among_workers, this_process
from support_agent.store.records import MailId
from support_agent.store.store import Store
from support_agent.transport.mailbox import Mailbox
from support_agent.transport.oauth import TokenSource
from support_agent.transport.submission import SmtpTransport
from support_agent.watch.health import WatchedWorker
from support_agent.watch.opening import open_watch
from support_agent.workflow.intake import Inbox
from support_agent.workflow.membership import Membership
from support_agent.workflow.renewal import Renewal
from support_agent.workflow.sent_answers import SentAnswers
from support_agent.workflow.stages import Stages
from support_agent.workflow.versions import audit_versions, keep_company
from support_agent.workflow.wired import Wired
from support_agent.workflow.worker import Worker


@dataclass(frozen=True)
class WorkerParts:
    """What the worker of one mailbox is made of; `now` is the clock."""

    settings: Settings
    watched: WatchedWorker
    """Is notified of what is opened."""
    open_store: Callable[[], AbstractContextManager[Store]]
    open_mailbox: Callable[[], AbstractContextManager[Inbox]]
    open_wired: Callable[[Store, str], Wired]
    """Wires the agent with the company's files as they are now, for the worker of this name."""
    look_at_sent: Callable[[Store, Wired], tuple[SentFolder, SentAnswers]] | None = None
    """What looks after the Sent folder; None: nothing does."""
    now: Callable[[], datetime] = utc_now
    handle: Callable[[MailId, Steps, Stages], str] = handle


@contextmanager
def open_workers(settings: Settings, brands: Mapping[str, Settings] | None = None) -> Iterator[dict[str, Worker]]:
    """Open and launch the workers, one for each mailbox; stop them when the block ends.

    Args:
        brands: Settings of further mailboxes by their names; they share the engine and equal models.
    Yields:
        The workers by the name of their brand; "" is the mailbox of `settings`.
    Raises:
        ConfigError: a setting for sending or receiving is missing, an address cannot be written to, or another process
            has a store.
        TransientError: the clock is before the program's release; it may be set before the next try.
    """
    if why := why_impossible(utc_now()):
        raise TransientError(f"the clock is wrong: {why}: {SET_CLOCK}", code="clock")
    each = {"": settings, **(brands or {})}
    for one in each.values():
        require_mail_settings(one)
        require_sound_addresses(one)
    # Equal settings share a model; the embedders are shared by their opening.
    models: dict[tuple[ModelSettings, float], LanguageModel] = {}
    with ExitStack() as opened:
        watched = opened.enter_context(open_watch(each, utc_now, time.monotonic))  # while the models load, too
        parts: dict[str, WorkerParts] = {}
        for name, one in each.items():
            key = (one.model, one.grading.timeout_s)
            if key not in models:
                models[key] = open_model(one, stderr_progress())
            parts[name] = opened.enter_context(_real_parts(one, models[key], watched[name]))
        yield opened.enter_context(start_workers(parts))


@contextmanager
def start_workers(parts: Mapping[str, WorkerParts]) -> Iterator[dict[str, Worker]]:
    """Start the workers of this process, of one for each brand's parts, and launch their engine; stop all at the end.

    Args:
        parts: Of each mailbox by its brand; the engine is that of the first, "".
    """
    settings, workers = parts[""].settings, dict[str, Worker]()
    engine = Engine(
        engine_url(settings.store.url),
        executor_id(uuid.uuid4().hex[:8]),
        settings.engine,
        alive=lambda: workers[""].alive(),
    )
    with ExitStack() as opened:
        for brand, one in parts.items():
            workers[brand] = opened.enter_context(_started(brand, one, engine))
        engine.launch()
        opened.callback(engine.stop, settings.engine.stop_timeout_s)
        yield workers


@contextmanager
def _started(brand: str, parts: WorkerParts, engine: Engine) -> Iterator[Worker]:
    """Start the worker of one mailbox; its journeys run in the engine, which is launched later."""
    settings, itself = parts.settings, engine.executor_id
    with (
        among_workers(settings.store.url, this_process(), timeout_s=settings.store.timeout_s) as has_others,
        parts.open_store() as store,
    ):
        store.sealing.require_keys(may_create=True)
        if not has_others:
            store.leases.end_all()
        membership = Membership(store.leases, itself, settings.engine.lease_s, parts.now, time.monotonic)
        files = Renewal(
            lambda: stamp_of(settings.company),
            lambda: _opened(parts, store, itself),
            lambda before: _reopened(before, parts, store, itself),
        )

        def journey(mail_id: str, steps: Steps) -> str:
            vault = store.database.vault
            sealed = steps.sealed(partial(vault.record, mail_id), vault.recorded)
            return parts.handle(MailId(mail_id), sealed, files.current.stages)

        journeys = engine.serve(brand, journey, parts.watched.observer)
        parts.watched.opened(store, lambda: files.problem, journeys.in_hand)
        worker = _worker(parts, store, membership, journeys, files)
        with membership.renewing(worker.look_after_dead):
            worker.recover()
            yield worker


def _worker(
    parts: WorkerParts, store: Store, membership: Membership, journeys: Journeys, files: Renewal[Wired]
) -> Worker:
    started_anew: set[MailId] = set()

    def worker_on(wired: Wired) -> Worker:
        folder, answers = parts.look_at_sent(store, wired) if parts.look_at_sent is not None else (None, None)
        return Worker(
            settings=parts.settings,
            store=store,
            wired=wired,
            engine=journeys,
            open_mailbox=parts.open_mailbox,
            now=parts.now,
            random=random.random,
            sent_folder=folder,
            sent_answers=answers,
            is_outdated=lambda: files.is_outdated,
            renewed=lambda: worker_on(wired) if (wired := files.renew()) is not None else None,
            membership=membership,
            started_anew=started_anew,
            observer=parts.watched.observer,
        )

    return worker_on(files.current)


def _opened(parts: WorkerParts, store: Store, worker: str) -> Wired:
    """Wire the agent, and keep what it answers with from now on, before it sees a mail."""
    wired = parts.open_wired(store, worker)
    keep_company(store, wired.company)
    audit_versions(store, wired.company, wired.templates.version, parts.settings, parts.now())
    return wired


def _reopened(before: Wired, parts: WorkerParts, store: Store, worker: str) -> Wired:
    require_sound_files(parts.settings)
    wired = _opened(parts, store, worker)
    before.company.accounts.close()
    return wired


@contextmanager
def _real_parts(settings: Settings, model: LanguageModel, watched: WatchedWorker) -> Iterator[WorkerParts]:
    """The parts of a mailbox as the settings say."""
    observer = watched.observer
    tokens = TokenSource(settings.oauth, observer)

    def open_mailbox() -> Mailbox:
        return Mailbox(settings.imap, tokens, utc_now, observer=observer)

    with closing(SmtpTransport(settings.smtp, tokens, utc_now, observer=observer)) as transport:

        def open_wired(store: Store, worker: str) -> Wired:
            decider = open_decider(settings, stderr_progress(), in_memory=False, model=observed(model, observer))
            return wire(
                settings,
                store,
                transport,
                decider.company,
                decider.templates,
                lambda: decider,
                utc_now,
                random.random,
                worker=worker,
                observer=observer,
            )

        yield WorkerParts(
            settings=settings,
            watched=watched,
            open_store=lambda: open_store(settings),
            open_mailbox=open_mailbox,
            open_wired=open_wired,
            look_at_sent=lambda store, wired: (
                SentFolder(store, settings.imap, open_mailbox, utc_now),
                SentAnswers(store, settings, wired.desk.labelling, open_mailbox, utc_now),
            ),
        )
