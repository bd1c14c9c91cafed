"""What the running agent did in the last weeks: what was answered and by what, what went to people and why, how long
people took, and which topics grow.

It reads the store and changes nothing. A person's time is known where the answer went through the desk, or was found in
the Sent folder. Checked by tests/unit/desk/test_coverage.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median

from support_agent.cases.topics import recorded_topics
from support_agent.core.frozen import Frozen
from support_agent.core.levels import PROVEN
from support_agent.planner.plan_run import TOPIC_KINDS
from support_agent.store.plans import RecordedChoice
from support_agent.store.records import CaseId, MailId, MailRecord, MailStatus, ToolCallStatus
from support_agent.store.store import Store

SURE_GROWTH = 2.0
"""Standard deviations by which a topic's mails must differ between the two halves."""


class Share(Frozen):
    """How many mails have something in common."""

    name: str
    mails: int


class Growth(Frozen):
    """A topic's mails in the older and in the newer half of the weeks; `is_sure`: more than chance explains."""

    topic: str
    before: int
    now: int
    is_sure: bool


class WaitForPeople(Frozen):
    """How long customers waited for people, in hours; None: no answer of a person is known.

    `approved` are the mails whose proposed answer a person approved as it was, `open` the cases that still wait.
    """

    answered: int
    approved: int
    open: int
    median_hours: float | None
    ninetieth_hours: float | None


class Coverage(Frozen):
    """The last weeks. `answered_by` counts topics, so a mail with two answers counts twice; `waiting` are the mails
    that are not decided yet.
    """

    since: datetime
    weeks: int
    mails: int
    answered: int
    partly_answered: int
    escalated: int
    filed: int
    waiting: int
    answered_by: tuple[Share, ...]
    reasons: tuple[Share, ...]
    filed_by: tuple[Share, ...]
    people: WaitForPeople
    growth: tuple[Growth, ...]


def coverage_of(store: Store, staff: Collection[str], now: datetime, weeks: int) -> Coverage:
    """Count the customers' mails of the last weeks.

    Args:
        staff: Addresses whose proven mails are not counted if they were filed, as their replies and commands are.
    """
    since = now - timedelta(weeks=weeks)
    mails, choices = _mails(store, staff, since, now), store.plans.choices(since)
    by_status = Counter(mail.status for mail in mails)
    answered = [mail for mail in mails if mail.status is MailStatus.ANSWERED]
    escalated = (MailStatus.ESCALATED, MailStatus.QUARANTINED)
    return Coverage(
        since=since,
        weeks=weeks,
        mails=len(mails),
        answered=len(answered),
        partly_answered=sum(mail.reason_code is not None for mail in answered),
        escalated=sum(by_status[status] for status in escalated),
        filed=by_status[MailStatus.FILED],
        waiting=by_status[MailStatus.NEW],
        answered_by=_shares(topic for mail in answered for topic in _sent(choices.get(mail.id, ()))),
        reasons=_shares(mail.reason_code or "unknown" for mail in mails if mail.status in escalated),
        filed_by=_shares(
            mail.screening_rule or mail.reason_code or "unknown" for mail in mails if mail.status is MailStatus.FILED
        ),
        people=_wait_for_people(store, since, mails),
        growth=_growth(mails, choices, now - timedelta(weeks=weeks) / 2),
    )


def growth_of(store: Store, staff: Collection[str], now: datetime, weeks: int) -> tuple[Growth, ...]:
    """Compare the newer half of the last weeks with the older one, as `coverage_of` does."""
    since = now - timedelta(weeks=weeks)
    return _growth(_mails(store, staff, since, now), store.plans.choices(since), now - timedelta(weeks=weeks) / 2)


def _mails(store: Store, staff: Collection[str], since: datetime, now: datetime) -> list[MailRecord]:
    found = (mail for mail in store.mails.find(since=since) if mail.received_at <= now)
    return [mail for mail in found if not _is_of_staff(mail, staff)]


def _is_of_staff(mail: MailRecord, staff: Collection[str]) -> bool:
    is_proven = mail.level is not None and mail.level >= PROVEN
    return mail.status is MailStatus.FILED and is_proven and mail.sender_address in staff


def _sent(choices: Iterable[RecordedChoice]) -> tuple[str, ...]:
    """The topics that were sent."""
    done = (one for one in choices if one.tool in TOPIC_KINDS and one.status == ToolCallStatus.DONE)
    return recorded_topics(one.votes for one in done)


def _shares(names: Iterable[str]) -> tuple[Share, ...]:
    return tuple(Share(name=name, mails=count) for name, count in Counter(names).most_common())


def _wait_for_people(store: Store, since: datetime, mails: Sequence[MailRecord]) -> WaitForPeople:
    """From the arrival of a case's first escalated mail to the first answer of a person: own words, an approved
    proposal, a document by its number, or a mail in the Sent folder.
    """
    arrived: dict[CaseId, datetime] = {}
    for mail in mails:
        if mail.case_id is not None and mail.status is MailStatus.ESCALATED:
            arrived.setdefault(mail.case_id, mail.received_at)
    since = since.replace(microsecond=0)  # packets have seconds
    answers = [answer for answer in store.waits.answers(since) if answer.case_id in arrived]
    waited: dict[CaseId, timedelta] = {}
    for answer in answers:
        wait = answer.at - arrived[answer.case_id]
        if wait >= timedelta():
            waited[answer.case_id] = min(wait, waited.get(answer.case_id, wait))
    hours = sorted(wait.total_seconds() / 3_600 for wait in waited.values())
    return WaitForPeople(
        answered=len(hours),
        approved=len({mail.id for mail in mails} & {answer.approved_id for answer in answers}),
        open=sum(case.case_id in arrived for case in store.waits.cases(since)),
        median_hours=median(hours) if hours else None,
        ninetieth_hours=hours[min(len(hours) - 1, int(0.9 * len(hours)))] if hours else None,
    )


def _growth(
    mails: Sequence[MailRecord], choices: Mapping[MailId, Sequence[RecordedChoice]], middle: datetime
) -> tuple[Growth, ...]:
    """The topics by how much they grew, those that grew most first."""
    before, now = Counter[str](), Counter[str]()
    for mail in mails:
        topics = recorded_topics(one.votes for one in choices.get(mail.id, ()))
        (before if mail.received_at < middle else now).update(topics)
    found = [
        Growth(topic=topic, before=before[topic], now=now[topic], is_sure=_is_sure(before[topic], now[topic]))
        for topic in before.keys() | now.keys()
    ]
    return tuple(sorted(found, key=lambda one: (one.before - one.now, one.topic)))


def _is_sure(before: int, now: int) -> bool:
    """Whether two counts over equal times differ by more than chance: of a fair coin's heads among `before + now`."""
    return abs(now - before) > SURE_GROWTH * max(1.0, math.sqrt(before + now))
