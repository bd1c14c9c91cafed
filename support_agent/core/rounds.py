"""When a duty that pauses between its rounds is due again.

Invariant: a clock that is set back makes no pause longer. Checked by tests/unit/core/test_rounds.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass
class Rounds:
    """The rounds of one duty, for one thread."""

    pause: timedelta
    """From the begin of one round to the next."""
    _next_at: datetime = field(default=NEVER, init=False)

    def is_due(self, now: datetime) -> bool:
        """Whether the pause after the last round is over."""
        return not timedelta() < self._next_at - now <= self.pause

    def begin(self, now: datetime) -> None:
        """A round begins."""
        self._next_at = now + self.pause

    def skip_pause(self) -> None:
        """The next round needs no pause."""
        self._next_at = NEVER
