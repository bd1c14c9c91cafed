"""The worker's loop: fetch mails, start their journeys, send due mails, do the duties of a round, wait.

Invariant: an unreachable mailbox does not stop sending, a failing server for outgoing mail does not stop fetching, and
one bad mail never blocks the next. `intake`, `starts` and `due_mails` hold what each part does. Checked by
tests/unit/workflow/test_worker.py, and with real processes by tests/journey and tests/acceptance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from threading import Event

import structlog

from support_agent.config.settings import Settings
from support_agent.core.observing import UNOBSERVED, Observer
from support_agent.errors import ConfigError, TransientError
from support_agent.outbound.sent_folder import SentFolder
from support_agent.store.leases import Lease
from support_agent.store.records import MailId, MailStatus
from support_agent.store.store import Store
from support_agent.transport.mailbox_watcher import Watch
from support_agent.workflow.clock_trust import is_trusted
from support_agent.workflow.due_mails import DueMails
from support_agent.workflow.duties import do_each
from support_agent.workflow.intake import ALONE, Inbox, Intake
from support_agent.workflow.membership import Membership
from support_agent.workflow.sent_answers import SentAnswers
from support_agent.workflow.starts import Journeys, Starts
from support_agent.workflow.wired import Wired

log = structlog.get_logger(__name__)

SUPPRESSIONS_KEPT = timedelta(days=365)
"""How long expired suppressions are kept: while our clock is ahead, valid ones look expired."""
IDLE_SLICE_S = 1.0
"""While journeys run, the mailbox is read once in this time."""
IDLE_MARGIN_S = 60.0
"""Added to `planner.max_s`: the longest wait for running journeys before the next poll."""


@dataclass
class Worker:
    """Runs the agent on one mailbox; `now` is the clock."""

    settings: Settings
    store: Store
    wired: Wired
    engine: Journeys
    open_mailbox: Callable[[], AbstractContextManager[Inbox]]
    now: Callable[[], datetime]
    random: Callable[[], float] = lambda: 0.5
    """0 to 1: random spread of the waits before a new connection."""
    clock: Callable[[], float] = time.monotonic
    """Monotonic seconds, for the waits for the mailbox."""
    sent_folder: SentFolder | None = None
    """Files copies of sent mails; None: no copies are filed."""
    sent_answers: SentAnswers | None = None
    """Finds how people answered from their own programs; None: nobody looks."""
    is_outdated: Callable[[], bool] = lambda: False
    """Whether the company's files have changed."""
    renewed: Callable[[], Worker | None] = lambda: None
    """The worker with the company's files of now; None: they have not changed since it was asked last."""
    membership: Membership | None = None
    """This worker among those on the store; None: it is the only one."""
    started_anew: set[MailId] = field(default_factory=set)
    """Mails that an older version had begun, and whose journey starts anew; those that fail again are quarantined."""
    observer: Observer = UNOBSERVED
    """Notified each time when the loop goes on."""

    def __post_init__(self) -> None:
        """Wire the parts of a round."""
        stages = self.stages = self.wired.stages
        self.starts = Starts(self.store, stages, self.engine, self.now, self.started_anew)
        self.intake = Intake(self.settings, self.store, self.starts, self.open_mailbox, self.now, self.observer)
        self.due_mails = DueMails(
            self.store.outbox,
            stages.outbox_sender,
            stages.breaker,
            self.engine,
            self.settings.smtp,
            self.alive,
            self.now,
            self.observer,
        )

    def recover(self) -> None:
        """Resolve mails that a dead worker left in `sending`; call this before the engine is launched."""
        self.due_mails.recover()

    def run(self, stop: Event) -> None:
        """Fetch and send until `stop` is set; the engine's own stop finishes running journeys.

        An unreachable mailbox does not stop sending, and a failing server for outgoing mail does not stop fetching.
        While another worker leads the mailbox, this one only handles mails.

        Raises:
            ConfigError: the mailbox cannot be used, and no connection has worked since the start.
        """
        worker, stopped_why, led = self, "", None  # `led`: the lease of the last round, to notice a change of leader
        with Watch(self.settings.imap, self.intake.mailbox, self.clock, self.random) as watch:
            while not stop.is_set():
                self.observer.turned()
                worker = worker._latest()
                if not (lead := worker._lead()):
                    worker._follow(watch, stop)
                    continue
                fetch = partial(watch.fetch, partial(worker.intake.fetch, stop=stop, lead=lead))
                if lead != led:
                    worker.starts.is_behind.set()
                    led = lead
                with _transient_errors_logged():
                    stopped_why = worker._log_breaker(stopped_why)
                    worker.starts.catch_up()
                worker.intake.is_full.clear()
                fetch()
                with _transient_errors_logged():
                    worker._finish(stop, self._patience_s, fetch)
                if not stop.is_set() and not worker.intake.is_full.is_set():
                    watch.wait(stop)

    def run_once(self, stop: Event) -> None:
        """Handle all new mails, send all due ones, then return.

        Raises:
            ConfigError: another worker leads the mailbox.
            TransientError: the mailbox cannot be reached; mails recorded before are handled nevertheless.
        """
        if not (lead := self._lead()):
            raise ConfigError("another worker fetches this mailbox: stop it, or leave the mails to it")
        self._log_breaker("")
        is_more = True
        while is_more and not stop.is_set():
            try:
                self.starts.restart_open()
                with self.intake.mailbox() as mailbox:
                    self.intake.fetch(mailbox, stop, lead)
            finally:
                self._finish(stop, math.inf, lambda: None)
            is_more = self.intake.is_full.is_set()

    def look_after_dead(self) -> None:
        """Take over what dead workers had in hand; for the worker that leads, in a thread beside its rounds."""
        self.engine.take_over_dead()
        self.due_mails.recover_of_dead()

    def alive(self) -> frozenset[str]:
        """The workers on the store that are alive, with this one."""
        return frozenset({self.stages.outbox_sender.worker}) if self.membership is None else self.membership.alive()

    @property
    def _patience_s(self) -> float:
        return self.settings.planner.max_s + IDLE_MARGIN_S

    def _lead(self) -> Lease | None:
        """The lease on the mailbox; None: another worker leads."""
        return ALONE if self.membership is None else self.membership.lead()

    def _follow(self, watch: Watch[Inbox], stop: Event) -> None:
        """Wait while another worker leads the mailbox."""
        watch.close()
        with _transient_errors_logged():
            self.engine.requeue_lost()
            self.due_mails.recover_between_journeys()
        assert self.membership is not None  # a worker that is the only one leads
        stop.wait(self.membership.pause_s)

    def _latest(self) -> Worker:
        """The worker for the next round: files are exchanged only while no mail is being handled here."""
        with _transient_errors_logged():
            if self.is_outdated():
                with self.engine.still(self._patience_s) as is_still:
                    return (self.renewed() if is_still else None) or self
        return self

    def _log_breaker(self, before: str) -> str:
        """Log when automatic mail stops or goes on; return why it is stopped now, or ""."""
        now = self.stages.breaker.any()
        if now and now != before:
            log.warning("automatic_mail_stopped", why=now, waiting=self.store.traffic.totals().mails[MailStatus.NEW])
        elif before and not now:
            log.warning("automatic_mail_resumed", stopped_before=before)
        return now

    def _finish(self, stop: Event, patience_s: float, fetch: Callable[[], None]) -> None:
        """Wait for running journeys, then do the duties of a round.

        Args:
            patience_s: Longest wait; a journey that takes longer, or hangs, does not stop fetching and sending.
            fetch: Fetches what arrives meanwhile.
        """
        waited_s = 0.0
        while not (is_idle := self.engine.wait_until_idle(IDLE_SLICE_S)):
            if stop.is_set():
                return
            fetch()
            waited_s += IDLE_SLICE_S
            if waited_s >= patience_s:
                log.warning("mails_still_in_hand", waited_s=waited_s)
                break
        wired, stages = self.wired, self.stages
        duties: list[Callable[[], object]] = [self.starts.handle_failed, self.due_mails.recover_between_journeys]
        if is_idle:
            duties += [stages.notices.notify_breaker, wired.reminders.look_after, wired.digest.look_after]
        duties += [
            lambda: self.due_mails.send(stop),
            stages.notices.send_without_original,
            stages.notices.notify_losses,
            wired.alarms.look_after,
            stages.outbox_sender.transport.close_idle,
        ]
        if self.sent_folder is not None:
            duties.append(self.sent_folder.look_after)
        if self.sent_answers is not None:
            duties.append(self.sent_answers.look_after)
        do_each([*duties, self._delete_old])

    def _delete_old(self) -> None:
        now = self.now()
        if not is_trusted(self.store.watching, now):
            return
        self.engine.delete_finished(now - timedelta(days=self.settings.engine.retention_days))
        deleted = self.store.retention.run(self.settings.store, now)
        self.store.suppressions.delete_expired(now - SUPPRESSIONS_KEPT)
        if deleted.mails:
            log.info("retention", mails=deleted.mails, cases=deleted.cases)


@contextmanager
def _transient_errors_logged() -> Iterator[None]:
    """Log a TransientError instead of ending the loop; the next round tries again."""
    try:
        yield
    except TransientError as error:
        log.warning("round_failed", code=error.code, error=str(error))
