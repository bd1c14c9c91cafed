"""How a mail was decided and what was composed from that: what replay and `why` read.

Invariant: stored answers were made from the stored plan, and what an outbox row was made from is never
replaced. Checked by tests/contract/store/test_plans.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from sqlalchemy import delete
from sqlmodel import Session, col, select

from support_agent.errors import PermanentError
from support_agent.store.records import (
    AnswerKind,
    AnswerRecord,
    MailId,
    PlanRecord,
    StoredDocument,
    ToolCallRecord,
)
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import (
    AnswerRow,
    DocumentVersionRow,
    MailRow,
    OutboxRow,
    PlanRow,
    TemplateSetRow,
    ToolCallRow,
)


def save_plan(session: Session, plan_: PlanRecord) -> None:
    """See `Store.save_plan`."""
    _lock_mail(session, plan_.mail_id)
    stored = plan(session, plan_.mail_id)
    if stored == plan_:
        return
    if stored is not None:
        _refuse_if_in_outbox(session, plan_.mail_id, None)
        for table in (AnswerRow, ToolCallRow, PlanRow):
            affected(session, delete(table).where(col(table.mail_id) == plan_.mail_id))
        session.expunge_all()  # the rows just deleted must not be taken for the new ones
    session.add(PlanRow(**plan_.model_dump(exclude={"calls"})))
    session.flush()
    session.add_all(ToolCallRow(mail_id=plan_.mail_id, **call.model_dump()) for call in plan_.calls)


def plan(session: Session, mail_id: MailId) -> PlanRecord | None:
    row = session.get(PlanRow, mail_id)
    if row is None:
        return None
    query = select(ToolCallRow).where(col(ToolCallRow.mail_id) == mail_id).order_by(col(ToolCallRow.seq))
    calls = tuple(ToolCallRecord.model_validate(call) for call in session.exec(query))
    return PlanRecord.model_validate(row).model_copy(update={"calls": calls})


def save_answer(session: Session, answer: AnswerRecord) -> None:
    """See `Store.save_answer`."""
    _lock_mail(session, answer.mail_id)
    stored = answer_for(session, answer.mail_id, answer.kind)
    if stored == answer:
        return
    if stored is not None:
        _refuse_if_in_outbox(session, answer.mail_id, answer.kind)
    session.merge(AnswerRow(**answer.model_dump()))


def answer_for(session: Session, mail_id: MailId, kind: AnswerKind) -> AnswerRecord | None:
    row = session.get(AnswerRow, (mail_id, kind.value))
    return None if row is None else AnswerRecord.model_validate(row)


def answers(session: Session, mail_id: MailId) -> tuple[AnswerRecord, ...]:
    query = (
        select(AnswerRow)
        .where(col(AnswerRow.mail_id) == mail_id)
        .order_by(col(AnswerRow.created_at), col(AnswerRow.kind))
    )
    return tuple(AnswerRecord.model_validate(row) for row in session.exec(query))


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


def _lock_mail(session: Session, mail_id: MailId) -> None:
    """Let one transaction at a time decide about a mail (SQLite: the write lock does that already)."""
    if session.exec(select(MailRow.id).where(col(MailRow.id) == mail_id).with_for_update()).first() is None:
        raise PermanentError(f"mail {mail_id} is not in the store", code="no_mail")


def _refuse_if_in_outbox(session: Session, mail_id: MailId, kind: AnswerKind | None) -> None:
    query = select(OutboxRow.id).where(col(OutboxRow.mail_id) == mail_id)
    if kind is not None:
        query = query.where(col(OutboxRow.kind) == kind)
    found = session.exec(query).first()
    if found is not None:
        raise PermanentError(
            f"{found} is in the outbox: what it was made from cannot be replaced", code="already_in_outbox"
        )
