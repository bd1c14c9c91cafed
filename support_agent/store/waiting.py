"""What people had and did in a case: the packets that went to them, the mails of ours that may be their answers, who
ordered what, and how often they were reminded.

It only reads, a few queries for any number of cases, and no bytes of mails; `cases.people` says what of it is an
answer. Checked by tests/contract/store/test_waiting.py.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy
from sqlalchemy import ColumnElement, Connection, and_, or_
from sqlmodel import col, select

from support_agent.store.database import Database
from support_agent.store.desk_records import CaseChange
from support_agent.store.records import (
    CaseId,
    CaseState,
    DeliverySource,
    DeliveryUpdate,
    Instant,
    MailId,
    MailStatus,
    OutboxId,
    OutboxStatus,
    OutgoingKind,
    Record,
)
from support_agent.store.rows import equal, is_its_rendered_mail
from support_agent.store.tables import CaseChangeRow, CaseRow, DeliveryUpdateRow, MailRow, OutboxRow, RenderedMailRow

APPROVERS = (DeliverySource.STAFF, DeliverySource.OPERATOR)


class PastPacket(NamedTuple):
    """A packet to people, or a notice of a failure about a customer's mail that a person must answer."""

    mail_id: MailId
    at: datetime


class PastAnswer(NamedTuple):
    """A mail of ours to a customer that is no fixed one. `answered_id` is the customer's mail in whose thread it is,
    if its data are kept; `mail_id` is the one that caused it, perhaps a person's command.
    """

    id: OutboxId
    mail_id: MailId
    answered_id: MailId | None
    kind: OutgoingKind
    number: int
    status: OutboxStatus
    at: datetime
    updates: tuple[DeliveryUpdate, ...]


class WaitingCase(Record):
    """A case that a person has and has not answered; `mail_id` is the mail that its last packet is about.

    `since` is when the first packet was made that no answer followed; `reminded_at` and `reminders` count from then.
    """

    case_id: CaseId
    mail_id: MailId
    since: Instant
    reminders: int
    reminded_at: Instant | None


@dataclass(frozen=True)
class History:
    """One case, each part with the oldest first."""

    case_id: CaseId
    state: CaseState
    packets: tuple[PastPacket, ...]
    answers: tuple[PastAnswer, ...]
    changes: tuple[CaseChange, ...]
    reminded_at: tuple[datetime, ...]


@dataclass(frozen=True)
class Waits:
    """`Store.waits`."""

    database: Database

    def histories(
        self, since: datetime | None = None, state: CaseState | None = None, case_id: CaseId | None = None
    ) -> tuple[History, ...]:
        """Return the cases in which people got a packet, those with the oldest packet first.

        Args:
            since: Packets that were made before do not count.
            state: Only cases in this state.
        """
        made_since = () if since is None else (col(OutboxRow.created_at) >= since,)
        is_meant = (*equal((CaseRow.state, state), (CaseRow.id, case_id)), *made_since)
        is_packet = or_(is_first_packet(), is_notice())
        found = (
            select(OutboxRow.case_id, CaseRow.state, OutboxRow.mail_id, OutboxRow.created_at)
            .join(CaseRow, col(CaseRow.id) == col(OutboxRow.case_id))
            .join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id))
            .where(is_packet, *is_meant)
            .order_by(col(OutboxRow.created_at), col(OutboxRow.id))
        )
        packets: dict[CaseId, list[PastPacket]] = defaultdict(list)
        states: dict[CaseId, CaseState] = {}
        with self.database.read() as connection:
            for key, case_state, mail_id, at in connection.execute(found):
                packets[CaseId(str(key))].append(PastPacket(MailId(mail_id), at))
                states[CaseId(str(key))] = CaseState(case_state)
            cases = found.order_by(None).with_only_columns(col(OutboxRow.case_id))
            in_cases = col(OutboxRow.case_id).in_(cases)
            answers = _answers(connection, in_cases)
            changes = _changes(connection, col(CaseChangeRow.case_id).in_(cases))
            reminded: dict[CaseId, list[datetime]] = defaultdict(list)
            query = select(OutboxRow.case_id, OutboxRow.created_at).where(
                col(OutboxRow.kind) == OutgoingKind.REMINDER, in_cases
            )
            for key, at in connection.execute(query.order_by(col(OutboxRow.created_at))):
                reminded[CaseId(str(key))].append(at)
        return tuple(
            History(key, states[key], tuple(had), tuple(answers[key]), tuple(changes[key]), tuple(reminded[key]))
            for key, had in packets.items()
        )

    def answer(self, outbox_id: OutboxId) -> PastAnswer | None:
        """Return one mail of ours, if it is an answer."""
        with self.database.read() as connection:
            found = _answers(connection, col(OutboxRow.id) == outbox_id)
        return next((one for rows in found.values() for one in rows), None)


