"""The outbox: `ready -> sending -> sent | uncertain | failed`, or back to `ready` for another try.

A mail that a person must approve starts as `proposed`, which no sender takes; `Store.deliveries` makes it `ready`, or
`cancelled`.

Invariant: an outbox row is stored together with its rendered mail, exactly one caller claims a row per try, and a
row whose sender died stays `sending` until it is recovered: to `uncertain`, which is never sent again automatically, or
to `ready` if it goes to the desk. Checked by tests/contract/store/test_outbox.py and
tests/integration/store/test_concurrency.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, func, text, tuple_, update
from sqlmodel import col, select

from support_agent.errors import PermanentError, TransientError
from support_agent.store import audited_mails, mails
from support_agent.store.audit import AuditEvent
from support_agent.store.database import Database
from support_agent.store.records import (
    CaseId,
    Due,
    JsonObject,
    MailId,
    OutboxId,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
    OutgoingMail,
    Recovered,
    RenderedMailRecord,
)
from support_agent.store.rows import affected, insert_if_new
from support_agent.store.tables import AlarmRow, OutboxRow, RenderedMailRow
from support_agent.store.vault import about
from support_agent.store.watch_records import AlarmRecord

DIED_WHILE_SENDING = "the sender stopped before the server's answer was recorded"
TAKEN_OVER = "outbox_taken_over"
"""The code of the error of a worker that marks a row which others have changed or deleted since it claimed it."""
LOST = (OutboxStatus.UNCERTAIN, OutboxStatus.FAILED, OutboxStatus.CANCELLED)
"""Statuses of mails that the customer may not have received; the desk knows of a cancelled one unless it was undone."""
SENDER_LOCK = 810_346_291
"""First key of PostgreSQL's advisory locks by sender; the second is a hash of the address."""

_LOCK_SENDER = text("SELECT pg_advisory_xact_lock(:space, hashtext(:address))")
_IS_IT = col(OutboxRow.id) == bindparam("of")
_ROWS = select(OutboxRow).order_by(col(OutboxRow.created_at), col(OutboxRow.id))
_ROW = _ROWS.where(_IS_IT)
_CLAIMS = (
    select(OutboxRow.id, OutboxRow.kind, OutboxRow.attempts, func.coalesce(col(OutboxRow.claimed_by), "").label("by"))
    .where(col(OutboxRow.status) == OutboxStatus.SENDING)
    .order_by(col(OutboxRow.created_at), col(OutboxRow.id))
)
_CLAIM = (
    update(OutboxRow)
    .where(_IS_IT, col(OutboxRow.status) == OutboxStatus.READY, col(OutboxRow.next_try_at) <= bindparam("now"))
    .values(status=OutboxStatus.SENDING, attempts=col(OutboxRow.attempts) + 1)
)
_MOVE_OWN = update(OutboxRow).where(
    _IS_IT,
    col(OutboxRow.status) == OutboxStatus.SENDING,
    func.coalesce(col(OutboxRow.claimed_by), "") == bindparam("by"),
)
_RECOVER = _MOVE_OWN.where(col(OutboxRow.attempts) == bindparam("tries"))
_STATUS = select(OutboxRow.status).where(_IS_IT)
_DECIDED = (
    select(OutboxRow.id)
    .where(
        col(OutboxRow.mail_id) == bindparam("mail"),
        col(OutboxRow.kind).in_((OutgoingKind.ANSWER, OutgoingKind.PACKET)),
    )
    .limit(1)
)
_PAYLOADS = select(RenderedMailRow.kind, RenderedMailRow.payload).where(
    col(RenderedMailRow.mail_id) == bindparam("mail"),
    col(RenderedMailRow.kind).in_(bindparam("kinds", expanding=True)),
    col(RenderedMailRow.number) == bindparam("its_number"),
)
_RENDERED = select(RenderedMailRow).where(
    col(RenderedMailRow.mail_id) == bindparam("mail"),
    col(RenderedMailRow.kind) == bindparam("its_kind"),
    col(RenderedMailRow.number) == bindparam("its_number"),
)


