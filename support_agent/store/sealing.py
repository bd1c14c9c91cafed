"""Encrypts rows that were written in plain text, and deletes those whose key is gone.

Invariant: a mail's rows are sealed in one transaction or not at all, and mails that are sealed already are not touched,
so it may be stopped and started at any time, beside a running worker. Checked by
tests/integration/store/test_sealed_store.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, LargeBinary, type_coerce, update
from sqlmodel import col, select

from support_agent.core.parts import batches
from support_agent.errors import ConfigError
from support_agent.store import audit
from support_agent.store.audit import Act
from support_agent.store.columns import SealedBytes, SealedJson, SealedText
from support_agent.store.database import Database
from support_agent.store.records import Deleted, MailId
from support_agent.store.retention import delete_whole
from support_agent.store.rows import affected
from support_agent.store.tables import CaseRow, MailRow, OutboxRow, PlanRow, RenderedMailRow, Row, ToolCallRow
from support_agent.store.vault import MAGIC, about

PART = 500
SEALED: tuple[tuple[type[Row], str], ...] = (
    (MailRow, "id"),
    (PlanRow, "mail_id"),
    (ToolCallRow, "mail_id"),
    (RenderedMailRow, "mail_id"),
    (OutboxRow, "mail_id"),
)
"""The tables with sealed columns, and their column with the mail's id; a case is sealed with its first mail."""


@dataclass(frozen=True)
class Sealing:
    """`Store.sealing`."""

    database: Database

    def seal_plain(self) -> int:
        """Encrypt all mails that are plain, with all that was made of them; return how many.

        Raises:
            ConfigError: the store does not encrypt.
        """
        if not self.database.vault.seals:
            raise ConfigError("store.encrypt is false: set it to true first")
        count = 0
        for mail_id in self._mails():
            with self.database.write() as connection, about(mail_id):
                if _is_sealed(connection, mail_id) is False:
                    _seal(connection, mail_id)
                    count += 1
        return count

    def delete_unreadable(self, at: datetime, *, dry_run: bool = False) -> Deleted:
        """Delete the mails whose key was destroyed, with their cases: what an old backup of the store brought back.

        Args:
            dry_run: Only count them.
        """
        with self.database.read() as connection:
            sealed = {mail_id for mail_id in self._mails() if _is_sealed(connection, mail_id)}
            lost = self.database.vault.without_key(sealed)
            of_lost = [select(MailRow.case_id).where(col(MailRow.id).in_(part)) for part in batches(sorted(lost))]
            cases = sorted({str(case_id) for query in of_lost for case_id in connection.scalars(query) if case_id})
            for part in batches(cases):
                lost |= set(connection.scalars(select(MailRow.id).where(col(MailRow.case_id).in_(part))))
        deleted = Deleted(cases=len(cases), mails=len(lost))
        if lost and not dry_run:
            with self.database.write() as connection:
                delete_whole(connection, self.database.vault, cases, sorted(lost))
                audit.append(connection, Act.FORGOTTEN, "the operator", at, {"unreadable": deleted.model_dump()})
        return deleted

    def _mails(self) -> Iterator[MailId]:
        last = ""
        while True:
            query = select(MailRow.id).where(col(MailRow.id) > last).order_by(col(MailRow.id)).limit(PART)
            with self.database.read() as connection:
                ids = connection.scalars(query).all()
            yield from map(MailId, ids)
            if len(ids) < PART:
                return
            last = ids[-1]


def _is_sealed(connection: Connection, mail_id: str) -> bool | None:
    """Whether a mail's bytes are encrypted; None: retention has emptied them."""
    stored = connection.scalars(
        select(type_coerce(col(MailRow.raw), LargeBinary)).where(col(MailRow.id) == mail_id)
    ).first()
    return bytes(stored).startswith(MAGIC + bytes.fromhex(mail_id)) if stored else None


def _seal(connection: Connection, mail_id: str) -> None:
    """Write each sealed column of a mail's rows again: what is plain is read as it is, and written encrypted."""
    for table, key in SEALED:
        for row in connection.execute(select(table).where(col(getattr(table, key)) == mail_id)).all():
            _rewrite(connection, table, row)
    opened = select(CaseRow).join(MailRow, col(MailRow.case_id) == col(CaseRow.id)).where(col(MailRow.id) == mail_id)
    for case in connection.execute(opened).all():
        _rewrite(connection, CaseRow, case)


def _rewrite(connection: Connection, table: type[Row], row: Any) -> None:
    columns = table.__table__.columns  # type: ignore[attr-defined]
    sealed = [one.name for one in columns if isinstance(one.type, SealedBytes | SealedJson | SealedText)]
    keys = [one == getattr(row, one.name) for one in columns if one.primary_key]
    affected(connection, update(table).where(*keys).values({name: getattr(row, name) for name in sealed}))
