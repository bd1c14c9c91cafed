"""Routes a mail to its case: its thread's case or a new one.

Invariant: a mail keeps its first case, however often and in whatever order mails are routed. Checked by
tests/unit/cases/test_routing.py and tests/journey/test_kill.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import structlog

from support_agent.cases.commands import given_in
from support_agent.cases.copies import DOUBT_RULE
from support_agent.cases.escalation import EscalationReason
from support_agent.cases.intentions import Intention
from support_agent.cases.rate_limits import CLOCK_SLACK, RATE_RULE, Rates
from support_agent.cases.route import (
    ReceivedMail,
    Route,
    RoutedMail,
    case_id_of,
    not_allowed,
    unproven_ours,
    why_unwritable,
)
from support_agent.cases.senders import Senders
from support_agent.cases.threads import Threads
from support_agent.config.settings import Settings
from support_agent.core.levels import PROVEN
from support_agent.mail.message import Message, not_read, parse
from support_agent.mail.senders.identity import Sender
from support_agent.store.records import CaseId, CaseRecord, CaseState, MailId, MailRecord, OutboxEntry, OutgoingKind
from support_agent.store.store import Store

log = structlog.get_logger(__name__)

BY_HAND = "write to the customer from your own mail program"
"""What a staff member can do whose reply cannot be passed on, because what it answers is no longer kept."""


@dataclass(frozen=True)
class CaseRouting:
    """Finds a mail's case; `now` is the clock."""

    store: Store
    settings: Settings
    senders: Senders
    threads: Threads
    rates: Rates
    now: Callable[[], datetime]

    def received(self, mail_id: MailId) -> ReceivedMail:
        """A recorded mail, parsed.

        If the parser fails on it, the message says so, and a person gets the bytes and the reason (S37).
        """
        raw, received_at, is_of_page = self.store.mails.received(mail_id)
        try:
            return ReceivedMail.of(mail_id, raw, received_at, is_of_page)
        except Exception as error:
            log.critical("mail_not_parsed", mail_id=mail_id, error=type(error).__name__)
            message = parse(not_read(f"a defect of this program: {type(error).__name__}"))
            return ReceivedMail(mail_id, raw, received_at, is_of_page, message)

    def routed(self, mail_id: MailId) -> RoutedMail:
        """A recorded mail with its sender and its case, for a notice to a person."""
        mail = self.received(mail_id)
        sender = self.senders.of_notice(mail)
        return RoutedMail.on(mail, sender, self.route(mail, sender))

    def route(self, mail: ReceivedMail, sender: Sender, asks_for_news: Callable[[], bool] = lambda: False) -> Route:
        """The mail's case, and what may be sent automatically.

        Args:
            asks_for_news: Whether the mail only asks how far its matter is; called for a mail outside any thread.
        """
        recorded = self.store.mails.get(mail.id)
        # A possible copy may already have been passed on, so it is not passed on again.
        is_reply = self.threads.is_staff(sender) and (recorded is None or recorded.screening_rule != DOUBT_RULE)
        packet = self.threads.packet_answered_by(mail.message) if is_reply else None
        in_case = recorded.case_id if recorded is not None else None
        if packet is not None and packet.case_id is not None and in_case in (None, packet.case_id):
            self.store.cases.join(mail.id, packet.case_id)
            is_named = self.threads.names(mail.message, packet)
            return Route(
                case_id=packet.case_id,
                may_answer=False,
                may_acknowledge=False,
                is_staff_reply=True,
                customer_mail_id=self.threads.customer_mail_of(packet) if is_named else None,
            )
        case = self._case(recorded, mail, sender, asks_for_news)
        if is_reply and (no_effect := self._why_no_effect(mail.message)) is not None:
            code, why = no_effect
            return Route(case_id=case.id, may_answer=False, may_acknowledge=False, reason=code, why=why)
        log.info("mail_routed", mail_id=mail.id, case_id=case.id)
        reason, why = self._why_no_mail(mail, sender, case)
        return Route(
            case_id=case.id,
            may_answer=not reason,
            may_acknowledge=not reason and self.settings.agent.may_acknowledge(sender.level),
            reason=reason,
            why=why,
        )

    def continued(self, mail: ReceivedMail, sender: Sender, route: Route, intention: Intention | None) -> Route:
        """The route with what the sender means; a mail that still wants something reopens its case if it was closed.

        Whoever had the case has it again.
        """
        continued = route.model_copy(update={"intention": intention})
        case = self.store.cases.get(route.case_id)
        if case is None or case.state is not CaseState.CLOSED or RoutedMail.on(mail, sender, continued).closes:
            return continued
        self.store.cases.reopen(case.id)
        log.info("case_reopened", case_id=case.id, mail_id=mail.id)
        return self.route(mail, sender).model_copy(update={"intention": intention})

    def waits_for_person(self, case_id: CaseId) -> bool:
        """Whether a person has the case, and has a mail of it still to answer."""
        case = self.store.cases.get(case_id)
        has_person = case is not None and case.state is CaseState.WITH_PERSON
        return has_person and bool(self.store.waits.mails(case_id))

    def mails_that_wait(self, case_id: CaseId, after: OutboxEntry | None = None) -> list[MailRecord]:
        """The customers' mails of a case that wait for a person's answer.

        Args:
            after: Only those whose packets were made after this one; a reminder brings no news.
        """
        packets, waiting = self.threads.packets_of(case_id), self.store.waits.mails(case_id)
        ids = [row.id for row in packets]  # the rest of a row may have changed since `after` was read
        later = packets[ids.index(after.id) + 1 :] if after is not None and after.id in ids else packets
        news = (row for row in later if row.mail_id in waiting and row.kind is not OutgoingKind.REMINDER)
        about = map(self.threads.customer_mail_of, news)
        return list(filter(None, map(self.store.mails.get, dict.fromkeys(filter(None, about)))))

    def others_wait(self, case_id: CaseId, address: str) -> bool:
        """Whether a mail of another participant waits for a person's answer."""
        return any(mail.sender_address != address for mail in self.mails_that_wait(case_id))

    def _case(
        self, recorded: MailRecord | None, mail: ReceivedMail, sender: Sender, asks_for_news: Callable[[], bool]
    ) -> CaseRecord:
        """The case recorded for the mail; else the thread's case, if the sender is a participant; else a new one.

        A proven customer's mail outside any thread that only asks for news goes to the one case that a person has.
        """
        if recorded is not None and recorded.case_id is not None:  # later mails of the thread do not change it
            return self.store.cases.join(mail.id, recorded.case_id)
        case = self.threads.case_of(mail.message, sender)
        if case is None and sender.level >= PROVEN and not self.threads.is_staff(sender):
            waiting = self.store.cases.with_person(sender.address)
            case = waiting[0] if len(waiting) == 1 and asks_for_news() else None
        participants = self.threads.participants(mail.message, sender, case)
        if case is not None:
            return self.store.cases.join(mail.id, case.id, participants)
        opened = CaseRecord(
            id=case_id_of(mail.id),
            customer_address=sender.address,
            subject=mail.message.subject,
            opened_at=self.now(),
            participants=participants,
        )
        return self.store.cases.open(opened, mail.id)

    def lift_suppression(self, mail_id: MailId, sender: Sender) -> None:
        """Lift the suppression of an address when a proven mail arrives from it after the bounce.

        A mail with a future timestamp lifts nothing (clock skew); a bounce with a future timestamp counts as older.
        """
        found = self.store.suppressions.of(sender.address, self.now()) if sender.level >= PROVEN else None
        mail = self.store.mails.get(mail_id) if found is not None else None
        if found is None or mail is None:
            return
        latest = self.now() + CLOCK_SLACK
        if mail.received_at <= latest and (mail.received_at > found.since or found.since > latest):
            self.store.suppressions.lift(sender.address)
            log.warning("suppression_lifted", mail_id=mail.id, outbox_id=found.outbox_id)

    def _why_no_effect(self, message: Message) -> tuple[EscalationReason, str] | None:
        """Code and sentence why a staff mail that answers no packet has no effect; None: it is handled as any mail."""
        if given_in(message) is not None:
            return EscalationReason.NOT_CARRIED_OUT, "your command names no case that has a packet"
        if self.threads.answers_a_lost_one(message):
            return EscalationReason.NOT_KEPT, f"the mail of ours that it answers is no longer kept: {BY_HAND}"
        return None

    def _why_no_mail(self, mail: ReceivedMail, sender: Sender, case: CaseRecord) -> tuple[str, str]:
        """Code and sentence why no automatic mail may go to the sender; two empty strings if one may."""
        if limit := self.rates.limit_reached(mail.id, case.id, sender, self.now()):
            return EscalationReason.SCREENING, f"{RATE_RULE}: {limit}"
        if suppression := self.store.suppressions.of(sender.address, self.now()):
            return EscalationReason.SUPPRESSED, suppression.why
        if why := unproven_ours(sender, self.settings):
            return EscalationReason.UNPROVEN_OURS, why
        if why := not_allowed(sender, self.settings.senders):
            return EscalationReason.NOT_ALLOWED, why
        # A sender who continues a case is a participant; a new case may come from anybody.
        if case.id == case_id_of(mail.id) and (answered := self.threads.answers_another(mail.message, sender)):
            is_about_none = answered.kind.is_about_no_case
            reason = EscalationReason.ABOUT_NO_CASE if is_about_none else EscalationReason.NOT_PARTICIPANT
            return reason, f"it answers our {answered.kind.value.replace('_', ' ')} to {answered.recipient}"
        if why := why_unwritable(sender.address):
            return EscalationReason.UNWRITABLE, why
        if case.state is CaseState.WITH_PERSON:
            return EscalationReason.WITH_PERSON, "a person has the case already"
        return "", ""
