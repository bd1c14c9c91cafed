"""Which case a mail continues, which packet it answers, and whether it was seen before.

A Message-ID in a header proves nothing, nor does a number in the subject, which is not looked at: anybody may have
written them. What counts is who writes: a case goes on for a proven participant, a packet is answered by proven staff.

Invariant: nobody but a participant at level 2 or more comes into a case, and whoever does not learns nothing from that:
the mail opens a case of its own, which only a person answers where it names a letter of ours to somebody else. Checked
by tests/unit/cases/test_threads.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from support_agent.answer.sources import RenderedPacket
from support_agent.cases.place import own_addresses, staff_addresses
from support_agent.config.settings import Settings
from support_agent.core.levels import PROVEN
from support_agent.mail.head import split_head
from support_agent.mail.machines.screening import Screening, Verdict
from support_agent.mail.message import Message, parse
from support_agent.mail.senders.identity import Sender
from support_agent.store.records import CaseRecord, CaseState, MailId, MailRecord, MailStatus, OutboxRecord
from support_agent.store.store import Store

TAKEN_UP = (Verdict.ANSWER, Verdict.DESK)
COPY_RULE = "copy"
"""Screening rule of a mail that was met before under other bytes."""
DOUBT_RULE = "rescan"
"""Screening rule of a mail of which nobody can tell whether it was met before: read again from a folder, or without id
and date."""
SYNTHETIC_DIGITS = 32
SUBJECT_TAG = re.compile(r"\[[^\[\]]{1,40}\]")
"""What a server on the way may put into a subject: "[EXTERNAL]"."""
RENUMBERED = "the folder was numbered anew and is read again"
SENDER_CLOCK_ERROR = timedelta(days=1)
"""How far a sender's clock may be wrong before a mail looks younger than what retention has deleted."""


