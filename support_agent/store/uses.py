"""In which answers documents and templates were sent: counted in the database, from what the answers were made of.

Invariant: only an answer that was sent counts, once for each version of a document in it. This module only reads.
Checked by tests/contract/store/test_uses.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, cast, func, join, literal_column, true, type_coerce
from sqlmodel import col, select

from support_agent.store.columns import UtcDateTime
from support_agent.store.database import Database
from support_agent.store.records import CaseId, Instant, OutboxStatus, OutgoingKind, Record
from support_agent.store.rows import is_its_rendered_mail
from support_agent.store.tables import CaseRow, DocumentVersionRow, OutboxRow, RenderedMailRow, TableRow, TemplateSetRow


class DocumentUse(Record):
    """How often a version of a document was sent, and when; `language` is None in answers that did not store it."""

    number: int
    language: str | None
    version: str
    mails: int
    first_at: Instant
    last_at: Instant


class SentIn(Record):
    """A case in which a document was sent, and when it last was."""

    case_id: CaseId
    subject: str
    customer_address: str
    last_at: Instant


class StoredVersion(Record):
    """A stored version of a file, and when mails that were made with it were first and last sent; None: never.

    `language` is that of a document, as far as an answer says it.
    """

    version: str
    text: bytes
    language: str | None = None
    first_at: Instant | None = None
    last_at: Instant | None = None


@dataclass(frozen=True)
class Uses:
    """`Store.uses`."""

    database: Database

    def documents(self, since: datetime | None = None, number: int | None = None) -> tuple[DocumentUse, ...]:
        """Count the answers by the versions of documents in them, by number, the last sent first.

        Args:
            since: Count only what was sent at this instant or later.
            number: Count only this document.
        """
        with self.database.read() as connection:
            shown = (
                cast(_part(connection, "number"), Integer),
                *(_part(connection, name) for name in ("language", "version")),
            )
            counts = (func.count(func.distinct(OutboxRow.id)), _first(OutboxRow.sent_at), _last(OutboxRow.sent_at))
            query = _query(connection, since, number, *shown, *counts).group_by(*shown)
            rows = connection.execute(query.order_by(shown[0], counts[2].desc(), shown[2])).all()
        names = ("number", "language", "version", "mails", "first_at", "last_at")
        return tuple(DocumentUse(**dict(zip(names, row, strict=True))) for row in rows)

    def cases(self, number: int, limit: int, since: datetime | None = None) -> tuple[SentIn, ...]:
        """Return the cases in which a document was sent last, at this instant or later, the newest first."""
        with self.database.read() as connection:
            columns, last = (CaseRow.id, CaseRow.subject, CaseRow.customer_address), _last(OutboxRow.sent_at)
            query = _query(connection, since, number, *columns, last).where(col(CaseRow.id) == col(OutboxRow.case_id))
            rows = connection.execute(
                query.group_by(*columns).order_by(last.desc(), col(CaseRow.id)).limit(limit)
            ).all()
        return tuple(
            SentIn(case_id=CaseId(case_id), subject=subject, customer_address=address, last_at=at)
            for case_id, subject, address, at in rows
        )

    def document_versions(self, number: int) -> tuple[StoredVersion, ...]:
        """Return all stored versions of a document, in every language; those that were sent last come first."""
        used: dict[str, tuple[datetime, datetime]] = {}
        languages: dict[str, str | None] = {}
        for use in self.documents(number=number):
            before = used.get(use.version, (use.first_at, use.last_at))
            used[use.version] = (min(before[0], use.first_at), max(before[1], use.last_at))
            languages[use.version] = use.language or languages.get(use.version)
        query = select(DocumentVersionRow).where(col(DocumentVersionRow.number) == number)
        with self.database.read() as connection:
            stored = {row.version: row.raw for row in connection.execute(query)}
        found = _by_use(stored, used)
        return tuple(one.model_copy(update={"language": languages.get(one.version)}) for one in found)

    def template_versions(self, name: str) -> tuple[StoredVersion, ...]:
        """Return the stored texts of a template ("en/answer.txt.j2"), each once, those that were used last first.

        `version` is that of the last set of templates with this text.
        """
        made = select(
            RenderedMailRow.templates_version,
            _first(RenderedMailRow.created_at),
            _last(RenderedMailRow.created_at),
        ).group_by(col(RenderedMailRow.templates_version))
        with self.database.read() as connection:
            used = {version: (first, last) for version, first, last in connection.execute(made)}
            sets = {
                row.version: row.files[name] for row in connection.execute(select(TemplateSetRow)) if name in row.files
            }
        newest: dict[str, StoredVersion] = {}
        for one in reversed(_by_use({version: text.encode() for version, text in sets.items()}, used)):
            older = newest.get(one.text.decode())
            first = min((at for at in (one.first_at, older.first_at if older else None) if at), default=None)
            newest[one.text.decode()] = one.model_copy(update={"first_at": first})
        return _by_last(newest.values())


def _by_use(stored: Mapping[str, bytes], used: Mapping[str, tuple[datetime, datetime]]) -> tuple[StoredVersion, ...]:
    versions = []
    for version, text in stored.items():
        first, last = used.get(version, (None, None))
        versions.append(StoredVersion(version=version, text=text, first_at=first, last_at=last))
    return _by_last(versions)


def _first(instant: Any) -> ColumnElement[datetime]:
    return type_coerce(func.min(instant), UtcDateTime)


def _last(instant: Any) -> ColumnElement[datetime]:
    return type_coerce(func.max(instant), UtcDateTime)


def _table(row: type[TableRow]) -> Any:
    return TableRow.metadata.tables[str(row.__tablename__)]


def _by_last(versions: Iterable[StoredVersion]) -> tuple[StoredVersion, ...]:
    def place(one: StoredVersion) -> tuple[float, str]:
        return -(one.last_at.timestamp() if one.last_at else 0.0), one.version

    return tuple(sorted(versions, key=place))


def _query(connection: Connection, since: datetime | None, number: int | None, *columns: Any) -> Any:
    """A query over the documents in the answers that were sent.

    The rows `answer` and `item` are made of the stored JSON by functions that both databases have under other names.
    """
    is_sqlite = connection.dialect.name == "sqlite"
    within, payload = (func.json_each, "payload") if is_sqlite else (func.json_array_elements, "payload -> 'answers'")
    paths = ("$.answers", "$.items") if is_sqlite else ()
    inner = "answer.value" if is_sqlite else "answer.value -> 'items'"
    answer = within(literal_column(f"rendered_mails.{payload}"), *paths[:1]).table_valued("value", name="answer")
    item = within(literal_column(inner), *paths[1:]).table_valued("value", name="item")
    conditions: list[ColumnElement[bool]] = [
        col(OutboxRow.kind) == OutgoingKind.ANSWER,
        _part(connection, "kind") == "document",
    ]
    if since is None:
        conditions.append(col(OutboxRow.status) == OutboxStatus.SENT)
    else:  # joined to "", so that SQLite searches by the instant: almost all mails have this status
        conditions += [col(OutboxRow.sent_at) >= since, col(OutboxRow.status).concat("") == OutboxStatus.SENT]
    if number is not None:
        conditions.append(cast(_part(connection, "number"), Integer) == number)
    tables = join(
        join(join(_table(OutboxRow), _table(RenderedMailRow), is_its_rendered_mail()), answer, true()), item, true()
    )
    return select(*columns).select_from(tables).where(*conditions)


def _part(connection: Connection, name: str) -> ColumnElement[Any]:
    """A part of an item; written out, because a query that groups by it must name it twice alike."""
    is_sqlite = connection.dialect.name == "sqlite"
    return literal_column(f"json_extract(item.value, '$.{name}')" if is_sqlite else f"item.value ->> '{name}'")
