"""The rule by which modes are earned: what raises, what does not yet, and what never does."""

from __future__ import annotations

import pytest

from support_agent.cases.earning import ceiling_of, earned, record_of
from support_agent.config.autonomy import AutonomySettings
from support_agent.core.modes import Mode
from support_agent.store.desk_records import ModeChange, ModeSource
from tests.fakes_journey import NOON

RULE = AutonomySettings()
OFF, SHADOW, APPROVE, AUTO = Mode


@pytest.mark.parametrize(
    ("mode", "judged", "after", "why"),
    [
        (SHADOW, [True] * 9, SHADOW, "9 judged right since the last correction, 1 more are needed for approve"),
        (SHADOW, [True] * 10, APPROVE, "10 of the last 10 judged were right, precision at least 0.74, 0.70 is needed"),
        (SHADOW, [True] * 10 + [False] * 4, SHADOW, "precision at least 0.46, 0.70 is needed for approve"),
        (SHADOW, [True] * 13 + [False], APPROVE, "13 of the last 14"),
        (APPROVE, [True] * 28, APPROVE, "precision at least 0.90, 0.90 is needed for auto"),
        (APPROVE, [True] * 29, AUTO, "29 of the last 29"),
        (APPROVE, [True] * 9 + [False] + [True] * 90, APPROVE, "9 judged right since the last correction"),
        (APPROVE, [True] * 10 + [False] + [True] * 89, AUTO, "99 of the last 100"),
        (APPROVE, [True] * 100 + [False] * 50, AUTO, "100 of the last 100"),
        (AUTO, [True] * 100, AUTO, "there is no freer mode"),
        (OFF, [True] * 100, OFF, "only a person changes it"),
        (SHADOW, [], SHADOW, "0 judged right since the last correction, 10 more"),
    ],
)
def test_what_was_judged_decides_the_mode(mode: Mode, judged: list[bool], after: Mode, why: str) -> None:
    """By one step at a time; the newest judgement comes first."""
    verdict = earned(mode, record_of(judged, RULE), AUTO, RULE)
    assert (verdict.mode, why in verdict.why) == (after, True), verdict


def test_a_mode_set_by_hand_is_the_ceiling() -> None:
    record = record_of([True] * 100, RULE)
    assert earned(SHADOW, record, SHADOW, RULE) == (SHADOW, "a person set it to shadow by hand")
    assert earned(SHADOW, record, APPROVE, RULE).mode is APPROVE
    assert earned(APPROVE, record, APPROVE, RULE).mode is APPROVE


def change(mode: Mode, by: ModeSource) -> ModeChange:
    return ModeChange(key="document:1", number=1, mode=mode, by=by, who="x", why="y", changed_at=NOON)


def test_the_last_mode_that_a_person_set_counts() -> None:
    by_hand, rule = ModeSource.BY_HAND, ModeSource.CORRECTED
    assert ceiling_of(()) is AUTO
    assert ceiling_of((change(SHADOW, rule),)) is AUTO
    assert ceiling_of((change(SHADOW, by_hand), change(APPROVE, by_hand), change(SHADOW, rule))) is APPROVE
