"""What the running agent did in the last weeks: what was answered and by what, what went to people and why, how long
people took, and which topics grow.

It reads the store and changes nothing. A person's time is known where the answer went through the desk, or was found in
the Sent folder. Checked by tests/unit/desk/test_coverage.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median

from pydantic import ValidationError

from support_agent.cases.people import answers_of_people, open_packets
from support_agent.cases.topics import recorded_topics
from support_agent.core.frozen import Frozen
from support_agent.planner.plan_run import TOPIC_KINDS
from support_agent.store.records import CaseId, CaseState, MailId, MailRecord, MailStatus, PlanRecord
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


class Waiting(Frozen):
    """How long customers waited for people, in hours; None: no answer of a person is known.

    `approved` are the mails whose proposed answer a person approved as it was, `open` the cases that still wait.
    """

    answered: int
    approved: int
    open: int
    median_hours: float | None
    ninetieth_hours: float | None


class Coverage(Frozen):
    """The last weeks. `answered_by` counts topics, so a mail with two answers counts twice."""

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
    people: Waiting
    growth: tuple[Growth, ...]


def coverage_of(store: Store, now: datetime, weeks: int) -> Coverage:
    """Count the mails of the last weeks."""
    since = now - timedelta(weeks=weeks)
    mails = [mail for mail in store.mails.find(since=since) if mail.received_at <= now]
    plans = {mail.id: plan for mail in mails if (plan := _plan(store, mail)) is not None}
    by_status = Counter(mail.status for mail in mails)
    answered = [mail for mail in mails if mail.status is MailStatus.ANSWERED]
    escalated = (MailStatus.ESCALATED, MailStatus.QUARANTINED)
    topics = {mail.id: recorded_topics(plans[mail.id].calls) for mail in mails if mail.id in plans}
    return Coverage(
        since=since,
        weeks=weeks,
        mails=len(mails),
        answered=len(answered),
        partly_answered=sum(mail.reason_code is not None for mail in answered),
        escalated=sum(by_status[status] for status in escalated),
        filed=by_status[MailStatus.FILED],
        waiting=by_status[MailStatus.NEW],
        answered_by=_shares(topic for mail in answered for topic in _sent(plans.get(mail.id))),
        reasons=_shares(mail.reason_code or "unknown" for mail in mails if mail.status in escalated),
        filed_by=_shares(
            mail.screening_rule or mail.reason_code or "unknown" for mail in mails if mail.status is MailStatus.FILED
        ),
        people=_waiting(store, mails),
        growth=_growth(mails, topics, now - timedelta(weeks=weeks) / 2),
    )


def _plan(store: Store, mail: MailRecord) -> PlanRecord | None:
    """The plan; one that another version of the program wrote counts as none."""
    try:
        return store.plans.get(mail.id)
    except ValidationError:
        return None


def _sent(plan: PlanRecord | None) -> tuple[str, ...]:
    """The topics that were sent."""
    calls = () if plan is None else plan.calls
    return recorded_topics(call for call in calls if call.tool in TOPIC_KINDS and call.status == "done")


def _shares(names: Iterable[str]) -> tuple[Share, ...]:
    return tuple(Share(name=name, mails=count) for name, count in Counter(names).most_common())


def _waiting(store: Store, mails: Sequence[MailRecord]) -> Waiting:
    """From the arrival of a case's first escalated mail to the first answer of a person: own words, an approved
    proposal, a document by its number, or a mail in the Sent folder.
    """
    first: dict[CaseId, datetime] = {}
    for mail in mails:
        if mail.case_id is not None and mail.status is MailStatus.ESCALATED:
            first.setdefault(mail.case_id, mail.received_at)
    since = min(first.values(), default=None)
    found = store.waits.histories(since.replace(microsecond=0)) if since is not None else ()  # packets have seconds
    histories = [history for history in found if history.case_id in first]
    answers = {history.case_id: answers_of_people(store, history) for history in histories}
    still = [one for one in histories if one.state is CaseState.WITH_PERSON and open_packets(store, one)]
    known = {mail.id for mail in mails}
    waited = (
        min((one.at - first[case] for one in found if one.at >= first[case]), default=None)
        for case, found in answers.items()
    )
    hours = sorted(wait.total_seconds() / 3_600 for wait in waited if wait is not None)
    approved = {one.mail_id for found in answers.values() for one in found if one.is_approved}
    return Waiting(
        answered=len(hours),
        approved=len(approved & known),
        open=len(still),
        median_hours=median(hours) if hours else None,
        ninetieth_hours=hours[min(len(hours) - 1, int(0.9 * len(hours)))] if hours else None,
    )


def _growth(
    mails: Sequence[MailRecord], topics: Mapping[MailId, Sequence[str]], middle: datetime
) -> tuple[Growth, ...]:
    """The topics by how much they grew, those that grew most first."""
    before, now = Counter[str](), Counter[str]()
    for mail in mails:
        (before if mail.received_at < middle else now).update(topics.get(mail.id, ()))
    found = [
        Growth(topic=topic, before=before[topic], now=now[topic], is_sure=_is_sure(before[topic], now[topic]))
        for topic in before.keys() | now.keys()
    ]
    return tuple(sorted(found, key=lambda one: (one.before - one.now, one.topic)))


def _is_sure(before: int, now: int) -> bool:
    """Whether two counts over equal times differ by more than chance: of a fair coin's heads among `before + now`."""
    return abs(now - before) > SURE_GROWTH * max(1.0, math.sqrt(before + now))
