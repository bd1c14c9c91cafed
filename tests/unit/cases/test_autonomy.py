"""In which mode an answer leaves: by its items, by their own modes, else by the setting."""

from __future__ import annotations

import pytest

from support_agent.answer.final_answer import AggregateItem, Answer, CalculationItem, FinalAnswer
from support_agent.answer.item_kinds import keys_of
from support_agent.cases.autonomy import Autonomy
from support_agent.core.modes import Mode
from support_agent.ops.template_samples import sample_items
from support_agent.ops.template_tests import around
from support_agent.store.desk_records import ModeSource
from tests.fakes_journey import Office, with_autonomy


def one_of(kind: str) -> FinalAnswer:
    return around(next(item for item in sample_items() if item.kind == kind))


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("document", ("document:1",)),
        ("account_field", ("field:plan",)),
        ("table", ("series:payments",)),
        ("aggregate", ("series:payments",)),
        ("calculation", ("series:payments",)),
        ("clarification", ("question:1",)),
        ("record", ("record:invoices",)),
    ],
)
def test_each_kind_of_item_names_what_has_a_mode(kind: str, keys: tuple[str, ...]) -> None:
    assert keys_of(one_of(kind)) == keys


def test_a_calculation_is_about_both_of_its_series() -> None:
    item = next(item for item in sample_items() if isinstance(item, CalculationItem))
    other = item.right.model_copy(update={"series": "storage"})
    assert keys_of(around(item.model_copy(update={"right": other}))) == ("series:payments", "series:storage")
    assert keys_of(around(AggregateItem(operand=other))) == ("series:storage",)


def test_an_item_without_a_mode_has_that_of_the_setting(office: Office) -> None:
    for start in Mode:
        autonomy = with_autonomy(office, start=start).stages.autonomy
        leaves = autonomy.of_answer(one_of("document"))
        assert (leaves.mode, leaves.key) == (start, "document:1")
        assert "set by autonomy.start" in leaves.why


def test_the_strictest_item_decides_and_is_named(office: Office) -> None:
    """Two questions in one mail: what may leave by itself waits for the other."""
    office.store.modes.change("field:plan", Mode.SHADOW, ModeSource.BY_HAND, "the operator", "new", office.clock())
    both = one_of("document").model_copy(
        update={"answers": (*one_of("document").answers, *one_of("account_field").answers)}
    )
    leaves = office.stages.autonomy.of_answer(both)
    assert leaves == (Mode.SHADOW, "field:plan", "field:plan is in mode shadow (by hand, the operator: new)")


def test_an_undone_change_does_not_count(office: Office) -> None:
    autonomy = Autonomy(office.store, office.settings.autonomy)
    office.store.modes.change("document:1", Mode.OFF, ModeSource.BY_HAND, "the operator", "new", office.clock())
    assert autonomy.of_answer(one_of("document")).mode is Mode.OFF
    office.store.modes.undo("document:1", "the operator", office.clock())
    assert autonomy.of_answer(one_of("document")).mode is Mode.AUTO


def test_the_items_of_all_blocks_count_once() -> None:
    final = one_of("document")
    item = final.answers[0].items[0]
    assert keys_of(replace_answers(final, Answer(items=(item, item)), Answer(items=(item,)))) == ("document:1",)


def replace_answers(final: FinalAnswer, *answers: Answer) -> FinalAnswer:
    return final.model_copy(update={"answers": answers})
