"""Examples of everything the store keeps; each has only what a test does not say itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from support_agent.core.cursor import Cursor
from support_agent.core.modes import Mode
from support_agent.store.desk_records import Label, LabelOutcome, LabelSource, ModeSource, UsedKey
from support_agent.store.records import (
    CaseId,
    CaseRecord,
    CaseState,
    DeliverySource,
    MailId,
    OutboxRecord,
    OutboxStatus,
    OutgoingKind,
    OutgoingMail,
    PlanRecord,
    RenderedMailRecord,
    ToolCallRecord,
    ToolCallStatus,
)
from support_agent.store.store import Store
from support_agent.store.watch_records import AlarmKind, AlarmRecord, AlarmState, Expiring

NOON = datetime(2025, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
CASE = CaseId("MFRGGZDFMZ")
ANNA = "anna.keller@example.net"


def cursor(uid: int, uid_validity: int = 7, folder: str = "INBOX") -> Cursor:
    return Cursor(folder=folder, uid_validity=uid_validity, last_uid=uid)


def raw(number: int = 1) -> bytes:
    return b"From: anna.keller@example.net\r\nSubject: mail %d\r\n\r\n\xff\x00 bytes\r\n" % number


def record(store: Store, number: int = 1, at: datetime = NOON, message_id: str | None = None) -> MailId:
    """Record mail `number` with the UID of the same number."""
    message_id = message_id or f"<{number}@example.net>"
    return store.mails.record(raw(number), message_id, cursor(number), at).id


def case(case_id: CaseId = CASE, opened_at: datetime = NOON, participants: tuple[str, ...] = ()) -> CaseRecord:
    return CaseRecord(
        id=case_id,
        customer_address=ANNA,
        subject="Refund?",
        opened_at=opened_at,
        participants=participants,
    )


def call(seq: int = 0) -> ToolCallRecord:
    return ToolCallRecord(
        seq=seq,
        tool="send_document",
        args={"number": 1, "sections": ["a", None, True, 0.1]},
        confidence=0.93,
        threshold=0.5,
        votes=[{"option": "Refund policy", "similarity": 0.61}, {"option": "None", "list": 0.1}],
        result="document 1, Refund policy",
        status=ToolCallStatus.DONE,
        seconds=0.34,
    )


def plan(mail_id: MailId, model: str = "qwen", calls: tuple[ToolCallRecord, ...] | None = None) -> PlanRecord:
    return PlanRecord(
        mail_id=mail_id,
        planned_at=NOON,
        model=model,
        combiner_version="c1",
        company_version="v1",
        index_version="i1",
        outcome="answer",
        reason=None,
        seconds=1.25,
        forward_passes=4,
        tokens=512,
        trace={"steps": [1, 2.5, {"text": "Größe"}]},
        calls=(call(0), call(1)) if calls is None else calls,
    )


def label(mail_id: MailId, outcome: LabelOutcome = LabelOutcome.SAME, at: datetime = NOON) -> Label:
    return Label(mail_id=mail_id, outcome=outcome, keys=("document:1",), who=ANNA, how=LabelSource.COMMAND, made_at=at)


def rendered(
    mail_id: MailId,
    kind: OutgoingKind = OutgoingKind.ANSWER,
    subject: str = "Re: Refund?",
    number: int = 1,
    parent: MailId | None = None,
) -> RenderedMailRecord:
    return RenderedMailRecord(
        mail_id=mail_id,
        kind=kind,
        number=number,
        payload={"company": "Harborfile", "answers": [{"items": []}]},
        templates_version="t1",
        spans={"subject": [{"text": subject, "source": "template"}]},
        header_inputs={"to": ANNA, "date": "2025-03-01T12:00:00Z", "parent_mail_id": parent or mail_id},
        created_at=NOON,
    )


def outgoing(
    mail_id: MailId,
    kind: OutgoingKind = OutgoingKind.ANSWER,
    case_id: CaseId | None = None,
    at: datetime = NOON,
    body: bytes = b"Subject: Re: Refund?\r\n\r\n\x00\xff\r\n",
    number: int = 1,
    subject: str = "Re: Refund?",
    parent: MailId | None = None,
) -> OutgoingMail:
    """Args: parent: The customer's mail that it answers; by default the one that caused it."""
    made_from = rendered(mail_id, kind, subject, number, parent)
    return OutgoingMail(
        mail_id=mail_id,
        case_id=case_id,
        kind=kind,
        number=number,
        message_id=f"<{mail_id}.{kind.named(number)}@harborfile.example>",
        envelope_from="support@harborfile.example",
        recipient=ANNA,
        raw=body,
        created_at=at,
        payload=made_from.payload,
        templates_version=made_from.templates_version,
        spans=made_from.spans,
        header_inputs=made_from.header_inputs,
    )


def put(store: Store, mail: OutgoingMail) -> OutboxRecord:
    """Put a mail into the outbox."""
    return store.outbox.queue(mail)


def queue(store: Store, number: int = 1, at: datetime = NOON) -> OutboxRecord:
    """Record mail `number` and put an answer to it into the outbox."""
    return put(store, outgoing(record(store, number), at=at))


def alarm(number: int = 1, state: AlarmState = AlarmState.BEGUN, at: datetime = NOON) -> AlarmRecord:
    return AlarmRecord(kind=AlarmKind.BACKLOG, number=number, state=state, since=NOON, notified_at=at)


def fill(store: Store) -> MailId:
    """Put something into every table but that of forgotten mails."""
    mail_id = record(store)
    store.cases.open(case(participants=("second@example.net",)), mail_id)
    store.mails.save_screening(mail_id, "answer", None)
    store.mails.save_sender(mail_id, ANNA, 3, "dmarc=pass")
    store.versions.save_document(1, b"---\nnumber: 1\n---\n# Refund policy\n")
    store.versions.save_templates("t1", {"answer.txt.j2": "Hello"})
    store.versions.save_queries("v1", {"fields": {"plan": "SELECT plan"}, "series": {}})
    store.plans.save(plan(mail_id), '{"format": 1}')
    row = put(store, outgoing(mail_id, case_id=CASE))
    assert store.outbox.queue_alarm(outgoing(mail_id, case_id=CASE), alarm()) == row
    store.watching.note_expiry(Expiring.IMAP_CERTIFICATE, NOON)
    assert store.outbox.claim(row.id, NOON)
    store.outbox.mark_failed(row.id, "550 5.1.1 no such user", by="")
    store.suppressions.add(row, "550 5.1.1 no such user", NOON, NOON + 60 * DAY)
    store.modes.change("document:1", Mode.AUTO, ModeSource.BY_HAND, "the operator", "it is well known", NOON)
    key = UsedKey(key="K", slot="K", command="close", case_id=CASE, mail_id=mail_id, who="ada", used_at=NOON)
    assert store.used_keys.use(key) is None
    store.labels.add(label(mail_id))
    store.cases.change(CASE, CaseState.OPEN, ANNA, "the operator", "hers", NOON)
    store.cases.give_to_desk(CASE, "desk@harborfile.example", "desk.address", None)
    again = (row.id, OutboxStatus.READY, DeliverySource.OPERATOR, "the mailbox is there now", NOON)
    assert store.deliveries.update(*again, sources=(OutboxStatus.FAILED,))
    return mail_id
