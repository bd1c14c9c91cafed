"""The FinalAnswer as views: each value formatted for the locale and tied to the place it was read from.

Invariant: forward only; the gate's `derive` goes the other way, from a source back to the text, and shares
with this module nothing but the formatting. A code without a word is an error, not a blank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Literal, assert_never

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
    format_count,
    format_counted,
    format_day,
    format_month,
    format_value,
    period_code,
    table_lines,
)
from support_agent.answer.sources import (
    AccountPart,
    AccountSource,
    ClarificationSource,
    ComputedSource,
    CustomerSource,
    DocumentPart,
    DocumentSource,
    SettingsSource,
    Side,
    SubjectSource,
    WordSource,
)
from support_agent.answer.templates import WORDS, Templates
from support_agent.answer.views import (
    AggregateView,
    AnswerView,
    BlockView,
    CalculationView,
    CellsView,
    CellView,
    ClarificationView,
    ColumnView,
    CountsView,
    DocumentView,
    FieldView,
    ItemView,
    Ledger,
    NoticeView,
    OperandView,
    PeriodView,
    RecordView,
    RowView,
    SectionView,
    SentenceView,
    Sourced,
    TableView,
)
from support_agent.company.values import Counted, Period
from support_agent.core.locales import language_name
from support_agent.errors import GateRefused

Section = Literal["period", "aggregation", "step", "operation", "reason", "level", "finding"]
_BLOCK_KINDS = {"sentence": "paragraph", "item": "list", "row": "table"}
_POLICIES = frozenset({"document", "clarification"})
"""Kinds of items that are the company's published words; the others say what is in an account."""


