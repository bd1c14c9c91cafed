"""Which case a mail continues, and which packet it answers.

A Message-ID in a header proves nothing, nor does a number in the subject, which is not looked at: anybody may have
written them. What counts is who writes: a case goes on for a proven participant, a packet is answered by proven staff.

Invariant: nobody but a participant at level 2 or more comes into a case, and whoever does not learns nothing from that:
the mail opens a case of its own, which only a person answers where it names a letter of ours to somebody else. Checked
by tests/unit/cases/test_threads.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from support_agent.answer.sources import RenderedPacket
from support_agent.cases.route import ReceivedMail, own_addresses, staff_addresses
from support_agent.cases.senders import Senders
from support_agent.config.settings import Settings
from support_agent.core.levels import PROVEN
from support_agent.mail.message import Message
from support_agent.mail.senders.identity import Sender
from support_agent.store.records import CaseRecord, CaseState, MailId, OutboxRecord
from support_agent.store.store import Store


@dataclass(frozen=True)
class Threads:
    """The threads of the store's mails."""

    store: Store
    settings: Settings
    senders: Senders

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
        mail = self._received(packet.mail_id)
        earlier = self.packet_named_by(mail.message) if self.is_staff(self.senders.of(mail)) else None
        return packet.mail_id if earlier is None else self.customer_mail_of(earlier)

    def _received(self, mail_id: MailId) -> ReceivedMail:
        return ReceivedMail.of(mail_id, self.store.mails.raw(mail_id))


def _references(message: Message) -> list[str]:
    """What a mail says it answers, the nearest first (RFC 5322, section 3.6.4)."""
    return [id_ for id_ in (message.in_reply_to, *reversed(message.references)) if id_]
