"""How the sentences of a document are set: sections, paragraphs, lists and tables, for both parts of a mail.

Invariant: nothing is said here; views of sentences, numbers and cells are grouped, in the document's order. `order`
checks independently where they stand in the mail. Checked by tests/unit/answer/test_document_layout.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise, zip_longest
from typing import NamedTuple

from support_agent.answer.final_answer import DocumentItem, Excerpt
from support_agent.answer.formatting import table_lines
from support_agent.answer.parts import View

_BLOCK_KINDS = {"sentence": "paragraph", "item": "list", "row": "table"}


class InTable(NamedTuple):
    """An excerpt; of a row of a table also its line in aligned columns, and of a header the rule under that.

    None where the table is too wide for a text.
    """

    excerpt: Excerpt
    line: str | None = None
    rule: str | None = None


def in_tables(item: DocumentItem) -> tuple[InTable, ...]:
    """The excerpts of an item, rows with what their table makes of them."""
    return tuple(_in_table(excerpt, item) if excerpt.cells else InTable(excerpt) for excerpt in item.excerpts)


def _in_table(row: Excerpt, item: DocumentItem) -> InTable:
    table = [other for other in item.excerpts if other.cells and other.paragraph == row.paragraph]
    if (in_columns := table_lines(tuple(other.cells for other in table))) is None:
        return InTable(row)
    lines, rule = in_columns
    return InTable(row, lines[table.index(row)], rule if row.is_header else None)


LAYOUT_NAMES = frozenset(
    {"sections", "heading", "blocks", "kind", "is_apart", "is_numbered", "outer", "sentences", "text", "number"}
    | {"follows_gap", "rows", "is_header", "cells", "header", "lines", "records"}
)
"""A section has a `heading` and `blocks`: sentences that stand together, of the kind paragraph, list or table.

`is_apart`: an empty line stands before the block; `outer` has one entry for each list around its own. A paragraph or
list has `sentences`: `follows_gap` where sentences of the document before one are left out, `number` of a numbered one.

A table has `rows` of `cells` for HTML; an empty cell has no `text`, `header` is that of its column, if it has one. For
a text it has `lines` or, where these would be too wide, `records`: the rows below the header, or the header where there
is none. A table of an answer that has no cells, as older ones, has `sentences` only.
"""
Shown = tuple[Excerpt, View]
"""An excerpt and its view."""


def sections(view: View, item: DocumentItem) -> Mapping[str, object]:
    """Excerpts in their order, grouped by heading and then by what stands together."""
    gaps = frozenset(after.index for before, after in pairwise(item.excerpts) if after.index != before.index + 1)
    shown = list(zip(item.excerpts, view._excerpts, strict=True))
    made = []
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
        made.append(View(heading=section[0][1].heading, blocks=tuple(blocks)))
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
    """A table, in columns and, where they are too wide for a text, as records."""
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
    """What sentences that stand together have in common; answers that kept no form do not tell lists apart."""
    is_list = excerpt.kind != "sentence" and not excerpt.cells and excerpt.number is None
    paragraph = -1 if is_list and not keeps_form else excerpt.paragraph
    return excerpt.kind, excerpt.number is not None, paragraph, excerpt.depth


def _is_apart(above: Excerpt, first: Excerpt) -> bool:
    """Whether an empty line parts two blocks: not within a list, nor below the paragraph that announces a list."""
    return not (first.kind == "item" and (above.kind == "sentence" or above.paragraph == first.paragraph))
