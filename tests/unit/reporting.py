"""Delivery reports (RFC 3464), and an answer of ours that they are about."""

from __future__ import annotations

from typing import TypedDict

from support_agent.core.modes import Mode
from support_agent.mail.keys import bounce_address, envelope_id
from support_agent.store.records import DeliverySource, OutboxRecord, OutboxStatus, OutgoingKind
from support_agent.transport.submission import Delivery
from tests.fakes_journey import JAMES, Office, with_autonomy, write

ANSWER, FAILURE, PACKET = OutgoingKind.ANSWER, OutgoingKind.FAILURE, OutgoingKind.PACKET
READY, SENDING, SENT = OutboxStatus.READY, OutboxStatus.SENDING, OutboxStatus.SENT
UNCERTAIN, FAILED = OutboxStatus.UNCERTAIN, OutboxStatus.FAILED
REFUND, OFF_TOPIC = "can I get a refund?", "Do you have a table for four on Saturday?"
VICTIM = "victim@elsewhere.example"


def report(
    *,
    action: str = "failed",
    status: str = "5.1.1",
    envelope: str = "",
    to: str = "support@harborfile.example",
    returned: str = "",
    recipient: str = JAMES,
    number: int = 1,
) -> bytes:
    """A delivery report (RFC 3464)."""
    lines = [
        "Return-Path: <>",
        "From: MAILER-DAEMON@mx.example.net",
        f"To: {to}",
        "Subject: Undelivered Mail Returned to Sender",
        f"Message-ID: <{number}.dsn@mx.example.net>",
        "MIME-Version: 1.0",
        'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
        "",
        "--b",
        "Content-Type: text/plain",
        "",
        "I could not deliver it.",
        "--b",
        "Content-Type: message/delivery-status",
        "",
        "Reporting-MTA: dns; mx.example.net",
        *([f"Original-Envelope-Id: {envelope}"] if envelope else []),
        "",
        f"Final-Recipient: rfc822; {recipient}",
        f"Action: {action}",
        f"Status: {status}",
        "",
        *(["--b", "Content-Type: text/rfc822-headers", "", f"Message-ID: {returned}", ""] if returned else []),
        "--b--",
        "",
    ]
    return "\r\n".join(lines).encode()


def answered(office: Office, status: str = "sent") -> OutboxRecord:
    """An answer to James that came to this."""
    office.transport.deliveries = [Delivery.model_validate({"status": status, "detail": "421 later"})]
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    return office.sent(mail_id)[ANSWER]


def proposed(office: Office, sender: str = JAMES) -> OutboxRecord:
    """An answer that waits for a person to approve it."""
    mail_id, _ = with_autonomy(office, start=Mode.APPROVE).handle(write(REFUND, sender=sender))
    return office.sent(mail_id)[ANSWER]


def cancelled(office: Office, sender: str = JAMES) -> OutboxRecord:
    """One that a person did not want."""
    record, by = proposed(office, sender), DeliverySource.STAFF
    sources = (OutboxStatus.PROPOSED,)
    assert office.store.deliveries.update(record.id, OutboxStatus.CANCELLED, by, "not this", office.clock(), sources)
    return again(office, record)


def again(office: Office, record: OutboxRecord) -> OutboxRecord:
    found = office.store.outbox.get(record.id)
    assert found is not None
    return found


NAMES = ("envelope", "verp", "returned", "returned under another domain")


class Naming(TypedDict, total=False):
    """How a report names the mail that it is about: arguments of `report`."""

    envelope: str
    to: str
    returned: str


def naming(record: OutboxRecord, how: str) -> Naming:
    match how:
        case "envelope":
            return {"envelope": envelope_id(record.message_id)}
        case "verp":
            return {"to": bounce_address("support@harborfile.example", record.message_id)}
        case "returned":
            return {"returned": record.message_id}
        case _:
            return {"returned": record.message_id.replace("@harborfile.example>", "@gateway.example>")}
