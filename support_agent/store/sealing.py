"""Encrypts rows that were written in plain text, and deletes those whose key is gone.

Invariant: a mail's rows are sealed in one transaction or not at all, and mails that are sealed already are not touched,
so it may be stopped and started at any time, beside a running worker. Checked by
tests/integration/store/test_sealed_store.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, LargeBinary, type_coerce, update
from sqlmodel import col, select

from support_agent.errors import ConfigError
from support_agent.store import audit
from support_agent.store.audit import Act
from support_agent.store.columns import SealedBytes, SealedJson, SealedText
from support_agent.store.database import Database
from support_agent.store.keys import Lost, no_keys
from support_agent.store.records import Deleted, MailId
from support_agent.store.retention import chunks, delete_whole
from support_agent.store.rows import affected
from support_agent.store.tables import (
    HAS_BYTES,
    CaseRow,
    MailRow,
    OutboxRow,
    PlanRow,
    RenderedMailRow,
    Row,
    ToolCallRow,
)
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

    def require_keys(self, *, may_create: bool = False) -> None:
        """Refuse to work without the keys of this store: the newest mail must be one that they open, or was forgotten.

        Args:
            may_create: Create the keys of a store that has no mail yet, if it encrypts.
        Raises:
            ConfigError: there are no keys, or others, or the master key does not open them; it says what to do.
        """
        newest = select(MailRow.id).where(HAS_BYTES).order_by(col(MailRow.received_at).desc()).limit(1)
        with self.database.read() as connection:
            mail_id = connection.scalar(newest)
            is_sealed = mail_id is not None and _is_sealed(connection, mail_id)
        keys = self.database.vault.keys
        if is_sealed and not keys.is_there():
            raise no_keys(keys.url)
        if is_sealed or self.database.vault.seals:
            keys.check(may_create=may_create)
        if is_sealed and keys.lost([str(mail_id)]).missing:
            where, todo = keys.url.render_as_string(hide_password=True), "`support-agent keys unreadable` deletes it"
            what = f"the keys in {where} are not those of this store: mail {mail_id} has none"
            raise ConfigError(f"{what}: put back today's keys; if they are lost, {todo}")

    def unreadable(self, mail_ids: Collection[MailId]) -> set[MailId]:
        """Those of these mails whose bytes cannot be read any more, because their key is gone."""
        with self.database.read() as connection:
            sealed = {mail_id for mail_id in mail_ids if _is_sealed(connection, mail_id)}
        lost = self.database.vault.lost(sealed) if sealed else Lost(frozenset(), frozenset())
        return {mail_id for mail_id in sealed if mail_id in lost.destroyed or mail_id in lost.missing}

    def delete_unreadable(self, at: datetime, *, dry_run: bool = False, is_certain: bool = False) -> Deleted:
        """Delete the mails whose key is gone, with their cases: what an old backup of the store brought back.

        Args:
            dry_run: Only count them.
            is_certain: Only those whose key was destroyed; a key that is missing may still be somewhere.
        """
        with self.database.read() as connection:
            sealed = {mail_id for mail_id in self._mails() if _is_sealed(connection, mail_id)}
            destroyed, missing = self.database.vault.lost(sealed)
            lost = set(destroyed if is_certain else destroyed | missing)
            of_lost = [select(MailRow.case_id).where(col(MailRow.id).in_(part)) for part in chunks(sorted(lost))]
            cases = sorted({str(case_id) for query in of_lost for case_id in connection.scalars(query) if case_id})
            for part in chunks(cases):
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
