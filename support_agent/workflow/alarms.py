"""Notifies the desk by mail of what is wrong with the agent itself: when it begins, while it lasts, when it is over.

Invariant: the outbox has one mail for each change of an alarm, whichever of several workers notices it and whatever
process dies: one transaction stores the mail and, under its number, the fact of the notification. A pause and a
limit make no mail here: a person orders the one, `outbound.notices` notifies of the other. Checked by
tests/unit/workflow/test_alarms.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from support_agent.answer.alarm import Alarm
from support_agent.config.settings import Settings
from support_agent.core.observing import UNOBSERVED, Observer
from support_agent.core.rounds import Rounds
from support_agent.outbound.queueing import OutboundQueue
from support_agent.outbound.sender import OutboxSender, errors_logged
from support_agent.store.records import MailId
from support_agent.store.store import Store
from support_agent.store.watch_records import AlarmKind, AlarmRecord, AlarmState, Expiring
from support_agent.watch.causes import Cause, causes

log = structlog.get_logger(__name__)

BREAK = timedelta(seconds=30)
"""Pause between two rounds."""
DAY = timedelta(days=1)
CARRIERS = 100
"""So many mails are looked at for one that an alarm can be stored with."""
OVER: Mapping[AlarmKind, str] = {
    AlarmKind.MAILBOX_UNREACHABLE: "the mailbox is read to its end again",
    AlarmKind.MAILBOX_SILENT: "new mail has come in",
    AlarmKind.BACKLOG: "no mail waits for that long any more",
    AlarmKind.UNCERTAIN: "somebody has decided about each mail that may not have been sent",
    AlarmKind.DESK_UNDELIVERED: "somebody has decided about each mail that the desk did not get",
    AlarmKind.UNREADABLE: "no mail is left that cannot be read",
    AlarmKind.MODEL: "no more mails go to people because of the language model",
    AlarmKind.CERTIFICATE: "the certificates are valid for longer",
    AlarmKind.TOKEN: "the refresh token is valid for longer",
}
"""What makes mails, and what is said when it is over."""


@dataclass
class Alarms:
    """Sends mails about alarms to the desk; `now` is the clock. Call it from one thread only.

    `observer` knows when certificates and tokens end, as this process has seen them.
    """

    store: Store
    settings: Settings
    queue: OutboundQueue
    outbox_sender: OutboxSender
    now: Callable[[], datetime]
    observer: Observer = UNOBSERVED
    _rounds: Rounds = field(default_factory=lambda: Rounds(BREAK), init=False)
    _expiries: dict[str, datetime | None] = field(default_factory=dict, init=False)
    """As they were looked at last; what is new does not wait for the next round."""
    _clear_since: dict[AlarmKind, datetime] = field(default_factory=dict, init=False)

    def look_after(self) -> int:
        """Keep what was seen of certificates and tokens, notify the desk of what has changed; return how many mails."""
        now, expiries = self.now(), dict(self.observer.expiries)
        if not self._rounds.is_due(now) and expiries == self._expiries:
            return 0
        self._rounds.begin(now)
        self._expiries = expiries
        for what, ends_at in expiries.items():
            self.store.watching.note_expiry(Expiring(what), ends_at)
        if not self.settings.watch.alarm_every_h:
            return 0
        found = {cause.kind: cause for cause in causes(self.store, self.settings, now)}
        return sum(self._look_at(kind, found.get(kind), now) for kind in OVER)

    def _look_at(self, kind: AlarmKind, cause: Cause | None, now: datetime) -> bool:
        """Notify the desk of one alarm, if there is news."""
        last = self.store.watching.alarm(kind)
        if cause is not None:
            self._clear_since.pop(kind, None)
            if last is None or last.is_over:
                return self._send(kind, AlarmState.BEGUN, cause, now, last, now)
            every = timedelta(hours=self.settings.watch.alarm_every_h)
            return now - last.notified_at >= every and self._send(kind, AlarmState.LASTS, cause, now, last, last.since)
        if last is None or last.is_over:
            return False
        since = self._clear_since.setdefault(kind, now)
        if now - since < timedelta(seconds=self.settings.watch.alarm_settle_s):
            return False
        return self._send(kind, AlarmState.ENDED, None, since, last, last.since)

    def _carrier(self) -> MailId | None:
        """The newest mail that can be read."""
        newest = self.store.watching.newest_mails(CARRIERS)
        unreadable = self.store.sealing.unreadable(newest)
        return next((mail_id for mail_id in newest if mail_id not in unreadable), None)

    def _send(
        self,
        kind: AlarmKind,
        state: AlarmState,
        cause: Cause | None,
        at: datetime,
        last: AlarmRecord | None,
        since: datetime,
    ) -> bool:
        """Queue a mail and try to send it; one that fails is tried again with the next round."""
        watch, now = self.settings.watch, self.now()
        what, todo = (cause.what, cause.todo) if cause is not None else (OVER[kind], "")
        number = 1 if last is None else last.number + 1
        carrier = self._carrier()
        if carrier is None or self.store.watching.notified_since(now - DAY) >= watch.max_alarms_a_day:
            log.info("alarm_not_mailed", kind=kind.value, what=what)
            return False
        emit = log.warning if state is AlarmState.ENDED else log.critical
        emit("alarm", kind=kind.value, state=state.value, what=what)
        record = AlarmRecord(kind=kind, number=number, state=state, since=since, notified_at=now)
        alarm = Alarm(
            locale=self.settings.company.locale,
            kind=kind.value,
            state=state.value,
            what=what,
            todo=todo,
            since=since,
            at=at,
            again_h=watch.alarm_every_h,
        )
        with errors_logged("alarm_failed", kind=kind.value):
            queued = self.queue.alarm(alarm, record, carrier)
            if queued is not None:
                self.outbox_sender.deliver(queued)
            return queued is not None
        return False
