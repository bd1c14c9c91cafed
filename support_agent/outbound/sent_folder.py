"""The Sent folder: files a copy of each sent mail, or searches it for mails whose delivery is uncertain.

Invariant: a copy is filed once and only after the mail is `sent`: the folder is searched for its Message-ID first, and
the store records the copy (S66). A mail found there proves delivery only if the provider files what it sends; a missing
mail proves nothing (S62). A failure here never delays a mail. Checked by tests/unit/outbound/test_sent_folder.py and,
against a real Dovecot, tests/integration/outbound/test_sent_folder.py.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from support_agent.config.mail_servers import ImapSettings, SentCopies
from support_agent.core.rounds import Rounds
from support_agent.errors import ConfigError, SupportAgentError
from support_agent.store.records import DeliverySource, OutboxEntry, OutboxId, OutboxStatus
from support_agent.store.store import Store

log = structlog.get_logger(__name__)

SENT_USE = "\\Sent"
BATCH = 50
BREAK = timedelta(minutes=10)
"""Pause before the next round after a missing mail or a failure."""
MAX_FAILURES = 3
"""Failed mails after which a round ends; the rest waits for the next round."""


class MarkedFolders(Protocol):
    """The folders of an open mailbox that its server marks; see `transport.mailbox.Mailbox`, here and below."""

    def special_folder(self, use: str) -> str | None:
        """The folder with a special use such as "\\\\Sent"; None if there is none."""


class SentLookup(MarkedFolders, Protocol):
    """Finds our own mails in the folders of an open mailbox."""

    def has_message_id(self, folder: str, message_id: str) -> bool:
        """Whether a folder has a mail with this Message-ID."""


class Folders(SentLookup, Protocol):
    """The folders of an open mailbox, to which copies are filed."""

    def append(self, folder: str, raw: bytes, sent_at: datetime) -> None:
        """Append one copy of a sent mail to a folder."""


def sent_folder_of(mailbox: MarkedFolders, imap: ImapSettings) -> str | None:
    """The Sent folder that the settings name, else the one that the server marks; None if there is none."""
    return imap.sent_folder or mailbox.special_folder(SENT_USE)


@dataclass
class SentFolder:
    """Keeps the Sent folder complete; `now` is the clock."""

    store: Store
    imap: ImapSettings
    open_mailbox: Callable[[], AbstractContextManager[Folders]]
    now: Callable[[], datetime]
    _rounds: Rounds = field(default_factory=lambda: Rounds(BREAK), init=False)
    _failures: dict[OutboxId, int] = field(default_factory=dict, init=False)
    """How often each mail failed; mails with fewer failures go first, so that a few bad mails do not block the rest."""

    def look_after(self) -> None:
        """File missing copies, or search for uncertain mails; failures are tried again in a later round."""
        now = self.now()
        mails = self._mails(now)
        if not mails or not self._rounds.is_due(now):
            return
        self._rounds.begin(now)
        try:
            with self.open_mailbox() as mailbox:
                folder = sent_folder_of(mailbox, self.imap)
                if folder is None:
                    log.warning("no_sent_folder", todo="set imap.sent_folder, or imap.sent_copies = 'none'")
                    return
                is_done = self._work(mailbox, folder, mails)
        except SupportAgentError as error:
            log.warning("sent_folder_failed", code=error.code, error=str(error))
            return
        if is_done:
            self._rounds.skip_pause()

    def _mails(self, now: datetime) -> tuple[OutboxEntry, ...]:
        """The mails to work on, those with failures last; tries end `imap.sent_search_days` after the mail."""
        since = now - timedelta(days=self.imap.sent_search_days)
        match self.imap.sent_copies:
            case SentCopies.AGENT:
                # A store that was lost may have filed the copy of a mail that is uncertain in the restored one.
                mails = (*self.store.deliveries.uncopied(since, BATCH + len(self._failures)), *self._uncertain(since))
            case SentCopies.PROVIDER:
                mails = self._uncertain(since)
            case SentCopies.NONE:
                return ()
        self._failures = {record.id: self._failures[record.id] for record in mails if record.id in self._failures}
        return tuple(sorted(mails, key=lambda record: self._failures.get(record.id, 0)))

    def _uncertain(self, since: datetime) -> tuple[OutboxEntry, ...]:
        uncertain = self.store.deliveries.unconfirmed((OutboxStatus.UNCERTAIN,))
        return tuple(record for record in uncertain if _last_tried_at(record) >= since)

    def _work(self, mailbox: Folders, folder: str, mails: tuple[OutboxEntry, ...]) -> bool:
        """File or find each mail; False if any is left to do."""
        failures = missing = 0
        for record in mails:
            try:
                is_there = mailbox.has_message_id(folder, record.message_id)
                if record.status is OutboxStatus.SENT:
                    self._copy(mailbox, folder, record, is_there)
                elif is_there:
                    self._found(folder, record)
                else:
                    missing += 1
            except ConfigError:  # the folder cannot be opened for any of them
                raise
            except SupportAgentError as error:  # a mail that cannot be filed must not block the others
                failures += 1
                self._failures[record.id] = self._failures.get(record.id, 0) + 1
                log.warning("sent_folder_failed", outbox_id=record.id, code=error.code, error=str(error))
                if failures >= MAX_FAILURES:
                    break
        return not failures and not missing

    def _copy(self, mailbox: Folders, folder: str, record: OutboxEntry, is_there: bool) -> None:
        if not is_there and (stored := self.store.outbox.get(record.id)) is not None:
            mailbox.append(folder, stored.raw, record.sent_at or record.created_at)
        self.store.outbox.mark_copied(record.id, self.now())

    def _found(self, folder: str, record: OutboxEntry) -> None:
        by, sources = DeliverySource.SENT_FOLDER, (OutboxStatus.UNCERTAIN,)
        self.store.deliveries.update(record.id, OutboxStatus.SENT, by, f"a copy is in {folder}", self.now(), sources)
        log.info("delivery_confirmed", outbox_id=record.id, status=OutboxStatus.SENT.value, by=by.value)


def _last_tried_at(record: OutboxEntry) -> datetime:
    """About when an uncertain mail was last tried: the desk is notified right after the try."""
    return max(record.next_try_at, record.notified_at or record.created_at)
