"""Updates a mail's delivery status after a try: a person decides it, or a bounce or delivery report states it.

Invariant: a report changes only a mail of ours that it names by a keyed id. It suppresses only the address that this
mail went to, and not if it names other recipients only (S64). The outbox must allow each change, and the case shows
each with its source (S62). Checked by tests/unit/outbound/test_delivery_status.py and
tests/unit/outbound/test_delivery_reports.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

import structlog

from support_agent.config.settings import Settings
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError, PermanentError, Postponed
from support_agent.mail.addresses import normal_address
from support_agent.mail.keys import named_id
from support_agent.mail.machines.bounces import DeliveryNotice, Fate, read_delivery_notice
from support_agent.mail.machines.machine_headers import CAME_TO_FIELDS
from support_agent.mail.message import Message
from support_agent.store.deliveries import UNCONFIRMED
from support_agent.store.records import (
    CaseId,
    DeliverySource,
    MailId,
    OutboxId,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
)
from support_agent.store.store import Store
from support_agent.transport.outbox import BAD_ADDRESS

log = structlog.get_logger(__name__)

READY, SENDING, SENT = OutboxStatus.READY, OutboxStatus.SENDING, OutboxStatus.SENT
UNCERTAIN, FAILED = OutboxStatus.UNCERTAIN, OutboxStatus.FAILED
PROPOSED, CANCELLED = OutboxStatus.PROPOSED, OutboxStatus.CANCELLED


class Choice(StrEnum):
    """A person's decision about a mail of the outbox."""

    APPROVE = "approve"
    UNDO = "undo"
    RETRY = "retry"
    SENT = "sent"
    GIVE_UP = "give-up"


class _Rule(NamedTuple):
    """The status after a choice, the statuses it may change, its text for the case, and why others refuse it."""

    after: OutboxStatus
    sources: tuple[OutboxStatus, ...]
    detail: str
    refused: Mapping[OutboxStatus, str]


_BUSY = "it is being sent right now: look again in a moment"
_PROPOSED = "a person must approve it first: `support-agent outbox approve`"
_CANCELLED = "a person did not want it sent"
_NOT_PROPOSED = "only a proposed answer is approved"
RULES: Mapping[Choice, _Rule] = {
    Choice.APPROVE: _Rule(
        READY,
        (PROPOSED,),
        "approved",
        {
            CANCELLED: _CANCELLED,
            SENT: "it went out already",
            **dict.fromkeys((SENDING, UNCERTAIN, FAILED), _NOT_PROPOSED),
        },
    ),
    Choice.UNDO: _Rule(
        CANCELLED,
        (PROPOSED, READY),
        "undone",
        {
            SENT: "it went out already and cannot be called back",
            SENDING: _BUSY,
            UNCERTAIN: "it may be out: `support-agent outbox give-up` keeps it from being sent again",
            FAILED: "it did not go out",
        },
    ),
    Choice.RETRY: _Rule(
        READY,
        (UNCERTAIN, FAILED),
        "to be sent again",
        {
            SENT: "sending it again would be a second mail",
            SENDING: _BUSY,
            PROPOSED: _PROPOSED,
            CANCELLED: _CANCELLED,
        },
    ),
    Choice.SENT: _Rule(
        SENT,
        (UNCERTAIN,),
        "it went out",
        {
            READY: "it still waits to be sent; `support-agent outbox give-up` keeps it from being sent",
            FAILED: "it did not go out; `support-agent outbox retry` sends it again",
            SENDING: _BUSY,
            PROPOSED: _PROPOSED,
            CANCELLED: _CANCELLED,
        },
    ),
    Choice.GIVE_UP: _Rule(
        FAILED,
        (READY, UNCERTAIN, FAILED),
        "given up",
        {
            SENT: "it went out already and cannot be called back",
            SENDING: _BUSY,
            PROPOSED: "it is not sent as long as nobody approves it",
            CANCELLED: _CANCELLED,
        },
    ),
}


class ChoiceResult(Frozen):
    """The result of a choice; `is_new` is False if the mail already had the status."""

    outbox_id: OutboxId
    status: OutboxStatus
    is_new: bool


class Entry(Frozen):
    """A mail whose delivery is not confirmed: `age_s` counts from queueing, `detail` is the latest news about it."""

    outbox_id: OutboxId
    status: OutboxStatus
    kind: OutgoingKind
    recipient: str
    case_id: CaseId | None
    age_s: float
    attempts: int
    next_try_at: datetime | None
    detail: str | None


def entries(
    store: Store,
    now: datetime,
    statuses: Collection[OutboxStatus] = UNCONFIRMED,
    limit: int | None = None,
    after: OutboxId | None = None,
) -> list[Entry]:
    """Mails of the outbox whose delivery is not confirmed, oldest first, without those that a person gave up.

    Args:
        statuses: Only mails with one of these.
        limit: The most mails returned; None: all.
        after: Only mails after this one in the list.
    """
    return [
        Entry(
            outbox_id=row.id,
            status=row.status,
            kind=row.kind,
            recipient=row.recipient,
            case_id=row.case_id,
            age_s=round(max(0.0, (now - row.created_at).total_seconds()), 1),
            attempts=row.attempts,
            next_try_at=row.next_try_at if row.status is READY else None,
            detail=row.last_detail,
        )
        for row in store.deliveries.unconfirmed(statuses, limit, after)
    ]


