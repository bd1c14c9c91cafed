"""A small company for the tools: two documents, three fields, two series, invoices, and what a search would say.

`FakeAccounts` writes down every read, and `unreadable` is one that no test may read at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from support_agent.answer.final_answer import Operand, RecordColumn, RecordItem, TableItem
from support_agent.company.accounts import FieldSpec, RecordSpec, SeriesSpec
from support_agent.company.documents import Document, parse_document
from support_agent.company.periods.recognition import periods
from support_agent.company.questions import CannedQuestion
from support_agent.company.values import (
    Count,
    Customer,
    CustomerRecord,
    Day,
    Money,
    Number,
    Period,
    SeriesRow,
    Text,
    Value,
)
from support_agent.tools.base import Context, Data, Examples, Match, SegmentReading
from tests.fakes_reading import nearest_sections, phrased_by_letters, read_apart

TODAY = date(2025, 6, 1)
ANNA = Customer(id="c01", name="Anna Keller", address="anna.keller@example.net", locale="de-DE")
YEAR = Period(name="2024", first=date(2024, 1, 1), last=date(2024, 12, 31))
PERIODS = {period.name: period for period in periods(TODAY)}

REFUNDS = """
## Time

Refunds are given within 14 days. A renewal counts too.

## Exceptions

Bought in an app store? Ask there. We cannot refund it.

## Fees

| Plan | Fee |
|---|---|
| Pro | none |
| Team | 5 EUR |
"""


def document(number: int, body: str = REFUNDS, **head: str) -> Document:
    """A document parsed from its file, as the company's are; `head` adds or replaces front matter."""
    keys = {
        "number": str(number),
        "title": f"Document {number}",
        "summary": "What it is about.",
        "url": f"https://harborfile.example/{number}",
        "valid_from": "2025-01-01",
        **head,
    }
    front = "".join(f"{key}: {value}\n" for key, value in keys.items())
    return parse_document(Path(f"{number:03d}-document.md"), f"---\n{front}---\n{body}".encode())


def eur(amount: str) -> Money:
    return Money(amount=Decimal(amount), currency="EUR")


def row(day: str, value: Number, label: str = "") -> SeriesRow:
    return SeriesRow(day=date.fromisoformat(day), value=value, label=label)


def table(*rows: SeriesRow, steps: tuple[str, ...] = ()) -> TableItem:
    return TableItem(series="payments", label="Payments", period=YEAR, steps=steps, rows=rows)


def operand(value: Number | None, *, row_count: int = 1) -> Operand:
    return Operand(
        series="payments",
        label="Payments",
        period=YEAR,
        steps=(),
        aggregation="total",
        row_count=row_count,
        value=value,
    )


def invoice(number: str, amount: str = "19.00", state: str | None = "paid") -> CustomerRecord:
    """A record as the accounts give it."""
    values: dict[str, Value | None] = {
        "amount": eur(amount),
        "issued_on": Day(day=date(2025, 5, 9)),
        "state": None if state is None else Text(text=state),
    }
    return CustomerRecord(identifier=number, values=values)


def record_item(record: CustomerRecord, *columns: str) -> RecordItem:
    """The same as an item, with the columns named, or all."""
    labels = {"amount": "Amount", "issued_on": "Date of issue", "state": "State"}
    shown = columns or tuple(labels)
    return RecordItem(
        record="invoices",
        label="Invoice",
        identifier=record.identifier,
        columns=tuple(RecordColumn(column=one, label=labels[one], value=record.values[one]) for one in shown),
    )


VALUES: Mapping[str, Value | None] = {"seats_paid": Count(count=12), "plan": Text(text="Team")}


