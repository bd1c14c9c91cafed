"""The cases that people have and have not answered.

Invariant: a case waits exactly if it is with a person and a packet of it is followed by no answer of a person: no words
that were passed on, no document sent by command, no label. This module only reads. Checked by
tests/contract/store/test_waiting.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, and_, or_
from sqlalchemy.orm import aliased
from sqlmodel import col, select

from support_agent.store.database import Database
from support_agent.store.records import (
    CaseId,
    CaseState,
    MailId,
    MailStatus,
    OutboxStatus,
    OutgoingKind,
    WaitingCase,
)
from support_agent.store.tables import CaseRow, LabelRow, MailRow, OutboxRow

FOREVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Waits:
    """`Store.waits`."""

    database: Database

    def cases(self, since: datetime) -> tuple[WaitingCase, ...]:
        """Return the cases that a person has and that nobody has answered, the longest waiting first.

        Args:
            since: Packets that were made before do not count.
        """
        packets = (
            select(OutboxRow.case_id, OutboxRow.mail_id, OutboxRow.created_at)
            .join(CaseRow, col(CaseRow.id) == col(OutboxRow.case_id))
            .join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id))
            .where(col(OutboxRow.created_at) >= since, *unanswered())
            .order_by(col(OutboxRow.created_at), col(OutboxRow.id))
        )
        reminders = select(OutboxRow.case_id, OutboxRow.created_at).where(
            col(OutboxRow.kind) == OutgoingKind.REMINDER, col(OutboxRow.created_at) >= since
        )
        first: dict[str, datetime] = {}
        last: dict[str, str] = {}
        reminded: dict[str, list[datetime]] = {}
        with self.database.read() as session:
            for case_id, mail_id, made_at in session.exec(packets):
                first.setdefault(str(case_id), made_at)
                last[str(case_id)] = mail_id
            for case_id, made_at in session.exec(reminders):
                if made_at >= first.get(str(case_id), FOREVER):
                    reminded.setdefault(str(case_id), []).append(made_at)
        return tuple(
            WaitingCase(
                case_id=CaseId(case_id),
                mail_id=MailId(last[case_id]),
                since=made_at,
                reminders=len(reminded.get(case_id, ())),
                reminded_at=max(reminded.get(case_id, ()), default=None),
            )
            for case_id, made_at in first.items()
        )


def unanswered() -> tuple[ColumnElement[bool], ...]:
    """Build the conditions for a packet of a case that a person has, and that no person's answer followed.

    A notice counts if it is about a customer's mail that a person must answer: people's own mails are filed.
    """
    answer = aliased(OutboxRow)
    is_of_person = and_(
        col(answer.kind).in_((OutgoingKind.PERSON_REPLY, OutgoingKind.ANSWER)),
        or_(col(answer.kind) == OutgoingKind.PERSON_REPLY, col(answer.mail_id) != col(OutboxRow.mail_id)),
    )
    answered = select(answer.case_id).where(
        col(answer.case_id) == col(OutboxRow.case_id),
        col(answer.created_at) >= col(OutboxRow.created_at),
        col(answer.status).not_in((OutboxStatus.FAILED, OutboxStatus.CANCELLED)),
        is_of_person,
    )
    judged = select(LabelRow.number).where(
        col(LabelRow.mail_id) == col(OutboxRow.mail_id), col(LabelRow.undone_at).is_(None)
    )
    is_escalated = col(MailRow.status).in_((MailStatus.ESCALATED, MailStatus.QUARANTINED))
    is_notice = and_(col(OutboxRow.kind) == OutgoingKind.FAILURE, is_escalated)
    return (
        col(CaseRow.state) == CaseState.WITH_PERSON,
        col(OutboxRow.kind).in_((OutgoingKind.PACKET, OutgoingKind.FAILURE)),  # what the index of a case's mails is by
        or_(col(OutboxRow.kind) == OutgoingKind.PACKET, is_notice),
        ~answered.correlate(OutboxRow).exists(),
        ~judged.correlate(OutboxRow).exists(),
    )
