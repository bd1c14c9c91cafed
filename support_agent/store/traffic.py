"""How much went to whom: what the limits of automatic mail are counted by.

Invariant: it is counted what came into the outbox, or how mails ended, not what was meant to, so a process that died
forgets nothing; and what is counted for one mail, of its case (`for_case`) and of its sender (`for_sender`, `answers`),
leaves out what this mail caused itself, so a step that runs again counts the same. What is counted for everybody leaves
out nothing. Nothing is written here. Checked by tests/contract/store/test_traffic.py.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, and_, func, or_
from sqlmodel import col, select

from support_agent.core.levels import Level
from support_agent.store.database import Database
from support_agent.store.records import CaseId, CaseState, EarlierAnswer, LetterKind, MailId, OutboxStatus, Passed
from support_agent.store.tables import CaseRow, LetterRow, MailRow, OutboxRow

FOREVER = datetime.max.replace(tzinfo=UTC)


class Traffic:
    """The outbox, counted; `Store.traffic`. Any method may raise what those of `Store` may."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def for_case(self, kinds: Collection[LetterKind], case_id: CaseId, but_for: MailId) -> int:
        """Return how many mails of these kinds are in the outbox for a case, those for one of its mails left out."""
        query = select(func.count(col(OutboxRow.id))).where(
            col(OutboxRow.kind).in_(kinds), col(OutboxRow.case_id) == case_id, col(OutboxRow.mail_id) != but_for
        )
        with self._database.read() as session:
            return session.exec(query).one()

    def for_sender(
        self,
        kinds: Collection[LetterKind],
        address: str,
        level: Level,
        since: datetime,
        but_for: MailId,
        until: datetime = FOREVER,
    ) -> int:
        """Return how many mails of these kinds the mails from an address have caused.

        Args:
            level: Only what mails of at least this level caused: who forges an address uses up nothing of its owner's.
            since: Only what was put into the outbox at this instant or later.
            but_for: What this mail caused is left out.
            until: Nor what was put there later than this: by a clock that was ahead.
        """
        query = (
            select(func.count(col(OutboxRow.id)))
            .join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id))
            .where(
                col(OutboxRow.kind).in_(kinds),
                col(OutboxRow.created_at).between(since, until),
                col(OutboxRow.mail_id) != but_for,
                _is_of(address),
                col(MailRow.level) >= level,
            )
        )
        with self._database.read() as session:
            return session.exec(query).one()

    def answers(
        self,
        case_id: CaseId | None,
        address: str,
        level: Level,
        *,
        since: datetime,
        until: datetime = FOREVER,
        but_for: MailId,
    ) -> tuple[EarlierAnswer, ...]:
        """Return what a case was answered, or will be, and a sender elsewhere, the newest first.

        What is known not to have gone out is none.

        Args:
            case_id: All of it, whoever asked; None: there is no case.
            address: Whom answers elsewhere went to; "" for nobody.
            level: As in `for_sender`.
            since: Of those elsewhere only what was put into the outbox at this instant or later.
            until: Of all only what was put there before this one.
            but_for: The answer to this mail is left out.
        """
        is_senders = and_(
            col(MailRow.sender_address) == address,
            col(MailRow.sender_address) != "",
            col(MailRow.level) >= level,
            col(OutboxRow.created_at) >= since,
        )
        is_its_letter = and_(
            col(LetterRow.mail_id) == col(OutboxRow.mail_id),
            col(LetterRow.kind) == OutboxRow.kind,
            col(LetterRow.number) == OutboxRow.number,
        )
        query = (
            select(OutboxRow.case_id, OutboxRow.created_at, LetterRow.payload)
            .join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id))
            .join(LetterRow, is_its_letter)
            .where(
                col(OutboxRow.kind) == LetterKind.ANSWER,
                col(OutboxRow.status) != OutboxStatus.FAILED,
                or_(col(OutboxRow.case_id) == case_id, is_senders) if case_id else is_senders,
                col(OutboxRow.created_at) < until,
                col(OutboxRow.mail_id) != but_for,
            )
            .order_by(col(OutboxRow.created_at).desc(), col(OutboxRow.id))
        )
        with self._database.read() as session:
            return tuple(
                EarlierAnswer(case_id=CaseId(case_id) if case_id else None, queued_at=queued_at, payload=payload)
                for case_id, queued_at, payload in session.exec(query)
            )

    def passed(
        self, kinds: Collection[LetterKind], since: datetime, below: Level | None = None, until: datetime = FOREVER
    ) -> Passed:
        """Return how many mails of these kinds came into the outbox since an instant, and how many left it.

        One that is being sent, or of which nobody knows whether it was, counts as sent when it came in.

        Args:
            below: Only what mails below this level caused.
            until: As in `for_sender`.
        """
        count = select(func.count(col(OutboxRow.id))).where(col(OutboxRow.kind).in_(kinds))
        if below is not None:
            count = count.join(MailRow, col(MailRow.id) == col(OutboxRow.mail_id)).where(
                func.coalesce(col(MailRow.level), 0) < below
            )
        has_come = col(OutboxRow.created_at).between(since, until)
        may_be_gone = and_(has_come, col(OutboxRow.status).in_((OutboxStatus.SENDING, OutboxStatus.UNCERTAIN)))
        with self._database.read() as session:
            return Passed(
                queued=session.exec(count.where(has_come)).one(),
                sent=session.exec(count.where(or_(col(OutboxRow.sent_at).between(since, until), may_be_gone))).one(),
            )

    def ended_for(
        self,
        reason_code: str,
        since: datetime,
        address: str | None = None,
        level: Level = 0,
        until: datetime = FOREVER,
    ) -> int:
        """Return how many mails have come to their end for this reason since an instant.

        Args:
            address: Only those of this sender.
            level: And at least at this level.
            until: As in `for_sender`.
        """
        query = select(func.count(col(MailRow.id))).where(
            col(MailRow.reason_code) == reason_code, col(MailRow.handled_at).between(since, until)
        )
        if address is not None:
            query = query.where(_is_of(address), col(MailRow.level) >= level)
        with self._database.read() as session:
            return session.exec(query).one()

    def busiest_case(self, kinds: Collection[LetterKind]) -> tuple[CaseId, int] | None:
        """Return the open case with the most mails of these kinds in the outbox, and how many; None: none has any."""
        number = func.count(col(OutboxRow.id))
        query = (
            select(OutboxRow.case_id, number)
            .join(CaseRow, col(CaseRow.id) == col(OutboxRow.case_id))
            .where(col(OutboxRow.kind).in_(kinds), col(CaseRow.state) == CaseState.OPEN)
            .group_by(col(OutboxRow.case_id))
            .order_by(number.desc(), col(OutboxRow.case_id))
        )
        with self._database.read() as session:
            found = session.exec(query).first()
        return (CaseId(str(found[0])), found[1]) if found else None

    def busiest_sender(
        self, kinds: Collection[LetterKind], since: datetime, until: datetime = FOREVER
    ) -> tuple[str, int] | None:
        """Return the address whose mails caused the most mails of these kinds since an instant, and how many."""
        number = func.count(col(OutboxRow.id))
        query = (
            select(MailRow.sender_address, number)
            .join(OutboxRow, col(MailRow.id) == col(OutboxRow.mail_id))
            .where(
                col(OutboxRow.kind).in_(kinds),
                col(OutboxRow.created_at).between(since, until),
                col(MailRow.sender_address) != "",
            )
            .group_by(col(MailRow.sender_address))
            .order_by(number.desc(), col(MailRow.sender_address))
        )
        with self._database.read() as session:
            found = session.exec(query).first()
        return (str(found[0]), found[1]) if found else None


def _is_of(address: str) -> ColumnElement[bool]:
    """Whether a mail is from an address, whatever it has behind a "+": machines write from a new one each time."""
    sender = col(MailRow.sender_address)
    local, _, domain = address.rpartition("@")
    name = local.partition("+")[0]
    if not name:
        return sender == address
    is_tagged = and_(sender.startswith(f"{name}+", autoescape=True), sender.endswith(f"@{domain}", autoescape=True))
    return or_(sender == f"{name}@{domain}", is_tagged)
