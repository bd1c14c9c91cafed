"""Counts mails, for the limits of automatic mail and for the operator.

Invariant: counts come from outbox rows and final statuses, never from intentions, so a process that dies forgets
nothing. Proposals that no person has approved, and mails that a person cancelled, count towards no limit; what was
approved counts from then on. A count for one mail, by case (`for_case`) or by sender (`for_sender`, `answers`), leaves
out what this mail itself caused, so a step that runs again counts the same; other counts leave out nothing. This module
only reads. Checked by tests/contract/store/test_traffic.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from typing import NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, Text, and_, bindparam, func, or_
from sqlmodel import col, select

from support_agent.core.levels import PROVEN, Level
from support_agent.store.database import Database
from support_agent.store.records import (
    CaseId,
    CaseState,
    Instant,
    JsonObject,
    MailId,
    MailStatus,
    OutboxStatus,
    OutgoingKind,
    Record,
)
from support_agent.store.rows import is_its_rendered_mail
from support_agent.store.tables import CaseRow, DeliveryUpdateRow, MailRow, OutboxRow, RenderedMailRow

FOREVER = datetime.max.replace(tzinfo=UTC)

UNSENT = tuple(status for status in OutboxStatus if status.is_unsent)
NOT_GONE = (OutboxStatus.FAILED, *UNSENT)
"""An answer with one of these statuses did not reach its customer, and may be given again."""
Status = TypeVar("Status", bound=StrEnum)


class Counts(Record):
    """How many rows have each status; every status is a key."""

    mails: dict[MailStatus, int]
    cases: dict[CaseState, int]
    outbox: dict[OutboxStatus, int]


class EarlierAnswer(Record):
    """An answer that was queued or sent before; `payload` is its FinalAnswer."""

    case_id: CaseId | None
    queued_at: Instant
    payload: JsonObject


class Passed(NamedTuple):
    """How many mails were queued since an instant, and how many were sent."""

    queued: int
    sent: int


@dataclass(frozen=True)
class Traffic:
    """`Store.traffic`."""

    database: Database

    def totals(self, most: int | None = None) -> Counts:
        """Count the mails, cases and outbox rows of each status; with `most`, no status further than that."""
        with self.database.read() as connection:
            return Counts(
                mails=_count(connection, MailStatus, MailRow.status, most),
                cases=_count(connection, CaseState, CaseRow.state, most),
                outbox=_count(connection, OutboxStatus, OutboxRow.status, most),
            )

    def for_case(self, kinds: Collection[OutgoingKind], case_id: CaseId, but_for: MailId) -> int:
        """Count the outbox mails of these kinds for a case, without those for one of its mails."""
        with self.database.read() as connection:
            return connection.scalars(_of_case(tuple(kinds)), {"case": case_id, "but_for": but_for}).one()

    def for_sender(
        self,
        kinds: Collection[OutgoingKind],
        address: str,
        level: Level,
        since: datetime,
        but_for: MailId,
        until: datetime = FOREVER,
    ) -> int:
        """Count the outbox mails of these kinds that mails from an address caused; a notice of a failure counts only if
        its mail was quarantined.

        Args:
            level: Count only what mails of at least this level caused, so that forged mails do not use up the owner's
                limit. A mail without a level counts as proven: it has none because the account data failed, and they
                are read for proven senders alone.
            since: Count only rows created, or approved by a person, at this instant or later.
            but_for: Do not count what this mail caused.
            until: Count no row created or approved after this instant (the clock was ahead).
        """
        given = {"since": since, "until": until, "but_for": but_for, "level": level, **_tagged(address)}
        with self.database.read() as connection:
            return connection.scalars(_of_sender(tuple(kinds), connection.dialect.name), given).one()

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
        given = {"case": case_id, "address": address, "level": level, "since": since, "but_for": but_for}
        wanted = [*([_IN_CASE] if case_id else []), *([_TO_SENDER] if address else [])]
        with self.database.read() as connection:
            rows = {row.id: row for query in wanted for row in connection.execute(query, given)}
        newest = sorted(sorted(rows.values(), key=lambda row: row.id), key=lambda row: row.created_at, reverse=True)
        return tuple(
            EarlierAnswer(case_id=row.case_id or None, queued_at=row.created_at, payload=row.payload) for row in newest
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
        queued, sent = _passed(tuple(kinds), below)
        given = {"since": since, "until": until}
        with self.database.read() as connection:
            return Passed(queued=connection.scalars(queued, given).one(), sent=connection.scalars(sent, given).one())

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
        given = None if address is None else {"its_level": level, **_tagged(address)}
        with self.database.read() as connection:
            if given is not None:
                query = query.where(_is_of(connection.dialect.name), _is_at_least("its_level"))
            return connection.scalars(query, given).one()

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
        with self.database.read() as connection:
            found = connection.execute(query).first()
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
        with self.database.read() as connection:
            found = connection.execute(query).first()
        return (str(found[0]), found[1]) if found else None


def _count(connection: Connection, statuses: type[Status], column: str, most: int | None) -> dict[Status, int]:
    if most is not None:
        found = ((status, select(column).where(col(column) == status).limit(most).subquery()) for status in statuses)
        return {status: connection.scalars(select(func.count()).select_from(rows)).one() for status, rows in found}
    counted = dict(connection.execute(select(column, func.count()).group_by(column)).all())
    return {status: counted.get(status.value, 0) for status in statuses}


def _may_leave(kinds: Collection[OutgoingKind]) -> ColumnElement[bool]:
    """Whether a mail is of these kinds, and nobody keeps it from leaving."""
    return and_(col(OutboxRow.kind).in_(kinds), col(OutboxRow.status).not_in(UNSENT))


_HAS_COME = col(OutboxRow.created_at).between(bindparam("since"), bindparam("until"))
_IS_OTHER = col(OutboxRow.mail_id) != bindparam("but_for")


def _is_at_least(level: str) -> ColumnElement[bool]:
    """Whether a mail has at least the level with this name in the query."""
    return func.coalesce(col(MailRow.level), PROVEN) >= bindparam(level)


@cache
def _of_case(kinds: tuple[OutgoingKind, ...]) -> Select[int]:
    is_its = col(OutboxRow.case_id) == bindparam("case")
    return select(func.count(col(OutboxRow.id))).where(_may_leave(kinds), is_its, _IS_OTHER)


@cache
def _of_sender(kinds: tuple[OutgoingKind, ...], dialect: str) -> Select[int]:
    its = select(MailRow.id).where(_is_of(dialect), _is_at_least("level"))
    failed = its.where(col(MailRow.status) == MailStatus.QUARANTINED)
    is_its: ColumnElement[bool] = col(OutboxRow.mail_id).in_(its)
    if OutgoingKind.FAILURE in kinds:
        is_its = and_(is_its, or_(col(OutboxRow.kind) != OutgoingKind.FAILURE, col(OutboxRow.mail_id).in_(failed)))
    is_first = or_(col(OutboxRow.kind) != OutgoingKind.PACKET, col(OutboxRow.number) == 1)  # else sent once more by us
    return _queued(select(func.count(col(OutboxRow.id))).where(_may_leave(kinds), _IS_OTHER, is_its, is_first))


@cache
def _passed(kinds: tuple[OutgoingKind, ...], below: Level | None) -> tuple[Select[int], Select[int]]:
    """The queries for what was queued within a time, and for what was sent."""
    count: Select[int] = select(func.count(col(OutboxRow.id))).where(_may_leave(kinds))
    if below is not None:
        is_below = func.coalesce(col(MailRow.level), 0) < below
        count = count.join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id)).where(is_below)
    may_be_gone = and_(_HAS_COME, col(OutboxRow.status).in_((OutboxStatus.SENDING, OutboxStatus.UNCERTAIN)))
    is_sent = col(OutboxRow.sent_at).between(bindparam("since"), bindparam("until"))
    return _queued(count), count.where(or_(is_sent, may_be_gone))


def _queued(count: Select[int]) -> Select[int]:
    """The query for the rows that came within a time, and the older ones that a person approved within it."""
    approved = count.join(DeliveryUpdateRow, col(DeliveryUpdateRow.outbox_id) == col(OutboxRow.id)).where(
        ~_HAS_COME,
        col(DeliveryUpdateRow.before) == OutboxStatus.PROPOSED,
        col(DeliveryUpdateRow.after) == OutboxStatus.READY,
        col(DeliveryUpdateRow.updated_at).between(bindparam("since"), bindparam("until")),
    )
    return select(count.where(_HAS_COME).scalar_subquery() + approved.scalar_subquery())


_ANSWERS = (
    select(OutboxRow.id, OutboxRow.case_id, OutboxRow.created_at, RenderedMailRow.payload)
    .join(RenderedMailRow, is_its_rendered_mail())
    .where(col(OutboxRow.kind) == OutgoingKind.ANSWER, col(OutboxRow.status).not_in(NOT_GONE), _IS_OTHER)
)
_IN_CASE = _ANSWERS.where(col(OutboxRow.case_id) == bindparam("case"))
_TO_SENDER = _ANSWERS.join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id)).where(
    col(MailRow.sender_address) == bindparam("address"),
    col(MailRow.level) >= bindparam("level"),
    col(OutboxRow.created_at) >= bindparam("since"),
)


def _is_of(dialect: str) -> ColumnElement[bool]:
    """Whether a mail is from an address, ignoring a "+" tag: machines often use a new tag each time.

    The names with a tag are a range of the index of senders, by bytes: PostgreSQL's own order depends on its language.
    """
    sender, first, end = col(MailRow.sender_address), bindparam("first", type_=Text), bindparam("end", type_=Text)
    is_sqlite = dialect == "sqlite"
    is_in_range = (sender >= first, sender < end) if is_sqlite else (sender.op("~>=~")(first), sender.op("~<~")(end))
    is_in_domain = sender.like(bindparam("at_domain", type_=Text), escape="/")
    return or_(sender == bindparam("plain"), and_(*is_in_range, is_in_domain))


def _tagged(address: str) -> dict[str, str]:
    """The values for `_is_of`."""
    local, _, domain = address.rpartition("@")
    name = local.partition("+")[0]
    if not name:
        return {"plain": address, "first": "", "end": "", "at_domain": ""}
    escaped = re.sub("([/%_])", r"/\1", domain)
    return {"plain": f"{name}@{domain}", "first": f"{name}+", "end": f"{name},", "at_domain": f"%@{escaped}"}
