"""Whether what an answer says of an account is still so: each kind of item is read again."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from support_agent.answer.final_answer import (
    AggregateItem,
    Answer,
    CalculationItem,
    ClarificationItem,
    FieldItem,
    FinalAnswer,
    Item,
)
from support_agent.company.values import Count, SeriesRow, Value
from support_agent.tools.current_values import changed_value
from support_agent.tools.data import after_step, calculate
from tests.unit.tools.fakes import ANNA, FakeAccounts, eur, invoice, operand, record_item, row, table

MARCH, APRIL = row("2024-03-31", eur("38.10"), "Invoice 3"), row("2024-04-30", eur("19.00"), "Invoice 4")
ROWS = (MARCH, APRIL)
LATER = row("2024-05-31", eur("90.00"), "Invoice 5")
SEATS = FieldItem(field="seats_paid", label="Seats paid for", value=Count(count=12))
SORTED = table(*after_step(ROWS, "lowest_first"), steps=("lowest_first",))
HIGHEST = table(*after_step(after_step(ROWS, "above_average"), "newest_first"), steps=("above_average", "newest_first"))
TOTAL = operand(eur("57.10"), row_count=2)
LAST = TOTAL.model_copy(update={"aggregation": "latest", "value": APRIL.value, "day": APRIL.day})
SUM = CalculationItem(operation="add", left=TOTAL, right=LAST, result=calculate("add", TOTAL.value, LAST.value))
NEVER = FieldItem(field="latest_invoice", label="Latest invoice", value=None)


def changed(item: Item, accounts: FakeAccounts) -> str:
    final = FinalAnswer(
        company="Harborfile",
        locale="en",
        greeting_name=ANNA.name,
        subject=None,
        asked=1,
        answers=(Answer(items=(item,)),),
        support_address="support@harborfile.example",
        customer=ANNA,
    )
    assert final.has_values is not isinstance(item, ClarificationItem)
    return changed_value(final, accounts, ANNA, "en")


def accounts(rows: tuple[SeriesRow, ...] = ROWS, values: Mapping[str, Value | None] | None = None) -> FakeAccounts:
    return FakeAccounts(values, {"payments": rows}, (invoice("HF-1"), invoice("HF-2", "20.00")))


@pytest.mark.parametrize(
    "item",
    [
        SEATS,
        NEVER,
        table(*ROWS),
        SORTED,
        HIGHEST,
        AggregateItem(operand=TOTAL),
        AggregateItem(operand=LAST),
        SUM,
        record_item(invoice("HF-2", "20.00")),
        record_item(invoice("HF-1"), "state"),
        ClarificationItem(number=1, text="Which one?"),
    ],
)
def test_what_the_account_still_says_has_not_changed(item: Item) -> None:
    assert changed(item, accounts()) == ""


@pytest.mark.parametrize("item", [table(*ROWS), SORTED, HIGHEST, AggregateItem(operand=TOTAL), SUM])
def test_a_row_that_came_or_went_changes_what_was_made_of_the_rows(item: Item) -> None:
    assert changed(item, accounts((*ROWS, LATER))) == "Payments"
    assert changed(item, accounts((APRIL,))) == "Payments"


def test_rows_in_another_currency_change_what_compares_or_adds_them() -> None:
    mixed = (MARCH, row("2024-04-30", Count(count=3)))
    assert changed(SORTED, accounts(mixed)) == "Payments"
    assert changed(AggregateItem(operand=TOTAL), accounts(mixed)) == "Payments"


@pytest.mark.parametrize("value", [Count(count=13), None])
def test_another_value_of_a_field_is_a_change(value: Value | None) -> None:
    assert changed(SEATS, accounts(values={"seats_paid": value})) == "Seats paid for"


def test_a_value_where_there_was_none_is_a_change() -> None:
    assert changed(NEVER, accounts(values={"latest_invoice": eur("1.00")})) == "Latest invoice"


def test_a_record_is_named_by_its_number_and_only_the_columns_sent_count() -> None:
    assert changed(record_item(invoice("HF-2", "21.00")), accounts()) == "Invoice HF-2"
    assert changed(record_item(invoice("HF-2", "21.00"), "state"), accounts()) == ""
    assert changed(record_item(invoice("HF-3")), accounts()) == "Invoice HF-3"


def test_what_the_accounts_do_not_declare_any_more_is_a_change() -> None:
    gone = SEATS.model_copy(update={"field": "seats_free"})
    assert changed(gone, accounts()) == "Seats paid for"
    assert changed(table(*ROWS).model_copy(update={"series": "refunds"}), accounts()) == "Payments"
    other = record_item(invoice("HF-1")).model_copy(update={"record": "orders"})
    assert changed(other, accounts()) == "Invoice HF-1"
