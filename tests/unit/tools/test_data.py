"""Data tools: rows in, a pointer out, and every number with what it was made from."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.answer.final_answer import CalculationItem, Operand, TableItem
from support_agent.company.values import Count, Money, Number, Quantity, SeriesRow, amount_of
from support_agent.errors import ToolCallRejected
from support_agent.tools.base import Context, Data, Pointed, Tool
from support_agent.tools.data import (
    Aggregate,
    Aggregation,
    Calculate,
    FetchSeries,
    Filter,
    Keep,
    Operation,
    Sort,
    aggregate_rows,
    calculate,
)
from tests.unit.tools.fakes import (
    ANNA,
    PERIODS,
    YEAR,
    FakeAccounts,
    context,
    eur,
    operand,
    pointing,
    row,
    table,
)

JANUARY, FEBRUARY, MARCH, APRIL = (
    row("2024-01-31", eur("19.00"), "Invoice 1"),
    row("2024-02-29", eur("0.00"), "Invoice 2"),
    row("2024-03-31", eur("38.10"), "Invoice 3"),
    row("2024-04-30", eur("19.00"), "Invoice 4"),
)
ROWS = (JANUARY, FEBRUARY, MARCH, APRIL)
DOLLARS = row("2024-05-31", Money(amount=Decimal("21"), currency="USD"))
KEEPS: tuple[Keep, ...] = get_args(Keep)
AGGREGATIONS: tuple[Aggregation, ...] = get_args(Aggregation)
OPERATIONS: tuple[Operation, ...] = get_args(Operation)


def run_on(tool: Tool, mail: Context) -> Data:
    """The data that a tool's pointer stands for; it is the next pointer, and a new one."""
    expected = f"@{len(mail.data) + 1}"
    result = tool.run(mail)
    assert isinstance(result, Pointed)
    assert result.pointer == expected
    return mail.data[expected]


def kept(keep: Keep, *rows: SeriesRow) -> tuple[SeriesRow, ...]:
    made = run_on(Filter(pointer="@1", keep=keep), pointing(table(*rows)))
    assert isinstance(made, TableItem)
    assert made.steps == (keep,)
    return made.rows


def ordered(order: str, *rows: SeriesRow) -> tuple[SeriesRow, ...]:
    made = run_on(Sort.model_validate({"pointer": "@1", "order": order}), pointing(table(*rows)))
    assert isinstance(made, TableItem)
    assert made.steps == (order,)
    return made.rows


def aggregated(aggregation: Aggregation, *rows: SeriesRow) -> Operand:
    made = run_on(Aggregate(pointer="@1", aggregation=aggregation), pointing(table(*rows)))
    assert isinstance(made, Operand)
    assert (made.aggregation, made.row_count) == (aggregation, len(rows))
    return made


def refusal_of(tool: Tool, *data: TableItem | Operand | CalculationItem) -> str:
    """The code of a refusal, after which there is no new pointer."""
    mail = pointing(*data)
    with pytest.raises(ToolCallRejected) as caught:
        tool.run(mail)
    assert len(mail.data) == len(data)
    return caught.value.code


# fetch_series


def test_fetching_reads_the_rows_of_the_period_and_returns_a_pointer_alone() -> None:
    """Promise 3: the model sees the pointer and how many rows there are, never a value."""
    early = row("2023-12-31", eur("7.77"))
    accounts = FakeAccounts(rows={"payments": (early, *ROWS)})
    mail = context(accounts=accounts)
    result = FetchSeries(series="payments", period="2024").run(mail)
    assert result == Pointed(pointer="@1", description="payments, 2024, 4 rows")
    assert mail.data["@1"] == TableItem(series="payments", label="Payments", period=YEAR, steps=(), rows=ROWS)
    assert accounts.reads == [("payments", ANNA, YEAR)]


def test_fetching_where_there_is_nothing_gives_an_empty_table() -> None:
    """No payments is an answer."""
    made = run_on(FetchSeries(series="storage", period="all_time"), context())
    assert made == TableItem(series="storage", label="Storage", period=PERIODS["all_time"], steps=(), rows=())


