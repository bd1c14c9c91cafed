"""Answer tools: each adds one item, made of company words and values, for whom may have it."""

from __future__ import annotations

from decimal import Decimal
from typing import NoReturn

import pytest

from support_agent.answer.final_answer import (
    AggregateItem,
    CalculationItem,
    ClarificationItem,
    DocumentItem,
    FieldItem,
    TableItem,
)
from support_agent.company.values import Count, Customer, Period, Quantity
from support_agent.errors import ToolCallRejected
from support_agent.tools.answers import (
    AskClarification,
    SendAccountField,
    SendAggregate,
    SendDocument,
    SendTable,
)
from support_agent.tools.base import Context, Tool
from support_agent.tools.data import FetchSeries
from tests.unit.tools.fakes import (
    ANNA,
    FakeAccounts,
    FakeSearch,
    context,
    document,
    eur,
    operand,
    pointing,
    row,
    table,
)


class UnreadableAccounts(FakeAccounts):
    """Accounts that fail the test when a value is read."""

    def field(self, name: str, customer: Customer, locale: str) -> NoReturn:
        raise AssertionError(f"the database was asked for {name}")

    def rows(self, series: str, customer: Customer, period: Period, locale: str) -> NoReturn:
        raise AssertionError(f"the database was asked for {series}")


class SilentSearch(FakeSearch):
    """A search that fails the test when it is asked."""

    def sections(self, text: str, document: object) -> NoReturn:
        raise AssertionError("the search was asked")


def refusal_of(tool: Tool, context: Context) -> ToolCallRejected:
    with pytest.raises(ToolCallRejected) as caught:
        tool.run(context)
    return caught.value


def sent(mail: Context, number: int = 1) -> DocumentItem:
    """The item that `send_document` adds."""
    item = SendDocument(number=number).run(mail).item
    assert isinstance(item, DocumentItem)
    return item


def test_a_document_states_its_number_title_version_date_and_link() -> None:
    """Promise 4: what the item was made from is in it, copied from the document."""
    policy = document(1, title="Refund policy")
    item = sent(context(documents={1: policy}))
    assert (item.number, item.title, item.version) == (1, "Refund policy", policy.version)
    assert (item.valid_from, item.url) == (policy.head.valid_from, "https://harborfile.example/1")
    assert item.delivery == "excerpt"


def test_delivery_full_sends_every_sentence_in_order() -> None:
    """Nothing is chosen, so the search is not asked."""
    policy = document(1, delivery="full")
    item = sent(context(documents={1: policy}, search=SilentSearch()))
    assert [excerpt.text for excerpt in item.excerpts] == [sentence.text for sentence in policy.sentences]
    assert [excerpt.index for excerpt in item.excerpts] == list(range(len(policy.sentences)))
    assert item.delivery == "full"


def test_a_document_keeps_the_form_of_its_tables_and_lists() -> None:
    """Cells, headers, numbers and depth are copied with the sentence."""
    policy = document(1, "1. a\n   - b\n\n| c | d |\n|---|---|\n| e | f |\n", delivery="full")
    item = sent(context(documents={1: policy}, search=SilentSearch()))
    assert item.keeps_form
    assert [excerpt.model_dump() for excerpt in item.excerpts] == [
        sentence.model_dump(exclude={"line"}) for sentence in policy.sentences
    ]


def test_delivery_link_sends_no_sentence() -> None:
    """The link alone, without asking the search."""
    item = sent(context(documents={1: document(1, delivery="link")}, search=SilentSearch()))
    assert item.excerpts == ()
    assert item.delivery == "link"


def test_delivery_excerpt_sends_the_section_nearest_to_the_question_in_hand() -> None:
    """The second question of the mail is compared, not the first; sentences keep heading, block and kind."""
    policy = document(1)
    search = FakeSearch(scores={"app store": 0.9, "Ask there": 0.8})
    questions = ("How many seats?", "Bought in the app store, refund?")
    item = sent(context(documents={1: policy}, search=search, questions=questions, question=2))
    assert search.asked == ["Bought in the app store, refund?"]
    assert [excerpt.text for excerpt in item.excerpts] == [
        "Bought in an app store?",
        "Ask there.",
        "We cannot refund it.",
    ]
    for excerpt in item.excerpts:
        sentence = policy.sentences[excerpt.index]
        assert (excerpt.text, excerpt.heading) == (sentence.text, "Exceptions")
        assert (excerpt.paragraph, excerpt.kind) == (sentence.paragraph, sentence.kind)


@pytest.mark.parametrize(
    "head", [{"valid_from": "2025-06-02"}, {"valid_until": "2025-05-31"}], ids=["not_yet", "expired"]
)
def test_a_document_that_is_not_valid_today_is_refused(head: dict[str, str]) -> None:
    """Its words are not the company's on this day."""
    error = refusal_of(SendDocument(number=1), context(documents={1: document(1, **head)}))
    assert error.code == "not_valid"
    assert "2025-06-01" in str(error)


