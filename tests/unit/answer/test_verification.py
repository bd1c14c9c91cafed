"""Items are looked up again in the company's files: what was put into an answer on its way is refused."""

from __future__ import annotations

from datetime import date

import pytest

from support_agent.answer.final_answer import (
    AggregateItem,
    CalculationItem,
    ClarificationItem,
    DocumentItem,
    FieldItem,
    FinalAnswer,
    Item,
    Operand,
    RecordColumn,
    RecordItem,
    TableItem,
)
from support_agent.answer.verification import Verifier
from support_agent.company.company import Company
from support_agent.company.documents import Excerpt
from support_agent.company.values import Count, Money, Period
from support_agent.errors import GateRefused
from support_agent.ops.template_tests import around
from support_agent.outbound.rendered_mail import answer_mail
from tests.fakes_journey import Office

YEAR = Period(name="2025", first=date(2025, 1, 1), last=date(2025, 12, 31))


@pytest.fixture
def company(office: Office) -> Company:
    return office.decider.company


def document_item(company: Company) -> DocumentItem:
    document = company.documents[0]
    head = document.head
    return DocumentItem(
        number=head.number,
        title=head.title,
        version=document.version,
        valid_from=head.valid_from,
        url=head.url,
        delivery=head.delivery.value,
        excerpts=tuple(
            Excerpt.model_validate(sentence.model_dump(exclude={"line"})) for sentence in document.sentences[1:3]
        ),
        language=document.language,
    )


def operand(company: Company) -> Operand:
    spec = company.accounts.series["payments"]
    return Operand(
        series="payments",
        label=spec.label_for("en"),
        row_noun=spec.row_noun_for("en"),
        period=YEAR,
        steps=(),
        aggregation="total",
        row_count=0,
        value=None,
    )


def items(company: Company) -> dict[str, Item]:
    """One of each kind that is true."""
    one, question = operand(company), company.questions[0]
    data = one.model_dump(include={"series", "label", "row_noun", "period", "steps"})
    label = company.accounts.fields["seats_paid"].label_for("en")
    return {
        "document": document_item(company),
        "field": FieldItem(field="seats_paid", label=label, value=Count(count=12)),
        "table": TableItem.model_validate({**data, "rows": ()}),
        "aggregate": AggregateItem(operand=one),
        "calculation": CalculationItem(
            operation="add", left=one, right=one, result=Money.model_validate({"amount": "1", "currency": "EUR"})
        ),
        "clarification": ClarificationItem(number=question.number, text=question.text_for("en")),
        "record": RecordItem(
            record="invoices",
            label="Invoice",
            identifier="HF-2025-0030",
            columns=(RecordColumn(column="status", label="Status", value=None),),
        ),
    }


def wrong(item: Item, company: Company) -> list[str]:
    return list(Verifier.of(company).mismatches(around(item), "en"))


@pytest.mark.parametrize("kind", ["document", "field", "table", "aggregate", "calculation", "clarification", "record"])
def test_what_the_company_says_is_found_again(company: Company, kind: str) -> None:
    assert wrong(items(company)[kind], company) == []


@pytest.mark.parametrize(
    ("part", "forged"),
    [
        ("number", 2),
        ("version", "0" * 64),
        ("title", "The model's policy"),
        ("url", "https://elsewhere.example/"),
        ("valid_from", date(1999, 1, 1)),
        ("delivery", "link"),
        ("language", "de"),
        ("language", None),
    ],
)
def test_a_document_that_is_not_the_companys_is_refused(company: Company, part: str, forged: object) -> None:
    item = document_item(company).model_copy(update={part: forged})
    assert len(wrong(item, company)) == 1


@pytest.mark.parametrize(
    ("part", "forged"),
    [
        ("text", "You get 1000 euros back, says the model."),
        ("heading", "A gift"),
        ("index", 0),
        ("index", -1),
        ("index", 999),
        ("index", -999),
        ("paragraph", 99),
    ],
)
def test_a_sentence_that_does_not_stand_at_its_place_is_refused(company: Company, part: str, forged: object) -> None:
    item = document_item(company)
    excerpt = item.excerpts[0].model_copy(update={part: forged})
    tampered = item.model_copy(update={"excerpts": (excerpt, *item.excerpts[1:])})
    assert ["is not what the answer says" in why for why in wrong(tampered, company)] == [True]


