"""The closed set of calls of a step: read from the catalogue and this mail's sets, and narrowed by the question."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, get_args

import pytest
from annotated_types import Ge, Le

from support_agent.planner.candidates import MODEL_REASONS, MOST_CALLS, TOPICS, Candidate, Scope
from support_agent.tools.base import Added, Context, Pointed, Tool, ToolKind
from support_agent.tools.catalogue import TOOLS, validated
from support_agent.tools.closed import TablePointer
from support_agent.tools.data import Aggregation, Keep, Order
from tests.unit.tools.fakes import context, eur, operand, pointing, row, table

ROWS = (row("2024-03-01", eur("12.00")), row("2024-07-01", eur("30.50")))
TOPICS_LISTED = frozenset({"document:7", "field:plan", "series:payments"})


def scope(given: Context | None = None, *, named: frozenset[str] = frozenset(), **changes: Any) -> Scope:
    values: dict[str, Any] = {"topics": TOPICS_LISTED, "periods": ("2024",), "names_periods": True, **changes}
    return Scope(context=given or context(), named=named, **values)


def with_rows(**changes: Any) -> Scope:
    """Rows behind "@1" and a number behind "@2"."""
    given = pointing(table(*ROWS), operand(eur("1")))
    return scope(given, **{"pointers": ["@1", "@2"], "loose": ["@1", "@2"], **changes})


def offered(calls: tuple[Candidate, ...]) -> set[str]:
    return {call.tool for call in calls}


def values(calls: tuple[Candidate, ...], tool: str, argument: str) -> set[object]:
    return {dict(call.arguments)[argument] for call in calls if call.tool == tool}


@pytest.mark.parametrize("made", [scope(), with_rows()], ids=["at first", "with pointers"])
def test_every_call_that_is_offered_is_one_that_the_catalogue_takes(made: Scope) -> None:
    """The same rule stands twice: nothing is offered that `validated` would refuse."""
    for call in made.calls():
        assert validated(call.tool, dict(call.arguments), made.context).name == call.tool


def test_facts_are_looked_for_by_the_program_alone() -> None:
    assert not any(TOOLS[tool].kind is ToolKind.FACT for tool in offered(with_rows().calls()))


def test_of_topics_only_the_short_list_is_offered() -> None:
    calls = scope().calls()
    assert values(calls, "send_document", "number") == {7}
    assert values(calls, "send_account_field", "field") == {"plan"}
    assert values(calls, "fetch_series", "series") == {"payments"}
    assert not offered(scope(topics=frozenset()).calls()) & {"send_document", "send_account_field", "fetch_series"}


def test_without_a_pointer_nothing_is_offered_that_takes_one() -> None:
    assert offered(scope().calls()) == {
        "send_document", "send_account_field", "ask_clarification", "fetch_series", "escalate",
    }  # fmt: skip


def test_only_this_questions_pointers_are_offered() -> None:
    assert values(with_rows(pointers=["@1"]).calls(), "sort", "pointer") == {"@1"}
    assert "send_aggregate" not in offered(with_rows(pointers=["@1"]).calls())


def test_what_the_question_names_narrows_a_literal_and_what_it_does_not_name_leaves_it_whole() -> None:
    calls = with_rows(named=frozenset({"above_average"})).calls()
    assert values(calls, "filter", "keep") == {"above_average"}
    assert values(calls, "sort", "order") == set(get_args(Order))
    assert values(with_rows().calls(), "filter", "keep") == set(get_args(Keep))
    assert values(with_rows().calls(), "aggregate", "aggregation") == set(get_args(Aggregation))


def test_a_call_is_offered_once_and_a_step_is_not_done_twice() -> None:
    given = pointing(table(*ROWS), table(*ROWS, steps=("highest_first",)))
    made = scope(given, pointers=["@1", "@2"])
    sort = Candidate(tool="sort", arguments=(("pointer", "@1"), ("order", "highest_first")))
    assert sort in made.calls()
    assert sort.model_copy(update={"arguments": (("pointer", "@2"), ("order", "highest_first"))}) not in made.calls()
    made.note(sort, "@3")
    assert sort not in made.calls()


def test_a_number_is_not_calculated_with_itself() -> None:
    given = pointing(operand(eur("1")), operand(eur("2")))
    calls = scope(given, pointers=["@1", "@2"]).calls()
    pairs = {
        (dict(call.arguments)["left"], dict(call.arguments)["right"]) for call in calls if call.tool == "calculate"
    }
    assert pairs == {("@1", "@2"), ("@2", "@1")}


def test_only_reasons_that_a_model_can_know_are_offered() -> None:
    """`level` or `model_failed` would tell staff what is not so."""
    assert values(scope().calls(), "escalate", "reason") == set(MODEL_REASONS)


class Shift(Tool):
    """Shift the rows."""

    name: ClassVar[str] = "shift"
    kind: ClassVar[ToolKind] = ToolKind.DATA

    pointer: TablePointer
    by: Annotated[int, Ge(1), Le(3)]

    def run(self, context: Context) -> Pointed:
        return Pointed(pointer=self.pointer, description="shifted")


class Wide(Tool):
    """Something with more members than a choice has."""

    name: ClassVar[str] = "wide"
    kind: ClassVar[ToolKind] = ToolKind.ANSWER

    one: Annotated[int, Ge(1), Le(500)]

    def run(self, context: Context) -> Added:
        raise AssertionError


def test_a_tool_that_is_added_to_the_catalogue_is_offered_without_another_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TOOLS, "shift", Shift)
    assert values(with_rows().calls(), "shift", "by") == {1, 2, 3}


def test_a_tool_with_too_many_members_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The set of calls stays one that can be listed, shown and scored."""
    monkeypatch.setitem(TOOLS, "wide", Wide)
    assert "wide" not in offered(with_rows().calls())
    assert len(with_rows().calls()) < MOST_CALLS


def test_every_topic_of_the_search_belongs_to_a_set() -> None:
    """A set of topics that is not listed here gets no votes, and nothing of it is ever sent."""
    assert set(TOPICS.values()) == {"document", "field", "series"}
