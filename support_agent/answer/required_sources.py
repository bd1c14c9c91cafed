"""What a mail owes its reader: the sources that must be in it, whatever the templates look like.

Invariant: an item's parameters are all owed, so an answer whose templates leave one out does not pass the
gate. Checked by tests/unit/answer/test_required_sources.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.expected_text import MadeFrom
from support_agent.answer.final_answer import (
    AggregateItem,
    CalculationItem,
    ClarificationItem,
    DocumentItem,
    FieldItem,
    FinalAnswer,
    Item,
    Operand,
    RecordItem,
    TableItem,
)
from support_agent.answer.formatting import period_code
from support_agent.answer.packet import Packet
from support_agent.answer.sources import (
    AccountSource,
    ClarificationSource,
    ComputedSource,
    DocumentSource,
    InboundSource,
    Rendered,
    SettingsSource,
    Side,
    Source,
    WordSource,
)
from support_agent.core.locales import FALLBACK_LOCALE

_ADDRESS = SettingsSource(part="support_address")


def missing(rendered: Rendered, made_from: MadeFrom, locale: str) -> list[str]:
    """What the mail owes its reader and does not say, in words for an operator.

    Args:
        locale: That of the templates.
    """
    said = {key_of(span.source) for span in rendered.spans}
    return [key_of(source) for source in _owed_by(made_from, locale) if key_of(source) not in said]


def owed(item: Item, answer: int = 0, position: int = 0, locale: str = FALLBACK_LOCALE) -> Iterator[Source]:
    """The sources that every rendering of an item must show in a mail of a locale: its parameters.

    A word's template line is not known here: `WordSource` has line 1, and `key_of` leaves the line out.
    """
    match item:
        case DocumentItem():
            yield from _owed_by_document(item, answer, position)
            if item.is_foreign_to(locale):
                yield _of_document(item, answer, position, "language")
        case FieldItem():
            parts = ("label",) if item.value is None else ("label", "value")
            yield from (_account(item.field, part, answer, position) for part in parts)
        case TableItem():
            yield from _owed_by_data(item, answer, position, None)
            for number, row in enumerate(item.rows):
                for part in ("row_day", "row_label", "row_value") if row.label else ("row_day", "row_value"):
                    yield _account(item.series, part, answer, position, row=number)
        case AggregateItem():
            yield from _owed_by_data(item.operand, answer, position, None)
        case CalculationItem():
            yield from _owed_by_data(item.left, answer, position, "left")
            yield from _owed_by_data(item.right, answer, position, "right")
            yield _word("operation", item.operation, answer, position, None)
            yield ComputedSource(part="result", answer=answer, item=position)
        case ClarificationItem():
            yield ClarificationSource(answer=answer, item=position, number=item.number)
        case RecordItem():
            yield from (_account(item.record, part, answer, position) for part in ("record", "identifier"))
            for number, column in enumerate(item.columns):
                for part in ("column",) if column.value is None else ("column", "column_value"):
                    yield _account(item.record, part, answer, position, row=number)


def _owed_by(made_from: MadeFrom, locale: str) -> Iterator[Source]:
    match made_from:
        case FinalAnswer():
            for answer, block in enumerate(made_from.answers):
                for position, item in enumerate(block.items):
                    yield from owed(item, answer, position, locale)
            if made_from.asked > made_from.n_answered:
                yield ComputedSource(part="answered")
                yield ComputedSource(part="asked")
            yield _ADDRESS
        case Acknowledgement():
            yield _ADDRESS
        case Packet():
            yield from _owed_by_packet(made_from)


def _owed_by_document(item: DocumentItem, answer: int, position: int) -> Iterator[Source]:
    yield from (_of_document(item, answer, position, part) for part in ("number", "title", "url", "valid_from"))
    for excerpt in item.excerpts:
        yield _of_document(item, answer, position, "row" if excerpt.cells else "sentence", excerpt.index)
        if excerpt.number is not None:
            yield _of_document(item, answer, position, "step", excerpt.index)


def _of_document(item: DocumentItem, answer: int, position: int, part: str, sentence: int | None = None) -> Source:
    return DocumentSource.model_validate(
        {"answer": answer, "item": position, "number": item.number, "version": item.version, "part": part}
        | {"sentence": sentence}
    )


def _owed_by_data(data: TableItem | Operand, answer: int, position: int, side: Side | None) -> Iterator[Source]:
    """The parameters that rows and aggregates share, then what an aggregate adds."""
    code = period_code(data.period.name)
    yield _account(data.series, "label", answer, position, side)
    yield _word("period", code, answer, position, side)
    if code in ("year", "month"):
        yield _account(data.series, "period_name", answer, position, side)
    if code != "all_time":
        yield _account(data.series, "period_first", answer, position, side)
    yield _account(data.series, "period_last", answer, position, side)
    for number, step in enumerate(data.steps):
        yield _word("step", step, answer, position, side, number)
    yield ComputedSource(part="row_count", answer=answer, item=position, side=side)
    if data.row_noun:
        yield _account(data.series, "row_noun", answer, position, side)
    if isinstance(data, Operand):
        yield _word("aggregation", data.aggregation, answer, position, side)
        if data.value is not None:
            yield _account(data.series, "value", answer, position, side)
        if data.day is not None:
            yield _account(data.series, "day", answer, position, side)


def _owed_by_packet(packet: Packet) -> Iterator[Source]:
    for part in ("case_id", "customer_address", "level", "reason_code", "reply_address"):
        yield InboundSource.model_validate({"part": part})
    if packet.left_out is not None:
        yield InboundSource(part="left_out")
    for place in range(len(packet.considered)):
        for part in ("call", "confidence", "outcome"):
            yield InboundSource.model_validate({"part": part, "index": place})
    for place in range(len(packet.found)):
        yield InboundSource(part="document_number", index=place)
    for place in range(len(packet.looked)):
        for part in ("question_number", "finding_code"):
            yield InboundSource.model_validate({"part": part, "index": place})
    for place, evidence in enumerate(packet.evidence):
        yield InboundSource(part="evidence_number", index=place)
        for nested in range(len(evidence.sentences)):
            yield InboundSource(part="evidence_sentence", index=place, nested=nested)
    for place in range(len(packet.pages)):
        for part in ("page_address", "page_text"):
            yield InboundSource.model_validate({"part": part, "index": place})


def _account(
    name: str, part: str, answer: int, position: int, side: Side | None = None, row: int | None = None
) -> Source:
    return AccountSource.model_validate(
        {"answer": answer, "item": position, "name": name, "part": part, "side": side, "row": row}
    )


def _word(section: str, code: str, answer: int, position: int, side: Side | None, step: int | None = None) -> Source:
    return WordSource.model_validate(
        {"name": "words", "line": 1, "section": section, "code": code, "answer": answer, "item": position}
        | {"side": side, "step": step}
    )


def key_of(source: Source) -> str:
    """A source as words for people, the same for the same thing wherever its template stands.

    A row is the same as its line, its rule and its cells: that each of these is there `order` checks.
    """
    shown = source.model_dump(exclude_none=True, exclude={"kind", "version", "name", "line", "column", "language"})
    if isinstance(source, DocumentSource) and source.part in ("cell", "rule"):
        shown["part"] = "row"
    name = [source.name] if isinstance(source, AccountSource) else []
    return " ".join([source.kind, *name, *(f"{key}={value}" for key, value in shown.items())])