@dataclass(frozen=True)
class Outbox:
    """`Store.outbox`."""

    database: Database

    def queue(self, mail: OutgoingMail) -> OutboxRecord:
        """Put a mail into the outbox, with its rendered mail.

        Returns:
            The row; an existing row of the same mail, kind and number is returned unchanged, with its rendered mail.
        Raises:
            PermanentError: a Message-ID is that of another mail.
        """
        with self.database.write() as connection:
            return _queue(connection, mail)

    def queue_first(self, *outgoing: OutgoingMail) -> bool:
        """Put what is decided about one mail into the outbox, all or none, unless another run has decided it already.

        Args:
            outgoing: 1 or more, each as for `queue`.
        Returns:
            False: nothing was queued, as an answer to the mail or a packet about it is there.
        """
        mail_id = outgoing[0].mail_id
        with self.database.write() as connection:
            mails.lock(connection, mail_id)
            if connection.scalar(_DECIDED, {"mail": mail_id}) is not None:
                return False
            for mail in outgoing:
                _insert(connection, mail)
            return True

    def lock_sender(self, address: str) -> None:
        """Let one transaction at a time queue answers to a sender; call it in the block of `together`.

        On SQLite the write lock does that already.
        """
        with self.database.write() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(_LOCK_SENDER, {"space": SENDER_LOCK, "address": address})

    def queue_notice(self, notice: OutgoingMail, lost: OutboxId) -> OutboxRecord | None:
        """Put the desk's notice of a lost mail into the outbox, and record that the desk is notified of the loss.

        Returns:
            The notice's row; None: another process queued the notice, or the mail is not lost any more.
        Raises:
            TransientError: another notice took this number; make the notice again with the next number.
        """
        statement = (
            update(OutboxRow)
            .where(col(OutboxRow.id) == lost, col(OutboxRow.status).in_(LOST), col(OutboxRow.notified_at).is_(None))
            .values(notified_at=notice.created_at)
        )
        with self.database.write() as connection:
            if affected(connection, statement) != 1:
                return None
            return _queue_as_made(connection, notice)

    def queue_alarm(self, mail: OutgoingMail, alarm: AlarmRecord) -> OutboxRecord | None:
        """Put a mail about an alarm into the outbox, and record that the desk was notified of it.

        Returns:
            The mail's row; None: another process has notified the desk with this number.
        Raises:
            TransientError: as `queue_notice`.
        """
        with self.database.write() as connection:
            if not insert_if_new(connection, AlarmRow, dict(alarm)):
                return None
            return _queue_as_made(connection, mail)

    def rendered_mail(self, mail_id: MailId, kind: OutgoingKind, number: int = 1) -> RenderedMailRecord | None:
        """Return the rendered mail that an outbox row was composed from."""
        with self.database.read() as connection:
            row = connection.execute(_RENDERED, {"mail": mail_id, "its_kind": kind, "its_number": number}).first()
            return None if row is None else RenderedMailRecord.model_validate(row)

    def payload(self, mail_id: MailId, *kinds: OutgoingKind, number: int = 1) -> JsonObject | None:
        """Return what the first of these kinds that was queued for a mail says, as data, without its rendered text."""
        with self.database.read() as connection:
            found: dict[str, JsonObject] = dict(
                connection.execute(_PAYLOADS, {"mail": mail_id, "kinds": kinds, "its_number": number}).all()
            )
        return next((found[kind] for kind in kinds if kind in found), None)

    def get(self, outbox_id: OutboxId) -> OutboxRecord | None:
        """Return one mail of the outbox."""
        with self.database.read() as connection:
            return _row(connection, outbox_id)

    def find(
        self,
        status: OutboxStatus | None = None,
        mail_id: MailId | None = None,
        kind: OutgoingKind | None = None,
        message_id: str | None = None,
        case_id: CaseId | None = None,
    ) -> tuple[OutboxRecord, ...]:
        """Return the rows that meet every given condition, the oldest first."""
        given = {"status": status, "mail_id": mail_id, "kind": kind, "message_id": message_id, "case_id": case_id}
        wanted = {name: value for name, value in given.items() if value is not None}
        with self.database.read() as connection:
            return _records(connection, _found(*wanted), wanted)

    def proposed(self, mail_id: MailId) -> tuple[OutboxRecord, RenderedMailRecord] | None:
        """Return the answer to a mail that waits for a person, with its rendered mail; None: there is none."""
        for row in self.find(status=OutboxStatus.PROPOSED, mail_id=mail_id, kind=OutgoingKind.ANSWER):
            rendered = self.rendered_mail(row.mail_id, row.kind, row.number)
            if rendered is not None:
                return row, rendered
        return None

    def ready(
        self, now: datetime, limit: int, after: Due | None = None, kinds: Collection[OutgoingKind] = tuple(OutgoingKind)
    ) -> tuple[Due, ...]:
        """Return the due mails of these kinds, the longest due first; claim each one before sending it.

        Args:
            limit: The most rows returned.
            after: Return only mails after this one in the order, even if its status has changed since.
        """
        place = (col(OutboxRow.next_try_at), col(OutboxRow.created_at), col(OutboxRow.id))
        query = select(OutboxRow.next_try_at, OutboxRow.created_at, OutboxRow.id).where(
            col(OutboxRow.status) == OutboxStatus.READY,
            col(OutboxRow.next_try_at) <= now,
            col(OutboxRow.kind).in_(kinds),
        )
        if after is not None:
            query = query.where(tuple_(*place) > (after.next_try_at, after.created_at, after.id))
        with self.database.read() as connection:
            rows = connection.execute(query.order_by(*place).limit(limit))
            return tuple(Due.model_validate(row, from_attributes=True) for row in rows)

    def claim(self, outbox_id: OutboxId, now: datetime, by: str = "") -> bool:
        """Turn a due row from `ready` to `sending` and count the attempt; False: another caller has it.

        Args:
            by: The worker that sends it now.
        """
        with self.database.write() as connection:
            return affected(connection, _CLAIM, {"of": outbox_id, "now": now, "claimed_by": by}) == 1

    def mark_sent(self, outbox_id: OutboxId, detail: str, sent_at: datetime, *, by: str) -> None:
        """Record that the server took the mail; `Store.deliveries` records later news, with their source.

        Args:
            by: The worker that claimed the row, here and in the other `mark_` methods.
        Raises:
            PermanentError: with the code `TAKEN_OVER`, if the row is not that worker's any more: it was taken for
                dead, or the row was deleted.
        """
        with self.database.write() as connection:
            _move(connection, outbox_id, OutboxStatus.SENT, by, last_detail=detail, sent_at=sent_at)
            audited_mails.append(connection, AuditEvent.MAIL_SENT, "the worker", outbox_id, sent_at)

    def mark_uncertain(self, outbox_id: OutboxId, detail: str, at: datetime, *, by: str) -> None:
        """Record that the connection was lost after the final dot; the mail is not tried again automatically."""
        with self.database.write() as connection:
            _move(connection, outbox_id, OutboxStatus.UNCERTAIN, by, last_detail=detail)
            audited_mails.append(connection, AuditEvent.MAIL_UNCERTAIN, "the worker", outbox_id, at)

    def mark_failed(self, outbox_id: OutboxId, detail: str, *, by: str) -> None:
        """Record that the server refused the mail for good, or that its tries are used up."""
        with self.database.write() as connection:
            _move(connection, outbox_id, OutboxStatus.FAILED, by, last_detail=detail)

    def mark_retry(self, outbox_id: OutboxId, detail: str, next_try_at: datetime, *, by: str) -> None:
        """Return a row to `ready`, due at `next_try_at`: the server did not take it, or it goes to the desk."""
        with self.database.write() as connection:
            _move(connection, outbox_id, OutboxStatus.READY, by, last_detail=detail, next_try_at=next_try_at)

    def recover_sending(
        self, desk_tries: int = 0, alive: Callable[[], Collection[str]] = tuple
    ) -> tuple[Recovered, ...]:
        """Turn rows that a dead worker left in `sending` to `uncertain`.

        Nobody knows whether the server got the final dot, so a person decides; only mail to the desk is sent again.

        Args:
            desk_tries: A mail to the desk with fewer attempts is `ready` again.
            alive: Returns the workers that may be sending now; what they claimed stays. It is called after the claims
                are read, so whoever made one of them and lives is among them.
        Returns:
            What was `sending`, with its new status; also mails that cannot be read any more.
        """
        with self.database.read() as connection:
            claims = connection.execute(_CLAIMS).all()
        living = alive() if claims else ()
        left = [claim for claim in claims if claim.by not in living]
        if not left:
            return ()
        recovered: list[Recovered] = []
        with self.database.write() as connection:
            for outbox_id, kind, tries, by in left:
                is_due_again = OutgoingKind(kind).is_for_desk and tries < desk_tries
                after = OutboxStatus.READY if is_due_again else OutboxStatus.UNCERTAIN
                values = {"status": after, "last_detail": DIED_WHILE_SENDING}
                if affected(connection, _RECOVER, {"of": outbox_id, "by": by, "tries": tries, **values}) == 1:
                    recovered.append(Recovered(OutboxId(outbox_id), OutgoingKind(kind), after))
        return tuple(recovered)  # without those that another worker recovered first

    def reset_retry_times(self, now: datetime, latest: datetime) -> int:
        """Make mails due now whose retry time lies impossibly far ahead (clock skew); return how many.

        Args:
            latest: The latest possible retry time.
        """
        statement = (
            update(OutboxRow)
            .where(col(OutboxRow.status) == OutboxStatus.READY, col(OutboxRow.next_try_at) > latest)
            .values(next_try_at=now)
        )
        with self.database.write() as connection:
            return affected(connection, statement)

    def mark_copied(self, outbox_id: OutboxId, at: datetime) -> None:
        """Record that the Sent folder has the mail; the first instant stays."""
        statement = (
            update(OutboxRow)
            .where(col(OutboxRow.id) == outbox_id, col(OutboxRow.copied_at).is_(None))
            .values(copied_at=at)
        )
        with self.database.write() as connection:
            affected(connection, statement)


