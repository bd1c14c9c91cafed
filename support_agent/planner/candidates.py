"""The closed set of calls that a model may compose next.

All calls come from the catalogue and `Context.sets()`, so a new tool is offered without a change here; only the record
tools are not. Each set is reduced to what fits the current question: the shortlisted topics, the periods that it names
(or the usual ones), the members of a `Literal` that it names (or all), and the pointers that were returned for it.

Invariant: only members of `Scope.calls()` are called. Checked by
tests/unit/planner/test_candidates.py.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from support_agent.answer.final_answer import AggregateItem, CalculationItem, Item, Operand, TableItem
from support_agent.company.values import Period
from support_agent.core.frozen import Frozen
from support_agent.models.language_model import MAX_OPTIONS
from support_agent.tools.base import Context, Data, Tool, ToolKind
from support_agent.tools.catalogue import TOOLS
from support_agent.tools.closed import MemberOf, PointerTo, marker_of, members_of
from support_agent.tools.data import Aggregation, Keep, Operation, Order
from support_agent.tools.ending import Escalate, Finish, Reason
from support_agent.tools.records import FetchRecord, SendRecord

TOPICS: Mapping[str, str] = {"documents": "document", "fields": "field", "series": "series"}
"""The company's sets whose members are search topics, and the prefix of those topics."""
MODEL_REASONS = (Reason.NOT_COVERED, Reason.UNSURE, Reason.PERSON_ASKED_FOR)
"""The escalation reasons that the model may give."""
NOT_COMPOSED = frozenset({FetchRecord.name, SendRecord.name})
"""In both modes the question determines the records, see `PlanRun.record_items`."""
MOST_CALLS = 2_000
"""A tool with more possible calls is not offered."""
KEEPS: frozenset[str] = frozenset(get_args(Keep))
ORDERS: frozenset[str] = frozenset(get_args(Order))
AGGREGATIONS: frozenset[str] = frozenset(get_args(Aggregation))
OPERATIONS: frozenset[str] = frozenset(get_args(Operation))
Argument = str | int | bool


class Candidate(Frozen):
    """A call that may come next; arguments are in declaration order."""

    tool: str
    arguments: tuple[tuple[str, Argument], ...] = ()

    @property
    def kind(self) -> ToolKind:
        return TOOLS[self.tool].kind

    @property
    def members(self) -> Iterator[tuple[MemberOf, Argument]]:
        """The arguments from the company's sets, each with its set."""
        for name, value in self.arguments:
            marker = marker_of(TOOLS[self.tool].model_fields[name])
            if isinstance(marker, MemberOf):
                yield marker, value

    @property
    def topics(self) -> tuple[str, ...]:
        """The search topics among its arguments ("series:payments"); the topics of its pointers are not included."""
        return tuple(f"{TOPICS[of.set_name]}:{value}" for of, value in self.members if of.set_name in TOPICS)

    @property
    def pointers(self) -> tuple[str, ...]:
        fields = TOOLS[self.tool].model_fields
        return tuple(str(value) for name, value in self.arguments if isinstance(marker_of(fields[name]), PointerTo))

    @property
    def choices(self) -> frozenset[str]:
        """The values of arguments closed by their type ("highest_first")."""
        fields = TOOLS[self.tool].model_fields
        return frozenset(str(value) for name, value in self.arguments if marker_of(fields[name]) is None)


