"""Records about the agent itself: alarms, what ends some day, and counts for whoever watches it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, NamedTuple

from pydantic import Field

from support_agent.store.records import Instant, Record


class AlarmKind(StrEnum):
    """What may be wrong; there is at most one alarm of a kind at a time.

    `limited`: a limit of automatic mail for an hour is reached. `token`: the refresh token of `[oauth]`.
    """

    MAILBOX_UNREACHABLE = "mailbox_unreachable"
    MAILBOX_SILENT = "mailbox_silent"
    BACKLOG = "backlog"
    PAUSED = "paused"
    LIMITED = "limited"
    UNCERTAIN = "uncertain"
    DESK_UNDELIVERED = "desk_undelivered"
    UNREADABLE = "unreadable"
    MODEL = "model"
    CERTIFICATE = "certificate"
    TOKEN = "token"


class AlarmState(StrEnum):
    """What a mail about an alarm says."""

    BEGUN = "begun"
    LASTS = "lasts"
    ENDED = "ended"


class AlarmRecord(Record):
    """A mail about an alarm; `number` counts those of a kind, from 1. `since` is when the alarm began."""

    kind: AlarmKind
    number: Annotated[int, Field(ge=1)]
    state: AlarmState
    since: Instant
    notified_at: Instant

    @property
    def is_over(self) -> bool:
        """Whether the alarm has ended."""
        return self.state is AlarmState.ENDED


class Expiring(StrEnum):
    """What ends some day."""

    IMAP_CERTIFICATE = "imap_certificate"
    SMTP_CERTIFICATE = "smtp_certificate"
    REFRESH_TOKEN = "refresh_token"


class ClockTrust(StrEnum):
    """The two instants that `workflow.clock_trust` records.

    Until `clock_trust` a reading of the clock is trusted; until `clock_doubt` nothing is deleted.
    """

    TRUST = "clock_trust"
    DOUBT = "clock_doubt"


class WaitCount(NamedTuple):
    """How many wait, counted up to a limit, and since when the oldest does; None: none waits."""

    number: int
    since: datetime | None
