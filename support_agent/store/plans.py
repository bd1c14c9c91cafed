"""How each mail was decided: its plan, the plan's tool calls, and the case's memory after it.

The memory is stored with each mail's plan, not once for the case, so that a plan that is made again, after a crash or
by `replay`, starts from the same memory as the first time.

Invariant: once a mail has something in the outbox, its plan and memory are never replaced. Checked by
tests/contract/store/test_plans.py and test_memory.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, bindparam, delete, insert
from sqlalchemy.orm import aliased
from sqlmodel import col, select

from support_agent.errors import PermanentError
from support_agent.store import mails
from support_agent.store.database import Database
from support_agent.store.records import Json, MailId, PlanRecord, ToolCallRecord
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import MailRow, OutboxRow, PlanRow, ToolCallRow
from support_agent.store.vault import about

MAX_MEMORY_CHARACTERS = 250_000
"""Limit of one case's memory: hundreds of questions; a longer case needs a person."""

_IS_ITS = col(PlanRow.mail_id) == bindparam("mail")
_PLAN = select(PlanRow).where(_IS_ITS)
_MEMORY = select(PlanRow.memory).where(_IS_ITS)
_PLANNED_AT = select(PlanRow.planned_at).where(_IS_ITS)
_CALLS = select(ToolCallRow).where(col(ToolCallRow.mail_id) == bindparam("mail")).order_by(col(ToolCallRow.seq))
_ADD_CALLS = insert(ToolCallRow).returning(col(ToolCallRow.mail_id))
"""One statement for all calls. Without RETURNING PostgreSQL's driver would send a pipeline, in which a process that is
stopped does not count as idle: its locks would stay."""


def _memory_before() -> Select[str | None]:
    mine, earlier = aliased(MailRow), aliased(MailRow)
    return (
        select(PlanRow.memory)
        .join(earlier, col(earlier.id) == col(PlanRow.mail_id))
        .join(mine, col(mine.case_id) == col(earlier.case_id))
        .where(col(mine.id) == bindparam("mail"), col(PlanRow.memory).is_not(None), mails.is_older(earlier, mine))
        .order_by(col(earlier.received_at).desc(), col(earlier.uid).desc(), col(earlier.id).desc())
        .limit(1)
    )


_MEMORY_BEFORE: Select[str | None] = _memory_before()


class RecordedChoice(NamedTuple):
    """Of a tool call, what says which topic was chosen and what became of it."""

    tool: str
    status: str
    votes: Json


@dataclass(frozen=True)
class Plans:
    """`Store.plans`."""

    database: Database

    def save(self, plan: PlanRecord, memory: str | None = None) -> None:
        """Store the plan of a mail with its calls and the case's memory after it; another plan replaces both.

        Raises:
            PermanentError: the plan differs from the stored one, which already led to an outbox row; or the memory is
                longer than `MAX_MEMORY_CHARACTERS`.
        """
        if memory is not None and len(memory) > MAX_MEMORY_CHARACTERS:
            what = f"the memory of the case has {len(memory)} characters, {MAX_MEMORY_CHARACTERS} are kept"
            raise PermanentError(f"{what}: let a person take the case", code="memory_size")
        with about(plan.mail_id), self.database.write() as connection:
            mails.lock(connection, plan.mail_id)
            values = {**plan.model_dump(exclude={"calls"}), "memory": memory}
            if not insert_if_new(connection, PlanRow, values):
                if (plan_of(connection, plan.mail_id), _memory_of(connection, plan.mail_id)) == (plan, memory):
                    return
                _delete(connection, plan.mail_id)
                insert_if_new(connection, PlanRow, values)
            if plan.calls:
                connection.execute(_ADD_CALLS, [{"mail_id": plan.mail_id, **dict(call)} for call in plan.calls]).all()

    def get(self, mail_id: MailId) -> PlanRecord | None:
        """Return the plan of a mail; None: it was not planned."""
        with self.database.read() as connection:
            return plan_of(connection, mail_id)

    def choices(self, since: datetime) -> Mapping[MailId, Sequence[RecordedChoice]]:
        """Return the choices of each planned mail that came in at this instant or later, in their order."""
        columns: tuple[Any, ...] = (ToolCallRow.mail_id, ToolCallRow.tool, ToolCallRow.status, ToolCallRow.votes)
        query: Any = (
            select(*columns)
            .join(MailRow, col(MailRow.id) == col(ToolCallRow.mail_id))
            .where(col(MailRow.received_at) >= since)
            .order_by(col(MailRow.received_at), col(ToolCallRow.seq))
        )
        found: dict[MailId, list[RecordedChoice]] = defaultdict(list)
        with self.database.read() as connection:
            for mail_id, *choice in connection.execute(query):
                found[mail_id].append(RecordedChoice(*choice))
        return found

    def planned_at(self, mail_id: MailId) -> datetime | None:
        """Return when a mail was planned; None: it was not."""
        with self.database.read() as connection:
            return connection.scalar(_PLANNED_AT, {"mail": mail_id})

    def memory_of(self, mail_id: MailId) -> str | None:
        """Return the memory stored with the plan of a mail."""
        with self.database.read() as connection:
            return _memory_of(connection, mail_id)

    def memory_before(self, mail_id: MailId) -> str | None:
        """Return the memory stored with the newest plan of an older mail of its case; None: there is none."""
        with self.database.read() as connection:
            return connection.scalar(_MEMORY_BEFORE, {"mail": mail_id})


def plan_of(connection: Connection, mail_id: MailId) -> PlanRecord | None:
    """Return the plan of a mail, as part of another transaction."""
    row = connection.execute(_PLAN, {"mail": mail_id}).first()
    if row is None:
        return None
    calls = tuple(ToolCallRecord.model_validate(call) for call in connection.execute(_CALLS, {"mail": mail_id}))
    return PlanRecord.model_validate(row).model_copy(update={"calls": calls})


def _memory_of(connection: Connection, mail_id: MailId) -> str | None:
    return connection.scalar(_MEMORY, {"mail": mail_id})


def _delete(connection: Connection, mail_id: MailId) -> None:
    found = connection.scalar(select(OutboxRow.id).where(col(OutboxRow.mail_id) == mail_id))
    if found is not None:
        raise PermanentError(
            f"{found} is in the outbox: the plan behind it cannot be replaced", code="already_in_outbox"
        )
    for table in (ToolCallRow, PlanRow):
        affected(connection, delete(table).where(col(table.mail_id) == mail_id))
