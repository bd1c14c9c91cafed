"""Recognises copies of a mail whose bytes differ: delivered twice, or read again after a folder was renumbered (S31).

A Message-ID alone proves nothing, because the sender writes it. Invariant: the agent handles no mail twice; if it
cannot tell, a person gets the mail. Checked by tests/unit/cases/test_threads.py and tests/unit/workflow/test_rescan.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from support_agent.cases.route import ReceivedMail
from support_agent.cases.senders import Senders
from support_agent.mail.head import split_head
from support_agent.mail.machines.screening import Screening, Verdict
from support_agent.mail.message import Message
from support_agent.mail.senders.identity import Sender
from support_agent.store.records import MailRecord, MailStatus
from support_agent.store.store import Store

TAKEN_UP = (Verdict.ANSWER, Verdict.DESK)
COPY_RULE = "copy"
"""Screening rule of a copy whose bytes differ from the mail received before."""
DOUBT_RULE = "rescan"
"""Screening rule of a possible copy: the mail was read again from a folder, has neither Message-ID nor Date, or may
have been handled by a store that was lost."""
SYNTHETIC_DIGITS = 32
SUBJECT_TAG = re.compile(r"\[[^\[\]]{1,40}\]")
"""A tag that a relaying server may add to a subject, such as "[EXTERNAL]"."""
RENUMBERED = "the folder was renumbered and is read again"
RESTORED = "the store was restored from a backup"
SENDER_CLOCK_ERROR = timedelta(days=1)
"""How far a sender's clock may be ahead without hiding that retention may have deleted the original."""


@dataclass(frozen=True)
class Copies:
    """Compares a mail with the stored mails of the same id."""

    store: Store
    retention_days: int
    senders: Senders

    def recognise(
        self, mail: ReceivedMail, screening: Screening, now: datetime, sender: Callable[[], Sender]
    ) -> Screening:
        """Return the screening, or one that files the mail as a copy; a filed copy has no effect.

        While a renumbered folder is read again, a possible copy goes to a person.

        Args:
            sender: Returns who sent the mail; called only for a possible copy.
        """
        if screening.verdict is Verdict.DROP:
            return screening
        is_taken_up = screening.verdict in TAKEN_UP
        reread = self.store.cursors.reread(mail.id)
        if is_taken_up and reread.in_doubt:
            why = self._taken_up_again(mail, RESTORED)
            return _copy(why) if why else _in_doubt(f"{RESTORED}: this mail may have been handled since that backup")
        if reread.is_rescanned:  # it was in its folder already when that was renumbered (S31)
            why = self._taken_up_again(mail) if is_taken_up else self._filed_again(mail)
            doubt = self._doubt(mail, now) if is_taken_up and not why else ""
            return _in_doubt(f"{RENUMBERED}: {doubt}") if doubt else _copy(why) if why else screening
        why = self._same_taken_up(mail, sender) if is_taken_up else self._same_filed(mail)
        if why and is_taken_up and mail.message.has_synthetic_id and mail.message.sent_at is None:
            # A customer may send the same few words twice on purpose.
            return _in_doubt(f"{why}; without Message-ID and Date a copy cannot be recognised for certain")
        return _copy(why) if why else screening

    def _same_taken_up(self, mail: ReceivedMail, sender: Callable[[], Sender]) -> str:
        """Why the mail is a copy of one that was answered or escalated, or "".

        Earlier mails at a lower sender level do not count: a forged mail that arrives first must not suppress the
        owner's. Mails of one thread are screened one after the other.
        """
        for other in self._others(mail, _was_taken_up):
            is_same = _content(other.message) == _content(mail.message)
            if is_same and self.senders.of(other).level >= sender().level:
                return "a copy of a mail that was handled before: the same Message-ID, sender, date and content"
        return ""

    def _same_filed(self, mail: ReceivedMail) -> str:
        """Why the mail is a copy of one that was filed, such as a bounce, or ""; compares recipients and body too."""
        for other in self._others(mail, _was_filed, _body(mail.raw)):
            if _envelope(other.message) == _envelope(mail.message):
                return "a copy of a mail that was filed before: the same Message-ID, sender, date and body"
        return ""

    def _taken_up_again(self, mail: ReceivedMail, read_why: str = RENUMBERED) -> str:
        """Why a mail that is read again is one that was answered or escalated, or "".

        Moving a mailbox may change a mail's text, its date or its authentication results, but hardly all of them.
        A mail without Message-ID gets its id from author and date, so there the text must be equal.
        """
        message = mail.message
        for other in (one.message for one in self._others(mail, _was_taken_up)):
            is_same_text = bool(message.visible_text.strip()) and other.visible_text == message.visible_text
            is_same_date = _is_same_date(other, message) and not message.has_synthetic_id
            if other.from_ == message.from_ and (is_same_text or is_same_date):
                return f"{read_why}: a mail of the same id, sender, and date or text was handled before"
        return ""

    def _filed_again(self, mail: ReceivedMail) -> str:
        """Why a mail that is read again is one that was filed, or ""; a bounce must take effect only once."""
        message = mail.message
        for other in self._others(mail, _was_filed):
            is_same = _is_same_date(other.message, message) or _body(other.raw) == _body(mail.raw)
            if other.message.from_ == message.from_ and is_same:
                return f"{RENUMBERED}: a mail of the same id, sender, and date or body was filed before"
        return ""

    def _doubt(self, mail: ReceivedMail, now: datetime) -> str:
        """Why a mail that is read again may be a copy, or ""; a web form may give all its mails the same id."""
        message = mail.message
        for other in self._others(mail, _was_handled):
            if other.message.from_ == message.from_:
                return f"mail {other.id} has the same id and sender: this mail may be a copy, changed on its way"
        # The server's arrival date does not count: a move may have lost or reset it.
        forgotten = now - timedelta(days=self.retention_days) + SENDER_CLOCK_ERROR
        if message.sent_at is None or message.sent_at < forgotten:
            return f"by its date it may have been handled before and deleted after {self.retention_days} days"
        return ""

    def _others(
        self, mail: ReceivedMail, is_wanted: Callable[[MailRecord], bool], body: bytes | None = None
    ) -> Iterator[ReceivedMail]:
        """Stored mails of the same id, without recognised copies, oldest first.

        Senders choose the id, so thousands may have it: one that is known to differ in its sender is not parsed.

        Args:
            body: Only mails with this body; None: any.
        """
        author = mail.message.from_.addr if mail.message.from_ is not None else ""
        for record in self.store.mails.find(message_id=known_as(mail.message)):
            is_other = record.id != mail.id and record.screening_rule != COPY_RULE and is_wanted(record)
            if not is_other or record.sender_address not in (None, author):
                continue
            received = self.store.mails.received(record.id)
            if body is None or _body(received[0]) == body:
                yield ReceivedMail.of(record.id, *received)


