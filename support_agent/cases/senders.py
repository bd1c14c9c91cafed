"""Who sent a mail, with what proof; what was found once stays with the mail.

Invariant: a mail has one sender for ever, and neither the DNS nor the accounts are asked about it twice. Checked by
tests/unit/workflow/test_stages_identity.py and tests/journey/test_kill.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from support_agent.cases.route import ReceivedMail
from support_agent.company.accounts import Accounts
from support_agent.config.settings import AgentSettings
from support_agent.mail.senders.dkim_check import TxtLookup, dkim_check
from support_agent.mail.senders.identity import Sender, identify
from support_agent.store.store import Store


@dataclass(frozen=True)
class Senders:
    """Identifies senders; `now` is the clock."""

    store: Store
    agent: AgentSettings
    accounts: Accounts
    now: Callable[[], datetime]
    lookup_txt: TxtLookup

    def of(self, mail: ReceivedMail) -> Sender:
        """Who sent a mail, with the level: as recorded, else as it can be told now (RFC 8601)."""
        recorded = self.store.mails.get(mail.id)
        if recorded is not None and recorded.level is not None and recorded.sender_address is not None:
            return Sender(address=recorded.sender_address, level=recorded.level, why=recorded.sender_why or "")
        check = dkim_check(lambda: mail.raw, self.agent, self.now, self.lookup_txt)
        sender = identify(mail.message, self.agent, self.is_customer, check)
        self.store.mails.save_sender(mail.id, sender.address, sender.level, sender.why)
        return sender

    def is_customer(self, address: str) -> bool:
        """Whether an address belongs to a customer of the company."""
        return self.accounts.customer(address) is not None
