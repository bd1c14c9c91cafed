"""The worker's loop: fetch mails, record them, start their journeys, send due mails, wait.

Invariant: one transaction records a mail and the cursor before anything else happens to the mail, and the mail is
flagged in the mailbox only after that. The outbox, not the loop, decides what may be sent. One bad mail never blocks
the next. Checked by tests/unit/workflow/test_worker.py, and with real processes by tests/journey and tests/acceptance.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from threading import Event
from typing import Protocol

import structlog

from support_agent.cases.copies import COPY_RULE, known_as
from support_agent.cases.rate_limits import is_from_unknown_sender
from support_agent.config.autonomy import MAX_HOLD_S
from support_agent.config.settings import Settings
from support_agent.core.cursor import UNBOUNDED, Cursor
from support_agent.core.observing import UNOBSERVED, Observer
from support_agent.engine.engine import Failure, InHand
from support_agent.engine.steps import JOURNEY_CHANGED
from support_agent.errors import ConfigError, PermanentError, TransientError
from support_agent.mail.machines.screening import Verdict
from support_agent.mail.message import Message, parse
from support_agent.outbound.sent_folder import SentFolder
from support_agent.store.leases import Lease
from support_agent.store.records import CaseId, Due, MailId, MailRecord, MailStatus, OutgoingKind, mail_id_of
from support_agent.store.store import Store
from support_agent.transport.mailbox import Fetched
from support_agent.transport.mailbox_watcher import IdleMailbox, Watch
from support_agent.workflow.membership import Membership
from support_agent.workflow.restored_mails import ANSWERED_BEFORE, is_answered_in
from support_agent.workflow.sent_answers import SentAnswers
from support_agent.workflow.stages import Stages

log = structlog.get_logger(__name__)

OUTBOX_BATCH = 50
ALONE = Lease("", 0)
"""The lead of a worker that is the only one on its store."""
FOLLOW_S = 1.0
SERVER_CLOCK_LAG = timedelta(hours=1)
"""How far the mail server's clock may be behind ours: mails that arrive after the first start must not look older."""
SUPPRESSIONS_KEPT = timedelta(days=365)
"""How long expired suppressions are kept: while our clock is ahead, valid ones look expired."""
IDLE_SLICE_S = 1.0
"""While journeys run, the mailbox is read once in this time."""
IDLE_MARGIN_S = 60.0
"""Added to `planner.max_s`: the longest wait for running journeys before the next poll."""
THREAD_DIGITS = 16


class Inbox(IdleMailbox, Protocol):
    """An open folder whose mails are read after a cursor and marked; see `transport.mailbox.Mailbox`."""

    def resume(self, cursor: Cursor | None) -> Cursor:
        """The cursor to continue from; None starts before the oldest mail."""

    def end(self) -> Cursor:
        """The cursor after the newest mail."""

    def fetch_after(self, cursor: Cursor) -> Iterator[Fetched]:
        """The mails after a cursor from `resume` or `end`, in the order of their UIDs."""

    def mark_handled(self, uid: int, message_id: str | None = None) -> None:
        """Mark a mail as recorded; with its Message-ID, where an earlier mark may have been cut short."""

    def special_folder(self, use: str) -> str | None:
        """The folder with a special use such as "\\\\Sent"; None if there is none."""

    def has_message_id(self, folder: str, message_id: str) -> bool:
        """Whether a folder has a mail with this Message-ID."""


class Journeys(Protocol):
    """Runs the journeys of mails; see `engine.engine.Engine`."""

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

    def in_hand(self, most: int) -> InHand:
        """Count the journeys that wait, and those that run, each up to a limit."""

    def failed(self) -> list[Failure]:
        """The mails whose journey failed."""

    def ended(self, mail_ids: Sequence[str]) -> dict[str, bool]:
        """For each of these mails that was started: whether its journey ended without an error."""

    def forget(self, mail_ids: Sequence[str]) -> None:
        """Forget journeys that have ended, so that `start` runs them again."""

    def delete_finished(self, before: datetime) -> int:
        """Forget the journeys that ended before an instant; returns how many."""


