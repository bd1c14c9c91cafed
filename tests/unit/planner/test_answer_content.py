"""What an answer carries: all that its document says, or a value with the words around it."""

from __future__ import annotations

from support_agent.answer.final_answer import (
    AggregateItem,
    ClarificationItem,
    DocumentItem,
    FieldItem,
    Item,
)
from support_agent.company.values import Text
from support_agent.company.vocabulary import Vocabulary
from support_agent.planner.answer_content import Held, held_by
from tests.unit.tools.fakes import YEAR, context, document, eur, invoice, operand, record_item

PLAN = FieldItem(field="plan", label="Plan", value=Text(text="Team"))


def carried(item: Item, question: str = "What?", **changes: object) -> Held:
    held = held_by(item, context(questions=(question,), **changes))
    assert held is not None
    return held


def document_item(number: int) -> DocumentItem:
    own = document(number)
    return DocumentItem(
        number=number,
        title=own.head.title,
        version=own.version,
        valid_from=own.head.valid_from,
        url=own.head.url,
        delivery="link",
        excerpts=(),
    )


def test_a_document_carries_all_that_it_says_and_words_that_begin_alike() -> None:
    held = carried(document_item(1))
    assert held.has("14")
    assert held.has("renewals")
    assert not held.has("Lisbon")
    assert not held.is_value


def test_a_part_of_a_number_or_word_is_not_carried() -> None:
    """A 4 is not in "14 days", HF-2025-003 is another invoice than HF-2025-0030, and Ana is not in "analysis"."""
    held = carried(document_item(1))
    assert not held.has("4")
    assert not held.has("refund 4")
    record = carried(record_item(invoice("HF-2025-0030"), "state"))
    assert not record.has("HF-2025-003")
    assert not Held("The analysis", Vocabulary(), is_value=False).has("Ana")


def test_a_script_without_spaces_is_looked_up_as_it_stands() -> None:
    assert Held("東京の事務所", Vocabulary(), is_value=False).has("東京")


def test_a_translation_that_goes_out_carries_too() -> None:
    german = {1: document(1, "## Frist\n\nEine Erstattung gibt es in Lissabon.\n")}
    assert carried(document_item(1), translations=german).has("Lissabon")


def test_a_value_is_carried_with_its_names_in_both_languages() -> None:
    held = carried(PLAN)
    assert held.is_value
    assert held.has("Team")
    assert held.has("plan")
    assert not held.has("Pro")


def test_a_sum_carries_its_currency_in_the_language_of_the_question() -> None:
    held = carried(AggregateItem(operand=operand(eur("120.00"))), question="Combien d'euros avons-nous payé en tout ?")
    assert held.has("euros")
    assert held.has("120.00")
    assert not held.has("dollars")


def test_a_series_carries_the_years_and_months_of_its_period_alone() -> None:
    held = carried(AggregateItem(operand=operand(eur("1.00"))), question="How much did we pay between the two?")
    assert held.has(str(YEAR.first.year))
    assert held.has("January")
    assert not held.has("2023")


def test_a_record_is_carried_however_its_identifier_is_written() -> None:
    held = carried(record_item(invoice("HF-2025-0030"), "state"))
    assert held.has("HF-2025-0030")
    assert held.has("hf 2025 0030")
    assert held.has("HF20250030")
    assert not held.has("HF-2025-0031")


def test_the_own_address_is_carried() -> None:
    assert carried(PLAN).has("anna.keller@example.net")


def test_an_answer_that_asks_back_carries_nothing_and_needs_not() -> None:
    assert held_by(ClarificationItem(number=1, text="Which system?"), context()) is None
