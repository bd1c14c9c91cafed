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

import sqlalchemy
from sqlalchemy import Connection, LargeBinary, Text, func, type_coerce, update
from sqlmodel import col, select

from support_agent.core.size_limits import batches
from support_agent.errors import ConfigError
from support_agent.store import audit
from support_agent.store.audit import AuditEvent
from support_agent.store.columns import SealedBytes, SealedJson, SealedText
from support_agent.store.database import Database
from support_agent.store.keys import no_keys
from support_agent.store.records import MailId
from support_agent.store.retention import Deleted, delete_whole, mails_of_cases
from support_agent.store.rows import affected
from support_agent.store.tables import (
    HAS_BYTES,
    CaseRow,
    MailRow,
    OutboxRow,
    PlanRow,
    RenderedMailRow,
    TableRow,
    ToolCallRow,
)
from support_agent.store.vault import ID_BYTES, MAGIC, TEXT_MAGIC, about

PART = 500
SEALED: tuple[tuple[type[TableRow], str], ...] = (
    (MailRow, "id"),
    (PlanRow, "mail_id"),
    (ToolCallRow, "mail_id"),
    (RenderedMailRow, "mail_id"),
    (OutboxRow, "mail_id"),
)
"""The tables with sealed columns, and their column with the mail's id; a case is sealed with its first mail."""

HEAD_BYTES = len(MAGIC) + ID_BYTES
_FIRST = func.substr(type_coerce(col(MailRow.raw), LargeBinary), 1, HEAD_BYTES, type_=LargeBinary)
_NOTE = type_coerce(func.coalesce(col(MailRow.sender_why), col(MailRow.why)), Text)
_HEADS: Any = sqlalchemy.select(col(MailRow.id), _FIRST.label("first"), _NOTE.label("note"))
"""Mails with the beginning of their bytes as they are stored, which says whose key opens them, and with a text that
retention leaves as it is."""


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
        for mail_id, _ in self._mails():
            with self.database.write() as connection, about(mail_id):
                head = connection.execute(_HEADS.where(col(MailRow.id) == mail_id)).first()
                if head is not None and head.first and not _is_sealed(head):
                    _seal(connection, mail_id)
                    count += 1
        return count

    def require_keys(self, *, may_create: bool = False) -> None:
        """Refuse to work without the keys of this store: the newest mail must be one that they open, or was forgotten.

        Args:
            may_create: Create the keys of a store that has no encrypted mail yet, if it encrypts.
        Raises:
            ConfigError: there are no keys, or others, or the master key does not open them; it says what to do.
        """
        newest = _HEADS.where(HAS_BYTES).order_by(col(MailRow.received_at).desc()).limit(1)
        with self.database.read() as connection:
            found = connection.execute(newest).first()
        keys, seals = self.database.vault.keys, self.database.vault.seals
        is_sealed = found is not None and _is_sealed(found)
        # Every mail is looked at only where keys would be made.
        if not keys.is_there() and (is_sealed or (seals and any(is_sealed for _, is_sealed in self._mails()))):
            raise no_keys(keys)
        if is_sealed or seals:
            keys.check(may_create=may_create)
        if found is not None and is_sealed and keys.lost([found.id]).missing:
            todo = "`support-agent keys unreadable` deletes it"
            what = f"the keys in {keys.place} are not those of this store: mail {found.id} has none"
            raise ConfigError(f"{what}: put back today's keys; if they are lost, {todo}")

    def require_any_keys(self) -> None:
        """Refuse to use a store that has encrypted mails while there are no keys at all, or the master key is wrong.

        Raises:
            ConfigError: it says what to do.
        """
        keys = self.database.vault.keys
        if any(is_sealed for _, is_sealed in self._mails()):
            if not keys.is_there():
                raise no_keys(keys)
            keys.check()

    def unreadable(self, mail_ids: Collection[MailId]) -> set[MailId]:
        """Those of these mails whose key is gone: neither they nor what was made of them can be read any more."""
        destroyed, missing = self.database.vault.keys.lost(mail_ids)
        unreadable = set(map(MailId, destroyed))
        for part in batches(sorted(missing)):
            with self.database.read() as connection:
                heads = connection.execute(_HEADS.where(col(MailRow.id).in_(part))).all()
            unreadable |= {MailId(head.id) for head in heads if _is_sealed(head)}
        return unreadable

    def delete_unreadable(self, at: datetime, *, dry_run: bool = False, is_certain: bool = False) -> Deleted:
        """Delete the mails whose key is gone, with their cases: what an old backup of the store brought back.

        Args:
            dry_run: Only count them.
            is_certain: Only those whose key was destroyed; a key that is missing may still be somewhere.
        """
        is_sealed = dict(self._mails())
        destroyed, missing = self.database.vault.keys.lost(is_sealed.keys())
        lost = set(destroyed if is_certain else destroyed | {mail_id for mail_id in missing if is_sealed[mail_id]})
        with self.database.read() as connection:
            of_lost = [select(MailRow.case_id).where(col(MailRow.id).in_(part)) for part in batches(sorted(lost))]
            cases = sorted({str(case_id) for query in of_lost for case_id in connection.scalars(query) if case_id})
            lost |= mails_of_cases(connection, cases)
        deleted = Deleted(cases=len(cases), mails=len(lost))
        if lost and not dry_run:
            with self.database.write() as connection:
                delete_whole(connection, self.database.vault, cases, sorted(lost))
                audit.append(connection, AuditEvent.FORGOTTEN, "the operator", at, {"unreadable": deleted.model_dump()})
            self.database.vault.keys.purge()
        return deleted

    def _mails(self) -> Iterator[tuple[str, bool]]:
        """The id of every mail, and whether its bytes are encrypted."""
        last = ""
        while True:
            query = _HEADS.where(col(MailRow.id) > last).order_by(col(MailRow.id)).limit(PART)
            with self.database.read() as connection:
                heads = connection.execute(query).all()
            yield from ((head.id, _is_sealed(head)) for head in heads)
            if len(heads) < PART:
                return
            last = heads[-1].id


def _is_sealed(head: Any) -> bool:
    """Whether a mail's bytes are encrypted, or were until retention emptied them."""
    if head.first:
        return bytes(head.first).startswith(MAGIC + bytes.fromhex(head.id))
    return (head.note or "").startswith(TEXT_MAGIC)


def _seal(connection: Connection, mail_id: str) -> None:
    """Write each sealed column of a mail's rows again: what is plain is read as it is, and written encrypted."""
    for table, key in SEALED:
        for row in connection.execute(select(table).where(col(getattr(table, key)) == mail_id)).all():
            _rewrite(connection, table, row)
    opened = select(CaseRow).join(MailRow, col(MailRow.case_id) == col(CaseRow.id)).where(col(MailRow.id) == mail_id)
    for case in connection.execute(opened).all():
        _rewrite(connection, CaseRow, case)


def _rewrite(connection: Connection, table: type[TableRow], row: Any) -> None:
    columns = table.__table__.columns  # type: ignore[attr-defined]
    sealed = [one.name for one in columns if isinstance(one.type, SealedBytes | SealedJson | SealedText)]
    keys = [one == getattr(row, one.name) for one in columns if one.primary_key]
    affected(connection, update(table).where(*keys).values({name: getattr(row, name) for name in sealed}))
