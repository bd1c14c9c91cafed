"""Reminds people of cases that nobody has answered.

Invariant: a reminder is in the outbox before it is sent, and the outbox says how many a case has had, so a process that
dies reminds nobody twice for one interval. No customer gets one. Checked by tests/unit/outbound/test_reminders.py,
tests/unit/store/test_waiting.py and, with real kills, tests/journey/test_kill_people.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from support_agent.cases.breaker import Breaker
from support_agent.cases.decision import escalated
from support_agent.cases.escalation import EscalationReason
from support_agent.cases.hours import Hours
from support_agent.cases.routing import CaseRouting
from support_agent.config.settings import Settings
from support_agent.core.rounds import Rounds
from support_agent.outbound.queueing import OutboundQueue
from support_agent.outbound.sender import OutboxSender, errors_logged
from support_agent.store.store import Store
from support_agent.store.waiting import WaitingCase

log = structlog.get_logger(__name__)

BREAK = timedelta(minutes=5)
"""Pause between two rounds."""
HOUR = timedelta(hours=1)


@dataclass
class Reminders:
    """Sends reminders; `now` is the clock. Call it from one thread only."""

    store: Store
    settings: Settings
    breaker: Breaker
    routing: CaseRouting
    queue: OutboundQueue
    outbox_sender: OutboxSender
    now: Callable[[], datetime]
    _rounds: Rounds = field(default_factory=lambda: Rounds(BREAK), init=False)

    def look_after(self) -> int:
        """Remind people of each case that is due; return how many.

        Nobody is reminded while the agent is paused, and half of the hourly limit is left to other mail.
        """
        reminders, now = self.settings.reminders, self.now()
        if not reminders.after_h or not self._rounds.is_due(now) or self.breaker.deciding():
            return 0
        self._rounds.begin(now)
        room = self.breaker.rates.spare_room(now)
        number, since = 0, now - timedelta(days=reminders.until_days)
        for case in filter(self._is_due, self.store.waits.cases(since)):
            if number >= room:
                log.warning("reminders_wait", why="half of agent.max_mails_per_hour is used")
                break
            number += self._remind(case)
        return number

    def _is_due(self, case: WaitingCase) -> bool:
        """Whether the next reminder of a case is due; one that was missed is not made up for."""
        reminders = self.settings.reminders
        if case.reminders >= reminders.most:
            return False
        if case.reminded_at is None:
            return self._waited(case.since) >= reminders.after_h * HOUR
        return self._waited(case.reminded_at) >= reminders.every_h * HOUR

    def _waited(self, since: datetime) -> timedelta:
        return Hours(self.settings.hours).between(since, self.now())

    def _remind(self, case: WaitingCase) -> bool:
        """Queue a reminder and try to send it; one that fails is tried again with the next round."""
        reminders, now = self.settings.reminders, self.now()
        hours, number = self._waited(case.since) / HOUR, case.reminders + 1
        waited = f"{hours:.0f} {'working hours' if self.settings.hours.has_hours else 'hours'}"
        why = f"waiting since {case.since:%Y-%m-%d %H:%M} UTC, {waited}; reminder {number} of {reminders.most}"
        to = reminders.address if number >= reminders.address_from else ""
        with errors_logged("reminder_failed", case_id=case.case_id):
            mail = self.routing.routed(case.mail_id)
            if mail.route.is_staff_reply:  # an order whose answer was lost: a customer waits for it
                threads = self.routing.threads
                notices = (row for row in threads.packets_of(case.case_id) if row.mail_id == mail.id)
                mail = mail.about(next(map(threads.customer_mail_of, notices), None))
            reminder = self.queue.remind(mail, escalated(EscalationReason.REMINDER, now, why), to)
            self.outbox_sender.deliver(reminder)
            log.info("case_reminded", case_id=case.case_id, outbox_id=reminder.id, number=number)
            return True
        return False
