"""The rule by which an item earns a freer mode, and loses it: numbers of the settings, nothing else.

Raised by one step where enough decisions were judged since the last correction, and the lower bound on the precision of
the last judged ones reaches the next mode's threshold. Lowered by one step at once by each correction.
Invariant: no item is raised above the mode that a person set by hand, and `off` is only set by hand. Checked by
tests/unit/cases/test_earning.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from support_agent.config.autonomy import AutonomySettings
from support_agent.core.modes import Mode
from support_agent.core.proportions import lower_bound
from support_agent.store.desk_records import ModeChange, ModeSource

LOWER = {Mode.AUTO: Mode.APPROVE, Mode.APPROVE: Mode.SHADOW}
"""The mode after a correction; stricter modes stay."""
HIGHER = {lower: higher for higher, lower in LOWER.items()}


class TrackRecord(NamedTuple):
    """What people's judgements say of an item: those that count, how many were right, and the lower bound."""

    judged: int
    right: int
    since_correction: int
    lower_bound: float

    @property
    def in_words(self) -> str:
        """One line for people."""
        return f"{self.right} of the last {self.judged} judged were right, precision at least {self.lower_bound:.2f}"


class EarnedMode(NamedTuple):
    """The mode that an item has earned, and why it is that one."""

    mode: Mode
    why: str


def record_of(judgements: Sequence[bool], settings: AutonomySettings) -> TrackRecord:
    """Args: judgements: Whether each judged decision was right, the newest first."""
    counted = judgements[: settings.judged]
    right = sum(counted)
    since = sum(1 for _ in takewhile(bool, counted))
    return TrackRecord(len(counted), right, since, lower_bound(right, len(counted), settings.confidence))


def mode_after(valid: Sequence[ModeChange], start: Mode) -> Mode:
    """The mode after these changes, the oldest first.

    A correction takes one step from the mode before it, so that each step is given back with its own correction.
    """
    mode = start
    for change in valid:
        mode = LOWER.get(mode, mode) if change.by is ModeSource.CORRECTED else change.mode
    return mode


def ceiling_of(valid: Sequence[ModeChange]) -> Mode:
    """The freest mode that the rule may give: the last one that a person set by hand, if any."""
    by_hand = [change.mode for change in valid if change.by is ModeSource.BY_HAND]
    return by_hand[-1] if by_hand else Mode.AUTO


def earned(mode: Mode, record: TrackRecord, ceiling: Mode, settings: AutonomySettings) -> EarnedMode:
    """The mode that an item has earned by now: the one it has, or the next freer one."""
    if (higher := HIGHER.get(mode)) is None:
        return EarnedMode(mode, "only a person changes it" if mode is Mode.OFF else "there is no freer mode")
    if higher.rank > ceiling.rank:
        return EarnedMode(mode, f"a person set it to {ceiling.value} by hand")
    missing = settings.least_judged - record.since_correction
    if missing > 0:
        since = f"{record.since_correction} judged right since the last correction"
        return EarnedMode(mode, f"{since}, {missing} more are needed for {higher.value}")
    needed = settings.auto_from if higher is Mode.AUTO else settings.approve_from
    if record.lower_bound < needed:
        return EarnedMode(mode, f"{record.in_words}, {needed:.2f} is needed for {higher.value}")
    return EarnedMode(higher, f"{record.in_words}, {needed:.2f} is needed")
