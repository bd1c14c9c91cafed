"""What a test looks at after a mail was handled: the rows of the outbox, the mail and its case, and what was said."""

from __future__ import annotations

from email import message_from_bytes, policy
from email.message import EmailMessage

from support_agent.store.records import CaseState, MailId, MailRecord, OutboxRecord, OutgoingKind
from tests.fakes_journey import Office

ANSWER, ACKNOWLEDGEMENT = OutgoingKind.ANSWER, OutgoingKind.ACKNOWLEDGEMENT
PACKET, FAILURE, PERSON_REPLY = OutgoingKind.PACKET, OutgoingKind.FAILURE, OutgoingKind.PERSON_REPLY
REFUND = "Hello,\r\n\r\ncan I get a refund?\r\n\r\nAnna"
CANCEL = "How do I cancel?"
SEATS = "How many seats have we paid for?"
TWO = "1. How many seats have we paid for?\r\n2. Do you have a table for four on Saturday?"
HUMAN = "Let me talk to a human."
OFF_TOPIC = "Do you have a table for four on Saturday?"
LIST = b"List-Id: <desk.harborfile.example>\r\nList-Post: <mailto:desk@harborfile.example>\r\nPrecedence: list\r\n"


def opened(row: OutboxRecord) -> EmailMessage:
    """The mail, parsed by the standard library."""
    return message_from_bytes(row.raw, policy=policy.default)


def text_of(row: OutboxRecord) -> str:
    """Its plain text."""
    body = opened(row).get_body(("plain",))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


def one(office: Office, mail_id: MailId) -> MailRecord:
    """The mail as recorded."""
    mail = office.store.mails.get(mail_id)
    assert mail is not None
    return mail


def state(office: Office, mail_id: MailId) -> CaseState:
    """Who has the mail's case."""
    case_id = one(office, mail_id).case_id
    assert case_id is not None
    case = office.store.cases.get(case_id)
    assert case is not None
    return case.state


def reason_told(office: Office, mail_id: MailId, kind: OutgoingKind = PACKET) -> tuple[object, object]:
    """Code and sentence of what the desk got for a mail."""
    record = office.store.outbox.rendered_mail(mail_id, kind)
    assert record is not None
    return record.payload["reason_code"], record.payload["why"]
