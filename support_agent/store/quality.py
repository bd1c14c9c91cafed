"""The figures of a period for the desk's page: how mails ended, what people judged, how long answers took.

Invariant: a figure is counted in the database over an index of its instants, and a list is read in parts, so both cost
what the period has, not what is stored; labels and waits are the newest of the period, up to the caller's limit. This
module only reads. Checked by tests/contract/store/test_quality.py and, on many mails, tests/benchmarks/desk_page.py.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from sqlalchemy import Integer, case, column, func, tuple_, values
from sqlalchemy.orm import aliased
from sqlmodel import col, select

from support_agent.store.columns import UtcDateTime
from support_agent.store.database import Database
from support_agent.store.desk_records import ItemKey, LabelOutcome
from support_agent.store.outbox import LOST
from support_agent.store.records import (
    CaseId,
    Instant,
    MailId,
    MailStatus,
    OutgoingKind,
    Probability,
    Record,
    Seconds,
    ToolCallStatus,
)
from support_agent.store.tables import CaseRow, LabelRow, MailRow, OutboxRow, PlanRow, ToolCallRow

Place = tuple[Instant, MailId]
"""Where a part of a list ends: the instant of its last mail, and the mail."""


class TimeSpan(Record):
    """From `since` on, before `until`."""

    since: Instant
    until: Instant


class EndCount(Record):
    """How many mails ended with a status for a reason; None: there is none."""

    status: MailStatus
    reason: str | None
    mails: int


class PlanTimes(Record):
    """How many mails were planned and their seconds, in all and in each bin; the last bin has no upper bound."""

    mails: int
    seconds: Seconds
    bins: tuple[int, ...]


class Judged(Record):
    """What a person did with an answer about `keys`; `confidence` is that of its least sure choice, if it has one."""

    mail_id: MailId
    outcome: LabelOutcome
    keys: tuple[ItemKey, ...]
    confidence: Probability | None
    made_at: Instant

    @property
    def is_right(self) -> bool:
        """Whether the person did what the machine would have done."""
        return self.outcome is LabelOutcome.SAME


class Wait(Record):
    """How long the sender of a mail waited for an answer; None: no answer is known."""

    mail_id: MailId
    case_id: CaseId | None
    since: Instant
    waited: timedelta | None


class MailFilter(Record):
    """Which mails of a period are listed; `reason`: with this code, "" without one, None: any."""

    period: TimeSpan
    statuses: tuple[MailStatus, ...] = tuple(MailStatus)
    reason: str | None = None


class ListedMail(Record):
    """A mail of a list; `subject` is its case's."""

    mail_id: MailId
    at: Instant
    case_id: CaseId | None
    subject: str | None
    sender_address: str | None
    status: MailStatus
    reason_code: str | None
    screening_rule: str | None


