"""How each mail was decided: its plan, the plan's tool calls, and the case's memory after it.

The memory is stored with each mail's plan, not once for the case, so that a plan that is made again, after a crash or
by `replay`, starts from the same memory as the first time.

Invariant: once a mail has something in the outbox, its plan and memory are never replaced. Checked by
tests/contract/store/test_plans.py and test_memory.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from support_agent.errors import PermanentError
from support_agent.store import mails
from support_agent.store.database import Database
from support_agent.store.records import MailId, PlanRecord, ToolCallRecord
from support_agent.store.rows import affected
from support_agent.store.tables import MailRow, OutboxRow, PlanRow, ToolCallRow

MAX_MEMORY_CHARACTERS = 250_000
"""Limit of one case's memory: hundreds of questions; a longer case needs a person."""


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
        with self.database.write() as session:
            mails.lock(session, plan.mail_id)
            stored = plan_of(session, plan.mail_id)
            if stored == plan and _memory_of(session, plan.mail_id) == memory:
                return
            if stored is not None:
                _delete(session, plan.mail_id)
            session.add(PlanRow(**plan.model_dump(exclude={"calls"}), memory=memory))
            session.flush()
            session.add_all(ToolCallRow(mail_id=plan.mail_id, **call.model_dump()) for call in plan.calls)

    def get(self, mail_id: MailId) -> PlanRecord | None:
        """Return the plan of a mail; None: it was not planned."""
        with self.database.read() as session:
            return plan_of(session, mail_id)

    def memory_of(self, mail_id: MailId) -> str | None:
        """Return the memory stored with the plan of a mail."""
        with self.database.read() as session:
            return _memory_of(session, mail_id)

    def memory_before(self, mail_id: MailId) -> str | None:
        """Return the memory stored with the newest plan of an older mail of its case; None: there is none."""
        mine, earlier = aliased(MailRow), aliased(MailRow)
        query = (
            select(PlanRow.memory)
            .join(earlier, col(earlier.id) == col(PlanRow.mail_id))
            .join(mine, col(mine.case_id) == col(earlier.case_id))
            .where(col(mine.id) == mail_id, col(PlanRow.memory).is_not(None), mails.is_older(earlier, mine))
            .order_by(col(earlier.received_at).desc(), col(earlier.uid).desc(), col(earlier.id).desc())
        )
        with self.database.read() as session:
            return session.exec(query.limit(1)).first()


def plan_of(session: Session, mail_id: MailId) -> PlanRecord | None:
    """Return the plan of a mail, as part of another transaction."""
    row = session.get(PlanRow, mail_id)
    if row is None:
        return None
    query = select(ToolCallRow).where(col(ToolCallRow.mail_id) == mail_id).order_by(col(ToolCallRow.seq))
    calls = tuple(ToolCallRecord.model_validate(call) for call in session.exec(query))
    return PlanRecord.model_validate(row).model_copy(update={"calls": calls})


def _memory_of(session: Session, mail_id: MailId) -> str | None:
    return session.exec(select(PlanRow.memory).where(col(PlanRow.mail_id) == mail_id)).first()


def _delete(session: Session, mail_id: MailId) -> None:
    found = session.exec(select(OutboxRow.id).where(col(OutboxRow.mail_id) == mail_id)).first()
    if found is not None:
        raise PermanentError(
            f"{found} is in the outbox: the plan behind it cannot be replaced", code="already_in_outbox"
        )
    for table in (ToolCallRow, PlanRow):
        affected(session, delete(table).where(col(table.mail_id) == mail_id))
    session.expunge_all()  # the session must not mistake the deleted rows for the new ones
