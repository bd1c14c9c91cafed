"""Versions of documents, templates and account queries that answers were made from; `replay` and `why` read them.

Invariant: a version always names the same content. Checked by tests/contract/store/test_plans.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from sqlmodel import Session

from support_agent.errors import PermanentError
from support_agent.store.database import Database
from support_agent.store.records import JsonObject, StoredDocument
from support_agent.store.rows import insert_if_new
from support_agent.store.tables import DocumentVersionRow, QuerySetRow, TemplateSetRow


@dataclass(frozen=True)
class Versions:
    """`Store.versions`."""

    database: Database

    def save_document(self, number: int, raw: bytes) -> str:
        """Store a version of a company document once; return the version, the sha256 of `raw` in hex."""
        document = StoredDocument(version=hashlib.sha256(raw).hexdigest(), number=number, raw=raw)
        with self.database.write() as session:
            insert_if_new(session, DocumentVersionRow(**document.model_dump()))
        return document.version

    def document(self, version: str) -> StoredDocument | None:
        """Return a version of a company document."""
        with self.database.read() as session:
            row = session.get(DocumentVersionRow, version)
            return None if row is None else StoredDocument.model_validate(row)

    def save_templates(self, version: str, files: Mapping[str, str]) -> None:
        """Store a set of templates, file name to text, once; storing other files under its version is an error."""
        with self.database.write() as session:
            is_new = insert_if_new(session, TemplateSetRow(version=version, files=dict(files)))
            if not is_new and _templates(session, version) != files:
                raise PermanentError(
                    f"templates {version} are stored with other files: the version must be computed from all files",
                    code="templates_version",
                )

    def templates(self, version: str) -> dict[str, str] | None:
        """Return a set of templates, file name to text."""
        with self.database.read() as session:
            return _templates(session, version)

    def save_queries(self, version: str, queries: JsonObject) -> None:
        """Store the account queries of a version of the company, once."""
        with self.database.write() as session:
            insert_if_new(session, QuerySetRow(version=version, queries=dict(queries)))

    def queries(self, version: str) -> JsonObject | None:
        """Return the account queries of a version of the company, a plan's `company_version`; None: not stored."""
        with self.database.read() as session:
            row = session.get(QuerySetRow, version)
            return None if row is None else dict(row.queries)


def _templates(session: Session, version: str) -> dict[str, str] | None:
    row = session.get(TemplateSetRow, version)
    return None if row is None else dict(row.files)
