"""What stops all automatic mail: the pause, and a breaker that trips where too much was written within the hour (S12).

Checked by tests/unit/workflow/test_paused_agent.py and tests/unit/cases/test_rate_limits.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from support_agent.cases.pause import read_pause
from support_agent.cases.rate_limits import Rates
from support_agent.config.settings import AgentSettings
from support_agent.core.levels import CUSTOMER, Level


@dataclass(frozen=True)
class Breaker:
    """Each method says why something must not happen now, or ""; `now` is the clock."""

    agent: AgentSettings
    rates: Rates
    now: Callable[[], datetime]

    def paused(self) -> str:
        """Why the agent is paused; the file is looked for each time."""
        pause = read_pause(self.agent)
        return "" if pause is None else str(pause)

    def deciding(self) -> str:
        """Why no mail is decided."""
        return self.paused() or self.rates.breaker(self.now())

    def sending(self) -> str:
        """Why nothing automatic goes to a customer."""
        return self.paused() or self.rates.sending_breaker(self.now())

    def any(self) -> str:
        """Why mails are not decided, or nothing automatic is sent: for the operator."""
        return self.deciding() or self.rates.sending_breaker(self.now())

    def for_mail(self, level: Level | None, *, is_for_desk: bool) -> str:
        """Why this mail is not decided.

        What a rule gives to the desk goes there while the agent is paused, but not once too much has been written, as
        the desk has had too much then, too.

        Args:
            level: Of the sender, where it is known: unknown senders have half of the hour.
        """
        too_much = self.rates.breaker(self.now(), CUSTOMER if level is None else level)
        paused = self.paused()
        return paused if paused and (too_much or not is_for_desk) else too_much
