"""Stops all automatic mail: while the agent is paused, or after too many mails within an hour (S12).

Checked by tests/unit/workflow/test_paused_worker.py and tests/unit/cases/test_rate_limits.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from support_agent.cases.pause import read_pause
from support_agent.cases.rate_limits import Rates
from support_agent.config.agent import AgentSettings
from support_agent.core.levels import CUSTOMER, Level


@dataclass(frozen=True)
class Breaker:
    """Each method returns the reason why something must not happen now, or ""; `now` is the clock."""

    agent: AgentSettings
    rates: Rates
    now: Callable[[], datetime]

    def paused(self) -> str:
        """Why the agent is paused, or ""; looks for the pause file on each call."""
        pause = read_pause(self.agent)
        return "" if pause is None else str(pause)

    def deciding(self) -> str:
        """Why no mail may be decided, or ""."""
        return self.paused() or self.rates.breaker(self.now())

    def sending(self) -> str:
        """Why no automatic mail may go to a customer, or ""."""
        return self.paused() or self.rates.sending_breaker(self.now())

    def any(self) -> str:
        """Why mails are not decided or automatic mails are not sent, or ""; for the operator."""
        return self.deciding() or self.rates.sending_breaker(self.now())

    def for_mail(self, level: Level | None, *, is_for_desk: bool) -> str:
        """Why this mail may not be decided, or "".

        The pause does not stop mails that a rule escalates to the desk. The hourly limit does: mails to the desk count
        towards it as well.

        Args:
            level: The sender's level, if it is known; unknown senders may use half of the hourly limit.
        """
        paused = "" if is_for_desk else self.paused()
        return paused or self.rates.breaker(self.now(), CUSTOMER if level is None else level)
