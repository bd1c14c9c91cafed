"""The tables. Rows are built from the types in `records` only: a `table=True` class validates nothing.

Invariant: these classes and the last migration describe the same schema. Checked by
tests/integration/store/test_migrations.py, where autogenerate finds no difference on either database.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Index, LargeBinary, MetaData, UniqueConstraint, false, text
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

from support_agent.store.columns import (
    KeyText,
    SealedBytes,
    SealedJson,
    SealedNote,
    SealedText,
    StoredText,
    UtcDateTime,
)

NAMING = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ix": "ix_%(table_name)s_%(column_0_name)s",
}

NUMBER = {"autoincrement": False, "server_default": "1"}
"""Column options of a rendered mail's number; those stored before the column existed have number 1."""


HAS_BYTES = text("length(raw) > 0")
"""Of rows whose bytes retention has not emptied; it looks for no others."""


class TableRow(SQLModel, registry=registry(metadata=MetaData(naming_convention=NAMING))):
    """Base of all tables; separates them from other SQLModel metadata in the process."""


class CaseRow(TableRow, table=True):
    """One customer's thread."""

    __tablename__ = "cases"

    id: str = Field(primary_key=True, sa_type=StoredText)
    customer_address: str = Field(sa_type=KeyText, index=True)
    subject: str = Field(sa_type=SealedNote)
    state: str = Field(sa_type=StoredText, index=True)
    opened_at: datetime = Field(sa_type=UtcDateTime, index=True)
    assignee: str | None = Field(default=None, sa_type=StoredText)
    desk: str | None = Field(default=None, sa_type=StoredText)
    desk_why: str | None = Field(default=None, sa_type=StoredText)
    language: str | None = Field(default=None, sa_type=StoredText)


class CaseChangeRow(TableRow, table=True):
    """A change of who has a case, as a person ordered it."""

    __tablename__ = "case_changes"

    case_id: str = Field(primary_key=True, sa_type=StoredText, foreign_key="cases.id")
    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    before: str = Field(sa_type=StoredText)
    after: str = Field(sa_type=StoredText)
    assignee: str | None = Field(default=None, sa_type=StoredText)
    who: str = Field(sa_type=StoredText)
    why: str = Field(sa_type=StoredText)
    changed_at: datetime = Field(sa_type=UtcDateTime)


class ParticipantRow(TableRow, table=True):
    """An address that may continue a case."""

    __tablename__ = "participants"

    case_id: str = Field(primary_key=True, sa_type=StoredText, foreign_key="cases.id")
    address: str = Field(primary_key=True, sa_type=KeyText)


class MailRow(TableRow, table=True):
    """An inbound mail, staff replies included."""

    __tablename__ = "mails"
    __table_args__ = (
        Index("ix_mails_period", "status", "received_at", "reason_code"),
        Index("ix_mails_reason", "reason_code", "handled_at"),
        Index("ix_mails_place", "folder", "uid_validity", "uid"),
        Index("ix_mails_sender_address", "sender_address", postgresql_ops={"sender_address": "text_pattern_ops"}),
        Index("ix_mails_bodies", "received_at", sqlite_where=HAS_BYTES, postgresql_where=HAS_BYTES),
    )

    id: str = Field(primary_key=True, sa_type=StoredText)
    raw_sha256: str = Field(sa_type=StoredText, unique=True)
    raw: bytes = Field(sa_type=SealedBytes)
    message_id: str = Field(sa_type=KeyText, index=True)
    folder: str = Field(sa_type=StoredText)
    uid_validity: int = Field(sa_type=BigInteger)
    uid: int = Field(sa_type=BigInteger)
    received_at: datetime = Field(sa_type=UtcDateTime, index=True)
    case_id: str | None = Field(default=None, sa_type=StoredText, foreign_key="cases.id", index=True)
    status: str = Field(sa_type=StoredText)
    reason_code: str | None = Field(default=None, sa_type=StoredText)
    why: str | None = Field(default=None, sa_type=SealedNote)
    handled_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    sender_address: str | None = Field(default=None, sa_type=KeyText)
    level: int | None = None
    sender_why: str | None = Field(default=None, sa_type=SealedNote)
    screening_verdict: str | None = Field(default=None, sa_type=StoredText)
    screening_rule: str | None = Field(default=None, sa_type=StoredText)
    in_doubt: bool = Field(default=False, sa_column_kwargs={"server_default": false()})


class CursorRow(TableRow, table=True):
    """How far a folder has been read."""

    __tablename__ = "cursors"

    folder: str = Field(primary_key=True, sa_type=KeyText)
    uid_validity: int = Field(sa_type=BigInteger)
    last_uid: int = Field(sa_type=BigInteger)
    rescan_until: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs={"server_default": "0"})
    left_before: datetime | None = Field(default=None, sa_type=UtcDateTime)
    fetched_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    in_doubt_until: int = Field(default=0, sa_type=BigInteger, sa_column_kwargs={"server_default": "0"})


