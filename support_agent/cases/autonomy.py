"""Autonomy: in which mode an answer leaves, from the modes of its items.

Invariant: a mail takes the strictest mode of its items, and an item without a mode of its own has `autonomy.start`.
Checked by tests/unit/cases/test_autonomy.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.item_kinds import keys_of
from support_agent.config.autonomy import AutonomySettings
from support_agent.core.modes import Mode
from support_agent.store.desk_records import ModeChange
from support_agent.store.store import Store

STARTED = "the start of every item"


class Leaves(NamedTuple):
    """The mode in which an answer leaves, and the item that decides it."""

    mode: Mode
    key: str
    why: str


class ItemMode(NamedTuple):
    """The mode of one item; `change` made it so, None: it is `autonomy.start`."""

    key: str
    mode: Mode
    change: ModeChange | None

    @property
    def why(self) -> str:
        """Who or what gave the item its mode, and why."""
        if self.change is None:
            return STARTED
        return f"{self.change.by.value}, {self.change.who}: {self.change.why}"


@dataclass(frozen=True)
class Autonomy:
    """Reads the modes of items from the store."""

    store: Store
    settings: AutonomySettings

    def modes(self, keys: Sequence[str]) -> tuple[ItemMode, ...]:
        """The modes of these items, in their order."""
        valid = self.store.modes.valid()
        return tuple(self._mode(key, valid.get(key, ())) for key in keys)

    def of_answer(self, final: FinalAnswer) -> Leaves:
        """The mode in which an answer leaves; of several items with the strictest mode the first decides."""
        strictest = min(self.modes(keys_of(final)), key=lambda item: item.mode.rank)
        return Leaves(strictest.mode, strictest.key, f"{strictest.key} is {strictest.mode.value} ({strictest.why})")

    def _mode(self, key: str, valid: Sequence[ModeChange]) -> ItemMode:
        if not valid:
            return ItemMode(key, self.settings.start, None)
        return ItemMode(key, valid[-1].mode, valid[-1])
