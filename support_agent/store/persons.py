"""What the store keeps about a person, by the person's addresses: found, and deleted whole.

A case is kept whole or deleted whole, so what others wrote in the person's cases goes with them. Mails outside of these
cases are found by their bytes (`raws`), which only the caller can read.

Invariant: nothing is deleted while a mail of the person is being handled or may still be sent; the ids of deleted mails
are kept before anything of them goes, so that a run that died is finished, and the same bytes are never answered
again. Checked by tests/contract/store/test_persons.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import Field
from sqlalchemy import ColumnElement, Connection, delete, func, or_
from sqlmodel import col, select

from support_agent.core.size_limits import batches
from support_agent.errors import PermanentError
from support_agent.store import audit
from support_agent.store.audit import AuditEvent
from support_agent.store.database import Database
from support_agent.store.keys import unless_key_is_gone
from support_agent.store.records import CaseId, JsonObject, MailId, MailStatus, OutboxId, Record
from support_agent.store.retention import UNFINISHED, delete_whole, mails_of_cases
from support_agent.store.rows import affected, insert_if_new, is_of
from support_agent.store.suppressions import Suppression
from support_agent.store.tables import (
    CaseChangeRow,
    CaseRow,
    ForgottenMailRow,
    LabelRow,
    MailRow,
    OutboxRow,
    ParticipantRow,
    PlanRow,
    RenderedMailRow,
    SuppressionRow,
    TableRow,
    ToolCallRow,
    UsedKeyRow,
)

PART = 1_000
"""Ids that are read at once; of the bytes, one mail's are in memory."""
OF_MAILS: dict[str, type[TableRow]] = {
    "plans": PlanRow,
    "tool calls": ToolCallRow,
    "rendered mails": RenderedMailRow,
    "outbox": OutboxRow,
    "labels": LabelRow,
    "used keys": UsedKeyRow,
}
"""What hangs on a mail, under the names of the report."""


class StoredBytes(NamedTuple):
    """A mail's bytes, and its case if it has one."""

    mail_id: MailId
    case_id: CaseId | None
    raw: bytes


