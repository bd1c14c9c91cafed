"""Finds out who wrote a mail and where it belongs; what is found stays with the mail.

Invariant: a mail has one sender and one case for ever, however often and in whatever order mails are placed, and
neither the DNS nor the accounts are asked about it twice. Checked by tests/unit/cases/test_routing.py,
tests/unit/workflow/test_stages_identity.py and tests/integration/journey/test_kill.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import structlog

from support_agent.cases.hand_over import HandOver
from support_agent.cases.place import Place, PlacedMail, case_id_of, unproven_ours, why_unwritable
from support_agent.cases.rate_limits import CLOCK_SLACK, RATE_RULE, Rates
from support_agent.cases.threads import DOUBT_RULE, Threads
from support_agent.company.accounts import Accounts
from support_agent.config.settings import Settings
from support_agent.core.levels import PROVEN
from support_agent.mail.message import Message, not_read, parse
from support_agent.mail.senders.dkim_check import dkim_check
from support_agent.mail.senders.dns_lookup import SYSTEM_DNS, TxtLookup
from support_agent.mail.senders.identity import Sender, identify
from support_agent.store.records import CaseRecord, CaseState, MailId, MailRecord
from support_agent.store.store import Store

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Placing:
    """Finds a mail's sender and case; `now` is the clock."""

    store: Store
    settings: Settings
    accounts: Accounts
    now: Callable[[], datetime]
    lookup_txt: TxtLookup = SYSTEM_DNS

    @property
    def threads(self) -> Threads:
        """Which mail belongs to which thread."""
        return Threads(self.store, self.settings, self.sender)

    def placed(self, mail_id: MailId) -> PlacedMail:
        """A recorded mail with its sender and its case.

        Of one that finds a defect in the parser a person gets the bytes, and hears why (S37).
        """
        raw = self.store.mails.raw(mail_id)
        try:
            message = parse(raw)
        except Exception as error:
            log.critical("mail_not_parsed", mail_id=mail_id, error=type(error).__name__)
            message = parse(not_read(f"a defect of this program: {type(error).__name__}"))
        sender = self.sender(mail_id, message)
        return PlacedMail(mail_id, message, sender, self.place(mail_id, message, sender))

    def sender(self, mail_id: MailId, message: Message) -> Sender:
        """Who sent it, with the level: as recorded, else as it can be told now."""
        recorded = self.store.mails.get(mail_id)
        if recorded is not None and recorded.level is not None and recorded.sender_address is not None:
            return Sender(address=recorded.sender_address, level=recorded.level, why=recorded.sender_why or "")
        agent = self.settings.agent
        check = dkim_check(lambda: self.store.mails.raw(mail_id), agent, self.now, self.lookup_txt)
        sender = identify(message, agent, self.is_customer, check)
        self.store.mails.save_sender(mail_id, sender.address, sender.level, sender.why)
        return sender

    def is_customer(self, address: str) -> bool:
        """Whether an address belongs to a customer of the company."""
        return self.accounts.customer(address) is not None

    def place(self, mail_id: MailId, message: Message, sender: Sender) -> Place:
        """The case a mail belongs to, and what may still be written there."""
        recorded = self.store.mails.get(mail_id)
        # What may have been passed on before is not passed on again.
        is_reply = self.threads.is_staff(sender) and (recorded is None or recorded.screening_rule != DOUBT_RULE)
        packet = self.threads.packet_named_by(message) if is_reply else None
        if packet is not None and packet.case_id is not None:
            self.store.cases.join(mail_id, packet.case_id)
            return Place(
                case_id=packet.case_id,
                may_answer=False,
                may_acknowledge=False,
                is_staff_reply=True,
                customer_mail_id=self.threads.customer_mail_of(packet),
            )
        case = self._case(recorded, mail_id, message, sender)
        log.info("mail_placed", mail_id=mail_id, case_id=case.id)
        reason, why = self._barred(mail_id, message, sender, case)
        return Place(
            case_id=case.id,
            may_answer=not reason,
            may_acknowledge=not reason and self.settings.agent.may_acknowledge(sender.level),
            reason=reason,
            why=why,
        )

    def _case(self, recorded: MailRecord | None, mail_id: MailId, message: Message, sender: Sender) -> CaseRecord:
        """The mail's case; at first the thread's, for one of its participants, else a new one."""
        if recorded is not None and recorded.case_id is not None:  # whatever came into the thread since
            return self.store.cases.join(mail_id, recorded.case_id)
        case = self.threads.case_of(message, sender)
        participants = self.threads.participants(message, sender, case)
        if case is not None:
            return self.store.cases.join(mail_id, case.id, participants)
        opened = CaseRecord(
            id=case_id_of(mail_id),
            customer_address=sender.address,
            subject=message.subject,
            opened_at=self.now(),
            participants=participants,
        )
        return self.store.cases.open(opened, mail_id)

    def see_alive(self, mail_id: MailId, sender: Sender) -> None:
        """A proven mail that came after the bounce shows that its sender's address lives: it is written to again.

        One that came while the clock was ahead shows nothing; a bounce that did is the older one.
        """
        found, mail = self.store.suppressions.of(sender.address, self.now()), self.store.mails.get(mail_id)
        if found is None or mail is None or sender.level < PROVEN:
            return
        latest = self.now() + CLOCK_SLACK
        if mail.received_at <= latest and (mail.received_at > found.since or found.since > latest):
            self.store.suppressions.lift(sender.address)
            log.warning("suppression_lifted", mail_id=mail.id, outbox_id=found.outbox_id)

    def _barred(self, mail_id: MailId, message: Message, sender: Sender, case: CaseRecord) -> tuple[str, str]:
        """Code and sentence of why no letter may go to the sender, two empty strings where one may."""
        if limit := Rates(self.store, self.settings.agent).limit_reached(mail_id, case.id, sender, self.now()):
            return HandOver.SCREENING, f"{RATE_RULE}: {limit}"
        if suppression := self.store.suppressions.of(sender.address, self.now()):
            return HandOver.SUPPRESSED, suppression.why
        if why := unproven_ours(sender, self.settings):
            return HandOver.UNPROVEN_OURS, why
        # Whoever continues a case is in it; one that the mail opens may come from anybody.
        if case.id == case_id_of(mail_id) and (why := self.threads.answers_another(message, sender)):
            return HandOver.NOT_PARTICIPANT, why
        if why := why_unwritable(sender.address):
            return HandOver.UNWRITABLE, why
        if case.state is not CaseState.OPEN:
            return HandOver.WITH_PERSON, "a person has the case already"
        return "", ""
