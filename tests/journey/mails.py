"""One mail for each way through the journey, and what must have become of it at the end."""

from __future__ import annotations

from typing import NamedTuple

from support_agent.store.records import MailStatus, OutgoingKind
from tests.journey.lives import REFUSED

DESK = "desk@harborfile.example"
EMMA = "emma.johansson@example.com"
STRANGER = "stranger@example.com"
"""Level 2: documents may be sent, account values not."""
MAIL = """\
Return-Path: <{sender}>
Authentication-Results: mx.harborfile.example; dmarc=pass header.from={domain}
Message-ID: <{name}@{domain}>
Date: Mon, 16 Nov 2026 09:12:04 +0000
From: {sender}
To: support@harborfile.example
Subject: {subject}
{more}MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8

{body}
"""


class Way(NamedTuple):
    """A kind of mail, the steps that are its own, and its end: status and what goes out, each once.

    `{number}` in the body is that of the mail.
    """

    name: str
    subject: str
    body: str
    steps: tuple[str, ...]
    status: MailStatus
    out: frozenset[OutgoingKind]
    sender: str = EMMA
    more: str = ""

    def mail(self, number: int, packet_id: str = "") -> bytes:
        """The n-th mail of this kind; `packet_id` is the Message-ID that a staff member replies to."""
        domain = self.sender.partition("@")[2]
        more = self.more.format(packet_id=packet_id)
        text = MAIL.format(
            sender=self.sender,
            domain=domain,
            name=f"{self.name}-{number}",
            subject=self.subject,
            more=more,
            body=self.body.format(number=number),
        )
        return text.replace("\n", "\r\n").encode()


WAYS = {
    way.name: way
    for way in (
        Way(
            "answered",
            "Refund",
            "How many days do I have to ask for a refund?",
            ("parse", "screen", "identify", "route", "hold", "plan", "answer", "send", "end"),
            MailStatus.ANSWERED,
            frozenset({OutgoingKind.ANSWER}),
        ),
        Way(
            "partly",
            "Two things",
            "How many days do I have to ask for a refund?\n\nWhen does our plan renew?",
            ("answer", "send"),
            MailStatus.ANSWERED,
            frozenset({OutgoingKind.ANSWER, OutgoingKind.PACKET}),
            sender=STRANGER,
        ),
        Way(
            "escalated",
            "Refund",
            "Let me talk to a human.",
            ("plan", "answer", "send", "end"),
            MailStatus.ESCALATED,
            frozenset({OutgoingKind.PACKET, OutgoingKind.ACKNOWLEDGEMENT}),
        ),
        Way(
            "refused",
            REFUSED,
            "How many days do I have to ask for a refund?",
            ("answer", "escalate"),
            MailStatus.ESCALATED,
            frozenset({OutgoingKind.PACKET, OutgoingKind.ACKNOWLEDGEMENT}),
        ),
        Way(
            "filed",
            "Out of office",
            "I am away until Monday.",
            ("file",),
            MailStatus.FILED,
            frozenset(),
            more="Auto-Submitted: auto-replied\n",
        ),
        Way(
            "passed_on",
            "Re: a case",
            "Dear Emma, I have looked into it {number} times, and all is well again.",
            ("route", "pass_on", "send"),
            MailStatus.FILED,
            frozenset({OutgoingKind.PERSON_REPLY}),
            sender=DESK,
            more="In-Reply-To: {packet_id}\n",
        ),
    )
}
