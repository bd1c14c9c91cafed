"""Sends the mails of the outbox, one try at a time, and records the result of each try.

Invariant: a mail to a customer is never sent again while its delivery is uncertain, and no customer is notified that a
person has the case before the desk has the packet, or if it never gets it. Mails to the desk are sent again: a
duplicate does no harm there, a lost case does. Checked by tests/unit/workflow/test_stages.py,
tests/unit/workflow/test_stages_failures.py, tests/unit/outbound/test_without_original.py and tests/contract/store.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto

import structlog

from support_agent.config.mail_servers import SmtpSettings
from support_agent.core.observing import UNOBSERVED, Observer
from support_agent.engine.steps import known_error
from support_agent.errors import PermanentError, SupportAgentError, TransientError
from support_agent.mail.keys import envelope_id
from support_agent.outbound.delivery_reports import suppress
from support_agent.store.outbox import TAKEN_OVER
from support_agent.store.records import DeliverySource, MailId, OutboxRecord, OutboxStatus, OutgoingKind
from support_agent.store.store import Store
from support_agent.transport.submission import Delivery, Transport

log = structlog.get_logger(__name__)

RETRY_SPREAD = 0.25
"""Largest random share added to a wait; `smtp.retry_max_s` still bounds the wait."""
MARK_WAITS_S = (0.1, 0.5, 2.0)
"""Waits before each further attempt to record that a mail was sent."""


class SendResult(StrEnum):
    """The result of one try.

    `claimed`: another run has the mail; `held`: the mail waits until the desk has the packet, or until automatic mail
    is no longer stopped; `withdrawn`: it must not leave any more.
    """

    SENT = "sent"
    RETRY = "retry"
    FAILED = "failed"
    UNCERTAIN = "uncertain"
    CLAIMED = "claimed"
    HELD = "held"
    WITHDRAWN = "withdrawn"

    @property
    def is_loss(self) -> bool:
        """Whether the recipient does not get the mail, or perhaps does not."""
        return self in (SendResult.FAILED, SendResult.UNCERTAIN, SendResult.WITHDRAWN)


class _Packet(Enum):
    """What became of a packet; `waits`: it may still reach the desk."""

    SENT = auto()
    WAITS = auto()
    LOST = auto()


@dataclass(frozen=True)
class OutboxSender:
    """Sends mails of the outbox through the transport; `now` is the clock."""

    store: Store
    transport: Transport
    smtp: SmtpSettings
    now: Callable[[], datetime]
    stopped: Callable[[], str]
    """Returns why no automatic mail may go to a customer now, or ""."""
    withdrawn: Callable[[OutboxRecord], str]
    """Returns why an answer must not leave any more, or ""; raises `TransientError` if that cannot be known now."""
    random: Callable[[], float] = lambda: 0.0
    """0 to 1: the share of `RETRY_SPREAD` added to a wait, so that waiting mails do not all become due at once."""
    worker: str = ""
    """The name of the worker that sends."""
    observer: Observer = UNOBSERVED
    """Notified of each try."""

    def send(self, mail_id: MailId) -> list[SendResult]:
        """Try each due outbox mail for an inbound mail once; mails to the desk go first."""
        records = sorted(self.store.outbox.find(mail_id=mail_id), key=lambda record: not record.kind.is_for_desk)
        return [
            self.deliver(record)
            for record in records
            if record.status is OutboxStatus.READY and record.next_try_at <= self.now()
        ]

    def deliver(self, record: OutboxRecord) -> SendResult:
        """Try a mail once, unless it must wait or must not leave; count what was tried or withdrawn."""
        result = self._deliver(record)
        if result not in (SendResult.HELD, SendResult.CLAIMED):
            self.observer.sent(record.kind.value, result.value)
        return result

    def _deliver(self, record: OutboxRecord) -> SendResult:
        """As `deliver`; the mail is claimed before the try, so that no other process or run sends it too."""
        is_acknowledgement = record.kind is OutgoingKind.ACKNOWLEDGEMENT
        packet = self._packet_of(record.mail_id) if is_acknowledgement else _Packet.SENT
        if packet is _Packet.LOST:
            return self._withdraw(record, "the desk did not get the packet", DeliverySource.LOST_PACKET)
        if why := self._why_held(record, packet):
            # Debug only, as it repeats in each round; `automatic_mail_stopped` and `doctor` report it once.
            log.debug("delivery_held", outbox_id=record.id, kind=record.kind.value, why=why)
            return SendResult.HELD
        unread: TransientError | None = None
        try:
            if record.kind is OutgoingKind.ANSWER and (why := self.withdrawn(record)):
                return self._withdraw(record, why, DeliverySource.RULE)
        except TransientError as error:
            unread = error
        if not self.store.outbox.claim(record.id, self.now(), self.worker):
            return SendResult.CLAIMED
        # An answer that cannot be checked now counts as tried, so that it neither hurries nor waits for ever.
        delivery = self._try(record) if unread is None else _not_tried(unread)
        log.info(
            "delivery",
            outbox_id=record.id,
            kind=record.kind.value,
            status=delivery.status,
            code=delivery.smtp_code,
        )
        if delivery.is_bad_address and not record.kind.is_for_desk:  # before the status, so that a crash loses neither
            suppress(self.store, record, delivery.detail, self.now(), self.smtp.suppression_days)
        try:
            result = self._note(record, delivery)
        except PermanentError as error:
            if error.code != TAKEN_OVER:
                raise
            # Taken for dead while it sent, or the mail was deleted: what others have recorded stays.
            log.error("delivery_taken_over", outbox_id=record.id, status=delivery.status, error=str(error))
            return SendResult.CLAIMED
        if record.kind.is_for_desk and result in (SendResult.FAILED, SendResult.UNCERTAIN):
            # The desk cannot be notified by mail; `doctor` reports it as well.
            log.critical("packet_undelivered", case_id=record.case_id, outbox_id=record.id, status=result.value)
        return result

    def _try(self, record: OutboxRecord) -> Delivery:
        is_to_sender = record.kind.is_automatic_to_sender
        suppression = self.store.suppressions.of(record.recipient, self.now()) if is_to_sender else None
        if suppression is not None:  # the address bounced after the mail was queued
            return Delivery(status="failed", detail=suppression.why)
        try:
            name = envelope_id(record.message_id)
            return self.transport.deliver(record.raw, record.envelope_from, record.recipient, name)
        except SupportAgentError as error:  # raised before anything reached a server
            return _not_tried(error)

    def _withdraw(self, record: OutboxRecord, why: str, by: DeliverySource) -> SendResult:
        """Cancel a mail and record why; `Notices` then notifies the desk of a cancelled answer."""
        after, sources = OutboxStatus.CANCELLED, (OutboxStatus.READY,)
        try:
            self.store.deliveries.update(record.id, after, by, why, self.now(), sources)
        except PermanentError:  # another run has it
            return SendResult.CLAIMED
        log.warning("mail_withdrawn", outbox_id=record.id, kind=record.kind.value)
        return SendResult.WITHDRAWN

    def _why_held(self, record: OutboxRecord, packet: _Packet) -> str:
        """Why a mail must not go out now, or ""; `packet`: what an acknowledgement waits for."""
        if record.kind.is_automatic_to_sender and (why := self.stopped()):
            return why
        return "the desk does not have the packet yet" if packet is _Packet.WAITS else ""

    def _packet_of(self, mail_id: MailId) -> _Packet:
        """What became of the packet to the desk."""
        packets = self.store.outbox.find(mail_id=mail_id, kind=OutgoingKind.PACKET)
        statuses = {packet.status for packet in packets}
        if OutboxStatus.SENT in statuses:
            return _Packet.SENT
        if statuses != {OutboxStatus.FAILED}:
            return _Packet.WAITS
        lost = self.store.deliveries.lost_to_desk(mail_id)
        is_sent_again = any(row.kind is OutgoingKind.PACKET and row.may_enclose_original for row in lost)
        return _Packet.WAITS if is_sent_again else _Packet.LOST

    def _note(self, record: OutboxRecord, delivery: Delivery) -> SendResult:
        """Record the result of a try: final, or when to try again (the wait doubles with each try).

        Args:
            record: The row before it was claimed for this try.
        """
        is_last = record.attempts + 1 >= self.smtp.max_attempts
        match delivery.status:
            case "sent":
                self._mark_sent(record, delivery)
            case "uncertain" if record.kind.is_for_desk and not is_last:
                self._schedule_retry(record, delivery)
                return SendResult.RETRY
            case "uncertain":
                self.store.outbox.mark_uncertain(record.id, delivery.detail, self.now(), by=self.worker)
            case "failed":
                self.store.outbox.mark_failed(record.id, delivery.detail, by=self.worker)
            case "retry" if is_last:
                why = f"given up after {record.attempts + 1} tries: {delivery.detail}"
                self.store.outbox.mark_failed(record.id, why, by=self.worker)
                return SendResult.FAILED
            case "retry":
                self._schedule_retry(record, delivery)
        return SendResult(delivery.status)

    def _mark_sent(self, record: OutboxRecord, delivery: Delivery) -> None:
        """Record that the server took the mail, with further attempts: an unrecorded success becomes `uncertain`."""
        for wait_s in (*MARK_WAITS_S, None):
            try:
                self.store.outbox.mark_sent(record.id, delivery.detail, self.now(), by=self.worker)
            except TransientError as error:
                log.warning("sent_not_recorded", outbox_id=record.id, code=error.code)
                if wait_s is None:
                    raise
            else:
                return
            time.sleep(wait_s)

    def _schedule_retry(self, record: OutboxRecord, delivery: Delivery) -> None:
        wait_s = self.smtp.retry_base_s * 2**record.attempts * (1 + RETRY_SPREAD * self.random())
        wait_s = min(wait_s, self.smtp.retry_max_s)
        due_at = self.now() + timedelta(seconds=wait_s)
        self.store.outbox.mark_retry(record.id, delivery.detail, due_at, by=self.worker)


@contextmanager
def errors_logged(event: str, **about: str) -> Iterator[None]:
    """Log an error of a mail to the desk instead of ending the worker's loop.

    Args:
        about: What the event tells besides the error's code.
    Raises:
        TransientError: the next round tries again.
    """
    try:
        yield
    except TransientError:
        raise
    except Exception as error:
        log.critical(event, code=known_error(error, event).code, **about)


def _not_tried(error: SupportAgentError) -> Delivery:
    return Delivery(status="retry", detail=f"{error.code}: {error}")