# Parts of transactions


def records(connection: Connection, *conditions: ColumnElement[bool]) -> tuple[OutboxRecord, ...]:
    """Return the rows that meet all conditions, the oldest first."""
    return _records(connection, _ROWS.where(*conditions))


@cache
def _found(*names: str) -> Select[Any]:
    """The query of `find` for the conditions with these names."""
    return _ROWS.where(*(col(getattr(OutboxRow, name)) == bindparam(name) for name in names))


def _records(
    connection: Connection, query: Select[Any], values: dict[str, Any] | None = None
) -> tuple[OutboxRecord, ...]:
    return tuple(OutboxRecord.model_validate(row) for row in connection.execute(query, values))


def rendered_mails_of(connection: Connection, mail_id: MailId) -> tuple[RenderedMailRecord, ...]:
    """Return the rendered mails that were composed for an inbound mail, the oldest first."""
    query = (
        select(RenderedMailRow)
        .where(col(RenderedMailRow.mail_id) == mail_id)
        .order_by(col(RenderedMailRow.created_at), col(RenderedMailRow.kind), col(RenderedMailRow.number))
    )
    return tuple(RenderedMailRecord.model_validate(row) for row in connection.execute(query))


def _queue(connection: Connection, mail: OutgoingMail) -> OutboxRecord:
    mails.lock(connection, mail.mail_id)
    return _insert(connection, mail)