@dataclass(frozen=True)
class Worker:
    """Runs the agent on one mailbox; `now` is the clock."""

    settings: Settings
    store: Store
    stages: Stages
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
    is_behind: Event = field(default_factory=Event)
    """Set while a recorded mail may not have been started."""
    started_anew: set[MailId] = field(default_factory=set)
    """Mails whose journey an older version of the program had begun; a second failure of theirs is one."""
    observer: Observer = UNOBSERVED
    """Told each time when the loop goes on."""
    is_full: Event = field(default_factory=Event)
    """Set if the last fetch left mails in the mailbox, because `engine.max_waiting` are not decided yet."""

    def recover(self) -> None:
        """Resolve mails that a dead worker left in `sending`; call this before the engine is launched."""
        self._resolve_sending(but_for=self.alive() - {self._name})

    def run(self, stop: Event) -> None:
        """Fetch and send until `stop` is set; the engine's own stop finishes running journeys.

        An unreachable mailbox does not stop sending, and a failing server for outgoing mail does not stop fetching.
        While another worker leads the mailbox, this one only handles mails.

        Raises:
            ConfigError: the mailbox cannot be used, and no connection has worked since the start.
        """
        worker, stopped_why, led = self, "", None
        with Watch(self.settings.imap, self._mailbox, self.clock, self.random) as watch:
            while not stop.is_set():
                self.observer.turned()
                worker = worker._latest()
                if not (lead := worker._lead()):
                    worker._follow(watch, stop)
                    continue
                fetch = partial(watch.fetch, partial(worker._fetch, stop=stop, lead=lead))
                if lead != led:
                    worker.is_behind.set()
                    led = lead
                with _transient_errors_logged():
                    stopped_why = worker._log_breaker(stopped_why)
                    worker._catch_up()
                worker.is_full.clear()
                fetch()
                with _transient_errors_logged():
                    worker._finish(stop, self._patience_s, fetch)
                if not stop.is_set() and not worker.is_full.is_set():
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
                self._restart_open_mails()
                with self._mailbox() as mailbox:
                    self._fetch(mailbox, stop, lead)
            finally:
                self._finish(stop, math.inf, lambda: None)
            is_more = self.is_full.is_set()

    def look_after_dead(self) -> None:
        """Take over what dead workers had in hand; for the worker that leads, in a thread beside its rounds."""
        self.engine.take_over_dead()
        self._resolve_sending(but_for=self.alive())

    def alive(self) -> frozenset[str]:
        """The workers on the store that are alive, with this one."""
        return frozenset({self._name}) if self.membership is None else self.membership.alive()

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
            self._recover_sending()
        stop.wait(FOLLOW_S if self.membership is None else self.membership.pause_s)

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

    @contextmanager
    def _mailbox(self) -> Iterator[Inbox]:
        """Open the mailbox, and flag the last recorded mail again: a crash may have prevented its flag."""
        with self.open_mailbox() as mailbox:
            stored = self.store.cursors.get(self.settings.imap.folder)
            if stored is not None and mailbox.resume(stored) == stored:
                last = self.store.mails.at(stored)
                if last is not None:
                    mailbox.mark_handled(last.uid, last.message_id)
            yield mailbox

    def _fetch(self, mailbox: Inbox, stop: Event, lead: Lease) -> int:
        """Record the new mails for which there is room, and start their journeys; return how many there were.

        Mails that were recorded and not started come first: none of their threads may overtake them.
        """
        if self.is_behind.is_set():
            self._catch_up()
        cursor, mails, room = self._cursor(mailbox), 0, self._room()
        for fetched in mailbox.fetch_after(cursor) if room > 0 else ():
            self.observer.turned()
            if self._is_left_alone(fetched):
                # A person who moves an old mail here expects an answer; in a renumbered folder most mail is old.
                say = log.info if fetched.is_rescan else log.warning
                say("mail_left_alone", uid=fetched.uid, arrived_at=str(fetched.arrived_at))
                self.store.cursors.move(fetched.cursor)
            else:
                self.is_behind.set()
                self._record(fetched, lead, mailbox)
                self.is_behind.clear()
                mailbox.mark_handled(fetched.uid)
                room -= 1
            mails += 1
            if stop.is_set():
                return mails
            if room <= 0:
                break
        self._note_room(room)
        if room > 0:  # else it was not read to its end
            self.store.cursors.mark_fetched(cursor.folder, self.now())
        return mails

    def _room(self) -> int:
        """How many more mails may be recorded: what is not decided yet is bounded, and waits in the mailbox."""
        most = self.settings.engine.max_waiting
        return most - sum(self.engine.in_hand(most))

    def _note_room(self, room: int) -> None:
        if room > 0:
            return self.is_full.clear()
        self.is_full.set()
        log.warning("fetch_bounded", max_waiting=self.settings.engine.max_waiting)

    def _is_left_alone(self, fetched: Fetched) -> bool:
        """Whether a mail is too old to handle: it arrived before the first start with `imap.skip_existing`, or is read
        again from a renumbered folder and older than the store's retention, so that a copy is not recognised.
        """
        arrived_at, left_before = fetched.arrived_at, fetched.cursor.left_before
        if arrived_at is None:
            return False
        if left_before is not None and arrived_at < left_before:
            return True
        retention = timedelta(days=self.settings.store.retention_days)
        return fetched.is_rescan and arrived_at < self.now() - retention

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
        duties: list[Callable[[], object]] = [self._handle_failed, self._recover_sending]
        if is_idle:
            duties += [self.stages.notices.notify_breaker]
            duties += [self.stages.reminders.look_after, self.stages.digest.look_after]
        duties += [
            lambda: self._send_due(stop),
            self.stages.notices.notify_losses,
            self.stages.alarms.look_after,
            self.stages.outbox_sender.transport.close_idle,
        ]
        if self.sent_folder is not None:
            duties.append(self.sent_folder.look_after)
        if self.sent_answers is not None:
            duties.append(self.sent_answers.look_after)
        _do_each([*duties, self._delete_old])

    def _cursor(self, mailbox: Inbox) -> Cursor:
        """The cursor to fetch from; a rescan is stored before its first mail, so that a crash does not lose it."""
        stored = self.store.cursors.get(self.settings.imap.folder)
        if stored is not None:
            cursor = mailbox.resume(stored)
            if cursor.uid_validity == stored.uid_validity:
                return self._with_bounded_doubt(cursor, mailbox)
            log.critical("folder_renumbered", folder=cursor.folder, rescan_until=cursor.rescan_until)
        elif self.settings.imap.skip_existing:
            cursor = mailbox.end().model_copy(update={"left_before": self.now() - SERVER_CLOCK_LAG})
        else:
            cursor = mailbox.resume(None)
        self.store.cursors.move(cursor)
        return cursor

    def _with_bounded_doubt(self, cursor: Cursor, mailbox: Inbox) -> Cursor:
        """The cursor; after a restore the newest mail at the first look is the last one that is in doubt."""
        if cursor.in_doubt_until != UNBOUNDED:
            return cursor
        newest = mailbox.end().last_uid
        self.store.cursors.bound_doubt(cursor.folder, newest)
        log.warning("mails_in_doubt", folder=cursor.folder, after_uid=cursor.last_uid, until_uid=newest)
        return cursor.model_copy(update={"in_doubt_until": newest})

    def _record(self, fetched: Fetched, lead: Lease, mailbox: Inbox) -> None:
        """Record a mail and start its journey, once for the same bytes; `Stages.screen` recognises other copies.

        After a restore the journey leaves a mail in doubt to a person, unless the Sent folder has the answer.
        """
        message = _parsed(fetched.raw)
        message_id = known_as(message) if message is not None else f"<{mail_id_of(fetched.raw)}@unread.invalid>"
        lease = None if lead is ALONE else lead
        recorded = self.store.mails.record(fetched.raw, message_id, fetched.cursor, self.now(), lease=lease)
        log.info("mail_recorded", mail_id=recorded.id, is_new=recorded.is_new)
        if recorded.is_new and not (fetched.is_in_doubt and self._file_answered(mailbox, recorded.id)):
            self._start(recorded.id, message)

    def _file_answered(self, mailbox: Inbox, mail_id: MailId) -> bool:
        """File a mail that a lost store has answered, by the Sent folder; False if that does not show it."""
        if not is_answered_in(mailbox, self.settings, mail_id):
            return False
        self.store.mails.save_screening(mail_id, Verdict.FILE.value, COPY_RULE)
        self.store.mails.end(mail_id, MailStatus.FILED, COPY_RULE, ANSWERED_BEFORE, self.now())
        log.info("mail_answered_before", mail_id=mail_id)
        return True

    def _start(self, mail_id: MailId, message: Message | None) -> None:
        """Start the journey; mails of one thread, named by its root, are handled one after the other.

        The name is a hash because it is logged, and senders choose a Message-ID's text.
        """
        root = _root(message) if message is not None else mail_id
        self.engine.start(mail_id, hashlib.sha256(root.encode("utf-8", "surrogatepass")).hexdigest()[:THREAD_DIGITS])

    def _catch_up(self) -> None:
        """Start what was not started; behind all that is queued, if that may have come from another worker."""
        if self.is_behind.is_set():
            self.engine.follow_queued()
        self.is_behind.set()
        self._restart_open_mails()
        self.is_behind.clear()

    def _restart_open_mails(self) -> None:
        """Start mails that were recorded but never reached the engine, and requeue deferred ones.

        Requeues the oldest deferred mails, within the hourly quota (unknown senders: within half of it), and none
        while deciding is stopped.
        """
        open_mails = self.store.mails.find(status=MailStatus.NEW)
        ended = self.engine.ended([mail.id for mail in open_mails])
        again = self._requeueable(open_mails, ended)
        self.engine.forget(again)
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
        self._start(mail_id, _parsed(raw))

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

    def _handle_failed(self) -> None:
        """Quarantine the mails whose journey failed; one that an older version of the program began starts anew."""
        open_mails = {mail.id for mail in self.store.mails.find(status=MailStatus.NEW)}
        duties: list[Callable[[], object]] = []
        for failure in self.engine.failed():
            if (mail_id := MailId(failure.mail_id)) in open_mails:
                is_of_older = failure.error.code == JOURNEY_CHANGED and mail_id not in self.started_anew
                anew, quarantine = partial(self._start_anew, mail_id), self.stages.notices.quarantine
                duties.append(anew if is_of_older else partial(quarantine, mail_id, failure.error))
        _do_each(duties)

    def _start_anew(self, mail_id: MailId) -> None:
        """Start a journey from its beginning; what it has put into the outbox already stays as it is."""
        self.started_anew.add(mail_id)
        self.engine.forget([mail_id])
        self._start_recorded(mail_id)

    def _recover_sending(self) -> None:
        """Resolve mails left in `sending` by dead workers, and by this one if no journey runs here.

        For the thread that sends what is due.
        """
        with self.engine.still(0) as is_still:
            if is_still:
                self._resolve_sending(but_for=self.alive() - {self._name})
                return
        self._resolve_sending(but_for=self.alive())

    def _resolve_sending(self, but_for: Collection[str]) -> None:
        """Resolve mails left in `sending`, but for those of workers that may be sending."""
        for record in self.store.outbox.recover_sending(self.settings.smtp.max_attempts, but_for):
            log.error("delivery_uncertain", outbox_id=record.id, kind=record.kind.value, now=record.status.value)

    @property
    def _name(self) -> str:
        return self.stages.outbox_sender.worker

    def _send_due(self, stop: Event) -> None:
        """Try each due mail once; a held mail does not block the others."""
        now = self.now()
        latest_s = max(self.settings.smtp.retry_max_s, MAX_HOLD_S)
        if reset := self.store.outbox.reset_retry_times(now, now + timedelta(seconds=latest_s)):
            log.warning("clock_was_ahead", due_now=reset)
        last: Due | None = None
        while due := self.store.outbox.ready(now, OUTBOX_BATCH, last, self._sendable_kinds()):
            for last in due:
                if stop.is_set():
                    return
                self.observer.turned()
                try:
                    record = self.store.outbox.get(last.id)  # with its bytes, so only one at a time is in memory
                    if record is not None:  # else deleted since
                        self.stages.outbox_sender.deliver(record)
                except PermanentError as error:
                    log.error("delivery_failed", outbox_id=last.id, code=error.code)

    def _sendable_kinds(self) -> list[OutgoingKind]:
        """The kinds that may be sent now; read for each batch, because sending uses up the hourly limit."""
        is_stopped = bool(self.stages.breaker.sending())
        return [kind for kind in OutgoingKind if not (is_stopped and kind.is_automatic_to_sender)]

    def _delete_old(self) -> None:
        now = self.now()
        self.engine.delete_finished(now - timedelta(days=self.settings.engine.retention_days))
        deleted = self.store.retention.run(self.settings.store, now)
        self.store.suppressions.delete_expired(now - SUPPRESSIONS_KEPT)
        if deleted.mails:
            log.info("retention", mails=deleted.mails, cases=deleted.cases)


def _parsed(raw: bytes) -> Message | None:
    """The parsed mail; None if the parser fails on it: its journey then notifies the desk, and the next mail is read
    (S37).
    """
    try:
        return parse(raw)
    except Exception as error:
        log.critical("mail_not_parsed", mail_id=mail_id_of(raw), error=type(error).__name__)
        return None


def _root(message: Message) -> str:
    return next(iter(message.references), message.in_reply_to or known_as(message))


def _do_each(duties: Iterable[Callable[[], object]]) -> None:
    """Run all duties, even if some raise an error; what no further try mends is logged.

    Raises:
        TransientError: the first one that a duty raised.
    """
    first: TransientError | None = None
    for duty in duties:
        try:
            duty()
        except TransientError as error:
            log.warning("duty_failed", code=error.code, error=str(error))
            first = first or error
        except PermanentError as error:
            log.critical("duty_failed_for_good", code=error.code, error=str(error))
    if first is not None:
        raise first


@contextmanager
def _transient_errors_logged() -> Iterator[None]:
    """Log a TransientError instead of ending the loop; the next round tries again."""
    try:
        yield
    except TransientError as error:
        log.warning("round_failed", code=error.code, error=str(error))