class ProgramRow(TableRow, table=True):
    """The version of the program that upgraded the schema to a revision."""

    __tablename__ = "programs"

    revision: str = Field(primary_key=True, sa_type=StoredText)
    version: str = Field(sa_type=StoredText)


class LeaseRow(TableRow, table=True):
    """What one worker among those on a store does alone, until the lease ends."""

    __tablename__ = "leases"

    name: str = Field(primary_key=True, sa_type=StoredText)
    holder: str = Field(sa_type=StoredText)
    token: int = Field(sa_type=BigInteger)
    expires_at: datetime = Field(sa_type=UtcDateTime)


class ForgottenMailRow(TableRow, table=True):
    """The id of a mail that retention deleted: a rescan of the mailbox must not answer it again."""

    __tablename__ = "forgotten_mails"

    id: str = Field(primary_key=True, sa_type=StoredText)


class PlanRow(TableRow, table=True):
    """The current plan of a mail."""

    __tablename__ = "plans"
    __table_args__ = (Index("ix_plans_period", "planned_at", "seconds"),)

    mail_id: str = Field(primary_key=True, sa_type=StoredText, foreign_key="mails.id")
    planned_at: datetime = Field(sa_type=UtcDateTime)
    model: str = Field(sa_type=StoredText)
    combiner_version: str = Field(sa_type=StoredText)
    company_version: str = Field(sa_type=StoredText)
    index_version: str = Field(sa_type=StoredText)
    outcome: str = Field(sa_type=StoredText)
    reason: str | None = Field(default=None, sa_type=StoredText)
    seconds: float
    forward_passes: int
    tokens: int
    trace: Any = Field(sa_type=SealedJson)
    memory: str | None = Field(default=None, sa_type=SealedText)


class ToolCallRow(TableRow, table=True):
    """One choice within a plan."""

    __tablename__ = "tool_calls"

    mail_id: str = Field(primary_key=True, sa_type=StoredText, foreign_key="plans.mail_id")
    seq: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    tool: str = Field(sa_type=StoredText)
    args: Any = Field(sa_type=SealedJson)
    confidence: float
    threshold: float
    votes: Any = Field(sa_type=SealedJson)
    result: str = Field(sa_type=SealedText)
    status: str = Field(sa_type=StoredText)
    seconds: float


class RenderedMailRow(TableRow, table=True):
    """One composed mail, as data."""

    __tablename__ = "rendered_mails"

    mail_id: str = Field(primary_key=True, sa_type=StoredText, foreign_key="mails.id")
    kind: str = Field(primary_key=True, sa_type=StoredText)
    number: int = Field(default=1, primary_key=True, sa_column_kwargs=NUMBER)
    payload: Any = Field(sa_type=SealedJson)
    templates_version: str = Field(sa_type=StoredText)
    spans: Any = Field(sa_type=SealedJson)
    header_inputs: Any = Field(sa_type=SealedJson)
    created_at: datetime = Field(sa_type=UtcDateTime)


class DocumentVersionRow(TableRow, table=True):
    """One version of a company document, stored once."""

    __tablename__ = "document_versions"

    version: str = Field(primary_key=True, sa_type=StoredText)
    number: int
    raw: bytes = Field(sa_type=LargeBinary)


class TemplateSetRow(TableRow, table=True):
    """One version of the company's templates, stored once: file name to text."""

    __tablename__ = "template_sets"

    version: str = Field(primary_key=True, sa_type=StoredText)
    files: Any = Field(sa_type=JSON)


class QuerySetRow(TableRow, table=True):
    """The account queries of one version of the company, stored once: by field and by series."""

    __tablename__ = "query_sets"

    version: str = Field(primary_key=True, sa_type=StoredText)
    queries: Any = Field(sa_type=JSON)


class OutboxRow(TableRow, table=True):
    """A queued or sent mail of ours."""

    __tablename__ = "outbox"
    __table_args__ = (
        UniqueConstraint("mail_id", "kind", "number"),
        Index("ix_outbox_period", "created_at", "kind", "case_id", "mail_id"),
        Index("ix_outbox_case", "case_id", "kind", "created_at", "status", "mail_id"),
        Index("ix_outbox_bodies", "created_at", sqlite_where=HAS_BYTES, postgresql_where=HAS_BYTES),
    )

    id: str = Field(primary_key=True, sa_type=StoredText)
    mail_id: str = Field(sa_type=StoredText, foreign_key="mails.id")
    case_id: str | None = Field(default=None, sa_type=StoredText, foreign_key="cases.id")
    kind: str = Field(sa_type=StoredText)
    number: int = Field(default=1, sa_column_kwargs=NUMBER)
    message_id: str = Field(sa_type=KeyText, unique=True)
    envelope_from: str = Field(sa_type=StoredText)
    recipient: str = Field(sa_type=StoredText)
    raw: bytes = Field(sa_type=SealedBytes)
    status: str = Field(sa_type=StoredText, index=True)
    attempts: int
    next_try_at: datetime = Field(sa_type=UtcDateTime)
    last_detail: str | None = Field(default=None, sa_type=StoredText)
    created_at: datetime = Field(sa_type=UtcDateTime)
    sent_at: datetime | None = Field(default=None, sa_type=UtcDateTime, index=True)
    copied_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    notified_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    claimed_by: str | None = Field(default=None, sa_type=StoredText)


