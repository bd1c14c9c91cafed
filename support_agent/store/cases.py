"""Cases: one customer's thread, who may continue it, and whether a person has it.

Invariant: a mail joins a case only by a Message-ID that the case holds, and a case that a person has goes back to
automation only where a person orders it. Checked by tests/contract/store/test_cases.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, insert, or_, tuple_, update
from sqlmodel import col, select

from support_agent.core.size_limits import batches
from support_agent.errors import PermanentError
from support_agent.store import audit, deliveries, mails, outbox, plans
from support_agent.store.audit import AuditEvent
from support_agent.store.columns import index_key
from support_agent.store.database import Database
from support_agent.store.desk_records import CaseChange
from support_agent.store.records import (
    CaseId,
    CaseRecord,
    CaseState,
    CaseSummary,
    MailId,
    MailRecord,
    OutboxEntry,
    OutboxRecord,
    PlanRecord,
    Record,
    RenderedMailRecord,
)
from support_agent.store.rows import affected, columns, insert_if_new
from support_agent.store.sealing import Sealing
from support_agent.store.tables import CaseChangeRow, CaseRow, MailRow, OutboxRow, ParticipantRow
from support_agent.store.vault import about

MAILS_READ = 500
"""Mails that are read at once to find the newest cases."""

_IS_IT = col(CaseRow.id) == bindparam("case")
_CHANGE = update(CaseRow).where(_IS_IT)
_COLUMNS = [*columns(CaseRow), ParticipantRow.address]
_CASE: Select[Any] = (
    select(*_COLUMNS).outerjoin(ParticipantRow, col(ParticipantRow.case_id) == col(CaseRow.id)).where(_IS_IT)
)
_OLDEST = (col(CaseRow.opened_at), col(CaseRow.id))
_WITH_PERSON = (
    select(CaseRow.id)
    .where(
        col(CaseRow.customer_address) == bindparam("address"),
        func.coalesce(col(CaseRow.state), "") == CaseState.WITH_PERSON,  # else SQLite begins with all such cases
    )
    .order_by(*_OLDEST)
)
_NOTE_LANGUAGE = _CHANGE.where(col(CaseRow.language).is_(None))
_GIVE_TO_DESK = _CHANGE.where(func.coalesce(col(CaseRow.desk), "") == bindparam("before"))
_SENT = select(OutboxRow.message_id, OutboxRow.case_id).where(
    col(OutboxRow.message_id).in_(bindparam("keys", expanding=True)), col(OutboxRow.case_id).is_not(None)
)
_RECEIVED = (
    select(MailRow.message_id, MailRow.case_id)
    .where(col(MailRow.message_id).in_(bindparam("keys", expanding=True)), col(MailRow.case_id).is_not(None))
    .order_by(col(MailRow.received_at), col(MailRow.id))
)
_MAILS_OF_CASES = (
    select(MailRow.case_id, func.count(col(MailRow.id)))
    .where(col(MailRow.case_id).in_(bindparam("cases", expanding=True)))
    .group_by(col(MailRow.case_id))
)


class DeskCases(Record):
    """How many cases people have at a desk by one rule."""

    desk: str
    why: str
    cases: int


class MailTimeline(Record):
    """A mail with its plan, its rendered mails and its outbox rows.

    If its key is gone, neither the mail nor what was made of it can be read: then only `unreadable`, its outbox rows
    without their bytes, is filled. It is None for other mails.
    """

    mail: MailRecord
    plan: PlanRecord | None = None
    rendered_mails: tuple[RenderedMailRecord, ...] = ()
    outbox: tuple[OutboxRecord, ...] = ()
    unreadable: tuple[OutboxEntry, ...] | None = None

    @property
    def is_readable(self) -> bool:
        """Whether its key is there; retention may have emptied it all the same."""
        return self.unreadable is None


class Timeline(Record):
    """A case and its mails, the oldest first."""

    case: CaseRecord
    mails: tuple[MailTimeline, ...]


@dataclass(frozen=True)
class Cases:
    """`Store.cases`."""

    database: Database

    def open(self, case: CaseRecord, mail_id: MailId) -> CaseRecord:
        """Open a case with its first mail; its customer is a participant. An existing case stays."""
        with about(mail_id), self.database.write() as connection:
            insert_if_new(connection, CaseRow, case.model_dump(exclude={"participants"}))
            return _join(connection, mail_id, case.id, {case.customer_address, *case.participants})

    def join(self, mail_id: MailId, case_id: CaseId, participants: Sequence[str] = ()) -> CaseRecord:
        """Add a mail to a case, and add these participants, who may continue the case from now on."""
        with self.database.write() as connection:
            _existing(connection, case_id)
            return _join(connection, mail_id, case_id, set(participants))

    def get(self, case_id: CaseId) -> CaseRecord | None:
        """Return one case."""
        with self.database.read() as connection:
            return _case(connection, case_id)

    def for_thread(self, references: Sequence[str]) -> tuple[CaseRecord, ...]:
        """Find the cases that a mail may continue, each once.

        Anybody can write a Message-ID into a header: the caller must check that the sender is a participant.

        Args:
            references: Message-IDs, the nearest first: In-Reply-To, then References from its end.
        Returns:
            In the order of the references. For one reference, the case of our own mail comes first, then the cases of
            received mails.
        """
        found: dict[CaseId, None] = {}
        with self.database.read() as connection:
            for part in batches(references):
                keys = [index_key(reference) for reference in part]
                owners = _cases_by_message_id(connection, keys)
                found |= {case_id: None for key in keys for case_id in owners.get(key, ())}
            return tuple(_existing(connection, case_id) for case_id in found)

    def with_person(self, address: str) -> tuple[CaseRecord, ...]:
        """The cases of a customer's address that a person has, the oldest first."""
        with self.database.read() as connection:
            found = connection.scalars(_WITH_PERSON, {"address": address}).all()
            return tuple(_existing(connection, CaseId(case_id)) for case_id in found)

    def found(self, text: str, limit: int) -> tuple[CaseRecord, ...]:
        """Return the case with this id, and those of the customer with this address, the newest first."""
        query = (
            select(col(CaseRow.id))
            .where(or_(col(CaseRow.id) == text.lower(), col(CaseRow.customer_address) == text.lower()))
            .order_by(col(CaseRow.opened_at).desc(), col(CaseRow.id))
        )
        with self.database.read() as connection:
            found = connection.scalars(query.limit(limit)).all()
            return tuple(_existing(connection, CaseId(case_id)) for case_id in found)

    def escalate(self, case_id: CaseId) -> None:
        """Close a case to automation; only a person gives it back."""
        with self.database.write() as connection:
            if affected(connection, _CHANGE, {"case": case_id, "state": CaseState.WITH_PERSON}) != 1:
                raise _no_case(case_id)

    def give_to_desk(self, case_id: CaseId, desk: str, why: str, before: str | None) -> CaseRecord:
        """Give a case to a desk.

        Args:
            why: The rule that says so.
            before: The desk that it has now, None for none; if it has another one by now, it keeps that.
        Returns:
            The case, with the desk that it has.
        """
        values = {"case": case_id, "before": before or "", "desk": desk, "desk_why": why}
        with self.database.write() as connection:
            affected(connection, _GIVE_TO_DESK, values)
            return _existing(connection, case_id)

    def note_language(self, case_id: CaseId, language: str) -> None:
        """Record the language of a case, once; "" where none was recognised."""
        with self.database.write() as connection:
            affected(connection, _NOTE_LANGUAGE, {"case": case_id, "language": language})

    def at_desks(self) -> tuple[DeskCases, ...]:
        """Count the cases that people have, by desk and rule; those without a desk are left out."""
        number = func.count(col(CaseRow.id))
        query = (
            select(CaseRow.desk, CaseRow.desk_why, number)
            .where(col(CaseRow.state) == CaseState.WITH_PERSON, col(CaseRow.desk).is_not(None))
            .group_by(col(CaseRow.desk), col(CaseRow.desk_why))
            .order_by(number.desc(), col(CaseRow.desk), col(CaseRow.desk_why))
        )
        with self.database.read() as connection:
            return tuple(
                DeskCases(desk=str(desk), why=why or "", cases=count) for desk, why, count in connection.execute(query)
            )

    def change(
        self, case_id: CaseId, state: CaseState, assignee: str | None, who: str, why: str, at: datetime
    ) -> CaseChange | None:
        """Change who has a case, because a person at the desk or its customer wants it so.

        Returns:
            The change; None: it is so already, and nothing is recorded.
        """
        with self.database.write() as connection:
            query = select(CaseRow.state, CaseRow.assignee).where(_IS_IT).with_for_update()
            row = connection.execute(query, {"case": case_id}).first()
            if row is None:
                raise _no_case(case_id)
            before = CaseState(row.state)
            if (before, row.assignee) == (state, assignee):
                return None
            made = CaseChange(
                case_id=case_id,
                number=len(_changes(connection, case_id)) + 1,
                before=before,
                after=state,
                assignee=assignee,
                who=who,
                why=why,
                changed_at=at,
            )
            connection.execute(insert(CaseChangeRow), dict(made))
            affected(connection, _CHANGE, {"case": case_id, "state": state, "assignee": assignee})
            what = {"case_id": case_id, "before": before.value, "after": state.value, "assignee": assignee}
            audit.append(connection, AuditEvent.CASE_CHANGED, who, at, what)
            return made

    def changes(self, case_id: CaseId) -> tuple[CaseChange, ...]:
        """Return the changes of a case that people ordered, the oldest first."""
        with self.database.read() as connection:
            return tuple(_changes(connection, case_id))

    def get_one(self, case_id: str) -> CaseRecord:
        """Return one case that must exist."""
        with self.database.read() as connection:
            return _existing(connection, CaseId(case_id))

    def mails_of(self, case_id: CaseId) -> tuple[MailId, ...]:
        """Return the ids of the mails of a case, the oldest first."""
        query = (
            select(MailRow.id)
            .where(col(MailRow.case_id) == case_id)
            .order_by(col(MailRow.received_at), col(MailRow.uid), col(MailRow.id))
        )
        with self.database.read() as connection:
            return tuple(MailId(found) for found in connection.scalars(query))

    def reopen(self, case_id: CaseId) -> CaseRecord:
        """Reopen a closed case, for whoever had it before it was closed; another case stays as it is."""
        with self.database.write() as connection:
            closed = [change for change in _changes(connection, case_id) if change.after is CaseState.CLOSED]
            state = closed[-1].before if closed else CaseState.WITH_PERSON
            is_closed = _CHANGE.where(col(CaseRow.state) == CaseState.CLOSED)
            affected(connection, is_closed, {"case": case_id, "state": state})
            return _existing(connection, case_id)

    def recent(self, limit: int) -> tuple[CaseSummary, ...]:
        """Return the cases with the newest mails, the newest first."""
        newest: dict[CaseId, datetime] = {}
        with self.database.read() as connection:
            for case_id, received_at, _ in _newest_mails(connection):
                newest.setdefault(CaseId(case_id), received_at)
                if len(newest) == limit:
                    break
            counts: dict[str, int] = {}
            for part in batches(tuple(newest)):
                counts |= dict(connection.execute(_MAILS_OF_CASES, {"cases": part}).all())
            return tuple(
                CaseSummary(case=_existing(connection, case_id), mails=counts[case_id], last_received_at=received_at)
                for case_id, received_at in newest.items()
                if case_id in counts  # else it was forgotten meanwhile
            )

    def timeline(self, case_id: CaseId) -> Timeline | None:
        """Return a case with its mails, and each mail's plan, rendered mails and outbox rows."""
        gone = Sealing(self.database).unreadable(self.mails_of(case_id))
        with self.database.read() as connection:
            found = _case(connection, case_id)
            if found is None:
                return None
            inbound = mails.records(connection, col(MailRow.case_id) == case_id)
            return Timeline(case=found, mails=tuple(_mail_timeline(connection, mail, gone) for mail in inbound))


