"""What a person decides about a mail of the outbox: approve, undo, retry, it was sent, give up.

Invariant: the outbox must allow each change, and the case shows who decided it. Checked by
tests/unit/outbound/test_outbox_choices.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError, PermanentError
from support_agent.store.deliveries import UNCONFIRMED
from support_agent.store.records import (
    CaseId,
    DeliverySource,
    MailId,
    OutboxEntry,
    OutboxId,
    OutboxStatus,
    OutgoingKind,
)
from support_agent.store.store import Store

READY, SENDING, SENT = OutboxStatus.READY, OutboxStatus.SENDING, OutboxStatus.SENT
UNCERTAIN, FAILED = OutboxStatus.UNCERTAIN, OutboxStatus.FAILED
PROPOSED, CANCELLED = OutboxStatus.PROPOSED, OutboxStatus.CANCELLED


class OutboxChoice(StrEnum):
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
RULES: Mapping[OutboxChoice, _Rule] = {
    OutboxChoice.APPROVE: _Rule(
        READY,
        (PROPOSED,),
        "approved",
        {
            CANCELLED: _CANCELLED,
            SENT: "it went out already",
            **dict.fromkeys((SENDING, UNCERTAIN, FAILED), _NOT_PROPOSED),
        },
    ),
    OutboxChoice.UNDO: _Rule(
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
    OutboxChoice.RETRY: _Rule(
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
    OutboxChoice.SENT: _Rule(
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
    OutboxChoice.GIVE_UP: _Rule(
        FAILED,
        (READY, UNCERTAIN, FAILED),
        "given up",
        {
            SENT: "it went out already and cannot be called back",
            SENDING: _BUSY,
            PROPOSED: "it is not sent as long as nobody approves it; `support-agent outbox undo` takes it off the list",
            CANCELLED: _CANCELLED,
        },
    ),
}


class ChoiceResult(Frozen):
    """The result of a choice; `is_new` is False if the mail already had the status."""

    outbox_id: OutboxId
    status: OutboxStatus
    is_new: bool


class UnconfirmedMail(Frozen):
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
) -> list[UnconfirmedMail]:
    """Mails of the outbox whose delivery is not confirmed, oldest first, without those that a person gave up.

    Args:
        statuses: Only mails with one of these.
        limit: The most mails returned; None: all.
        after: Only mails after this one in the list.
    """
    return [
        UnconfirmedMail(
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


def choices_for(entry: UnconfirmedMail) -> tuple[OutboxChoice, ...]:
    """What a person may decide about a mail that is listed, besides to approve it, which its case shows."""
    return tuple(
        choice
        for choice, rule in RULES.items()
        if choice is not OutboxChoice.APPROVE
        and entry.status in rule.sources
        and (choice is not OutboxChoice.UNDO or entry.kind is OutgoingKind.ANSWER)
    )


def apply_choice(
    store: Store, outbox_id: str, choice: OutboxChoice, now: datetime, who: str = DeliverySource.OPERATOR.value
) -> ChoiceResult:
    """Apply a person's choice to a mail; the same choice twice changes nothing.

    A retry also lifts the suppression of the mail's address. An answer is approved and undone through
    `workflow.approval`, which reads what it says before.

    Raises:
        ConfigError: there is no such mail. PermanentError: the mail's status does not allow the choice, or it should
            be sent and cannot be read.
    """
    record, rule, by = choosable(store, outbox_id, choice), RULES[choice], DeliverySource.OPERATOR
    # Before the update: else a crash in between leaves a ready mail that fails at once.
    if choice is OutboxChoice.RETRY:
        store.suppressions.lift(record.recipient)
    with store.database.together():
        is_new = store.deliveries.update(record.id, rule.after, by, f"{rule.detail}, by {who}", now, rule.sources)
        if is_new and record.kind is OutgoingKind.PACKET and choice is OutboxChoice.RETRY:
            _revive_acknowledgement(store, record.mail_id, now)
    return ChoiceResult(outbox_id=record.id, status=rule.after, is_new=is_new)


def _revive_acknowledgement(store: Store, mail_id: MailId, now: datetime) -> None:
    """Let an acknowledgement wait again for its packet, the loss of which had cancelled it."""
    for row in store.outbox.find(mail_id=mail_id, kind=OutgoingKind.ACKNOWLEDGEMENT):
        last = next(reversed(store.deliveries.of(row.id)), None)
        if last is not None and (last.after, last.by) == (CANCELLED, DeliverySource.LOST_PACKET):
            by, detail = DeliverySource.OPERATOR, "its packet is sent again"
            store.deliveries.update(row.id, READY, by, detail, now, (CANCELLED,))


def choosable(store: Store, outbox_id: str, choice: OutboxChoice) -> OutboxEntry:
    """The mail that a choice is about, if its status allows the choice.

    Raises:
        ConfigError, PermanentError: as `apply_choice`.
    """
    record = store.deliveries.entry(OutboxId(outbox_id))
    if record is None:
        raise ConfigError(f"no mail {outbox_id} in the outbox: `support-agent outbox` lists them", code="no_outbox")
    if choice is OutboxChoice.UNDO and record.kind is not OutgoingKind.ANSWER:
        raise PermanentError(f"{outbox_id} is a {record.kind.value}: only answers are undone", code="outbox_kind")
    if why := RULES[choice].refused.get(record.status):
        raise PermanentError(f"{outbox_id} is {record.status}: {why}", code="outbox_status")
    instead = {OutboxChoice.RETRY: OutboxChoice.GIVE_UP, OutboxChoice.APPROVE: OutboxChoice.UNDO}.get(choice)
    if instead and store.sealing.unreadable([record.mail_id]):
        why = (
            "its key is gone, so it cannot be read and sent: unless today's keys can be put back, "
            f"`support-agent outbox {instead.value}` takes it off the list"
        )
        raise PermanentError(f"{outbox_id}: {why}", code="no_key")
    return record