def _insert(connection: Connection, mail: OutgoingMail) -> OutboxRecord:
    fields = dict(mail)
    sent = {name: value for name, value in fields.items() if name in OutboxRecord.model_fields}
    status = OutboxStatus.PROPOSED if mail.is_proposed else OutboxStatus.READY
    row = OutboxRecord.model_validate({**sent, "next_try_at": mail.due_at or mail.created_at, "status": status})
    with about(mail.mail_id):
        if insert_if_new(connection, OutboxRow, {**dict(row), "id": row.id}):
            rendered = {name: fields[name] for name in RenderedMailRecord.model_fields}
            insert_if_new(connection, RenderedMailRow, rendered)
            return row
    stored = _row(connection, row.id)
    if stored is None:
        raise PermanentError(
            f"{row.id} has the Message-ID of another mail: it must be made from the mail and the kind",
            code="message_id_taken",
        )
    return stored


def _queue_as_made(connection: Connection, mail: OutgoingMail) -> OutboxRecord:
    """Queue a mail unless another one has its number."""
    queued = _queue(connection, mail)
    if queued.raw != mail.raw:
        raise TransientError(f"another notice took the number of {queued.id}", code="number_taken")
    return queued


def _row(connection: Connection, outbox_id: OutboxId) -> OutboxRecord | None:
    return next(iter(_records(connection, _ROW, {"of": outbox_id})), None)


def _move(connection: Connection, outbox_id: OutboxId, target: OutboxStatus, by: str, **values: object) -> None:
    """Move a row from `sending` to `target`, if `by` claimed it; a row with that status already stays as it is."""
    if affected(connection, _MOVE_OWN, {"of": outbox_id, "status": target, "by": by, **values}) == 1:
        return
    status = connection.scalar(_STATUS, {"of": outbox_id})
    if status != target:
        raise PermanentError(
            f"{outbox_id} is {status or 'not in the outbox'} and cannot become {target}", code=TAKEN_OVER
        )
