"""The forms of an answer about a series: each can be carried out, and is named by what customers write."""

from __future__ import annotations

from typing import get_args

import pytest

from support_agent.answer.final_answer import AggregateItem, CalculationItem, Item, TableItem
from support_agent.planner.forms import FORMS, Form, forms_for
from support_agent.tools.base import Added, Context, Pointed
from support_agent.tools.catalogue import validated
from support_agent.tools.data import Aggregation, Keep, Operation, Order
from tests.unit.tools.fakes import FakeAccounts, context, eur, row

ROWS = tuple(row(f"2024-{month:02d}-01", eur(f"{month}.50")) for month in range(1, 13))


def keys(question: str, period_count: int = 0) -> list[str]:
    return [form.key for form in forms_for(question, period_count)]


def mentioned(question: str) -> set[str]:
    return {form.key for form in FORMS if form.is_mentioned_in(question)}


def fetched(mail: Context, period: str) -> str:
    """The pointer to the payments of a period."""
    result = validated("fetch_series", {"series": "payments", "period": period}, mail).run(mail)
    assert isinstance(result, Pointed)
    return result.pointer


def carried_out(form: Form, mail: Context, pointer: str) -> Item | str:
    """The item, or the last pointer, after all calls of a form."""
    for tool, arguments in form.calls:
        filled = {name: pointer if value == "@" else value for name, value in arguments}
        result = validated(tool, filled, mail).run(mail)
        if isinstance(result, Added):
            return result.item
        assert isinstance(result, Pointed)
        pointer = result.pointer
    return pointer


@pytest.mark.parametrize("form", [form for form in FORMS if form.periods == 1], ids=lambda form: form.key)
def test_the_calls_of_each_form_lead_from_rows_to_an_item(form: Form) -> None:
    """Every call is in the catalogue, takes the pointer before it, and the last one adds to the answer."""
    mail = context(accounts=FakeAccounts(rows={"payments": ROWS}))
    item = carried_out(form, mail, fetched(mail, "2024"))
    match item:
        case AggregateItem():
            assert item.operand.aggregation == form.key
        case TableItem():
            assert item.steps == (() if form.key == "list" else (form.key,))
        case _:
            pytest.fail(f"{form.key} gives {item!r}")


@pytest.mark.parametrize("form", [form for form in FORMS if form.periods == 2], ids=lambda form: form.key)
def test_a_form_of_two_periods_gives_two_numbers_that_can_be_joined(form: Form) -> None:
    """The same calls for each period; then `operation` on the two pointers."""
    mail = context(accounts=FakeAccounts(rows={"payments": ROWS}))
    left, right = (carried_out(form, mail, fetched(mail, period)) for period in ("2024", "all_time"))
    result = validated("calculate", {"operation": form.operation, "left": left, "right": right}, mail).run(mail)
    assert isinstance(result, Pointed)
    item = mail.data[result.pointer]
    assert isinstance(item, CalculationItem)
    assert (item.left.period.name, item.right.period.name) == ("2024", "all_time")
    assert item.left.aggregation == item.right.aggregation == "total"


@pytest.mark.parametrize(
    ("tool", "argument", "closed"),
    [("aggregate", "aggregation", Aggregation), ("filter", "keep", Keep), ("sort", "order", Order)],
)
def test_every_member_of_a_closed_set_is_reached_by_a_form(tool: str, argument: str, closed: object) -> None:
    """What no plan can reach is code that nobody has seen work."""
    reached = {dict(arguments).get(argument) for form in FORMS for called, arguments in form.calls if called == tool}
    assert reached == set(get_args(closed))


def test_every_operation_has_a_form_and_no_two_forms_are_alike() -> None:
    """A model that chooses by title must be able to tell them apart."""
    assert {form.operation for form in FORMS if form.operation} == set(get_args(Operation))
    assert len({form.key for form in FORMS}) == len(FORMS)
    assert len({form.title for form in FORMS}) == len(FORMS)
    assert all((form.periods == 2) == bool(form.operation) for form in FORMS)


COMMON = ["total", "average", "highest", "lowest", "count", "latest", "list"]
JOINED = ["subtract", "add", "ratio"]


@pytest.mark.parametrize("period_count", [0, 1])
def test_forms_of_two_periods_are_not_on_the_list_for_one(period_count: int) -> None:
    """There is nothing to compare, whatever the words say."""
    assert keys("Compare it: what is the difference?", period_count) == COMMON


def test_forms_of_two_periods_are_on_the_list_where_two_are_named() -> None:
    """After the others, in a fixed order."""
    assert keys("What did I pay in 2024 and 2025?", 2) == [*COMMON, *JOINED]
    assert keys("What did I pay in 2023, 2024 and 2025?", 3) == [*COMMON, *JOINED]


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("Show me the three biggest invoices", "highest_3"),
        ("the top 5 months please", "highest_5"),
        ("die drei höchsten Rechnungen", "highest_3"),
        ("My 3 smallest payments?", "lowest_3"),
        ("the last three payments", "latest_3"),
        ("die letzten fünf Zahlungen", "latest_5"),
        ("los 3 últimos pagos", "latest_3"),
        ("Which months were above average?", "above_average"),
        ("Monate unter dem Durchschnitt", "below_average"),
        ("List my payments sorted by amount", "highest_first"),
        ("my invoices, newest first", "newest_first"),
        ("List my invoices, smallest first", "lowest_first"),
        ("Meine Rechnungen, niedrigste zuerst", "lowest_first"),
    ],
)
def test_a_rare_form_is_on_the_list_where_its_words_stand_in_the_question(question: str, key: str) -> None:
    """Else it would only be one more to confuse with the others."""
    assert key in keys(question)
    assert key not in keys("What did I pay last year?")


@pytest.mark.parametrize(
    ("question", "key"),
    [
        ("How much have I paid in total?", "total"),
        ("What have we spent since the start?", "total"),
        ("Was habe ich insgesamt bezahlt?", "total"),
        ("¿Cuánto he pagado?", "total"),
        ("What is my average bill?", "average"),
        ("Wie viel ist es im Schnitt?", "average"),
        ("¿Cuál es el promedio?", "average"),
        ("What was the largest payment?", "highest"),
        ("Which was our busiest month?", "highest"),
        ("In which month did I use the least storage?", "lowest"),
        ("How many invoices did I get?", "count"),
        ("Wie oft wurde abgebucht?", "count"),
        ("¿Cuántas facturas hay?", "count"),
        ("When was the most recent payment?", "latest"),
        ("Wann war die letzte Abbuchung?", "latest"),
        ("I need a list of all my payments", "list"),
        ("Bitte alle Zahlungen auflisten", "list"),
        ("Un resumen de mis pagos", "list"),
        ("How much more than in 2024 did I pay?", "subtract"),
        ("Was ist der Unterschied?", "subtract"),
        ("2024 and 2025 together", "add"),
        ("What is the ratio?", "ratio"),
    ],
)
def test_a_form_is_named_by_what_customers_write(question: str, key: str) -> None:
    """English, German and Spanish, in any case of letters: one vote for the form."""
    assert key in mentioned(question)
    assert key in mentioned(question.upper())


@pytest.mark.parametrize(
    "question",
    ["", "Hello", "What about my storage?", "Ich verstehe das nicht", "summertime", "meaning", "monthlong"],
)
def test_a_question_that_names_no_form_gives_no_vote(question: str) -> None:
    """Parts of words do not count."""
    assert mentioned(question) == set()
