"""Whether to delete what is old by the clock: one that runs ahead would delete at once what is not due.

A reading of the clock is trusted if it is soon after the last trusted one. A later one is doubted: the clock is wrong,
or the agent was off for long. It is trusted when a day has passed since, in which a person can correct the clock; a
corrected clock is soon after the last trusted reading again. A clock that leaps again meanwhile is doubted anew.

Invariant: no single wrong reading of the clock, in whatever process, lets anything go that is more than
`CONFIRMED_WITHIN` and a day from being due; on a clock that was trusted, not more than `TRUST_LASTS`. Checked by
tests/unit/workflow/test_clock_trust.py.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog

from support_agent.store.watch_records import ClockTrust
from support_agent.store.watching import Watching

log = structlog.get_logger(__name__)

TRUST_LASTS, DOUBT_LASTS = timedelta(days=3), timedelta(days=1)
CONFIRMED_WITHIN = timedelta(days=31)
"""After the day of doubt: an agent that runs once a month must delete personal data, too."""
RENEWED_AFTER = timedelta(hours=1)


def is_trusted(watching: Watching, now: datetime) -> bool:
    """Whether what is old may be deleted by this reading of the clock, which is recorded."""
    ends = watching.clock_trust()
    trust, doubt = ends.get(ClockTrust.TRUST), ends.get(ClockTrust.DOUBT)
    is_soon = trust is not None and now <= trust
    is_confirmed = doubt is not None and doubt <= now <= doubt + CONFIRMED_WITHIN
    if is_soon or is_confirmed:
        _trust(watching, trust, doubt, now)
        return True
    if doubt is None or not now <= doubt <= now + DOUBT_LASTS:  # or it has leapt, or was corrected by a part
        doubt = now + DOUBT_LASTS
        watching.note_expiry(ClockTrust.DOUBT, doubt)
        if trust is not None:
            log.warning("clock_doubted", now=str(now), trusted_until=str(trust), nothing_deleted_until=str(doubt))
    return False


def _trust(watching: Watching, trust: datetime | None, doubt: datetime | None, now: datetime) -> None:
    if doubt is not None:
        watching.note_expiry(ClockTrust.DOUBT, None)
    if trust is None or abs(now + TRUST_LASTS - trust) > RENEWED_AFTER:
        watching.note_expiry(ClockTrust.TRUST, now + TRUST_LASTS)
