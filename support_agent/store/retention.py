"""Deletes old cases and mails, and single kinds of data that are kept for a shorter time.

Invariant: a case is deleted whole or not at all, unfinished work is never deleted, no single kind of data goes while a
person must still answer in its case, and the id of a deleted mail is kept so that it is never answered again. Checked
by tests/contract/store/test_retention.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, and_, delete, func, or_, update
from sqlalchemy.orm import aliased
from sqlmodel import col, select

from support_agent.config.settings import StoreSettings
from support_agent.core.size_limits import batches
from support_agent.store import audit
from support_agent.store.database import Database
from support_agent.store.records import MailStatus, OutboxStatus, Record
from support_agent.store.rows import affected, insert_if_new, is_its_rendered_mail
from support_agent.store.tables import (
    CaseChangeRow,
    CaseRow,
    DeliveryUpdateRow,
    ForgottenMailRow,
    LabelRow,
    MailRow,
    OutboxRow,
    ParticipantRow,
    PlanRow,
    RenderedMailRow,
    ToolCallRow,
    UsedKeyRow,
)
from support_agent.store.vault import Vault
from support_agent.store.waiting import open_packets

UNFINISHED = (OutboxStatus.READY, OutboxStatus.SENDING, OutboxStatus.UNCERTAIN)
"""Statuses of mails that may still leave, or of which nobody knows whether they did."""


class Deleted(Record):
    """How many rows were deleted."""

    cases: int
    mails: int


@dataclass(frozen=True)
class Retention:
    """`Store.retention`."""

    database: Database

    def run(self, settings: StoreSettings, now: datetime) -> Deleted:
        """Delete what is older than the settings say: whole cases and mails, then single kinds of data."""

        def before(days: int) -> datetime:
            return now - timedelta(days=days or settings.retention_days)

        deleted = self.delete_older_than(before(0))
        if settings.raw_retention_days:
            self._delete_raw(before(settings.raw_retention_days))
        if settings.plan_retention_days:
            self._delete_plans(before(settings.plan_retention_days))
        if settings.outbox_retention_days:
            self._delete_sent(before(settings.outbox_retention_days))
        if settings.label_retention_days:
            self._delete_labels(before(settings.label_retention_days))
        with self.database.write() as connection:
            audit.delete_before(connection, before(settings.audit_retention_days), now)
        return deleted

    def _delete_raw(self, instant: datetime) -> None:
        """Empty the bytes of received mails."""
        mail = aliased(MailRow)
        has_bytes = func.length(mail.raw) > 0
        with self.database.write() as connection:
            query = select(mail.id).where(has_bytes, col(mail.received_at) < instant, _is_idle(mail, instant))
            for part in batches(connection.scalars(query).all()):
                affected(connection, update(MailRow).where(col(MailRow.id).in_(part)).values(raw=b""))

    def _delete_plans(self, instant: datetime) -> None:
        mail = aliased(MailRow)
        with self.database.write() as connection:
            query = select(PlanRow.mail_id).join(mail, col(mail.id) == col(PlanRow.mail_id))
            old = connection.scalars(query.where(col(PlanRow.planned_at) < instant, _is_idle(mail, instant))).all()
            for part in batches(old):
                for table in (ToolCallRow, PlanRow):
                    affected(connection, delete(table).where(col(table.mail_id).in_(part)))

    def _delete_sent(self, instant: datetime) -> None:
        """Empty the bytes of our mails, and delete what they were rendered from; later ones for a mail stay."""
        mail = aliased(MailRow)
        has_bytes = func.length(OutboxRow.raw) > 0
        with self.database.write() as connection:
            query = select(OutboxRow.id).join(mail, col(mail.id) == col(OutboxRow.mail_id))
            old = connection.scalars(
                query.where(has_bytes, col(OutboxRow.created_at) < instant, _is_idle(mail, instant))
            ).all()
            for part in batches(old):
                is_old = col(OutboxRow.id).in_(part)
                its = select(OutboxRow.id).where(is_old, is_its_rendered_mail()).correlate(RenderedMailRow)
                affected(connection, delete(RenderedMailRow).where(its.exists()))
                affected(connection, update(OutboxRow).where(is_old).values(raw=b""))

    def _delete_labels(self, instant: datetime) -> None:
        mail = aliased(MailRow)
        with self.database.write() as connection:
            query = select(LabelRow.mail_id).join(mail, col(mail.id) == col(LabelRow.mail_id)).distinct()
            old = connection.scalars(query.where(col(LabelRow.made_at) < instant, _is_idle(mail, instant))).all()
            for part in batches(old):
                affected(connection, delete(LabelRow).where(col(LabelRow.mail_id).in_(part)))

    def delete_older_than(self, instant: datetime) -> Deleted:
        """Delete the cases whose last mail is older, and older mails without a case; no unfinished work."""
        with self.database.write() as connection:
            found = _old_cases(connection, instant)
            for part in batches(found):  # nobody may join a case that goes
                connection.execute(select(CaseRow.id).where(col(CaseRow.id).in_(part)).with_for_update()).all()
            still_old = set(_old_cases(connection, instant)) if found else set()
            cases = [case_id for case_id in found if case_id in still_old]
            mails = _old_mails(connection, instant, cases)
            delete_whole(connection, self.database.vault, cases, mails)
        if mails:
            self.database.vault.keys.purge()
        return Deleted(cases=len(cases), mails=len(mails))


def delete_whole(connection: Connection, vault: Vault, cases: Sequence[str], mails: Sequence[str]) -> None:
    """Delete these cases and mails with all that was made from them; the ids of the mails stay as forgotten.

    The caller purges the keys from their files after the transaction: `Vault.purge`.

    Args:
        mails: Those of the cases, and others without a case.
    """
    for part in batches(mails):
        # Keys first: if the process dies before the commit, the rows are deleted again later, and no key was left.
        vault.destroy(part)
        for mail_id in part:
            insert_if_new(connection, ForgottenMailRow, {"id": mail_id})
        _delete_outgoing(connection, col(OutboxRow.mail_id).in_(part))
        for table in (RenderedMailRow, ToolCallRow, PlanRow, LabelRow, UsedKeyRow):
            affected(connection, delete(table).where(col(table.mail_id).in_(part)))
        affected(connection, delete(MailRow).where(col(MailRow.id).in_(part)))
    for part in batches(cases):
        _delete_outgoing(connection, col(OutboxRow.case_id).in_(part))
        for keyed in (CaseChangeRow, ParticipantRow, UsedKeyRow):
            affected(connection, delete(keyed).where(col(keyed.case_id).in_(part)))
        affected(connection, delete(CaseRow).where(col(CaseRow.id).in_(part)))


def mails_of_cases(connection: Connection, cases: Sequence[str]) -> set[str]:
    """The ids of the mails of these cases."""
    queries = (select(MailRow.id).where(col(MailRow.case_id).in_(part)) for part in batches(cases))
    return {mail_id for query in queries for mail_id in connection.scalars(query)}


def _is_idle(mail: type[MailRow], instant: datetime) -> ColumnElement[bool]:
    """Whether a mail is handled, and its case had no mail since an instant, has nothing that may still leave, and no
    packet that waits for a person.
    """
    later, mine = aliased(MailRow), aliased(OutboxRow)
    is_open = or_(col(later.received_at) >= instant, col(later.status) == MailStatus.NEW)
    is_of_case = or_(col(later.id) == col(mail.id), col(later.case_id) == col(mail.case_id))
    is_its = or_(col(mine.mail_id) == col(mail.id), col(mine.case_id) == col(mail.case_id))
    waits = col(mine.status).in_((*UNFINISHED, OutboxStatus.PROPOSED))
    waiting = open_packets(OutboxRow.case_id)  # not correlated: it is asked once, not once for each mail
    return and_(
        ~select(later.id).where(is_of_case, is_open).correlate(mail).exists(),
        ~select(mine.id).where(is_its, waits).correlate(mail).exists(),
        or_(col(mail.case_id).is_(None), col(mail.case_id).not_in(waiting)),
    )


def _delete_outgoing(connection: Connection, condition: ColumnElement[bool]) -> None:
    ids = select(OutboxRow.id).where(condition)
    affected(connection, delete(DeliveryUpdateRow).where(col(DeliveryUpdateRow.outbox_id).in_(ids)))
    affected(connection, delete(OutboxRow).where(condition))


def _old_cases(connection: Connection, instant: datetime) -> list[str]:
    """Cases opened before the instant, with no mail since, none unhandled and nothing waiting to be sent."""
    case_id = col(CaseRow.id)
    mails = select(MailRow.id).where(col(MailRow.case_id) == case_id).correlate(CaseRow)
    recent = mails.where(or_(col(MailRow.received_at) >= instant, col(MailRow.status) == MailStatus.NEW))
    waiting = select(OutboxRow.id).where(
        or_(col(OutboxRow.case_id) == case_id, col(OutboxRow.mail_id).in_(mails)),
        col(OutboxRow.status).in_(UNFINISHED),
    )
    query = select(CaseRow.id).where(col(CaseRow.opened_at) < instant, ~recent.exists(), ~waiting.exists())
    return list(connection.scalars(query))


def _old_mails(connection: Connection, instant: datetime, cases: Sequence[str]) -> list[str]:
    """Mails of those cases, and handled mails without a case from before the instant."""
    waiting = select(OutboxRow.id).where(
        col(OutboxRow.mail_id) == col(MailRow.id), col(OutboxRow.status).in_(UNFINISHED)
    )
    without_case = select(MailRow.id).where(
        col(MailRow.case_id).is_(None),
        col(MailRow.received_at) < instant,
        col(MailRow.status) != MailStatus.NEW,
        ~waiting.exists(),
    )
    return [*sorted(mails_of_cases(connection, cases)), *connection.scalars(without_case)]
