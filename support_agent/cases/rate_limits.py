"""Limits automatic mails per case, per sender, and in total per hour (S12; RFC 3834, section 2).

Senders over the limit get no reply: they may be auto-responders without machine headers, and a reply would start a
loop. Their mails go to the desk instead, up to the limit for packets; the desk is notified when that limit is reached.

Invariant: the limits count rows of the outbox that left or may leave, without those of the mail being decided, so a
step that runs again decides the same. Checked by tests/unit/cases/test_rate_limits.py and
tests/contract/store/test_traffic.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.repetition import SentAnswer
from support_agent.cases.escalation import EscalationReason
from support_agent.config.agent import AgentSettings
from support_agent.core.levels import CUSTOMER, UNKNOWN, Level
from support_agent.mail.senders.identity import Sender
from support_agent.store.records import CaseId, MailId, MailRecord, OutgoingKind
from support_agent.store.store import Store
from support_agent.store.traffic import Passed

TO_SENDER = tuple(kind for kind in OutgoingKind if kind.is_automatic_to_sender)
AUTOMATIC = tuple(kind for kind in OutgoingKind if kind.is_automatic)
"""What the breaker counts: automatic mails, and all mails to the desk."""
RATE_RULE = "S12"
WITHOUT_EFFECT = (EscalationReason.NOT_PASSED_ON, EscalationReason.NOT_KEPT, EscalationReason.NOT_CARRIED_OUT)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
COUNT_HOLDS = timedelta(minutes=5)
USES_PART = 64
Counted = Literal["queued", "unknown", "sent"]
CLOCK_SLACK = HOUR
"""Mails with a timestamp further ahead than this count towards no limit: the clock was wrong, perhaps by years."""


class Used(NamedTuple):
    """How much of one limit is used; for the operator."""

    what: str
    used: int
    limit: int


class Stops(NamedTuple):
    """Why nothing is decided, nothing leaves, and mail of unknown senders waits; "" for each that goes on."""

    deciding: str
    sending: str
    unknown_senders: str


class Room(NamedTuple):
    """How many mails may still be decided, or sent, before what passed within the hour is counted again."""

    at: datetime
    uses: int


def why_limited(agent: AgentSettings, *, in_case: int, today: int) -> str:
    """Which limit forbids a further mail, or "".

    Args:
        in_case: Automatic mails in the case so far.
        today: Automatic mails to the sender within a day.
    """
    if in_case >= agent.max_mails_per_case:
        return f"{agent.max_mails_per_case} automatic mails went out in this case, the limit"
    if today >= agent.max_mails_per_sender_a_day:
        most = agent.max_mails_per_sender_a_day
        return f"{most} automatic mails went to this sender within a day, the limit"
    return ""


def is_from_unknown_sender(mail: MailRecord) -> bool:
    """Whether the sender is known not to be a customer; all such senders share half of the hourly limit."""
    return mail.level is not None and mail.level < CUSTOMER


@dataclass(frozen=True)
class Rates:
    """Applies the limits of the settings to the counts of the outbox.

    The counts of an hour are exact where they are near a limit. Far from it a count holds for some minutes and for as
    many mails as make up a 64th of the room, each of which may cause several mails: with up to 16 workers none passes
    a limit in that time.
    """

    store: Store
    agent: AgentSettings
    counted: dict[Counted, Room] = field(default_factory=dict, compare=False)

    def limit_reached(self, mail_id: MailId, case_id: CaseId, sender: Sender, now: datetime) -> str:
        """Which limit of automatic mails the case or the sender has reached, or ""."""
        in_case = self.store.traffic.for_case(TO_SENDER, case_id, but_for=mail_id)
        return why_limited(self.agent, in_case=in_case, today=self._sent_today(TO_SENDER, mail_id, sender, now))

    def is_flood(self, mail_id: MailId, sender: Sender, now: datetime) -> bool:
        """Whether the sender has reached the daily limit of packets to the desk, and of notices of failed journeys."""
        packets = self._sent_today((OutgoingKind.PACKET, OutgoingKind.FAILURE), mail_id, sender, now)
        return packets >= self.agent.max_packets_per_sender_a_day

    @property
    def why_flood(self) -> str:
        """Why a sender's mails make no more packets."""
        most = self.agent.max_packets_per_sender_a_day
        return f"the desk has had {most} packets about this sender within a day, the limit"

    def is_first_of_flood(self, sender: Sender, now: datetime) -> bool:
        """Whether a mail over the limit of packets is the day's first, which notifies the desk.

        Notifications about mails of the same address at a lower level do not count.
        """
        notified = self.store.traffic.ended_for(
            EscalationReason.FLOOD, now - DAY, sender.address, sender.level, now + CLOCK_SLACK
        )
        return not notified

    def is_notification_limit_reached(self, staff: Sender, now: datetime) -> bool:
        """Whether a staff member got the day's maximum of notices about replies and commands that had no effect."""
        since, until = now - DAY, now + CLOCK_SLACK
        refused = (
            self.store.traffic.ended_for(reason, since, staff.address, staff.level, until) for reason in WITHOUT_EFFECT
        )
        return sum(refused) >= self.agent.max_packets_per_sender_a_day

    def answers_before(
        self, mail_id: MailId, case_id: CaseId | None, sender: Sender, now: datetime
    ) -> tuple[SentAnswer, ...]:
        """Earlier answers that must not be repeated, newest first: all of the case, and this sender's in other cases.

        `agent.identical_answer_days` bounds only the answers of other cases: a case is one conversation, however long
        it takes. Answers with future timestamps still count.
        """
        since = now - self.agent.identical_answer_days * DAY
        earlier = self.store.traffic.answers(case_id, sender.address, sender.level, since=since, but_for=mail_id)
        return tuple(
            SentAnswer(case_id=record.case_id or "", sent_at=record.queued_at, answer=answer)
            for record in earlier
            for answer in FinalAnswer.model_validate(record.payload).answers
        )

    def breaker(self, now: datetime, level: Level = CUSTOMER) -> str:
        """Why no mail may be decided now, or "": more mails than the hourly limit mean that something is wrong.

        Args:
            level: Below `CUSTOMER` half of the limit applies as well, so that a flood from many unknown addresses
                does not stop mail to customers.
        """
        if not self._has_room("queued", now, self.agent.max_mails_per_hour):
            return self._limit
        if level >= CUSTOMER or self._has_room("unknown", now, self._unknown_limit):
            return ""
        return (
            f"{self._unknown_limit} automatic mails within an hour for senders who are no known customers, the limit"
            " (S12)"
        )

    def room(self, now: datetime, level: Level = CUSTOMER) -> int:
        """How many more automatic mails may be queued within the hour; `level` as in `breaker`."""
        room = max(0, self.agent.max_mails_per_hour - self._passed(now).queued)
        return room if level >= CUSTOMER else min(room, self._unknown_room(now))

    def spare_room(self, now: datetime) -> int:
        """How many automatic mails may be queued if half of the hourly limit is left to other mail."""
        return max(0, self.room(now) - self.agent.max_mails_per_hour // 2)

    def sending_breaker(self, now: datetime) -> str:
        """Why nothing automatic may leave the outbox now, or ""."""
        return "" if self._has_room("sent", now, self.agent.max_mails_per_hour) else self._limit

    def stops(self, now: datetime) -> Stops:
        """Why automatic mail stands still now; that of unknown senders alone only where nothing stops all of it."""
        deciding, sending = self.breaker(now), self.sending_breaker(now)
        return Stops(deciding, sending, "" if deciding or sending else self.breaker(now, UNKNOWN))

    def used(self, now: datetime) -> tuple[Used, ...]:
        """Use of the hourly limit, of the busiest sender's limit and of the busiest open case's limit."""
        traffic, agent = self.store.traffic, self.agent
        address, today = traffic.busiest_sender(TO_SENDER, now - DAY, now + CLOCK_SLACK) or ("", 0)
        case_id, in_case = traffic.busiest_case(TO_SENDER) or ("", 0)
        hour = max(self._passed(now))
        return (
            Used("this hour", hour, agent.max_mails_per_hour),
            Used(f"one sender a day{f' ({address})' if address else ''}", today, agent.max_mails_per_sender_a_day),
            Used(f"one case{f' ({case_id})' if case_id else ''}", in_case, agent.max_mails_per_case),
        )

    @property
    def _unknown_limit(self) -> int:
        return max(1, self.agent.max_mails_per_hour // 2)

    def _unknown_room(self, now: datetime) -> int:
        return max(0, self._unknown_limit - self._passed(now, below=CUSTOMER).queued)

    @property
    def _limit(self) -> str:
        return f"{self.agent.max_mails_per_hour} automatic mails within an hour, the limit (S12)"

    def _has_room(self, what: Counted, now: datetime, limit: int) -> bool:
        """Whether a limit of the hour leaves room; counts anew only once a small part of the room may be used up."""
        known = self.counted.get(what)
        if known is not None and known.uses > 0 and known.at <= now < known.at + COUNT_HOLDS:
            self.counted[what] = known._replace(uses=known.uses - 1)
            return True
        passed = self._passed(now, below=CUSTOMER if what == "unknown" else None)
        room = limit - (passed.sent if what == "sent" else passed.queued)
        self.counted[what] = Room(now, room // USES_PART)
        return room > 0

    def _sent_today(self, kinds: tuple[OutgoingKind, ...], mail_id: MailId, sender: Sender, now: datetime) -> int:
        """Counts what the sender's other mails caused within a day; senders without an address count as one."""
        return self.store.traffic.for_sender(
            kinds, sender.address, sender.level, now - DAY, but_for=mail_id, until=now + CLOCK_SLACK
        )

    def _passed(self, now: datetime, below: Level | None = None) -> Passed:
        return self.store.traffic.passed(AUTOMATIC, now - HOUR, below, now + CLOCK_SLACK)
