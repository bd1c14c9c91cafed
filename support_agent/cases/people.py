"""What people did about a customer's mail: wrote, approved or chose an answer, or answered from their own program.

Checked by tests/unit/desk/test_coverage.py, tests/unit/cases/test_handling.py and tests/journey/test_intentions.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from support_agent.answer.final_answer import FinalAnswer
from support_agent.store.records import (
    CaseId,
    CaseState,
    DeliverySource,
    DeliveryUpdate,
    MailId,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
    RenderedMailRecord,
)
from support_agent.store.store import Store

APPROVERS = (DeliverySource.STAFF, DeliverySource.OPERATOR)


class PersonAnswer(NamedTuple):
    """A person's answer to a customer: when, and the mail of ours that it is or that it replaces.

    `is_whole`: no question of the customer's mail is known to be left open.
    """

    at: datetime
    row: OutboxRecord
    is_approved: bool = False
    is_whole: bool = True


def answers_of_people(store: Store, rows: Iterable[OutboxRecord]) -> tuple[PersonAnswer, ...]:
    """The answers of people among these mails of ours, the oldest first."""
    found = (answer for row in rows for answer in _answers(store, row))
    return tuple(sorted(found, key=lambda answer: answer.at))


def open_packets(store: Store, case_id: CaseId) -> frozenset[MailId]:
    """The mails of a case whose packet waits: nobody has answered them whole since the machine last had the case."""
    rows = store.outbox.find(case_id=case_id)
    free = [change.changed_at for change in store.cases.changes(case_id) if change.after is not CaseState.WITH_PERSON]
    packets = (row for row in rows if row.kind is OutgoingKind.PACKET and (not free or row.created_at >= free[-1]))
    answered = {_answered_by(store, answer.row) for answer in answers_of_people(store, rows) if answer.is_whole}
    return frozenset(row.mail_id for row in packets) - answered


def _answered_by(store: Store, row: OutboxRecord) -> MailId:
    """The customer's mail that a mail of ours answers; what a staff mail caused is in the thread of another."""
    rendered = store.outbox.rendered_mail(row.mail_id, row.kind, row.number)
    return MailId(str(rendered.header_inputs.get("parent_mail_id") if rendered is not None else row.mail_id))


def _answers(store: Store, row: OutboxRecord) -> Iterator[PersonAnswer]:
    if row.kind is OutgoingKind.PERSON_REPLY:
        yield PersonAnswer(row.created_at, row)
    if row.kind is not OutgoingKind.ANSWER:
        return
    rendered = store.outbox.rendered_mail(row.mail_id, row.kind, row.number)
    if rendered is not None and _is_chosen(rendered):
        yield PersonAnswer(row.created_at, row)
    for update in store.deliveries.of(row.id):
        if update.before is OutboxStatus.PROPOSED and update.after is OutboxStatus.READY and update.by in APPROVERS:
            is_whole = rendered is None or FinalAnswer.model_validate(rendered.payload).n_remaining == 0
            yield PersonAnswer(update.updated_at, row, is_approved=True, is_whole=is_whole)
        elif _is_from_own_program(update):
            yield PersonAnswer(update.updated_at, row)


def _is_chosen(answer: RenderedMailRecord) -> bool:
    """Whether a person chose the document: then a command of the desk caused the answer, not the customer's mail."""
    return answer.header_inputs.get("parent_mail_id") != answer.mail_id


def _is_from_own_program(update: DeliveryUpdate) -> bool:
    """Whether the proposal was withdrawn because the Sent folder has a person's answer."""
    return update.after is OutboxStatus.CANCELLED and update.by is DeliverySource.SENT_FOLDER
