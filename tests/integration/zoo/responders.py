"""Machines that answer mail: each takes a mail's bytes and gives the bytes that it would send back.

The header fields are those that the real systems write, as documented by their makers and seen in mails. `MARKED` say
that they are machines, each in its own way; `MARKLESS` say nothing, or nothing that a rule may believe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import ClassVar

from support_agent.mail.message import Message, parse
from tests.integration.zoo.post_office import Posted

Fields = list[tuple[str, str]]
AWAY = "I am out of the office until Monday and answer your mail then."
TICKET = "We have received your request and opened ticket 4711. Please do not open another one."

UNLUCKY = (
    "I am on leave until Monday. Your message will not be forwarded.",
    "This address does not exist any more, mine is anna@new.example now. The mailbox is not active.",
    "I am away.\n\nOn Fri, 20 Nov 2026 Support wrote:\n> If it says 'user unknown', the address was not found.",
    "We have your mail. If your mailbox is full our answer cannot be delivered: 550 5.1.1 user unknown.",
)
"""What answers by machine say of failures that are none of ours."""


def mail_of(fields: Fields, body: str) -> bytes:
    """A plain mail, in UTF-8 as it is."""
    mime = [("MIME-Version", "1.0"), ("Content-Type", "text/plain; charset=utf-8")]
    head = "".join(f"{name}: {value}\r\n" for name, value in [*fields, *mime])
    return f"{head}\r\n{body}\r\n".replace("\r\n", "\n").replace("\n", "\r\n").encode()


@dataclass
class Responder:
    """What all have in common; each real one overrides what it does otherwise.

    Args:
        address: Where it lives, and by default what it writes from.
        honours_marks: Whether it is silent where a mail says that it is automatic or wants no reply.
    """

    address: str
    honours_marks: bool = False
    body: ClassVar[str] = TICKET
    answered: int = 0
    received: list[Message] = field(default_factory=list)

    def lives_at(self, address: str) -> bool:
        return address == self.address

    def receive(self, posted: Posted, now: datetime) -> Sequence[Posted]:
        message = parse(posted.raw)
        self.received.append(message)
        if not posted.envelope_from or (self.honours_marks and self.is_marked(message)) or not self.may(message, now):
            return ()
        self.answered += 1
        return self.replies(posted, message, now)

    def replies(self, posted: Posted, message: Message, now: datetime) -> Sequence[Posted]:
        fields = [
            ("From", self.sender()),
            ("To", posted.envelope_from),
            ("Subject", self.subject(message)),
            ("Date", format_datetime(now)),
            ("Message-ID", self.message_id()),
            *self.thread(message),
            *self.marks(message),
        ]
        return (Posted(self.return_path(), posted.envelope_from, mail_of(fields, self.text(message))),)

    def is_marked(self, message: Message) -> bool:
        """Whether the mail asks machines to be silent, by the field that this kind of responder looks at."""
        return message.header("Auto-Submitted") is not None

    def may(self, message: Message, now: datetime) -> bool:
        return True

    def sender(self) -> str:
        return f"<{self.address}>"

    def return_path(self) -> str:
        return self.address

    def subject(self, message: Message) -> str:
        return f"Re: {message.subject.removeprefix('Re: ')}"

    def message_id(self) -> str:
        return f"<{self.answered}.{type(self).__name__.lower()}@{self.address.rpartition('@')[2]}>"

    def thread(self, message: Message) -> Fields:
        references = " ".join((*message.references, message.message_id))
        return [("In-Reply-To", message.message_id), ("References", references)]

    def marks(self, message: Message) -> Fields:
        return []

    def text(self, message: Message) -> str:
        return self.body


class Exchange(Responder):
    """Out of office of Exchange and Microsoft 365: null return path, to each sender once while it is on."""

    body = AWAY
    prefix: ClassVar[str] = "Automatic reply"

    def is_marked(self, message: Message) -> bool:
        suppressed = (message.header("X-Auto-Response-Suppress") or "").lower()
        return any(word in suppressed for word in ("oof", "all"))

    def return_path(self) -> str:
        return ""

    def subject(self, message: Message) -> str:
        return f"{self.prefix}: {message.subject}"

    def marks(self, message: Message) -> Fields:
        return [
            ("Auto-Submitted", "auto-generated"),
            ("X-Auto-Response-Suppress", "All"),
            ("X-MS-Exchange-Inbox-Rules-Loop", self.address),
            ("X-MS-Has-Attach", ""),
            ("X-MS-TNEF-Correlator", ""),
        ]


class ExchangeByRule(Exchange):
    """An inbox rule "have server reply": written from the mailbox, with its return path."""

    def return_path(self) -> str:
        return self.address

    def marks(self, message: Message) -> Fields:
        return [
            ("X-MS-Exchange-Generated-Message-Source", "Mailbox Rules Agent"),
            ("X-MS-Exchange-Inbox-Rules-Loop", self.address),
        ]


class ExchangeGerman(Exchange):
    """The same out of office of a German user."""

    prefix = "Automatische Antwort"
    body = "Ich bin bis Montag nicht im Büro. In dringenden Fällen hilft Ihnen meine Vertretung."


class ExchangeFrench(Exchange):
    """The same of a French user, through a gateway that keeps only the header of RFC 3834."""

    prefix = "Réponse automatique"
    body = "Je suis absent jusqu'à lundi et vous répondrai à mon retour."

    def marks(self, message: Message) -> Fields:
        return [("Auto-Submitted", "auto-replied")]

    def return_path(self) -> str:
        return self.address


class Gmail(Responder):
    """Gmail's vacation responder: to each sender once in four days."""

    body = AWAY
    last_at: dict[str, datetime]

    def is_marked(self, message: Message) -> bool:
        is_list = any(name.lower().startswith("list-") for name, _ in message.headers)
        return is_list or (message.header("Precedence") or "").lower() in {"bulk", "junk", "list"}

    def may(self, message: Message, now: datetime) -> bool:
        sender = message.from_.addr if message.from_ is not None else ""
        last_at = self.__dict__.setdefault("last_at", {})
        if sender in last_at and now - last_at[sender] < timedelta(days=4):
            return False
        last_at[sender] = now
        return True

    def marks(self, message: Message) -> Fields:
        return [("Precedence", "bulk"), ("X-Autoreply", "yes"), ("Auto-Submitted", "auto-replied")]


