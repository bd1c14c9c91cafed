"""Writes blocks of plain text as a document's Markdown body.

Invariant: `parse_blocks` reads back the given text, with any punctuation in it; a block that needs no escaping is
written unchanged. Checked by tests/unit/company/importing/test_markdown_writer.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from support_agent.company.markdown import MarkdownRefused, parse_blocks
from support_agent.company.text import collapse
from support_agent.extraction.blocks import Block, BlockKind

MAX_DEPTH = 8
"""Deepest level of lists; deeper items are written at this level."""
MAX_NUMBER = 99
"""Written before an item; more digits would move the text of the items below it."""
_MARKS = re.compile(r"[\\`*_\[\]<>&|~]|(?<![^\s])[#+=:-]|(?<=\d)[.)](?=\s|$)")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_LISTS = (BlockKind.ITEM, BlockKind.NUMBERED)


def to_markdown(blocks: Iterable[Block]) -> str:
    """The body for these blocks: whole lines, ending with a newline.

    White space is collapsed except in code. A table has as many columns as its longest row and no empty rows; a table
    with one column becomes paragraphs. Omissions become comments, which no customer gets.

    Raises:
        ValueError: Markdown cannot express a text; no such text is known.
    """
    parts: list[str] = []
    for group, together in groupby(blocks, key=_group):
        run = list(together)
        if group[0] is BlockKind.ITEM:
            parts.append("\n".join(_list_lines(run)))
        elif group[0] is BlockKind.ROW:
            parts += _table([[collapse(cell) for cell in block.texts] for block in run])
        else:
            parts += [_block(block) for block in run]
    return "\n\n".join(filter(None, parts)) + "\n"


def _group(block: Block) -> tuple[BlockKind, int]:
    """Groups of blocks: list items together, rows of one table together, all others alone."""
    if block.kind in _LISTS:
        return BlockKind.ITEM, 0
    return (BlockKind.ROW, block.level) if block.kind is BlockKind.ROW else (BlockKind.PARAGRAPH, 0)


def _block(block: Block) -> str:
    text = block.texts[0] if block.texts else ""
    match block.kind:
        case BlockKind.HEADING:
            return _heading(collapse(text), min(max(block.level, 1), 6))
        case BlockKind.CODE:
            return _code(text)
        case BlockKind.LEFT_OUT:
            return f"<!-- {text} stood here -->"
        case _:
            return _paragraph(collapse(text))


def _heading(text: str, level: int) -> str:
    def is_right(written: str) -> bool:
        (block,) = parse_blocks(f"{written}\n\nx")
        return block.heading == text

    return _written(text, lambda line: f"{'#' * level} {line}", is_right) if text else ""


def _paragraph(text: str) -> str:
    def is_right(written: str) -> bool:
        (block,) = parse_blocks(written)
        return {unit.kind for unit in block.units} == {"sentence"} and " ".join(
            unit.text for unit in block.units
        ) == text

    return _written(text, lambda line: line, is_right) if text else ""


def _code(text: str) -> str:
    lines = [line.rstrip() for line in text.split("\n")]
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return "\n".join([fence, *lines, fence])


def _list_lines(items: Sequence[Block]) -> Iterator[str]:
    """A line for each item; an item is at most one level deeper than the one before it."""
    depth, numbers = -1, [0] * (MAX_DEPTH + 1)
    for item in items:
        text = collapse(item.texts[0])
        if not text:
            continue
        depth = min(item.level, depth + 1, MAX_DEPTH)
        numbers[depth + 1 :] = [0] * (MAX_DEPTH - depth)
        numbers[depth] = min(numbers[depth] + 1, MAX_NUMBER) if item.kind is BlockKind.NUMBERED else 0
        yield "    " * depth + _item(text, f"{numbers[depth]}. " if numbers[depth] else "- ")


def _item(text: str, mark: str) -> str:
    def is_right(written: str) -> bool:
        (block,) = parse_blocks(written)
        return [(unit.kind, unit.text) for unit in block.units] == [("item", text)]

    return _written(text, lambda line: mark + line, is_right)


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    rows = [row for row in rows if " | ".join(row).strip("| ")]
    width = max(map(len, rows), default=0)
    if width < 2:
        return [_paragraph(cell) for row in rows for cell in row]
    head, *rest = ([*row, *[""] * (width - len(row))] for row in rows)
    lines = [_row(head), "|---" * width + "|", *map(_row, rest)]
    return ["\n".join(lines)]


def _row(cells: Sequence[str]) -> str:
    wanted = collapse(" | ".join(cells))

    def is_right(written: str) -> bool:
        (block,) = parse_blocks(f"{written}\n{'|---' * len(cells)}|")
        return [(unit.kind, unit.text) for unit in block.units] == [("row", wanted)]

    def row(texts: Sequence[str]) -> str:
        return "| " + " | ".join(texts) + " |"

    escaped = (row([escape(cell) for cell in cells]) for escape in _ESCAPES)
    return _first_right(escaped, is_right)


def _as_it_is(text: str) -> str:
    return text


def _marks(text: str) -> str:
    return _MARKS.sub(r"\\\g<0>", text)


def _everything(text: str) -> str:
    return _PUNCTUATION.sub(r"\\\g<0>", text)


_ESCAPES: tuple[Callable[[str], str], ...] = (_as_it_is, _marks, _everything)
"""Escapings, from the most readable to the one that always works (CommonMark 2.4: any punctuation may be escaped)."""


def _written(text: str, form: Callable[[str], str], is_right: Callable[[str], bool]) -> str:
    return _first_right((form(escape(text)) for escape in _ESCAPES), is_right)


def _first_right(written: Iterable[str], is_right: Callable[[str], bool]) -> str:
    for one in written:
        try:
            if is_right(one):
                return one
        except (MarkdownRefused, ValueError):  # it is HTML or an image, or not one block
            continue
    raise ValueError("text that Markdown has no way to write")
