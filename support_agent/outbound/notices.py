"""Notifies the desk of lost mails, failed journeys and a tripped breaker, and sends the desk again what it did not get.

Invariant: the desk is notified of each loss of a mail to a customer exactly once, and gets a mail that could not be
delivered to it exactly once more, without the original, whatever process dies: one transaction stores the notice and
the fact of the notification. Checked by tests/unit/outbound/test_notices.py,
tests/unit/outbound/test_without_original.py, tests/unit/workflow/test_stages_failures.py and, with real kills, by
tests/journey/test_kill.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import structlog

from support_agent.cases.decision import Decision, escalated, failed
from support_agent.cases.escalation import EscalationReason
from support_agent.cases.rate_limits import CLOCK_SLACK, HOUR, Rates, is_from_unknown_sender
from support_agent.cases.route import RoutedMail
from support_agent.cases.routing import CaseRouting
from support_agent.core.levels import UNKNOWN
from support_agent.engine.steps import known_error
from support_agent.errors import PermanentError, SupportAgentError
from support_agent.outbound.delivery_reports import report_of
from support_agent.outbound.queueing import OutboundQueue
from support_agent.outbound.sender import OutboxSender, SendResult, errors_logged
from support_agent.store.keys import FORGOTTEN, NO_KEY
from support_agent.store.records import MailId, MailStatus, OutboxEntry, OutboxRecord, OutboxStatus, OutgoingKind
from support_agent.store.store import Store

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Notices:
    """Sends notices to the desk; `now` is the clock."""

    store: Store
    rates: Rates
    queue: OutboundQueue
    outbox_sender: OutboxSender
    routing: CaseRouting
    now: Callable[[], datetime]

    def notify_losses(self, mail_id: MailId | None = None) -> list[SendResult]:
        """Notify the desk of each mail to a customer that is failed, uncertain or undone and not yet reported.

        The outbox holds the losses, so a notice goes out even if the process died when the mail was lost.

        Args:
            mail_id: Only the outgoing mails for this mail.
        """
        return list(self._send_each(self.store.deliveries.unnotified_losses(mail_id), self._notice_of_loss))

    def send_without_original(self, mail_id: MailId | None = None) -> list[SendResult]:
        """Send each mail that the desk did not get once more without the original: its size, or a file in it, may be
        why the server refused it.

        Half of the hourly limit is left to other mail, and what people have answered meanwhile is not sent.

        Args:
            mail_id: Only the mails about this mail.
        """
        losses = [row for row in self.store.deliveries.lost_to_desk(mail_id) if row.may_enclose_original]
        if not losses:
            return []
        room = self.rates.spare_room(self.now())
        results = list(islice(self._send_each(losses, self._without_original), room))
        if len(results) == room < len(losses):
            log.warning("packets_wait", why="half of agent.max_mails_per_hour is used")
        return results

    def _send_each(
        self, losses: Sequence[OutboxEntry], queue: Callable[[OutboxEntry], OutboxRecord | None]
    ) -> Iterator[SendResult]:
        """Send the desk what `queue` queues for each lost mail; one that fails stops no other."""
        unreadable = self.store.sealing.unreadable({lost.mail_id for lost in losses})
        for lost in losses:
            try:
                mail = queue(lost) if lost.mail_id not in unreadable else self._notice_of_unreadable(lost)
                if mail is not None:
                    yield self.outbox_sender.deliver(mail)
            except Exception as error:  # the next round tries again
                log.critical("loss_not_notified", outbox_id=lost.id, code=known_error(error, "the desk's notice").code)

    def _notice_of_loss(self, lost: OutboxEntry) -> OutboxRecord | None:
        why = _why_lost(lost)
        is_undone = lost.status is OutboxStatus.CANCELLED
        code = EscalationReason.UNDONE if is_undone else EscalationReason.UNDELIVERED
        if lost.kind is OutgoingKind.ANSWER:
            self.store.mails.end(lost.mail_id, MailStatus.ESCALATED, code, why, self.now())
        record = self.store.outbox.rendered_mail(lost.mail_id, lost.kind, lost.number)
        answered = record.header_inputs.get("parent_mail_id") if record is not None else None
        mail = self._for_person(lost.mail_id).about(MailId(str(answered)) if answered is not None else None)
        return self.queue.loss(mail, escalated(code, self.now(), why), lost.id)

    def _notice_of_unreadable(self, lost: OutboxEntry) -> OutboxRecord | None:
        """Notify the desk, with the bounce that says so, of the loss of a mail that cannot be read any more.

        Without a bounce that can be read nothing could carry the notice: an alarm notifies the desk by an id.
        """
        report = report_of(self.store, lost)
        if report is None or self.store.mails.get(report) is None or self.store.sealing.unreadable({report}):
            return None
        code = EscalationReason.UNDELIVERED_UNREADABLE
        if lost.kind is OutgoingKind.ANSWER:  # without a sentence, which would be sealed with a new key
            self.store.mails.end(lost.mail_id, MailStatus.ESCALATED, code, None, self.now())
        return self.queue.loss(self._for_person(report), escalated(code, self.now(), _why_lost(lost)), lost.id)

    def _without_original(self, lost: OutboxEntry) -> OutboxRecord | None:
        if self._is_answered(lost):
            self.store.deliveries.note_not_needed(lost.id, self.now())
            return None
        try:
            smaller = self.queue.without_original(lost)
        except PermanentError as error:  # its data are not readable: the desk is notified of the loss instead
            decision = escalated(EscalationReason.UNDELIVERED, self.now(), str(error))
            return self.queue.loss(self._for_person(lost.mail_id), decision, lost.id)
        if smaller is not None:
            log.warning("sent_without_original", outbox_id=lost.id, instead=smaller.id)
        return smaller

    def _is_answered(self, lost: OutboxEntry) -> bool:
        """Whether people have answered the mail that the desk did not get.

        Nobody answers a notice about people's own mail, or about an answer that leaves by itself: it is sent in any
        case.
        """
        mail = self.store.mails.get(lost.mail_id)
        if lost.kind is OutgoingKind.HELD or lost.case_id is None or mail is None or mail.status is MailStatus.FILED:
            return False
        return lost.mail_id not in self.store.waits.mails(lost.case_id)

    def notify_breaker(self) -> bool:
        """Notify the desk once an hour while an hourly limit, for all or for unknown senders, is reached.

        One of the waiting mails carries the notice and is escalated by it. Call this from one thread only.

        Returns:
            Whether the desk was notified now.
        """
        now = self.now()
        # A mail without a case may be a report that waits for the mail it is about: it must not be escalated.
        waiting = tuple(mail for mail in self.store.mails.find(status=MailStatus.NEW) if mail.case_id is not None)
        code, why = EscalationReason.BREAKER, self.rates.breaker(now)
        if not why:
            code, why = EscalationReason.UNKNOWN_SENDERS_BREAKER, self.rates.breaker(now, UNKNOWN)
            waiting = tuple(filter(is_from_unknown_sender, waiting))
        if not why or not waiting or self.store.traffic.ended_for(code, now - HOUR, until=now + CLOCK_SLACK):
            return False
        why = f"{why}; {len(waiting)} mails wait and continue automatically, `support-agent pause` stops the agent"
        log.critical("breaker_tripped", why=why, waiting=len(waiting))
        with errors_logged("breaker_not_notified"):
            record = self.notify(self.routing.routed(waiting[0].id), escalated(code, now, why))
            self.store.mails.end(waiting[0].id, MailStatus.ESCALATED, code, why, now)
            self.outbox_sender.deliver(record)
            return True
        return False

    def quarantine(self, mail_id: MailId, error: SupportAgentError) -> None:
        """Quarantine a mail whose journey failed, and notify the desk, up to a daily limit for its sender; if sending
        fails, only `doctor` reports it.
        """
        # Of a mail without a key nothing is written that would have to be sealed.
        code, why = error.code, None if error.code in (FORGOTTEN, NO_KEY) else str(error)
        with errors_logged("quarantine_not_notified", mail_id=mail_id):  # TransientError: the mail stays open
            code = self._notify_of_failed(mail_id, error)
        self.store.mails.end(mail_id, MailStatus.QUARANTINED, code, why, self.now())
        log.error("mail_quarantined", mail_id=mail_id, code=error.code)

    def _notify_of_failed(self, mail_id: MailId, error: SupportAgentError) -> str:
        """Notify the desk of a mail whose journey failed, unless its sender has reached a limit.

        Returns:
            Why the mail ends: the error, or that a mail of staff had no effect, or that it is the day's first of a
            sender over the limit.
        """
        mail, now = self.routing.routed(mail_id), self.now()
        if mail.route.is_staff_reply:
            threads = self.routing.threads
            given = threads.command_in(mail.message, threads.packet_named_by(mail.message))
            code = EscalationReason.NOT_PASSED_ON if given is None else EscalationReason.NOT_CARRIED_OUT
            why = str(error) if given is None else f"{given.command.value}: {error}"
            if not self.rates.is_notification_limit_reached(mail.sender, now):
                self.notify(mail, escalated(code, now, why))
            return code
        if not self.rates.is_flood(mail_id, mail.sender, now):
            self.notify(mail, failed(error, now))
        elif self.rates.is_first_of_flood(mail.sender, now):
            todo = "further mails of this sender that fail are only quarantined for a day, and `doctor` names them"
            why = f"{error}; {self.rates.why_flood}: {todo}"
            self.notify(mail, escalated(EscalationReason.FLOOD, now, why))
            return EscalationReason.FLOOD
        return error.code

    def notify(self, mail: RoutedMail, decision: Decision, *, is_escalated: bool = True) -> OutboxRecord:
        """Queue a notice to the desk about a mail, once for each reason, and give a person its case.

        Args:
            is_escalated: False: the case stays as it is.
        """
        if is_escalated:
            self.store.cases.escalate(mail.route.case_id)
        return self.queue.failure(mail, decision)

    def _for_person(self, mail_id: MailId) -> RoutedMail:
        mail = self.routing.routed(mail_id)
        self.store.cases.escalate(mail.route.case_id)
        return mail


def _why_lost(lost: OutboxEntry) -> str:
    return f"the {lost.kind.value.replace('_', ' ')} to {lost.recipient} is {lost.status}: {lost.last_detail}"
