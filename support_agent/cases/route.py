"""Where a mail belongs: its case, who has the case, and to whom nothing may be written whatever it says.

Invariant: the id of a case follows from the mail that opens it, so that opening it twice opens one. Checked by
tests/unit/cases/test_routing.py and tests/journey/test_kill.py.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Self

from support_agent.config.settings import Settings
from support_agent.core.frozen import Frozen
from support_agent.core.levels import PROVEN, lower_address
from support_agent.mail.addresses import normal_address
from support_agent.mail.message import Message, parse
from support_agent.mail.senders.identity import Sender
from support_agent.store.records import CaseId, MailId

CASE_ID_CHARACTERS = 10


class Route(Frozen):
    """A mail's case, and what the machine may still do.

    `reason` and `why` say, as code and sentence, why no automatic letter may go to the sender, or are "".
    `customer_mail_id` is the mail that a staff member's reply is passed on in answer to.
    """

    case_id: CaseId
    may_answer: bool
    may_acknowledge: bool
    reason: str = ""
    why: str = ""
    is_staff_reply: bool = False
    customer_mail_id: MailId | None = None


@dataclass(frozen=True)
class ReceivedMail:
    """A mail of the store: its bytes as they were fetched, and what they say, parsed once."""

    id: MailId
    raw: bytes
    message: Message

    @classmethod
    def of(cls, mail_id: MailId, raw: bytes) -> Self:
        """Parse the bytes."""
        return cls(mail_id, raw, parse(raw))


@dataclass(frozen=True)
class RoutedMail(ReceivedMail):
    """The mail in hand, with who sent it and where it belongs."""

    sender: Sender
    route: Route

    @classmethod
    def on(cls, mail: ReceivedMail, sender: Sender, route: Route) -> Self:
        """The same mail on its way."""
        return cls(mail.id, mail.raw, mail.message, sender, route)


def own_addresses(settings: Settings) -> set[str]:
    """The agent's addresses and those of the staff."""
    agent = settings.agent
    return {lower_address(address) for address in (agent.address, *agent.aliases)} | staff_addresses(settings)


def staff_addresses(settings: Settings) -> set[str]:
    """Whose replies to packets are passed on: the desk's address and those of its people."""
    return {lower_address(address) for address in (*settings.desk.staff, settings.desk.address)}


def unproven_ours(sender: Sender, settings: Settings) -> str:
    """Why nothing automatic may be written to a sender who claims one of our own addresses without proof, or ""."""
    if sender.level >= PROVEN or sender.address not in own_addresses(settings):
        return ""
    return f"{sender.address} is an address of ours, and the mail does not prove that it is from there"


def why_unwritable(address: str) -> str:
    """Why no mail can be sent to an address that somebody has, or ""; `mail.outgoing` refuses it."""
    plain = normal_address(address)
    if not address or (plain is not None and plain.isascii()):
        return ""
    return f"{address} has characters before the @ that need SMTPUTF8, with which nothing is sent"


def case_id_of(mail_id: MailId) -> CaseId:
    """The id of the case a mail opens: short enough to say on the telephone."""
    digest = hashlib.sha256(f"case {mail_id}".encode()).digest()
    return CaseId(base64.b32encode(digest).decode()[:CASE_ID_CHARACTERS].lower())
