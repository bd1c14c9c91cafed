"""Data tools: they read the customer's rows and return pointers to the model.

Every result states what it was made from: series, period, steps, aggregation, number of rows. A call that would combine
different currencies or units is rejected. Checked by tests/unit/tools/test_data.py.
"""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar, Literal, get_args

from support_agent.answer.final_answer import CalculationItem, Operand, TableItem
from support_agent.company.values import Count, Counted, Money, Number, Quantity, SeriesRow, amount_of
from support_agent.errors import ToolCallRejected
from support_agent.tools.answers import require_customer, table_at
from support_agent.tools.base import Context, Pointed, Tool, ToolKind
from support_agent.tools.closed import NumberPointer, PeriodName, SeriesName, TablePointer

Aggregation = Literal["total", "average", "highest", "lowest", "count", "latest"]
Keep = Literal[
    "highest_3",
    "highest_5",
    "lowest_3",
    "latest_3",
    "latest_5",
    "above_average",
    "below_average",
]
Order = Literal["newest_first", "highest_first", "lowest_first"]
Operation = Literal["add", "subtract", "ratio"]

AVERAGE_PLACES = Decimal("0.01")
RATIO_PLACES = Decimal("0.0001")


class FetchSeries(Tool):
    """Fetch the rows of one of the customer's dated series, for a period."""

    name: ClassVar[str] = "fetch_series"
    kind: ClassVar[ToolKind] = ToolKind.DATA

    series: SeriesName
    period: PeriodName

    def run(self, context: Context) -> Pointed:
        spec = context.accounts.series[self.series]
        customer = require_customer(context, spec.level, f"series {self.series}")
        period = context.periods[self.period]
        if context.has_moved(period):
            raise ToolCallRejected(f"{self.period} was another one when the mail was written", code="moved")
        table = TableItem(
            series=self.series,
            label=spec.label_for(context.locale),
            row_noun=spec.row_noun_for(context.locale),
            period=period,
            steps=(),
            rows=context.accounts.rows(self.series, customer, period, context.locale),
        )
        return _pointed(context, table, f"{self.series}, {self.period}, {len(table.rows)} rows")


class Filter(Tool):
    """Keep some of the rows a pointer stands for."""

    name: ClassVar[str] = "filter"
    kind: ClassVar[ToolKind] = ToolKind.DATA

    pointer: TablePointer
    keep: Keep

    def run(self, context: Context) -> Pointed:
        table = table_at(context, self.pointer)
        fewer = _stepped(table, self.keep)
        return _pointed(context, fewer, f"{self.pointer}, only {self.keep}, {len(fewer.rows)} rows")


class Sort(Tool):
    """Put the rows a pointer stands for in order."""

    name: ClassVar[str] = "sort"
    kind: ClassVar[ToolKind] = ToolKind.DATA

    pointer: TablePointer
    order: Order

    def run(self, context: Context) -> Pointed:
        ordered = _stepped(table_at(context, self.pointer), self.order)
        return _pointed(context, ordered, f"{self.pointer}, {self.order}")


class Aggregate(Tool):
    """Make one number of the rows a pointer stands for."""

    name: ClassVar[str] = "aggregate"
    kind: ClassVar[ToolKind] = ToolKind.DATA

    pointer: TablePointer
    aggregation: Aggregation

    def run(self, context: Context) -> Pointed:
        table = table_at(context, self.pointer)
        value, row = aggregate_rows(table.rows, self.aggregation)
        operand = Operand(
            series=table.series,
            label=table.label,
            row_noun=table.row_noun,
            period=table.period,
            steps=table.steps,
            aggregation=self.aggregation,
            row_count=len(table.rows),
            value=value,
            day=row.day if row else None,
        )
        return _pointed(context, operand, f"{self.aggregation} of {self.pointer}")


class Calculate(Tool):
    """Add, subtract or divide two numbers that pointers stand for."""

    name: ClassVar[str] = "calculate"
    kind: ClassVar[ToolKind] = ToolKind.DATA

    operation: Operation
    left: NumberPointer
    right: NumberPointer

    def run(self, context: Context) -> Pointed:
        left, right = (_operand(context, pointer) for pointer in (self.left, self.right))
        item = CalculationItem(
            operation=self.operation,
            left=left,
            right=right,
            result=calculate(self.operation, left.value, right.value),
        )
        return _pointed(context, item, f"{self.operation} of {self.left} and {self.right}")


