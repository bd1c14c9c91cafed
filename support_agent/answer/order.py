"""The gate's check of the order of a document: sentences in order, numbers before items, cells in their rows.

Invariant: each sentence, number and cell of an item is in a body once, in the document's order (a table printed as
records repeats the header before each cell), and rows and columns are separate. `expected_text` checks the words.
Checked by tests/unit/answer/test_order.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from support_agent.answer.final_answer import DocumentItem, FinalAnswer
from support_agent.answer.formatting import clean_line, table_lines
from support_agent.answer.sources import DocumentSource, Rendered, Surface
from support_agent.company.documents import Excerpt
from support_agent.errors import GateRefused

BODY_PARTS = frozenset({"sentence", "step", "cell", "row", "rule"})
_CELL = re.compile(r"<t[dh]\b")
_ROW = re.compile(r"</?t(?:r|able|head|body)\b")

Begins = Literal["", "word", "line", "record", "table", "row", "cell"]
"""The unit that starts at a place: in text a word, a line, or a record (after an empty line); in HTML a table, a row or
a cell. "": no requirement."""


class _Place(NamedTuple):
    part: str
    sentence: int | None
    column: int | None = None


def check_order(surface: Surface, rendered: Rendered, final: FinalAnswer) -> None:
    """Refuse a body with a document's words in another order.

    Raises:
        GateRefused: which document.
    """
    for answer, block in enumerate(final.answers):
        for position, item in enumerate(block.items):
            if isinstance(item, DocumentItem):
                _check_item(surface, item, list(_said(rendered, answer, position)))


def _check_item(surface: Surface, item: DocumentItem, said: Sequence[tuple[_Place, str]]) -> None:
    expected = list(_expected(surface, item))
    if [place for place, _ in said] != [place for place, _ in expected]:
        raise GateRefused(f"{surface}: the sentences of document {item.number} are not in their order")
    column = -1
    for (place, begins), (_, before) in zip(expected, said, strict=True):
        last, column = column if begins == "cell" else -1, place.column or 0
        if not _does_begin(begins, before, column - last):
            what = f"{place.part} {place.sentence} of document {item.number}"
            raise GateRefused(f"{surface}: {what} has left its place: there it must begin a {begins}")


def _said(rendered: Rendered, answer: int, item: int) -> Iterator[tuple[_Place, str]]:
    """The places of an item in a body, each with the text between it and the previous one."""
    before = ""
    for span in rendered.spans:
        source = span.source
        is_place = isinstance(source, DocumentSource) and (source.answer, source.item) == (answer, item)
        if is_place and isinstance(source, DocumentSource) and source.part in BODY_PARTS:
            yield _Place(source.part, source.sentence, source.column), before
            before = ""
        else:
            before += span.text


def _expected(surface: Surface, item: DocumentItem) -> Iterator[tuple[_Place, Begins]]:
    """The places of an item in the required order."""
    for (_, is_table), group in groupby(item.excerpts, key=lambda excerpt: (excerpt.paragraph, bool(excerpt.cells))):
        excerpts = list(group)
        if is_table:
            yield from _cells(excerpts) if surface == "html" else _lines(excerpts)
            continue
        for excerpt in excerpts:
            is_step = excerpt.number is not None
            if is_step:
                yield _Place("step", excerpt.index), ""
            yield _Place("sentence", excerpt.index), "word" if is_step and surface == "text" else ""


def _cells(table: Sequence[Excerpt]) -> Iterator[tuple[_Place, Begins]]:
    begins: Begins = "table"
    for row in table:
        for column in _filled(row):
            yield _Place("cell", row.index, column), begins
            begins = "cell"
        begins = "row"


def _lines(table: Sequence[Excerpt]) -> Iterator[tuple[_Place, Begins]]:
    if table_lines(tuple(row.cells for row in table)) is None:
        yield from _records(table)
        return
    for row in table:
        yield _Place("row", row.index), "line"
        if row.is_header:
            yield _Place("rule", row.index), "line"


def _records(table: Sequence[Excerpt]) -> Iterator[tuple[_Place, Begins]]:
    header = next((row for row in table if row.is_header), None)
    begins: Begins = "line"
    for row in [row for row in table if not row.is_header] or table:
        label = None if row.is_header else header
        for column in range(len(row.cells)):
            shown = [one.index for one in (label, row) if one is not None and column in _filled(one)]
            for index in shown:
                yield _Place("cell", index, column), begins
                begins = "word"
            begins = "line" if shown else begins
        begins = "record"


def _filled(row: Excerpt) -> list[int]:
    return [column for column, cell in enumerate(row.cells) if clean_line(cell)]


def _does_begin(begins: Begins, before: str, cells: int) -> bool:
    """Whether the text before a place starts the required unit; in HTML, this many cells after the previous one."""
    match begins:
        case "":
            return True
        case "word":
            return "\n" not in before
        case "line" | "record":
            lines = before.split("\n")
            is_blank = not "".join(lines[-1 - (begins == "record") :]).strip()
            return len(lines) > 1 + (begins == "record") and is_blank and not lines[-1]
        case "cell":
            return not _ROW.search(before) and len(_CELL.findall(before)) == cells
        case "row" | "table":
            table, _, row = before.rpartition("<tr")
            _, opened, behind = table.rpartition("<table")
            is_in_place = bool(opened) == (begins == "table") and "</table" not in behind and not _ROW.search(row)
            return bool(table) and is_in_place and len(_CELL.findall(row)) == cells
