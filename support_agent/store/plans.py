"""How a mail was decided, and what its letters were made with: the versions that replay and `why` read.

What was known of the case after a mail, its memory, is kept with the mail's plan, not once for the case: so a plan that
is made again, after a crash or by `replay`, begins with what the first began with.

Invariant: the plan of a mail that has something in the outbox is never replaced, nor is its memory, and a version
stands for the same bytes for ever. Checked by tests/contract/store/test_plans.py and test_memory.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from sqlalchemy import delete
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from support_agent.errors import PermanentError
from support_agent.store import mails
from support_agent.store.records import JsonObject, MailId, PlanRecord, StoredDocument, ToolCallRecord
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import (
    DocumentVersionRow,
    MailRow,
    OutboxRow,
    PlanRow,
    QuerySetRow,
    TemplateSetRow,
    ToolCallRow,
)

MAX_MEMORY_CHARACTERS = 250_000
"""Of one case's memory: hundreds of questions; a case that long is a person's."""


def save_plan(session: Session, plan_: PlanRecord, memory: str | None) -> None:
    """See `Store.save_plan`."""
    if memory is not None and len(memory) > MAX_MEMORY_CHARACTERS:
        what = f"the memory of the case has {len(memory)} characters, {MAX_MEMORY_CHARACTERS} are kept"
        raise PermanentError(f"{what}: let a person take the case", code="memory_size")
    mails.lock(session, plan_.mail_id)
    stored = plan(session, plan_.mail_id)
    if stored == plan_ and _memory_of(session, plan_.mail_id) == memory:
        return
    if stored is not None:
        _refuse_if_in_outbox(session, plan_.mail_id)
        for table in (ToolCallRow, PlanRow):
            affected(session, delete(table).where(col(table.mail_id) == plan_.mail_id))
        session.expunge_all()  # the rows just deleted must not be taken for the new ones
    session.add(PlanRow(**plan_.model_dump(exclude={"calls"}), memory=memory))
    session.flush()
    session.add_all(ToolCallRow(mail_id=plan_.mail_id, **call.model_dump()) for call in plan_.calls)


def plan(session: Session, mail_id: MailId) -> PlanRecord | None:
    row = session.get(PlanRow, mail_id)
    if row is None:
        return None
    query = select(ToolCallRow).where(col(ToolCallRow.mail_id) == mail_id).order_by(col(ToolCallRow.seq))
    calls = tuple(ToolCallRecord.model_validate(call) for call in session.exec(query))
    return PlanRecord.model_validate(row).model_copy(update={"calls": calls})


def memory_before(session: Session, mail_id: MailId) -> str | None:
    """See `Store.memory_before`."""
    mine, earlier = aliased(MailRow), aliased(MailRow)
    query = (
        select(PlanRow.memory)
        .join(earlier, col(earlier.id) == col(PlanRow.mail_id))
        .join(mine, col(mine.case_id) == col(earlier.case_id))
        .where(col(mine.id) == mail_id, col(PlanRow.memory).is_not(None), mails.is_older(earlier, mine))
        .order_by(col(earlier.received_at).desc(), col(earlier.uid).desc(), col(earlier.id).desc())
    )
    return session.exec(query.limit(1)).first()


def _memory_of(session: Session, mail_id: MailId) -> str | None:
    return session.exec(select(PlanRow.memory).where(col(PlanRow.mail_id) == mail_id)).first()


def save_document(session: Session, number: int, raw: bytes) -> str:
    version = hashlib.sha256(raw).hexdigest()
    document = StoredDocument(version=version, number=number, raw=raw)
    insert_if_new(session, DocumentVersionRow(**document.model_dump()))
    return version


def document(session: Session, version: str) -> StoredDocument | None:
    row = session.get(DocumentVersionRow, version)
    return None if row is None else StoredDocument.model_validate(row)


def save_templates(session: Session, version: str, files: Mapping[str, str]) -> None:
    if insert_if_new(session, TemplateSetRow(version=version, files=dict(files))):
        return
    if templates(session, version) != files:
        raise PermanentError(
            f"templates {version} are stored with other files: the version must be made from all of them",
            code="templates_version",
        )


def templates(session: Session, version: str) -> dict[str, str] | None:
    row = session.get(TemplateSetRow, version)
    return None if row is None else dict(row.files)


def save_queries(session: Session, version: str, queries: JsonObject) -> None:
    insert_if_new(session, QuerySetRow(version=version, queries=dict(queries)))


def queries(session: Session, version: str) -> JsonObject | None:
    row = session.get(QuerySetRow, version)
    return None if row is None else dict(row.queries)


def _refuse_if_in_outbox(session: Session, mail_id: MailId) -> None:
    found = session.exec(select(OutboxRow.id).where(col(OutboxRow.mail_id) == mail_id)).first()
    if found is not None:
        raise PermanentError(
            f"{found} is in the outbox: what it was made from cannot be replaced", code="already_in_outbox"
        )
