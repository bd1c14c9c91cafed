"""The table of item kinds: the parts of each kind, with source, format, and whether a mail must show it.

Rendering, the gate and `why` read it. A new kind of item is its type in `final_answer`, an entry here, its
cases in `templates/tests`, and its two partials (text and HTML) in `templates/`.

Invariant: the entry of a kind has every part with content, required unless stated; text of the company is compared with
its files. Checked by tests/unit/answer/test_item_kinds.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from support_agent.answer.document_layout import LAYOUT_NAMES, InTable, in_tables, sections
from support_agent.answer.final_answer import (
    CalculationItem,
    ClarificationItem,
    DocumentItem,
    FieldItem,
    FinalAnswer,
    Operand,
    RecordItem,
    TableItem,
)
from support_agent.answer.formatting import (
    clean_line,
    format_count,
    format_counted,
    format_day,
    format_month,
    format_value,
    period_code,
)
from support_agent.answer.shapes import (
    Group,
    Position,
    Shape,
    TextPart,
    account,
    computed,
    counted,
    document,
    itself,
    never,
    verbatim,
    word,
)
from support_agent.answer.sources import ClarificationSource
from support_agent.company.company import Company
from support_agent.company.values import Period, Value
from support_agent.core.locales import language_name

STAFF_LOCALE = "en"
VERSION_CHARACTERS = 12


class InWords(NamedTuple):
    """An item in one line, and its inputs, for the company's staff."""

    says: str
    source: str


class ItemKind(NamedTuple):
    """The description of one kind of item.

    `keys` name what has a mode of autonomy (`core.modes`): the topics that the item is about.
    `is_published`: its words are published by the company, not values of an account; the automation notice says which.
    `queries` are the database queries of its values, by their kind in `accounts.toml`.
    `mismatch` says which part of an item differs from the company's files in a locale, or ""; documents have none, as
    `verification` looks them up by version.
    """

    shape: Shape
    in_words: Callable[[Any], InWords]
    keys: Callable[[Any], tuple[str, ...]]
    mismatch: Callable[[Any, Company, str], str] | None
    is_published: bool = False
    queries: Literal["fields", "series", "records"] | None = None


def document_named(number: int, language: str | None) -> str:
    """A document for people: "document 1 (de)"; without the language if that is not stored."""
    return f"document {number}" if language is None else f"document {number} ({language})"


def _foreign_language(item: DocumentItem, locale: str) -> str | None:
    """The name of a document's language if it differs from the mail's."""
    return language_name(item.language, locale) if item.language and item.is_foreign_to(locale) else None


def _filled(cell: str, _: str) -> str | None:
    return clean_line(cell) or None


def _is_row(one: InTable) -> bool:
    return bool(one.excerpt.cells)


_CELL = document("cell", _filled, read=itself, is_required=never)
_EXCERPT = Shape(
    parts=(
        document("heading", read="excerpt.heading", is_required=never, is_optional=True),
        document("sentence", name="text", read="excerpt.text", is_required=lambda one: not _is_row(one)),
        document("step", name="number", read="excerpt.number", is_optional=True),
        document("row", verbatim, name="_line", read="line", is_required=_is_row),
        document("rule", verbatim, name="_rule", read="rule", is_required=never),
    ),
    groups=(Group("cells", _CELL, counted("column"), read="excerpt.cells"),),
)
"""`step` is the number of a numbered item. A row of a table is shown by its `cells`, or as a line of aligned columns
with a `rule` below the header: that one of these shows each row is required (`key_of`), and `order` checks where."""

_DOCUMENT = Shape(
    identity={"number": "number", "version": "version", "language": "language"},
    parts=(
        document("number"),
        document("title"),
        document("url"),
        document("valid_from", format_day),
        document("language", _foreign_language, name="foreign_language", read=itself, is_optional=True),
    ),
    groups=(Group("_excerpts", _EXCERPT, lambda _, one: {"sentence": one.excerpt.index}, read=in_tables),),
    facts={"delivery": lambda item: item.delivery},
    layout=sections,
    layout_names=LAYOUT_NAMES,
)