def test_pointers_are_numbered_in_the_order_of_the_calls() -> None:
    """Each call has its own, over all data tools of one mail; data behind a pointer never changes."""
    mail = context(accounts=FakeAccounts(rows={"payments": ROWS}))
    calls: list[Tool] = [
        FetchSeries(series="payments", period="2024"),
        Sort(pointer="@1", order="newest_first"),
        Aggregate(pointer="@2", aggregation="total"),
        Filter(pointer="@1", keep="highest_3"),
        Aggregate(pointer="@4", aggregation="count"),
        Calculate(operation="add", left="@3", right="@3"),
    ]
    pointers = []
    for call in calls:
        result = call.run(mail)
        assert isinstance(result, Pointed)
        assert not any(str(amount_of(each.value)) in result.description for each in (JANUARY, MARCH))
        pointers.append(result.pointer)
    assert pointers == ["@1", "@2", "@3", "@4", "@5", "@6"] == list(mail.data)
    first = mail.data["@1"]
    assert isinstance(first, TableItem)
    assert first.rows == ROWS


def test_steps_are_recorded_in_the_order_they_were_taken() -> None:
    """Promise 4: a reader sees what was done before the number was made."""
    mail = pointing(table(*ROWS))
    Filter(pointer="@1", keep="highest_3").run(mail)
    Sort(pointer="@2", order="highest_first").run(mail)
    made = run_on(Aggregate(pointer="@3", aggregation="total"), mail)
    assert isinstance(made, Operand)
    assert made.steps == ("highest_3", "highest_first")
    assert made.row_count == 3
    assert (made.series, made.label, made.period) == ("payments", "Payments", YEAR)


# filter


KEPT: dict[Keep, tuple[SeriesRow, ...]] = {
    "highest_3": (MARCH, JANUARY, APRIL),
    "highest_5": (MARCH, JANUARY, APRIL, FEBRUARY),
    "lowest_3": (FEBRUARY, JANUARY, APRIL),
    "latest_3": (APRIL, MARCH, FEBRUARY),
    "latest_5": (APRIL, MARCH, FEBRUARY, JANUARY),
    "above_average": (MARCH,),
    "below_average": (JANUARY, FEBRUARY, APRIL),
}


@pytest.mark.parametrize(("keep", "expected"), KEPT.items())
def test_a_filter_keeps_what_its_name_says(keep: Keep, expected: tuple[SeriesRow, ...]) -> None:
    """Among equals the earlier row comes first; 19.025 is the average, and 19.00 is below it."""
    assert kept(keep, *ROWS) == expected


def test_every_filter_is_tried_above() -> None:
    """A new one has to show what it keeps."""
    assert set(KEPT) == set(KEEPS)


def test_a_row_that_is_the_average_is_neither_above_nor_below() -> None:
    """The average is exact, not rounded to cents: (1 + 2 + 3) / 3."""
    rows = (row("2024-01-01", eur("1")), row("2024-02-01", eur("2")), row("2024-03-01", eur("3")))
    assert kept("above_average", *rows) == rows[2:]
    assert kept("below_average", *rows) == rows[:1]
    thirds = (row("2024-01-01", eur("0.00")), row("2024-02-01", eur("0.00")), row("2024-03-01", eur("0.01")))
    assert kept("above_average", *thirds) == thirds[2:]


@pytest.mark.parametrize("keep", KEEPS)
def test_a_filter_of_no_rows_has_no_rows(keep: Keep) -> None:
    """Nothing is divided by zero."""
    assert kept(keep) == ()


@pytest.mark.parametrize("keep", KEEPS)
def test_rows_of_two_currencies_cannot_be_compared_by_a_filter(keep: Keep) -> None:
    """21 dollars are not more than 19 euros."""
    assert refusal_of(Filter(pointer="@1", keep=keep), table(*ROWS, DOLLARS)) == "units"


# sort


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("newest_first", (APRIL, MARCH, FEBRUARY, JANUARY)),
        ("highest_first", (MARCH, APRIL, JANUARY, FEBRUARY)),
        ("lowest_first", (FEBRUARY, APRIL, JANUARY, MARCH)),
    ],
)
def test_rows_are_sorted_by_day_or_by_value_and_equals_stay_in_their_order(
    order: str, expected: tuple[SeriesRow, ...]
) -> None:
    """No row is lost; April stood before January and stays there, as their values are equal."""
    assert ordered(order, MARCH, APRIL, FEBRUARY, JANUARY) == expected
    assert ordered(order) == ()


