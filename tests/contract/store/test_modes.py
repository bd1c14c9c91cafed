"""Modes of autonomy as changes: the last one that is not undone holds, and none is lost."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from support_agent.core.modes import Mode
from support_agent.store.desk_records import ModeChange, ModeSource
from support_agent.store.store import Store
from tests.contract.store.examples import MINUTE, NOON, record

KEY = "document:3"
BY_HAND, EARNED, CORRECTED = ModeSource


def change(store: Store, mode: Mode, by: ModeSource = BY_HAND, key: str = KEY, minutes: int = 0) -> ModeChange:
    return store.modes.change(key, mode, by, "ada@harborfile.example", "a reason", NOON + minutes * MINUTE)


def test_the_last_change_holds_and_the_others_are_kept(store: Store) -> None:
    first, second = change(store, Mode.APPROVE), change(store, Mode.AUTO, EARNED, minutes=1)
    assert (first.number, second.number) == (1, 2)
    assert store.modes.history(KEY) == store.modes.history() == (first, second)
    assert store.modes.valid() == {KEY: (first, second)}


def test_the_same_change_twice_is_one(store: Store) -> None:
    """A step that runs again after a crash."""
    assert change(store, Mode.AUTO) == change(store, Mode.AUTO, minutes=5)
    assert len(store.modes.history()) == 1
    assert change(store, Mode.AUTO, EARNED).number == 2


def test_an_undone_change_gives_way_to_the_one_before_it(store: Store) -> None:
    """To the last, and then there is none; what was undone is still there with its instant."""
    first, second = change(store, Mode.SHADOW), change(store, Mode.AUTO)
    assert store.modes.undo(KEY, "the operator", NOON + MINUTE) == second
    assert store.modes.valid() == {KEY: (first,)}
    assert store.modes.undo(KEY, "the operator", NOON + MINUTE) == first
    assert (store.modes.valid(), store.modes.undo(KEY, "the operator", NOON)) == ({}, None)
    assert [kept.undone_at for kept in store.modes.history(KEY)] == [NOON + MINUTE] * 2
    assert change(store, Mode.AUTO).number == 3


def test_a_correction_of_a_mail_is_undone_wherever_it_stands(store: Store) -> None:
    """Those of other mails, and what people set, stay."""
    mails = [record(store, number) for number in (1, 2)]
    first, second, third = (
        store.modes.change(KEY, Mode.SHADOW, CORRECTED, "ada", "wrong", NOON, mail_id=mail_id)
        for mail_id in (*mails, mails[0])
    )
    by_hand = change(store, Mode.AUTO)
    store.modes.undo_of_mail(mails[0], "the operator", NOON + MINUTE)
    store.modes.undo_of_mail(mails[0], "the operator", NOON + 2 * MINUTE)
    assert store.modes.valid() == {KEY: (second, by_hand)}
    undone = {"undone_at": NOON + MINUTE}
    assert store.modes.history()[::2] == (first.model_copy(update=undone), third.model_copy(update=undone))


def test_each_item_has_changes_of_its_own(store: Store) -> None:
    change(store, Mode.AUTO, key="field:plan")
    change(store, Mode.OFF, key="question:1")
    assert {key: valid[-1].mode for key, valid in store.modes.valid().items()} == {
        "field:plan": Mode.AUTO,
        "question:1": Mode.OFF,
    }


@pytest.mark.parametrize("key", ["", "document", "document:", "letter:1", "document:1 2", "document:1\n"])
def test_what_is_no_item_has_no_mode(store: Store, key: str) -> None:
    with pytest.raises(ValidationError):
        change(store, Mode.AUTO, key=key)
    assert store.modes.history() == ()
