"""Copies a mail and its history into another store, so that the mail can be decided again there.

Invariant: the copy holds nothing that came after the mail, and the mail's copy is `new`, with its sender and its case.
Outgoing mails count as sent, unless a person has not approved them, and cases as open: what became of them later is
not the past.
Checked by tests/contract/store/test_history.py and tests/unit/ops/test_replay.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, and_, insert, not_, or_
from sqlmodel import col, select

from support_agent.store.database import Database
from support_agent.store.records import CaseState, MailId, MailStatus, OutboxStatus
from support_agent.store.rows import columns
from support_agent.store.tables import CaseRow, MailRow, OutboxRow, ParticipantRow, PlanRow, RenderedMailRow, TableRow

Values = Mapping[str, Any]
"""A row, by the names of its columns."""

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
    with source.read() as connection:
        (mail,) = _rows(connection, select(MailRow).where(col(MailRow.id) == mail_id))
        mails = _older(connection, mail, since)
        ids = [row["id"] for row in mails]
        its_cases = {row["case_id"] for row in [*mails, mail]}
        cases = _rows(connection, select(CaseRow).where(col(CaseRow.id).in_(its_cases)))
        people = select(ParticipantRow).where(col(ParticipantRow.case_id).in_([case["id"] for case in cases]))
        plans = select(PlanRow).where(col(PlanRow.mail_id).in_(ids), col(PlanRow.planned_at) < before)
        outbox = select(OutboxRow).where(col(OutboxRow.mail_id).in_(ids), col(OutboxRow.created_at) < before)
        rendered = select(RenderedMailRow).where(
            col(RenderedMailRow.mail_id).in_(ids), col(RenderedMailRow.created_at) < before
        )
        copies: list[tuple[type[TableRow], list[Values]]] = [
            (CaseRow, [{**case, "state": CaseState.OPEN.value} for case in cases]),
            (MailRow, [*({**row, "status": _ended(row)} for row in mails), {**mail, **UNDECIDED}]),
            (ParticipantRow, _rows(connection, people)),
            (PlanRow, _rows(connection, plans)),
            (RenderedMailRow, _rows(connection, rendered)),
            (OutboxRow, [{**row, **_sent(row)} for row in _rows(connection, outbox)]),
        ]
    with target.write() as connection:
        for table, rows in copies:
            if rows:
                connection.execute(insert(table), rows)


def _rows(connection: Connection, query: Select[Any]) -> list[Values]:
    return [dict(row) for row in connection.execute(query).mappings()]


def _older(connection: Connection, mail: Values, since: datetime) -> list[Values]:
    """The older mails; their bytes only where a thread or a copy may need them."""
    is_of_case = and_(col(MailRow.case_id) == mail["case_id"], col(MailRow.case_id).is_not(None))
    is_of_sender = and_(col(MailRow.sender_address) == mail["sender_address"], col(MailRow.sender_address) != "")
    is_needed = or_(is_of_case, col(MailRow.message_id) == mail["message_id"])
    is_older = and_(col(MailRow.received_at) <= mail["received_at"], col(MailRow.id) != mail["id"])
    whole = _rows(connection, select(MailRow).where(is_needed, is_older))
    known = and_(is_of_sender, col(MailRow.received_at) >= since, not_(is_needed), is_older)
    light = _rows(connection, select(*columns(MailRow, "raw")).where(known))
    return [*whole, *({**row, "raw": b""} for row in light)]


def _ended(mail: Values) -> str:
    """The status of an older mail: one that is still open must not hold the mail that is decided again."""
    return MailStatus.FILED.value if mail["status"] == MailStatus.NEW else str(mail["status"])


def _sent(row: Values) -> Values:
    return {} if OutboxStatus(row["status"]).is_unsent else SENT
