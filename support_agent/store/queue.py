"""The queue of the desk: cases that wait for a person, as a list that is read in parts and filtered in the database.

Invariant: what waits is what `waiting` says; a part of the list costs what it shows, not what there is. This module
only reads. Checked by tests/contract/store/test_queue.py, tests/unit/store/test_waiting.py and, on many cases,
tests/benchmarks/desk_page.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, or_, tuple_
from sqlmodel import col, select

from support_agent.core.levels import Level
from support_agent.store import mails
from support_agent.store.database import Database
from support_agent.store.records import (
    CaseId,
    CaseState,
    Instant,
    MailId,
    MailRecord,
    OutboxId,
    OutboxStatus,
    OutgoingKind,
    Record,
)
from support_agent.store.tables import CaseRow, MailRow, OutboxRow
from support_agent.store.waiting import open_packets
from support_agent.store.watch_records import WaitCount

NOBODY = ""
"""As an assignee in a filter: cases that nobody has."""
Place = tuple[Instant, CaseId]
"""Where a part of the list ends: how long its last case has waited, and the case."""


class QueueFilter(Record):
    """Which cases are shown; None: all."""

    assignee: str | None = None
    desk: str | None = None
    reason: str | None = None
    level: Level | None = None
    language: str | None = None


class QueuedCase(Record):
    """A case that waits since its first unanswered packet; `mail` is the one that its last packet is about.

    `proposed` are the answers that wait for approval.
    """

    case_id: CaseId
    customer_address: str
    subject: str
    assignee: str | None
    desk: str | None
    language: str | None
    since: Instant
    mail: MailRecord
    proposed: tuple[OutboxId, ...] = ()


class Facet(Record):
    """One value of a filter, and how many cases have it."""

    value: str
    cases: int


class Facets(Record):
    """The values that waiting cases have, for links that filter."""

    total: int
    assignees: tuple[Facet, ...] = ()
    desks: tuple[Facet, ...] = ()
    reasons: tuple[Facet, ...] = ()
    levels: tuple[Facet, ...] = ()
    languages: tuple[Facet, ...] = ()


@dataclass(frozen=True)
class Queue:
    """`Store.queue`."""

    database: Database

    def cases(self, wanted: QueueFilter, limit: int, after: Place | None = None) -> tuple[QueuedCase, ...]:
        """Return the cases that wait, the longest waiting first.

        Args:
            limit: The most cases returned.
            after: Return only cases after this place.
        """
        since = func.min(OutboxRow.created_at)
        query = _waiting(wanted, CaseRow.id, since).group_by(col(CaseRow.id)).order_by(since, col(CaseRow.id))
        if after is not None:
            query = query.having(tuple_(since, col(CaseRow.id)) > after)
        with self.database.read() as connection:
            found = [(CaseId(case_id), at) for case_id, at in connection.execute(query.limit(limit))]
            return _shown(connection, found)

    def waiting(self, since: datetime, most: int) -> WaitCount:
        """Count the cases that wait, by the newest packets made since an instant; no more packets than `most` count."""
        made_at, kind = col(OutboxRow.created_at), col(OutboxRow.kind)
        packets = select(OutboxRow.id).where(made_at >= since, kind.in_((OutgoingKind.PACKET, OutgoingKind.FAILURE)))
        newest = packets.order_by(made_at.desc()).limit(most).subquery()
        query = _waiting(QueueFilter(), CaseRow.id, made_at.label("since"), among=newest)
        listed = query.subquery()
        counted = select(func.count(listed.c.id.distinct()), func.min(listed.c.since))
        with self.database.read() as connection:
            number, oldest = connection.execute(counted).one()
            return WaitCount(number=number, since=oldest)

    def facets(self) -> Facets:
        """Count the cases that wait by each value of a filter."""
        columns: dict[str, Any] = {
            "assignees": CaseRow.assignee,
            "desks": CaseRow.desk,
            "reasons": MailRow.reason_code,
            "levels": MailRow.level,
            "languages": CaseRow.language,
        }
        query = _waiting(QueueFilter(), CaseRow.id, *columns.values()).distinct()
        with self.database.read() as connection:
            # Once for all filters: to find out what waits costs more than to count.
            rows = connection.execute(query).all()
        counted = {name: _facets({(row[0], row[place]) for row in rows}) for place, name in enumerate(columns, start=1)}
        return Facets(total=len({row[0] for row in rows}), **counted)


def _facets(pairs: Collection[tuple[str, Any]]) -> tuple[Facet, ...]:
    """The values of a filter with the number of cases that have each; a pair is a case and a value."""
    counted = Counter(NOBODY if value is None else str(value) for _, value in pairs)
    found = [Facet(value=value, cases=cases) for value, cases in counted.items()]
    return tuple(sorted(found, key=lambda one: (-one.cases, one.value)))


def _waiting(wanted: QueueFilter, *columns: Any, among: Any = None) -> Any:
    """A query over the packets that wait, of cases that people have, as `open_packets`."""
    has_person = col(CaseRow.state) == CaseState.WITH_PERSON
    return open_packets(*columns, among=among).where(has_person, *_conditions(wanted))


def _conditions(wanted: QueueFilter) -> list[ColumnElement[bool]]:
    pairs = (
        (CaseRow.assignee, wanted.assignee),
        (CaseRow.desk, wanted.desk),
        (CaseRow.language, wanted.language),
        (MailRow.reason_code, wanted.reason),
        (MailRow.level, wanted.level),
    )
    return [
        or_(col(column).is_(None), col(column) == NOBODY) if value == NOBODY else col(column) == value
        for column, value in pairs
        if value is not None
    ]


def _shown(connection: Connection, found: Sequence[tuple[CaseId, datetime]]) -> tuple[QueuedCase, ...]:
    """The cases of a part of the list, with the mails and proposals that they show."""
    ids = [case_id for case_id, _ in found]
    packets = (
        _waiting(QueueFilter(), OutboxRow.case_id, OutboxRow.mail_id)
        .where(col(CaseRow.id).in_(ids))
        .order_by(col(OutboxRow.created_at), col(OutboxRow.id))
    )
    last = {CaseId(case_id): MailId(mail_id) for case_id, mail_id in connection.execute(packets)}
    shown = {mail.id: mail for mail in mails.records(connection, col(MailRow.id).in_(list(last.values())))}
    proposals = select(OutboxRow.case_id, OutboxRow.id).where(
        col(OutboxRow.case_id).in_(ids),
        col(OutboxRow.kind) == OutgoingKind.ANSWER,
        col(OutboxRow.status) == OutboxStatus.PROPOSED,
    )
    proposed: dict[str, list[OutboxId]] = {}
    for case_id, outbox_id in connection.execute(proposals):
        proposed.setdefault(str(case_id), []).append(OutboxId(outbox_id))
    rows = {row.id: row for row in connection.execute(select(CaseRow).where(col(CaseRow.id).in_(ids)))}
    return tuple(
        QueuedCase(
            case_id=case_id,
            customer_address=row.customer_address,
            subject=row.subject,
            assignee=row.assignee,
            desk=row.desk,
            language=row.language,
            since=since,
            mail=shown[last[case_id]],
            proposed=tuple(proposed.get(case_id, ())),
        )
        for case_id, since in found
        if (row := rows.get(case_id)) is not None and case_id in last
    )
