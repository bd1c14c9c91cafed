"""The agent's loop: fetch, record, hand to the engine, send what is due, wait.

Invariant: a mail is recorded together with the cursor before anything else happens to it, and flagged in the mailbox
only after that; the outbox, not the loop, decides what may be sent. One bad mail never blocks the next. Checked by
tests/unit/test_agent.py, and with real processes by tests/integration/journey and tests/acceptance.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event

import structlog

from support_agent.engine import Engine
from support_agent.errors import PermanentError, TransientError
from support_agent.mail.mailbox import Cursor as MailboxCursor
from support_agent.mail.mailbox import Fetched, Mailbox
from support_agent.mail.message import parse
from support_agent.settings import Settings
from support_agent.stages import Stages
from support_agent.store.records import Cursor, MailId, MailStatus, OutboxId
from support_agent.store.store import Store

log = structlog.get_logger(__name__)

OUTBOX_BATCH = 50
CLOCK_SLACK = timedelta(hours=1)
"""How far the mail server's clock may be behind ours before a mail of after the first start looks older."""
IDLE_SLICE_S = 5.0
IDLE_MARGIN_S = 60.0
"""How much longer than a plan may take the loop waits for the mails in hand before it polls again."""
THREAD_DIGITS = 16


@dataclass(frozen=True)
class Agent:
    """One running agent on one mailbox."""

    settings: Settings
    store: Store
    stages: Stages
    engine: Engine
    open_mailbox: Callable[[], Mailbox]
    now: Callable[[], datetime]

    def recover(self) -> None:
        """Call before the engine is launched: what a dead process was sending may have gone out or not."""
        self._give_up_sending()

    def run(self, stop: Event) -> None:
        """Poll until told to stop; then the mail in hand is finished (by the engine's own stop).

        A mailbox that cannot be reached keeps no mail from going out, and a mail that cannot go out none from coming.
        """
        patience_s = self.settings.planner.max_s + IDLE_MARGIN_S
        while not stop.is_set():
            for part in (self._fetch, lambda stop: self._finish(stop, patience_s)):
                try:
                    part(stop)
                except TransientError as error:
                    log.warning("poll_failed", code=error.code, error=str(error))
            stop.wait(self.settings.imap.poll_interval_s)

    def run_once(self, stop: Event) -> None:
        """Drain the mailbox and what is due in the outbox, then return.

        Raises:
            TransientError: the mailbox cannot be reached; what was there before is worked off all the same.
        """
        try:
            self._fetch(stop)
        finally:
            self._finish(stop, math.inf)

    def _fetch(self, stop: Event) -> None:
        """Record what is new in the mailbox and let it be handled."""
        self._restart_open_mails()
        with self.open_mailbox() as mailbox:
            cursor = self._cursor(mailbox)
            row = self.store.cursor(self.settings.imap.folder)
            left_before = row.left_before if row is not None else None
            is_told = False
            for fetched in mailbox.fetch_after(cursor):
                if left_before is not None and fetched.arrived_at is not None and fetched.arrived_at < left_before:
                    self.store.move_cursor(_stored(fetched.cursor))
                    continue
                if fetched.is_rescan and not is_told:
                    is_told = True
                    log.critical("folder_numbered_anew", folder=fetched.cursor.folder)
                self._record(fetched)
                mailbox.mark_handled(fetched.uid)
                if stop.is_set():
                    break

    def _finish(self, stop: Event, patience_s: float) -> None:
        """Wait until what is in hand is done, then do what is left over.

        Args:
            patience_s: Longest wait: what is in hand still then, or stuck, keeps no mail from coming or going out.
        """
        waited_s = 0.0
        while not (is_idle := self.engine.wait_until_idle(IDLE_SLICE_S)):
            if stop.is_set():
                return
            waited_s += IDLE_SLICE_S
            if waited_s >= patience_s:
                log.warning("mails_still_in_hand", waited_s=waited_s)
                break
        self._set_aside()
        if is_idle:
            self._give_up_sending()
        self._send_due(stop)
        self.stages.tell_losses()
        self._forget_old()

    def _cursor(self, mailbox: Mailbox) -> MailboxCursor | None:
        """Where to go on; None: at the start."""
        row = self.store.cursor(self.settings.imap.folder)
        if row is not None:
            return MailboxCursor(folder=row.folder, uid_validity=row.uid_validity, last_uid=row.last_uid)
        if not self.settings.imap.skip_existing:
            return None
        end = mailbox.end()
        self.store.move_cursor(_stored(end, left_before=self.now() - CLOCK_SLACK))
        return end

    def _record(self, fetched: Fetched) -> None:
        """The same bytes are the same mail, wherever they come from; `Stages.screen` knows other copies."""
        message = parse(fetched.raw)
        recorded = self.store.record_mail(fetched.raw, message.message_id, _stored(fetched.cursor), self.now())
        log.info("mail_recorded", mail_id=recorded.id, is_new=recorded.is_new)
        if recorded.is_new:
            self._start(recorded.id)

    def _start(self, mail_id: MailId) -> None:
        """Mails of one thread are handled one after the other; the thread's root names it.

        As a hash: the name goes into the log, and a Message-ID is a stranger's text.
        """
        message = self.stages.parse(mail_id)
        root = next(iter(message.references), message.in_reply_to or message.message_id)
        self.engine.start(mail_id, hashlib.sha256(root.encode("utf-8", "surrogatepass")).hexdigest()[:THREAD_DIGITS])

    def _restart_open_mails(self) -> None:
        """A mail that was recorded but never handed to the engine."""
        for mail in self.store.mails(status=MailStatus.NEW):
            self._start(mail.id)

    def _set_aside(self) -> None:
        for failure in self.engine.failed():
            mail = self.store.mail(MailId(failure.mail_id))
            if mail is not None and mail.status is MailStatus.NEW:
                log.error("mail_set_aside", mail_id=failure.mail_id, code=failure.error.code)
                self.stages.set_aside(mail.id, failure.error)

    def _give_up_sending(self) -> None:
        """Call while no mail is in hand: what is still `sending` then will never be heard of again."""
        for record in self.store.recover_sending():
            log.error("delivery_uncertain", outbox_id=record.id, kind=record.kind.value)

    def _send_due(self, stop: Event) -> None:
        """One try for each mail that is due; one that must wait for another stands in nobody's way."""
        now = self.now()
        tried: set[OutboxId] = set()
        while due := [row for row in self.store.ready(now, len(tried) + OUTBOX_BATCH) if row.id not in tried]:
            for record in due:
                if stop.is_set():
                    return
                tried.add(record.id)
                try:
                    self.stages.deliver(record)
                except PermanentError as error:
                    log.error("delivery_failed", outbox_id=record.id, code=error.code)

    def _forget_old(self) -> None:
        now = self.now()
        self.engine.delete_finished(now - timedelta(days=self.settings.engine.retention_days))
        deleted = self.store.delete_older_than(now - timedelta(days=self.settings.store.retention_days))
        if deleted.mails:
            log.info("retention", mails=deleted.mails, cases=deleted.cases)


def _stored(cursor: MailboxCursor, left_before: datetime | None = None) -> Cursor:
    return Cursor(
        folder=cursor.folder, uid_validity=cursor.uid_validity, last_uid=cursor.last_uid, left_before=left_before
    )
