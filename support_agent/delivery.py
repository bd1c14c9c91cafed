"""What leaves the outbox: one try at a time, and what became of it.

Invariant: nothing but `sent` ends well, an `uncertain` mail is never tried again by itself, and no customer reads that
a person has the case before the desk has it. Checked by tests/unit/test_stages.py, tests/unit/test_stages_failures.py
and tests/contract/store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import structlog

from support_agent.errors import SupportAgentError
from support_agent.mail.outbox import Delivery, Transport
from support_agent.settings import SmtpSettings
from support_agent.store.records import LetterKind, MailId, OutboxRecord, OutboxStatus
from support_agent.store.store import Store

log = structlog.get_logger(__name__)


class DeliveryStatus(StrEnum):
    """What one try came to; `claimed`: another run has it; `held`: it waits for the desk to have the packet."""

    SENT = "sent"
    RETRY = "retry"
    FAILED = "failed"
    UNCERTAIN = "uncertain"
    CLAIMED = "claimed"
    HELD = "held"


@dataclass(frozen=True)
class Courier:
    """Takes mails out of the outbox to the server; `now` is the clock."""

    store: Store
    transport: Transport
    smtp: SmtpSettings
    now: Callable[[], datetime]

    def send(self, mail_id: MailId) -> list[DeliveryStatus]:
        """One try for each mail of the outbox that belongs to this one and is due; the desk's come first."""
        records = sorted(self.store.outgoing(mail_id=mail_id), key=lambda record: not record.kind.is_for_desk)
        return [
            self.deliver(record)
            for record in records
            if record.status is OutboxStatus.READY and record.next_try_at <= self.now()
        ]

    def deliver(self, record: OutboxRecord) -> DeliveryStatus:
        """One try: claimed first, so that no other process and no other run has it too."""
        if record.kind is LetterKind.ACKNOWLEDGEMENT and not self._desk_has_packet(record.mail_id):
            return DeliveryStatus.HELD
        if not self.store.claim(record.id, self.now()):
            return DeliveryStatus.CLAIMED
        try:
            delivery = self.transport.deliver(record.raw, record.envelope_from, record.recipient)
        except SupportAgentError as error:  # raised before anything reached a server
            delivery = Delivery(status="retry", detail=f"{error.code}: {error}")
        log.info(
            "delivery",
            outbox_id=record.id,
            kind=record.kind.value,
            status=delivery.status,
            code=delivery.smtp_code,
        )
        status = self._note(record, delivery)
        if record.kind.is_for_desk and status in (DeliveryStatus.FAILED, DeliveryStatus.UNCERTAIN):
            # Nobody is left to tell by mail: `doctor` names it too.
            log.critical("packet_undelivered", case_id=record.case_id, outbox_id=record.id, status=status.value)
        return status

    def _desk_has_packet(self, mail_id: MailId) -> bool:
        """Whether the packet went to the desk's server."""
        packets = self.store.outgoing(mail_id=mail_id, kind=LetterKind.PACKET)
        return any(packet.status in (OutboxStatus.SENT, OutboxStatus.UNCERTAIN) for packet in packets)

    def _note(self, record: OutboxRecord, delivery: Delivery) -> DeliveryStatus:
        """Record a try: done, given up, or when to try again (the wait doubles with each try).

        Args:
            record: As it was before it was claimed for this try.
        """
        match delivery.status:
            case "sent":
                self.store.mark_sent(record.id, delivery.detail, self.now())
            case "uncertain":
                self.store.mark_uncertain(record.id, delivery.detail)
            case "failed":
                self.store.mark_failed(record.id, delivery.detail)
            case "retry" if record.attempts + 1 >= self.smtp.max_attempts:
                self.store.mark_failed(record.id, f"given up after {record.attempts + 1} tries: {delivery.detail}")
                return DeliveryStatus.FAILED
            case "retry":
                wait_s = self.smtp.retry_base_s * 2**record.attempts
                self.store.mark_retry(record.id, delivery.detail, self.now() + timedelta(seconds=wait_s))
        return DeliveryStatus(delivery.status)