@dataclass
class Scope:
    """What may be called for one question, and what was called so far.

    `topics` are the shortlist. `periods` are those that the question names, or the usual ones (see `names_periods`).
    `named` has the keys of the forms that the question names. `pointers` were returned for this question; `loose` are
    those that no call has used yet.
    """

    context: Context
    topics: frozenset[str]
    named: frozenset[str]
    periods: tuple[str, ...]
    names_periods: bool
    pointers: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    made: set[Candidate] = field(default_factory=set)
    items: list[Item] = field(default_factory=list)

    def calls(self) -> tuple[Candidate, ...]:
        """Every call that may come next."""
        return tuple(
            call
            for tool in TOOLS.values()
            if tool.kind is not ToolKind.FACT and tool.name not in NOT_COMPOSED
            for call in self._calls_of(tool)
            if self._fits(call)
        )

    def is_complete(self) -> bool:
        """Whether there is an item, and the items contain each period, step and number that the question names."""
        data = [part for item in self.items for part in _parts(item)]
        if not self.items or not data:
            return bool(self.items)
        carried = {step for part in data for step in part.steps}
        days = {(part.period.first, part.period.last) for part in data}
        asked = {_days(self.context.periods[name]) for name in self.periods} if self.names_periods else set()
        wanted = self.named & (KEEPS | ORDERS if any(isinstance(part, TableItem) for part in data) else KEEPS)
        numbers = {part.aggregation for part in data if isinstance(part, Operand)}
        is_counted = not numbers or self.named & AGGREGATIONS <= numbers
        return asked <= days and wanted <= carried and is_counted

    def note(self, call: Candidate, pointer: str | None = None) -> None:
        """Record a call that was made, and the pointer that it returned."""
        self.made.add(call)
        self.loose = [loose for loose in self.loose if loose not in call.pointers or self._is_due_again(call)]
        if pointer is not None:
            self.pointers.append(pointer)
            self.loose.append(pointer)

    def _is_due_again(self, call: Candidate) -> bool:
        """Whether the question names another use of the same tool on the same data."""
        others = [other for other in self._calls_of(TOOLS[call.tool]) if other.pointers == call.pointers]
        return any(other.choices & self.named for other in others if other not in self.made)

    def _calls_of(self, tool: type[Tool]) -> Iterator[Candidate]:
        if tool is Finish and not self.is_complete():
            return
        members = [self._members(tool, name) for name in tool.model_fields]
        if any(len(values) > MAX_OPTIONS for values in members) or math.prod(map(len, members)) > MOST_CALLS:
            return
        for values in itertools.product(*members):
            yield Candidate(tool=tool.name, arguments=tuple(zip(tool.model_fields, values, strict=True)))

    def _members(self, tool: type[Tool], argument: str) -> tuple[Argument, ...]:
        """The members of the argument's set that fit the question."""
        field = tool.model_fields[argument]
        members = members_of(field, self.context.sets())
        marker = marker_of(field)
        if isinstance(marker, PointerTo):
            fitting: Sequence[Argument] = [value for value in members if value in self.pointers]
        elif marker is None:
            reasons = [value for value in members if tool is Escalate and value in MODEL_REASONS]
            fitting = reasons or [value for value in members if value in self.named] or members
        elif marker.set_name in TOPICS:
            fitting = [value for value in members if f"{TOPICS[marker.set_name]}:{value}" in self.topics]
        elif marker.set_name == "periods":
            fitting = [name for name in self.periods if name in members]
        else:
            fitting = members
        return tuple(fitting)

    def _fits(self, call: Candidate) -> bool:
        """Whether the call does something new and sends only data with the steps that the question names."""
        if call in self.made or len(set(call.pointers)) < len(call.pointers):
            return False
        data = [self.context.data[pointer] for pointer in call.pointers]
        if call.kind is ToolKind.ANSWER:
            return all(self._has_named_steps(one) for one in data)
        return not any(step in call.choices for one in data if isinstance(one, TableItem) for step in one.steps)

    def _has_named_steps(self, data: Data) -> bool:
        """Whether rows are filtered and sorted as the question asks, and a number is not one side of a comparison.

        The order of rows does not matter for a number.
        """
        if isinstance(data, Operand) and self.named & OPERATIONS:
            return False
        for part in _parts(data):
            groups = (KEEPS, ORDERS) if isinstance(part, TableItem) else (KEEPS,)
            if any(self.named & group and not self.named & group & set(part.steps) for group in groups):
                return False
        return True


def _parts(data: Data | Item) -> tuple[TableItem | Operand, ...]:
    """The rows or numbers of data or an item; () for items without data."""
    match data:
        case TableItem() | Operand():
            return (data,)
        case AggregateItem(operand=operand):
            return (operand,)
        case CalculationItem(left=left, right=right):
            return (left, right)
        case _:
            return ()


def _days(period: Period) -> tuple[object, object]:
    return period.first, period.last
