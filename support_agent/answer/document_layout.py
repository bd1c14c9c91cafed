"""Lays out the sentences of a document in sections, paragraphs, lists and tables, for text and HTML.

Invariant: this module adds no text; it groups views of sentences, numbers and cells in the document's order. `order`
checks their positions in the mail independently. Checked by tests/unit/answer/test_document_layout.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise, zip_longest
from typing import NamedTuple

from support_agent.answer.final_answer import DocumentItem
from support_agent.answer.formatting import table_lines
from support_agent.answer.shapes import View
from support_agent.company.documents import Excerpt

_BLOCK_KINDS = {"sentence": "paragraph", "item": "list", "row": "table"}


class InTable(NamedTuple):
    """An excerpt; for a table row also its line in aligned columns, and for a header the rule below it.

    None if the table is too wide for a text.
    """

    excerpt: Excerpt
    line: str | None = None
    rule: str | None = None


def in_tables(item: DocumentItem) -> tuple[InTable, ...]:
    """The excerpts of an item; table rows with their lines."""
    return tuple(_in_table(excerpt, item) if excerpt.cells else InTable(excerpt) for excerpt in item.excerpts)


def _in_table(row: Excerpt, item: DocumentItem) -> InTable:
    table = [other for other in item.excerpts if other.cells and other.paragraph == row.paragraph]
    if (in_columns := table_lines(tuple(other.cells for other in table))) is None:
        return InTable(row)
    lines, rule = in_columns
    return InTable(row, lines[table.index(row)], rule if row.is_header else None)


LAYOUT_NAMES = frozenset(
    {"sections", "heading", "is_title", "blocks", "kind", "is_apart", "is_numbered", "outer", "sentences", "text"}
    | {"number", "follows_gap", "rows", "is_header", "cells", "header", "lines", "records"}
)
"""A section has a `heading` and `blocks`: paragraphs, lists and tables. `is_title`: that heading is the title, which
stands right above.

`is_apart`: an empty line precedes the block; `outer` has one entry per list around its own. A paragraph or list has
`sentences`; a sentence has `follows_gap` if sentences before it are left out, and `number` if it is numbered.

For HTML, a table has `rows` of `cells`; an empty cell has no `text`, `header` is the header of its column, if any. For
text it has `lines` or, if these are too wide, `records`: the rows below the header, or the header if there are none. A
table of an older answer, without cells, has only `sentences`.
"""
Shown = tuple[Excerpt, View]
"""An excerpt and its view."""


def sections(view: View, item: DocumentItem) -> Mapping[str, object]:
    """Excerpts in order, grouped by heading and then by block."""
    gaps = frozenset(after.index for before, after in pairwise(item.excerpts) if after.index != before.index + 1)
    shown = list(zip(item.excerpts, view._excerpts, strict=True))
    made: list[View] = []
    for _, group in groupby(shown, key=lambda one: one[0].heading):
        section = list(group)
        blocks: list[View] = []
        above: Excerpt | None = None
        for _, together in groupby(section, key=lambda one: _block_key(one[0], item.keeps_form)):
            block = list(together)
            first = block[0][0]
            blocks.append(_table(block) if first.cells else _sentences(block, gaps))
            blocks[-1].is_apart = above is not None and _is_apart(above, first)
            above = block[-1][0]
        is_title = not made and section[0][0].heading == item.title
        made.append(View(heading=section[0][1].heading, is_title=is_title, blocks=tuple(blocks)))
    return {"sections": tuple(made)}


def _sentences(block: Sequence[Shown], gaps: frozenset[int]) -> View:
    """A paragraph, or the items of a list."""
    first = block[0][0]
    views = (View(text=one.text, number=one.number, follows_gap=excerpt.index in gaps) for excerpt, one in block)
    return _block(
        _BLOCK_KINDS[first.kind],
        sentences=tuple(views),
        is_numbered=first.number is not None,
        outer=(None,) * first.depth,
    )


def _table(block: Sequence[Shown]) -> View:
    """A table: in columns, or as records if the columns are too wide for a text."""
    header = next((view.cells for excerpt, view in block if excerpt.is_header), ())

    def row(excerpt: Excerpt, view: View) -> View:
        above = zip_longest(() if excerpt.is_header else header[: len(view.cells)], view.cells)
        return View(cells=tuple(View(header=name, text=text) for name, text in above), is_header=excerpt.is_header)

    rows = tuple(row(excerpt, view) for excerpt, view in block)
    lines = tuple(text for _, view in block for text in (view._line, view._rule) if text)
    if lines:
        return _block("table", rows=rows, lines=lines)
    records = tuple(row for row in rows if not row.is_header) or rows
    return _block("table", rows=rows, records=tuple(map(_without_blanks, records)))


def _block(kind: str, **names: object) -> View:
    empty = {"sentences": (), "rows": (), "lines": (), "records": (), "is_numbered": False, "outer": ()}
    return View(kind=kind, **(empty | names))


def _without_blanks(row: View) -> View:
    return View(cells=tuple(cell for cell in row.cells if cell.header or cell.text), is_header=row.is_header)


def _block_key(excerpt: Excerpt, keeps_form: bool) -> tuple[str, bool, int, int]:
    """The key of a block: equal for its sentences; answers stored without form do not distinguish lists."""
    is_list = excerpt.kind != "sentence" and not excerpt.cells and excerpt.number is None
    paragraph = -1 if is_list and not keeps_form else excerpt.paragraph
    return excerpt.kind, excerpt.number is not None, paragraph, excerpt.depth


def _is_apart(above: Excerpt, first: Excerpt) -> bool:
    """Whether an empty line separates two blocks: not within a list, nor between a list and its introduction."""
    return not (first.kind == "item" and (above.kind == "sentence" or above.paragraph == first.paragraph))