def test_a_document_is_valid_on_its_first_and_on_its_last_day() -> None:
    """Both ends count."""
    assert sent(context(documents={1: document(1, valid_from="2025-06-01", valid_until="2025-06-01")}))


def test_a_document_for_customers_goes_to_a_known_customer_alone() -> None:
    """`audience: customers` needs level 3 and the customer; `everyone` needs nothing."""
    for_customers = {1: document(1, audience="customers")}
    assert sent(context(documents=for_customers)).number == 1
    for level, customer in ((2, ANNA), (2, None), (0, None), (3, None)):
        mail = context(documents=for_customers, level=level, customer=customer)
        assert refusal_of(SendDocument(number=1), mail).code == "level"
    assert sent(context(level=0, customer=None)).number == 1


def test_an_account_field_is_the_customers_own_value_with_its_label() -> None:
    """The label is the company's word in the customer's locale; the value is what the database says."""
    accounts = FakeAccounts()
    item = SendAccountField(field="seats_paid").run(context(accounts=accounts, locale="de-AT")).item
    assert item == FieldItem(field="seats_paid", label="Plätze", value=Count(count=12))
    assert accounts.reads == [("seats_paid", ANNA, None)]


def test_an_account_field_without_a_value_is_said_to_have_none() -> None:
    """None is a value of its own, never a zero or an empty text."""
    item = SendAccountField(field="latest_invoice").run(context()).item
    assert item == FieldItem(field="latest_invoice", label="Latest invoice", value=None)


@pytest.mark.parametrize("tool", [SendAccountField(field="plan"), FetchSeries(series="payments", period="2024")])
@pytest.mark.parametrize(("level", "customer"), [(2, ANNA), (1, ANNA), (0, None), (3, None)])
def test_below_the_needed_level_the_database_is_never_asked(tool: Tool, level: int, customer: Customer | None) -> None:
    """S24: what is refused cannot depend on what the account holds; an unknown sender has no account."""
    mail = context(accounts=UnreadableAccounts(), level=level, customer=customer)
    assert refusal_of(tool, mail).code == "level"
    assert mail.data == {}


def test_a_table_is_sent_as_it_stands_with_its_steps() -> None:
    """Promise 3: the rows come from where the pointer points."""
    rows = table(row("2024-02-01", eur("2")), row("2024-01-01", eur("1")), steps=("newest_first",))
    mail = pointing(table(), rows)
    assert SendTable(pointer="@2").run(mail).item == rows
    assert SendTable(pointer="@1").run(mail).item == table()


def test_a_number_is_sent_with_what_it_was_made_from() -> None:
    """An aggregate as one item; a calculation with both of its sides."""
    total = operand(eur("228.00"), row_count=12)
    ratio = CalculationItem(operation="ratio", left=total, right=total, result=Quantity(amount=Decimal(1), unit=""))
    mail = pointing(total, ratio)
    assert SendAggregate(pointer="@1").run(mail).item == AggregateItem(operand=total)
    assert SendAggregate(pointer="@2").run(mail).item == ratio


def test_a_pointer_of_the_other_kind_is_refused_by_the_tool_itself() -> None:
    """Also where the catalogue was not asked before."""
    mail = pointing(table(), operand(eur("1")))
    assert refusal_of(SendAggregate(pointer="@1"), mail).code == "pointer"
    assert refusal_of(SendTable(pointer="@2"), mail).code == "pointer"


def test_a_clarification_is_the_canned_question_in_the_customers_language() -> None:
    """Word for word; English where the language has none."""
    german = AskClarification(number=1).run(context(locale="de-DE")).item
    assert german == ClarificationItem(number=1, text="Welches System?")
    fallback = AskClarification(number=3).run(context(locale="de-DE")).item
    assert fallback == ClarificationItem(number=3, text="Which period?")


@pytest.mark.parametrize("tool", [SendDocument(number=1), SendTable(pointer="@1"), AskClarification(number=1)])
def test_an_answer_tool_leaves_the_data_and_the_findings_as_they_are(tool: Tool) -> None:
    """It adds to the answer alone: no pointer comes into being."""
    mail = pointing(table())
    tool.run(mail)
    assert list(mail.data) == ["@1"]
    assert isinstance(mail.data["@1"], TableItem)
    assert mail.found == {}


@pytest.mark.parametrize(("chance", "is_sent"), [(0.7, True), (0.69, False), (float("nan"), False)])
def test_a_document_without_a_section_that_is_sure_enough_is_not_sent(chance: float, is_sent: bool) -> None:
    """A probability that is none is not sure either."""
    mail = context(search=FakeSearch(chances=[chance]), least_section=0.7)
    if is_sent:
        assert sent(mail).excerpts
    else:
        assert refusal_of(SendDocument(number=1), mail).code == "section"