class DeliveryUpdateRow(TableRow, table=True):
    """News about an outgoing mail after a try, with its source."""

    __tablename__ = "delivery_updates"

    outbox_id: str = Field(primary_key=True, sa_type=StoredText, foreign_key="outbox.id")
    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    before: str = Field(sa_type=StoredText)
    after: str = Field(sa_type=StoredText)
    by: str = Field(sa_type=StoredText)
    detail: str = Field(sa_type=StoredText)
    updated_at: datetime = Field(sa_type=UtcDateTime)


class SuppressionRow(TableRow, table=True):
    """An address that gets no automatic mail for a while; no foreign key, as retention may delete the bounced mail."""

    __tablename__ = "suppressions"

    address: str = Field(primary_key=True, sa_type=KeyText)
    outbox_id: str = Field(sa_type=StoredText)
    detail: str = Field(sa_type=StoredText)
    since: datetime = Field(sa_type=UtcDateTime)
    until: datetime = Field(sa_type=UtcDateTime)


class LabelRow(TableRow, table=True):
    """What a person did with a mail; rows are added and marked as undone, never replaced."""

    __tablename__ = "labels"

    mail_id: str = Field(primary_key=True, sa_type=StoredText, foreign_key="mails.id")
    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    outcome: str = Field(sa_type=StoredText)
    choice: str | None = Field(default=None, sa_type=StoredText)
    keys: Any = Field(sa_type=JSON)
    who: str = Field(sa_type=StoredText)
    how: str = Field(sa_type=StoredText)
    made_at: datetime = Field(sa_type=UtcDateTime, index=True)
    undone_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class UsedKeyRow(TableRow, table=True):
    """A key of a command that was used; `slot` is what only one command may do."""

    __tablename__ = "used_keys"
    __table_args__ = (UniqueConstraint("slot"),)

    key: str = Field(primary_key=True, sa_type=StoredText)
    slot: str = Field(sa_type=StoredText)
    command: str = Field(sa_type=StoredText)
    case_id: str = Field(sa_type=StoredText)
    mail_id: str = Field(sa_type=StoredText)
    who: str = Field(sa_type=StoredText)
    used_at: datetime = Field(sa_type=UtcDateTime)


class ModeChangeRow(TableRow, table=True):
    """A change of an item's mode of autonomy; rows are added and marked as undone, never replaced."""

    __tablename__ = "mode_changes"

    key: str = Field(primary_key=True, sa_type=StoredText)
    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    mode: str = Field(sa_type=StoredText)
    by: str = Field(sa_type=StoredText)
    who: str = Field(sa_type=StoredText)
    why: str = Field(sa_type=StoredText)
    changed_at: datetime = Field(sa_type=UtcDateTime)
    undone_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    mail_id: str | None = Field(default=None, sa_type=StoredText)


class AlarmRow(TableRow, table=True):
    """A mail to the desk about an alarm: that it began, lasts or ended."""

    __tablename__ = "alarms"

    kind: str = Field(primary_key=True, sa_type=StoredText)
    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    state: str = Field(sa_type=StoredText)
    since: datetime = Field(sa_type=UtcDateTime)
    notified_at: datetime = Field(sa_type=UtcDateTime)


class ExpiryRow(TableRow, table=True):
    """When something ends: a certificate or a token, as the newest connection has seen it (`Expiring`), or the trust or
    the doubt in the clock (`ClockTrust`).
    """

    __tablename__ = "expiries"

    name: str = Field(primary_key=True, sa_type=StoredText)
    ends_at: datetime = Field(sa_type=UtcDateTime)


class AuditRow(TableRow, table=True):
    """One entry of the audit log, as canonical JSON, with the hash before it and its own; see `store.audit`."""

    __tablename__ = "audit"
    __table_args__ = (Index("ix_audit_act", "act", "number"),)

    number: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    act: str = Field(sa_type=StoredText)
    entry: str = Field(sa_type=StoredText)
    previous: str = Field(sa_type=StoredText)
    hash: str = Field(sa_type=StoredText)