def _newest_mails(connection: Connection) -> Iterator[Any]:
    """Each mail's case, time and id, the newest first; read over an index, in parts, as far as they are asked for."""
    place = (col(MailRow.received_at), col(MailRow.id))
    query = select(MailRow.case_id, MailRow.received_at, MailRow.id).where(col(MailRow.case_id).is_not(None))
    query = query.order_by(*(column.desc() for column in place)).limit(MAILS_READ)
    rows = connection.execute(query).all()
    while rows:
        yield from rows
        _, *last = rows[-1]
        rows = connection.execute(query.where(tuple_(*place) < tuple(last))).all()


def _changes(connection: Connection, case_id: CaseId) -> Sequence[CaseChange]:
    query = select(CaseChangeRow).where(col(CaseChangeRow.case_id) == case_id).order_by(col(CaseChangeRow.number))
    return [CaseChange.model_validate(row) for row in connection.execute(query)]


def _join(connection: Connection, mail_id: MailId, case_id: CaseId, participants: set[str]) -> CaseRecord:
    for address in participants:
        insert_if_new(connection, ParticipantRow, {"case_id": case_id, "address": address})
    mails.change(connection, mail_id, case_id=case_id)
    return _existing(connection, case_id)


def _case(connection: Connection, case_id: CaseId) -> CaseRecord | None:
    rows = connection.execute(_CASE, {"case": case_id}).all()
    if not rows:
        return None
    participants = tuple(sorted(row.address for row in rows if row.address is not None))
    return CaseRecord.model_validate(rows[0]).model_copy(update={"participants": participants})


