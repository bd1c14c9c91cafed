"""The Sent folder: a copy of each mail that went out, or a look for one whose fate is not known.

Invariant: a copy is filed after the mail is `sent` and once, because the folder is asked for its Message-ID first and
the store remembers it (S66); only where the provider files what it sends is a mail that is found there proof that it
went out, and its absence never proves anything (S62). Nothing here keeps a mail from going out. Checked by
tests/unit/outbound/test_sent_folder.py and, against a real Dovecot, tests/integration/outbound/test_sent_folder.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import structlog

from support_agent.config.settings import ImapSettings, SentCopies
from support_agent.errors import ConfigError, SupportAgentError
from support_agent.store.records import DeliverySource, OutboxId, OutboxRecord, OutboxStatus
from support_agent.store.store import Store
from support_agent.transport.mailbox import Mailbox

log = structlog.get_logger(__name__)

SENT_USE = "\\Sent"
BATCH = 50
BREAK = timedelta(minutes=10)
"""After a look that found something missing, or a failure, before the next."""
MAX_FAILURES = 3
"""Mails of one round that may fail before the rest waits too."""
NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass
class SentFolder:
    """Looks after the Sent folder, now and then; `now` is the clock."""

    store: Store
    imap: ImapSettings
    open_mailbox: Callable[[], Mailbox]
    now: Callable[[], datetime]
    _not_before: datetime = field(default=NEVER, init=False)
    _failures: dict[OutboxId, int] = field(default_factory=dict, init=False)
    """How often each mail was refused: the others come first, so that a few bad ones keep none out."""

    def look_after(self) -> None:
        """File what is missing, or look for what is uncertain; whatever fails is tried again later."""
        now = self.now()
        mails = self._mails(now)
        if (
            not mails or timedelta(0) < self._not_before - now <= BREAK
        ):  # a clock that is set back makes no break longer
            return
        self._not_before = now + BREAK
        try:
            with self.open_mailbox() as mailbox:
                folder = self.imap.sent_folder or mailbox.special_folder(SENT_USE)
                if folder is None:
                    log.warning("no_sent_folder", todo="set imap.sent_folder, or imap.sent_copies = 'none'")
                    return
                is_done = self._work(mailbox, folder, mails)
        except SupportAgentError as error:
            log.warning("sent_folder_failed", code=error.code, error=str(error))
            return
        if is_done:
            self._not_before = NEVER

    def _mails(self, now: datetime) -> tuple[OutboxRecord, ...]:
        """What is to be looked after, what was refused last; one that cannot be filed is not tried for ever."""
        since = now - timedelta(days=self.imap.sent_search_days)
        match self.imap.sent_copies:
            case SentCopies.AGENT:
                mails = self.store.outbox.uncopied(since, BATCH + len(self._failures))
            case SentCopies.PROVIDER:
                uncertain = self.store.deliveries.unresolved(OutboxStatus.UNCERTAIN)
                mails = tuple(record for record in uncertain if _last_tried_at(record) >= since)
            case SentCopies.NONE:
                return ()
        self._failures = {record.id: self._failures[record.id] for record in mails if record.id in self._failures}
        return tuple(sorted(mails, key=lambda record: self._failures.get(record.id, 0)))

    def _work(self, mailbox: Mailbox, folder: str, mails: tuple[OutboxRecord, ...]) -> bool:
        """Do what is to be done for each mail; False where something is left."""
        failures = missing = 0
        for record in mails:
            try:
                is_there = mailbox.has_message_id(folder, record.message_id)
                if self.imap.sent_copies is SentCopies.AGENT:
                    self._copy(mailbox, folder, record, is_there)
                elif is_there:
                    self._found(folder, record)
                else:
                    missing += 1
            except ConfigError:  # the folder cannot be opened for any of them
                raise
            except SupportAgentError as error:  # one that cannot be filed keeps no other from it
                failures += 1
                self._failures[record.id] = self._failures.get(record.id, 0) + 1
                log.warning("sent_folder_failed", outbox_id=record.id, code=error.code, error=str(error))
                if failures >= MAX_FAILURES:
                    break
        return not failures and not missing

    def _copy(self, mailbox: Mailbox, folder: str, record: OutboxRecord, is_there: bool) -> None:
        if not is_there:
            mailbox.append(folder, record.raw, record.sent_at or record.created_at)
        self.store.outbox.mark_copied(record.id, self.now())

    def _found(self, folder: str, record: OutboxRecord) -> None:
        by, sources = DeliverySource.SENT_FOLDER, (OutboxStatus.UNCERTAIN,)
        self.store.deliveries.update(
            record.id, OutboxStatus.SENT, by, f"the provider filed a copy in {folder}", self.now(), sources
        )
        log.info("outbox_settled", outbox_id=record.id, status=OutboxStatus.SENT.value, by=by.value)


def _last_tried_at(record: OutboxRecord) -> datetime:
    """About when a mail of unknown fate was tried: it may have waited for days, but the desk hears of it at once."""
    return max(record.next_try_at, record.told_at or record.created_at)
