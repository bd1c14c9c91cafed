"""The audit log: what was sent, decided, published and forgotten, as a chain of hashes.

An entry is one line of canonical JSON. Its hash is the SHA-256 of the hash before it and of the entry, so the last
hash, the head, names the whole log: whoever publishes it can prove later that no entry was changed, removed, inserted
or reordered. Without a published head only a cut at the end, or a log that was computed anew, stays unnoticed.

Entries name mails, cases and documents by id and digest, and staff by address; they hold nothing of a customer, so the
log survives forgetting.

Invariant: an entry is written in the transaction of what it tells of, and one transaction at a time adds entries, so
the chain never forks. Checked by tests/contract/store/test_audit.py.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol, cast

from pydantic import JsonValue
from sqlalchemy import Connection, bindparam, delete, insert, text
from sqlmodel import col, select

from support_agent.store.database import Database
from support_agent.store.records import Instant, JsonObject, Record, Sha256
from support_agent.store.rows import affected
from support_agent.store.tables import AuditRow

AUDIT_LOCK = 1_903_462_913
"""Key of the PostgreSQL advisory lock under which a transaction adds entries; SQLite has one writer anyway."""
BEGINNING = "0" * 64
"""The hash before the first entry."""
PART = 1_000
"""Entries that are read at once."""


class AuditEvent(StrEnum):
    """What an entry is about."""

    MAIL_SENT = "mail sent"
    """The server took a mail of ours to a customer."""
    MAIL_UNCERTAIN = "mail uncertain"
    """The server may have taken it."""
    MAIL_DECIDED = "mail decided"
    """Somebody other than the sender changed a mail's status: approved, undone, retried, given up, bounced."""
    DESK_COMMAND = "desk command"
    CASE_CHANGED = "case changed"
    MODE_CHANGED = "mode changed"
    MODE_UNDONE = "mode undone"
    PUBLISHED = "published"
    """A document or template was published on the desk's page."""
    COMPANY_VERSION = "company version"
    """The worker began to use other documents, account queries, templates or settings."""
    FORGOTTEN = "forgotten"
    EXPORTED = "exported"
    KEYS_ROTATED = "keys rotated"
    RESTORED = "restored"
    """The store is that of a backup: what the log said after the backup was made is gone."""
    LOG_SHORTENED = "log shortened"
    """Retention deleted the oldest entries; this one has the number and hash of the last one deleted."""


class AuditEntry(Record):
    """One entry; `about` has ids, digests and counts, depending on the act. `who` is a person's address or a role."""

    number: int
    at: Instant
    act: AuditEvent
    who: str
    about: JsonObject
    hash: Sha256


class Head(Record):
    """The last entry's number and hash; 0 and `BEGINNING` for an empty log."""

    number: int = 0
    hash: Sha256 = BEGINNING


class Verification(Record):
    """Whether the log is whole; `problem` is one sentence about the first entry that is wrong, "" if none is."""

    entries: int
    head: Head
    problem: str = ""


class Entry(Protocol):
    """A row of the log."""

    number: int
    act: str
    entry: str
    previous: str
    hash: str


_HEAD = select(AuditRow.number, AuditRow.hash).order_by(col(AuditRow.number).desc()).limit(1)
_AFTER = select(AuditRow).where(col(AuditRow.number) > bindparam("after")).order_by(col(AuditRow.number))
_ADD = insert(AuditRow)


@dataclass(frozen=True)
class Audit:
    """`Store.audit`."""

    database: Database

    def add(self, act: AuditEvent, who: str, at: datetime, about: Mapping[str, JsonValue]) -> None:
        """Add an entry about something that is no change of the store."""
        with self.database.write() as connection:
            append(connection, act, who, at, about)

    def add_if_new(self, act: AuditEvent, who: str, at: datetime, about: Mapping[str, JsonValue]) -> bool:
        """Add an entry unless the last one of this act says the same; return whether it was added."""
        with self.database.write() as connection:
            newest = select(AuditRow).where(col(AuditRow.act) == act).order_by(col(AuditRow.number).desc())
            last = connection.execute(newest.limit(1)).first()
            if last is not None and json.loads(last.entry)["about"] == dict(about):
                return False
            append(connection, act, who, at, about)
            return True

    def head(self) -> Head:
        """Return the head, to be published."""
        with self.database.read() as connection:
            return _head(connection)

    def entries(self, act: AuditEvent | None = None, limit: int | None = None) -> tuple[AuditEntry, ...]:
        """Return the entries, of one act only, the newest first.

        Args:
            limit: The most entries returned; None: all.
        """
        query = select(AuditRow).order_by(col(AuditRow.number).desc()).limit(limit)
        if act is not None:
            query = query.where(col(AuditRow.act) == act)
        with self.database.read() as connection:
            return tuple(_entry(row) for row in connection.execute(query))

    def verify(self, published: str | None = None) -> Verification:
        """Compute the chain again.

        Args:
            published: A head that was published; the log must contain it.
        """
        with self.database.read() as connection:
            return verified(_rows(connection), published)