@dataclass(frozen=True)
class Maker:
    """Makes the views of one rendering; `answer`, `item` and `side` say where in the FinalAnswer it is."""

    ledger: Ledger
    templates: Templates
    locale: str
    answer: int = 0
    item: int = 0
    side: Side | None = None

    def root(self, company: str, support_address: str, subject: str | None) -> dict[str, object]:
        """What every customer's mail can say."""
        return {
            "company": self.ledger.put(company, SettingsSource(part="company")),
            "support_address": self.ledger.put(support_address, SettingsSource(part="support_address")),
            "subject": self.ledger.put(subject, SubjectSource(), clean=bare_subject)
            if subject and bare_subject(subject)
            else None,
            "answers": (),
            "notice": NoticeView(),
        }

    def final(self, final: FinalAnswer) -> dict[str, object]:
        """The whole answer."""
        name = final.greeting_name
        return {
            **self.root(final.company, final.support_address, final.subject),
            "greeting_name": self.ledger.put(name, CustomerSource()) if name else None,
            "answers": tuple(
                AnswerView(
                    items=tuple(
                        replace(self, answer=place, item=position).view(item)
                        for position, item in enumerate(answer.items)
                    )
                )
                for place, answer in enumerate(final.answers)
            ),
            "counts": self._counts(final.n_answered, final.asked),
            "notice": _notice(final),
        }

    def view(self, item: Item) -> ItemView:
        """One item."""
        match item:
            case DocumentItem():
                return self._document(item)
            case FieldItem():
                return self._field(item)
            case TableItem():
                return self._table(item)
            case AggregateItem():
                return AggregateView(kind=item.kind, operands=(self._operand(item.operand),))
            case CalculationItem():
                return self._calculation(item)
            case ClarificationItem():
                source = ClarificationSource(answer=self.answer, item=self.item, number=item.number)
                return ClarificationView(kind=item.kind, text=self.ledger.put(item.text, source))
            case RecordItem():
                return self._record(item)
            case _ as never:
                assert_never(never)

    def word(self, section: Section, code: str, step: int | None = None, at_item: bool = True) -> Sourced:
        """The company's word for a code.

        Raises:
            GateRefused: the words of the locale have none.
        """
        word = self.templates.word(section, code, self.locale)
        if word is None:
            raise GateRefused(f"{WORDS} has no word for {section}.{code}: add it", code="template")
        source = WordSource(
            name=word.name,
            line=word.line,
            section=section,
            code=code,
            answer=self.answer if at_item else None,
            item=self.item if at_item else None,
            side=self.side,
            step=step,
        )
        return self.ledger.put(word.text, source)

    def _counts(self, answered: int, asked: int) -> CountsView:
        def put(part: Literal["answered", "asked", "remaining"], count: int) -> Sourced:
            return self.ledger.put(format_count(count, self.locale), ComputedSource(part=part))

        remaining = max(0, asked - answered)
        return CountsView(
            answered=put("answered", answered),
            asked=put("asked", asked),
            remaining=put("remaining", remaining),
            is_one_answered=answered == 1,
            is_one_remaining=remaining == 1,
            is_partial=remaining > 0,
        )

    def _document(self, item: DocumentItem) -> DocumentView:
        return DocumentView(
            kind=item.kind,
            number=self._of_document(item, "number", str(item.number)),
            title=self._of_document(item, "title", item.title),
            url=self._of_document(item, "url", item.url),
            valid_from=self._of_document(item, "valid_from", format_day(item.valid_from, self.locale)),
            delivery=item.delivery,
            sections=self._sections(item),
            foreign_language=self._foreign_language(item),
        )

    def _foreign_language(self, item: DocumentItem) -> Sourced | None:
        if item.language is None or not item.is_foreign_to(self.locale):
            return None
        return self._of_document(item, "language", language_name(item.language, self.locale))

    def _of_document(
        self,
        item: DocumentItem,
        part: DocumentPart,
        text: str,
        sentence: int | None = None,
        column: int | None = None,
    ) -> Sourced:
        source = DocumentSource(
            answer=self.answer,
            item=self.item,
            number=item.number,
            version=item.version,
            part=part,
            sentence=sentence,
            column=column,
            language=item.language,
        )
        return self.ledger.put(text, source, clean=str if part in ("row", "rule") else clean_line)

    def _sections(self, item: DocumentItem) -> tuple[SectionView, ...]:
        """Excerpts in their order, grouped by heading and then by what stands together."""
        gaps = frozenset(after.index for before, after in pairwise(item.excerpts) if after.index != before.index + 1)
        sections = []
        for heading, group in groupby(item.excerpts, key=lambda excerpt: excerpt.heading):
            section = list(group)
            blocks: list[BlockView] = []
            above: Excerpt | None = None
            for _, together in groupby(section, key=lambda excerpt: _block_key(excerpt, item.keeps_form)):
                excerpts = list(together)
                block = self._table_block(item, excerpts) if excerpts[0].cells else self._block(item, excerpts, gaps)
                blocks.append(replace(block, is_apart=above is not None and _is_apart(above, excerpts[0])))
                above = excerpts[-1]
            shown = self._of_document(item, "heading", heading, section[0].index) if heading else None
            sections.append(SectionView(heading=shown, blocks=tuple(blocks)))
        return tuple(sections)

    def _block(self, item: DocumentItem, excerpts: Sequence[Excerpt], gaps: frozenset[int]) -> BlockView:
        """A paragraph, or the items of a list."""

        def view(excerpt: Excerpt) -> SentenceView:
            index, number = excerpt.index, excerpt.number
            return SentenceView(
                text=self._of_document(item, "sentence", excerpt.text, index),
                number=None if number is None else self._of_document(item, "step", str(number), index),
                follows_gap=index in gaps,
            )

        return BlockView(
            kind=_BLOCK_KINDS[excerpts[0].kind],
            sentences=tuple(map(view, excerpts)),
            is_numbered=excerpts[0].number is not None,
            outer=(None,) * excerpts[0].depth,
        )

    def _table_block(self, item: DocumentItem, excerpts: Sequence[Excerpt]) -> BlockView:
        """A table, in columns and, where they are too wide for a text, as records."""

        def text(excerpt: Excerpt | None, column: int) -> Sourced | None:
            cell = clean_line(excerpt.cells[column]) if excerpt and column < len(excerpt.cells) else ""
            return self._of_document(item, "cell", cell, excerpt.index, column) if excerpt and cell else None

        def view(row: Excerpt) -> CellsView:
            label = None if row.is_header else header
            cells = (CellView(text(label, column), text(row, column)) for column in range(len(row.cells)))
            return CellsView(cells=tuple(cells), is_header=row.is_header)

        header = next((excerpt for excerpt in excerpts if excerpt.is_header), None)
        rows = tuple(map(view, excerpts))
        in_columns = table_lines(tuple(excerpt.cells for excerpt in excerpts))
        if in_columns is None:
            records = tuple(row for row in rows if not row.is_header) or rows
            return BlockView(kind="table", rows=rows, records=tuple(map(_without_blanks, records)))
        lines: list[Sourced] = []
        for excerpt, line in zip(excerpts, in_columns[0], strict=True):
            lines.append(self._of_document(item, "row", line, excerpt.index))
            if excerpt.is_header:
                lines.append(self._of_document(item, "rule", in_columns[1], excerpt.index))
        return BlockView(kind="table", rows=rows, lines=tuple(lines))

    def _field(self, item: FieldItem) -> FieldView:
        value = None if item.value is None else format_value(item.value, self.locale)
        return FieldView(
            kind=item.kind,
            label=self._of_account(item.field, "label", item.label),
            value=None if value is None else self._of_account(item.field, "value", value),
        )

    def _record(self, item: RecordItem) -> RecordView:
        def view(place: int) -> ColumnView:
            one = item.columns[place]
            value = None if one.value is None else format_value(one.value, self.locale)
            return ColumnView(
                label=self._of_account(item.record, "column", one.label, place),
                value=None if value is None else self._of_account(item.record, "column_value", value, place),
            )

        return RecordView(
            kind=item.kind,
            label=self._of_account(item.record, "record", item.label),
            identifier=self._of_account(item.record, "identifier", item.identifier),
            columns=tuple(map(view, range(len(item.columns)))),
        )

    def _of_account(self, name: str, part: AccountPart, text: str, row: int | None = None) -> Sourced:
        source = AccountSource(answer=self.answer, item=self.item, name=name, part=part, row=row, side=self.side)
        return self.ledger.put(text, source)

    def _table(self, item: TableItem) -> TableView:
        def row_view(position: int) -> RowView:
            row = item.rows[position]
            return RowView(
                day=self._of_account(item.series, "row_day", format_day(row.day, self.locale), position),
                label=self._of_account(item.series, "row_label", row.label, position) if row.label else None,
                value=self._of_account(item.series, "row_value", format_value(row.value, self.locale), position),
            )

        return TableView(
            kind=item.kind,
            label=self._of_account(item.series, "label", item.label),
            period=self._period(item.series, item.period),
            steps=self._steps(item.steps),
            row_count=self._row_count(len(item.rows)),
            row_noun=self._row_noun(item.series, item.row_noun, len(item.rows)),
            is_one_row=len(item.rows) == 1,
            rows=tuple(row_view(position) for position in range(len(item.rows))),
        )

    def _row_count(self, count: int) -> Sourced:
        source = ComputedSource(part="row_count", answer=self.answer, item=self.item, side=self.side)
        return self.ledger.put(format_count(count, self.locale), source)

    def _row_noun(self, series: str, noun: Counted, count: int) -> Sourced | None:
        return self._of_account(series, "row_noun", format_counted(noun, count, self.locale)) if noun else None

    def _steps(self, steps: tuple[str, ...]) -> tuple[Sourced, ...]:
        return tuple(self.word("step", code, step=position) for position, code in enumerate(steps))

    def _operand(self, operand: Operand) -> OperandView:
        value, day = operand.value, operand.day
        series = operand.series
        return OperandView(
            label=self._of_account(series, "label", operand.label),
            period=self._period(series, operand.period),
            steps=self._steps(operand.steps),
            aggregation=self.word("aggregation", operand.aggregation),
            row_count=self._row_count(operand.row_count),
            row_noun=self._row_noun(series, operand.row_noun, operand.row_count),
            is_one_row=operand.row_count == 1,
            value=None if value is None else self._of_account(series, "value", format_value(value, self.locale)),
            day=None if day is None else self._of_account(series, "day", format_day(day, self.locale)),
        )

    def _calculation(self, item: CalculationItem) -> CalculationView:
        source = ComputedSource(part="result", answer=self.answer, item=self.item)
        return CalculationView(
            kind=item.kind,
            operands=(
                replace(self, side="left")._operand(item.left),
                replace(self, side="right")._operand(item.right),
            ),
            operation=self.word("operation", item.operation),
            result=self.ledger.put(format_value(item.result, self.locale), source),
        )

    def _period(self, series: str, period: Period) -> PeriodView:
        code = period_code(period.name)
        value = None
        if code == "year":
            value = self._of_account(series, "period_name", period.name)
        elif code == "month":
            value = self._of_account(series, "period_name", format_month(period.first, self.locale))
        return PeriodView(
            words=self.word("period", code),
            value=value,
            is_all_time=code == "all_time",
            first=self._of_account(series, "period_first", format_day(period.first, self.locale)),
            last=self._of_account(series, "period_last", format_day(period.last, self.locale)),
        )


def _notice(final: FinalAnswer) -> NoticeView:
    kinds = {item.kind for answer in final.answers for item in answer.items}
    return NoticeView(
        names_policies=bool(kinds & _POLICIES),
        names_account=bool(kinds - _POLICIES),
        is_question=kinds == {"clarification"},
        is_at_top=final.notice == "top",
    )


def _without_blanks(row: CellsView) -> CellsView:
    return replace(row, cells=tuple(cell for cell in row.cells if cell.header or cell.text))


def _block_key(excerpt: Excerpt, keeps_form: bool) -> tuple[str, bool, int, int]:
    """What sentences that stand together have in common; answers that kept no form do not tell lists apart."""
    is_list = excerpt.kind != "sentence" and not excerpt.cells and excerpt.number is None
    paragraph = -1 if is_list and not keeps_form else excerpt.paragraph
    return excerpt.kind, excerpt.number is not None, paragraph, excerpt.depth


def _is_apart(above: Excerpt, first: Excerpt) -> bool:
    """Whether an empty line parts two blocks: not within a list, nor below the paragraph that announces a list."""
    return not (first.kind == "item" and (above.kind == "sentence" or above.paragraph == first.paragraph))
