"""The configuration's section for autonomy: where it starts, how it is earned and lost; part of `settings.Settings`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from support_agent.core.frozen import Frozen
from support_agent.core.modes import Mode

MAX_HOLD_S = 86_400
Share = Annotated[float, Field(gt=0, lt=1)]


class AutonomySettings(Frozen):
    """In which mode answers start, and the rule by which people's judgements change it.

    Of the last `judged` decisions on an item that a person has judged, the right ones give a precision; its lower
    bound (Clopper and Pearson, one-sided, with `confidence`) must reach a threshold.
    """

    start: Mode = Mode.SHADOW
    """Mode of each document, field, series, kind of records and canned question that has none of its own. `off`: a
    person answers; `shadow`: the same, and the packet shows what would be sent; `approve`: the answer leaves when a
    person confirms it; `auto`: it leaves by itself."""
    hold_s: Annotated[float, Field(ge=0, le=MAX_HOLD_S)] = 0.0
    """How long an automatic answer waits in the outbox before it leaves, so that a person can undo it; 0: no wait. If
    one of its items loses `auto` meanwhile, or a document expires, it does not leave: a person gets the case."""
    values_s: Annotated[float, Field(ge=0)] = 3_600.0
    """For how long after an answer was planned the account values in it count as current. If it leaves or is approved
    later, they are read again, and if one has changed it does not leave: a person gets the case. That an answer with
    account values still goes to the customer's address is always checked."""
    hold_notice: bool = False
    """Whether the desk gets each answer that waits for `hold_s`, with a command by which a person undoes it by mail.
    These mails count in `agent.max_mails_per_hour`."""
    is_earned: bool = True
    """Whether the rule raises modes by itself; if not, only `support-agent autonomy apply` does. A correction always
    lowers the mode at once."""
    judged: Annotated[int, Field(ge=1, le=10_000)] = 100
    """How many of an item's last judged decisions count."""
    least_judged: Annotated[int, Field(ge=1, le=10_000)] = 10
    """Fewest judged decisions since the last correction before a mode is raised."""
    approve_from: Share = 0.7
    """Lower bound on the precision from which an item in `shadow` is raised to `approve`: 10 of 10, or 13 of 14."""
    auto_from: Share = 0.9
    """Lower bound on the precision from which an item in `approve` is raised to `auto`: 29 of 29, or 45 of 46."""
    confidence: Annotated[float, Field(ge=0.5, lt=1)] = 0.95
    """How sure the lower bound is."""

    @model_validator(mode="after")
    def _in_order(self) -> AutonomySettings:
        if self.auto_from < self.approve_from:
            raise ValueError(f"auto_from = {self.auto_from} must not be below approve_from = {self.approve_from}")
        if self.hold_notice and not self.hold_s:
            raise ValueError("hold_notice needs hold_s: without it an answer leaves before anybody can undo it")
        if self.judged < self.least_judged:
            raise ValueError(f"judged = {self.judged} must not be below least_judged = {self.least_judged}")
        return self