class OsTicket(Responder):
    """osTicket's autoresponse to a new ticket or message; it drops the sender's Message-ID from the thread."""

    def subject(self, message: Message) -> str:
        return "Support Ticket Opened [#4711]"

    def marks(self, message: Message) -> Fields:
        return [
            ("X-Autoreply", "yes"),
            ("X-Auto-Response-Suppress", "DR, RN, OOF, AutoReply"),
            ("Auto-Submitted", "auto-replied"),
            ("X-Mailer", "osTicket Mailer"),
        ]


class RequestTracker(Responder):
    """RT's autoreply to the requestor of a ticket."""

    def subject(self, message: Message) -> str:
        return f"[example.com #4711] AutoReply: {message.subject}"

    def marks(self, message: Message) -> Fields:
        return [
            ("RT-Ticket", "example.com #4711"),
            ("Managed-BY", "RT 5.0.5 (http://www.bestpractical.com/rt/)"),
            ("RT-Originator", self.received[-1].from_.addr if self.received[-1].from_ else ""),
            ("Auto-Submitted", "auto-replied"),
            ("X-RT-Loop-Prevention", "example.com"),
            ("Precedence", "bulk"),
            ("X-RT-Original-Encoding", "utf-8"),
        ]


class FreeScout(Responder):
    """FreeScout's auto reply: no Auto-Submitted, only a field and an id of its own say what it is."""

    def message_id(self) -> str:
        return f"<FS_autoreply-{self.answered}-0f1e2d3c@{self.address.rpartition('@')[2]}>"

    def subject(self, message: Message) -> str:
        return f"Re: {message.subject.removeprefix('Re: ')}"

    def marks(self, message: Message) -> Fields:
        return [("X-FreeScout-Mail-Type", "auto.reply")]


