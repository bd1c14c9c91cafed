"""The answers that are approved: every kind of item, every type of value, each way an answer begins and ends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.final_answer import Answer, FinalAnswer, Item
from support_agent.answer.provenance import check
from support_agent.answer.render import render
from support_agent.answer.sources import Rendered
from support_agent.answer.templates import Templates
from support_agent.company.company import Company
from support_agent.company.periods.recognition import periods
from support_agent.tools.answers import AskClarification, SendAccountField, SendAggregate, SendDocument, SendTable
from support_agent.tools.base import Added, Context, Tool
from support_agent.tools.data import Aggregate, Calculate, FetchSeries, Filter, Sort
from support_agent.tools.records import FetchRecord, SendRecord
from tests.fakes_journey import ANNA, TODAY, WordSearch, make_company

APPROVED = Path(__file__).parent / "approved"
LOCALES = ("en-GB", "de-DE", "fr-FR")
NAME, ADDRESS, SUBJECT = "Harborfile", "support@harborfile.example", "A question"
SOPHIE = "sophie.martin@example.org"
TOM = "tom.becker@example.com"
"""Has no payments, and so no latest invoice."""

QUESTION = "Can I get a refund for the rest of my yearly plan?"
CALLS: Mapping[str, tuple[str | None, int, tuple[Tool, ...]]] = {
    "document": (None, 1, (SendDocument(number=1),)),
    "document_full": (None, 1, (SendDocument(number=15),)),
    "document_tables": (None, 1, (SendDocument(number=19),)),
    "document_link": (None, 1, (SendDocument(number=18),)),
    "values": (
        ANNA,
        6,
        tuple(
            SendAccountField(field=name)
            for name in ("plan", "billing_cycle", "renewal_date", "seats_used", "storage_used", "next_invoice")
        ),
    ),
    "no_value": (TOM, 2, (SendAccountField(field="latest_invoice"),)),
    "table": (
        ANNA,
        1,
        (
            FetchSeries(series="payments", period="2025"),
            Filter(pointer="@1", keep="latest_3"),
            Sort(pointer="@2", order="lowest_first"),
            SendTable(pointer="@3"),
        ),
    ),
    "aggregate": (
        ANNA,
        2,
        (
            FetchSeries(series="payments", period="last_year"),
            Aggregate(pointer="@1", aggregation="total"),
            SendAggregate(pointer="@2"),
            FetchSeries(series="api_calls", period="2026-03"),
            Aggregate(pointer="@3", aggregation="highest"),
            SendAggregate(pointer="@4"),
        ),
    ),
    "calculation": (
        ANNA,
        1,
        (
            FetchSeries(series="storage", period="this_year"),
            Aggregate(pointer="@1", aggregation="highest"),
            FetchSeries(series="storage", period="last_year"),
            Aggregate(pointer="@3", aggregation="highest"),
            Calculate(operation="subtract", left="@2", right="@4"),
            SendAggregate(pointer="@5"),
        ),
    ),
    "record": (
        SOPHIE,
        2,
        (
            FetchRecord(records="invoices", id="HF-2025-0030"),
            SendRecord(pointer="@1", column="amount"),
            SendRecord(pointer="@1", column="all"),
        ),
    ),
    "clarification": (None, 2, (AskClarification(number=3),)),
}
"""By name: the customer, None for a sender who is not known; how many questions were asked; the calls."""


def rendered(folder: Path) -> Iterator[tuple[str, bytes]]:
    """(file name, bytes) of every part of every answer, and of the acknowledgement to a sender who is not known.

    Args:
        folder: An empty one, for the demo company's files.
    """
    settings = make_company(folder)
    company, templates = Company.load(settings), Templates.load(settings.templates)
    try:
        for locale in LOCALES:
            for name in CALLS:
                final = final_answer(name, company, locale)
                mail = render(final, templates)
                check(mail, final, templates)
                for part, text in (("subject", mail.subject), ("text", mail.text), ("html", mail.html)):
                    yield f"{name}.{locale}.{part}", text.text.encode()
                if locale == LOCALES[0]:
                    yield f"{name}.sources", "".join(lines_of(mail.text)).encode()
            acknowledgement = Acknowledgement(company=NAME, locale=locale, subject=None, support_address=ADDRESS)
            note = render(acknowledgement, templates)
            check(note, acknowledgement, templates)
            for part, text in (("subject", note.subject), ("text", note.text), ("html", note.html)):
                yield f"acknowledgement.{locale}.{part}", text.text.encode()
    finally:
        company.accounts.close()


def lines_of(text: Rendered) -> Iterator[str]:
    """What is no template's own word, and where it comes from: a value under another's role is a difference."""
    for span in text.spans:
        source = span.source.model_dump(mode="json", exclude_none=True)
        if source["kind"] != "template":
            told = " ".join(f"{name}={value}" for name, value in source.items())
            yield f"{json.dumps(span.text, ensure_ascii=False)}  {told}\n"


def final_answer(name: str, company: Company, locale: str) -> FinalAnswer:
    """The answer that the calls make; each item answers a question of its own."""
    address, asked, calls = CALLS[name]
    customer = company.accounts.customer(address) if address else None
    context = Context(
        today=TODAY,
        locale=locale,
        level=3 if customer else 2,
        customer=customer,
        documents=company.by_number,
        clarifications={question.number: question for question in company.questions},
        periods={period.name: period for period in periods(TODAY)},
        accounts=company.accounts,
        search=WordSearch(),
        questions=(QUESTION,),
        least_section=0.0,
        translations=company.in_language(locale, TODAY),
    )
    if customer:
        context.records = {"invoices": company.accounts.own_records("invoices", customer, locale)}
    results = [call.run(context) for call in calls]
    items: list[Item] = [result.item for result in results if isinstance(result, Added)]
    return FinalAnswer(
        company=NAME,
        locale=locale,
        greeting_name=customer.name if customer else None,
        subject=SUBJECT,
        asked=asked,
        answers=tuple(Answer(items=(item,)) for item in items),
        support_address=ADDRESS,
        customer=customer,
    )
