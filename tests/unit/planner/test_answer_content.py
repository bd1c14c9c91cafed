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
from support_agent.planner.answer_content import AnswerContent, content_of
from tests.unit.tools.fakes import YEAR, FakeAccounts, context, document, eur, invoice, operand, record_item

PLAN = FieldItem(field="plan", label="Plan", value=Text(text="Team"))


def carried(item: Item, question: str = "What?", **changes: object) -> AnswerContent:
    content = content_of(item, context(questions=(question,), **changes))
    assert content is not None
    return content


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
    content = carried(document_item(1))
    assert content.contains("14")
    assert content.contains("renewals")
    assert not content.contains("Lisbon")
    assert not content.is_value


def test_a_part_of_a_number_or_word_is_not_carried() -> None:
    """A 4 is not in "14 days", HF-2025-003 is another invoice than HF-2025-0030, and Ana is not in "analysis"."""
    content = carried(document_item(1))
    assert not content.contains("4")
    assert not content.contains("refund 4")
    record = carried(record_item(invoice("HF-2025-0030"), "state"))
    assert not record.contains("HF-2025-003")
    assert not AnswerContent("The analysis", Vocabulary(), is_value=False).contains("Ana")


def test_a_code_is_not_carried_by_a_longer_code_that_begins_with_it() -> None:
    """Order A-30 is another order than A-30-1, and the R2 is another machine than the R2-5."""
    for said, asked in (("Order A-30-1 is on its way", "A-30"), ("The R2-5 has a lamp", "R2")):
        content = AnswerContent(said, Vocabulary(), is_value=False)
        assert not content.contains(asked)
        assert content.contains(said.split()[1])


def test_a_country_is_not_carried_by_another_that_begins_alike() -> None:
    """Other words may be forms of one word; of names of places none is a form of another."""
    content = AnswerContent("We deliver to Australia.", Vocabulary(), is_value=False)
    assert not content.contains("Austria")
    assert content.contains("delivery")


def test_a_word_is_not_carried_by_one_that_is_much_longer() -> None:
    """An admin is no administration: forms of one word differ in few letters."""
    content = AnswerContent("The administration answers.", Vocabulary(), is_value=False)
    assert not content.contains("admin")
    assert content.contains("administrations")


def test_a_script_without_spaces_is_looked_up_as_it_stands() -> None:
    assert AnswerContent("東京の事務所", Vocabulary(), is_value=False).contains("東京")


def test_a_translation_that_goes_out_carries_too() -> None:
    german = {1: document(1, "## Frist\n\nEine Erstattung gibt es in Lissabon.\n")}
    assert carried(document_item(1), translations=german).contains("Lissabon")


def test_a_value_is_carried_with_its_names_in_both_languages() -> None:
    content = carried(PLAN)
    assert content.is_value
    assert content.contains("Team")
    assert content.contains("plan")
    assert not content.contains("Pro")


def test_a_sum_carries_its_currency_in_the_language_of_the_question() -> None:
    content = carried(
        AggregateItem(operand=operand(eur("120.00"))), question="Combien d'euros avons-nous payé en tout ?"
    )
    assert content.contains("euros")
    assert content.contains("120.00")
    assert not content.contains("dollars")


def test_a_series_carries_the_years_and_months_of_its_period_alone() -> None:
    content = carried(AggregateItem(operand=operand(eur("1.00"))), question="How much did we pay between the two?")
    assert content.contains(str(YEAR.first.year))
    assert content.contains("January")
    assert not content.contains("2023")


def test_years_sums_and_codes_of_example_questions_are_not_those_of_the_value() -> None:
    """The failure's story: an example names 2024, so who asked for another 2024 got all payments ever."""
    accounts = FakeAccounts()
    examples = ("What did I spend in 2023?", "Is A-7731 paid with 18.40 by 2FA?")
    accounts.series = {"payments": accounts.series["payments"].model_copy(update={"questions": examples})}
    content = carried(AggregateItem(operand=operand(eur("1.00"))), accounts=accounts)
    assert content.contains("spend")
    assert content.contains("2FA")
    assert not any(map(content.contains, ("2023", "A-7731", "18.40")))


def test_a_record_is_carried_however_its_identifier_is_written() -> None:
    content = carried(record_item(invoice("HF-2025-0030"), "state"))
    assert content.contains("HF-2025-0030")
    assert content.contains("hf 2025 0030")
    assert content.contains("HF20250030")
    assert not content.contains("HF-2025-0031")


def test_the_own_address_is_carried() -> None:
    assert carried(PLAN).contains("anna.keller@example.net")


def test_an_answer_that_asks_back_carries_nothing_and_needs_not() -> None:
    assert content_of(ClarificationItem(number=1, text="Which system?"), context()) is None
