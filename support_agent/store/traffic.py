"""Counts mails, for the limits of automatic mail and for the operator.

Invariant: counts come from outbox rows and final statuses, never from intentions, so a process that dies forgets
nothing. Proposals that no person has approved, and mails that a person cancelled, count towards no limit; what was
approved counts from then on. A count for one mail, by case (`for_case`) or by sender (`for_sender`, `answers`), leaves
out what this mail itself caused, so a step that runs again counts the same; other counts leave out nothing. This module
only reads. Checked by tests/contract/store/test_traffic.py.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from sqlalchemy import ColumnElement, and_, func, or_
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from support_agent.core.levels import Level
from support_agent.store.database import Database
from support_agent.store.records import (
    CaseId,
    CaseState,
    Counts,
    EarlierAnswer,
    MailId,
    MailStatus,
    OutboxStatus,
    OutgoingKind,
    Passed,
)
from support_agent.store.rows import is_its_rendered_mail
from support_agent.store.tables import CaseRow, DeliveryUpdateRow, MailRow, OutboxRow, RenderedMailRow

FOREVER = datetime.max.replace(tzinfo=UTC)

UNSENT = tuple(status for status in OutboxStatus if status.is_unsent)
NOT_GONE = (OutboxStatus.FAILED, *UNSENT)
"""An answer with one of these statuses did not reach its customer, and may be given again."""
Status = TypeVar("Status", bound=StrEnum)


@dataclass(frozen=True)
class Traffic:
    """`Store.traffic`."""

    database: Database

    def totals(self, most: int | None = None) -> Counts:
        """Count the mails, cases and outbox rows of each status; with `most`, no status further than that."""
        with self.database.read() as session:
            return Counts(
                mails=_count(session, MailStatus, MailRow.status, most),
                cases=_count(session, CaseState, CaseRow.state, most),
                outbox=_count(session, OutboxStatus, OutboxRow.status, most),
            )

    def for_case(self, kinds: Collection[OutgoingKind], case_id: CaseId, but_for: MailId) -> int:
        """Count the outbox mails of these kinds for a case, without those for one of its mails."""
        query = select(func.count(col(OutboxRow.id))).where(
            _may_leave(kinds), col(OutboxRow.case_id) == case_id, col(OutboxRow.mail_id) != but_for
        )
        with self.database.read() as session:
            return session.exec(query).one()

    def for_sender(
        self,
        kinds: Collection[OutgoingKind],
        address: str,
        level: Level,
        since: datetime,
        but_for: MailId,
        until: datetime = FOREVER,
    ) -> int:
        """Count the outbox mails of these kinds that mails from an address caused.

        Args:
            level: Count only what mails of at least this level caused, so that forged mails do not use up the owner's
                limit.
            since: Count only rows created, or approved by a person, at this instant or later.
            but_for: Do not count what this mail caused.
            until: Count no row created or approved after this instant (the clock was ahead).
        """
        query = (
            select(func.count(col(OutboxRow.id)))
            .join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id))
            .where(
                _may_leave(kinds),
                col(OutboxRow.mail_id) != but_for,
                _is_of(address),
                col(MailRow.level) >= level,
            )
        )
        with self.database.read() as session:
            return _count_queued(session, query, since, until)

    def answers(
        self,
        case_id: CaseId | None,
        address: str,
        level: Level,
        *,
        since: datetime,
        but_for: MailId,
    ) -> tuple[EarlierAnswer, ...]:
        """Return the answers in a case, and to a sender in other cases, the newest first; answers that
        failed, or that no person has approved, do not count.

        Args:
            case_id: All answers of this case are returned; None: there is no case.
            address: This sender's answers in other cases are returned; "" for nobody.
            level: As in `for_sender`, for answers in other cases.
            since: Answers in other cases count only if created at this instant or later.
            but_for: Leave out the answer to this mail.
        """
        is_senders = and_(
            col(MailRow.sender_address) == address,
            col(MailRow.sender_address) != "",
            col(MailRow.level) >= level,
            col(OutboxRow.created_at) >= since,
        )
        query = (
            select(OutboxRow.case_id, OutboxRow.created_at, RenderedMailRow.payload)
            .join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id))
            .join(RenderedMailRow, is_its_rendered_mail())
            .where(
                col(OutboxRow.kind) == OutgoingKind.ANSWER,
                col(OutboxRow.status).not_in(NOT_GONE),
                or_(col(OutboxRow.case_id) == case_id, is_senders) if case_id else is_senders,
                col(OutboxRow.mail_id) != but_for,
            )
            .order_by(col(OutboxRow.created_at).desc(), col(OutboxRow.id))
        )
        with self.database.read() as session:
            return tuple(
                EarlierAnswer(case_id=CaseId(case_id) if case_id else None, queued_at=queued_at, payload=payload)
                for case_id, queued_at, payload in session.exec(query)
            )

    def passed(
        self, kinds: Collection[OutgoingKind], since: datetime, below: Level | None = None, until: datetime = FOREVER
    ) -> Passed:
        """Count the mails of these kinds that were queued since an instant, and those that were sent.

        A mail that is `sending` or `uncertain` counts as sent at the instant it was queued.

        Args:
            below: Count only what mails below this level caused.
            until: As in `for_sender`.
        """
        count = select(func.count(col(OutboxRow.id))).where(_may_leave(kinds))
        if below is not None:
            count = count.join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id)).where(
                func.coalesce(col(MailRow.level), 0) < below
            )
        has_come = col(OutboxRow.created_at).between(since, until)
        may_be_gone = and_(has_come, col(OutboxRow.status).in_((OutboxStatus.SENDING, OutboxStatus.UNCERTAIN)))
        with self.database.read() as session:
            return Passed(
                queued=_count_queued(session, count, since, until),
                sent=session.exec(count.where(or_(col(OutboxRow.sent_at).between(since, until), may_be_gone))).one(),
            )

    def ended_for(
        self,
        reason_code: str,
        since: datetime,
        address: str | None = None,
        level: Level = 0,
        until: datetime = FOREVER,
    ) -> int:
        """Count the mails that ended for this reason since an instant.

        Args:
            address: Count only mails from this sender, of at least this level.
            until: As in `for_sender`.
        """
        query = select(func.count(col(MailRow.id))).where(
            col(MailRow.reason_code) == reason_code, col(MailRow.handled_at).between(since, until)
        )
        if address is not None:
            query = query.where(_is_of(address), col(MailRow.level) >= level)
        with self.database.read() as session:
            return session.exec(query).one()

    def busiest_case(self, kinds: Collection[OutgoingKind]) -> tuple[CaseId, int] | None:
        """Return the open case with the most outbox mails of these kinds, and how many; None: no case has one."""
        number = func.count(col(OutboxRow.id))
        query = (
            select(OutboxRow.case_id, number)
            .join(CaseRow, col(CaseRow.id) == col(OutboxRow.case_id))
            .where(_may_leave(kinds), col(CaseRow.state) == CaseState.OPEN)
            .group_by(col(OutboxRow.case_id))
            .order_by(number.desc(), col(OutboxRow.case_id))
        )
        with self.database.read() as session:
            found = session.exec(query).first()
        return (CaseId(str(found[0])), found[1]) if found else None

    def busiest_sender(
        self, kinds: Collection[OutgoingKind], since: datetime, until: datetime = FOREVER
    ) -> tuple[str, int] | None:
        """Return the sender whose mails caused the most mails of these kinds since an instant, and how many."""
        number = func.count(col(OutboxRow.id))
        query = (
            select(MailRow.sender_address, number)
            .join(OutboxRow, col(MailRow.id) == col(OutboxRow.mail_id))
            .where(
                _may_leave(kinds),
                col(OutboxRow.created_at).between(since, until),
                col(MailRow.sender_address) != "",
            )
            .group_by(col(MailRow.sender_address))
            .order_by(number.desc(), col(MailRow.sender_address))
        )
        with self.database.read() as session:
            found = session.exec(query).first()
        return (str(found[0]), found[1]) if found else None


def _count(session: Session, statuses: type[Status], column: str, most: int | None) -> dict[Status, int]:
    if most is not None:
        found = ((status, select(column).where(col(column) == status).limit(most).subquery()) for status in statuses)
        return {status: session.exec(select(func.count()).select_from(rows)).one() for status, rows in found}
    counted = dict(session.exec(select(column, func.count()).group_by(column)).all())
    return {status: counted.get(status.value, 0) for status in statuses}


def _may_leave(kinds: Collection[OutgoingKind]) -> ColumnElement[bool]:
    """Whether a mail is of these kinds, and nobody keeps it from leaving."""
    return and_(col(OutboxRow.kind).in_(kinds), col(OutboxRow.status).not_in(UNSENT))


def _count_queued(session: Session, query: SelectOfScalar[int], since: datetime, until: datetime) -> int:
    """Count the rows that came within a time, and the older ones that a person approved within it."""
    has_come = col(OutboxRow.created_at).between(since, until)
    approved = query.join(DeliveryUpdateRow, col(DeliveryUpdateRow.outbox_id) == col(OutboxRow.id)).where(
        ~has_come,
        col(DeliveryUpdateRow.before) == OutboxStatus.PROPOSED,
        col(DeliveryUpdateRow.after) == OutboxStatus.READY,
        col(DeliveryUpdateRow.updated_at).between(since, until),
    )
    return session.exec(query.where(has_come)).one() + session.exec(approved).one()


def _is_of(address: str) -> ColumnElement[bool]:
    """Whether a mail is from an address, ignoring a "+" tag: machines often use a new tag each time."""
    sender = col(MailRow.sender_address)
    local, _, domain = address.rpartition("@")
    name = local.partition("+")[0]
    if not name:
        return sender == address
    is_tagged = and_(sender.startswith(f"{name}+", autoescape=True), sender.endswith(f"@{domain}", autoescape=True))
    return or_(sender == f"{name}@{domain}", is_tagged)
