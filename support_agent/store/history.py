"""Copies a mail and its history into another store, so that the mail can be decided again there.

Invariant: the copy holds nothing that came after the mail, and the mail's copy is `new`, with its sender and its case.
Checked by tests/contract/store/test_history.py and tests/unit/ops/test_replay.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlmodel import Session, col, or_, select
from sqlmodel.sql.expression import SelectOfScalar

from support_agent.store.database import Database
from support_agent.store.records import CaseState, MailId, MailStatus
from support_agent.store.tables import CaseRow, LetterRow, MailRow, OutboxRow, ParticipantRow, PlanRow, Row

UNDECIDED = {
    "status": MailStatus.NEW.value,
    "reason_code": None,
    "why": None,
    "handled_at": None,
    "screening_verdict": None,
    "screening_rule": None,
}


def copy_history(source: Database, target: Database, mail_id: MailId, before: datetime) -> None:
    """Copy a mail, and the older mails of its case and its sender with their plans and outgoing mails.

    Args:
        target: Empty, at the current schema.
        before: Plans and outgoing mails of this instant or later are not copied; the copied cases are open.
    """
    with source.read() as session:
        mail = session.get_one(MailRow, mail_id)
        mails = session.exec(_older(mail)).all()
        ids = [row.id for row in mails]
        cases = session.exec(select(CaseRow).where(col(CaseRow.id).in_({row.case_id for row in [*mails, mail]}))).all()
        people = select(ParticipantRow).where(col(ParticipantRow.case_id).in_([case.id for case in cases]))
        plans = select(PlanRow).where(col(PlanRow.mail_id).in_(ids), col(PlanRow.planned_at) < before)
        outbox = select(OutboxRow).where(col(OutboxRow.mail_id).in_(ids), col(OutboxRow.created_at) < before)
        letters = select(LetterRow).where(col(LetterRow.mail_id).in_(ids), col(LetterRow.created_at) < before)
        kept = [session.exec(query).all() for query in (people, plans, outbox, letters)]
        copies = [
            [_copy(case, state=CaseState.OPEN.value) for case in cases],
            [*map(_copy, mails), _copy(mail, **UNDECIDED)],
            *([*map(_copy, rows)] for rows in kept),
        ]
    with target.write() as session:
        for rows in copies:
            _add(session, rows)


def _older(mail: MailRow) -> SelectOfScalar[MailRow]:
    is_related = [col(MailRow.case_id) == mail.case_id] if mail.case_id else []
    if mail.sender_address:
        is_related.append(col(MailRow.sender_address) == mail.sender_address)
    return select(MailRow).where(or_(*is_related), MailRow.received_at <= mail.received_at, MailRow.id != mail.id)


def _copy(row: Row, **changed: object) -> Row:
    return type(row)(**{**row.model_dump(), **changed})


def _add(session: Session, rows: Sequence[Row]) -> None:
    session.add_all(rows)
    session.flush()
