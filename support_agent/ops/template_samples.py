"""Made-up items and mails of every kind, with which `check` tries templates.

Invariant: together the samples take every branch that an item can cause (no value, one row, no row, each code), so that
`check` finds a template that fails on one. Checked by
tests/unit/ops/test_template_checks.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import get_args

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.alarm import Alarm
from support_agent.answer.digest import Age, Counted, Digest, Grown
from support_agent.answer.final_answer import (
    AggregateItem,
    Answer,
    CalculationItem,
    ClarificationItem,
    DocumentItem,
    Excerpt,
    FieldItem,
    FinalAnswer,
    Item,
    Operand,
    RecordColumn,
    RecordItem,
    TableItem,
)
from support_agent.answer.packet import (
    ConsideredCall,
    FoundDocument,
    FoundEvidence,
    FoundPage,
    Offered,
    Packet,
    QuestionRetrieval,
    QuotedSentence,
    RunnerUp,
    StoryEntry,
)
from support_agent.company.values import Count, Day, Money, Noun, Period, Quantity, SeriesRow, Text

PERIODS = (
    "this_month", "last_month", "this_quarter", "last_quarter", "this_year", "last_year", "all_time",
)  # fmt: skip
AGGREGATIONS: tuple[str, ...] = get_args(Operand.model_fields["aggregation"].annotation)
OPERATIONS: tuple[str, ...] = get_args(CalculationItem.model_fields["operation"].annotation)
LEVELS = ("0", "1", "2", "3")
CODES = {
    "period": (*PERIODS, "year", "month"),
    "aggregation": AGGREGATIONS,
    "operation": OPERATIONS,
    "level": LEVELS,
}
"""The codes of items and packets; tools add steps and reasons."""

_YEAR = Period(name="2025", first=date(2025, 1, 1), last=date(2025, 12, 31))
_MONTH = Period(name="2024-03", first=date(2024, 3, 1), last=date(2024, 3, 31))
_ADDRESS = "support@example.com"
_AT = datetime(2026, 5, 4, 9, 30, tzinfo=UTC)
_INVOICES = Noun(one="invoice", other="invoices")
_TOTAL = Operand(
    series="payments",
    label="Your payments",
    row_noun=_INVOICES,
    period=_YEAR,
    steps=(),
    aggregation="total",
    row_count=12,
    value=Money(amount=Decimal("228.00"), currency="EUR"),
)
_COLUMNS = (
    RecordColumn(column="amount", label="Amount", value=Money(amount=Decimal("19.00"), currency="EUR")),
    RecordColumn(column="due_on", label="Due on", value=Day(day=date(2024, 3, 17))),
    RecordColumn(column="seats", label="Seats", value=Count(count=9, unit=Noun(one="seat", other="seats"))),
    RecordColumn(column="paid_on", label="Paid on", value=None),
)


def _fields(_: tuple[str, ...]) -> Iterator[Item]:
    for value in (
        None,
        Text(text='Team <b>"plus"</b> & more'),
        Day(day=date(2026, 3, 17)),
        Count(count=9, unit=Noun(one="seat", other="seats")),
        Quantity(amount=Decimal("83.4"), unit="GB"),
        Money(amount=Decimal("-1234.5"), currency="USD"),
    ):
        yield FieldItem(field="plan", label="Your plan", value=value)


def _calculations(_: tuple[str, ...]) -> Iterator[Item]:
    for operation in OPERATIONS:
        right = _TOTAL.model_copy(update={"period": _MONTH, "row_count": 1, "aggregation": "highest"})
        yield CalculationItem.model_validate(
            {
                "operation": operation,
                "left": _TOTAL,
                "right": right.model_copy(update={"day": date(2024, 3, 9)}),
                "result": Quantity(amount=Decimal("12.5"), unit=""),
            }
        )


def _clarifications(_: tuple[str, ...]) -> Iterator[Item]:
    yield ClarificationItem(number=1, text="Which invoice do you mean?")


def _records(_: tuple[str, ...]) -> Iterator[Item]:
    for shown in (_COLUMNS, _COLUMNS[:1], _COLUMNS[-1:]):
        yield RecordItem(record="invoices", label="Invoice", identifier='EX-2024 <"3"> & more', columns=shown)


def around(*items: Item, locale: str = "en", asked: int | None = None) -> FinalAnswer:
    """A whole answer with one block for each item; it is partial if `asked` is greater than their number."""
    return FinalAnswer(
        company="Example & Co.",
        locale=locale,
        greeting_name="Ana O'Neil",
        subject="An invoice",
        asked=len(items) if asked is None else asked,
        answers=tuple(Answer(items=(item,)) for item in items),
        support_address=_ADDRESS,
    )


def sample_answers(locale: str) -> Iterator[FinalAnswer]:
    """Whole answers: partial or not, approved, with and without name and subject, the notice at the top and below."""
    items = tuple(sample_items())
    yield around(*items, locale=locale)
    for kinds in ({"document"}, {"account_field"}, {"document", "account_field"}, {"clarification"}, {"record"}):
        chosen = (item for item in items if item.kind in kinds)
        yield around(*chosen, locale=locale).model_copy(update={"notice": "top"})
    yield around(items[0], locale=locale, asked=2)
    yield around(items[0], locale=locale).model_copy(update={"is_approved": True})
    yield around(*items[:2], locale=locale, asked=4)
    yield around(items[0], locale=locale).model_copy(update={"greeting_name": None, "subject": None})


def sample_acknowledgements(locale: str) -> Iterator[Acknowledgement]:
    for subject in ("An invoice", None):
        yield Acknowledgement(company="Example & Co.", locale=locale, subject=subject, support_address=_ADDRESS)


def sample_later_acknowledgements(locale: str) -> Iterator[Acknowledgement]:
    """Acknowledgements with parts that older templates lack: when people work next, and how soon they answer."""
    (now, _) = sample_acknowledgements(locale)
    closed = {"opens_at": _AT, "opens_in": "Europe/Berlin"}
    for hours in (closed, {"reply_within_h": 1}, {**closed, "reply_within_h": 4}):
        yield now.model_copy(update=hours)


def sample_packets(locale: str) -> Iterator[Packet]:
    """A full packet and the smallest possible one."""
    full = Packet(
        locale=locale,
        case_id="case-1",
        customer_address="ana@example.com",
        level=3,
        level_why="DMARC passed for example.com",
        subject="Re: An invoice",
        mail_text="Hello,\n\n  please send it.\n-- \nAna",
        left_out=1_200,
        reason_code="unsure",
        why="0.41 is below 0.50",
        considered=(
            ConsideredCall(
                call="send_document(number=10)",
                confidence=0.41,
                outcome="below the threshold",
                runners_up=(RunnerUp(call="escalate(reason=unsure)", confidence=0.3),),
            ),
            ConsideredCall(call="finish()", confidence=1, outcome="done"),
        ),
        found=(FoundDocument(number=10, title="Invoices, VAT and tax", score=0.71),),
        retrievals=(
            QuestionRetrieval(
                number=1,
                question="Please send it.",
                reason_code="not_an_answer",
                evidence=(
                    FoundEvidence(
                        number=10,
                        title="Invoices, VAT and tax",
                        grade=0.64,
                        sentences=(QuotedSentence(position=3, text="Invoices are in Billing > Invoices."),),
                    ),
                ),
                pages=(
                    FoundPage(
                        address="https://forum.example/invoices?page=2",
                        heading="Where my invoices were",
                        text="They were in a folder that was called Old.",
                        found_by=("google", "wikipedia"),
                    ),
                    FoundPage(
                        address="https://harborfile.example/help/invoices",
                        heading="Invoices",
                        text="They are in Billing.",
                        found_by=("site",),
                        document=10,
                    ),
                ),
            ),
            QuestionRetrieval(number=2, question="When?", reason_code="sample_code_without_words"),
        ),
        answered_text="Hello Ana,\n\nYour plan: Team",
        reply_address=_ADDRESS,
    )
    yield full
    yield Packet(
        locale=locale,
        case_id="case-2",
        customer_address="ana@example.com",
        level=0,
        level_why="there is no Authentication-Results field of ours",
        subject="",
        mail_text="",
        reason_code="sample_code_without_words",
        reply_address=_ADDRESS,
    )


def sample_later_packets(locale: str) -> Iterator[Packet]:
    """The full packet with parts that older templates lack: the original that is not attached, the case so far, and
    an answer that waits, for a person or for its time."""
    full = next(sample_packets(locale))
    yield full.model_copy(update={"original_id": "0a1b"})
    story = (
        StoryEntry(who="customer", at=_AT, text="Where is\n\nmy bill of May?"),
        StoryEntry(who="acknowledgement", at=_AT, text=""),
    )
    yield full.model_copy(update={"story": story, "story_left_out": 2})
    proposed = "Subject: Re: An invoice\n\nHello Ana,\n\nYour plan: Team"
    line = f"[case-1] document 10 {'A' * 26}"
    offered = (
        Offered(code="approve", line=f"[case-1] approve {'A' * 26}", link="mailto:support@example.com?subject=a"),
        Offered(code="document", line=line, link="mailto:support@example.com?subject=d", title="Invoices"),
    )
    changes: dict[str, object] = {
        "answered_text": None,
        "proposed_text": proposed,
        "proposed_id": "0a1b-answer",
        "offered": offered,
        "offered_until": datetime(2026, 12, 1, 12, 0, tzinfo=UTC),
    }
    yield full.model_copy(update=changes)
    undo = Offered(code="undo", line=f"[case-1] undo {'A' * 26}", link="mailto:support@example.com?subject=u")
    yield full.model_copy(update=changes | {"offered": (undo,), "leaves_at": _AT, "reason_code": "held"})


def sample_digests(locale: str) -> Iterator[Digest]:
    """A full digest, and that of a quiet week."""
    empty = Digest(
        locale=locale,
        since=_AT,
        until=_AT,
        mails=0,
        answered=0,
        partly_answered=0,
        escalated=0,
        filed=0,
        people_answered=0,
        people_open=0,
        waiting=0,
    )
    topic = Counted(name="document:1", mails=7, title="Refund policy")
    full = {
        "mails": 12,
        "answered": 7,
        "answered_by": (topic, Counted(name="field:gone", mails=1)),
        "reasons": (Counted(name="unsure", mails=3), Counted(name="sample_code_without_words", mails=1)),
        "filed_by": (Counted(name="S2", mails=1),),
        "median_hours": 3.25,
        "ninetieth_hours": 20.0,
        "grown": (
            Grown(topic="document:1", title="Refund policy", before=1, now=7, is_sure=True),
            Grown(topic="field:gone", title=None, before=0, now=1, is_sure=False),
        ),
        "ages": (Age(least_days=0, below_days=1, cases=2), Age(least_days=30, below_days=None, cases=1)),
    }
    yield empty.model_copy(update=full)
    yield empty


def sample_alarms(locale: str) -> Iterator[Alarm]:
    """An alarm that begins, one that lasts, and one that has ended."""
    begun = Alarm(
        locale=locale,
        kind="backlog",
        state="begun",
        what="12 mails not decided yet, the oldest since 2026-11-23 06:20 UTC",
        todo="see what the log of `support-agent run` says",
        since=_AT,
        at=_AT,
        again_h=24,
    )
    yield begun
    yield begun.model_copy(update={"state": "lasts", "again_h": 0.5})
    yield begun.model_copy(update={"state": "ended", "todo": ""})


def _documents(_: tuple[str, ...]) -> Iterator[Item]:
    excerpts = (
        _excerpt(0, "", 0, "sentence", "Refunds are made within 14 days."),
        _excerpt(1, "", 0, "sentence", "Ask by mail."),
        _excerpt(4, "Exceptions", 2, "sentence", "There are two."),
        _excerpt(5, "Exceptions", 3, "item", "Gift cards"),
        _excerpt(6, "Exceptions", 4, "item", "Domain names"),
        _excerpt(7, "Exceptions", 5, "item", "Open Billing.", number=1),
        _excerpt(8, "Exceptions", 5, "item", "As the owner.", depth=1),
        _excerpt(10, "Exceptions", 5, "item", "Press Refund.", number=3),
        _excerpt(12, "Fees", 6, "row", "Way | Fee", cells=("Way", "Fee"), is_header=True),
        _excerpt(13, "Fees", 6, "row", "Card | none", cells=("Card", "none")),
        _excerpt(14, "Fees", 7, "row", "| cash", cells=("", "cash")),
        *_wide_table(),
    )
    samples = (("excerpt", excerpts, "en"), ("full", excerpts[:2], "de"), ("link", (), "fr"), ("link", (), None))
    for delivery, sent, language in samples:
        yield DocumentItem.model_validate(
            {
                "number": 1,
                "title": "Refund policy",
                "version": "0" * 64,
                "valid_from": date(2026, 1, 1),
                "url": "https://example.com/refunds?a=1&b=2",
                "delivery": delivery,
                "excerpts": sent,
                "keeps_form": True,
                "language": language,
            }
        )


def _wide_table() -> Iterator[Excerpt]:
    """A table wider than the text, with empty cells."""
    long = "Only with the number of the invoice, within 14 days"
    rows = (("Who", "", "How", "Where"), ("Private customers", "free", long, ""), ("", "", long, ""))
    for position, cells in enumerate(rows):
        yield _excerpt(20 + position, "Fees", 8, "row", " | ".join(cells), cells=cells, is_header=position == 0)


def _excerpt(index: int, heading: str, paragraph: int, kind: str, text: str, **form: object) -> Excerpt:
    return Excerpt.model_validate(
        {"index": index, "heading": heading, "paragraph": paragraph, "kind": kind, "text": text, **form}
    )


def _tables(steps: tuple[str, ...]) -> Iterator[Item]:
    value = Money(amount=Decimal("19.00"), currency="EUR")
    rows = (
        SeriesRow(day=date(2024, 3, 1), value=value, label="Invoice EX-2024-003"),
        SeriesRow(day=date(2024, 3, 2), value=value),
    )
    for period, sent in ((_MONTH, rows), (_YEAR, rows[:1]), (_named("last_quarter"), ())):
        yield TableItem(
            series="payments", label="Your payments", row_noun=_INVOICES, period=period, steps=steps, rows=sent
        )


def _aggregates(steps: tuple[str, ...]) -> Iterator[Item]:
    for aggregation in AGGREGATIONS:
        day = date(2025, 5, 1) if aggregation in ("highest", "lowest", "latest") else None
        operand = _TOTAL.model_copy(update={"aggregation": aggregation, "day": day})
        yield AggregateItem(operand=operand)
    for name in PERIODS:
        yield AggregateItem(operand=_TOTAL.model_copy(update={"period": _named(name), "row_count": 1}))
    yield AggregateItem(operand=_TOTAL.model_copy(update={"period": _MONTH, "row_count": 0, "value": None}))
    yield AggregateItem(operand=_TOTAL.model_copy(update={"steps": steps}))


def _named(name: str) -> Period:
    return Period(name=name, first=date(2026, 7, 1), last=date(2026, 9, 30))


SAMPLES: dict[str, Callable[[tuple[str, ...]], Iterator[Item]]] = {
    "document": _documents,
    "account_field": _fields,
    "table": _tables,
    "aggregate": _aggregates,
    "calculation": _calculations,
    "clarification": _clarifications,
    "record": _records,
}
"""By kind of item; tables and aggregates get the steps."""


def sample_items(steps: tuple[str, ...] = ()) -> Iterator[Item]:
    """Items of every kind and in every shape."""
    for made in SAMPLES.values():
        yield from made(steps)
