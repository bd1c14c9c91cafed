"""What people do on the page, as what they would do by mail: a staff mail with a keyed command, carried out at once.

An act is recorded as a mail from the person's address that answers the case's packet: with a command, or with own
words. `DeskCommands` then carries it out as any mail of staff: keys, labels, the gate and replay hold for the page as
they do for mail, and `show` says who did what. If the process dies in between, the worker finishes the act.

Invariant: the bytes of an act depend only on who does what to what, so the same act twice is one. Its key is bound to
what the person saw: if that has changed, nothing is done, and of two acts at once at most one. Checked by
tests/journey/test_page_acts.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP

from support_agent.cases.commands import Command, given_in
from support_agent.cases.route import RoutedMail
from support_agent.core.cursor import Cursor
from support_agent.core.levels import PROVEN
from support_agent.desk_page.people import Person
from support_agent.desk_page.visit import Desk, Upload
from support_agent.errors import PermanentError, SupportAgentError, TransientError
from support_agent.mail.message import parse
from support_agent.outbound.staff_files import clean_name, is_left_out
from support_agent.outbound.staff_words import own_words
from support_agent.store.records import (
    PAGE_FOLDER,
    CaseRecord,
    MailId,
    MailStatus,
    OutboxEntry,
    OutgoingKind,
    mail_id_of,
)
from support_agent.tools.person_choice import PersonChoice
from support_agent.workflow.desk_commands import Offer

WHY = "signed in on the desk's page"
REFUSED = "command_refused"
KEPT = "act_kept"
"""Code of the error of an act that is recorded and not yet done."""
CHANGED = "case_changed"
"""Code of the error of an act on a case that has changed since the person saw it."""
UNFOLDED = SMTP.clone(max_line_length=990)
"""The library would encode a long Message-ID so that no program finds it."""
KIND = re.compile(r"(application|audio|font|image|text|video)/([a-z0-9][a-z0-9.+-]{0,80})(?=;|$)")
"""Types of files that a browser may name; others (a mail, a mail of parts) would not be one file."""


@dataclass(frozen=True)
class Act:
    """What a person does about a packet: a command with the key that the page showed, or own words and files."""

    command: Command
    key: str = ""
    choice: PersonChoice | None = None
    words: str = ""
    files: Sequence[Upload] = ()

    @property
    def said(self) -> str:
        """The command in the words of a mail."""
        return f"send {self.choice.text}" if self.choice is not None else self.command.value


def carry_out(desk: Desk, person: Person, offer: Offer, act: Act, seen: str) -> None:
    """Carry out an act about a packet.

    Args:
        seen: The `state_of` the case when the person saw it. It is compared once the act's own mail is in the case:
            of two acts at once one at least then sees the other.
    Raises:
        PermanentError: it may not be carried out; the message says why. GateRefused, ToolCallRejected: the document
            cannot be sent. Nothing was sent then. TransientError with the code `KEPT`: the worker carries it out later.
    """
    wired = desk.wired()
    stages = wired.stages
    raw = _mail(desk, person, offer.packet, act)
    if act.command is Command.OWN_WORDS:
        _check_words(desk, offer, raw)
    folder = Cursor(folder=PAGE_FOLDER, uid_validity=1, last_uid=1)
    digest = hashlib.sha256(raw).hexdigest()
    desk.store.mails.record(raw, f"<{digest[:32]}@page.invalid>", folder, desk.now(), (person.address, PROVEN, WHY))
    received = stages.parse(mail_id_of(raw))  # the same act twice counts from the first time, as for the worker
    try:
        sender = stages.identify(received)
        mail = RoutedMail.on(received, sender, stages.route(received, sender))
        if not mail.route.is_staff_reply:
            raise PermanentError(f"{person.address} is not of the staff, or the case has no such packet", code=REFUSED)
        case = desk.store.cases.get_one(mail.route.case_id)
        if seen not in (state_of(desk, case), state_of(desk, case, without=mail.id)):  # the same act may be in it
            raise PermanentError("the case has changed since you opened it", code=CHANGED)
        if (given := given_in(received.message)) is not None:
            wired.desk.carry_out(mail, given)
        else:
            wired.desk.pass_on(mail, offer.packet, offer.customer_mail, received.message.visible_text)()
        desk.store.mails.end(received.id, MailStatus.FILED, None, act.said, desk.now())
    except TransientError as error:  # the mail stays `new`, so the worker goes on where this ended
        raise TransientError(str(error), code=KEPT) from error
    except SupportAgentError as error:
        desk.store.mails.end(received.id, MailStatus.FILED, error.code, str(error), desk.now())
        raise


def as_passed_on(desk: Desk, person: Person, offer: Offer, act: Act) -> str:
    """Own words as the customer would get them: what reads like a signature or a quotation is left out, as by mail."""
    words = parse(_mail(desk, person, offer.packet, act)).visible_text
    packet = desk.wired().stages.routing.threads.packet_as_sent(offer.packet)
    return own_words(words, packet) if packet is not None else words.strip()


def leaves_out(words: str, passed_on: str) -> bool:
    """Whether the customer would not get all words of a form."""
    return [line.rstrip() for line in words.strip().splitlines()] != passed_on.splitlines()


def state_of(desk: Desk, case: CaseRecord, *, without: MailId | None = None) -> str:
    """What a person sees of a case and acts on, as a digest: who has it, the mails, and what people sent.

    Args:
        without: A mail that does not count.
    """
    mails = tuple(mail for mail in desk.store.cases.mails_of(case.id) if mail != without)
    replies = desk.store.deliveries.in_case(case.id, OutgoingKind.PERSON_REPLY)
    seen = (case.state.value, case.assignee, mails, [row.id for row in replies])
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:32]


def _check_words(desk: Desk, offer: Offer, raw: bytes) -> None:
    """Refuse own words that would be a command, or would not leave whole though the page said so.

    Raises:
        PermanentError: as `carry_out`; nothing is recorded.
    """
    mail_id, message = mail_id_of(raw), parse(raw)
    if given_in(message) is not None:
        raise PermanentError("what you wrote is a command: use the button for it", code=REFUSED)
    quoted = frozenset({offer.customer_mail.message.raw_sha256})
    for part in message.attachments:
        if is_left_out(part, quoted):
            why = "would be left out as a signature or a copy of the customer's mail: give it another name or type"
            raise PermanentError(f"the file {clean_name(part.name)!r} {why}", code=REFUSED)
    earlier = desk.store.mails.get(mail_id)
    sent = desk.store.outbox.find(mail_id=mail_id, kind=OutgoingKind.PERSON_REPLY)
    if sent and earlier is not None and earlier.status is not MailStatus.NEW:
        when = f"{sent[0].created_at:%Y-%m-%d %H:%M} UTC, and that mail is {sent[0].status.value}"
        raise PermanentError(f"you wrote exactly these words at {when}: to write again, change them", code=REFUSED)


def _mail(desk: Desk, person: Person, packet: OutboxEntry, act: Act) -> bytes:
    """The act as a mail. It has no date and fixed boundaries: the same act has the same bytes."""
    message = EmailMessage(policy=UNFOLDED)
    message["From"] = person.address
    message["To"] = desk.settings.agent.address
    is_command = act.command is not Command.OWN_WORDS
    message["Subject"] = f"[{packet.case_id}] {act.said} {act.key}" if is_command else f"Re: [{packet.case_id}]"
    message["In-Reply-To"] = packet.message_id
    message.set_content(act.words.replace("\r\n", "\n"))
    for file in act.files:
        found = KIND.match(file.content_type.lower())
        main, sub = found.groups() if found else ("application", "octet-stream")
        message.add_attachment(file.data, maintype=main, subtype=sub, filename=clean_name(file.name))
    if message.is_multipart():
        parts = hashlib.sha256(b"".join(file.data for file in act.files) + act.words.encode()).hexdigest()
        message.set_boundary(f"page-{parts[:32]}")
    return message.as_bytes()