@dataclass(frozen=True)
class Threads:
    """The threads of the store's mails; `sender_of` says who sent a mail of that id."""

    store: Store
    settings: Settings
    sender_of: Callable[[MailId, Message], Sender]

    def case_of(self, message: Message, sender: Sender) -> CaseRecord | None:
        """The case that a mail continues; None: it opens one.

        Of several cases it is the nearest in In-Reply-To and References, but one that a person has comes first:
        the machine must not answer what may be meant for that person.
        """
        references = _references(message)
        if sender.level < PROVEN or not sender.address or not references:
            return None
        cases = [case for case in self.store.cases.for_thread(references) if sender.address in case.participants]
        with_person = (case for case in cases if case.state is CaseState.WITH_PERSON)
        return next(with_person, next(iter(cases), None))

    def participants(self, message: Message, sender: Sender, case: CaseRecord | None) -> tuple[str, ...]:
        """Who may continue the case after this mail: its proven sender, and whom that sender writes to as well.

        Not our own people and addresses; at most `agent.max_participants_per_case` in all.
        """
        if not sender.address:
            return ()
        known = (*(case.participants if case is not None else ()), sender.address)
        addressed = (address.addr for address in (*message.to, *message.cc)) if sender.level >= PROVEN else ()
        ours = own_addresses(self.settings)
        everybody = dict.fromkeys((*known, *(address for address in addressed if address and address not in ours)))
        return tuple(everybody)[: max(self.settings.agent.max_participants_per_case, len(known))]

    def is_staff(self, sender: Sender) -> bool:
        """Whether the sender speaks for the company: a staff address that is proven.

        Without a border server of our own to believe, nobody is proven and no reply is passed on.
        """
        return sender.address in staff_addresses(self.settings) and sender.level >= PROVEN

    def answers_another(self, message: Message, sender: Sender) -> str:
        """Why a mail of nobody in the case must not be written to: it answers a letter of ours to somebody else; or "".

        Machines that answer from ever new addresses would go on for ever, and so would one behind the desk's address.
        """
        for reference in _references(message):
            for record in self.store.outbox.find(message_id=reference):
                is_another = record.recipient != sender.address
                return f"it answers our {record.kind.value} to {record.recipient}" if is_another else ""
        return ""

    def is_direct_answer(self, message: Message, packet: OutboxRecord) -> bool:
        """Whether a mail answers the packet itself and is addressed to us: a copy of what staff write to each other is
        not for the customer.
        """
        ours = own_addresses(self.settings) - staff_addresses(self.settings)
        is_to_us = any(address.addr in ours for address in message.to)
        return is_to_us and _references(message)[:1] == [packet.message_id]

    def packet_named_by(self, message: Message) -> OutboxRecord | None:
        """The packet that a mail replies to, by its keyed id."""
        for reference in _references(message):
            for record in self.store.outbox.find(message_id=reference):
                if record.kind.is_for_desk:
                    return record
        return None

    def rendered(self, packet: OutboxRecord) -> RenderedPacket | None:
        """A packet as it was rendered."""
        letter = self.store.outbox.letter(packet.mail_id, packet.kind, packet.number)
        return RenderedPacket.model_validate(letter.rendered) if letter is not None else None

    def customer_mail_of(self, packet: OutboxRecord) -> MailId:
        """The customer's mail that a packet is about; one about a staff reply leads on to that reply's own packet."""
        message = self._parse(packet.mail_id)
        is_staff = self.is_staff(self.sender_of(packet.mail_id, message))
        earlier = self.packet_named_by(message) if is_staff else None
        return packet.mail_id if earlier is None else self.customer_mail_of(earlier)

    def recognise(self, mail_id: MailId, message: Message, screening: Screening, now: datetime) -> Screening:
        """The screening, unless the mail was met before under other bytes: then it is filed, and acts on nothing.

        By another way, or from a folder that was numbered anew (S31). Where a folder is read again, what may have been
        met before, and cannot be told, is a person's.
        """
        if screening.verdict is Verdict.DROP:
            return screening
        is_taken_up = screening.verdict in TAKEN_UP
        if not self._is_rescanned(mail_id):
            why = self._same(mail_id, message) if is_taken_up else self._same_filed(mail_id, message)
            if why and is_taken_up and message.has_synthetic_id and message.sent_at is None:
                # The same few words may have been sent twice on purpose.
                why = f"{why}; without Message-ID and Date nobody can tell"
                return Screening(verdict=Verdict.DESK, rule=DOUBT_RULE, why=why)
            return _copy(why) if why else screening
        if not is_taken_up:
            why = self._again_filed(mail_id, message)
            return _copy(why) if why else screening
        if why := self._again(mail_id, message):
            return _copy(why)
        why = self._doubt(mail_id, message, now)
        return Screening(verdict=Verdict.DESK, rule=DOUBT_RULE, why=f"{RENUMBERED}: {why}") if why else screening

    def _same(self, mail_id: MailId, message: Message) -> str:
        """Why it is a copy of a mail that was taken up, or "".

        A Message-ID alone proves nothing, as senders make it, nor does what a less proven sender wrote: whoever forges
        a mail before its owner's comes must not silence that. Mails of one thread come here one after the other.
        """
        for earlier, other in self._others(mail_id, message, _was_taken_up):
            is_same = _told_apart_by(other) == _told_apart_by(message)
            if is_same and self.sender_of(earlier.id, other).level >= self.sender_of(mail_id, message).level:
                return "a copy of a mail that was taken up before: the same Message-ID, sender, date and content"
        return ""

    def _same_filed(self, mail_id: MailId, message: Message) -> str:
        """The same for a mail that is only filed, as a bounce: its parts and whom it names as well."""
        body = self._body(mail_id)
        for earlier, other in self._others(mail_id, message, _was_filed):
            is_same = (other.from_, other.sent_at, other.to) == (message.from_, message.sent_at, message.to)
            if is_same and self._body(earlier.id) == body:
                return "a copy of a mail that was filed before: the same Message-ID, sender, date and body"
        return ""

    def _again(self, mail_id: MailId, message: Message) -> str:
        """Why it is a mail that was taken up, read again, or "".

        The move may have changed its text, its date or what the server says of its sender, but hardly all of them.
        Without a Message-ID it is known by author and date, so that the text must be the same.
        """
        for _, other in self._others(mail_id, message, _was_taken_up):
            if other.from_ == message.from_:
                is_same_text = bool(message.visible_text.strip()) and other.visible_text == message.visible_text
                is_same_date = message.sent_at is not None and other.sent_at == message.sent_at
                if is_same_text or (is_same_date and not message.has_synthetic_id):
                    return f"{RENUMBERED}: a mail of the same id and sender, and of the same date or text, was taken up"
        return ""

    def _again_filed(self, mail_id: MailId, message: Message) -> str:
        """The same for a mail that is only filed: a bounce that did its work must not do it again."""
        body = self._body(mail_id)
        for earlier, other in self._others(mail_id, message, _was_filed):
            is_same_date = message.sent_at is not None and other.sent_at == message.sent_at
            if other.from_ == message.from_ and (is_same_date or self._body(earlier.id) == body):
                return f"{RENUMBERED}: a mail of the same id and sender, and of the same date or body, was filed"
        return ""

    def _doubt(self, mail_id: MailId, message: Message, now: datetime) -> str:
        """Why a mail that is read again may have been met before, or ""; a form may give each mail the same id."""
        for earlier, other in self._others(mail_id, message, _was_handled):
            if other.from_ == message.from_:
                return f"mail {earlier.id} has the same id and sender: it may be that one, changed on the way"
        # Whatever the server says of its arrival: a move may have lost that, or made it anew.
        forgotten = now - timedelta(days=self.settings.store.retention_days) + SENDER_CLOCK_ERROR
        if message.sent_at is None or message.sent_at < forgotten:
            days = self.settings.store.retention_days
            return f"by its date it may be one that was handled before and deleted after {days} days"
        return ""

    def _others(
        self, mail_id: MailId, message: Message, is_wanted: Callable[[MailRecord], bool]
    ) -> Iterator[tuple[MailRecord, Message]]:
        """The mails that are known by the same id, without those that are copies themselves; the oldest first."""
        for record in self.store.mails.find(message_id=known_as(message)):
            if record.id != mail_id and record.screening_rule != COPY_RULE and is_wanted(record):
                yield record, self._parse(record.id)

    def _body(self, mail_id: MailId) -> bytes:
        """What stands below the header, which each server on the way may change; all of a mail that is only that."""
        raw = self.store.mails.raw(mail_id)
        head, body = split_head(raw)
        return (raw if len(head) == len(raw) else body).strip()

    def _is_rescanned(self, mail_id: MailId) -> bool:
        """Whether the mail was in its folder already when that was numbered anew (S31)."""
        mail = self.store.mails.get(mail_id)
        cursor = self.store.cursors.get(mail.folder) if mail is not None else None
        if mail is None or cursor is None or mail.uid_validity != cursor.uid_validity:
            return False
        return mail.uid <= cursor.rescan_until

    def _parse(self, mail_id: MailId) -> Message:
        return parse(self.store.mails.raw(mail_id))