def _existing(connection: Connection, case_id: CaseId) -> CaseRecord:
    found = _case(connection, case_id)
    if found is None:
        raise _no_case(case_id)
    return found


def _no_case(case_id: CaseId) -> PermanentError:
    return PermanentError(f"case {case_id} is not in the store", code="no_case")


def _cases_by_message_id(connection: Connection, keys: Sequence[str]) -> dict[str, list[CaseId]]:
    """Map each Message-ID to its cases: the case of our own mail, then those of received mails, the oldest first.

    Senders choose their ids, so an unknown sender may reuse a customer's; ours are keyed and unique.
    """
    owners: dict[str, list[CaseId]] = {}
    for query in (_SENT, _RECEIVED):
        for key, owner in connection.execute(query, {"keys": keys}):
            owners.setdefault(key, []).append(CaseId(str(owner)))
    return owners


def _mail_timeline(connection: Connection, mail: MailRecord, gone: Collection[MailId]) -> MailTimeline:
    is_its = col(OutboxRow.mail_id) == mail.id
    if mail.id in gone:
        return MailTimeline(mail=mail, unreadable=deliveries.entries(connection, is_its))
    return MailTimeline(
        mail=mail,
        plan=plans.plan_of(connection, mail.id),
        rendered_mails=outbox.rendered_mails_of(connection, mail.id),
        outbox=outbox.records(connection, is_its),
    )
