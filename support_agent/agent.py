"""The agent's loop: fetch, record, hand to the engine, send what is due, wait.

Invariant: a mail is recorded together with the cursor before anything else happens to it, and flagged in the mailbox
only after that; the outbox, not the loop, decides what may be sent. One bad mail never blocks the next. Checked by
tests/integration/journey and tests/acceptance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event

import structlog

from support_agent.engine import Engine
from support_agent.errors import TransientError
from support_agent.mail.mailbox import Cursor as MailboxCursor
from support_agent.mail.mailbox import Fetched, Mailbox
from support_agent.mail.message import parse
from support_agent.settings import Settings
from support_agent.stages import Stages
from support_agent.store.records import Cursor, MailId, MailStatus
from support_agent.store.store import Store

log = structlog.get_logger(__name__)

OUTBOX_BATCH = 50
IDLE_SLICE_S = 5.0


@dataclass(frozen=True)
class Agent:
    """One running agent on one mailbox."""

    settings: Settings
    store: Store
    stages: Stages
    engine: Engine
    now: Callable[[], datetime]

    def recover(self) -> None:
        """What a dead process left between `sending` and its end may have been sent: a person decides."""
        for record in self.store.recover_sending():
            log.error("delivery_uncertain", outbox_id=record.id, kind=record.kind.value)
            self.stages.undelivered(record, "the program died while this mail was being sent: it may have gone out")

    def run(self, stop: Event) -> None:
        """Poll until told to stop; then the mail in hand is finished (by the engine's own stop)."""
        while not stop.is_set():
            try:
                self.drain(stop)
            except TransientError as error:
                log.warning("poll_failed", code=error.code, error=str(error))
            stop.wait(self.settings.imap.poll_interval_s)

    def run_once(self, stop: Event) -> None:
        """Drain the mailbox and what is in the outbox, then return.

        Raises:
            TransientError: the mailbox cannot be reached.
        """
        self.drain(stop)

    def drain(self, stop: Event) -> None:
        """Fetch what is new, let it be handled, and send what is due."""
        self._restart_open_mails()
        with Mailbox(self.settings.imap) as mailbox:
            for fetched in mailbox.fetch_after(self._cursor(mailbox)):
                self._record(fetched)
                mailbox.mark_handled(fetched.uid)
                if stop.is_set():
                    break
        while not stop.is_set() and not self.engine.wait_until_idle(IDLE_SLICE_S):
            pass
        self._set_aside()
        self._send_due()
        self._forget_old()

    def _cursor(self, mailbox: Mailbox) -> MailboxCursor | None:
        stored = self.store.cursor(self.settings.imap.folder)
        if stored is not None:
            return MailboxCursor(folder=stored.folder, uid_validity=stored.uid_validity, last_uid=stored.uid)
        if not self.settings.imap.skip_existing:
            return None
        end = mailbox.end()
        self.store.move_cursor(Cursor(folder=end.folder, uid_validity=end.uid_validity, uid=end.last_uid))
        return end

    def _record(self, fetched: Fetched) -> None:
        message = parse(fetched.raw, fetched.defects)
        cursor = Cursor(
            folder=fetched.cursor.folder, uid_validity=fetched.cursor.uid_validity, uid=fetched.cursor.last_uid
        )
        is_known = fetched.is_rescan and bool(self.store.mails_with_message_id(message.message_id))
        recorded = self.store.record_mail(fetched.raw, message.message_id, cursor, self.now())
        if is_known and recorded.is_new:
            why = "the folder was numbered anew, and a mail with this Message-ID was there before"
            self.store.settle_mail(recorded.id, MailStatus.FILED, "rescan", why, self.now())
            return
        log.info("mail_recorded", message_id=recorded.id, is_new=recorded.is_new)
        if recorded.is_new:
            self._start(recorded.id)

    def _start(self, mail_id: MailId) -> None:
        """Mails of one thread are handled one after the other; the thread's root names it."""
        message = self.stages.parse(mail_id)
        root = next(iter(message.references), message.in_reply_to or message.message_id)
        self.engine.start(mail_id, root)

    def _restart_open_mails(self) -> None:
        """A mail that was recorded but never handed to the engine."""
        for mail in self.store.mails(status=MailStatus.NEW):
            self._start(mail.id)

    def _set_aside(self) -> None:
        for failure in self.engine.failed():
            mail = self.store.mail(MailId(failure.mail_id))
            if mail is not None and mail.status is MailStatus.NEW:
                log.error("mail_set_aside", message_id=failure.mail_id, code=failure.error.code)
                self.stages.set_aside(mail.id, failure.error)

    def _forget_old(self) -> None:
        now = self.now()
        self.engine.delete_finished(now - timedelta(days=self.settings.engine.retention_days))
        deleted = self.store.delete_older_than(now - timedelta(days=self.settings.store.retention_days))
        if deleted.mails:
            log.info("retention", mails=deleted.mails, cases=deleted.cases)

    def _send_due(self) -> None:
        for record in self.store.ready(self.now(), OUTBOX_BATCH):
            self.stages.deliver(record)
