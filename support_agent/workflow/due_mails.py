"""Sends the mails of the outbox that are due, and resolves those that a dead worker left in `sending`.

Invariant: the outbox, not this module, decides what may be sent, a mail that another worker may be sending is left
alone, and a mail that cannot be sent stops no other. Checked by tests/unit/workflow/test_worker_sending.py and
test_worker_due.py, and by tests/journey/test_kill.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event

import structlog

from support_agent.cases.breaker import Breaker
from support_agent.config.autonomy import MAX_HOLD_S
from support_agent.config.mail_servers import SmtpSettings
from support_agent.core.observing import Observer
from support_agent.engine.steps import known_error
from support_agent.errors import ConfigError, TransientError, raised_at
from support_agent.outbound.sender import OutboxSender
from support_agent.store.outbox import Outbox
from support_agent.store.records import Due, OutgoingKind
from support_agent.workflow.starts import Journeys

log = structlog.get_logger(__name__)

OUTBOX_BATCH = 50


@dataclass(frozen=True)
class DueMails:
    """The outbox of one mailbox; `now` is the clock."""

    outbox: Outbox
    sender: OutboxSender
    breaker: Breaker
    journeys: Journeys
    settings: SmtpSettings
    alive: Callable[[], Collection[str]]
    """The names of the workers on the store that are alive, with this one."""
    now: Callable[[], datetime]
    observer: Observer
    """Notified of each mail that is tried."""

    def recover(self) -> None:
        """Resolve mails left in `sending` by dead workers, and by this one; for a moment when it sends nothing."""
        self._resolve(lambda: {*self.alive()} - {self.sender.worker})

    def recover_of_dead(self) -> None:
        """Resolve mails left in `sending` by dead workers."""
        self._resolve(self.alive)

    def recover_between_journeys(self) -> None:
        """Resolve mails left in `sending` by dead workers, and by this one if no journey runs here.

        For the thread that sends what is due.
        """
        with self.journeys.still(0) as is_still:
            if is_still:
                return self.recover()
        self.recover_of_dead()

    def _resolve(self, alive: Callable[[], Collection[str]]) -> None:
        """Resolve mails left in `sending`, but for those of workers that may be sending."""
        for record in self.outbox.recover_sending(self.settings.max_attempts, alive):
            log.error("delivery_uncertain", outbox_id=record.id, kind=record.kind.value, now=record.status.value)

    def send(self, stop: Event) -> None:
        """Try each due mail once; a held mail does not block the others."""
        now = self.now()
        latest_s = max(self.settings.retry_max_s, MAX_HOLD_S)
        if reset := self.outbox.reset_retry_times(now, now + timedelta(seconds=latest_s)):
            log.warning("clock_was_ahead", due_now=reset)
        last: Due | None = None
        while due := self.outbox.ready(now, OUTBOX_BATCH, last, self._sendable_kinds()):
            for last in due:
                if stop.is_set():
                    return
                self.observer.turned()
                try:
                    record = self.outbox.get(last.id)  # with its bytes, so only one at a time is in memory
                    if record is not None:  # else deleted since
                        self.sender.deliver(record)
                except (ConfigError, TransientError):
                    raise
                except Exception as error:  # also a defect of this program: the mails behind it must leave
                    code = known_error(error, "sending").code
                    log.critical("delivery_failed", outbox_id=last.id, code=code, at=raised_at(error))

    def _sendable_kinds(self) -> list[OutgoingKind]:
        """The kinds that may be sent now; read for each batch, because sending uses up the hourly limit."""
        is_stopped = bool(self.breaker.sending())
        return [kind for kind in OutgoingKind if not (is_stopped and kind.is_automatic_to_sender)]
