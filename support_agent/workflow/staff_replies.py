"""What a staff member's mail does: it carries out a command, or its words go on to the customer.

Invariant: a mail that does neither is answered with why, up to a daily limit, and reaches no customer. Checked by
tests/unit/workflow/test_stages_failures.py and tests/journey/test_desk_attacks.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from support_agent.cases.commands import GivenCommand
from support_agent.cases.decision import escalated
from support_agent.cases.escalation import EscalationReason
from support_agent.cases.rate_limits import Rates
from support_agent.cases.route import RoutedMail
from support_agent.cases.routing import CaseRouting
from support_agent.config.settings import Settings
from support_agent.errors import PermanentError, SupportAgentError, TransientError
from support_agent.mail.machines.screening import AUTO_REPLY_RULE, BOUNCE_RULE, NAME_RULE, REFUSING_RULES, Screening
from support_agent.mail.message import parse
from support_agent.outbound.notices import Notices
from support_agent.store.records import MailStatus, OutboxEntry, OutgoingKind
from support_agent.store.store import Store
from support_agent.workflow.desk_commands import DeskCommands

log = structlog.get_logger(__name__)

WORDING_RULES = frozenset({BOUNCE_RULE, AUTO_REPLY_RULE})
"""Rules that match a staff reply by its wording alone; with machine headers it would have been filed."""
MAX_REFUSALS = 3
"""Most notices to a writer in one case about mails that screening refuses: a program may answer each notice."""
SHOWN_CHARACTERS = 200
"""Of a header field, in a notice."""


@dataclass(frozen=True)
class StaffReplies:
    """Handles the mails of staff members that answer a packet; `now` is the clock."""

    store: Store
    settings: Settings
    desk: DeskCommands
    routing: CaseRouting
    rates: Rates
    notices: Notices
    now: Callable[[], datetime]

    def pass_on(self, mail: RoutedMail, screening: Screening) -> None:
        """Pass a staff member's words on to the author of the mail that the packet is about, in that thread (S16)."""
        # Read once more, because only words that leave need the targets of their links: what screening reads stays.
        mail = replace(mail, message=parse(mail.raw, keeps_links=True))
        packet, customer_mail_id = self.routing.threads.packet_named_by(mail.message), mail.route.customer_mail_id
        if (given := self.routing.threads.command_in(mail.message, packet)) is not None:
            return self._carry_out(mail, given, screening)
        customer_mail = None if customer_mail_id is None else self.routing.received(customer_mail_id)
        if why := self._why_no_reply(mail, packet, screening):
            return self._refuse_reply(mail, packet, screening, why, EscalationReason.NOT_PASSED_ON)
        try:
            pass_on = self.desk.pass_on(mail, packet, customer_mail, mail.message.visible_text)
        except PermanentError as error:
            is_gone = error.code == EscalationReason.NOT_KEPT
            reason = EscalationReason.NOT_KEPT if is_gone else EscalationReason.NOT_PASSED_ON
            return self._refuse_reply(mail, packet, screening, str(error), reason)
        pass_on()

    def _carry_out(self, mail: RoutedMail, given: GivenCommand, screening: Screening) -> None:
        """Carry out a command of the desk, or notify the desk of the reason."""
        why = _why_refused(screening)
        if not why:
            try:
                return self.desk.carry_out(mail, given)
            except TransientError:
                raise
            except SupportAgentError as error:
                why = str(error)
        about = mail.about(self.desk.mail_of_refused(mail, given))
        self._refuse(about, screening, EscalationReason.NOT_CARRIED_OUT, f"{given.command.value}: {why}")

    def _refuse_reply(
        self, mail: RoutedMail, packet: OutboxEntry | None, screening: Screening, why: str, reason: EscalationReason
    ) -> None:
        """Notify the desk that its reply did not go to the customer.

        One that names no packet may only mention the case, which nobody would then wait for.
        """
        log.error("reply_not_passed_on", case_id=mail.route.case_id, mail_id=mail.id, why=why)
        self._refuse(mail, screening, reason, why, is_escalated=packet is not None)

    def _refuse(
        self, mail: RoutedMail, screening: Screening, reason: EscalationReason, why: str, *, is_escalated: bool = True
    ) -> None:
        """Notify the desk why its mail had no effect, up to a daily limit, and for what screening refuses a limit of
        the case.

        Args:
            is_escalated: False: the case stays as it is.
        """
        is_limited = self.rates.is_notification_limit_reached(mail.sender, self.now())
        if is_limited or (screening.is_refused and self._has_refusals(mail)):
            # An auto-responder of theirs may answer each notice, without end; `doctor` informs the operator.
            self.store.mails.end(mail.id, MailStatus.FILED, reason, why, self.now())
        else:
            # A program may have written what screening refuses: it takes no case from the agent.
            is_escalated = is_escalated and not screening.is_refused
            self.notices.notify(mail, escalated(reason, self.now(), why), is_escalated=is_escalated)

    def _has_refusals(self, mail: RoutedMail) -> bool:
        """Whether the writer of a mail that screening refuses had all notices in the case about such mails."""
        mails = self.store.mails
        rows = self.store.deliveries.in_case(mail.route.case_id, OutgoingKind.FAILURE)
        others = filter(None, (mails.get(mail_id) for mail_id in {row.mail_id for row in rows} - {mail.id}))
        refused = (one.screening_rule in REFUSING_RULES and one.sender_address == mail.sender.address for one in others)
        return sum(refused) >= MAX_REFUSALS

    def _why_no_reply(self, mail: RoutedMail, packet: OutboxEntry | None, screening: Screening) -> str:
        """Why a staff member's mail is no reply to a customer, or ""."""
        if screening.rule in WORDING_RULES:
            return "it reads like an automatic reply or a bounce"
        if why := _why_refused(screening):
            return why
        if packet is None:
            return "your reply names no packet: reply to the packet itself, or send one of its lines"
        if packet.kind is OutgoingKind.HELD:
            return (
                "it answers the notice of an answer that leaves by itself: undo that answer, then a person has the case"
            )
        if not self.routing.threads.is_direct_answer(mail.message, packet):
            return f"it does not answer the packet itself, To {self.settings.agent.address}: a copy is not passed on"
        return ""


def _why_refused(screening: Screening) -> str:
    """Why screening refuses a staff reply, and what its writer can do; "" if it does not."""
    if not screening.is_refused:
        return ""
    what, todo = "it is bulk mail or spam", "have your mail server leave this field out"
    if screening.rule == NAME_RULE:
        what, todo = "a machine wrote it", "write from an address of the staff that is not a machine's name"
    found = f"{screening.rule}, {screening.why[:SHOWN_CHARACTERS]}"
    return f"by its header {what} ({found}): use the desk's page, or {todo}"
