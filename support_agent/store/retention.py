"""Deletes old cases and mails.

Invariant: a case is deleted whole or not at all, unfinished work is never deleted, and the id of a deleted mail is kept
so that it is never answered again. Checked by tests/contract/store/test_retention.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, or_
from sqlmodel import col, select

from support_agent.store.database import Database
from support_agent.store.records import Deleted, MailStatus, OutboxStatus
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import (
    CaseChangeRow,
    CaseRow,
    DeliveryUpdateRow,
    ForgottenMailRow,
    LabelRow,
    MailRow,
    OutboxRow,
    ParticipantRow,
    PlanRow,
    RenderedMailRow,
    ToolCallRow,
)

UNFINISHED = (OutboxStatus.READY, OutboxStatus.SENDING, OutboxStatus.UNCERTAIN)
CHUNK = 500
"""Most ids in one statement."""


@dataclass(frozen=True)
class Retention:
    """`Store.retention`."""

    database: Database

    def delete_older_than(self, instant: datetime) -> Deleted:
        """Delete the cases whose last mail is older, and older mails without a case; no unfinished work."""
        with self.database.write() as connection:
            cases = _old_cases(connection, instant)
            mails = _old_mails(connection, instant, cases)
            for part in _chunks(mails):
                for mail_id in part:
                    insert_if_new(connection, ForgottenMailRow, {"id": mail_id})
                _delete_outgoing(connection, col(OutboxRow.mail_id).in_(part))
                for table in (RenderedMailRow, ToolCallRow, PlanRow, LabelRow):
                    affected(connection, delete(table).where(col(table.mail_id).in_(part)))
                affected(connection, delete(MailRow).where(col(MailRow.id).in_(part)))
            for part in _chunks(cases):
                _delete_outgoing(connection, col(OutboxRow.case_id).in_(part))
                affected(connection, delete(CaseChangeRow).where(col(CaseChangeRow.case_id).in_(part)))
                affected(connection, delete(ParticipantRow).where(col(ParticipantRow.case_id).in_(part)))
                affected(connection, delete(CaseRow).where(col(CaseRow.id).in_(part)))
            return Deleted(cases=len(cases), mails=len(mails))


def _delete_outgoing(connection: Connection, condition: ColumnElement[bool]) -> None:
    ids = select(OutboxRow.id).where(condition)
    affected(connection, delete(DeliveryUpdateRow).where(col(DeliveryUpdateRow.outbox_id).in_(ids)))
    affected(connection, delete(OutboxRow).where(condition))


def _old_cases(connection: Connection, instant: datetime) -> list[str]:
    """Cases opened before the instant, with no mail since, none unhandled and nothing waiting to be sent."""
    case_id = col(CaseRow.id)
    mails = select(MailRow.id).where(col(MailRow.case_id) == case_id).correlate(CaseRow)
    recent = mails.where(or_(col(MailRow.received_at) >= instant, col(MailRow.status) == MailStatus.NEW))
    waiting = select(OutboxRow.id).where(
        or_(col(OutboxRow.case_id) == case_id, col(OutboxRow.mail_id).in_(mails)),
        col(OutboxRow.status).in_(UNFINISHED),
    )
    query = select(CaseRow.id).where(col(CaseRow.opened_at) < instant, ~recent.exists(), ~waiting.exists())
    return list(connection.scalars(query))


def _old_mails(connection: Connection, instant: datetime, cases: Sequence[str]) -> list[str]:
    """Mails of those cases, and handled mails without a case from before the instant."""
    of_cases = [
        mail_id
        for part in _chunks(cases)
        for mail_id in connection.scalars(select(MailRow.id).where(col(MailRow.case_id).in_(part)))
    ]
    waiting = select(OutboxRow.id).where(
        col(OutboxRow.mail_id) == col(MailRow.id), col(OutboxRow.status).in_(UNFINISHED)
    )
    without_case = select(MailRow.id).where(
        col(MailRow.case_id).is_(None),
        col(MailRow.received_at) < instant,
        col(MailRow.status) != MailStatus.NEW,
        ~waiting.exists(),
    )
    return of_cases + list(connection.scalars(without_case))


def _chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK))
