"""The forms of an answer about a series: each can be carried out, has examples, and is voted for."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from importlib.resources import files
from typing import get_args

import pytest
from pydantic import ValidationError

from support_agent.answer.final_answer import AggregateItem, CalculationItem, Item, TableItem
from support_agent.planner import forms
from support_agent.planner.forms import (
    EXAMPLES_FILE,
    FORMS,
    MOST_PARTS,
    MOST_PLACES,
    NO_FORM,
    Form,
    are_several,
    examples,
    forms_for,
    named_in,
    votes_for,
)
from support_agent.tools.base import Added, Context, Examples, Pointed
from support_agent.tools.catalogue import validated
from support_agent.tools.data import Aggregation, Keep, Operation, Order
from tests.unit.tools.fakes import FakeAccounts, FakeSearch, context, eur, row

ROWS = tuple(row(f"2024-{month:02d}-01", eur(f"{month}.50")) for month in range(1, 13))


def keys(period_count: int) -> list[str]:
    return [form.key for form in forms_for(period_count)]


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


JOINED = ["subtract", "add", "ratio"]


@pytest.mark.parametrize("period_count", [0, 1])
def test_forms_of_two_periods_do_not_fit_one(period_count: int) -> None:
    """There is nothing to compare, whatever the words say."""
    assert keys(period_count) == [form.key for form in FORMS if form.key not in JOINED]


@pytest.mark.parametrize("period_count", [2, 3])
def test_every_form_fits_two_periods(period_count: int) -> None:
    assert keys(period_count) == [form.key for form in FORMS]


def test_every_form_has_examples_in_eight_languages_and_so_has_none() -> None:
    """What has no example is never voted for; and no question is an example of two forms."""
    read = tomllib.loads(files("support_agent.planner").joinpath(EXAMPLES_FILE).read_text("utf-8"))
    languages = {language for of_language in read.values() for language in of_language}
    assert len(languages) >= 8
    for language in languages:
        found = Counter(key for of in read.values() for key, texts in of.get(language, {}).items() for _ in texts)
        assert found.keys() == {form.key for form in FORMS} | {NO_FORM}
        assert min(found.values()) >= 4
    texts = [text for _, of_form in examples() for text in set(of_form)]
    assert len(texts) == len(set(texts))


def test_the_examples_of_a_form_that_is_added_are_learnt_with_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    added = Form(key="spread", title="the spread", calls=(), examples=("What is the spread of my bills?",))
    assert "spread" not in dict(examples())
    monkeypatch.setattr(forms, "FORMS", (*FORMS, added))
    assert dict(examples())["spread"] == added.examples


def test_the_sentence_that_asks_for_a_form_votes_and_not_the_story_around_it() -> None:
    search = FakeSearch()
    search.phrasings = {"Yesterday": NO_FORM, "highest": "highest"}
    votes = votes_for("Yesterday I moved. What was the highest?", search)
    assert max(votes, key=votes.__getitem__) == "highest"
    assert votes_for("Yesterday I moved.", search)[NO_FORM] == 1.0


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What did I pay on average?", {"average"}),
        ("my payments above average, highest first", {"above_average", "highest_first"}),
        ("Tell me the average and tell me the highest", {"average", "highest"}),
        ("How do I reset my password?", set()),
    ],
)
def test_each_part_of_a_question_may_name_a_form(question: str, named: set[str]) -> None:
    """Between two pauses, or on both sides of a short word."""
    search = FakeSearch()
    search.phrasings = {
        "above average": "above_average",
        "average": "average",
        "first": "highest_first",
        "highest": "highest",
        "?": NO_FORM,
    }
    assert named_in(question, search) == named


def test_what_one_side_alone_names_is_not_named_twice() -> None:
    """ "2024" and "2025" are two periods of one form."""
    search = FakeSearch()
    search.phrasings = {"difference": "subtract", "": NO_FORM}
    assert named_in("What is the difference between 2024 and 2025, please?", search) == {"subtract"}


@pytest.mark.parametrize(
    ("question", "is_several"),
    [
        ("What was the highest of them? What was the lowest of them?", True),
        ("What was the highest of them? Again, the highest please?", False),
        ("Can I have a list of them? Show the newest of them?", False),
        ("Can I have a list of them? What was the highest of them?", True),
    ],
)
def test_sentences_that_ask_for_two_forms_ask_for_several(question: str, *, is_several: bool) -> None:
    search = FakeSearch()
    search.phrasings = {"highest": "highest", "lowest": "lowest", "newest": "newest_first", "list": "list"}
    assert are_several(question, search) is is_several


class Counting(FakeSearch):
    """Counts the texts whose phrasing is asked for."""

    count = 0

    def phrased(self, text: str, examples: Examples) -> Mapping[str, float]:
        self.count += 1
        return {name: float(name == NO_FORM) for name, _ in examples}


def test_of_a_question_without_end_a_bounded_number_of_parts_is_looked_at() -> None:
    """The failure: 4,000 characters of short sentences took ten seconds, and more are allowed."""
    question = " ".join(f"Is it a b c {number} of it, or a b c?" for number in range(300))
    search = Counting()
    votes_for(question, search)
    assert search.count <= MOST_PARTS
    search.count = 0
    named_in(question, search)
    assert search.count <= MOST_PARTS + 2 * MOST_PLACES


def test_characters_that_cannot_be_seen_do_not_hide_a_form() -> None:
    search = FakeSearch()
    search.phrasings = {"highest": "highest", "": NO_FORM}
    question = "What is the hig\u00adh\u200best?"
    assert votes_for(question, search)["highest"] == 1.0
    assert named_in(question, search) == {"highest"}


def test_examples_that_are_no_list_are_an_error_and_not_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tomllib, "loads", lambda text: {"bills": {"en": {"total": "How much?"}}})
    with pytest.raises(ValidationError):
        forms._packaged.__wrapped__()