def unit_of(value: Number) -> tuple[str, Counted]:
    """The type of a value and its currency or unit."""
    return value.type, value.currency if isinstance(value, Money) else value.unit


def after_step(rows: tuple[SeriesRow, ...], step: str) -> tuple[SeriesRow, ...]:
    """The rows after a step of a table, which is a member of `Keep` or `Order`.

    Raises:
        ToolCallRejected: the step compares values, and the rows are in different currencies or units (code `units`).
    """
    if step == "newest_first":
        return tuple(sorted(rows, key=lambda row: row.day, reverse=True))
    _one_unit(rows)
    if step in get_args(Order):
        return tuple(sorted(rows, key=lambda row: amount_of(row.value), reverse=step == "highest_first"))
    return _kept(rows, step)


def aggregate_rows(rows: tuple[SeriesRow, ...], aggregation: Aggregation) -> tuple[Number | None, SeriesRow | None]:
    """The number, and its row if it is the value of one row; (None, None) for no rows, except a count of 0.

    Raises:
        ToolCallRejected: the rows are in different currencies or units (code `units`).
    """
    if aggregation == "count":
        return Count(count=len(rows)), None
    if not rows:
        return None, None
    _one_unit(rows)
    match aggregation:
        case "highest":
            row = max(rows, key=lambda row: amount_of(row.value))
        case "lowest":
            row = min(rows, key=lambda row: amount_of(row.value))
        case "latest":
            row = max(rows, key=lambda row: row.day)
        case "total" | "average":
            total = sum((amount_of(row.value) for row in rows), Decimal(0))
            amount = total if aggregation == "total" else (total / len(rows)).quantize(AVERAGE_PLACES)
            return _like(rows[0].value, amount), None
    return row.value, row


def calculate(operation: Operation, left: Number | None, right: Number | None) -> Number:
    """The sum, difference or ratio (without a unit) of two numbers of one unit.

    Raises:
        ToolCallRejected: a number is missing (code `no_data`), units differ (`units`), or division by zero
            (`zero`).
    """
    if left is None or right is None:
        raise ToolCallRejected("there is no data for one side of the calculation", code="no_data")
    if unit_of(left) != unit_of(right):
        raise ToolCallRejected(f"cannot {operation} {unit_of(left)} and {unit_of(right)}", code="units")
    a, b = amount_of(left), amount_of(right)
    match operation:
        case "add":
            return _like(left, a + b)
        case "subtract":
            return _like(left, a - b)
        case "ratio":
            if b == 0:
                raise ToolCallRejected("the ratio to zero does not exist", code="zero")
            return Quantity(amount=(a / b).quantize(RATIO_PLACES), unit="")


def _like(value: Number, amount: Decimal) -> Number:
    match value:
        case Money(currency=currency):
            return Money(amount=amount, currency=currency)
        case Quantity(unit=unit):
            return Quantity(amount=amount, unit=unit)
        case Count(unit=unit):
            if amount == amount.to_integral_value():
                return Count(count=int(amount), unit=unit)
            return Quantity(amount=amount, unit=unit)


def _stepped(table: TableItem, step: str) -> TableItem:
    return table.model_copy(update={"rows": after_step(table.rows, step), "steps": (*table.steps, step)})


def _one_unit(rows: tuple[SeriesRow, ...]) -> None:
    if len({unit_of(row.value) for row in rows}) > 1:
        raise ToolCallRejected("the rows are in different currencies or units", code="units")


def _kept(rows: tuple[SeriesRow, ...], keep: str) -> tuple[SeriesRow, ...]:
    if not rows:
        return ()
    if keep in ("above_average", "below_average"):
        average = sum((amount_of(row.value) for row in rows), Decimal(0)) / len(rows)
        sign = 1 if keep == "above_average" else -1
        return tuple(row for row in rows if sign * (amount_of(row.value) - average) > 0)
    which, _, number = keep.partition("_")
    if which == "latest":
        return tuple(sorted(rows, key=lambda row: row.day, reverse=True)[: int(number)])
    by_value = sorted(rows, key=lambda row: amount_of(row.value), reverse=which == "highest")
    return tuple(by_value[: int(number)])


def _operand(context: Context, pointer: str) -> Operand:
    data = context.data[pointer]
    if not isinstance(data, Operand):
        raise ToolCallRejected(f"{pointer} is not an aggregate", code="pointer")
    return data


def _pointed(context: Context, data: TableItem | Operand | CalculationItem, description: str) -> Pointed:
    pointer = context.point_to(data)
    return Pointed(pointer=pointer, description=description)
