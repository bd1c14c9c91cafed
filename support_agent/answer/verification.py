"""What a company says, looked up again: the items of an answer against the files that they were taken from.

Invariant: a document's title, address, date, headings, sentences, numbers and cells, a canned question, and the name
and labels of a field, a series or a record stand in an answer as in the company's files. The values of an account
change, so they cannot be looked up again: the gate compares them with what was read for this answer. Checked by
tests/unit/answer/test_verification.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from support_agent.answer.final_answer import (
    AggregateItem,
    CalculationItem,
    ClarificationItem,
    DocumentItem,
    Excerpt,
    FieldItem,
    FinalAnswer,
    Operand,
    RecordItem,
    TableItem,
)
from support_agent.company.company import Company
from support_agent.company.documents import Document


@dataclass(frozen=True)
class Grounds:
    """Where an answer is looked up again.

    `document` finds a document by its version; where its language is not known, as in a replay, it is not compared.
    `company` is None where its other files are not known any more, as in a replay: of them nothing is stored.
    """

    document: Callable[[str], Document | None]
    company: Company | None = None

    @classmethod
    def of(cls, company: Company) -> Grounds:
        """The company as it is loaded."""
        return cls({document.version: document for document in company.texts}.get, company)


def unfounded(final: FinalAnswer, grounds: Grounds, locale: str) -> Iterator[str]:
    """What an answer says in the company's name and the company's files do not say, each in one sentence.

    Args:
        locale: That of the templates, in which labels and questions are taken.
    """
    for answer in final.answers:
        for item in answer.items:
            if isinstance(item, DocumentItem):
                yield from _wrong_in_document(item, grounds)
            elif grounds.company is not None and (wrong := _wrong_name(item, grounds.company, locale)):
                yield wrong


def _wrong_in_document(item: DocumentItem, grounds: Grounds) -> Iterator[str]:
    name = f"document {item.number}, version {item.version[:12]}"
    document = grounds.document(item.version)
    if document is None:
        yield f"{name} is not there"
        return
    head, language = document.head, document.language or item.language
    parts = (head.number, head.title, head.url, head.valid_from, head.delivery.value, document.version, language)
    said = (item.number, item.title, item.url, item.valid_from, item.delivery, item.version, item.language)
    if parts != said:
        yield f"{name} has another number, title, address, date, delivery or language than the answer says"
    for excerpt in item.excerpts:
        if not _stands_in(excerpt, document, item.keeps_form):
            yield f"{name}: sentence {excerpt.index} is not what the answer says"


def _stands_in(excerpt: Excerpt, document: Document, keeps_form: bool) -> bool:
    """Whether the document says all of it; what an older answer did not keep yet may be missing."""
    if not 0 <= excerpt.index < len(document.sentences):
        return False
    sentence = document.sentences[excerpt.index]
    fields = Excerpt.model_fields
    return all(
        value == getattr(sentence, name) or (value == fields[name].default and not keeps_form)
        for name, value in excerpt
    )


def _wrong_name(
    item: FieldItem | TableItem | AggregateItem | CalculationItem | ClarificationItem | RecordItem,
    company: Company,
    locale: str,
) -> str | None:
    match item:
        case ClarificationItem():
            texts = (question.text_for(locale) for question in company.questions if question.number == item.number)
            return None if item.text in texts else f"clarification {item.number} is not the company's"
        case FieldItem():
            field = company.accounts.fields.get(item.field)
            is_so = field is not None and field.label_for(locale) == item.label
            return None if is_so else f"account field {item.field} is not the company's, or has another label"
        case TableItem():
            return _wrong_series(item, company, locale)
        case AggregateItem():
            return _wrong_series(item.operand, company, locale)
        case CalculationItem():
            return _wrong_series(item.left, company, locale) or _wrong_series(item.right, company, locale)
        case RecordItem():
            return _wrong_record(item, company, locale)


def _wrong_record(item: RecordItem, company: Company, locale: str) -> str | None:
    spec = company.accounts.records.get(item.record)
    is_so = (
        spec is not None
        and spec.label_for(locale) == item.label
        and all(
            one.column in spec.columns and spec.columns[one.column].label_for(locale) == one.label
            for one in item.columns
        )
    )
    return None if is_so else f"record {item.record} is not the company's, or has other labels or columns"


def _wrong_series(data: TableItem | Operand, company: Company, locale: str) -> str | None:
    series = company.accounts.series.get(data.series)
    said = data.label, data.row_noun
    is_so = series is not None and (series.label_for(locale), series.row_noun_for(locale)) == said
    return None if is_so else f"series {data.series} is not the company's, or has another label or noun"
