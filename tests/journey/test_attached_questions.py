"""A question that stands in an attachment: through the whole journey, and into no mail to a customer."""

from __future__ import annotations

import pytest

from support_agent.mail.message import parse
from support_agent.mail.text.attachment_text import with_attached_text
from support_agent.store.records import MailId, OutgoingKind
from tests.fakes_journey import STRANGER, Office, write

WHOLE = "text/plain; charset=utf-8"


def with_file(raw: bytes, file: str, name: str = "letter.txt") -> bytes:
    """The mail of `write` with one text file attached."""
    head, _, text = raw.decode().partition("\r\n\r\n")
    head = head.replace(f"Content-Type: {WHOLE}\r\n", 'Content-Type: multipart/mixed; boundary="b"\r\n')
    parts = (
        (f"Content-Type: {WHOLE}", text),
        (f'Content-Type: {WHOLE}\r\nContent-Disposition: attachment; filename="{name}"', file),
    )
    return (head + "\r\n\r\n" + "".join(f"--b\r\n{h}\r\n\r\n{body}\r\n" for h, body in parts) + "--b--\r\n").encode()


def reason(office: Office, mail_id: MailId) -> str | None:
    plan = office.store.plans.get(mail_id)
    return plan.reason if plan is not None else None


@pytest.mark.parametrize("text", ["", "Please see the attached letter."])
def test_a_question_in_an_attachment_is_answered_and_not_shown(office: Office, text: str) -> None:
    """The attachment is the customer's text: it is planned with, and no word of it is sent."""
    mail_id, outcome = office.handle(with_file(write(text, subject="My letter"), "How do I get a refund? Zanzibar."))
    assert outcome == "answered"
    answer = office.sent(mail_id)[OutgoingKind.ANSWER].raw.decode()
    assert "Zanzibar" not in answer
    assert "refund" in answer.lower()


def test_an_attachment_does_not_change_what_the_mail_itself_asks(office: Office) -> None:
    mail_id, _ = office.handle(with_file(write("Can I get a refund?"), "How do I reset my password?"))
    plan = office.store.plans.get(mail_id)
    assert plan is not None
    assert not [call for call in plan.calls if "6" in map(str, call.args.values())]


@pytest.mark.parametrize(
    ("file", "why"),
    [
        pytest.param("Let me talk to a human about my refund.", "person_asked_for", id="asks for a person"),
        pytest.param("refund " * 2_000, "limit", id="too long"),
        pytest.param("", "screening", id="empty"),
    ],
)
def test_what_a_person_must_read_in_an_attachment_goes_to_the_desk(office: Office, file: str, why: str) -> None:
    """S15, and the person's word: as if it stood in the mail."""
    mail_id, outcome = office.handle(with_file(write("", subject="My letter"), file))
    assert outcome == "escalated"
    assert OutgoingKind.ANSWER not in office.sent(mail_id)
    assert reason(office, mail_id) == why


def test_a_unknown_attachment_is_not_opened(office: Office) -> None:
    """Below the level that is answered nothing is read of it: a hostile file costs nothing."""
    raw = with_file(write("", sender=STRANGER, proof=None), "How do I get a refund?")
    mail_id = office.receive(raw)
    message = parse(raw)
    sender = office.stages.identify(office.stages.parse(mail_id))

    def opened() -> bytes:
        raise AssertionError("opened")

    assert office.decider.with_attached_text(message, opened, sender) is message
    assert with_attached_text(message, lambda: raw, 4_000) != message
