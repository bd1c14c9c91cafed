"""Copies a mail and its history into another store, so that the mail can be decided again there.

Invariant: the copy holds nothing that came after the mail, and the mail's copy is `new`, with its sender and its case.
Outgoing mails count as sent, unless a person has not approved them, and cases as open: what became of them later is
not the past.
Checked by tests/contract/store/test_history.py and tests/unit/ops/test_replay.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select as sql_select
from sqlmodel import Session, and_, col, not_, or_, select

from support_agent.store.database import Database
from support_agent.store.records import CaseState, MailId, MailStatus, OutboxStatus
from support_agent.store.tables import CaseRow, MailRow, OutboxRow, ParticipantRow, PlanRow, RenderedMailRow, Row

UNDECIDED = {
    "status": MailStatus.NEW.value,
    "reason_code": None,
    "why": None,
    "handled_at": None,
    "screening_verdict": None,
    "screening_rule": None,
}


SENT = {"status": OutboxStatus.SENT.value, "notified_at": None}
"""What nearly every outgoing mail was soon; a failure is often known only after the mail that is decided again."""


def copy_history(source: Database, target: Database, mail_id: MailId, before: datetime, since: datetime) -> None:
    """Copy a mail, and the older mails of its case and its sender with their plans and outgoing mails.

    Args:
        target: Empty, at the current schema.
        since: Older mails of the sender in other cases are copied from this instant on.
        before: Plans and outgoing mails of this instant or later are not copied; the copied cases are open.
    """
    with source.read() as session:
        mail = session.get_one(MailRow, mail_id)
        mails = _older(session, mail, since)
        ids = [row.id for row in mails]
        cases = session.exec(select(CaseRow).where(col(CaseRow.id).in_({row.case_id for row in [*mails, mail]}))).all()
        people = select(ParticipantRow).where(col(ParticipantRow.case_id).in_([case.id for case in cases]))
        plans = select(PlanRow).where(col(PlanRow.mail_id).in_(ids), col(PlanRow.planned_at) < before)
        outbox = select(OutboxRow).where(col(OutboxRow.mail_id).in_(ids), col(OutboxRow.created_at) < before)
        rendered = select(RenderedMailRow).where(
            col(RenderedMailRow.mail_id).in_(ids), col(RenderedMailRow.created_at) < before
        )
        kept = [session.exec(query).all() for query in (people, plans, rendered)]
        queued = [_copy(row, **({} if OutboxStatus(row.status).is_unsent else SENT)) for row in session.exec(outbox)]
        copies = [
            [_copy(case, state=CaseState.OPEN.value) for case in cases],
            [*(_copy(row, status=_ended(row)) for row in mails), _copy(mail, **UNDECIDED)],
            *([*map(_copy, rows)] for rows in kept),
            queued,
        ]
    with target.write() as session:
        for rows in copies:
            _add(session, rows)


def _older(session: Session, mail: MailRow, since: datetime) -> list[MailRow]:
    """The older mails; their bytes only where a thread or a copy may need them."""
    is_of_case = and_(col(MailRow.case_id) == mail.case_id, col(MailRow.case_id).is_not(None))
    is_of_sender = and_(col(MailRow.sender_address) == mail.sender_address, col(MailRow.sender_address) != "")
    is_needed = or_(is_of_case, col(MailRow.message_id) == mail.message_id)
    is_older = and_(col(MailRow.received_at) <= mail.received_at, col(MailRow.id) != mail.id)
    others = [column for column in MailRow.__table__.columns if column.name != "raw"]  # type: ignore[attr-defined]
    whole = session.exec(select(MailRow).where(is_needed, is_older)).all()
    known = and_(is_of_sender, col(MailRow.received_at) >= since, not_(is_needed), is_older)
    light = session.execute(sql_select(*others).where(known)).mappings()
    return [*whole, *(MailRow(**row, raw=b"") for row in light)]


def _ended(mail: MailRow) -> str:
    """The status of an older mail: one that is still open must not hold the mail that is decided again."""
    return MailStatus.FILED.value if mail.status == MailStatus.NEW else mail.status


def _copy(row: Row, **changed: object) -> Row:
    return type(row)(**{**row.model_dump(), **changed})


def _add(session: Session, rows: Sequence[Row]) -> None:
    session.add_all(rows)
    session.flush()
