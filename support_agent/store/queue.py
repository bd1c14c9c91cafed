"""The queue of the desk: cases that wait for a person, as a list that is read in parts and filtered in the database.

Invariant: what waits is what `cases.people` says, but that an approved part of several questions may count as open; a
part of the list costs what it shows, not what there is. This module only reads. Checked by
tests/contract/store/test_queue.py, tests/unit/cases/test_people.py and, on many cases, tests/benchmarks/desk_page.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ColumnElement, Connection, and_, func, or_, tuple_, type_coerce
from sqlalchemy.orm import aliased
from sqlmodel import col, select

from support_agent.core.levels import Level
from support_agent.store import mails
from support_agent.store.columns import second_of
from support_agent.store.database import Database
from support_agent.store.outbox import LOST
from support_agent.store.records import (
    CaseId,
    CaseState,
    DeliverySource,
    Instant,
    MailId,
    MailRecord,
    OutboxId,
    OutboxStatus,
    OutgoingKind,
    Record,
)
from support_agent.store.rows import is_its_rendered_mail
from support_agent.store.tables import CaseChangeRow, CaseRow, DeliveryUpdateRow, MailRow, OutboxRow, RenderedMailRow
from support_agent.store.waiting import APPROVERS, is_first_packet, is_notice
from support_agent.store.watch_records import Waiting

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

    def waiting(self, since: datetime, most: int) -> Waiting:
        """Count the cases that wait, by the newest packets made since an instant; no more packets than `most` count."""
        made_at, kind = col(OutboxRow.created_at), col(OutboxRow.kind)
        packets = select(OutboxRow.id).where(made_at >= since, kind.in_((OutgoingKind.PACKET, OutgoingKind.FAILURE)))
        newest = packets.order_by(made_at.desc()).limit(most).subquery()
        query = _waiting(QueueFilter(), CaseRow.id, made_at.label("since"), first=newest)
        listed = query.subquery()
        counted = select(func.count(listed.c.id.distinct()), func.min(listed.c.since))
        with self.database.read() as connection:
            number, oldest = connection.execute(counted).one()
            return Waiting(number=number, since=oldest)

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


def _waiting(wanted: QueueFilter, *columns: Any, first: Any = None) -> Any:
    """A query over the unanswered packets of cases that people have, with their mails.

    Args:
        first: Ids of packets; only those count.
    """
    begun = select(*columns)
    if first is None:
        packets = begun.select_from(CaseRow).join(OutboxRow, col(OutboxRow.case_id) == col(CaseRow.id))
    else:
        packets = begun.select_from(first).join(OutboxRow, col(OutboxRow.id) == first.c.id)
        packets = packets.join(CaseRow, col(CaseRow.id) == col(OutboxRow.case_id))
    return packets.join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id)).where(
        *_is_unanswered(), *_conditions(wanted)
    )


def _is_unanswered() -> tuple[ColumnElement[bool], ...]:
    """The conditions for a packet that waits, as `cases.people` states them, for a query over many cases."""
    packet, answer, update = OutboxRow, aliased(OutboxRow), aliased(DeliveryUpdateRow)
    is_of_case = col(answer.case_id) == col(packet.case_id)
    came_later = col(answer.created_at) >= col(packet.created_at)
    has_arrived = col(answer.status).not_in(LOST)
    wrote = select(answer.id).where(is_of_case, came_later, has_arrived, col(answer.kind) == OutgoingKind.PERSON_REPLY)
    is_answer = (is_of_case, col(answer.kind) == OutgoingKind.ANSWER)
    chose = (
        select(answer.id)
        .join(RenderedMailRow, is_its_rendered_mail(answer))
        .where(*is_answer, came_later, has_arrived, col(answer.mail_id) != col(packet.mail_id))
        .where(col(RenderedMailRow.header_inputs)["parent_mail_id"].as_string() == col(packet.mail_id))
    )
    updated = (
        select(answer.id)
        .join(update, col(update.outbox_id) == col(answer.id))
        .where(*is_answer, col(update.updated_at) >= col(packet.created_at))
    )
    payload = type_coerce(col(RenderedMailRow.payload), JSON)
    asked, answered = payload["asked"].as_integer(), payload["answered"].as_integer()
    approved = (
        updated.join(RenderedMailRow, is_its_rendered_mail(answer))
        .where(col(answer.mail_id) == col(packet.mail_id), has_arrived, or_(asked == 1, answered >= asked))
        .where(col(update.before) == OutboxStatus.PROPOSED, col(update.after) == OutboxStatus.READY)
        .where(col(update.by).in_(APPROVERS))
    )
    elsewhere = updated.where(col(update.after) == OutboxStatus.CANCELLED, col(update.by) == DeliverySource.SENT_FOLDER)
    ended = [one.correlate(packet).exists() for one in (wrote, chose, approved, elsewhere)]
    return (
        col(CaseRow.state) == CaseState.WITH_PERSON,
        col(packet.kind).in_((OutgoingKind.PACKET, OutgoingKind.FAILURE)),  # what the index of a case's mails is by
        or_(is_first_packet(), is_notice()),
        ~_is_over(),
        *(~one for one in ended),
    )


def _is_over() -> ColumnElement[bool]:
    """Whether people closed the case, or gave it back, after a packet; a close that a person took back is none."""
    change, later = aliased(CaseChangeRow), aliased(CaseChangeRow)
    taken_back = select(later.number).where(
        col(later.case_id) == col(change.case_id),
        col(later.number) == col(change.number) + 1,
        col(later.before) == CaseState.CLOSED,
    )
    ends = or_(
        col(change.after) == CaseState.OPEN,
        and_(col(change.after) == CaseState.CLOSED, ~taken_back.correlate(change).exists()),
    )
    is_later = second_of(col(change.changed_at)) > second_of(col(OutboxRow.created_at))  # packets are dated in seconds
    found = select(change.number).where(col(change.case_id) == col(OutboxRow.case_id), ends, is_later)
    return found.correlate(OutboxRow).exists()


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