def _document_in_words(item: DocumentItem) -> InWords:
    version = f"{document_named(item.number, item.language)}, version {item.version[:VERSION_CHARACTERS]}"
    sentences = ", ".join(str(excerpt.index) for excerpt in item.excerpts)
    chosen = f"sentences {sentences}" if sentences else "its link alone"
    return InWords(item.title, f"{version} of {item.valid_from}, {chosen}")


_CLARIFICATION = Shape(identity={"number": "number"}, parts=(TextPart(ClarificationSource, "text"),))


def _clarification_mismatch(item: ClarificationItem, company: Company, locale: str) -> str:
    texts = (question.text_for(locale) for question in company.questions if question.number == item.number)
    return "" if item.text in texts else f"clarification {item.number} is not the company's"


_FIELD = Shape(
    identity={"name": "field"},
    parts=(account("label"), account("value", format_value, is_optional=True, is_queried=True)),
)


def _field_in_words(item: FieldItem) -> InWords:
    return InWords(f"{item.label}: {_shown(item.value, 'no entry')}", f"account field {item.field}")


def _field_mismatch(item: FieldItem, company: Company, locale: str) -> str:
    field = company.accounts.fields.get(item.field)
    is_so = field is not None and field.label_for(locale) == item.label
    return "" if is_so else f"account field {item.field} is not the company's, or has another label"


_COLUMN = Shape(
    parts=(
        account("column", name="label"),
        account("column_value", format_value, name="value", is_optional=True, is_queried=True),
    )
)
_RECORD = Shape(
    identity={"name": "record"},
    parts=(account("record", name="label"), account("identifier", is_queried=True)),
    groups=(Group("columns", _COLUMN, counted("row")),),
)


def _record_in_words(item: RecordItem) -> InWords:
    values = ", ".join(f"{one.label}: {_shown(one.value, 'no entry')}" for one in item.columns)
    columns = ", ".join(one.column for one in item.columns)
    return InWords(f"{item.label} {item.identifier}, {values}", f"record {item.record}, {columns}")


def _record_mismatch(item: RecordItem, company: Company, locale: str) -> str:
    spec = company.accounts.records.get(item.record)
    is_so = (
        spec is not None
        and spec.label_for(locale) == item.label
        and all(
            one.column in spec.columns and spec.columns[one.column].label_for(locale) == one.label
            for one in item.columns
        )
    )
    return "" if is_so else f"record {item.record} is not the company's, or has other labels or columns"


def _is_all_time(period: Period) -> bool:
    return period_code(period.name) == "all_time"


def _year_or_month(period: Period, locale: str) -> str | None:
    code = period_code(period.name)
    return period.name if code == "year" else format_month(period.first, locale) if code == "month" else None


_PERIOD = Shape(
    parts=(
        word("period", name="words", read=lambda period: period_code(period.name)),
        account("period_name", _year_or_month, name="value", read=itself, is_optional=True),
        account("period_first", format_day, name="first", is_required=lambda period: not _is_all_time(period)),
        account("period_last", format_day, name="last"),
    ),
    facts={"is_all_time": _is_all_time},
)
"""`words` ("in", "last month"), then `value` for a year or a month; the days if the period has a start."""


def _row_noun(data: TableItem | Operand, locale: str) -> str | None:
    return format_counted(data.row_noun, data.row_count, locale) if data.row_noun else None


_SERIES = Shape(
    identity={"name": "series"},
    parts=(
        account("label"),
        account("row_noun", _row_noun, read=itself, is_optional=True),
        computed("row_count", format_count),
    ),
    groups=(Group("period", _PERIOD), Group("steps", word("step", read=itself), counted("step"))),
    facts={"is_one_row": lambda data: data.row_count == 1},
)
"""The parameters that rows and aggregates share."""