def test_rows_of_two_currencies_are_sorted_by_day_but_not_by_value() -> None:
    """Days can be compared whatever the currency."""
    assert ordered("newest_first", JANUARY, DOLLARS) == (DOLLARS, JANUARY)
    for order in ("highest_first", "lowest_first"):
        sort = Sort.model_validate({"pointer": "@1", "order": order})
        assert refusal_of(sort, table(JANUARY, DOLLARS)) == "units"


# aggregate


@pytest.mark.parametrize(
    ("aggregation", "value", "day"),
    [
        ("total", eur("76.10"), None),
        ("average", eur("19.02"), None),
        ("highest", eur("38.10"), MARCH.day),
        ("lowest", eur("0.00"), FEBRUARY.day),
        ("latest", eur("19.00"), APRIL.day),
        ("count", Count(count=4), None),
    ],
)
def test_an_aggregate_is_exact_and_names_its_row_where_it_is_one(
    aggregation: Aggregation, value: Number, day: date | None
) -> None:
    """Decimal all the way: 19.00 + 0 + 38.10 + 19.00; the average is rounded to cents, half to even."""
    made = aggregated(aggregation, *ROWS)
    assert made.value == value
    assert made.day == day


@pytest.mark.parametrize("aggregation", sorted(set(AGGREGATIONS) - {"count"}))
def test_no_rows_have_no_number_but_a_count_of_zero(aggregation: Aggregation) -> None:
    """None is said as such; a total of nothing is not 0.00 of some currency."""
    assert aggregated(aggregation).value is None
    assert aggregated(aggregation).day is None
    assert aggregated("count").value == Count(count=0)


@pytest.mark.parametrize("aggregation", sorted(set(AGGREGATIONS) - {"count"}))
def test_two_currencies_have_no_common_number(aggregation: Aggregation) -> None:
    """A sum of euros and dollars does not exist; how many rows there are does."""
    assert refusal_of(Aggregate(pointer="@1", aggregation=aggregation), table(JANUARY, DOLLARS)) == "units"
    assert aggregated("count", JANUARY, DOLLARS).value == Count(count=2)


def test_two_units_or_two_types_have_no_common_number() -> None:
    """GB and MB, or things and money, are as different as two currencies."""
    gigabytes, megabytes, calls = (
        row("2024-01-01", Quantity(amount=Decimal(1), unit="GB")),
        row("2024-02-01", Quantity(amount=Decimal(1), unit="MB")),
        row("2024-03-01", Count(count=1, unit="GB")),
    )
    for other in (megabytes, calls, JANUARY):
        with pytest.raises(ToolCallRejected, match="different currencies or units"):
            aggregate_rows((gigabytes, other), "total")


def test_numbers_keep_their_unit() -> None:
    """Counts stay whole unless their average is not; amounts stay amounts of their unit."""
    calls = (row("2024-01-01", Count(count=2, unit="calls")), row("2024-02-01", Count(count=3, unit="calls")))
    assert aggregate_rows(calls, "total")[0] == Count(count=5, unit="calls")
    assert aggregate_rows(calls, "average")[0] == Quantity(amount=Decimal("2.50"), unit="calls")
    assert aggregate_rows((calls[0], calls[0]), "average")[0] == Count(count=2, unit="calls")
    storage = (row("2024-01-01", Quantity(amount=Decimal("0.1"), unit="GB")),) * 3
    assert aggregate_rows(storage, "total")[0] == Quantity(amount=Decimal("0.3"), unit="GB")


@settings(deadline=None)
@given(cents=st.lists(st.integers(-10_000_000, 10_000_000), min_size=1, max_size=40))
def test_aggregates_are_those_of_exact_arithmetic(cents: list[int]) -> None:
    """Over any amounts: what whole cents give, without a rounding in between."""
    first = date(2024, 1, 1)
    rows = tuple(
        SeriesRow(day=first + timedelta(days=nth), value=Money(amount=Decimal(cent) / 100, currency="EUR"))
        for nth, cent in enumerate(cents)
    )
    found = {each: aggregate_rows(rows, each) for each in AGGREGATIONS}
    amounts = {each: amount_of(value) for each, (value, _) in found.items() if value is not None}
    assert amounts["total"] * 100 == sum(cents)
    assert amounts["highest"] * 100 == max(cents)
    assert amounts["lowest"] * 100 == min(cents)
    assert amounts["latest"] * 100 == cents[-1]
    assert amounts["count"] == len(cents)
    assert abs(amounts["average"] * 100 - Decimal(sum(cents)) / len(cents)) <= Decimal("0.5")
    for each in ("highest", "lowest", "latest"):
        value, source = found[each]
        assert source in rows
        assert source is not None
        assert source.value == value


