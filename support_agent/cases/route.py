"""The result of routing: a mail's case, and whether an automatic mail may go to its sender.

Invariant: a case's id is computed from the mail that opens it, so opening it twice opens one case. Checked by
tests/unit/cases/test_routing.py and tests/journey/test_kill.py.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from support_agent.cases.intentions import Intent, Intention
from support_agent.config.senders import SenderSettings
from support_agent.config.settings import Settings
from support_agent.core.frozen import Frozen
from support_agent.core.levels import PROVEN, lower_address
from support_agent.mail.addresses import normal_address
from support_agent.mail.message import Message, parse
from support_agent.mail.senders.identity import Sender
from support_agent.mail.senders.lists import entry_for
from support_agent.store.records import CaseId, MailId

CASE_ID_CHARACTERS = 10


class Route(Frozen):
    """A mail's case, and what may be sent automatically.

    `reason` (a code) and `why` (a sentence) say why no automatic mail may go to the sender; both are "" if one may.
    `customer_mail_id` is the customer's mail that a staff reply is about, None if it does not say so. `intention`
    is what the sender means by a reply; None if that was not asked.
    """

    case_id: CaseId
    may_answer: bool
    may_acknowledge: bool
    reason: str = ""
    why: str = ""
    is_staff_reply: bool = False
    customer_mail_id: MailId | None = None
    intention: Intention | None = None


@dataclass(frozen=True)
class ReceivedMail:
    """A stored mail: its bytes as fetched, the message parsed from them once, and when it was recorded.

    `is_of_page`: a person who had signed in made it on the desk's page.
    """

    id: MailId
    raw: bytes
    received_at: datetime
    is_of_page: bool
    message: Message

    @classmethod
    def of(cls, mail_id: MailId, raw: bytes, received_at: datetime, is_of_page: bool) -> Self:
        """Parse the bytes."""
        return cls(mail_id, raw, received_at, is_of_page, parse(raw))


@dataclass(frozen=True)
class RoutedMail(ReceivedMail):
    """A received mail with its sender and its route."""

    sender: Sender
    route: Route

    @property
    def intention(self) -> Intention | None:
        """What the sender means by a reply in a case; None: a first mail, or it asks or tells something new."""
        meant = self.route.intention
        is_first = self.route.case_id == case_id_of(self.id)
        return None if meant is None or is_first or meant.intent is Intent.NONE else meant

    @property
    def closes(self) -> bool:
        """Whether the sender needs nothing more."""
        return self.intention is not None and self.intention.intent.closes

    def about(self, customer_mail_id: MailId | None) -> Self:
        """The same staff mail, about this mail of a customer; None: about none that is known."""
        return replace(self, route=self.route.model_copy(update={"customer_mail_id": customer_mail_id}))

    @classmethod
    def on(cls, mail: ReceivedMail, sender: Sender, route: Route) -> Self:
        """Add the sender and the route to a mail."""
        return cls(mail.id, mail.raw, mail.received_at, mail.is_of_page, mail.message, sender, route)


def own_addresses(settings: Settings) -> set[str]:
    """The agent's addresses and those of the staff."""
    agent = settings.agent
    return {lower_address(address) for address in (agent.address, *agent.aliases)} | staff_addresses(settings)


def staff_addresses(settings: Settings) -> set[str]:
    """The addresses whose replies to packets are passed on: the desks' and those of their staff."""
    return {lower_address(address) for address in settings.people}


def unproven_ours(sender: Sender, settings: Settings) -> str:
    """Why the sender gets no automatic mail, or "": an unproven mail claims to come from one of our own addresses."""
    if sender.level >= PROVEN or sender.address not in own_addresses(settings):
        return ""
    return f"{sender.address} is an address of ours, and the mail does not prove that it comes from there"


def not_allowed(sender: Sender, senders: SenderSettings) -> str:
    """Why the sender gets no automatic mail, or "": with `senders.allow`, only proven senders that it lists do."""
    if not senders.allow:
        return ""
    if not entry_for(sender.address, senders.allow):
        return f"senders.allow does not list {sender.address or 'a mail without a single sender'}"
    if sender.level < PROVEN:
        return f"senders.allow lists {sender.address}, and the mail does not prove that it comes from there"
    return ""


def why_unwritable(address: str) -> str:
    """Why no mail can be sent to an address, or ""; `mail.outgoing` refuses the same addresses."""
    plain = normal_address(address)
    if not address or (plain is not None and plain.isascii()):
        return ""
    return f"{address} has characters before the @ that need SMTPUTF8, which is not supported"


def case_id_of(mail_id: MailId) -> CaseId:
    """The id of the case that a mail opens: short enough to spell on the telephone."""
    digest = hashlib.sha256(f"case {mail_id}".encode()).digest()
    return CaseId(base64.b32encode(digest).decode()[:CASE_ID_CHARACTERS].lower())
