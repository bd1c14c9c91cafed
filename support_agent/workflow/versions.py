"""Keeps what mails are decided and answered with, by version.

Checked by tests/unit/workflow/test_versions.py.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from support_agent.company.company import Company
from support_agent.config.settings import Settings
from support_agent.store.audit import AuditEvent
from support_agent.store.store import Store


def keep_company(store: Store, company: Company) -> None:
    """Store the documents and account queries by version, for `replay` and `why`; call it before the first mail."""
    for document in company.texts:
        store.versions.save_document(document.number, document.raw)
    store.versions.save_queries(company.version, company.accounts.queries.model_dump())


def audit_versions(store: Store, company: Company, templates_version: str, settings: Settings, now: datetime) -> None:
    """Write into the audit log which documents, templates and settings are used from now on, if they are others."""
    versions = {
        "company": company.version,
        "templates": templates_version,
        "settings": hashlib.sha256(settings.model_dump_json().encode()).hexdigest(),
    }
    store.audit.add_if_new(AuditEvent.COMPANY_VERSION, "the worker", now, versions)
