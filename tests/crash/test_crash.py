"""The crash matrix covers the pipeline; `make crash` runs it."""

from __future__ import annotations

from tests.crash.crashing import DELIVER
from tests.crash.matrix import COMBINATIONS, schedules, steps_of_pipeline

EVERY = 13


def test_the_matrix_has_every_fault_at_every_step_of_the_pipeline() -> None:
    """And its sample has every fault, and most of the steps."""
    for on in COMBINATIONS:
        everything = {(each.fault, *each.place) for each in schedules(on)}
        places = [(step, when) for step in (*steps_of_pipeline(), DELIVER) for when in ("before", "after")]
        assert everything == {(fault, *place) for fault in on.faults for place in places}
        assert {each.fault for each in schedules(on, EVERY)} == set(on.faults)