def known_as(message: Message) -> str:
    """The id under which a mail is recorded: its Message-ID, else what a move to another server leaves alone."""
    if not message.has_synthetic_id:
        return message.message_id
    author = message.from_.addr if message.from_ is not None else ""
    text = message.sent_at.isoformat() if message.sent_at is not None else message.visible_text
    digest = hashlib.sha256(f"{author}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"<{digest[:SYNTHETIC_DIGITS]}@synthetic.invalid>"


def _was_taken_up(mail: MailRecord) -> bool:
    return mail.screening_verdict in TAKEN_UP


def _was_filed(mail: MailRecord) -> bool:
    """Filed by a rule, so that what it said of a mail of ours is done."""
    return mail.screening_verdict == Verdict.FILE and mail.status is MailStatus.FILED


def _was_handled(mail: MailRecord) -> bool:
    return mail.status is not MailStatus.NEW


def _copy(why: str) -> Screening:
    return Screening(verdict=Verdict.FILE, rule=COPY_RULE, why=why)


def _references(message: Message) -> list[str]:
    """What a mail says it answers, the nearest first (RFC 5322, section 3.6.4)."""
    return [id_ for id_ in (message.in_reply_to, *reversed(message.references)) if id_]


def _told_apart_by(message: Message) -> tuple[object, ...]:
    """What two mails of one Message-ID are compared by, besides their level."""
    files = sorted(attachment.sha256 for attachment in message.attachments)
    return message.from_, message.sent_at, SUBJECT_TAG.sub("", message.subject).strip(), message.visible_text, files
