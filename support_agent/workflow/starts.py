"""Starts the journeys of recorded mails, and starts those again that wait, or that failed for another version.

Invariant: mails of one thread are started in the order in which they were recorded, and a mail that cannot be started
never stops the others. Checked by tests/unit/workflow/test_worker.py, test_worker_duties.py and test_paused_worker.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from threading import Event
from typing import Protocol

import structlog

from support_agent.cases.copies import known_as
from support_agent.cases.rate_limits import is_from_unknown_sender
from support_agent.engine.journeys import FailedJourney, InHand
from support_agent.engine.steps import JOURNEY_CHANGED
from support_agent.errors import PermanentError
from support_agent.mail.message import Message, parse
from support_agent.store.records import CaseId, MailId, MailRecord, MailStatus, mail_id_of
from support_agent.store.store import Store
from support_agent.workflow.duties import do_each
from support_agent.workflow.stages import Stages

log = structlog.get_logger(__name__)

THREAD_DIGITS = 16


class Journeys(Protocol):
    """Runs the journeys of mails; see `engine.journeys.Journeys`."""

    def start(self, mail_id: str, thread: str) -> None:
        """Start a mail's journey, once; mails of one thread run one after the other."""

    def follow_queued(self) -> None:
        """Queue further mails behind all that are queued."""

    def wait_until_idle(self, timeout_s: float) -> bool:
        """Wait until no journey is left to run in any process; False if that takes longer."""

    def still(self, timeout_s: float) -> AbstractContextManager[bool]:
        """Let no journey begin in this process inside the block; yields whether none runs."""

    def requeue_lost(self) -> None:
        """Queue the mails again that no thread of this process runs, against its records."""

    def take_over_dead(self) -> None:
        """Queue the mails of dead processes again."""

    def in_hand(self) -> InHand:
        """Count the journeys that wait, and those that run."""

    def failed(self) -> list[FailedJourney]:
        """The mails whose journey failed."""

    def ended(self, mail_ids: Sequence[str]) -> dict[str, bool]:
        """For each of these mails that was started: whether its journey ended without an error."""

    def delete_records(self, mail_ids: Sequence[str]) -> None:
        """Delete the records of journeys that have ended, so that `start` runs them again."""

    def delete_finished(self, before: datetime) -> int:
        """Delete the records of journeys that ended before an instant; returns how many."""


@dataclass
class Starts:
    """Starts the journeys of one mailbox's mails; `now` is the clock."""

    store: Store
    stages: Stages
    journeys: Journeys
    now: Callable[[], datetime]
    started_anew: set[MailId] = field(default_factory=set)
    """Mails that an older version had begun, and whose journey starts anew; those that fail again are quarantined."""
    is_behind: Event = field(default_factory=Event)
    """Set while a recorded mail may not have been started."""

    def start(self, mail_id: MailId, message: Message | None) -> None:
        """Start the journey; mails of one thread, named by its root, are handled one after the other.

        The name is a hash because it is logged, and senders choose a Message-ID's text.
        """
        root = _root(message) if message is not None else mail_id
        self.journeys.start(mail_id, hashlib.sha256(root.encode("utf-8", "surrogatepass")).hexdigest()[:THREAD_DIGITS])

    def catch_up(self) -> None:
        """Start what was not started; behind all that is queued, if that may have come from another worker."""
        if self.is_behind.is_set():
            self.journeys.follow_queued()
        self.is_behind.set()
        self.restart_open()
        self.is_behind.clear()

    def restart_open(self) -> None:
        """Start mails that were recorded but never reached the engine, and requeue deferred ones.

        Requeues the oldest deferred mails, within the hourly quota (unknown senders: within half of it), and none
        while deciding is stopped.
        """
        open_mails = self.store.mails.find(status=MailStatus.NEW)
        ended = self.journeys.ended([mail.id for mail in open_mails])
        again = self._requeueable(open_mails, ended)
        self.journeys.delete_records(again)
        for mail_id in (*again, *(mail.id for mail in open_mails if mail.id not in ended)):
            self._start_recorded(mail_id)

    def _start_recorded(self, mail_id: MailId) -> None:
        """Start a stored mail; one that cannot be read, as its key was destroyed, must not stop the others."""
        try:
            raw = self.store.mails.raw(mail_id)
        except PermanentError as error:
            log.critical("mail_not_readable", mail_id=mail_id, code=error.code)
            # No reason in words: it would be sealed with a new key, which would hide that the mail's own is gone.
            self.store.mails.end(mail_id, MailStatus.QUARANTINED, error.code, None, self.now())
            return
        self.start(mail_id, parsed(raw))

    def _requeueable(self, open_mails: Sequence[MailRecord], ended: Mapping[str, bool]) -> list[MailId]:
        """The deferred mails that fit into the quota; a mail behind a waiting mail of its case uses no quota."""
        rates, now = self.stages.rates, self.now()
        room, of_unknown = (0, 0) if self.stages.breaker.deciding() else (rates.room(now), rates.room(now, 0))
        again: list[MailId] = []
        blocked: set[CaseId | None] = set()
        for mail in open_mails:
            is_room = len(again) < room and (of_unknown > 0 or not is_from_unknown_sender(mail))
            # A journey that ended but left its mail open has deferred it: otherwise it ends the mail first.
            if is_room and mail.case_id not in blocked and ended.get(mail.id) and self._is_open(mail.id):
                again.append(mail.id)
                of_unknown -= is_from_unknown_sender(mail)
            elif mail.case_id is not None:
                blocked.add(mail.case_id)
        return again

    def _is_open(self, mail_id: MailId) -> bool:
        """Whether the mail is still `new`: its journey may have ended it since the list was read."""
        mail = self.store.mails.get(mail_id)
        return mail is not None and mail.status is MailStatus.NEW

    def handle_failed(self) -> None:
        """Quarantine the mails whose journey failed; one that an older version of the program began starts anew."""
        open_mails = {mail.id for mail in self.store.mails.find(status=MailStatus.NEW)}
        duties: list[Callable[[], object]] = []
        for failure in self.journeys.failed():
            if (mail_id := MailId(failure.mail_id)) in open_mails:
                is_of_older = failure.error.code == JOURNEY_CHANGED and mail_id not in self.started_anew
                anew, quarantine = partial(self._start_anew, mail_id), self.stages.notices.quarantine
                duties.append(anew if is_of_older else partial(quarantine, mail_id, failure.error))
        do_each(duties)

    def _start_anew(self, mail_id: MailId) -> None:
        """Start a journey from its beginning; what it has put into the outbox already stays as it is."""
        self.started_anew.add(mail_id)
        self.journeys.delete_records([mail_id])
        self._start_recorded(mail_id)


def parsed(raw: bytes) -> Message | None:
    """The parsed mail; None if the parser fails on it (S37).

    Its journey then fails as well and notifies the desk, and the next mail is read.
    """
    try:
        return parse(raw)
    except Exception as error:
        log.critical("mail_not_parsed", mail_id=mail_id_of(raw), error=type(error).__name__)
        return None


def _root(message: Message) -> str:
    return next(iter(message.references), message.in_reply_to or known_as(message))
