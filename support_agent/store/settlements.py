"""What is found out about a mail after it was tried, and by whom: settled by a person, a bounce, a report, a copy.

Invariant: each change of an outbox row that the sender did not make itself stands here with who made it, in the same
transaction as the change; asked for again, it is the same and written once. Checked by
tests/contract/store/test_settlements.py.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import or_, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from support_agent.errors import PermanentError
from support_agent.store.database import Database
from support_agent.store.records import OutboxId, OutboxRecord, OutboxStatus, SettledBy, Settlement
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import OutboxRow, SettlementRow


class Settlements:
    """`Store.settlements`. Any method may raise what those of `Store` may."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def settle(
        self,
        outbox_id: OutboxId,
        after: OutboxStatus,
        by: SettledBy,
        detail: str,
        at: datetime,
        sources: Collection[OutboxStatus],
    ) -> bool:
        """Move a mail to `after`, and write down who says so.

        To `ready` it begins anew: due at once, with all its tries. If it is lost again, from there or from `sent`, the
        desk is told again, and so it is when one that was `uncertain` has failed for sure, unless a person says so.
        Where it is already it stays, and only of one that failed is it written down that a person has seen it.

        Args:
            detail: Why, one sentence; it becomes the mail's last word.
            sources: Where it may be now.
        Returns:
            Whether anything is new.
        Raises:
            PermanentError: it is somewhere else (code `outbox_status`), or there is no such mail (`no_outbox`).
        """
        with self._database.write() as session:
            row = session.exec(select(OutboxRow).where(col(OutboxRow.id) == outbox_id).with_for_update()).first()
            if row is None:
                raise PermanentError(f"no mail {outbox_id} in the outbox", code="no_outbox")
            before, last = OutboxStatus(row.status), self._last(session, outbox_id)
            is_told = last is not None and (last.after, last.by) == (after.value, by.value)
            is_seen = after is OutboxStatus.FAILED and by is SettledBy.OPERATOR
            if before is after and (is_told or not is_seen):
                return False
            if before not in sources:
                raise PermanentError(f"{outbox_id} is {before} and cannot become {after}", code="outbox_status")
            number = 1 if last is None else last.number + 1
            settlement = Settlement(
                outbox_id=outbox_id, number=number, before=before, after=after, by=by, detail=detail, settled_at=at
            )
            insert_if_new(session, SettlementRow(**settlement.model_dump()))
            is_surer = (before, after) == (OutboxStatus.UNCERTAIN, OutboxStatus.FAILED)
            _move(session, outbox_id, after, detail, at, is_news=is_surer and by is not SettledBy.OPERATOR)
            return True

    def mail(self, outbox_id: OutboxId) -> OutboxRecord | None:
        """Return one mail of the outbox."""
        with self._database.read() as session:
            row = session.get(OutboxRow, outbox_id)
            return None if row is None else OutboxRecord.model_validate(row)

    def of(self, outbox_id: OutboxId) -> tuple[Settlement, ...]:
        """Return what was settled about a mail, the oldest first."""
        query = (
            select(SettlementRow).where(col(SettlementRow.outbox_id) == outbox_id).order_by(col(SettlementRow.number))
        )
        with self._database.read() as session:
            return tuple(Settlement.model_validate(row) for row in session.exec(query))

    def open(self, status: OutboxStatus | None = None) -> tuple[OutboxRecord, ...]:
        """Return the mails that are not known to be out, the oldest first, without those that a person gave up."""
        later = aliased(SettlementRow)
        is_last = ~(
            select(later.number)
            .where(col(later.outbox_id) == col(SettlementRow.outbox_id), col(later.number) > col(SettlementRow.number))
            .exists()
        )
        given_up = select(SettlementRow.number).where(
            col(SettlementRow.outbox_id) == col(OutboxRow.id),
            col(SettlementRow.after) == OutboxStatus.FAILED,
            col(SettlementRow.by) == SettledBy.OPERATOR,
            is_last,
        )
        query = (
            select(OutboxRow)
            .where(
                col(OutboxRow.status) != OutboxStatus.SENT,
                or_(col(OutboxRow.status) != OutboxStatus.FAILED, ~given_up.exists()),
            )
            .order_by(col(OutboxRow.created_at), col(OutboxRow.id))
        )
        if status is not None:
            query = query.where(col(OutboxRow.status) == status)
        with self._database.read() as session:
            return tuple(OutboxRecord.model_validate(row) for row in session.exec(query))

    def uncopied(self, since: datetime, limit: int) -> tuple[OutboxRecord, ...]:
        """Return the mails sent since an instant that have no copy in the Sent folder yet, the oldest first."""
        query = (
            select(OutboxRow)
            .where(
                col(OutboxRow.status) == OutboxStatus.SENT,
                col(OutboxRow.sent_at) >= since,
                col(OutboxRow.copied_at).is_(None),
            )
            .order_by(col(OutboxRow.sent_at), col(OutboxRow.id))
            .limit(limit)
        )
        with self._database.read() as session:
            return tuple(OutboxRecord.model_validate(row) for row in session.exec(query))

    def mark_copied(self, outbox_id: OutboxId, at: datetime) -> None:
        """The Sent folder has it; the first instant stays."""
        statement = (
            update(OutboxRow)
            .where(col(OutboxRow.id) == outbox_id, col(OutboxRow.copied_at).is_(None))
            .values(copied_at=at)
        )
        with self._database.write() as session:
            affected(session, statement)

    @staticmethod
    def _last(session: Session, outbox_id: OutboxId) -> SettlementRow | None:
        query = (
            select(SettlementRow)
            .where(col(SettlementRow.outbox_id) == outbox_id)
            .order_by(col(SettlementRow.number).desc())
        )
        return session.exec(query).first()


def _move(
    session: Session, outbox_id: OutboxId, after: OutboxStatus, detail: str, at: datetime, *, is_news: bool
) -> None:
    """Args: is_news: Of this loss the desk must hear, whatever it was told before."""
    values: dict[str, object] = {"status": after, "last_detail": detail}
    if after is OutboxStatus.READY:
        values |= {"attempts": 0, "next_try_at": at, "told_at": None}
    elif after is OutboxStatus.SENT:
        values |= {"sent_at": at, "told_at": None}
    elif is_news:
        values["told_at"] = None
    affected(session, update(OutboxRow).where(col(OutboxRow.id) == outbox_id).values(**values))
