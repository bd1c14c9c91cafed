"""What leaves the outbox: one try at a time, and what became of it.

Invariant: nothing but `sent` ends well, no customer gets a mail again of which nobody knows whether it went out, and
none reads that a person has the case before the desk has it. The desk does get its own mail again: the same one twice
harms nobody there, a case that is lost does. Checked by tests/unit/workflow/test_stages.py,
tests/unit/workflow/test_stages_failures.py and tests/contract/store.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import structlog

from support_agent.config.settings import SmtpSettings
from support_agent.errors import SupportAgentError, TransientError
from support_agent.mail.keys import envelope_id
from support_agent.outbound.delivery_status import suppress
from support_agent.store.records import LetterKind, MailId, OutboxRecord, OutboxStatus
from support_agent.store.store import Store
from support_agent.transport.outbox import Delivery, Transport

log = structlog.get_logger(__name__)

RETRY_SPREAD = 0.25
"""The most by which a wait is longer than the settings say, unless that is longer than the longest."""


MARK_WAITS_S = (0.1, 0.5, 2.0)
"""Before it is tried again to write down that a mail was sent."""


class DeliveryStatus(StrEnum):
    """What one try came to.

    `claimed`: another run has it; `held`: it waits for the desk to have the packet, or until nothing stops automatic
    mail any more.
    """

    SENT = "sent"
    RETRY = "retry"
    FAILED = "failed"
    UNCERTAIN = "uncertain"
    CLAIMED = "claimed"
    HELD = "held"


@dataclass(frozen=True)
class OutboxSender:
    """Takes mails out of the outbox to the server; `now` is the clock."""

    store: Store
    transport: Transport
    smtp: SmtpSettings
    now: Callable[[], datetime]
    stopped: Callable[[], str]
    """Why nothing automatic may go to a customer now, or ""."""
    random: Callable[[], float] = lambda: 0.0
    """0 to 1: by how much a wait is longer than the settings say, so that not all that waits comes back at once."""

    def send(self, mail_id: MailId) -> list[DeliveryStatus]:
        """One try for each mail of the outbox that belongs to this one and is due; the desk's come first."""
        records = sorted(self.store.outbox.find(mail_id=mail_id), key=lambda record: not record.kind.is_for_desk)
        return [
            self.deliver(record)
            for record in records
            if record.status is OutboxStatus.READY and record.next_try_at <= self.now()
        ]

    def deliver(self, record: OutboxRecord) -> DeliveryStatus:
        """One try: claimed first, so that no other process and no other run has it too."""
        if why := self._held(record):
            # At each round again, so not for every reader: `automatic_mail_stopped` and `doctor` tell it once.
            log.debug("delivery_held", outbox_id=record.id, kind=record.kind.value, why=why)
            return DeliveryStatus.HELD
        if not self.store.outbox.claim(record.id, self.now()):
            return DeliveryStatus.CLAIMED
        is_letter = record.kind.is_automatic_letter
        suppression = self.store.suppressions.of(record.recipient, self.now()) if is_letter else None
        if suppression is not None:  # since it was put there
            self.store.outbox.mark_failed(record.id, suppression.why)
            return DeliveryStatus.FAILED
        try:
            name = envelope_id(record.message_id)
            delivery = self.transport.deliver(record.raw, record.envelope_from, record.recipient, name)
        except SupportAgentError as error:  # raised before anything reached a server
            delivery = Delivery(status="retry", detail=f"{error.code}: {error}")
        log.info(
            "delivery",
            outbox_id=record.id,
            kind=record.kind.value,
            status=delivery.status,
            code=delivery.smtp_code,
        )
        if delivery.is_bad_address and not record.kind.is_for_desk:  # first: whoever dies in between loses neither
            suppress(self.store, record, delivery.detail, self.now(), self.smtp.suppression_days)
        status = self._note(record, delivery)
        if record.kind.is_for_desk and status in (DeliveryStatus.FAILED, DeliveryStatus.UNCERTAIN):
            # Nobody is left to tell by mail: `doctor` names it too.
            log.critical("packet_undelivered", case_id=record.case_id, outbox_id=record.id, status=status.value)
        return status

    def _held(self, record: OutboxRecord) -> str:
        """Why a mail does not go out now, or ""."""
        if record.kind.is_automatic_letter and (why := self.stopped()):
            return why
        if record.kind is LetterKind.ACKNOWLEDGEMENT and not self._desk_has_packet(record.mail_id):
            return "the desk does not have the packet yet"
        return ""

    def _desk_has_packet(self, mail_id: MailId) -> bool:
        """Whether the packet is known to be at the desk's server."""
        packets = self.store.outbox.find(mail_id=mail_id, kind=LetterKind.PACKET)
        return any(packet.status is OutboxStatus.SENT for packet in packets)

    def _note(self, record: OutboxRecord, delivery: Delivery) -> DeliveryStatus:
        """Record a try: done, given up, or when to try again (the wait doubles with each try).

        Args:
            record: As it was before it was claimed for this try.
        """
        is_last = record.attempts + 1 >= self.smtp.max_attempts
        match delivery.status:
            case "sent":
                self._mark_sent(record, delivery)
            case "uncertain" if record.kind.is_for_desk and not is_last:
                self._put_off(record, delivery)
                return DeliveryStatus.RETRY
            case "uncertain":
                self.store.outbox.mark_uncertain(record.id, delivery.detail)
            case "failed":
                self.store.outbox.mark_failed(record.id, delivery.detail)
            case "retry" if is_last:
                self.store.outbox.mark_failed(
                    record.id, f"given up after {record.attempts + 1} tries: {delivery.detail}"
                )
                return DeliveryStatus.FAILED
            case "retry":
                self._put_off(record, delivery)
        return DeliveryStatus(delivery.status)

    def _mark_sent(self, record: OutboxRecord, delivery: Delivery) -> None:
        """What the server said is known here only: where it is not written down, the mail becomes uncertain."""
        for wait_s in (*MARK_WAITS_S, None):
            try:
                self.store.outbox.mark_sent(record.id, delivery.detail, self.now())
            except TransientError as error:
                log.warning("sent_not_recorded", outbox_id=record.id, code=error.code)
                if wait_s is None:
                    raise
            else:
                return
            time.sleep(wait_s)

    def _put_off(self, record: OutboxRecord, delivery: Delivery) -> None:
        wait_s = self.smtp.retry_base_s * 2**record.attempts * (1 + RETRY_SPREAD * self.random())
        wait_s = min(wait_s, self.smtp.retry_max_s)
        self.store.outbox.mark_retry(record.id, delivery.detail, self.now() + timedelta(seconds=wait_s))
