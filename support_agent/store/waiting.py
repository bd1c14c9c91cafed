"""Which cases wait for a person, and what people answered: wrote, approved, chose, or sent from their own program.

Invariant: all who want to know ask the conditions of this module, but the figures of `store.quality`, in which a label
or an approved part ends a wait, too. A packet waits if no person closed the case or gave
it back after it, and nothing of these followed it: own words to its author, about its mail or a later one, or a whole
answer to its mail that a person approved or chose. What the customer may not have received is no answer, and whoever
wrote has not read a packet that never arrived. This module only reads, a fixed number of queries for any
number of cases. Checked by tests/contract/store/test_waiting.py, tests/unit/store/test_waiting.py, which asks all who
want to know, tests/unit/desk/test_coverage.py, tests/journey/test_intentions.py and, on encrypted rows,
tests/integration/store/test_sealed_store.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import JSON, ColumnElement, and_, func, null, or_, type_coerce
from sqlalchemy.orm import aliased
from sqlmodel import col, select

from support_agent.store.columns import second_of
from support_agent.store.database import Database
from support_agent.store.outbox import LOST
from support_agent.store.records import (
    CaseId,
    CaseState,
    DeliverySource,
    Instant,
    MailId,
    MailStatus,
    OutboxId,
    OutboxStatus,
    OutgoingKind,
    Record,
)
from support_agent.store.rows import is_its_rendered_mail
from support_agent.store.tables import CaseChangeRow, CaseRow, DeliveryUpdateRow, MailRow, OutboxRow, RenderedMailRow

APPROVERS = (DeliverySource.STAFF, DeliverySource.OPERATOR)


class WaitingCase(Record):
    """A case that a person has and has not answered; `mail_id` is the mail that its last packet is about.

    `since` is when the first packet was made that no answer followed; `reminded_at` and `reminders` count from then.
    """

    case_id: CaseId
    mail_id: MailId
    since: Instant
    reminders: int
    reminded_at: Instant | None


class PersonAnswer(NamedTuple):
    """A person's answer to a customer; `approved_id` is the customer's mail whose proposed answer was approved."""

    case_id: CaseId
    at: datetime
    approved_id: MailId | None


@dataclass(frozen=True)
class Waits:
    """`Store.waits`."""

    database: Database

    def cases(self, since: datetime) -> tuple[WaitingCase, ...]:
        """Return the cases that a person has and in which a packet waits, the longest waiting first.

        Args:
            since: Packets that were made before do not count.
        """
        made_at = col(OutboxRow.created_at)
        counts = (col(CaseRow.state) == CaseState.WITH_PERSON, made_at >= since)
        packets = open_packets(OutboxRow.case_id, OutboxRow.mail_id, made_at).where(*counts)
        reminders: Any = (
            select(OutboxRow.case_id, made_at)
            .join(CaseRow, col(CaseRow.id) == col(OutboxRow.case_id))
            .where(*counts, col(OutboxRow.kind) == OutgoingKind.REMINDER)
        )
        waiting: dict[CaseId, list[tuple[MailId, datetime]]] = defaultdict(list)
        reminded: dict[CaseId, list[datetime]] = defaultdict(list)
        with self.database.read() as connection:
            for case_id, mail_id, at in connection.execute(packets.order_by(made_at, col(OutboxRow.id))):
                waiting[case_id].append((mail_id, at))
            for case_id, at in connection.execute(reminders):
                reminded[case_id].append(at)
        return tuple(_waiting_case(case_id, of_case, reminded[case_id]) for case_id, of_case in waiting.items())

    def mails(self, case_id: CaseId) -> frozenset[MailId]:
        """Return the mails of a case whose packets wait; whoever has the case, as it may just have been given back."""
        query = open_packets(OutboxRow.mail_id).where(col(CaseRow.id) == case_id)
        with self.database.read() as connection:
            return frozenset(map(MailId, connection.scalars(query)))

    def answers(self, since: datetime) -> tuple[PersonAnswer, ...]:
        """Return all answers of people in the cases with a packet that was made at this instant or later."""
        answer = aliased(OutboxRow)
        cases = (
            select(OutboxRow.case_id)
            .join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id))
            .where(_is_packet(), col(OutboxRow.created_at) >= since)
        )
        queries = [one.found.where(col(answer.case_id).in_(cases)) for one in _answers(answer)]
        with self.database.read() as connection:
            return tuple(PersonAnswer(*row) for query in queries for row in connection.execute(query))

    def is_of_person(self, outbox_id: OutboxId) -> bool:
        """Whether a person wrote, approved or chose a mail of ours."""
        queries = [one.found.where(col(OutboxRow.id) == outbox_id) for one in _answers(OutboxRow)]
        with self.database.read() as connection:
            return any(connection.execute(query).first() is not None for query in queries)


def open_packets(*columns: Any, among: Any = None) -> Any:
    """A query over the packets that wait, with their cases and mails; whoever has the case.

    Args:
        among: Ids of packets; only those count.
    """
    begun = select(*columns)
    if among is None:
        packets = begun.select_from(CaseRow).join(OutboxRow, col(OutboxRow.case_id) == col(CaseRow.id))
    else:
        packets = begun.select_from(among).join(OutboxRow, col(OutboxRow.id) == among.c.id)
        packets = packets.join(CaseRow, col(CaseRow.id) == col(OutboxRow.case_id))
    packets = packets.join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id))
    answer = aliased(OutboxRow)
    is_of_case = col(answer.case_id) == col(OutboxRow.case_id)
    answers = [
        one.found.where(is_of_case, one.at >= col(OutboxRow.created_at), *one.answers_packet)
        for one in _answers(answer)
    ]
    is_answered = [query.correlate(OutboxRow).exists() for query in answers]
    return packets.where(_is_packet(), ~_is_over(), *(~one for one in is_answered))


def _waiting_case(
    case_id: CaseId, packets: Sequence[tuple[MailId, datetime]], reminded: Iterable[datetime]
) -> WaitingCase:
    """A case by its packets that wait, the oldest first."""
    (_, since), (last, _) = packets[0], packets[-1]
    reminders = [at for at in reminded if at >= since]
    return WaitingCase(
        case_id=case_id,
        mail_id=last,
        since=since,
        reminders=len(reminders),
        reminded_at=max(reminders, default=None),
    )


# Conditions


def _is_packet() -> ColumnElement[bool]:
    """Whether it is a packet, and not the same once more without the original; or a notice about a mail that a person
    must answer, or about a bounce: it says that a mail was lost which cannot be read. Other filed mails need no answer.
    """
    kind = col(OutboxRow.kind)
    is_for_nobody = col(MailRow.status) == MailStatus.FILED  # a mail that only says that all is well
    is_first = and_(kind == OutgoingKind.PACKET, col(OutboxRow.number) == 1, ~is_for_nobody)
    is_escalated = col(MailRow.status).in_((MailStatus.ESCALATED, MailStatus.QUARANTINED))
    is_bounce = col(MailRow.reason_code) == col(MailRow.screening_rule)  # else only a mail without a notice is filed so
    is_notice = and_(kind == OutgoingKind.FAILURE, or_(is_escalated, is_bounce))
    # The kinds once more, because the index of a case's mails is by them.
    return and_(kind.in_((OutgoingKind.PACKET, OutgoingKind.FAILURE)), or_(is_first, is_notice))


def _is_over() -> ColumnElement[bool]:
    """Whether people closed the case, or gave it back, after a packet; a close that a person took back is none.

    A case that a person opened again is as if it had not been closed; one that its customer opened again is not.
    """
    change, later = aliased(CaseChangeRow), aliased(CaseChangeRow)
    taken_back = select(later.number).where(
        col(later.case_id) == col(change.case_id),
        col(later.number) == col(change.number) + 1,
        col(later.before) == CaseState.CLOSED,
    )
    ends = or_(
        col(change.after) == CaseState.OPEN,
        and_(col(change.after) == CaseState.CLOSED, ~taken_back.correlate(change).exists()),
    )
    is_later = second_of(col(change.changed_at)) > second_of(col(OutboxRow.created_at))  # packets are dated in seconds
    found = select(change.number).where(col(change.case_id) == col(OutboxRow.case_id), ends, is_later)
    return found.correlate(OutboxRow).exists()


class _Answers(NamedTuple):
    """The answers of people of one kind: their cases, instants and `PersonAnswer.approved_id`.

    `answers_packet` are the conditions, besides case and time, for one that ends the wait of a packet.
    """

    found: Any
    at: Any
    answers_packet: tuple[ColumnElement[bool], ...] = ()


def _answers(answer: type[OutboxRow]) -> tuple[_Answers, ...]:
    """The answers of people that customers may have got: wrote, chose, approved, or sent from their own program."""
    made_at, is_answer = col(answer.created_at), col(answer.kind) == OutgoingKind.ANSWER
    has_arrived = col(answer.status).not_in(LOST)
    answered_id = col(RenderedMailRow.header_inputs)["parent_mail_id"].as_string()
    parent = aliased(MailRow)
    wrote = (
        _found(answer, made_at)
        .join(RenderedMailRow, is_its_rendered_mail(answer), isouter=True)
        .join(parent, col(parent.id) == answered_id, isouter=True)
        .where(has_arrived, col(answer.kind) == OutgoingKind.PERSON_REPLY)
    )
    chose = (
        _found(answer, made_at)
        .join(RenderedMailRow, is_its_rendered_mail(answer))
        .where(has_arrived, is_answer, answered_id != col(answer.mail_id))  # a command caused it, not that mail
    )
    update = aliased(DeliveryUpdateRow)
    updated_at, is_its = col(update.updated_at), col(update.outbox_id) == col(answer.id)
    approved = (
        _found(answer, updated_at, col(answer.mail_id))
        .join(update, is_its)
        .join(RenderedMailRow, is_its_rendered_mail(answer), isouter=True)
        .where(has_arrived, is_answer, col(update.by).in_(APPROVERS))
        .where(col(update.before) == OutboxStatus.PROPOSED, col(update.after) == OutboxStatus.READY)
    )
    from_own_program = (
        _found(answer, updated_at)
        .join(update, is_its)
        .join(parent, col(parent.id) == col(answer.mail_id), isouter=True)
        .where(is_answer, col(update.by) == DeliverySource.SENT_FOLDER, col(update.after) == OutboxStatus.CANCELLED)
    )
    return (
        _Answers(wrote, made_at, (_answers_packets_mail(parent),)),
        _Answers(chose, made_at, (answered_id == col(OutboxRow.mail_id),)),
        _Answers(approved, updated_at, (col(answer.mail_id) == col(OutboxRow.mail_id), _is_whole())),
        _Answers(from_own_program, updated_at, (_answers_packets_mail(parent),)),
    )


def _answers_packets_mail(answered: type[MailRow]) -> ColumnElement[bool]:
    """Whether a person who answered this mail in own words has answered the packet's mail, too: the same, or an older
    one of the same author whose packet arrived, and which has no proposal that waits. Of a mail that is gone nothing is
    known.
    """
    about, packed, other = aliased(MailRow), aliased(RenderedMailRow), aliased(OutboxRow)
    told = func.nullif(col(packed.payload)["about_mail_id"].as_string(), "")
    author = (
        select(about.id)
        .select_from(packed)
        .join(about, col(about.id) == func.coalesce(told, col(packed.mail_id)))
        .where(is_its_rendered_mail(OutboxRow, packed))
    )
    is_of_author = col(about.sender_address) == col(answered.sender_address)
    is_older = col(about.received_at) <= col(answered.received_at)
    is_same, is_earlier = (
        author.where(*conditions).correlate(OutboxRow, answered).exists()
        for conditions in ((col(about.id) == col(answered.id),), (is_of_author, is_older))
    )
    of_its_mail = select(other.id).where(col(other.mail_id) == col(OutboxRow.mail_id)).correlate(OutboxRow)
    is_proposed = of_its_mail.where(col(other.status) == OutboxStatus.PROPOSED).exists()
    has_arrived = or_(
        col(OutboxRow.status) != OutboxStatus.FAILED,
        of_its_mail.where(
            col(other.kind) == col(OutboxRow.kind),
            col(other.number) > col(OutboxRow.number),
            col(other.status) == OutboxStatus.SENT,
        ).exists(),
    )
    is_its_own = col(answered.id) == col(OutboxRow.mail_id)
    return or_(col(answered.id).is_(None), is_its_own, is_same, and_(is_earlier, has_arrived, ~is_proposed))


def _found(answer: type[OutboxRow], at: Any, approved_id: Any = None) -> Any:
    return select(col(answer.case_id), at, null() if approved_id is None else approved_id).select_from(answer)


def _is_whole() -> ColumnElement[bool]:
    """Whether an answer leaves no question of its mail open, as far as its data are kept; see `FinalAnswer`."""
    payload = type_coerce(col(RenderedMailRow.payload), JSON)
    blocks = func.json_array_length(payload["answers"])
    answered = func.coalesce(payload["answered"].as_integer(), blocks)
    return or_(col(RenderedMailRow.mail_id).is_(None), answered >= payload["asked"].as_integer())