class Kept(Record):
    """What the store keeps about a person.

    `mails` are those of `cases`, and others without a case. `others` are addresses of further people in these cases.
    `counts` has the rows by kind. `unfinished` are the mails that are being handled and the mails of the outbox that
    may still leave, each as a sentence.
    """

    addresses: tuple[str, ...]
    cases: tuple[CaseId, ...] = ()
    mails: tuple[MailId, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    others: tuple[str, ...] = ()
    counts: dict[str, int] = Field(default_factory=dict)
    unfinished: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether the store keeps no row about the person."""
        return not any(self.counts.values())

    def require_finished(self) -> None:
        """Refuse to delete what is being handled or may still leave.

        Raises:
            PermanentError: something is unfinished (code `unfinished`); it says what ends it.
        """
        if self.unfinished:
            what = "; ".join(self.unfinished[:3])
            raise PermanentError(f"nothing was forgotten, because work is unfinished: {what}", code="unfinished")


@dataclass(frozen=True)
class Persons:
    """`Store.persons`."""

    database: Database

    def raws(self) -> Iterator[StoredBytes]:
        """Return the bytes of every mail that can be read, in the order of the ids."""
        last = ""
        while True:
            query = select(MailRow.id).where(col(MailRow.id) > last).order_by(col(MailRow.id)).limit(PART)
            with self.database.read() as connection:
                ids = connection.scalars(query).all()
            for mail_id in ids:
                one = select(MailRow.id, MailRow.case_id, MailRow.raw).where(col(MailRow.id) == mail_id)
                if (found := self._read(one)) is not None:
                    yield StoredBytes(MailId(found[0]), CaseId(found[1]) if found[1] else None, found[2])
            if len(ids) < PART:
                return
            last = ids[-1]

    def _read(self, query: Any) -> Any:
        """The row of a mail with its bytes; None if it is gone, or its key is."""
        with self.database.read() as connection:
            return unless_key_is_gone(lambda: connection.execute(query).first())

    def find(self, addresses: Sequence[str], mentions: Collection[MailId] = ()) -> Kept:
        """Find what is kept about a person.

        Args:
            addresses: All of one person, normalised; a "+" tag does not matter.
            mentions: Further mails without a case that are from the person or about mails to the person.
        """
        with self.database.read() as connection:
            return _found(connection, addresses, mentions)

    def begun(self) -> tuple[MailId, ...]:
        """Mails without a case that a run which died has begun to delete: without their key nobody finds them."""
        query = select(MailRow.id).join(ForgottenMailRow, col(ForgottenMailRow.id) == col(MailRow.id))
        with self.database.read() as connection:
            return tuple(map(MailId, connection.scalars(query.where(col(MailRow.case_id).is_(None)))))

    def forget(self, kept: Kept, at: datetime, about: JsonObject) -> Kept:
        """Delete what was found, and write it into the audit log.

        Args:
            about: What the log says besides the counts; nothing of the person.
        Returns:
            What was deleted.
        Raises:
            PermanentError: something is unfinished, or has come since it was found (code `unfinished`); nothing is
                deleted.
        """
        with self.database.write() as connection:  # save, then act: what is begun is found without the keys, too
            for mail_id in kept.mails:
                insert_if_new(connection, ForgottenMailRow, {"id": mail_id})
        with self.database.write() as connection:
            cases = select(CaseRow.id).where(col(CaseRow.id).in_(kept.cases)).with_for_update()
            connection.execute(cases).all()
            now = _found(connection, kept.addresses, kept.mails)
            now.require_finished()
            if set(now.mails) - set(kept.mails):
                raise PermanentError("mail of the person has come in meanwhile: run it again", code="unfinished")
            delete_whole(connection, self.database.vault, now.cases, now.mails)
            affected(connection, delete(SuppressionRow).where(_is_of(SuppressionRow.address, kept.addresses)))
            audit.append(connection, AuditEvent.FORGOTTEN, "the operator", at, {**about, "counts": dict(now.counts)})
            return now


def _found(connection: Connection, addresses: Sequence[str], mentions: Collection[MailId]) -> Kept:
    cases = _cases(connection, addresses)
    mails = _mails(connection, addresses, cases, mentions)
    suppressed = connection.execute(select(SuppressionRow).where(_is_of(SuppressionRow.address, addresses)))
    suppressions = tuple(Suppression.model_validate(row) for row in suppressed)
    counts = {
        "cases": len(cases),
        "mails": len(mails),
        **{name: _count(connection, table, "mail_id", mails) for name, table in OF_MAILS.items()},
        "case changes": _count(connection, CaseChangeRow, "case_id", cases),
        "participants": _count(connection, ParticipantRow, "case_id", cases),
        "suppressions": len(suppressions),
    }
    return Kept(
        addresses=tuple(addresses),
        cases=tuple(map(CaseId, cases)),
        mails=tuple(map(MailId, mails)),
        suppressions=suppressions,
        others=_others(connection, addresses, cases),
        counts=counts,
        unfinished=_unfinished(connection, cases, mails),
    )


def _is_of(column: Any, addresses: Sequence[str]) -> ColumnElement[bool]:
    return or_(*(is_of(column, address) for address in addresses))


def _cases(connection: Connection, addresses: Sequence[str]) -> list[str]:
    """The cases that the person opened, may continue, has written in, or got mail of ours in."""
    queries = (
        select(CaseRow.id).where(_is_of(CaseRow.customer_address, addresses)),
        select(ParticipantRow.case_id).where(_is_of(ParticipantRow.address, addresses)),
        select(MailRow.case_id).where(_is_of(MailRow.sender_address, addresses), col(MailRow.case_id).is_not(None)),
        select(OutboxRow.case_id).where(_is_of(OutboxRow.recipient, addresses), col(OutboxRow.case_id).is_not(None)),
    )
    return sorted({str(case_id) for query in queries for case_id in connection.scalars(query)})


def _mails(
    connection: Connection, addresses: Sequence[str], cases: Sequence[str], mentions: Collection[MailId]
) -> list[str]:
    """The mails of these cases, and others of the person that have none."""
    alone = col(MailRow.case_id).is_(None)
    found = set(connection.scalars(select(MailRow.id).where(alone, _is_of(MailRow.sender_address, addresses))))
    found |= set(connection.scalars(select(OutboxRow.mail_id).where(_is_of(OutboxRow.recipient, addresses))))
    for part in batches(sorted(mentions)):
        found |= set(connection.scalars(select(MailRow.id).where(col(MailRow.id).in_(part), alone)))
    return sorted(found | mails_of_cases(connection, cases))


def _others(connection: Connection, addresses: Sequence[str], cases: Sequence[str]) -> tuple[str, ...]:
    found: set[str] = set()
    for part in batches(cases):
        query = select(ParticipantRow.address).where(
            col(ParticipantRow.case_id).in_(part), ~_is_of(ParticipantRow.address, addresses)
        )
        found |= set(connection.scalars(query))
    return tuple(sorted(found))


def _count(connection: Connection, table: Any, key: str, ids: Sequence[str]) -> int:
    column = getattr(table, key)
    parts = (select(func.count()).where(col(column).in_(part)) for part in batches(ids))
    return sum(connection.scalars(query).one() for query in parts)


def _unfinished(connection: Connection, cases: Sequence[str], mails: Sequence[str]) -> tuple[str, ...]:
    """What nobody may delete yet, and what ends it."""
    said = []
    for part in batches(mails):
        new = select(MailRow.id).where(col(MailRow.id).in_(part), col(MailRow.status) == MailStatus.NEW)
        said += [f"mail {mail_id} is still being handled: let the worker end it" for mail_id in connection.scalars(new)]
    waiting: set[OutboxId] = set()
    for column, ids in ((OutboxRow.mail_id, mails), (OutboxRow.case_id, cases)):
        for part in batches(ids):
            query = select(OutboxRow.id).where(col(column).in_(part), col(OutboxRow.status).in_(UNFINISHED))
            waiting |= set(map(OutboxId, connection.scalars(query)))
    todo = "let it leave, or decide with `support-agent outbox sent` or `give-up`"
    return (*said, *(f"{outbox_id} may still leave: {todo}" for outbox_id in sorted(waiting)))
