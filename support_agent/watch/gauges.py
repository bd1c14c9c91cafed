"""What the store says of the agent now, as samples for `/metrics`: cheap queries, each bounded.

Checked by tests/unit/watch/test_observed_journeys.py, which also reads the query plans.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from support_agent.cases.pause import read_pause
from support_agent.cases.rate_limits import Rates
from support_agent.config.settings import Settings
from support_agent.store.store import Store
from support_agent.store.watch_records import AlarmKind, Expiring
from support_agent.watch import metrics
from support_agent.watch.causes import MOST_COUNTED, causes
from support_agent.watch.recorder import Sample


def of_store(store: Store, settings: Settings, now: datetime) -> Iterator[Sample]:
    """The samples of one mailbox's store.

    Raises:
        TransientError: the database is away.
    """
    undecided = store.watching.undecided(MOST_COUNTED)
    yield Sample(metrics.QUEUE_MAILS, undecided.number)
    yield Sample(metrics.QUEUE_OLDEST, _age_s(undecided.since, now))
    for status, number in store.watching.outbox(metrics.OPEN, MOST_COUNTED).items():
        yield Sample(metrics.OUTBOX_MAILS, number, {"status": status})
    waiting = store.queue.waiting(now - timedelta(days=settings.reminders.until_days), MOST_COUNTED)
    yield Sample(metrics.CASES_WAITING, waiting.number)
    yield Sample(metrics.CASES_OLDEST, _age_s(waiting.since, now))
    stops = Rates(store, settings.agent).stops(now)
    yield Sample(metrics.STOPPED, read_pause(settings.agent) is not None, {"what": "paused"})
    for what, why in stops._asdict().items():
        yield Sample(metrics.STOPPED, bool(why), {"what": what})
    yield Sample(metrics.FETCHED_AT, _unix(store.cursors.fetched_at(settings.imap.folder)))
    newest = store.watching.newest_mail()
    yield Sample(metrics.RECEIVED_AT, _unix(newest[1] if newest is not None else None))
    expiries = store.watching.expiries()
    for expiring in Expiring:
        yield Sample(metrics.EXPIRES_AT, _unix(expiries.get(expiring)), {"what": expiring})
    found = {cause.kind for cause in causes(store, settings, now)}
    for kind in AlarmKind:
        yield Sample(metrics.ALARM, kind in found, {"alarm": kind})


def _age_s(since: datetime | None, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds()) if since is not None else 0.0


def _unix(instant: datetime | None) -> float:
    return instant.timestamp() if instant is not None else 0.0
