"""What one try to send came to, and what that makes of the outbox.

Invariant: nothing but `sent` ends well, and an `uncertain` mail is never tried again by itself. Checked by
tests/unit/test_stages.py and tests/contract/store.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from support_agent.mail.outbox import Delivery
from support_agent.settings import SmtpSettings
from support_agent.store.records import OutboxRecord
from support_agent.store.store import Store


class DeliveryStatus(StrEnum):
    """What one try came to; `claimed`: another run has it; `held`: it waits for the desk to have the packet."""

    SENT = "sent"
    RETRY = "retry"
    FAILED = "failed"
    UNCERTAIN = "uncertain"
    CLAIMED = "claimed"
    HELD = "held"


def note_delivery(
    store: Store, smtp: SmtpSettings, record: OutboxRecord, delivery: Delivery, now: datetime
) -> DeliveryStatus:
    """Record a try: done, given up, or when to try again (the wait doubles with each try).

    Args:
        record: As it was before it was claimed for this try.
    """
    match delivery.status:
        case "sent":
            store.mark_sent(record.id, delivery.detail, now)
        case "uncertain":
            store.mark_uncertain(record.id, delivery.detail)
        case "failed":
            store.mark_failed(record.id, delivery.detail)
        case "retry" if record.attempts + 1 >= smtp.max_attempts:
            store.mark_failed(record.id, f"given up after {record.attempts + 1} tries: {delivery.detail}")
            return DeliveryStatus.FAILED
        case "retry":
            wait_s = smtp.retry_base_s * 2**record.attempts
            store.mark_retry(record.id, delivery.detail, now + timedelta(seconds=wait_s))
    return DeliveryStatus(delivery.status)
