"""Autonomy: in which mode an answer leaves, and how people's judgements change that.

Invariant: a mail takes the strictest mode of its items, and an item without a mode of its own has `autonomy.start`. A
mail lowers each item of its answer once, however often it is corrected. Checked by tests/unit/cases/test_autonomy.py
and tests/journey/test_labels.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.item_kinds import keys_of
from support_agent.cases.earning import LOWER, EarnedMode, TrackRecord, ceiling_of, earned, mode_after, record_of
from support_agent.config.autonomy import AutonomySettings
from support_agent.core.modes import Mode
from support_agent.store.desk_records import Label, LabelOutcome, LabelSource, ModeChange, ModeSource
from support_agent.store.records import MailId
from support_agent.store.store import Store

STARTED = "set by autonomy.start"


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


class Standing(NamedTuple):
    """The mode of an item, what people's judgements say of it, and the mode that it has earned by them."""

    item: ItemMode
    record: TrackRecord
    earned: EarnedMode


@dataclass(frozen=True)
class Autonomy:
    """Reads the modes of items from the store, and changes them by the rule."""

    store: Store
    settings: AutonomySettings

    def modes(self, keys: Sequence[str]) -> tuple[ItemMode, ...]:
        """The modes of these items, in their order."""
        valid = self.store.modes.valid()
        return tuple(self._mode(key, valid.get(key, ())) for key in keys)

    def of_answer(self, final: FinalAnswer) -> Leaves:
        """The mode in which an answer leaves; of several items with the strictest mode the first decides."""
        strictest = min(self.modes(keys_of(final)), key=lambda item: item.mode.rank)
        why = f"{strictest.key} is in mode {strictest.mode.value} ({strictest.why})"
        return Leaves(strictest.mode, strictest.key, why)

    def judge(
        self,
        mail_id: MailId,
        final: FinalAnswer | None,
        outcome: LabelOutcome,
        choice: str | None,
        who: str,
        how: LabelSource,
        at: datetime,
    ) -> Label:
        """Keep what a person did with the answer to a mail, and change the modes of its items by the rule.

        Args:
            final: The answer that is judged; None: there is none, so no item is judged.
            choice: The item that the person chose instead.
        """
        keys = keys_of(final) if final is not None else ()
        label = Label(mail_id=mail_id, outcome=outcome, choice=choice, keys=keys, who=who, how=how, made_at=at)
        kept = self.store.labels.add(label)
        for key in kept.keys:
            if not kept.is_right:
                self._lower(key, kept)
            elif self.settings.is_earned:
                self.raise_earned(key, kept.made_at)
        return kept

    def forget(self, mail_id: MailId, who: str, at: datetime) -> Label | None:
        """Undo the last label of a mail; return it, None: it has none.

        If no correction of the mail is left, the items get back the step that it took.
        """
        label = self.store.labels.undo(mail_id, at)
        valid = self.store.labels.valid_of(mail_id)
        if label is not None and (valid is None or valid.is_right):
            self.store.modes.undo_of_mail(mail_id, who, at)
        return label

    def standings(self, keys: Sequence[str]) -> tuple[Standing, ...]:
        """The modes of these items, with what they have earned, in their order."""
        valid, labels = self.store.modes.valid(), self.store.labels.valid()
        return tuple(self._standing(key, valid.get(key, ()), labels) for key in keys)

    def _standing(self, key: str, valid: Sequence[ModeChange], labels: Sequence[Label]) -> Standing:
        item = self._mode(key, valid)
        record = record_of([label.is_right for label in reversed(labels) if key in label.keys], self.settings)
        return Standing(item, record, earned(item.mode, record, ceiling_of(valid), self.settings))

    def raise_earned(self, key: str, at: datetime) -> EarnedMode:
        """Give an item the mode that it has earned; return it."""
        ((item, _, reached),) = self.standings((key,))
        if reached.mode is not item.mode:
            self.store.modes.change(key, reached.mode, ModeSource.EARNED, "the rule", reached.why, at)
        return reached

    def _lower(self, key: str, label: Label) -> None:
        """Lower an item by one step, once for a mail."""
        valid = self.store.modes.valid().get(key, ())
        lowered = LOWER.get(self._mode(key, valid).mode)
        if lowered is None or any(change.mail_id == label.mail_id for change in valid):
            return
        other = f" ({label.choice})" if label.choice else ""
        why = f"{label.outcome.value}{other}, mail {label.mail_id}"
        self.store.modes.change(
            key, lowered, ModeSource.CORRECTED, label.who, why, label.made_at, mail_id=label.mail_id
        )

    def _mode(self, key: str, valid: Sequence[ModeChange]) -> ItemMode:
        return ItemMode(key, mode_after(valid, self.settings.start), valid[-1] if valid else None)
