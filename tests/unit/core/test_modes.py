"""The modes of autonomy: their order, and which of several holds."""

from __future__ import annotations

import pytest

from support_agent.core.modes import Mode, strictest

OFF, SHADOW, APPROVE, AUTO = Mode


def test_the_modes_go_from_the_strictest_to_the_freest() -> None:
    assert sorted(Mode, key=lambda mode: mode.rank) == [OFF, SHADOW, APPROVE, AUTO]


@pytest.mark.parametrize(
    ("modes", "held"),
    [((AUTO, APPROVE), APPROVE), ((APPROVE, SHADOW, AUTO), SHADOW), ((AUTO, OFF), OFF), ((AUTO,), AUTO)],
)
def test_a_mail_takes_the_strictest_mode_of_its_items(modes: tuple[Mode, ...], held: Mode) -> None:
    assert strictest(modes) is held


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("ceiling", Mode)
def test_no_mode_is_above_its_ceiling(mode: Mode, ceiling: Mode) -> None:
    assert mode.at_most(ceiling) is strictest((mode, ceiling))


def test_only_shadow_and_approve_propose() -> None:
    assert [mode for mode in Mode if mode.is_proposed] == [SHADOW, APPROVE]
