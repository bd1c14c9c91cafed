"""Applies a bounce or delivery report to the mail of ours that it names.

Invariant: a report changes only a mail of ours that it names by a keyed id. It suppresses only the address that this
mail went to, and not if it names other recipients only (S64). The outbox must allow each change, and the case shows
each with its source (S62). Checked by tests/unit/outbound/test_delivery_reports.py and, for mails whose key is gone, by
tests/integration/store/test_unreadable_mails.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import structlog

from support_agent.config.settings import Settings
from support_agent.errors import Postponed
from support_agent.mail.addresses import normal_address
from support_agent.mail.keys import named_id
from support_agent.mail.machines.bounces import DeliveryNotice, Fate, read_delivery_notice
from support_agent.mail.machines.machine_headers import CAME_TO_FIELDS
from support_agent.mail.message import Message
from support_agent.store.records import DeliverySource, MailId, OutboxEntry, OutboxStatus
from support_agent.store.store import Store
from support_agent.transport.submission import BAD_ADDRESS

log = structlog.get_logger(__name__)

READY, SENDING, SENT = OutboxStatus.READY, OutboxStatus.SENDING, OutboxStatus.SENT
UNCERTAIN, FAILED = OutboxStatus.UNCERTAIN, OutboxStatus.FAILED
SAYS = ", says mail "
"""Stands before the report's id, at the end of a delivery update's detail."""


class _Report(NamedTuple):
    """What a bounce or delivery report says about a mail of ours; `after` is that mail's new status."""

    record: OutboxEntry
    after: OutboxStatus
    by: DeliverySource
    detail: str
    is_bad_address: bool = False


@dataclass(frozen=True)
class Reports:
    """Reads bounces and delivery reports; `now` is the clock."""

    store: Store
    settings: Settings
    now: Callable[[], datetime]

    def read(self, mail_id: MailId, message: Message, raw: bytes, *, has_headers: bool = True) -> str:
        """Apply a report to the mail of ours that it names, and add the report to that mail's case.

        Args:
            has_headers: The report has the machine headers of a bounce. A mail that only reads like a bounce keeps a
                case of its own, and an id that it merely answers does not count: customers answer our mails, too.
        Returns:
            What the report says, in one sentence; "" if the mail is no report, or names no mail of ours.
        Raises:
            Postponed: the mail is being sent right now; read the report again afterwards.
        """
        report = self._report(message, raw, has_headers)
        if report is None:
            return ""
        record = report.record
        if record.status is SENDING:
            raise Postponed(f"{record.id} is being sent while a report about it is read", code="still_sending")
        if has_headers and record.case_id is not None:
            self.store.cases.join(mail_id, record.case_id)
        sources = _sources(report)
        detail = f"{report.detail}{SAYS}{mail_id}"
        if record.status in sources:
            self.store.deliveries.update(record.id, report.after, report.by, detail, self.now(), sources)
            log.warning("delivery_confirmed", outbox_id=record.id, status=report.after.value, by=report.by.value)
        if report.is_bad_address:
            self._suppress(record, detail)
        if report.after is FAILED and record.kind.is_for_desk:
            log.critical("packet_undelivered", case_id=record.case_id, outbox_id=record.id, status=FAILED.value)
        return f"about {record.id}: {report.detail}"

    def _suppress(self, record: OutboxEntry, detail: str) -> None:
        """Suppress the recipient's address, but never the desk's: the desk must be notified of the bounce."""
        if not record.kind.is_for_desk:
            suppress(self.store, record, detail, self.now(), self.settings.smtp.suppression_days)

    def _report(self, message: Message, raw: bytes, has_headers: bool) -> _Report | None:
        notice = read_delivery_notice(message, raw)
        if notice is None:
            return None
        message_ids = notice.original_message_ids if has_headers or notice.is_returned else ()
        if record := self._ours((*notice.envelope_ids, *_delivered_to(message))):
            return _report_from(record, notice, is_sure=True)
        record = self._ours(message_ids)
        return None if record is None else _report_from(record, notice, is_sure=False)

    def _ours(self, names: tuple[str, ...]) -> OutboxEntry | None:
        """The first mail of ours among the ids in these texts."""
        agent = self.settings.agent
        domain = agent.address.rpartition("@")[2]
        for text in names:
            own_id = named_id(agent.secrets, domain, text)
            for candidate in dict.fromkeys((text.strip(), own_id)) if own_id else ():
                for record in self.store.deliveries.named(candidate):
                    return record
        return None


def _sources(report: _Report) -> tuple[OutboxStatus, ...]:
    """The statuses that the report may change; a `ready` mail becomes `sent` only if it was tried before."""
    if report.after is not SENT:
        return READY, SENT, UNCERTAIN
    return (READY, UNCERTAIN) if report.record.attempts else (UNCERTAIN,)


def report_of(store: Store, lost: OutboxEntry) -> MailId | None:
    """The bounce that says that a mail of ours did not arrive; None: no bounce was the last to say so."""
    last = next(reversed(store.deliveries.of(lost.id)), None)
    return MailId(last.detail.rpartition(SAYS)[2]) if last is not None and last.by is DeliverySource.BOUNCE else None


def suppress(store: Store, record: OutboxEntry, detail: str, now: datetime, days: int) -> None:
    """Suppress automatic mail to a mail's recipient for some days; 0 days suppress nothing."""
    if days:
        store.suppressions.add(record, detail, now, now + timedelta(days=days))
        log.warning("address_suppressed", outbox_id=record.id, case_id=record.case_id, days=days)


def _report_from(record: OutboxEntry, notice: DeliveryNotice, *, is_sure: bool) -> _Report:
    """Turn a delivery notice into a report about a mail of ours.

    Args:
        is_sure: ENVID or the address that the notice came to names the mail; only its deliverer knows these. A
            Message-ID alone is not sure: it also stands in quoted and forwarded mails.
    """
    code = f" ({notice.status})" if notice.status else ""
    if notice.fate is not Fate.FAILED:  # delayed counts as sent, too: a server has the mail
        return _Report(record, SENT, DeliverySource.DELIVERY_REPORT, f"{notice.fate}{code}")
    is_its_address = normal_address(record.recipient) in notice.recipients or (is_sure and not notice.recipients)
    is_bad_address = is_its_address and BAD_ADDRESS.match(notice.status) is not None
    return _Report(record, FAILED, DeliverySource.BOUNCE, f"bounced{code}", is_bad_address)


def _delivered_to(message: Message) -> Iterator[str]:
    """The addresses that a mail was delivered to, by its To field and the delivering servers' fields."""
    for name in ("To", *CAME_TO_FIELDS):
        for value in message.all_headers(name):
            yield from (part.strip("<> \t") for part in value.split(","))
