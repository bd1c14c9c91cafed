"""From a source back to the text that must stand there: the gate's half, which never sees a template engine.

Invariant: a source that does not fit what the mail was made from has no text; it is refused, not guessed.
Checked by tests/unit/answer/test_provenance.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar, assert_never

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.final_answer import (
    AggregateItem,
    CalculationItem,
    ClarificationItem,
    DocumentItem,
    Excerpt,
    FieldItem,
    FinalAnswer,
    Item,
    Operand,
    RecordItem,
    TableItem,
)
from support_agent.answer.formatting import (
    bare_subject,
    clean_line,
    clean_lines,
    format_confidence,
    format_count,
    format_counted,
    format_day,
    format_month,
    format_value,
    period_code,
    table_lines,
)
from support_agent.answer.packet import Packet
from support_agent.answer.sources import (
    AccountSource,
    ClarificationSource,
    ComputedSource,
    CustomerSource,
    DocumentSource,
    InboundSource,
    SettingsSource,
    Source,
    SubjectSource,
    TemplateSource,
    WordSource,
)
from support_agent.answer.templates import Templates
from support_agent.company.values import Period
from support_agent.core.locales import language_name
from support_agent.errors import GateRefused

MadeFrom = FinalAnswer | Acknowledgement | Packet
T = TypeVar("T")


def derive(source: Source, made_from: MadeFrom, templates: Templates) -> str:
    """The text, before any escaping, that a span with this source must have.

    Raises:
        GateRefused: what the mail was made from has nothing there, or `source` is a template's (its text is
            in
            the file, not in what the mail was made from).
    """
    match made_from:
        case Packet():
            return _of_packet(source, made_from, templates)
        case FinalAnswer():
            return _of_answer(source, made_from, templates)
        case Acknowledgement():
            if not isinstance(source, SettingsSource | SubjectSource):
                raise _nothing(source)
            return clean_line(_of_customer_mail(source, made_from))
        case _ as never:
            assert_never(never)


def _of_customer_mail(source: SettingsSource | SubjectSource, mail: FinalAnswer | Acknowledgement) -> str:
    if isinstance(source, SettingsSource):
        return mail.company if source.part == "company" else mail.support_address
    return bare_subject(_present(mail.subject, source))


def _of_answer(source: Source, final: FinalAnswer, templates: Templates) -> str:
    locale = templates.locale_for(final.locale)
    match source:
        case SettingsSource() | SubjectSource():
            return clean_line(_of_customer_mail(source, final))
        case CustomerSource():
            return clean_line(_present(final.greeting_name, source))
        case DocumentSource():
            return _of_document(source, final, locale)
        case AccountSource():
            return clean_line(_of_account(source, final, locale))
        case ClarificationSource():
            item = _item(source, final)
            if not isinstance(item, ClarificationItem) or item.number != source.number:
                raise _nothing(source)
            return clean_line(item.text)
        case ComputedSource():
            return _computed(source, final, locale)
        case WordSource():
            return _word(source, _code(source, final), locale, templates)
        case TemplateSource() | InboundSource():
            raise _nothing(source)
        case _ as never:
            assert_never(never)


def _of_document(source: DocumentSource, final: FinalAnswer, locale: str) -> str:
    item = _item(source, final)
    if not isinstance(item, DocumentItem) or (item.number, item.version) != (source.number, source.version):
        raise _nothing(source)
    if source.language != item.language:
        raise _nothing(source)
    match source.part:
        case "number":
            return str(item.number)
        case "title":
            return clean_line(item.title)
        case "url":
            return clean_line(item.url)
        case "valid_from":
            return clean_line(format_day(item.valid_from, locale))
        case "language" if item.is_foreign_to(locale):
            return clean_line(language_name(_present(item.language, source), locale))
        case _:
            return _of_excerpt(source, item)


def _of_excerpt(source: DocumentSource, item: DocumentItem) -> str:
    cited = [excerpt for excerpt in item.excerpts if excerpt.index == source.sentence]
    if len(cited) != 1:
        raise _nothing(source)
    excerpt = cited[0]
    match source.part:
        case "heading":
            return clean_line(excerpt.heading)
        case "sentence":
            return clean_line(excerpt.text)
        case "step":
            return str(_present(excerpt.number, source))
        case "cell":
            return clean_line(_at(excerpt.cells, source.column, source))
        case "row" | "rule":
            return _of_table(source, excerpt, item)
        case _:
            raise _nothing(source)


def _of_table(source: DocumentSource, excerpt: Excerpt, item: DocumentItem) -> str:
    """A row as a line, or the rule under it, in the table that its row stands in."""
    if not excerpt.cells or (source.part == "rule" and not excerpt.is_header):
        raise _nothing(source)
    table = [other for other in item.excerpts if other.cells and other.paragraph == excerpt.paragraph]
    lines, rule = _present(table_lines(tuple(other.cells for other in table)), source)
    return rule if source.part == "rule" else lines[[other.index for other in table].index(excerpt.index)]


def _of_account(source: AccountSource, final: FinalAnswer, locale: str) -> str:
    item = _item(source, final)
    if isinstance(item, FieldItem):
        return _of_field(source, item, locale)
    if isinstance(item, RecordItem):
        return _of_record(source, item, locale)
    data = _data(item, source)
    if data.series != source.name:
        raise _nothing(source)
    match source.part:
        case "label":
            return data.label
        case "row_noun":
            return format_counted(data.row_noun, _row_count(data), locale)
        case "period_name":
            return _period_name(data.period, source, locale)
        case "period_first":
            return format_day(data.period.first, locale)
        case "period_last":
            return format_day(data.period.last, locale)
        case "value" | "day":
            return _of_operand(source, data, locale)
        case "row_day" | "row_label" | "row_value":
            return _of_row(source, data, locale)
        case "record" | "identifier" | "column" | "column_value":
            raise _nothing(source)
        case _ as never:
            assert_never(never)


def _of_field(source: AccountSource, item: FieldItem, locale: str) -> str:
    if item.field == source.name and source.part == "label":
        return item.label
    if item.field == source.name and source.part == "value" and item.value is not None:
        return format_value(item.value, locale)
    raise _nothing(source)


def _of_record(source: AccountSource, item: RecordItem, locale: str) -> str:
    if item.record != source.name or source.side is not None:
        raise _nothing(source)
    if source.part in ("record", "identifier") and source.row is None:
        return item.label if source.part == "record" else item.identifier
    column = _at(item.columns, source.row, source)
    if source.part == "column":
        return column.label
    if source.part == "column_value" and column.value is not None:
        return format_value(column.value, locale)
    raise _nothing(source)


def _of_operand(source: AccountSource, data: TableItem | Operand, locale: str) -> str:
    if isinstance(data, Operand) and source.part == "day" and data.day is not None:
        return format_day(data.day, locale)
    if isinstance(data, Operand) and source.part == "value" and data.value is not None:
        return format_value(data.value, locale)
    raise _nothing(source)


def _of_row(source: AccountSource, data: TableItem | Operand, locale: str) -> str:
    if not isinstance(data, TableItem):
        raise _nothing(source)
    row = _at(data.rows, source.row, source)
    if source.part == "row_day":
        return format_day(row.day, locale)
    return row.label if source.part == "row_label" else format_value(row.value, locale)


def _period_name(period: Period, source: Source, locale: str) -> str:
    match period_code(period.name):
        case "year":
            return period.name
        case "month":
            return format_month(period.first, locale)
        case _:
            raise _nothing(source)


def _computed(source: ComputedSource, final: FinalAnswer, locale: str) -> str:
    match source.part:
        case "answered":
            return format_count(final.n_answered, locale)
        case "asked":
            return format_count(final.asked, locale)
        case "remaining":
            return format_count(max(0, final.asked - final.n_answered), locale)
        case "result":
            item = _item(source, final)
            if not isinstance(item, CalculationItem):
                raise _nothing(source)
            return clean_line(format_value(item.result, locale))
        case "row_count":
            return format_count(_row_count(_data(_item(source, final), source)), locale)
        case _ as never:
            assert_never(never)


def _row_count(data: TableItem | Operand) -> int:
    return len(data.rows) if isinstance(data, TableItem) else data.row_count


def _code(source: WordSource, final: FinalAnswer) -> str:
    """The code that the answer has where the word stands."""
    item = _item(source, final)
    if source.section == "operation" and isinstance(item, CalculationItem):
        return item.operation
    data = _data(item, source)
    if source.section == "period":
        return period_code(data.period.name)
    if source.section == "step":
        return _at(data.steps, source.step, source)
    if source.section == "aggregation" and not isinstance(data, TableItem):
        return data.aggregation
    raise _nothing(source)


def _word(source: WordSource, code: str, locale: str, templates: Templates) -> str:
    word = templates.word(source.section, code, locale)
    if word is None or (word.name, word.line, code) != (source.name, source.line, source.code):
        raise _nothing(source)
    return clean_line(word.text)


def _of_packet(source: Source, packet: Packet, templates: Templates) -> str:
    if isinstance(source, WordSource):
        code = {"reason": packet.reason_code, "level": str(packet.level)}.get(source.section)
        if source.section == "finding":
            code = _at(packet.looked, source.item, source).reason_code
        return _word(source, _present(code, source), templates.locale_for(packet.locale), templates)
    if not isinstance(source, InboundSource):
        raise _nothing(source)
    match source.part:
        case "mail_line":
            return _at(_lines_of(packet.mail_text), source.index, source)
        case "answered_line":
            return _at(_lines_of(_present(packet.answered_text, source)), source.index, source)
        case "left_out":
            return format_count(_present(packet.left_out, source), templates.locale_for(packet.locale))
        case "subject":
            return bare_subject(packet.subject)
        case "case_id" | "customer_address" | "level" | "level_why" | "reason_code" | "why" | "reply_address":
            return clean_line(str(getattr(packet, source.part)))
        case "call" | "confidence" | "outcome" | "runner_up" | "runner_up_confidence":
            return clean_line(_of_considered(source, packet))
        case "document_number" | "document_title" | "document_score":
            found = _at(packet.found, source.index, source)
            shown = {
                "document_number": str(found.number),
                "document_title": found.title,
                "document_score": format_confidence(found.score),
            }
            return clean_line(shown[source.part])
        case "question_number" | "question" | "finding_code":
            looked = _at(packet.looked, source.index, source)
            told = {"question_number": looked.number, "question": looked.question, "finding_code": looked.reason_code}
            return clean_line(str(told[source.part]))
        case "evidence_number" | "evidence_title" | "evidence_grade" | "evidence_position" | "evidence_sentence":
            return clean_line(_of_evidence(source, packet))
        case "page_address" | "page_heading" | "page_found_by" | "page_text":
            part = getattr(_at(packet.pages, source.index, source), source.part.removeprefix("page_"))
            return clean_line(part if isinstance(part, str) else ", ".join(part))
        case "page_document":
            return str(_present(_at(packet.pages, source.index, source).document, source))
        case _ as never:
            assert_never(never)


def _of_evidence(source: InboundSource, packet: Packet) -> str:
    evidence = _at(packet.evidence, source.index, source)
    match source.part:
        case "evidence_number":
            return str(evidence.number)
        case "evidence_title":
            return evidence.title
        case "evidence_grade":
            return format_confidence(_present(evidence.grade, source))
        case _:
            sentence = _at(evidence.sentences, source.nested, source)
            return str(sentence.position) if source.part == "evidence_position" else sentence.text


@lru_cache(maxsize=2)
def _lines_of(text: str) -> tuple[str, ...]:
    """The lines of a text, made once and not again for each of them."""
    return clean_lines(text)


def _of_considered(source: InboundSource, packet: Packet) -> str:
    considered = _at(packet.considered, source.index, source)
    match source.part:
        case "call":
            return considered.call
        case "confidence":
            return format_confidence(considered.confidence)
        case "outcome":
            return considered.outcome
        case _:
            runner_up = _at(considered.runners_up, source.nested, source)
            return runner_up.call if source.part == "runner_up" else format_confidence(runner_up.confidence)


def _item(
    source: DocumentSource | AccountSource | ClarificationSource | ComputedSource | WordSource,
    final: FinalAnswer,
) -> Item:
    """The item that a source points to."""
    return _at(_at(final.answers, source.answer, source).items, source.item, source)


def _data(item: Item, source: AccountSource | ComputedSource | WordSource) -> TableItem | Operand:
    """The rows or the operand of an item that a source points to."""
    match item:
        case TableItem() if source.side is None:
            return item
        case AggregateItem() if source.side is None:
            return item.operand
        case CalculationItem() if source.side is not None:
            return item.left if source.side == "left" else item.right
        case _:
            raise _nothing(source)


def _at(values: Sequence[T], position: int | None, source: Source) -> T:
    if position is None or position >= len(values):
        raise _nothing(source)
    return values[position]


def _present(value: T | None, source: Source) -> T:
    if value is None:
        raise _nothing(source)
    return value


def _nothing(source: Source) -> GateRefused:
    shown = source.model_dump(exclude_none=True)
    return GateRefused(f"there is nothing at the source {shown}", code="source")