class FakeAccounts:
    """`support_agent.tools.base.AccountData` over plain values; `reads` is what was asked of it."""

    def __init__(
        self,
        values: Mapping[str, Value | None] | None = None,
        rows: Mapping[str, tuple[SeriesRow, ...]] | None = None,
        own: tuple[CustomerRecord, ...] = (),
    ) -> None:
        query = "SELECT 1 WHERE :customer_id = 1"
        labels = {"seats_paid": "Plätze", "plan": "Tarif", "latest_invoice": "Letzte Rechnung"}
        self.fields: Mapping[str, FieldSpec] = {
            name: FieldSpec.model_validate(
                {
                    "label": {"en": name.replace("_", " ").capitalize(), "de": german},
                    "summary": "One value.",
                    "type": "text",
                    "query": query,
                }
            )
            for name, german in labels.items()
        }
        self.series: Mapping[str, SeriesSpec] = {
            name: SeriesSpec.model_validate(
                {
                    "label": {"en": name.capitalize()},
                    "summary": "Dated values.",
                    "type": "money",
                    "query": f"{query} AND :first < :last",
                }
            )
            for name in ("payments", "storage")
        }
        self.records: Mapping[str, RecordSpec] = {
            "invoices": RecordSpec.model_validate(
                {
                    "label": {"en": "Invoice", "de": "Rechnung"},
                    "summary": "One invoice, by its number.",
                    "identifier": "number",
                    "query": query,
                    "columns": {
                        "amount": {"label": {"en": "Amount", "de": "Betrag"}, "summary": "Its sum.", "type": "money"},
                        "issued_on": {"label": {"en": "Date of issue"}, "summary": "Its day.", "type": "date"},
                        "state": {"label": {"en": "State"}, "summary": "Paid or not.", "type": "text"}
                        | {"values": {"paid": {"en": "paid", "de": "bezahlt"}}},
                    },
                }
            )
        }
        self._own = own
        self._values: Mapping[str, Value | None] = VALUES if values is None else values
        self._rows = rows or {}
        self.reads: list[tuple[str, Customer, Period | None]] = []

    def field(self, name: str, customer: Customer, locale: str) -> Value | None:
        """The value given for a field, or None."""
        self.reads.append((name, customer, None))
        return self._values.get(name)

    def rows(self, series: str, customer: Customer, period: Period, locale: str) -> tuple[SeriesRow, ...]:
        """The rows given for a series that lie in the period."""
        self.reads.append((series, customer, period))
        return tuple(r for r in self._rows.get(series, ()) if period.first <= r.day <= period.last)

    def own_records(self, kind: str, customer: Customer, locale: str) -> tuple[CustomerRecord, ...]:
        """The given records of the one kind."""
        self.reads.append((kind, customer, None))
        return self._own


class FakeSearch:
    """`support_agent.tools.base.Search` that gives the same matches to each text, and scores by shared words.

    Args:
        matches: What `nearest` finds.
        scores: Overrides `similarities`: the score of each text it is asked about, by a part of that text.
        chances: Overrides `sections`: of the first sections of any document; the others have none.
    """

    version = "fake-1"

    def __init__(
        self,
        matches: Sequence[Match] = (),
        scores: Mapping[str, float] | None = None,
        chances: Sequence[float] | None = None,
    ) -> None:
        self._matches = tuple(matches)
        self._scores = scores
        self._chances = chances
        self.asked: list[str] = []
        self.phrasings: Mapping[str, str] = {}
        """By a part of a text: the class that it is surely phrased as, the first that it holds."""

    def nearest(self, text: str) -> tuple[Match, ...]:
        """The matches, whatever is asked."""
        self.asked.append(text)
        return self._matches

    def read(self, pieces: Sequence[str]) -> tuple[SegmentReading, ...]:
        """By a few words; each piece is about a topic of its own."""
        return read_apart(pieces)

    def phrased(self, text: str, examples: Examples) -> Mapping[str, float]:
        """As `phrasings` says, else by character n-grams alone."""
        sure = next((name for part, name in self.phrasings.items() if part in text), None)
        if sure is not None:
            return {name: float(name == sure) for name, _ in examples}
        return phrased_by_letters(text, examples)

    def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        """The given score of the first key that each text holds; else the share of its words in `text`."""
        self.asked.append(text)
        if self._scores is not None:
            return [next((s for key, s in self._scores.items() if key in other), 0.0) for other in others]
        words = set(text.lower().split())
        return [len(words & set(other.lower().split())) / (len(words) or 1) for other in others]

    def sections(self, text: str, document: Document) -> list[float]:
        """As given, else as likely as their two nearest sentences are near."""
        if self._chances is not None:
            return [*self._chances, *[0.0] * (len(document.sections) - len(self._chances))]
        return nearest_sections(self, text, document)


QUESTIONS = {
    1: CannedQuestion(number=1, about="system", text={"en": "Which system?", "de": "Welches System?"}),
    3: CannedQuestion(number=3, about="period", text={"en": "Which period?"}),
}


def context(**changes: Any) -> Context:
    """What the tools see of a mail of the known customer Anna with two questions; `changes` replace parts."""
    given: dict[str, Any] = {
        "today": TODAY,
        "locale": "en",
        "level": 3,
        "customer": ANNA,
        "documents": {1: document(1), 7: document(7, delivery="full")},
        "clarifications": QUESTIONS,
        "periods": PERIODS,
        "accounts": FakeAccounts(),
        "search": FakeSearch(),
        "questions": ("Can I get a refund?", "How many seats do I have?"),
        "least_section": 0.0,
    }
    return Context(**{**given, **changes})


def pointing(*data: Data, **changes: Any) -> Context:
    """A context in which "@1", "@2", ... stand for the data."""
    made = context(**changes)
    for each in data:
        made.point_to(each)
    return made
