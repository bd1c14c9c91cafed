"""Finds the case that a mail continues, and the packet that a staff reply answers.

Anybody may write a Message-ID into a header, or a number into the subject, so it proves nothing. The sender counts:
only a proven participant continues a case, and only proven staff answer a packet. The number alone lets nothing out.

Invariant: only a participant at level 2 or above joins a case. Any other mail opens a case of its own, so its sender
learns nothing about the existing one; if it answers a mail of ours to somebody else, a person answers it. Checked by
tests/unit/cases/test_threads.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from support_agent.answer.sources import RenderedPacket
from support_agent.cases.commands import GivenCommand, cases_named_in, given_in
from support_agent.cases.route import own_addresses, staff_addresses
from support_agent.cases.senders import Senders
from support_agent.config.settings import Settings
from support_agent.core.levels import PROVEN
from support_agent.mail.keys import is_own_message_id
from support_agent.mail.message import Message
from support_agent.mail.senders.identity import Sender
from support_agent.store.records import CaseId, CaseRecord, CaseState, MailId, OutboxEntry, OutgoingKind
from support_agent.store.store import Store


@dataclass(frozen=True)
class Threads:
    """Finds threads among the stored mails."""

    store: Store
    settings: Settings
    senders: Senders

    def case_of(self, message: Message, sender: Sender) -> CaseRecord | None:
        """The case that a mail continues; None if it opens a new one.

        Of several cases, a case that a person has comes first: the agent must not answer a mail that may be meant
        for that person. Otherwise the nearest in In-Reply-To and References counts.
        """
        references = _references(message)
        if sender.level < PROVEN or not sender.address or not references:
            return None
        cases = [case for case in self.store.cases.for_thread(references) if sender.address in case.participants]
        with_person = (case for case in cases if case.state is CaseState.WITH_PERSON)
        return next(with_person, next(iter(cases), None))

    def participants(self, message: Message, sender: Sender, case: CaseRecord | None) -> tuple[str, ...]:
        """Who may continue the case after this mail: the participants so far, the sender, and whom a proven sender
        addresses as well.

        Our own addresses are never added; additions end at `agent.max_participants_per_case` in all.
        """
        if not sender.address:
            return ()
        known = (*(case.participants if case is not None else ()), sender.address)
        addressed = (address.addr for address in (*message.to, *message.cc)) if sender.level >= PROVEN else ()
        ours = own_addresses(self.settings)
        everybody = dict.fromkeys((*known, *(address for address in addressed if address and address not in ours)))
        return tuple(everybody)[: max(self.settings.agent.max_participants_per_case, len(known))]

    def is_staff(self, sender: Sender) -> bool:
        """Whether the sender has a staff address that is proven.

        Without a trusted border server nobody is proven, so no reply is passed on.
        """
        return sender.address in staff_addresses(self.settings) and sender.level >= PROVEN

    def answers_another(self, message: Message, sender: Sender) -> OutboxEntry | None:
        """The mail of ours to somebody else, or about no case, that a mail answers: its sender gets no automatic mail.

        An auto-responder that replies from changing addresses, or behind the desk's address, would loop for ever.
        """
        record = next(self._ours(message), None)
        if record is None or (record.recipient == sender.address and not record.kind.is_about_no_case):
            return None
        return record

    def answers_a_lost_one(self, message: Message) -> bool:
        """Whether a mail answers one of ours that the store does not have: it was deleted, or a backup was restored."""
        is_ours = (is_own_message_id(self.settings.agent.secrets, id_) for id_ in _references(message))
        return any(is_ours) and next(self._ours(message), None) is None

    def is_direct_answer(self, message: Message, packet: OutboxEntry) -> bool:
        """Whether a mail answers the packet itself and is addressed to us; mail between staff must not reach the
        customer.
        """
        ours = own_addresses(self.settings) - staff_addresses(self.settings)
        is_to_us = any(address.addr in ours for address in message.to)
        return is_to_us and _references(message)[:1] == [packet.message_id]

    def mail_replied_to(self, message: Message) -> MailId | None:
        """The stored mail that a customer's mail replies to, or whose answer it replies to; None: nothing of ours."""
        for reference in _references(message):
            for row in self.store.deliveries.named(reference):
                return row.mail_id
            for mail in self.store.mails.find(message_id=reference):
                return mail.id
        return None

    def packet_named_by(self, message: Message) -> OutboxEntry | None:
        """The packet that a mail replies to, by its keyed id; perhaps one that cannot be read because a key is gone."""
        return next((record for record in self._ours(message) if record.kind.is_for_desk), None)

    def command_in(self, message: Message, packet: OutboxEntry | None) -> GivenCommand | None:
        """The command that a staff mail gives; the subject of the packet that it answers is none."""
        as_sent = self.packet_as_sent(packet) if packet is not None else None
        return given_in(message, as_sent.subject.text if as_sent is not None else "")

    def _ours(self, message: Message) -> Iterator[OutboxEntry]:
        """The mails of ours that a mail answers, the nearest first."""
        return (entry for id_ in _references(message) for entry in self.store.deliveries.named(id_))

    def names(self, message: Message, packet: OutboxEntry) -> bool:
        """Whether a mail replies to this packet, by its keyed id."""
        return packet.message_id in _references(message)

    def packet_answered_by(self, message: Message) -> OutboxEntry | None:
        """The packet of a case that a staff mail is about: the one it replies to, else the last of the case that its
        command or its subject names.

        An alarm and a digest are about no case: they are stored beside any customer's mail. Some mail programs drop the
        ids of what they answer. It may be one that cannot be read because a key is gone.
        """
        if (named := self.packet_named_by(message)) is not None:
            return named if named.case_id is not None else None
        given = given_in(message)
        named_first = [given.case_id] if given is not None and given.case_id is not None else cases_named_in(message)
        for case_id in named_first:
            rows = self.store.deliveries.in_case(case_id)
            if packets := [row for row in rows if row.kind.is_for_desk]:
                return packets[-1]
            if self.store.cases.get(case_id) is not None or self.answers_a_lost_one(message):
                return None  # what follows is the customer's subject, which may name anybody's case
        return None

    def packets_of(self, case_id: CaseId) -> list[OutboxEntry]:
        """The packets and notices of a case that can be read, the oldest first."""
        return [row for row in self.mails_of(case_id) if row.kind.is_for_desk]

    def mails_of(self, case_id: CaseId) -> list[OutboxEntry]:
        """Our mails of a case, the oldest first, without those that cannot be read because a key is gone."""
        rows = self.store.deliveries.in_case(case_id)
        unreadable = self.store.sealing.unreadable({row.mail_id for row in rows})
        return [row for row in rows if row.mail_id not in unreadable]

    def packet_as_sent(self, packet: OutboxEntry) -> RenderedPacket | None:
        """A packet as it was rendered; None: that is gone, or cannot be read because a key is gone."""
        if self._is_unreadable(packet.mail_id):
            return None
        record = self.store.outbox.rendered_mail(packet.mail_id, packet.kind, packet.number)
        return RenderedPacket.model_validate(record.spans) if record is not None else None

    def customer_mail_of(self, packet: OutboxEntry) -> MailId | None:
        """The customer's mail that a packet is about; None: it is about none that is known and can be read."""
        if self._is_unreadable(packet.mail_id):
            return None
        record = self.store.outbox.rendered_mail(packet.mail_id, packet.kind, packet.number)
        about = record.payload.get("about_mail_id") if record is not None else None
        mail_id = self.mail_about(packet, None if about is None else str(about))
        if mail_id is None or mail_id == packet.mail_id:  # that one can be read
            return mail_id
        return None if self._is_unreadable(mail_id) else mail_id

    def _is_unreadable(self, mail_id: MailId) -> bool:
        return bool(self.store.sealing.unreadable({mail_id}))

    def mail_about(self, packet: OutboxEntry, about_mail_id: str | None) -> MailId | None:
        """As `customer_mail_of`, by what the packet says of it.

        Those of version 0.1.0 say nothing: they are about the mail that they were made for, but a notice about a mail
        of staff is about none.
        """
        if about_mail_id is not None:
            return MailId(about_mail_id) if about_mail_id else None
        mail = self.store.mails.get(packet.mail_id) if packet.kind is OutgoingKind.FAILURE else None
        is_of_staff = mail is not None and mail.sender_address in staff_addresses(self.settings)
        return None if is_of_staff else packet.mail_id

    def mail_of_only_author(self, case_id: CaseId) -> MailId | None:
        """The customer's mail that the last packet of a case is about; None: its packets are for several authors."""
        about = list(filter(None, map(self.customer_mail_of, self.packets_of(case_id))))
        authors = {mail.sender_address for mail in filter(None, map(self.store.mails.get, dict.fromkeys(about)))}
        return about[-1] if len(authors) == 1 else None


def _references(message: Message) -> list[str]:
    """The Message-IDs that a mail answers, nearest first (RFC 5322, section 3.6.4)."""
    return [id_ for id_ in (message.in_reply_to, *reversed(message.references)) if id_]