class Zammad(Responder):
    """Zammad's trigger "auto reply on new tickets"."""

    def subject(self, message: Message) -> str:
        return f"[Ticket#4711] {message.subject}"

    def marks(self, message: Message) -> Fields:
        return [
            ("Precedence", "bulk"),
            ("Auto-Submitted", "auto-generated"),
            ("X-Auto-Response-Suppress", "All"),
            ("X-Powered-By", "Zammad - Helpdesk/Support (https://zammad.org/)"),
            ("X-Mailer", "Zammad Mail Service"),
        ]


class Jira(Responder):
    """Jira Service Management's notice to the reporter of a request."""

    def sender(self) -> str:
        return f'"Example Help" <{self.address}>'

    def subject(self, message: Message) -> str:
        return f"HELP-4711 {message.subject}"

    def text(self, message: Message) -> str:
        return f"—-—-—-—\nReply above this line.\n\n{TICKET}\n\nView request · Turn off this request's notifications"

    def marks(self, message: Message) -> Fields:
        return [
            ("Auto-Submitted", "auto-generated"),
            ("Precedence", "bulk"),
            ("X-JIRA-FingerPrint", "0123456789abcdef0123456789abcdef"),
        ]


class Otrs(Responder):
    """OTRS' and Znuny's auto reply of a queue."""

    def subject(self, message: Message) -> str:
        return f"[Ticket#2026112010000017] RE: {message.subject}"

    def marks(self, message: Message) -> Fields:
        return [
            ("Precedence", "bulk"),
            ("X-OTRS-Loop", "yes"),
            ("X-Loop", "yes"),
            ("Auto-Submitted", "auto-generated"),
            ("X-Mailer", "OTRS Mail Service (6.0.30)"),
            ("X-Powered-By", "OTRS (https://otrs.com/)"),
        ]


class NoReply(Responder):
    """A shop that confirms each mail from an address that nobody reads, without any other mark."""

    body = "Thank you for your mail. This mailbox is not monitored."

    def sender(self) -> str:
        return f"<no-reply@{self.address.rpartition('@')[2]}>"


class Mailman(Responder):
    """A mailing list: what comes in goes to all subscribers, us among them, From the list (DMARC mitigation)."""

    def replies(self, posted: Posted, message: Message, now: datetime) -> Sequence[Posted]:
        name, _, domain = self.address.rpartition("@")
        kept = [(key, value) for key, value in message.headers if key.lower() in {"message-id", "auto-submitted"}]
        kept += [(key, value) for key, value in message.headers if key.lower() in {"in-reply-to", "references"}]
        fields = [
            ("From", f'"A member via {name}" <{self.address}>'),
            ("Reply-To", posted.envelope_from),
            ("To", self.address),
            ("Subject", f"[{name}] {message.subject}"),
            ("Date", format_datetime(now)),
            *kept,
            ("Precedence", "list"),
            ("X-BeenThere", self.address),
            ("X-Mailman-Version", "2.1.39"),
            ("List-Id", f"<{name}.{domain}>"),
            ("List-Post", f"<mailto:{self.address}>"),
            ("List-Unsubscribe", f"<mailto:{name}-leave@{domain}>"),
            ("Errors-To", f"{name}-bounces@{domain}"),
        ]
        return (Posted(f"{name}-bounces@{domain}", posted.envelope_from, mail_of(fields, message.text)),)


class Redirector(Responder):
    """A forward that sends our own mail back to us as it is, byte for byte."""

    def replies(self, posted: Posted, message: Message, now: datetime) -> Sequence[Posted]:
        return (Posted(self.address, posted.envelope_from, posted.raw),)


