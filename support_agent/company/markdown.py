"""Parses a document's Markdown body into blocks of whole sentences, list items and table rows.

Invariant: a unit's text is in the file once Markdown's marks are removed and white space is collapsed; only headings
(stored with each block), rules and HTML comments are left out. Checked by
tests/unit/company/test_documents.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from support_agent.company.text import collapse, sentence_spans

UnitKind = Literal["sentence", "item", "row"]
_BREAKS = {"softbreak", "hardbreak"}


class MarkdownRefused(ValueError):
    """A construct that has no plain-text form: `line` (1-based, in the body), what it is, what to do."""

    def __init__(self, line: int, what: str, todo: str) -> None:
        super().__init__(f"line {line}: {what}: {todo}")
        self.line, self.what, self.todo = line, what, todo


@dataclass(frozen=True)
class Unit:
    """One sentence, list item or table row; `line` is 1-based in the body.

    `number` is that of an item of an ordered list as rendered; `depth` counts the enclosing lists. A row has `cells`,
    the same number in all rows of a table; its `text` joins them.
    """

    text: str
    kind: UnitKind
    line: int
    number: int | None = None
    depth: int = 0
    cells: tuple[str, ...] = ()
    is_header: bool = False


@dataclass(frozen=True)
class Block:
    """The units of one paragraph, list or table, with the nearest heading above ("" for none)."""

    heading: str
    units: tuple[Unit, ...]


def parse_blocks(body: str) -> tuple[Block, ...]:
    """The body's blocks, in order.

    A paragraph is split into whole sentences. A list item is one unit (nested items are units of their own). A
    table row is one unit, its cells joined by " | "; the first one is the header, unless all its cells are empty. Each
    line of code is a block of its own, because lines of code must not be joined like sentences.

    Raises:
        MarkdownRefused: an image, or HTML other than a comment.
    """
    root = SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(body))
    heading = ""
    blocks: list[Block] = []
    for node in root.children:
        if node.type == "heading":
            heading = collapse(_plain(node.children[0], _line(node)))
            continue
        blocks += [Block(heading, units) for units in _units_of(node) if units]
    return tuple(blocks)


def _units_of(node: SyntaxTreeNode) -> Iterator[tuple[Unit, ...]]:
    """The blocks of one top-level node, as tuples of units."""
    match node.type:
        case "paragraph":
            yield tuple(_sentences(node))
        case "bullet_list" | "ordered_list":
            yield from _list_blocks(node)
        case "table":
            yield tuple(_rows(node))
        case "fence" | "code_block":
            yield from _code_blocks(node)
        case "blockquote":
            for child in node.children:
                yield from _units_of(child)
        case "heading":  # inside a quotation: ordinary text
            yield tuple(_sentences(node))
        case "html_block":
            _refuse_html(node.content, _line(node))
        case "hr":
            return
        case other:
            raise MarkdownRefused(_line(node), f"unknown Markdown block {other!r}", "write a paragraph, list or table")


def _sentences(node: SyntaxTreeNode) -> Iterator[Unit]:
    text = _plain(node.children[0], _line(node))
    for start, end in sentence_spans(text):
        yield Unit(collapse(text[start:end]), "sentence", _line(node) + text.count("\n", 0, start))


def _list_blocks(node: SyntaxTreeNode, depth: int = 0) -> Iterator[tuple[Unit, ...]]:
    """The items of a list and its inner lists as one block; code and tables inside an item follow it."""
    items: list[Unit] = []
    start = int(node.attrs.get("start", 1))
    for position, item in enumerate(node.children):
        own = [child for child in item.children if child.type in {"paragraph", "heading"}]
        text = collapse(" ".join(_plain(child.children[0], _line(child)) for child in own))
        if text:
            number = start + position if node.type == "ordered_list" else None
            items.append(Unit(text, "item", _line(item), number=number, depth=depth))
        for child in item.children:
            if child in own:
                continue
            is_list = child.type.endswith("_list")
            for units in _list_blocks(child, depth + 1) if is_list else _units_of(child):
                if all(unit.kind == "item" for unit in units):
                    items += units
                else:
                    yield tuple(items)
                    items = []
                    yield units
    yield tuple(items)


def _rows(table: SyntaxTreeNode) -> Iterator[Unit]:
    for part in table.children:
        for row in part.children:
            plain = [_plain(cell.children[0], _line(row)) if cell.children else "" for cell in row.children]
            text = collapse(" | ".join(plain))
            if text.strip("| "):
                cells = tuple(map(collapse, plain))
                yield Unit(text, "row", _line(row), cells=cells, is_header=part.type == "thead")


def _code_blocks(node: SyntaxTreeNode) -> Iterator[tuple[Unit, ...]]:
    first = _line(node) + (1 if node.type == "fence" else 0)
    for offset, line in enumerate(node.content.splitlines()):
        if line.strip():
            yield (Unit(line.strip(), "sentence", first + offset),)


def _plain(inline: SyntaxTreeNode, line: int) -> str:
    """An inline node's text without its marks; breaks become newlines, so that lines can be counted."""
    parts: list[str] = []
    for node in inline.children:
        if node.type in _BREAKS:
            parts.append("\n")
        elif node.type == "image":
            raise MarkdownRefused(line, "an image", "a text mail cannot show it: describe it in words or link to it")
        elif node.type == "html_inline":
            _refuse_html(node.content, line)
        elif node.children:
            parts.append(_plain(node, line))
        else:
            parts.append(node.content.replace("\n", " "))
    return "".join(parts)


def _refuse_html(content: str, line: int) -> None:
    """Refuse HTML other than comments, which are the author's notes and are left out."""
    html = content.strip()
    if not (html.startswith("<!--") and html.endswith("-->") and html.count("<!--") == 1):
        raise MarkdownRefused(line, f"HTML ({html[:30]!r})", "write Markdown, or put literal text between back quotes")


def _line(node: SyntaxTreeNode) -> int:
    return node.map[0] + 1 if node.map else 1
