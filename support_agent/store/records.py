"""Frozen records that the store takes and returns, instead of live rows.

Invariant: a record is validated before it is written and after it is read, so rows are built only from validated
types. Checked by tests/contract/store, which compares written with returned records.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple, NewType

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, SkipValidation

from support_agent.core.levels import Level

MailId = NewType("MailId", str)
CaseId = NewType("CaseId", str)
OutboxId = NewType("OutboxId", str)


PAGE_FOLDER = "(the desk's page)"
"""Stands for the folder of mails that no mailbox had: what people did on the desk's page."""


def _utc(instant: datetime) -> datetime:
    return instant.astimezone(UTC)


def _as_json(value: JsonValue) -> JsonValue:
    # Faster than pydantic's own check, which calls a function for each part of a value.
    try:
        json.dumps(value, allow_nan=False)  # NaN is not JSON, and PostgreSQL refuses it
    except TypeError as error:
        raise ValueError(str(error)) from error
    return value


def _as_object(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if not isinstance(value, dict):
        raise ValueError("an object with names is wanted")
    _as_json(value)
    return value


Instant = Annotated[AwareDatetime, AfterValidator(_utc)]
Json = Annotated[JsonValue, SkipValidation, AfterValidator(_as_json)]
JsonObject = Annotated[dict[str, JsonValue], SkipValidation, AfterValidator(_as_object)]
Probability = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class MailStatus(StrEnum):
    """The status of an inbound mail; all but `new` are final."""

    NEW = "new"
    ANSWERED = "answered"
    ESCALATED = "escalated"
    FILED = "filed"
    QUARANTINED = "set_aside"
    """Its journey failed; `doctor` and a notice to the desk say so. What is stored keeps the older name."""


class CaseState(StrEnum):
    """Who has the case; the agent may answer only an `open` case. `closed`: nobody has anything to do."""

    OPEN = "open"
    WITH_PERSON = "with_person"
    CLOSED = "closed"


class OutgoingKind(StrEnum):
    """The kind of an outgoing mail; a mail causes at most one of each kind, except `failure` and `reminder`, and
    packets that are sent again without the original.

    A `failure` is a packet that tells the desk what went wrong after the mail was decided, a `reminder` one that says
    that nobody has answered yet; there may be several, so they are numbered. `held` is a packet about an answer that
    leaves by itself unless a person undoes it. A `digest` and an `alarm` are about no case: a mail that came in last
    carries them.
    """

    ANSWER = "answer"
    ACKNOWLEDGEMENT = "acknowledgement"
    PACKET = "packet"
    FAILURE = "failure"
    REMINDER = "reminder"
    HELD = "held"
    DIGEST = "digest"
    ALARM = "alarm"
    PERSON_REPLY = "person_reply"

    @property
    def is_for_desk(self) -> bool:
        """Whether mails of this kind go to the desk, not to a customer."""
        return self.is_packet or self.is_about_no_case

    @property
    def is_about_no_case(self) -> bool:
        """Whether mails of this kind are about the agent, and stored with a mail that they have nothing of."""
        return self in (OutgoingKind.DIGEST, OutgoingKind.ALARM)

    @property
    def is_packet(self) -> bool:
        """Whether mails of this kind are packets: about one case, for the desk."""
        return self in (OutgoingKind.PACKET, OutgoingKind.FAILURE, OutgoingKind.REMINDER, OutgoingKind.HELD)

    @property
    def is_automatic_to_sender(self) -> bool:
        """Whether mails of this kind go to a sender without a person's words."""
        return self in (OutgoingKind.ANSWER, OutgoingKind.ACKNOWLEDGEMENT)

    @property
    def is_automatic(self) -> bool:
        """Whether no person wrote mails of this kind, whether to a sender or to the desk."""
        return self is not OutgoingKind.PERSON_REPLY

    def named(self, number: int) -> str:
        """The kind with its number, as part of an id; number 1 is left out."""
        return self.value if number == 1 else f"{self.value}-{number}"


CUSTOMER_KINDS = tuple(kind for kind in OutgoingKind if not kind.is_for_desk)
"""The kinds of mails that go to customers."""


class ToolCallStatus(StrEnum):
    DONE = "done"
    REJECTED = "rejected"
    BELOW_THRESHOLD = "below_threshold"
    FAILED = "failed"


class OutboxStatus(StrEnum):
    """`uncertain`: the server may have the mail; only the Sent folder, a bounce or report, or a person decides.

    `proposed`: a person must approve it first; `cancelled`: a person did not want it. No sender takes either.
    """

    PROPOSED = "proposed"
    READY = "ready"
    SENDING = "sending"
    SENT = "sent"
    UNCERTAIN = "uncertain"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_unsent(self) -> bool:
        """Whether a person decides, or has decided, that a mail with this status does not leave."""
        return self in (OutboxStatus.PROPOSED, OutboxStatus.CANCELLED)


class Record(BaseModel):
    """Base of the records: frozen, unknown fields refused, readable from a row."""

    model_config = ConfigDict(frozen=True, extra="forbid", from_attributes=True)


class RecordedMail(Record):
    """`is_new` is False if the same bytes were recorded before, even if retention has deleted them since."""

    id: MailId
    is_new: bool


class MailRecord(Record):
    """An inbound mail without its bytes, which `Store.mails.raw` returns.

    `in_doubt`: the store was restored from a backup, and the lost one may have handled the mail.
    """

    id: MailId
    raw_sha256: Sha256
    message_id: str
    folder: str
    uid_validity: int
    uid: int
    received_at: Instant
    case_id: CaseId | None = None
    status: MailStatus = MailStatus.NEW
    reason_code: str | None = None
    why: str | None = None
    handled_at: Instant | None = None
    sender_address: str | None = None
    level: Level | None = None
    sender_why: str | None = None
    screening_verdict: str | None = None
    screening_rule: str | None = None
    in_doubt: bool = False


class CaseRecord(Record):
    """One customer's thread. `participants` are its addresses, sorted; only they may continue it.

    `assignee` is the staff member who has it, None: the whole desk, or the machine. `desk` is the address that its
    packets go to if nobody has it, `desk_why` the rule that says so; both are None before its first packet, as is
    `language`, an ISO 639 code, "" where none was recognised.
    """

    id: Annotated[CaseId, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")]
    customer_address: str
    subject: str
    state: CaseState = CaseState.OPEN
    opened_at: Instant
    participants: tuple[str, ...] = ()
    assignee: str | None = None
    desk: str | None = None
    desk_why: str | None = None
    language: str | None = None


class CaseSummary(Record):
    """One line of the list of cases."""

    case: CaseRecord
    mails: int
    last_received_at: Instant


class ToolCallRecord(Record):
    """One choice of the planner. `seq` counts from 0; `votes` holds the runners-up with each vote."""

    seq: Annotated[int, Field(ge=0)]
    tool: str
    args: JsonObject
    confidence: Probability
    threshold: Probability
    votes: Json
    result: str
    status: ToolCallStatus
    seconds: Seconds


class PlanSummary(Record):
    """How a mail was decided, without each step.

    `planned_at` is the instant that gave "today"; the versions name the inputs. The cost includes retrieval.
    """

    mail_id: MailId
    planned_at: Instant
    model: str
    combiner_version: str
    company_version: str
    index_version: str
    outcome: Literal["answer", "escalate", "close"]
    reason: str | None
    seconds: Seconds
    forward_passes: Annotated[int, Field(ge=0)]
    tokens: Annotated[int, Field(ge=0)]


class PlanRecord(PlanSummary):
    """A plan with its calls; `trace` is the whole decision."""

    trace: Json
    calls: tuple[ToolCallRecord, ...] = ()


class RenderedMailRecord(Record):
    """One composed mail as data, from which its bytes can be rebuilt and explained.

    `payload` is the rendered value (a FinalAnswer, an acknowledgement, a packet), `spans` the subject, text and
    HTML as spans with their sources, `header_inputs` the inputs of the headers.
    """

    mail_id: MailId
    kind: OutgoingKind
    number: Annotated[int, Field(ge=1)] = 1
    payload: JsonObject
    templates_version: str
    spans: JsonObject
    header_inputs: JsonObject
    created_at: Instant


class _Mail(Record):
    """A mail of ours, queued or not; each inbound mail has at most one of a kind and number.

    `message_id` is the same on each try, and unique among our mails.
    """

    mail_id: MailId
    case_id: CaseId | None
    kind: OutgoingKind
    number: Annotated[int, Field(ge=1)] = 1
    message_id: str
    recipient: str
    created_at: Instant

    @property
    def id(self) -> OutboxId:
        """The key of its outbox row."""
        return outbox_id_of(self.mail_id, self.kind, self.number)


class OutgoingMail(_Mail):
    """A mail to be queued: its bytes, and the data from which they can be rebuilt (`RenderedMailRecord`).

    `is_proposed`: a person must approve it first. It is not sent before `due_at`; None: at once.
    """

    envelope_from: str
    raw: bytes
    is_proposed: bool = False
    due_at: Instant | None = None
    payload: JsonObject
    templates_version: str
    spans: JsonObject
    header_inputs: JsonObject


class OutboxEntry(_Mail):
    """A mail of the outbox without its bytes, so that one that cannot be read hides no other.

    `attempts` counts claims. `last_detail` is the latest news about the mail, mostly the server's reply. `notified_at`
    is when the desk's notice of its loss was queued: of a mail for the desk that mail again, without the original.
    `number` is above 1 only for a mail's further notices.
    """

    status: OutboxStatus = OutboxStatus.READY
    attempts: int = 0
    next_try_at: Instant
    last_detail: str | None = None
    sent_at: Instant | None = None
    notified_at: Instant | None = None

    @property
    def may_enclose_original(self) -> bool:
        """Whether it may enclose the customer's mail; a packet with a further number went without it."""
        is_numbered = self.kind in (OutgoingKind.FAILURE, OutgoingKind.REMINDER)  # for other reasons, too
        return self.kind.is_packet and (is_numbered or self.number == 1)


class OutboxRecord(OutboxEntry):
    """A row of the outbox; `copied_at` is when the Sent folder had a copy."""

    envelope_from: str
    raw: bytes
    copied_at: Instant | None = None


class Due(Record):
    """A due mail of the outbox without its bytes. Due mails are ordered by retry time, then by age."""

    next_try_at: Instant
    created_at: Instant
    id: OutboxId


class Recovered(NamedTuple):
    """A mail that a dead worker left in `sending`, and what it became."""

    id: OutboxId
    kind: OutgoingKind
    status: OutboxStatus


class DeliverySource(StrEnum):
    """The source of a delivery update, other than the server that took the mail."""

    OPERATOR = "the operator"
    STAFF = "a person at the desk"
    CUSTOMER = "the customer"
    SENT_FOLDER = "the Sent folder"
    RULE = "a rule"
    UNDONE = "an undo at the desk"
    LOST_PACKET = "the loss of the packet"
    BOUNCE = "a bounce"
    DELIVERY_REPORT = "a delivery report"
    RESTORE = "a restore from a backup"


class DeliveryUpdate(Record):
    """One change of an outgoing mail that the sender did not make itself; `number` counts from 1."""

    outbox_id: OutboxId
    number: Annotated[int, Field(ge=1)]
    before: OutboxStatus
    after: OutboxStatus
    by: DeliverySource
    detail: str
    updated_at: Instant


def outbox_id_of(mail_id: MailId, kind: OutgoingKind, number: int) -> OutboxId:
    """Return the key of the outbox row of a mail of ours."""
    return OutboxId(f"{mail_id}-{kind.named(number)}")


def mail_id_of(raw: bytes) -> MailId:
    """Return the id of a mail: the first 32 hex digits of the sha256 of its bytes."""
    return MailId(hashlib.sha256(raw).hexdigest()[:32])
