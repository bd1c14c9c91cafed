"""Reads an HTML page as blocks: headings, paragraphs, lists, tables and code; fetches and runs nothing.

Invariant: the blocks hold no content that a browser would hide (scripts, styles, hidden elements, comments), and
nothing around the text: if a page has a <main> or an <article>, only that is read. Checked by
tests/unit/extraction/test_page.py.
"""

from __future__ import annotations

import codecs
import re

from support_agent.extraction.blocks import Block, BlockKind, Collector
from support_agent.extraction.markup import MarkupReader
from support_agent.extraction.visibility import MAX_OPEN, SILENT, VOID, Attributes, has_no_size, is_hidden

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
LISTS = frozenset({"ul", "ol", "menu"})
AROUND = frozenset({"nav", "footer", "aside", "button", "select", "textarea", "datalist", "dialog"})
"""Elements without the page's own text: menus and forms."""
MAIN = frozenset({"main", "article"})
PARAGRAPH = frozenset(
    {"address", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption"}
    | {"figure", "form", "header", "hgroup", "hr", "html", "legend", "p", "search", "section", "summary"}
)
"""Elements that begin and end a paragraph."""
NO_TEXT = {
    "img": "a picture", "svg": "a picture", "video": "a video", "audio": "a sound", "iframe": "a frame",
    "object": "an object", "embed": "an object", "canvas": "a picture",
}  # fmt: skip
META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
"""Searched in the first kilobyte, as browsers do (HTML standard, 13.2.3.2)."""
BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
SPACES = re.compile(r"[ \t\r\n\f\x1e]+")
BREAK = "\x1e"
"""Represents a <br>: other line ends are white space."""
BREAKS = re.compile(r"\x1e[ \t\r\n\f]*\x1e")
MAX_SPAN = 60


def read_page(raw: bytes, found: Collector) -> None:
    """Read the blocks of a page.

    Raises:
        FileRefused: the page has too much text.
    """
    reader = _Reader(found)
    reader.feed(_decoded(raw))
    reader.close()
    reader.finish()


def _decoded(raw: bytes) -> str:
    """Decode by the byte order mark, else as UTF-8, else as the page declares, else as Windows-1252 like a browser."""
    for mark, codec in BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return raw.decode(codec, "replace")
    declared = META.search(raw[:1024])
    for codec in ("utf-8", declared[1].decode("ascii") if declared else "cp1252"):
        try:
            return raw.decode(codec)
        except (UnicodeError, LookupError):
            continue
    return raw.decode("cp1252", "replace")


class _Reader(MarkupReader):
    def __init__(self, found: Collector) -> None:
        super().__init__()
        self._found = found
        self._words: list[str] = []
        self._open: list[tuple[str, bool, bool]] = []  # tag, whether it hides its content, `_has_no_size` before
        self._hidden = self._main = 0
        self._has_no_size = False
        self._lists: list[BlockKind] = []
        self._item: tuple[BlockKind, int] | None = None
        self._item_texts: list[str] = []
        self._tables = self._table = 0
        self._cells: list[str] | None = None
        self._cell: list[str] = []
        self._span = 1
        self._mains: list[tuple[int, int]] = []
        self._main_start = 0
        self._pending: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "br":
            self._words.append(BREAK)
            return
        if tag == "body":  # the head ends here, whether the page says so or not
            self.handle_endtag("head")
        if tag in NO_TEXT and not self._hidden and not is_hidden(attrs):
            self._leave_out(NO_TEXT[tag])
        hides = tag in SILENT or tag in AROUND or is_hidden(attrs)
        if not self._hidden and not hides:
            self._start_block(tag, attrs)
        if tag in VOID or len(self._open) >= MAX_OPEN:
            return
        self._open.append((tag, hides, self._has_no_size))
        self._has_no_size = has_no_size(tag, attrs, self._has_no_size)
        self._hidden += hides

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if not any(name == tag for name, *_ in reversed(self._open[-50:])):  # a stray end tag closes nothing
            if tag == "p":
                self._flush()
            return
        while self._open:
            name, hides, self._has_no_size = self._open.pop()
            if not self._hidden:
                self._end_block(name)
            self._hidden -= hides
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        if not self._hidden and not self._has_no_size:
            self._words.append(data.replace(BREAK, " "))

    def finish(self) -> None:
        """Close elements that the page left open, and keep only its main part if it has one."""
        while self._open:
            self.handle_endtag(self._open[-1][0])
        self._flush()
        self._end_item()
        if self._mains:
            blocks: list[Block] = []
            for start, end in self._mains:
                blocks += self._found.blocks[start:end]
            if blocks:
                self._found.blocks[:] = blocks

    def _start_block(self, tag: str, attrs: Attributes) -> None:
        if tag in MAIN:
            self._flush()
            self._end_item()
            if not self._main:
                self._main_start = len(self._found.blocks)
            self._main += 1
        elif tag in ("table", "tr", "td", "th"):
            self._start_table(tag, attrs)
        elif tag in LISTS:
            self._flush()
            self._end_item()
            self._lists.append(BlockKind.NUMBERED if tag == "ol" else BlockKind.ITEM)
        elif tag == "li":
            self._flush()
            self._end_item()
            self._item = (self._lists[-1] if self._lists else BlockKind.ITEM, max(len(self._lists) - 1, 0))
        elif tag in PARAGRAPH or tag in HEADINGS or tag == "pre":
            self._flush()

    def _start_table(self, tag: str, attrs: Attributes) -> None:
        self._flush()
        if tag == "table":
            self._end_item()
            self._tables += 1
            self._table += self._tables == 1
        elif self._tables > 1:  # a table in a cell is read as that cell's text
            return
        elif tag == "tr":
            self._end_row()
            self._cells = []
        elif self._tables:
            self._end_cell()
            self._cells = self._cells if self._cells is not None else []
            self._cell = [""]
            span = dict(attrs).get("colspan") or ""
            self._span = min(int(span), MAX_SPAN) if span.isascii() and span.isdigit() and len(span) < 4 else 1

    def _end_block(self, tag: str) -> None:
        if tag in HEADINGS:
            self._end_heading(int(tag[1]))
        elif tag == "pre":
            self._end_code()
        elif tag in MAIN:
            self._flush()
            self._end_item()
            self._main -= 1
            if not self._main:
                self._mains.append((self._main_start, len(self._found.blocks)))
        elif tag in LISTS:
            self._flush()
            self._end_item()
            self._lists = self._lists[:-1]
        elif tag == "li":
            self._flush()
            self._end_item()
        elif tag in ("table", "tr", "td", "th"):
            self._end_table(tag)
        elif tag in PARAGRAPH:
            self._flush()

    def _end_table(self, tag: str) -> None:
        self._flush()
        if tag == "table":
            if self._tables == 1:
                self._end_row()
                self._end_pending()
            self._tables -= 1
        elif self._tables > 1:
            return
        elif tag == "tr":
            self._end_row()
        else:
            self._end_cell()

    def _end_cell(self) -> None:
        if self._cells is not None and self._cell:
            self._cells += [" ".join(filter(None, self._cell)), *[""] * (self._span - 1)]
        self._cell, self._span = [], 1

    def _end_row(self) -> None:
        self._end_cell()
        if self._cells:
            self._found.add(BlockKind.ROW, *self._cells, level=self._table)
        self._cells = None

    def _end_heading(self, level: int) -> None:
        if self._tables or self._item:
            self._flush()
            return
        text = SPACES.sub(" ", "".join(self._words)).strip()
        self._words.clear()
        self._found.add(BlockKind.HEADING, text, level=level)

    def _end_code(self) -> None:
        if self._tables:
            self._flush()
            return
        code = "".join(self._words).replace(BREAK, "\n").strip("\n")
        self._words.clear()
        self._end_item()
        self._found.add(BlockKind.CODE, code)

    def _end_item(self) -> None:
        if self._item and self._item_texts:
            kind, depth = self._item
            self._found.add(kind, " ".join(self._item_texts), level=depth)
        self._item, self._item_texts = None, []
        self._end_pending()

    def _leave_out(self, what: str) -> None:
        """Mark a left-out element, but only after the current list item or table ends."""
        self._pending.append(what)
        if not self._tables and self._item is None:
            self._flush()
            self._end_pending()

    def _end_pending(self) -> None:
        for what in self._pending:
            self._found.add(BlockKind.LEFT_OUT, what)
        self._pending.clear()

    def _flush(self) -> None:
        """End a paragraph; two line breaks end one as well."""
        text = "".join(self._words)
        self._words.clear()
        for part in BREAKS.split(text):
            plain = SPACES.sub(" ", part).strip()
            if not plain:
                continue
            if self._tables and self._cell:
                self._cell.append(plain)
            elif self._item is not None and not self._tables:
                self._item_texts.append(plain)
            else:
                self._found.add(BlockKind.PARAGRAPH, plain)
