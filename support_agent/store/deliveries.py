"""Delivery updates: news about a mail after its last try, from a person, a bounce, a delivery report or a sent copy.

Invariant: each status change of an outbox row by anyone but the sender is recorded with its source, in the same
transaction as the change; the same update twice is recorded once. Checked by tests/contract/store/test_deliveries.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, or_, tuple_, update
from sqlalchemy.orm import aliased
from sqlmodel import col, select

from support_agent.errors import PermanentError
from support_agent.store import audited_mails
from support_agent.store.audit import AuditEvent
from support_agent.store.database import Database
from support_agent.store.outbox import LOST
from support_agent.store.records import (
    CUSTOMER_KINDS,
    CaseId,
    DeliverySource,
    DeliveryUpdate,
    MailId,
    OutboxEntry,
    OutboxId,
    OutboxStatus,
    OutgoingKind,
)
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import DeliveryUpdateRow, OutboxRow

UNCONFIRMED = tuple(status for status in OutboxStatus if status not in (OutboxStatus.SENT, OutboxStatus.CANCELLED))

_ENTRIES: Select[Any] = select(*(getattr(OutboxRow, name) for name in OutboxEntry.model_fields))
_IN_ORDER = (col(OutboxRow.created_at), col(OutboxRow.id))
_LOST = _ENTRIES.where(
    col(OutboxRow.status).in_(LOST),
    col(OutboxRow.kind).in_(CUSTOMER_KINDS),
    col(OutboxRow.notified_at).is_(None),
).order_by(*_IN_ORDER)
_LOST_OF = _LOST.where(col(OutboxRow.mail_id) == bindparam("mail"))
_IS_LOST_TO_DESK = (
    col(OutboxRow.kind).not_in((*CUSTOMER_KINDS, OutgoingKind.ALARM)),
    col(OutboxRow.notified_at).is_(None),
)


@dataclass(frozen=True)
class Deliveries:
    """`Store.deliveries`."""

    database: Database

    def update(
        self,
        outbox_id: OutboxId,
        after: OutboxStatus,
        by: DeliverySource,
        detail: str,
        at: datetime,
        sources: Collection[OutboxStatus],
        digest: str | None = None,
    ) -> bool:
        """Change a mail's status to `after`, and record who reported it.

        A mail that becomes `ready` starts again: due at once, with all its tries. The desk is notified again if that
        mail, or one that became `sent`, is lost again, and if an `uncertain` mail has certainly failed, unless a
        person reported that. A mail that already has the status is not changed; only an operator's word on a failed
        mail is still recorded: a person has seen it.

        Args:
            detail: Why, one sentence; it becomes the mail's `last_detail`.
            sources: The statuses that the mail may have now.
            digest: sha256 of the mail's bytes, in hex, where the update is about exactly these bytes.
        Returns:
            Whether anything changed.
        Raises:
            PermanentError: the mail has another status (code `outbox_status`) or other bytes (`other_bytes`), or does
                not exist (`no_outbox`).
        """
        with self.database.write() as connection:
            is_it = col(OutboxRow.id) == outbox_id
            row = connection.execute(select(OutboxRow.status).where(is_it).with_for_update()).first()
            if row is None:
                raise PermanentError(f"no mail {outbox_id} in the outbox", code="no_outbox")
            before, last = OutboxStatus(row.status), _last(connection, outbox_id)
            is_recorded = last is not None and (last.after, last.by) == (after, by)
            is_seen = after is OutboxStatus.FAILED and by is DeliverySource.OPERATOR
            if before is after and (is_recorded or not is_seen):
                return False
            raw = b"" if digest is None else connection.scalar(select(OutboxRow.raw).where(is_it)) or b""
            if digest is not None and digest != hashlib.sha256(raw).hexdigest():
                raise PermanentError(f"{outbox_id} has other bytes than those that were approved", code="other_bytes")
            if before not in sources:
                raise PermanentError(f"{outbox_id} is {before} and cannot become {after}", code="outbox_status")
            number = 1 if last is None else last.number + 1
            found = DeliveryUpdate(
                outbox_id=outbox_id, number=number, before=before, after=after, by=by, detail=detail, updated_at=at
            )
            insert_if_new(connection, DeliveryUpdateRow, dict(found))
            is_certain_now = (before, after) == (OutboxStatus.UNCERTAIN, OutboxStatus.FAILED)
            _move(connection, found, is_news=is_certain_now and by is not DeliverySource.OPERATOR)
            change = {"before": before.value, "after": after.value}
            audited_mails.append(connection, AuditEvent.MAIL_DECIDED, by.value, outbox_id, at, **change)
            return True

    def doubt_waiting(self, detail: str, at: datetime) -> int:
        """Make mails to customers that wait `uncertain`: a store that was lost may have sent them; return how many.

        Nothing of a mail's content is read, which may be of a person who was forgotten since.
        """
        waiting = select(OutboxRow.id, OutboxRow.status).where(
            col(OutboxRow.status).in_((OutboxStatus.PROPOSED, OutboxStatus.READY, OutboxStatus.SENDING)),
            col(OutboxRow.kind).in_(CUSTOMER_KINDS),
        )
        with self.database.write() as connection:
            found = connection.execute(waiting).all()
            for outbox_id, before in found:
                last = _last(connection, OutboxId(outbox_id))
                news = DeliveryUpdate(
                    outbox_id=OutboxId(outbox_id),
                    number=1 if last is None else last.number + 1,
                    before=OutboxStatus(before),
                    after=OutboxStatus.UNCERTAIN,
                    by=DeliverySource.RESTORE,
                    detail=detail,
                    updated_at=at,
                )
                insert_if_new(connection, DeliveryUpdateRow, dict(news))
                _move(connection, news, is_news=True)
            return len(found)

    def entry(self, outbox_id: OutboxId) -> OutboxEntry | None:
        """Return one of our mails without its bytes."""
        with self.database.read() as connection:
            return next(iter(entries(connection, col(OutboxRow.id) == outbox_id)), None)

    def of(self, outbox_id: OutboxId) -> tuple[DeliveryUpdate, ...]:
        """Return the delivery updates of a mail, the oldest first."""
        query = (
            select(DeliveryUpdateRow)
            .where(col(DeliveryUpdateRow.outbox_id) == outbox_id)
            .order_by(col(DeliveryUpdateRow.number))
        )
        with self.database.read() as connection:
            return tuple(DeliveryUpdate.model_validate(row) for row in connection.execute(query))

    def in_case(self, case_id: CaseId, kind: OutgoingKind | None = None) -> tuple[OutboxEntry, ...]:
        """Return our mails of a case, or those of one kind, the oldest first."""
        is_its = col(OutboxRow.case_id) == case_id
        with self.database.read() as connection:
            return entries(connection, is_its, *([] if kind is None else [col(OutboxRow.kind) == kind]))

    def named(self, message_id: str) -> tuple[OutboxEntry, ...]:
        """Return our mails with this Message-ID, the oldest first."""
        with self.database.read() as connection:
            return entries(connection, col(OutboxRow.message_id) == message_id)

    def unnotified_losses(self, mail_id: MailId | None = None) -> tuple[OutboxEntry, ...]:
        """Return the customers' mails that are `failed`, `uncertain` or undone, and that the desk was not notified of.

        Args:
            mail_id: Only mails that answer this one.
        """
        with self.database.read() as connection:
            if mail_id is None:
                return _entries(connection, _LOST)
            return _entries(connection, _LOST_OF, {"mail": mail_id})

    def lost_to_desk(self, mail_id: MailId | None = None, limit: int | None = None) -> tuple[OutboxEntry, ...]:
        """Return the failed mails for the desk, the oldest first, without those that were sent again in another form
        or that nobody needs any more, those that a person gave up, and alarms, which would be reasons for themselves.

        Args:
            mail_id: Only mails about this one.
            limit: The most mails returned; None: all.
        """
        is_lost = (*_unresolved((OutboxStatus.FAILED,)), *_IS_LOST_TO_DESK)
        query = _ENTRIES.where(*is_lost).order_by(*_IN_ORDER).limit(limit)
        if mail_id is not None:
            query = query.where(col(OutboxRow.mail_id) == mail_id)
        with self.database.read() as connection:
            return _entries(connection, query)

    def note_not_needed(self, outbox_id: OutboxId, now: datetime) -> None:
        """Record that a mail for the desk, which failed, is not needed any more."""
        with self.database.write() as connection:
            connection.execute(
                update(OutboxRow)
                .where(col(OutboxRow.id) == outbox_id, col(OutboxRow.notified_at).is_(None))
                .values(notified_at=now)
            )

    def uncopied(self, since: datetime, limit: int) -> tuple[OutboxEntry, ...]:
        """Return the mails sent since an instant that have no copy in the Sent folder yet, the oldest first."""
        query = (
            _ENTRIES.where(
                col(OutboxRow.status) == OutboxStatus.SENT,
                col(OutboxRow.sent_at) >= since,
                col(OutboxRow.copied_at).is_(None),
            )
            .order_by(col(OutboxRow.sent_at), col(OutboxRow.id))
            .limit(limit)
        )
        with self.database.read() as connection:
            return _entries(connection, query)

    def unconfirmed(
        self,
        statuses: Collection[OutboxStatus] = UNCONFIRMED,
        limit: int | None = None,
        after: OutboxId | None = None,
    ) -> tuple[OutboxEntry, ...]:
        """Return the mails whose delivery is not confirmed, the oldest first, without those that a person gave up.

        Args:
            limit: The most mails returned; None: all.
            after: Return only mails after this one in the list.
        """
        query = _ENTRIES.where(*_unresolved(statuses))
        with self.database.read() as connection:
            if after is not None:
                at = connection.scalar(select(OutboxRow.created_at).where(col(OutboxRow.id) == after))
                query = query.where(tuple_(*_IN_ORDER) > (at, after)) if at is not None else query
            return _entries(connection, query.order_by(*_IN_ORDER).limit(limit))


def entries(connection: Connection, *conditions: ColumnElement[bool]) -> tuple[OutboxEntry, ...]:
    """Return our mails that meet all conditions, without their bytes, the oldest first."""
    return _entries(connection, _ENTRIES.where(*conditions).order_by(*_IN_ORDER))


def _entries(
    connection: Connection, query: Select[Any], values: dict[str, Any] | None = None
) -> tuple[OutboxEntry, ...]:
    return tuple(OutboxEntry.model_validate(row, from_attributes=True) for row in connection.execute(query, values))


def _unresolved(statuses: Collection[OutboxStatus]) -> tuple[ColumnElement[bool], ...]:
    """Build the conditions for mails of these statuses without those that a person gave up."""
    later = aliased(DeliveryUpdateRow)
    is_last = ~(
        select(later.number)
        .where(
            col(later.outbox_id) == col(DeliveryUpdateRow.outbox_id),
            col(later.number) > col(DeliveryUpdateRow.number),
        )
        .exists()
    )
    given_up = select(DeliveryUpdateRow.number).where(
        col(DeliveryUpdateRow.outbox_id) == col(OutboxRow.id),
        col(DeliveryUpdateRow.after) == OutboxStatus.FAILED,
        col(DeliveryUpdateRow.by) == DeliverySource.OPERATOR,
        is_last,
    )
    return (
        col(OutboxRow.status).in_(statuses),
        or_(col(OutboxRow.status) != OutboxStatus.FAILED, ~given_up.exists()),
    )


def _last(connection: Connection, outbox_id: OutboxId) -> DeliveryUpdate | None:
    query = (
        select(DeliveryUpdateRow)
        .where(col(DeliveryUpdateRow.outbox_id) == outbox_id)
        .order_by(col(DeliveryUpdateRow.number).desc())
    )
    row = connection.execute(query.limit(1)).first()
    return None if row is None else DeliveryUpdate.model_validate(row)


def _move(connection: Connection, found: DeliveryUpdate, *, is_news: bool) -> None:
    """Args: is_news: The desk must be notified of this loss, whatever it was notified of before."""
    values: dict[str, object] = {"status": found.after, "last_detail": found.detail}
    if found.after is OutboxStatus.READY:
        values |= {"attempts": 0, "next_try_at": found.updated_at, "notified_at": None}
    elif found.after is OutboxStatus.SENT:
        values |= {"sent_at": found.updated_at, "notified_at": None}
    elif found.after is OutboxStatus.CANCELLED:  # the desk knows what it cancelled itself, but not what others did
        is_unknown = found.by in (DeliverySource.OPERATOR, DeliverySource.RULE, DeliverySource.UNDONE)
        values["notified_at"] = None if is_unknown else found.updated_at
    elif is_news:
        values["notified_at"] = None
    affected(connection, update(OutboxRow).where(col(OutboxRow.id) == found.outbox_id).values(**values))