def choices_for(entry: Entry) -> tuple[Choice, ...]:
    """What a person may decide about a mail that is listed, besides to approve it, which its case shows."""
    return tuple(
        choice
        for choice, rule in RULES.items()
        if choice is not Choice.APPROVE
        and entry.status in rule.sources
        and (choice is not Choice.UNDO or entry.kind is OutgoingKind.ANSWER)
    )


def apply_choice(
    store: Store, outbox_id: str, choice: Choice, now: datetime, who: str = DeliverySource.OPERATOR.value
) -> ChoiceResult:
    """Apply a person's choice to a mail; the same choice twice changes nothing.

    A retry also lifts the suppression of the mail's address. An answer is approved through `workflow.approval`, which
    checks what it says before.

    Raises:
        ConfigError: there is no such mail. PermanentError: the mail's status does not allow the choice.
    """
    record, rule, by = choosable(store, outbox_id, choice), RULES[choice], DeliverySource.OPERATOR
    if choice is Choice.RETRY:  # before the update: else a crash in between leaves a ready mail that fails at once
        store.suppressions.lift(record.recipient)
    is_new = store.deliveries.update(record.id, rule.after, by, f"{rule.detail}, by {who}", now, rule.sources)
    return ChoiceResult(outbox_id=record.id, status=rule.after, is_new=is_new)


def choosable(store: Store, outbox_id: str, choice: Choice) -> OutboxRecord:
    """The mail that a choice is about, if its status allows the choice.

    Raises:
        ConfigError, PermanentError: as `apply_choice`.
    """
    record = store.outbox.get(OutboxId(outbox_id))
    if record is None:
        raise ConfigError(f"no mail {outbox_id} in the outbox: `support-agent outbox` lists them", code="no_outbox")
    if choice is Choice.UNDO and record.kind is not OutgoingKind.ANSWER:
        raise PermanentError(f"{outbox_id} is a {record.kind.value}: only answers are undone", code="outbox_kind")
    if why := RULES[choice].refused.get(record.status):
        raise PermanentError(f"{outbox_id} is {record.status}: {why}", code="outbox_status")
    return record


class _Report(NamedTuple):
    """What a bounce or delivery report says about a mail of ours; `after` is that mail's new status."""

    record: OutboxRecord
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

    def read(self, mail_id: MailId, message: Message, raw: bytes, *, is_marked: bool = True) -> str:
        """Apply a report to the mail of ours that it names, and add the report to that mail's case.

        Args:
            is_marked: The report has the machine headers of a bounce. A mail that only reads like a bounce keeps a
                case of its own, and an id that it merely answers does not count: customers answer our mails, too.
        Returns:
            What the report says, in one sentence; "" if the mail is no report, or names no mail of ours.
        Raises:
            Postponed: the mail is being sent right now; read the report again afterwards.
        """
        report = self._report(message, raw, is_marked)
        if report is None:
            return ""
        record = report.record
        if record.status is SENDING:
            raise Postponed(f"{record.id} is being sent while a report about it is read", code="still_sending")
        if is_marked and record.case_id is not None:
            self.store.cases.join(mail_id, record.case_id)
        sources = _sources(report)
        detail = f"{report.detail}, says mail {mail_id}"
        if record.status in sources:
            self.store.deliveries.update(record.id, report.after, report.by, detail, self.now(), sources)
            log.warning("delivery_confirmed", outbox_id=record.id, status=report.after.value, by=report.by.value)
        if report.is_bad_address:
            self._suppress(record, detail)
        if report.after is FAILED and record.kind.is_for_desk:
            log.critical("packet_undelivered", case_id=record.case_id, outbox_id=record.id, status=FAILED.value)
        return f"about {record.id}: {report.detail}"

    def _suppress(self, record: OutboxRecord, detail: str) -> None:
        """Suppress the recipient's address, but never the desk's: the desk must be notified of the bounce."""
        if not record.kind.is_for_desk:
            suppress(self.store, record, detail, self.now(), self.settings.smtp.suppression_days)

    def _report(self, message: Message, raw: bytes, is_marked: bool) -> _Report | None:
        notice = read_delivery_notice(message, raw)
        if notice is None:
            return None
        message_ids = notice.original_message_ids if is_marked or notice.is_returned else ()
        if record := self._ours((*notice.envelope_ids, *_delivered_to(message))):
            return _report_from(record, notice, is_sure=True)
        record = self._ours(message_ids)
        return None if record is None else _report_from(record, notice, is_sure=False)

    def _ours(self, names: tuple[str, ...]) -> OutboxRecord | None:
        """The first mail of ours among the ids in these texts."""
        agent = self.settings.agent
        domain = agent.address.rpartition("@")[2]
        for text in names:
            own_id = named_id(agent.secrets, domain, text)
            for candidate in dict.fromkeys((text.strip(), own_id)) if own_id else ():
                for record in self.store.outbox.find(message_id=candidate):
                    return record
        return None


def _sources(report: _Report) -> tuple[OutboxStatus, ...]:
    """The statuses that the report may change; a `ready` mail becomes `sent` only if it was tried before."""
    if report.after is not SENT:
        return READY, SENT, UNCERTAIN
    return (READY, UNCERTAIN) if report.record.attempts else (UNCERTAIN,)


def suppress(store: Store, record: OutboxRecord, detail: str, now: datetime, days: int) -> None:
    """Suppress automatic mail to a mail's recipient for some days; 0 days suppress nothing."""
    if days:
        store.suppressions.add(record, detail, now, now + timedelta(days=days))
        log.warning("address_suppressed", outbox_id=record.id, case_id=record.case_id, days=days)


def _report_from(record: OutboxRecord, notice: DeliveryNotice, *, is_sure: bool) -> _Report:
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
