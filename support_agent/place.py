"""Where a mail belongs: its case and who has the case.

Invariant: the id of a case follows from the mail that opens it, so it is the same however often, and in whatever order,
mails are handled. Checked by tests/unit/test_stages.py and tests/integration/journey/test_kill.py.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from support_agent.frozen import Frozen
from support_agent.mail.addresses import normal_address
from support_agent.mail.identity import Sender
from support_agent.mail.message import Message
from support_agent.store.records import CaseId, MailId

CASE_ID_CHARACTERS = 10


class Place(Frozen):
    """A mail's case, and what the machine may still do.

    `limit` says why no further automatic letter may go to the sender (S12), or is "", `suppressed` why none may go to
    the address (S64), or to one of ours that the mail does not prove, and `unwritable` why none can go there at all.
    `customer_mail_id` is the mail that a staff member's reply is passed on in answer to.
    """

    case_id: CaseId
    may_answer: bool
    may_acknowledge: bool
    limit: str = ""
    suppressed: str = ""
    unwritable: str = ""
    is_staff_reply: bool = False
    customer_mail_id: MailId | None = None


@dataclass(frozen=True)
class PlacedMail:
    """The mail in hand: what it says, who sent it, and where it belongs."""

    id: MailId
    message: Message
    sender: Sender
    place: Place


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
