"""What goes into the store and comes out of it: frozen records, never a live row.

Invariant: a record is valid before it is written and after it is read, so a row is only ever built from a
validated type. Checked by tests/contract/store, which compares what went in with what comes out.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple, NewType

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

from support_agent.core.levels import Level

MailId = NewType("MailId", str)
CaseId = NewType("CaseId", str)
OutboxId = NewType("OutboxId", str)


def _utc(instant: datetime) -> datetime:
    return instant.astimezone(UTC)


def _without_nan(value: JsonValue) -> JsonValue:
    json.dumps(value, allow_nan=False)  # raises ValueError: NaN is not JSON, and PostgreSQL refuses it
    return value


Instant = Annotated[AwareDatetime, AfterValidator(_utc)]
Json = Annotated[JsonValue, AfterValidator(_without_nan)]
JsonObject = Annotated[dict[str, JsonValue], AfterValidator(_without_nan)]
Probability = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class MailStatus(StrEnum):
    """What became of an inbound mail; `new` is the only one with work left."""

    NEW = "new"
    ANSWERED = "answered"
    ESCALATED = "escalated"
    FILED = "filed"
    SET_ASIDE = "set_aside"


class CaseState(StrEnum):
    """Who has the case; only an `open` case may be answered by the machine."""

    OPEN = "open"
    WITH_PERSON = "with_person"


class LetterKind(StrEnum):
    """What an outgoing mail is to the mail that caused it; at most one of each kind, but for `failure`.

    That is a packet of its own: it tells the desk what went wrong after the mail was decided. More than one thing may,
    so there may be several: they are numbered.
    """

    ANSWER = "answer"
    ACKNOWLEDGEMENT = "acknowledgement"
    PACKET = "packet"
    FAILURE = "failure"
    PERSON_REPLY = "person_reply"

    @property
    def is_for_desk(self) -> bool:
        """Whether it goes to the desk, not to a customer."""
        return self in (LetterKind.PACKET, LetterKind.FAILURE)

    @property
    def is_automatic_letter(self) -> bool:
        """Whether it goes to a sender, and no person wrote it."""
        return self in (LetterKind.ANSWER, LetterKind.ACKNOWLEDGEMENT)

    @property
    def is_automatic(self) -> bool:
        """Whether no person wrote it, to whomever it goes."""
        return self is not LetterKind.PERSON_REPLY

    def named(self, number: int) -> str:
        """What it is called among those for one mail; the first bears no number."""
        return self.value if number == 1 else f"{self.value}-{number}"


class ToolCallStatus(StrEnum):
    DONE = "done"
    REJECTED = "rejected"
    BELOW_THRESHOLD = "below_threshold"
    FAILED = "failed"


class OutboxStatus(StrEnum):
    """`uncertain`: the server may have it; only a look into the sent mail, a bounce or a person decides."""

    READY = "ready"
    SENDING = "sending"
    SENT = "sent"
    UNCERTAIN = "uncertain"
    FAILED = "failed"


class Record(BaseModel):
    """A value of the store room."""

    model_config = ConfigDict(frozen=True, extra="forbid", from_attributes=True)


class RecordedMail(Record):
    """`is_new` is False where the same bytes were recorded before, also when they have been deleted since."""

    id: MailId
    is_new: bool


class MailRecord(Record):
    """An inbound mail without its bytes, which `Store.mails.raw` returns."""

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


class CaseRecord(Record):
    """One customer's thread. `participants` are its addresses, sorted; only they may continue it."""

    id: Annotated[CaseId, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")]
    customer_address: str
    subject: str
    state: CaseState = CaseState.OPEN
    opened_at: Instant
    participants: tuple[str, ...] = ()


class CaseSummary(Record):
    """One line of the list of cases."""

    case: CaseRecord
    mails: int
    last_received_at: Instant | None


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


class PlanRecord(Record):
    """How a mail was decided. `planned_at` is the instant that was "today"; versions say what was asked."""

    mail_id: MailId
    planned_at: Instant
    model: str
    combiner_version: str
    company_version: str
    index_version: str
    outcome: Literal["answer", "escalate"]
    reason: str | None
    seconds: Seconds
    forward_passes: Annotated[int, Field(ge=0)]
    tokens: Annotated[int, Field(ge=0)]
    trace: Json
    calls: tuple[ToolCallRecord, ...] = ()


class LetterRecord(Record):
    """One composed mail, as data: from it the bytes can be rebuilt and each of them explained.

    `payload` is what was rendered (a FinalAnswer, an acknowledgement, a packet), `rendered` the subject, text
    and HTML as spans with their sources, `header_inputs` what the headers were made from.
    """

    mail_id: MailId
    kind: LetterKind
    number: Annotated[int, Field(ge=1)] = 1
    payload: JsonObject
    templates_version: str
    rendered: JsonObject
    header_inputs: JsonObject
    created_at: Instant


class StoredDocument(Record):
    """One version of a company document: `version` is the sha256 of `raw`, in hex."""

    version: Sha256
    number: Annotated[int, Field(ge=1, le=99_999)]
    raw: bytes


class OutboxRecord(Record):
    """A mail that is to be sent, or was. `attempts` counts claims; `last_detail` is the last word about it, mostly the
    server's; `copied_at` is when the Sent folder was seen to have it, `told_at` when the desk's notice that it is lost
    came into the outbox. `number` counts the notices for a mail; of any other kind there is the first alone.

    `message_id` is the same on each try, and no other mail has it.
    """

    mail_id: MailId
    case_id: CaseId | None
    kind: LetterKind
    number: Annotated[int, Field(ge=1)] = 1
    message_id: str
    envelope_from: str
    recipient: str
    raw: bytes
    created_at: Instant
    status: OutboxStatus = OutboxStatus.READY
    attempts: int = 0
    next_try_at: Instant
    last_detail: str | None = None
    sent_at: Instant | None = None
    copied_at: Instant | None = None
    told_at: Instant | None = None

    @property
    def id(self) -> OutboxId:
        """Its key: there is one mail of a kind and number for a mail."""
        return OutboxId(f"{self.mail_id}-{self.kind.named(self.number)}")


class Due(Record):
    """A mail of the outbox that may be tried now, without its bytes, and where it stands among them: the longest due is
    first, of those the oldest.
    """

    next_try_at: Instant
    created_at: Instant
    id: OutboxId


class EarlierAnswer(Record):
    """An answer that went out before, or is on its way: `payload` is its FinalAnswer."""

    case_id: CaseId | None
    queued_at: Instant
    payload: JsonObject


class Passed(NamedTuple):
    """How many mails came into the outbox since an instant, and how many left it."""

    queued: int
    sent: int


class DeliverySource(StrEnum):
    """Who says what became of a mail, besides the server that was asked to take it."""

    OPERATOR = "the operator"
    SENT_FOLDER = "the Sent folder"
    BOUNCE = "a bounce"
    DELIVERY_REPORT = "a delivery report"


class DeliveryUpdate(Record):
    """One change of an outgoing mail that the sender did not make itself; `number` counts from 1."""

    outbox_id: OutboxId
    number: Annotated[int, Field(ge=1)]
    before: OutboxStatus
    after: OutboxStatus
    by: DeliverySource
    detail: str
    settled_at: Instant


class Suppression(Record):
    """An address that gets no automatic mail until an instant, and the mail of ours that bounced there."""

    address: str
    outbox_id: OutboxId
    detail: str
    since: Instant
    until: Instant

    @property
    def why(self) -> str:
        """Why the address gets no automatic mail, one sentence."""
        return f"{self.address} gets no automatic mail until {self.until:%Y-%m-%d}: {self.detail}"


class MailTimeline(Record):
    """A mail and everything that came of it."""

    mail: MailRecord
    plan: PlanRecord | None
    letters: tuple[LetterRecord, ...]
    outbox: tuple[OutboxRecord, ...]


class Timeline(Record):
    """A case and its mails, the oldest first."""

    case: CaseRecord
    mails: tuple[MailTimeline, ...]


class Counts(Record):
    """How much there is of each status; every status is a key."""

    mails: dict[MailStatus, int]
    cases: dict[CaseState, int]
    outbox: dict[OutboxStatus, int]


class Deleted(Record):
    """What a retention run removed."""

    cases: int
    mails: int


def mail_id_of(raw: bytes) -> MailId:
    """Return the id of a mail: the first 32 hex digits of the sha256 of its bytes."""
    return MailId(hashlib.sha256(raw).hexdigest()[:32])