def append(connection: Connection, act: AuditEvent, who: str, at: datetime, about: Mapping[str, JsonValue]) -> None:
    """Add an entry in a transaction. Call it last: on PostgreSQL other transactions wait with theirs until the end."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": AUDIT_LOCK})
    before = _head(connection)
    entry = _canonical(
        {
            "number": before.number + 1,
            "at": at.astimezone(UTC).isoformat(timespec="microseconds"),
            "act": act.value,
            "who": who,
            "about": dict(about),
        }
    )
    row = {"number": before.number + 1, "act": act.value, "entry": entry, "previous": before.hash}
    connection.execute(_ADD, {**row, "hash": hash_of(before.hash, entry)})


def delete_before(connection: Connection, instant: datetime, at: datetime) -> int:
    """Delete the oldest entries, all from before an instant, and say so in a new entry; return how many."""
    last: Entry | None = None
    for row in _rows(connection):
        if datetime.fromisoformat(json.loads(row.entry)["at"]) >= instant:
            break
        last = row
    if last is None:
        return 0
    append(connection, AuditEvent.LOG_SHORTENED, "retention", at, {"through": last.number, "hash": last.hash})
    return affected(connection, delete(AuditRow).where(col(AuditRow.number) <= last.number))


def hash_of(before: str, entry: str) -> str:
    """The hash of an entry that follows another: SHA-256 of both lines, in hex."""
    return hashlib.sha256(f"{before}\n{entry}".encode()).hexdigest()


def verified(rows: Iterable[Entry], published: str | None = None) -> Verification:
    """Check the rows of a log, in the order of their numbers; `published` is as in `Audit.verify`."""
    head, entries = Head(), 0
    cut, cuts = Head(), []
    is_published = published in (None, BEGINNING)
    for row in rows:
        if not entries and row.number > 1:  # retention deleted the beginning: an entry must say so
            head = cut = Head(number=row.number - 1, hash=row.previous)
        if problem := _problem(row, head):
            return Verification(entries=entries, head=head, problem=f"entry {row.number} {problem}")
        if row.act == AuditEvent.LOG_SHORTENED:
            cuts.append(json.loads(row.entry)["about"])
        head, entries = Head(number=row.number, hash=row.hash), entries + 1
        is_published = is_published or row.hash == published
    problem = ""
    if cut.number and {"through": cut.number, "hash": cut.hash} not in cuts:
        problem = f"the entries up to {cut.number} are missing, and no entry says that retention deleted them"
    elif not is_published:
        problem = f"the log has no entry {published}: its end was cut, it was written anew, or retention deleted it"
    return Verification(entries=entries, head=head, problem=problem)


def _problem(row: Entry, before: Head) -> str:
    """What is wrong with a row that follows another, or ""."""
    if row.number != before.number + 1:
        return f"does not follow entry {before.number}: entries are missing"
    if row.previous != before.hash or row.hash != hash_of(before.hash, row.entry):
        return "does not have the hash of what it says and of the entry before it"
    try:
        said = json.loads(row.entry)
    except ValueError:
        return "cannot be read"
    return "" if (said["number"], said["act"]) == (row.number, row.act) else "says another number or act than its row"


def _canonical(value: Mapping[str, object]) -> str:
    """JSON that is the same for the same value: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _entry(row: Any) -> AuditEntry:
    return AuditEntry.model_validate({**json.loads(row.entry), "hash": row.hash})


def _head(connection: Connection) -> Head:
    found = connection.execute(_HEAD).first()
    return Head() if found is None else Head(number=found[0], hash=found[1])


def _rows(connection: Connection) -> Iterator[Entry]:
    """All rows in the order of their numbers, a growing part at a time: retention mostly looks at the first alone."""
    last, size = 0, 1
    while part := connection.execute(_AFTER.limit(size), {"after": last}).all():
        yield from cast("Sequence[Entry]", part)
        last, size = part[-1].number, PART