@dataclass(frozen=True)
class Quality:
    """`Store.quality`."""

    database: Database

    def by_day(self, days: Sequence[TimeSpan]) -> tuple[dict[MailStatus, int], ...]:
        """Count the mails that came in on each of these days, by their status."""
        places = values(
            column("day", Integer), column("since", UtcDateTime), column("until", UtcDateTime), name="days"
        ).data([(place, day.since, day.until) for place, day in enumerate(days)])
        span = places.cte("spans")
        counts = [
            select(func.count())
            .where(
                col(MailRow.status) == status.value,
                col(MailRow.received_at) >= span.c.since,
                col(MailRow.received_at) < span.c.until,
            )
            .correlate(span)
            .scalar_subquery()
            for status in MailStatus
        ]
        query: Any = select(*counts).select_from(span).order_by(span.c.day)
        with self.database.read() as connection:
            return tuple(dict(zip(MailStatus, counted, strict=True)) for counted in connection.execute(query))

    def ends(self, period: TimeSpan, statuses: Collection[MailStatus]) -> tuple[EndCount, ...]:
        """Count the mails of a period with these statuses by their reason, the most frequent first."""
        number = func.count()
        query: Any = (
            select(MailRow.status, MailRow.reason_code, number)
            .where(col(MailRow.status).in_(statuses), *_within(MailRow.received_at, period))
            .group_by(MailRow.status, col(MailRow.reason_code))
            .order_by(number.desc(), MailRow.status, col(MailRow.reason_code))
        )
        with self.database.read() as connection:
            return tuple(
                EndCount(status=status, reason=reason, mails=mails)
                for status, reason, mails in connection.execute(query)
            )

    def plan_times(self, period: TimeSpan, bounds: Sequence[float]) -> PlanTimes:
        """Count the plans of a period by how long they took.

        Args:
            bounds: Where one bin ends and the next begins, in seconds, rising.
        """
        seconds = col(PlanRow.seconds)
        below = [func.sum(case((seconds < bound, 1), else_=0)) for bound in bounds]
        query: Any = select(func.count(), func.sum(seconds), *below).where(*_within(PlanRow.planned_at, period))
        with self.database.read() as connection:
            mails, total, *found = connection.execute(query).one()
        edges = [0, *(int(count or 0) for count in found), mails]
        return PlanTimes(mails=mails, seconds=total or 0.0, bins=tuple(high - low for low, high in pairwise(edges)))

    def judged(self, period: TimeSpan, tools: Collection[str], limit: int) -> tuple[Judged, ...]:
        """Return the valid labels of a period that judge an answer, the newest first.

        Args:
            tools: The tools that answer; the confidence of an answer is the lowest among their calls.
            limit: The most labels read.
        """
        later = aliased(LabelRow)
        is_replaced = select(later.number).where(
            col(later.mail_id) == col(LabelRow.mail_id),
            col(later.number) > col(LabelRow.number),
            col(later.undone_at).is_(None),
        )
        least_sure = (
            select(func.min(ToolCallRow.confidence))
            .where(
                col(ToolCallRow.mail_id) == col(LabelRow.mail_id),
                col(ToolCallRow.tool).in_(tools),
                col(ToolCallRow.status) == ToolCallStatus.DONE,
            )
            .correlate(LabelRow)
            .scalar_subquery()
        )
        columns: tuple[Any, ...] = (LabelRow.mail_id, LabelRow.outcome, LabelRow.keys, LabelRow.made_at, least_sure)
        query: Any = (
            select(*columns)
            .where(
                *_within(LabelRow.made_at, period),
                col(LabelRow.undone_at).is_(None),
                ~is_replaced.correlate(LabelRow).exists(),
            )
            .order_by(col(LabelRow.made_at).desc(), col(LabelRow.mail_id))
            .limit(limit)
        )
        with self.database.read() as connection:
            return tuple(
                Judged(mail_id=mail_id, outcome=outcome, keys=tuple(keys), confidence=confidence, made_at=made_at)
                for mail_id, outcome, keys, made_at, confidence in connection.execute(query)
                if keys
            )

    def machine_waits(self, period: TimeSpan, limit: int) -> tuple[Wait, ...]:
        """Return how long the senders of the newest automatic answers of a period waited, the newest first."""
        query: Any = (
            select(OutboxRow.mail_id, OutboxRow.case_id, MailRow.received_at, OutboxRow.sent_at)
            .join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id))
            .where(
                *_of_kind(OutgoingKind.ANSWER, period),
                func.coalesce(MailRow.status, "") == MailStatus.ANSWERED,  # else SQLite begins with all such mails
            )
            .order_by(col(OutboxRow.created_at).desc())
            .limit(limit)
        )
        with self.database.read() as connection:
            return tuple(_wait(*row) for row in connection.execute(query) if row[3] is not None)

    def person_waits(self, period: TimeSpan, limit: int) -> tuple[Wait, ...]:
        """Return how long the newest mails that went to people in a period waited for a person, the newest first.

        A wait ends with the next words or document that a person sent in the case and that the customer may have, or
        with a label of the mail, such as an approval or `close` leaves. Unlike in `waiting`, the approval of a part
        ends it, too.
        """
        answer = aliased(OutboxRow)
        answered = (
            select(func.min(answer.created_at))
            .where(
                col(answer.case_id) == col(OutboxRow.case_id),
                col(answer.kind).in_((OutgoingKind.PERSON_REPLY, OutgoingKind.ANSWER)),
                col(answer.created_at) >= col(OutboxRow.created_at),
                col(answer.status).not_in(LOST),
                (col(answer.kind) == OutgoingKind.PERSON_REPLY) | (col(answer.mail_id) != col(OutboxRow.mail_id)),
            )
            .correlate(OutboxRow)
            .scalar_subquery()
        )
        judged = (
            select(func.min(LabelRow.made_at))
            .where(col(LabelRow.mail_id) == col(OutboxRow.mail_id), col(LabelRow.undone_at).is_(None))
            .correlate(OutboxRow)
            .scalar_subquery()
        )
        columns: tuple[Any, ...] = (OutboxRow.mail_id, OutboxRow.case_id, OutboxRow.created_at, answered, judged)
        query: Any = (
            select(*columns)
            .where(*_of_kind(OutgoingKind.PACKET, period), col(OutboxRow.number) == 1)
            .order_by(col(OutboxRow.created_at).desc())
            .limit(limit)
        )
        with self.database.read() as connection:
            return tuple(
                _wait(mail_id, case_id, since, min((at for at in ends if at is not None), default=None))
                for mail_id, case_id, since, *ends in connection.execute(query)
            )

    def mails(self, wanted: MailFilter, limit: int, after: Place | None = None) -> tuple[ListedMail, ...]:
        """Return the mails of a period, the newest first.

        Args:
            limit: The most mails returned.
            after: Return only mails after this place in the list.
        """
        # One status is a part of the index; with several SQLite would read all mails with them, unless it cannot know.
        status: Any = col(MailRow.status) if len(wanted.statuses) == 1 else func.coalesce(MailRow.status, "")
        conditions = [
            *_within(MailRow.received_at, wanted.period),
            status.in_(wanted.statuses),
            *_with_reason(wanted.reason),
        ]
        place = (col(MailRow.received_at), col(MailRow.id))
        if after is not None:
            conditions.append(tuple_(*place) < after)
        query = _listed(MailRow.received_at).where(*conditions).order_by(*(one.desc() for one in place))
        return self._read(query.limit(limit))

    def planned(
        self, period: TimeSpan, low: float | None, high: float | None, limit: int, after: Place | None = None
    ) -> tuple[ListedMail, ...]:
        """Return the mails whose plan was made in a period and took from `low` on, and less than `high` seconds."""
        conditions = [*_within(PlanRow.planned_at, period), *_between(col(PlanRow.seconds), low, high)]
        place = (col(PlanRow.planned_at), col(PlanRow.mail_id))
        if after is not None:
            conditions.append(tuple_(*place) < after)
        query = _listed(PlanRow.planned_at).join(PlanRow, col(PlanRow.mail_id) == col(MailRow.id)).where(*conditions)
        return self._read(query.order_by(*(one.desc() for one in place)).limit(limit))

    def named(self, mail_ids: Sequence[MailId]) -> tuple[ListedMail, ...]:
        """Return these mails, in this order."""
        found = {
            mail.mail_id: mail for mail in self._read(_listed(MailRow.received_at).where(col(MailRow.id).in_(mail_ids)))
        }
        return tuple(found[mail_id] for mail_id in mail_ids if mail_id in found)

    def _read(self, query: Any) -> tuple[ListedMail, ...]:
        names = tuple(ListedMail.model_fields)
        with self.database.read() as connection:
            return tuple(ListedMail(**dict(zip(names, row, strict=True))) for row in connection.execute(query))