def is_first_packet() -> ColumnElement[bool]:
    """Whether it is a packet, and not the same once more without the original."""
    return and_(col(OutboxRow.kind) == OutgoingKind.PACKET, col(OutboxRow.number) == 1)


def is_notice() -> ColumnElement[bool]:
    """Whether it is a notice about a customer's mail that a person must answer: people's own mails are filed."""
    is_escalated = col(MailRow.status).in_((MailStatus.ESCALATED, MailStatus.QUARANTINED))
    return and_(col(OutboxRow.kind) == OutgoingKind.FAILURE, is_escalated)


def _answers(connection: Connection, is_meant: ColumnElement[bool]) -> dict[CaseId, list[PastAnswer]]:
    """The answers by case."""
    is_answer = col(OutboxRow.kind).in_((OutgoingKind.ANSWER, OutgoingKind.PERSON_REPLY))
    updates: dict[str, list[DeliveryUpdate]] = defaultdict(list)
    query = (
        select(DeliveryUpdateRow)
        .join(OutboxRow, col(OutboxRow.id) == col(DeliveryUpdateRow.outbox_id))
        .where(is_answer, is_meant)
        .order_by(col(DeliveryUpdateRow.outbox_id), col(DeliveryUpdateRow.number))
    )
    for row in connection.execute(query):
        updates[row.outbox_id].append(DeliveryUpdate.model_validate(row))
    columns = (OutboxRow.id, OutboxRow.mail_id, OutboxRow.kind, OutboxRow.number, OutboxRow.status)
    rows: Any = (
        sqlalchemy.select(
            *map(col, columns), col(OutboxRow.created_at), col(OutboxRow.case_id), col(RenderedMailRow.header_inputs)
        )
        .outerjoin(RenderedMailRow, is_its_rendered_mail())
        .where(is_answer, is_meant)
        .order_by(col(OutboxRow.created_at), col(OutboxRow.id))
    )
    found: dict[CaseId, list[PastAnswer]] = defaultdict(list)
    for key, mail_id, kind, number, status, at, case_id, headers in connection.execute(rows):
        answered_id = headers.get("parent_mail_id") if headers is not None else None
        one = PastAnswer(
            id=OutboxId(key),
            mail_id=MailId(mail_id),
            answered_id=MailId(answered_id) if answered_id is not None else None,
            kind=OutgoingKind(kind),
            number=number,
            status=OutboxStatus(status),
            at=at,
            updates=tuple(updates[key]),
        )
        found[CaseId(str(case_id))].append(one)
    return found


def _changes(connection: Connection, in_cases: ColumnElement[bool]) -> dict[CaseId, list[CaseChange]]:
    """The changes by case."""
    found: dict[CaseId, list[CaseChange]] = defaultdict(list)
    query = select(CaseChangeRow).where(in_cases).order_by(col(CaseChangeRow.case_id), col(CaseChangeRow.number))
    for row in connection.execute(query):
        found[CaseId(row.case_id)].append(CaseChange.model_validate(row))
    return found
