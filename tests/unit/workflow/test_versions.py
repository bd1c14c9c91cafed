"""What is kept by version: the company's files in the store, and in the audit log which of them are used."""

from __future__ import annotations

from support_agent.store.audit import AuditEvent
from support_agent.workflow.versions import audit_versions, keep_company
from tests.fakes_journey import Office


def test_every_document_and_the_queries_are_kept_by_version(office: Office) -> None:
    """Else `replay` and `why` could not read the answers of today after a change."""
    company = office.decider.company
    keep_company(office.store, company)
    kept = [office.store.versions.document(document.version) for document in company.texts]
    assert [one.raw for one in kept if one is not None] == [document.raw for document in company.texts]
    assert office.store.versions.queries(company.version) == company.accounts.queries.model_dump()


def test_the_audit_log_says_once_from_when_on_other_versions_are_used(office: Office) -> None:
    company, settings, now = office.decider.company, office.settings, office.clock()
    for templates in ("one", "one", "two"):
        audit_versions(office.store, company, templates, settings, now)
    written = [entry.about for entry in office.store.audit.entries(AuditEvent.COMPANY_VERSION)]
    assert [versions["templates"] for versions in written] == ["two", "one"]
    assert {versions["company"] for versions in written} == {company.version}