def known_as(message: Message) -> str:
    """The id under which a mail is recorded: its Message-ID, else a hash of what survives a move to another server."""
    if not message.has_synthetic_id:
        return message.message_id
    author = message.from_.addr if message.from_ is not None else ""
    text = message.sent_at.isoformat() if message.sent_at is not None else message.visible_text
    digest = hashlib.sha256(f"{author}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"<{digest[:SYNTHETIC_DIGITS]}@synthetic.invalid>"


def _copy(why: str) -> Screening:
    return Screening(verdict=Verdict.FILE, rule=COPY_RULE, why=why)


def _in_doubt(why: str) -> Screening:
    return Screening(verdict=Verdict.DESK, rule=DOUBT_RULE, why=why)


def _was_taken_up(mail: MailRecord) -> bool:
    return mail.screening_verdict in TAKEN_UP


def _was_filed(mail: MailRecord) -> bool:
    """Whether a rule filed the mail, so that a bounce in it has already taken effect."""
    return mail.screening_verdict == Verdict.FILE and mail.status is MailStatus.FILED


def _was_handled(mail: MailRecord) -> bool:
    return mail.status is not MailStatus.NEW


def _is_same_date(other: Message, message: Message) -> bool:
    return message.sent_at is not None and other.sent_at == message.sent_at


def _envelope(message: Message) -> tuple[object, ...]:
    return message.from_, message.sent_at, message.to


def _content(message: Message) -> tuple[object, ...]:
    """The values, besides the level, that are equal in two copies of one Message-ID."""
    files = sorted(attachment.sha256 for attachment in message.attachments)
    return message.from_, message.sent_at, SUBJECT_TAG.sub("", message.subject).strip(), message.visible_text, files


def _body(raw: bytes) -> bytes:
    """The mail without its header, which relaying servers may change; a mail that has only a header stays whole."""
    head, body = split_head(raw)
    return (raw if len(head) == len(raw) else body).strip()
