"""Versions of documents, templates and account queries that answers were made from; `replay` and `why` read them.

Invariant: a version always names the same content. Checked by tests/contract/store/test_plans.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field
from sqlalchemy import Connection
from sqlmodel import col, select

from support_agent.errors import PermanentError
from support_agent.store.database import Database
from support_agent.store.records import JsonObject, Record, Sha256
from support_agent.store.rows import insert_if_new
from support_agent.store.tables import DocumentVersionRow, QuerySetRow, TemplateSetRow


class StoredDocument(Record):
    """One version of a company document: `version` is the sha256 of `raw`, in hex."""

    version: Sha256
    number: Annotated[int, Field(ge=1, le=99_999)]
    raw: bytes


@dataclass(frozen=True)
class Versions:
    """`Store.versions`."""

    database: Database
    stored: dict[str, dict[str, str]] = field(default_factory=dict, compare=False)
    """Sets of templates that are stored for certain: each mail names one."""

    def save_document(self, number: int, raw: bytes) -> str:
        """Store a version of a company document once; return the version, the sha256 of `raw` in hex."""
        document = StoredDocument(version=hashlib.sha256(raw).hexdigest(), number=number, raw=raw)
        with self.database.write() as connection:
            insert_if_new(connection, DocumentVersionRow, dict(document))
        return document.version

    def document(self, version: str) -> StoredDocument | None:
        """Return a version of a company document."""
        with self.database.read() as connection:
            query = select(DocumentVersionRow).where(col(DocumentVersionRow.version) == version)
            row = connection.execute(query).first()
            return None if row is None else StoredDocument.model_validate(row)

    def save_templates(self, version: str, files: Mapping[str, str]) -> None:
        """Store a set of templates, file name to text, once; storing other files under its version is an error."""
        if self.stored.get(version) == files:
            return
        with self.database.write() as connection:
            is_new = insert_if_new(connection, TemplateSetRow, {"version": version, "files": dict(files)})
            if not is_new and _templates(connection, version) != files:
                raise PermanentError(
                    f"templates {version} are stored with other files: the version must be computed from all files",
                    code="templates_version",
                )
        if not self.database.is_together:  # else it may be rolled back with what else is written
            self.stored[version] = dict(files)

    def templates(self, version: str) -> dict[str, str] | None:
        """Return a set of templates, file name to text."""
        with self.database.read() as connection:
            return _templates(connection, version)

    def save_queries(self, version: str, queries: JsonObject) -> None:
        """Store the account queries of a version of the company, once."""
        with self.database.write() as connection:
            insert_if_new(connection, QuerySetRow, {"version": version, "queries": dict(queries)})

    def queries(self, version: str) -> JsonObject | None:
        """Return the account queries of a version of the company, a plan's `company_version`; None: not stored."""
        with self.database.read() as connection:
            queries = connection.scalar(select(QuerySetRow.queries).where(col(QuerySetRow.version) == version))
            return None if queries is None else dict(queries)


def _templates(connection: Connection, version: str) -> dict[str, str] | None:
    files = connection.scalar(select(TemplateSetRow.files).where(col(TemplateSetRow.version) == version))
    return None if files is None else dict(files)
