"""Identifies a mail's sender and records the result with the mail.

Invariant: a mail keeps its first sender and level; DNS and accounts are queried once per mail. Account data that cannot
be used make nobody a customer, and stop no mail: a person must hear of it. Data that do not answer now stop no mail of
staff, whose addresses the settings know. Checked by tests/unit/workflow/test_stages_identity.py,
tests/unit/workflow/test_database_of_company_away.py and tests/journey/test_kill.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog

from support_agent.cases.route import ReceivedMail, staff_addresses
from support_agent.company.accounts import Accounts
from support_agent.config.settings import Settings
from support_agent.errors import ConfigError, PermanentError, SupportAgentError, TransientError
from support_agent.mail.senders.dkim_check import TxtLookup, dkim_check
from support_agent.mail.senders.identity import Sender, identify
from support_agent.store.records import MailId
from support_agent.store.store import Store

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Senders:
    """Identifies senders; `now` is the clock."""

    store: Store
    settings: Settings
    accounts: Accounts
    now: Callable[[], datetime]
    lookup_txt: TxtLookup

    def of(self, mail: ReceivedMail) -> Sender:
        """The sender and level recorded for the mail; else identify the sender now and record it."""
        sender, is_recorded = self.found(mail)
        if not is_recorded:
            self.record(mail.id, sender)
        return sender

    def of_notice(self, mail: ReceivedMail) -> Sender:
        """As `of`, for a mail that a person gets: at once, though the account data do not answer now.

        Then the level is not recorded: an answer must know whether a customer wrote the mail. The address is, because
        other mails of the case are compared by it.
        """
        try:
            return self.of(mail)
        except TransientError as error:  # the data are not asked again: each question may take as long as they allow
            log.critical("customer_not_read", code=error.code, error=str(error))
            sender = self._identified(mail, lambda address: False)
            self.store.mails.save_sender_address(mail.id, sender.address)
            return sender.model_copy(update={"why": f"{sender.why}; {_unusable(error)}"})

    def record(self, mail_id: MailId, sender: Sender) -> None:
        """Record what `found` has found."""
        self.store.mails.save_sender(mail_id, sender.address, sender.level, sender.why)

    def found(self, mail: ReceivedMail) -> tuple[Sender, bool]:
        """The sender recorded for the mail, else as identified now (RFC 8601); and whether it is recorded."""
        recorded = self.store.mails.get(mail.id)
        if recorded is not None and recorded.level is not None and recorded.sender_address is not None:
            return Sender(address=recorded.sender_address, level=recorded.level, why=recorded.sender_why or ""), True
        wrong: list[str] = []
        sender = self._identified(mail, partial(self._is_customer, wrong))
        return sender.model_copy(update={"why": "; ".join([sender.why, *wrong])}), False

    def is_customer(self, address: str) -> bool:
        """Whether an address belongs to a customer of the company, as far as its account data can be used."""
        return self._is_customer([], address)

    def _identified(self, mail: ReceivedMail, is_customer: Callable[[str], bool]) -> Sender:
        agent = self.settings.agent
        check = dkim_check(lambda: mail.raw, agent, self.now, self.lookup_txt)
        return identify(mail.message, agent, is_customer, check)

    def _is_customer(self, wrong: list[str], address: str) -> bool:
        """As `is_customer`; adds to `wrong` why the account data cannot be used."""
        try:
            return self.accounts.customer(address) is not None
        except (ConfigError, PermanentError, TransientError) as error:
            if isinstance(error, TransientError) and address not in staff_addresses(self.settings):
                raise
            log.critical("customer_not_read", code=error.code, error=str(error))
            wrong.append(_unusable(error))
            return False


def _unusable(error: SupportAgentError) -> str:
    return f"the account data cannot be used: {error}"