def _listed(at: Any) -> Any:
    """A query for the fields of `ListedMail`, in their order."""
    columns: tuple[Any, ...] = (
        MailRow.id,
        at,
        MailRow.case_id,
        CaseRow.subject,
        MailRow.sender_address,
        MailRow.status,
        MailRow.reason_code,
        MailRow.screening_rule,
    )
    return select(*columns).join(CaseRow, col(CaseRow.id) == col(MailRow.case_id), isouter=True)


def _with_reason(reason: str | None) -> list[Any]:
    if reason is None:
        return []
    return [func.coalesce(MailRow.reason_code, "") == reason]


def _within(instant: Any, period: TimeSpan) -> tuple[Any, Any]:
    return col(instant) >= period.since, col(instant) < period.until


def _between(value: Any, low: float | None, high: float | None) -> list[Any]:
    return [*([value >= low] if low is not None else []), *([value < high] if high is not None else [])]


def _of_kind(kind: OutgoingKind, period: TimeSpan) -> tuple[Any, ...]:
    return col(OutboxRow.kind) == kind, *_within(OutboxRow.created_at, period)


def _wait(mail_id: str, case_id: str | None, since: datetime, until: datetime | None) -> Wait:
    waited = None if until is None else max(timedelta(), until - since)
    return Wait(mail_id=MailId(mail_id), case_id=CaseId(case_id) if case_id else None, since=since, waited=waited)