_ROW = Shape(
    parts=(
        account("row_day", format_day, name="day", is_queried=True),
        account("row_label", name="label", is_optional=True, is_queried=True),
        account("row_value", format_value, name="value", is_queried=True),
    )
)
_TABLE = _SERIES._replace(groups=(*_SERIES.groups, Group("rows", _ROW, counted("row"))))
_OPERAND = _SERIES._replace(
    parts=(
        *_SERIES.parts,
        word("aggregation"),
        account("value", format_value, is_optional=True, is_queried=True),
        account("day", format_day, is_optional=True, is_queried=True),
    )
)
_ONE_OPERAND = Group("operands", _OPERAND, lambda *_: {}, read=lambda item: (item.operand,))
_AGGREGATE = Shape(parts=(), groups=(_ONE_OPERAND,))


def _side(number: int, _: object) -> Position:
    return {"side": ("left", "right")[number]}


_CALCULATION = Shape(
    parts=(word("operation"), computed("result", format_value)),
    groups=(Group("operands", _OPERAND, _side, read=lambda item: (item.left, item.right)),),
)


def _table_in_words(item: TableItem) -> InWords:
    return InWords(f"{item.label}: {_rows(item.row_count)}", _series_in_words(item))


def _calculation_in_words(item: CalculationItem) -> InWords:
    left, right = _operand_in_words(item.left), _operand_in_words(item.right)
    result = format_value(item.result, STAFF_LOCALE)
    says = f"{item.operation}: {result} ({left.says}; {right.says})"
    return InWords(says, f"{left.source}; {right.source}")


def _operand_in_words(operand: Operand) -> InWords:
    says = f"{operand.label}, {operand.aggregation}: {_shown(operand.value, 'none')}"
    return InWords(says, f"{_series_in_words(operand)}, {_rows(operand.row_count)}")


def _series_in_words(data: TableItem | Operand) -> str:
    done = "".join(f", {step}" for step in data.steps)
    return f"series {data.series}, {data.period.name} ({data.period.first} to {data.period.last}){done}"


def _shown(value: Value | None, otherwise: str) -> str:
    return otherwise if value is None else format_value(value, STAFF_LOCALE)


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"


def _series_mismatch(data: TableItem | Operand, company: Company, locale: str) -> str:
    series = company.accounts.series.get(data.series)
    said = data.label, data.row_noun
    is_so = series is not None and (series.label_for(locale), series.row_noun_for(locale)) == said
    return "" if is_so else f"series {data.series} is not the company's, or has another label or noun"


def _series_keys(data: TableItem | Operand) -> tuple[str, ...]:
    return (f"series:{data.series}",)


def _calculation_mismatch(item: CalculationItem, company: Company, locale: str) -> str:
    return _series_mismatch(item.left, company, locale) or _series_mismatch(item.right, company, locale)


KINDS: dict[str, ItemKind] = {
    "document": ItemKind(
        _DOCUMENT, _document_in_words, lambda item: (f"document:{item.number}",), None, is_published=True
    ),
    "account_field": ItemKind(
        _FIELD, _field_in_words, lambda item: (f"field:{item.field}",), _field_mismatch, queries="fields"
    ),
    "table": ItemKind(_TABLE, _table_in_words, _series_keys, _series_mismatch, queries="series"),
    "aggregate": ItemKind(
        _AGGREGATE,
        lambda item: _operand_in_words(item.operand),
        lambda item: _series_keys(item.operand),
        lambda item, company, locale: _series_mismatch(item.operand, company, locale),
        queries="series",
    ),
    "calculation": ItemKind(
        _CALCULATION,
        _calculation_in_words,
        lambda item: _series_keys(item.left) + _series_keys(item.right),
        _calculation_mismatch,
        queries="series",
    ),
    "clarification": ItemKind(
        _CLARIFICATION,
        lambda item: InWords(item.text, f"canned question {item.number}"),
        lambda item: (f"question:{item.number}",),
        _clarification_mismatch,
        is_published=True,
    ),
    "record": ItemKind(
        _RECORD, _record_in_words, lambda item: (f"record:{item.record}",), _record_mismatch, queries="records"
    ),
}
"""The table."""


def keys_of(final: FinalAnswer) -> tuple[str, ...]:
    """What an answer is about, each once: the keys by which modes of autonomy are kept and labels count."""
    items = (item for answer in final.answers for item in answer.items)
    return tuple(dict.fromkeys(key for item in items for key in KINDS[item.kind].keys(item)))
