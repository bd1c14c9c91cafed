"""Makes the weekly digest, from the numbers that `support-agent coverage` prints.

Invariant: the outbox has at most one digest for each week, whatever process dies, and it holds no customer's words.
Checked by tests/unit/workflow/test_digest.py and, with real kills, tests/journey/test_kill_people.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo

import structlog

from support_agent.answer.digest import Age, Counted, Digest, Grown
from support_agent.cases.breaker import Breaker
from support_agent.cases.route import staff_addresses
from support_agent.company.company import Company
from support_agent.config.hours import DAYS
from support_agent.config.settings import Settings
from support_agent.core.rounds import Rounds
from support_agent.desk.coverage import Share, coverage_of, growth_of
from support_agent.facts.topics import topics_of
from support_agent.outbound.queueing import OutboundQueue
from support_agent.outbound.sender import OutboxSender, errors_logged
from support_agent.store.records import OutgoingKind
from support_agent.store.store import Store
from support_agent.store.waiting import WaitingCase

log = structlog.get_logger(__name__)

WEEK, DAY = timedelta(days=7), timedelta(days=1)
BREAK = timedelta(minutes=5)
"""Pause between two rounds."""
QUIET = 4 * WEEK
"""Without a mail for this time there is nothing to tell."""
LONGEST_WAIT = 365 * DAY
"""Cases that have waited longer are forgotten, not late."""
AGES_DAYS: tuple[tuple[int, int | None], ...] = ((0, 1), (1, 3), (3, 7), (7, 30), (30, None))
"""From how many days on, and below how many, cases are counted together."""
MOST_TOPICS = 10


@dataclass
class WeeklyDigest:
    """Sends the digest; `now` is the clock. Call it from one thread only."""

    store: Store
    settings: Settings
    company: Company
    breaker: Breaker
    queue: OutboundQueue
    outbox_sender: OutboxSender
    now: Callable[[], datetime]
    _rounds: Rounds = field(default_factory=lambda: Rounds(BREAK), init=False)

    def look_after(self) -> bool:
        """Send the digest of the last week that has ended, unless it was made already; return whether it was now.

        Nothing is sent while the agent is paused, nor where no mail has arrived for weeks.
        """
        now = self.now()
        if not self.settings.digest.address or not self._rounds.is_due(now) or self.breaker.deciding():
            return False
        self._rounds.begin(now)
        until = self.last_end(now)
        if any(digest.created_at >= until for digest in self.store.outbox.find(kind=OutgoingKind.DIGEST)):
            return False
        before = [mail for mail in self.store.mails.find(since=until - QUIET) if mail.received_at < until]
        if not before:
            return False
        carrier = before[-1]
        with errors_logged("digest_failed"):
            queued = self.queue.digest(self.digest(until, now), carrier.id, self.settings.digest.address)
            self.outbox_sender.deliver(queued)
            log.info("digest_made", outbox_id=queued.id, until=until.isoformat())
            return True
        return False

    def last_end(self, now: datetime) -> datetime:
        """The last instant at which a week ended."""
        digest, zone = self.settings.digest, self._zone
        today = now.astimezone(zone).date()
        day = today - timedelta(days=(today.weekday() - DAYS.index(digest.weekday)) % len(DAYS))
        for one in (day, day - WEEK):
            end = datetime.combine(one, time(digest.hour), zone).astimezone(UTC)
            if end <= now:
                return end
        raise AssertionError("a week has seven days")

    def digest(self, until: datetime, now: datetime) -> Digest:
        """The numbers of the week before an instant; who waits is counted now."""
        staff = staff_addresses(self.settings)
        week, growth = coverage_of(self.store, staff, until, 1), growth_of(self.store, staff, until, 2)
        waiting = self.store.waits.cases(now - LONGEST_WAIT)
        grown = [one for one in growth if one.now > one.before][:MOST_TOPICS]
        return Digest(
            locale=self.settings.company.locale,
            since=week.since.astimezone(self._zone),
            until=until.astimezone(self._zone),
            mails=week.mails,
            answered=week.answered,
            partly_answered=week.partly_answered,
            escalated=week.escalated,
            filed=week.filed,
            answered_by=tuple(self._counted(week.answered_by)),
            reasons=tuple(self._counted(week.reasons)),
            filed_by=tuple(self._counted(week.filed_by)),
            grown=tuple(
                Grown(
                    topic=one.topic,
                    title=self._titles.get(one.topic),
                    before=one.before,
                    now=one.now,
                    is_sure=one.is_sure,
                )
                for one in grown
            ),
            waiting=len(waiting),
            ages=tuple(_ages(waiting, now)),
            people_answered=week.people.answered,
            people_open=week.people.open,
            median_hours=week.people.median_hours,
            ninetieth_hours=week.people.ninetieth_hours,
        )

    @property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self.settings.hours.time_zone)

    @cached_property
    def _titles(self) -> Mapping[str, str]:
        return {topic.key: topic.title for topic in topics_of(self.company)}

    def _counted(self, shares: Iterable[Share]) -> Iterator[Counted]:
        for share in shares:
            yield Counted(name=share.name, mails=share.mails, title=self._titles.get(share.name))


def _ages(waiting: Iterable[WaitingCase], now: datetime) -> Iterator[Age]:
    ages = [(now - case.since) / DAY for case in waiting]
    for least, below in AGES_DAYS:
        cases = sum(least <= age and (below is None or age < below) for age in ages)
        if cases:
            yield Age(least_days=least, below_days=below, cases=cases)
