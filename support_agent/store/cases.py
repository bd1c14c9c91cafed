"""Cases: one customer's thread, who may continue it, and who has it.

Invariant: a mail joins a case by a Message-ID that the case really holds, and a case that a person has is
never given back to the machine. Checked by tests/contract/store/test_cases.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, update
from sqlmodel import Session, col, select

from support_agent.errors import PermanentError
from support_agent.store import mails, outbox, plans
from support_agent.store.columns import index_key
from support_agent.store.records import (
    CaseId,
    CaseRecord,
    CaseState,
    CaseSummary,
    MailId,
    MailRecord,
    MailTimeline,
    Timeline,
)
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import CaseRow, MailRow, OutboxRow, ParticipantRow

CHUNK = 500
"""Message-IDs of one query: a References field may hold any number."""


def open_case(session: Session, case: CaseRecord, mail_id: MailId) -> CaseRecord:
    insert_if_new(session, CaseRow(**case.model_dump(exclude={"participants"})))
    for address in {case.customer_address, *case.participants}:
        insert_if_new(session, ParticipantRow(case_id=case.id, address=address))
    mails.set_case(session, mail_id, case.id)
    return _existing(session, case.id)


def join_case(session: Session, mail_id: MailId, case_id: CaseId, participants: Sequence[str]) -> CaseRecord:
    _existing(session, case_id)
    for address in participants:
        insert_if_new(session, ParticipantRow(case_id=case_id, address=address))
    mails.set_case(session, mail_id, case_id)
    return _existing(session, case_id)


def case(session: Session, case_id: CaseId) -> CaseRecord | None:
    row = session.get(CaseRow, case_id)
    if row is None:
        return None
    query = select(ParticipantRow.address).where(col(ParticipantRow.case_id) == case_id)
    participants = tuple(sorted(session.exec(query)))
    return CaseRecord.model_validate(row).model_copy(update={"participants": participants})


def _existing(session: Session, case_id: CaseId) -> CaseRecord:
    found = case(session, case_id)
    if found is None:
        raise _no_case(case_id)
    return found


def _no_case(case_id: CaseId) -> PermanentError:
    return PermanentError(f"case {case_id} is not in the store", code="no_case")


def cases_for_thread(session: Session, references: Sequence[str]) -> tuple[CaseRecord, ...]:
    """See `Store.cases_for_thread`."""
    found: dict[CaseId, None] = {}
    for start in range(0, len(references), CHUNK):
        keys = [index_key(reference) for reference in references[start : start + CHUNK]]
        owners = _cases_by_message_id(session, keys)
        found |= {case_id: None for key in keys for case_id in owners.get(key, ())}
    return tuple(_existing(session, case_id) for case_id in found)


def _cases_by_message_id(session: Session, keys: Sequence[str]) -> dict[str, list[CaseId]]:
    """The cases a Message-ID belongs to: that of our own mail, then those of the mails that bore it, the first first.

    Senders make their ids, so a stranger's mail may bear that of a customer's; ours are keyed and unique.
    """
    sent = select(OutboxRow.message_id, OutboxRow.case_id).where(
        col(OutboxRow.message_id).in_(keys), col(OutboxRow.case_id).is_not(None)
    )
    received = (
        select(MailRow.message_id, MailRow.case_id)
        .where(col(MailRow.message_id).in_(keys), col(MailRow.case_id).is_not(None))
        .order_by(col(MailRow.received_at), col(MailRow.id))
    )
    owners: dict[str, list[CaseId]] = {}
    for query in (sent, received):
        for key, owner in session.exec(query):
            owners.setdefault(key, []).append(CaseId(str(owner)))
    return owners


def give_to_person(session: Session, case_id: CaseId) -> None:
    """See `Store.give_to_person`."""
    statement = update(CaseRow).where(col(CaseRow.id) == case_id).values(state=CaseState.WITH_PERSON)
    if affected(session, statement) != 1:
        raise _no_case(case_id)


def cases(session: Session, limit: int) -> tuple[CaseSummary, ...]:
    last = func.max(MailRow.received_at)
    query = (
        select(CaseRow.id, func.count(col(MailRow.id)), last)
        .outerjoin(MailRow, col(MailRow.case_id) == col(CaseRow.id))
        .group_by(col(CaseRow.id), col(CaseRow.opened_at))
        .order_by(func.coalesce(last, col(CaseRow.opened_at)).desc(), col(CaseRow.id))
        .limit(limit)
    )
    return tuple(
        CaseSummary(case=_existing(session, CaseId(case_id)), mails=count, last_received_at=received)
        for case_id, count, received in session.exec(query)
    )


def timeline(session: Session, case_id: CaseId) -> Timeline | None:
    found = case(session, case_id)
    if found is None:
        return None
    inbound = mails.records(session, mails.without_raw().where(col(MailRow.case_id) == case_id))
    return Timeline(case=found, mails=tuple(_mail_timeline(session, mail) for mail in inbound))


def _mail_timeline(session: Session, mail: MailRecord) -> MailTimeline:
    return MailTimeline(
        mail=mail,
        plan=plans.plan(session, mail.id),
        letters=outbox.letters(session, mail.id),
        outbox=outbox.outgoing(session, mail_id=mail.id),
    )
