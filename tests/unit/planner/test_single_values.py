"""A field is one value: what is made of many does not come out of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from support_agent.planner.forms import AGGREGATE_FORMS, NO_FORM, aggregate_asked_for
from support_agent.tools.base import Examples
from tests.unit.tools.fakes import FakeSearch

FIELD = ("Latest invoice", "The amount of the newest invoice.", "How much was my last invoice?")


def search(**phrasings: str) -> FakeSearch:
    """A text with such a word is phrased so, and any other names no form."""
    made = FakeSearch()
    made.phrasings = {**phrasings, "": NO_FORM}
    return made


@pytest.mark.parametrize("form", sorted(AGGREGATE_FORMS))
def test_a_number_of_many_values_is_not_a_single_value(form: str) -> None:
    """The failure: "Highest bill ever" was answered with the latest invoice."""
    found = aggregate_asked_for("Xyz bill ever?", FIELD, search(Xyz=form))
    assert found is not None
    assert found.kind == "form"


@pytest.mark.parametrize("form", ["latest", "list", "count", "subtract", NO_FORM])
def test_other_forms_do_not_keep_a_field_from_answering(form: str) -> None:
    """ "My latest invoice" and "how many seats" are fields."""
    assert aggregate_asked_for("Xyz bill?", FIELD, search(Xyz=form)) is None


def test_a_field_that_is_such_a_number_itself_answers() -> None:
    """An open balance is a total, as its own words say."""
    own = ("Open balance", "The sum of all unpaid invoices.")
    assert aggregate_asked_for("What do I owe in total?", own, search(total="total", sum="total")) is None
    assert aggregate_asked_for("What do I owe in total?", own, search(total="total")) is not None


@pytest.mark.parametrize(
    "chances", [{"highest": 0.5, "lowest": 0.3, NO_FORM: 0.2}, {"total": 0.8, NO_FORM: 0.2}], ids=["highest", "total"]
)
def test_where_the_vote_is_not_sure_the_field_answers(chances: Mapping[str, float]) -> None:
    """Of a total it must be surer than of the others: many fields are totals and do not say so."""

    class Unsure(FakeSearch):
        def phrased(self, text: str, examples: Examples) -> Mapping[str, float]:
            said = chances if text == "Which one?" else {NO_FORM: 1.0}
            return {name: said.get(name, 0.0) for name, _ in examples}

    assert aggregate_asked_for("Which one?", FIELD, Unsure()) is None