class Bouncer(Responder):
    """A server that takes every mail and then returns it (RFC 3464)."""

    def return_path(self) -> str:
        return ""

    def replies(self, posted: Posted, message: Message, now: datetime) -> Sequence[Posted]:
        host = f"mx.{self.address.rpartition('@')[2]}"
        fields = [
            ("From", f"MAILER-DAEMON@{host} (Mail Delivery System)"),
            ("To", posted.envelope_from),
            ("Subject", "Undelivered Mail Returned to Sender"),
            ("Date", format_datetime(now)),
            ("Message-ID", f"<{self.answered}.bounce@{host}>"),
            ("Auto-Submitted", "auto-replied"),
            ("MIME-Version", "1.0"),
            ("Content-Type", 'multipart/report; report-type=delivery-status; boundary="B0"'),
        ]
        head = "".join(f"{name}: {value}\r\n" for name, value in fields)
        returned = posted.raw.partition(b"\r\n\r\n")[0].decode("ascii", "replace")
        body = (
            "--B0\r\nContent-Type: text/plain\r\n\r\nYour mail could not be delivered.\r\n"
            "--B0\r\nContent-Type: message/delivery-status\r\n\r\n"
            f"Reporting-MTA: dns; {host}\r\n\r\nFinal-Recipient: rfc822; {posted.recipient}\r\nAction: failed\r\n"
            "Status: 5.1.1\r\nDiagnostic-Code: smtp; 550 5.1.1 no such user\r\n\r\n"
            f"--B0\r\nContent-Type: text/rfc822-headers\r\n\r\n{returned}\r\n--B0--\r\n"
        )
        return (Posted("", posted.envelope_from, f"{head}\r\n{body}".encode()),)


class OldBouncer(Bouncer):
    """A server of before 1996: prose from its postmaster, with a return path and without a report."""

    def replies(self, posted: Posted, message: Message, now: datetime) -> Sequence[Posted]:
        host = f"mx.{self.address.rpartition('@')[2]}"
        fields = [
            ("From", f"Postmaster <postmaster@{host}>"),
            ("To", posted.envelope_from),
            ("Subject", "Returned mail: User unknown"),
            ("Date", format_datetime(now)),
            ("Message-ID", f"<{self.answered}.old@{host}>"),
        ]
        text = f"The following address had errors:\n<{posted.recipient}>: user unknown\n\n{message.text}"
        return (Posted(f"postmaster@{host}", posted.envelope_from, mail_of(fields, text)),)


class Parrot(Responder):
    """Without any mark: answers every mail with the same text."""

    body = "Thank you for your message. We will get back to you as soon as possible."


class Quoter(Responder):
    """Without any mark: the same text above the whole mail, so that its question stands there again."""

    body = "Thank you for your message, which reads:"

    def text(self, message: Message) -> str:
        quoted = "\n".join(f"> {line}" for line in message.text.split("\n"))
        return f"{self.body}\n\n{quoted}"


class Echo(Responder):
    """Without any mark: sends the words back as if they were its own."""

    def text(self, message: Message) -> str:
        return message.visible_text


class Salesman(Responder):
    """Without any mark, and its text asks what we can answer."""

    body = "Can I get a refund? How do I reset my password? When is the next time that I pay?"


class Threadless(Salesman):
    """The same, and every mail begins a new thread."""

    def thread(self, message: Message) -> Fields:
        return []

    def subject(self, message: Message) -> str:
        return f"Your request {self.answered}"


class Counter(Salesman):
    """The same, and no two of its texts are alike."""

    def text(self, message: Message) -> str:
        return f"{self.body} This is letter {self.answered} of {self.answered * 7}."


class Shifter(Counter):
    """Writes each mail from a new address, and takes what comes to any of them."""

    def sender(self) -> str:
        local, _, domain = self.address.rpartition("@")
        return f"<{local}.{self.answered}@{domain}>"

    def return_path(self) -> str:
        return self.sender().strip("<>")

    def lives_at(self, address: str) -> bool:
        return address.rpartition("@")[2] == self.address.rpartition("@")[2]


class ThreadlessShifter(Shifter):
    """The worst of all: new address, new thread, new text each time."""

    def thread(self, message: Message) -> Fields:
        return []


MARKED: tuple[type[Responder], ...] = (
    Exchange,
    ExchangeByRule,
    ExchangeGerman,
    ExchangeFrench,
    Gmail,
    OsTicket,
    RequestTracker,
    FreeScout,
    Zammad,
    Jira,
    Otrs,
    NoReply,
    Mailman,
    Redirector,
    Bouncer,
    OldBouncer,
)
MARKLESS: tuple[type[Responder], ...] = (Parrot, Quoter, Echo, Salesman, Threadless, Counter)