# calculate


@pytest.mark.parametrize(
    ("operation", "left", "right", "expected"),
    [
        ("add", eur("19.00"), eur("0.10"), eur("19.10")),
        ("subtract", eur("19.00"), eur("38.10"), eur("-19.10")),
        ("ratio", eur("228.00"), eur("19.00"), Quantity(amount=Decimal("12.0000"), unit="")),
        ("ratio", eur("1"), eur("3"), Quantity(amount=Decimal("0.3333"), unit="")),
        ("ratio", eur("0"), eur("3"), Quantity(amount=Decimal("0.0000"), unit="")),
        ("add", Count(count=2), Count(count=3), Count(count=5)),
        ("subtract", Count(count=2), Count(count=3), Count(count=-1)),
        ("ratio", Count(count=3), Count(count=2), Quantity(amount=Decimal("1.5000"), unit="")),
    ],
)
def test_a_calculation_is_exact_and_keeps_the_unit(
    operation: Operation, left: Number, right: Number, expected: Number
) -> None:
    """A ratio has no unit and four places."""
    assert calculate(operation, left, right) == expected


def test_a_calculation_shows_both_of_its_sides() -> None:
    """Promise 4, and the order of the sides is kept."""
    left, right = operand(eur("10")), operand(eur("4"))
    made = run_on(Calculate(operation="subtract", left="@1", right="@2"), pointing(left, right))
    assert made == CalculationItem(operation="subtract", left=left, right=right, result=eur("6"))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_calculation_with_a_number_that_is_not_there_is_refused(operation: Operation) -> None:
    """A missing number is no zero."""
    call = Calculate(operation=operation, left="@1", right="@2")
    assert refusal_of(call, operand(eur("1")), operand(None, row_count=0)) == "no_data"
    assert refusal_of(call, operand(None, row_count=0), operand(eur("1"))) == "no_data"


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    "other",
    [Money(amount=Decimal(1), currency="USD"), Count(count=1), Quantity(amount=Decimal(1), unit="EUR")],
)
def test_a_calculation_over_two_units_is_refused(operation: Operation, other: Number) -> None:
    """Not even a ratio: euros by dollars say nothing."""
    call = Calculate(operation=operation, left="@1", right="@2")
    assert refusal_of(call, operand(eur("1")), operand(other)) == "units"


@pytest.mark.parametrize("zero", ["0", "0.00", "-0"])
def test_a_ratio_to_zero_is_refused(zero: str) -> None:
    """It does not exist, and is not infinite either; sums with zero are fine."""
    left, right = operand(eur("1")), operand(eur(zero))
    assert refusal_of(Calculate(operation="ratio", left="@1", right="@2"), left, right) == "zero"
    assert calculate("add", eur("1"), eur(zero)) == eur("1")


def test_a_calculation_takes_aggregates_alone() -> None:
    """Neither a table nor another calculation, whose own sides the answer could not show."""
    one = operand(eur("1"))
    sum_of_two = CalculationItem(operation="add", left=one, right=one, result=eur("2"))
    for other in (table(*ROWS), sum_of_two):
        assert refusal_of(Calculate(operation="add", left="@1", right="@2"), one, other) == "pointer"
        assert refusal_of(Calculate(operation="add", left="@2", right="@1"), one, other) == "pointer"


@pytest.mark.parametrize(
    "tool",
    [
        Filter(pointer="@1", keep="highest_3"),
        Sort(pointer="@1", order="newest_first"),
        Aggregate(pointer="@1", aggregation="total"),
    ],
)
def test_what_needs_a_table_refuses_a_number(tool: Tool) -> None:
    """Also where the catalogue was not asked before."""
    assert refusal_of(tool, operand(eur("1"))) == "pointer"


def test_rows_of_a_period_that_has_moved_since_the_mail_was_written_are_not_fetched() -> None:
    """Also where the model chose it and the question names none."""
    written = context(written_on=date(2024, 12, 31))
    with pytest.raises(ToolCallRejected, match="last_year was another one") as refused:
        FetchSeries(series="payments", period="last_year").run(written)
    assert refused.value.code == "moved"
    for name in ("all_time", "2024"):
        FetchSeries(series="payments", period=name).run(written)
