"""Where a mail belongs: its case, the number of what goes out for it, and who has the case.

Invariant: case and number follow from the mail alone, so they are the same however often, and in whatever order,
mails are handled. Checked by tests/unit/test_stages.py and tests/integration/journey/test_kill.py.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from support_agent.frozen import Frozen
from support_agent.mail.identity import Sender
from support_agent.mail.message import Message
from support_agent.store.records import CaseId, MailId

CASE_ID_CHARACTERS = 10


class Place(Frozen):
    """A mail's case, the number of what goes out for it (see `number_of`), and what the machine may still do.

    `customer_mail_id` is the mail that a staff member's reply is passed on in answer to.
    """

    case_id: CaseId
    number: int
    may_answer: bool
    may_acknowledge: bool
    is_staff_reply: bool = False
    customer_mail_id: MailId | None = None


@dataclass(frozen=True)
class PlacedMail:
    """The mail in hand: what it says, who sent it, and where it belongs."""

    id: MailId
    message: Message
    sender: Sender
    place: Place


def case_id_of(mail_id: MailId) -> CaseId:
    """The id of the case a mail opens: short enough to say on the telephone."""
    digest = hashlib.sha256(f"case {mail_id}".encode()).digest()
    return CaseId(base64.b32encode(digest).decode()[:CASE_ID_CHARACTERS].lower())


def number_of(mail_id: MailId) -> int:
    """The number of the mails that go out for this one, for their Message-IDs."""
    return int(mail_id, 16)
