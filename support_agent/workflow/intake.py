"""Reads the mailbox after the cursor, records each new mail, and starts its journey.

Invariant: one transaction records a mail and the cursor before anything else happens to the mail, and the mail is
flagged in the mailbox only after that; no more mails are taken in than `engine.max_waiting` allows. Checked by
tests/unit/workflow/test_worker.py, test_rescan.py, test_back_pressure.py and test_restored.py, and by
tests/integration/transport/test_mailbox_cuts.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event
from typing import Protocol

import structlog

from support_agent.cases.copies import COPY_RULE, known_as
from support_agent.cases.route import case_id_of
from support_agent.config.mail_servers import SentCopies
from support_agent.config.settings import Settings
from support_agent.core.cursor import UNBOUNDED, Cursor
from support_agent.core.observing import Observer
from support_agent.errors import SupportAgentError
from support_agent.mail.keys import message_id
from support_agent.mail.machines.screening import Verdict
from support_agent.outbound.sent_folder import SentLookup, sent_folder_of
from support_agent.store.leases import Lease
from support_agent.store.records import MailId, MailStatus, OutgoingKind, mail_id_of
from support_agent.store.store import Store
from support_agent.transport.mailbox import Fetched
from support_agent.transport.mailbox_watcher import IdleMailbox
from support_agent.workflow.starts import Starts, parsed

log = structlog.get_logger(__name__)

ANSWERED_BEFORE = "the store was restored from a backup, and the Sent folder has the answer to this mail"
ALONE = Lease("", 0)
"""The lead of a worker that is the only one on its store."""
SERVER_CLOCK_LAG = timedelta(hours=1)
"""How far the mail server's clock may be behind ours: mails that arrive after the first start must not look older."""


class Inbox(IdleMailbox, SentLookup, Protocol):
    """An open folder whose mails are read after a cursor and marked; see `transport.mailbox.Mailbox`."""

    def resume(self, cursor: Cursor | None) -> Cursor:
        """The cursor to continue from; None starts before the oldest mail."""

    def end(self) -> Cursor:
        """The cursor after the newest mail."""

    def count_after(self, cursor: Cursor | None) -> int:
        """How many mails are after a cursor; None counts all."""

    def fetch_after(self, cursor: Cursor) -> Iterator[Fetched]:
        """The mails after a cursor from `resume` or `end`, in the order of their UIDs."""

    def mark_handled(self, uid: int, message_id: str | None = None) -> None:
        """Mark a mail as recorded; with its Message-ID, where an earlier mark may have been cut short."""


@dataclass
class Intake:
    """Takes in the mails of one mailbox; `now` is the clock."""

    settings: Settings
    store: Store
    starts: Starts
    open_mailbox: Callable[[], AbstractContextManager[Inbox]]
    now: Callable[[], datetime]
    observer: Observer
    """Notified of each mail that is read."""
    is_full: Event = field(default_factory=Event)
    """Set if the last fetch left mails in the mailbox, because `engine.max_waiting` are not decided yet."""

    @contextmanager
    def mailbox(self) -> Iterator[Inbox]:
        """Open the mailbox, and flag the last recorded mail again: a crash may have prevented its flag."""
        with self.open_mailbox() as mailbox:
            stored = self.store.cursors.get(self.settings.imap.folder)
            if stored is not None and mailbox.resume(stored) == stored:
                last = self.store.mails.at(stored)
                if last is not None:
                    mailbox.mark_handled(last.uid, last.message_id)
            yield mailbox

    def fetch(self, mailbox: Inbox, stop: Event, lead: Lease) -> int:
        """Record the new mails for which there is room, and start their journeys.

        Mails that were recorded and not started come first: no later mail of their thread may overtake them.

        Returns:
            How many mails were read, with those that are left alone because they are too old.
        """
        if self.starts.is_behind.is_set():
            self.starts.catch_up()
        cursor, mails, room = self._cursor(mailbox), 0, self._room()
        for fetched in mailbox.fetch_after(cursor) if room > 0 else ():
            self.observer.turned()
            if self._is_left_alone(fetched):
                # A person who moves an old mail here expects an answer; in a renumbered folder most mail is old.
                say = log.info if fetched.is_rescan else log.warning
                say("mail_left_alone", uid=fetched.uid, arrived_at=str(fetched.arrived_at))
                self.store.cursors.move(fetched.cursor)
            else:
                self.starts.is_behind.set()
                self.record(fetched, lead, mailbox)
                self.starts.is_behind.clear()
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
        return self.settings.engine.max_waiting - sum(self.starts.journeys.in_hand())

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
            log.info("existing_mails_left_alone", folder=cursor.folder, mails=mailbox.count_after(None))
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

    def record(self, fetched: Fetched, lead: Lease, mailbox: Inbox) -> None:
        """Record a mail and start its journey, once for the same bytes; `Stages.screen` recognises other copies.

        After a restore the journey leaves a mail in doubt to a person, unless the Sent folder has the answer.
        """
        message = parsed(fetched.raw)
        known_id = known_as(message) if message is not None else f"<{mail_id_of(fetched.raw)}@unread.invalid>"
        lease = None if lead is ALONE else lead
        recorded = self.store.mails.record(fetched.raw, known_id, fetched.cursor, self.now(), lease=lease)
        log.info("mail_recorded", mail_id=recorded.id, is_new=recorded.is_new)
        if recorded.is_new and not (fetched.is_in_doubt and self._file_answered(mailbox, recorded.id)):
            self.starts.start(recorded.id, message)

    def _file_answered(self, mailbox: Inbox, mail_id: MailId) -> bool:
        """File a mail that a lost store has answered, by the Sent folder; False if that does not show it."""
        if not self._is_answered(mailbox, mail_id):
            return False
        self.store.mails.save_screening(mail_id, Verdict.FILE.value, COPY_RULE)
        self.store.mails.end(mail_id, MailStatus.FILED, COPY_RULE, ANSWERED_BEFORE, self.now())
        log.info("mail_answered_before", mail_id=mail_id)
        return True

    def _is_answered(self, mailbox: Inbox, mail_id: MailId) -> bool:
        """Whether the Sent folder has our answer to this very mail; a missing one proves nothing.

        The mail would open a case: the answer's Message-ID follows from the mail.
        """
        agent, imap = self.settings.agent, self.settings.imap
        if imap.sent_copies is SentCopies.NONE:
            return False
        domain = agent.address.rpartition("@")[2]
        opened = case_id_of(mail_id), mail_id, OutgoingKind.ANSWER.value
        answers = [message_id(secret, domain, *opened) for secret in agent.secrets]
        try:
            folder = sent_folder_of(mailbox, imap)
            return folder is not None and any(mailbox.has_message_id(folder, answer) for answer in answers)
        except SupportAgentError as error:
            log.warning("sent_folder_failed", code=error.code, error=str(error))
            return False
