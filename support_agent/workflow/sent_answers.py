"""Finds in the Sent folder how a person answered a mail whose answer waits: in `shadow` many answer from their program.

Invariant: a mail there counts only if it answers the customer's mail itself and is neither ours nor automatic, and only
while the answer waits. A failure here delays no mail. Checked by tests/unit/workflow/test_sent_answers.py and, against
a real Dovecot, tests/integration/outbound/test_sent_answers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from support_agent.config.settings import Settings
from support_agent.core.rounds import Rounds
from support_agent.errors import SupportAgentError
from support_agent.mail.keys import ORIGIN_HEADER, is_own_message_id
from support_agent.mail.machines.machine_headers import REPORT_PARTS, auto_submitted, vendor_fields
from support_agent.mail.message import Message, parse
from support_agent.outbound.sent_folder import MarkedFolders, sent_folder_of
from support_agent.store.desk_records import LabelSource
from support_agent.store.records import DeliverySource, OutboxEntry, OutboxId, OutboxStatus
from support_agent.store.store import Store
from support_agent.transport.mailbox import FolderState
from support_agent.workflow.labelling import Labelling

log = structlog.get_logger(__name__)

BREAK = timedelta(minutes=2)
"""Pause between two rounds."""
MOST = 100
"""Answers that are looked for in a round, the newest first; the next round goes on with older ones."""


Place = tuple[datetime, OutboxId]


def _place(row: OutboxEntry) -> Place:
    """Its place in the order of the outbox."""
    return row.created_at, row.id


class SentMails(MarkedFolders, Protocol):
    """The folders of an open mailbox; see `transport.mailbox.Mailbox`."""

    def folder_state(self, folder: str) -> FolderState:
        """What differs once a mail has arrived in a folder."""

    def answers_to(self, folder: str, message_id: str) -> list[bytes]:
        """The mails of a folder that answer the mail with this Message-ID."""


@dataclass
class SentAnswers:
    """Judges answers that wait by what people sent; `now` is the clock."""

    store: Store
    settings: Settings
    labelling: Labelling
    open_mailbox: Callable[[], AbstractContextManager[SentMails]]
    now: Callable[[], datetime]
    _rounds: Rounds = field(default_factory=lambda: Rounds(BREAK), init=False)
    _last: Place | None = field(default=None, init=False)
    """The answer that was looked for last."""
    _state: FolderState | None = field(default=None, init=False)
    _looked: set[OutboxId] = field(default_factory=set, init=False)
    """The answers that were looked for while the folder had this state: nothing has arrived for them since."""

    def look_after(self) -> None:
        """Look for answers that wait, and withdraw those whose mail a person has answered."""
        now = self.now()
        waiting = self._next(self.store.deliveries.unconfirmed((OutboxStatus.PROPOSED,)))
        if not waiting or not self._rounds.is_due(now):
            return
        self._rounds.begin(now)
        try:
            with self.open_mailbox() as mailbox:
                folder = sent_folder_of(mailbox, self.settings.imap)
                if folder is not None:
                    self._look_in(mailbox, folder, waiting)
        except SupportAgentError as error:
            log.warning("sent_answers_failed", code=error.code, error=str(error))

    def _look_in(self, mailbox: SentMails, folder: str, waiting: Sequence[OutboxEntry]) -> None:
        """Look for answers; for those that were looked for already only if the folder has changed since."""
        state = mailbox.folder_state(folder)
        if state != self._state or state.uid_next is None:
            self._state, self._looked = state, set()
        for proposed in waiting:
            if proposed.id not in self._looked:
                self._look(mailbox, folder, proposed)
                self._looked.add(proposed.id)
            self._last = _place(proposed)

    def _next(self, waiting: Sequence[OutboxEntry]) -> list[OutboxEntry]:
        """The answers to look for in this round: those older than the last one, then the newest."""
        last, newest_first = self._last, sorted(waiting, key=_place, reverse=True)
        begin = next((at for at, row in enumerate(newest_first) if last is not None and _place(row) < last), 0)
        return [*newest_first[begin:], *newest_first[:begin]][:MOST]

    def _look(self, mailbox: SentMails, folder: str, proposed: OutboxEntry) -> None:
        mail = self.store.mails.get(proposed.mail_id)
        if mail is None:
            return
        for message in map(parse, mailbox.answers_to(folder, mail.message_id)):
            if _answers(message, mail.message_id) and self._is_of_person(message, proposed):
                who = message.from_.addr if message.from_ is not None else "somebody"
                self.labelling.wrote(proposed.mail_id, message.visible_text, who, LabelSource.SENT_FOLDER)
                detail = f"answered by {who}, says the Sent folder"
                sources = (OutboxStatus.PROPOSED,)
                by = DeliverySource.SENT_FOLDER
                self.store.deliveries.update(proposed.id, OutboxStatus.CANCELLED, by, detail, self.now(), sources)
                log.info("answered_by_person", case_id=proposed.case_id, outbox_id=proposed.id)
                return

    def _is_of_person(self, message: Message, proposed: OutboxEntry) -> bool:
        """Whether a person wrote a mail to this customer; copies of our own mails and automatic replies are not."""
        is_own = is_own_message_id(self.settings.agent.secrets, message.message_id) or message.all_headers(
            ORIGIN_HEADER
        )
        if is_own or _is_automatic(message):  # a server may rewrite the id of our mail, and the secret may change
            return False
        return any(address.addr == proposed.recipient for address in (*message.to, *message.cc))


def _answers(message: Message, message_id: str) -> bool:
    """Whether a mail answers this mail itself: it may name it for the thread and answer a later one."""
    return message_id == (message.in_reply_to or next(reversed(message.references), None))


def _is_automatic(message: Message) -> bool:
    is_declared = any(keyword != "no" for keyword, _ in auto_submitted(message)) or any(vendor_fields(message))
    return is_declared or not REPORT_PARTS.isdisjoint(message.content_types)