@pytest.mark.parametrize("keeps_form", [True, False])
@pytest.mark.parametrize(
    ("kind", "part", "forged"),
    [
        ("row", "cells", ("Yearly plan, first payment", "nothing", "30 days from the payment")),
        ("row", "is_header", True),
        ("row", "number", 1),
        ("item", "number", 99),
        ("item", "depth", 3),
        ("item", "cells", ("a",)),
        ("sentence", "number", 1),
    ],
)
def test_a_number_or_cell_that_the_document_does_not_have_is_refused(
    company: Company, kind: str, part: str, forged: object, keeps_form: bool
) -> None:
    """Also in an answer that says of itself that it is an old one."""
    sentences = company.documents[0].sentences
    found = next(one for one in sentences if one.kind == kind and not one.is_header and (kind != "item" or one.number))
    excerpt = Excerpt.model_validate(found.model_dump(exclude={"line"}))
    item = document_item(company).model_copy(update={"keeps_form": keeps_form, "excerpts": (excerpt,)})
    assert wrong(item, company) == []
    tampered = item.model_copy(update={"excerpts": (excerpt.model_copy(update={part: forged}),)})
    assert ["is not what the answer says" in why for why in wrong(tampered, company)] == [True]


def test_only_an_answer_stored_before_may_lack_numbers_and_cells(company: Company) -> None:
    """It was made from the same document, whose file has not changed; a new one must say them."""
    plain = {"line", "number", "depth", "cells", "is_header"}
    excerpts = [Excerpt.model_validate(one.model_dump(exclude=plain)) for one in company.documents[0].sentences]
    item = document_item(company).model_copy(update={"excerpts": tuple(excerpts)})
    assert wrong(item, company) == []
    assert "is not what the answer says" in wrong(item.model_copy(update={"keeps_form": True}), company)[0]


@pytest.mark.parametrize(
    ("part", "forged"), [("series", "storage"), ("series", "none"), ("label", "A gift"), ("row_noun", "gifts")]
)
@pytest.mark.parametrize("kind", ["table", "aggregate", "left", "right"])
def test_a_series_that_is_not_the_companys_is_refused(company: Company, kind: str, part: str, forged: str) -> None:
    true, update = items(company), {part: forged}
    other = operand(company).model_copy(update=update)
    item: Item
    match kind:
        case "table":
            item = true["table"].model_copy(update=update)
        case "aggregate":
            item = AggregateItem(operand=other)
        case _:
            item = true["calculation"].model_copy(update={kind: other})
    assert len(wrong(item, company)) == 1


@pytest.mark.parametrize(
    ("kind", "part", "forged"),
    [
        ("field", "field", "none"),
        ("field", "field", "plan"),
        ("field", "label", "A gift"),
        ("clarification", "number", 99),
        ("clarification", "text", "What is your password?"),
    ],
)
def test_a_field_or_question_that_is_not_the_companys_is_refused(
    company: Company, kind: str, part: str, forged: object
) -> None:
    item = items(company)[kind].model_copy(update={part: forged})
    assert len(wrong(item, company)) == 1


def test_without_the_companys_files_only_documents_are_looked_up(company: Company) -> None:
    """A replay has them alone, in the version that was sent, and does not know which language that is in."""
    stored = (document.model_copy(update={"language": None}) for document in company.documents)
    verifier = Verifier({document.version: document for document in stored}.get)
    renamed = items(company)["field"].model_copy(update={"label": "Seats you pay for"})
    forged = document_item(company).model_copy(update={"title": "A gift"})
    final = around(renamed)
    both = FinalAnswer.model_validate({**final.model_dump(), "answers": (*final.answers, *around(forged).answers)})
    assert len(list(verifier.mismatches(both, "en"))) == 1


def test_the_gate_lets_no_invented_sentence_out(office: Office, company: Company) -> None:
    """The answer renders to itself, and every span fits the item; the document says otherwise."""
    item = document_item(company)
    templates, verifier = office.decider.templates, Verifier.of(company)
    assert item.excerpts[0].text in answer_mail(around(item), templates, verifier).text
    invented = item.excerpts[0].model_copy(update={"text": "You get 1000 euros back, says the model."})
    tampered = item.model_copy(update={"excerpts": (invented, *item.excerpts[1:])})
    with pytest.raises(GateRefused, match="sentence 1 is not what the answer says") as refused:
        answer_mail(around(tampered), templates, verifier)
    assert refused.value.code == "unfounded"
