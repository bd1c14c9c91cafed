"""Reads a Word document (docx) as blocks: headings, paragraphs, lists and tables, as Word shows them.

Invariant: the blocks hold no deleted or hidden words; at most `MAX_EXPANDED_BYTES` of each part of the zip file are
expanded, and no entity is. Checked by tests/unit/extraction/test_word.py.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from xml.parsers import expat

from support_agent.extraction.blocks import BlockKind, Collector, FileRefused, Refusal

MAX_EXPANDED_BYTES = 20_000_000
"""Limit for each part of the zip file."""
CHUNK_BYTES = 65_536
OLD_FORMAT = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""First bytes of a compound file: a document with a password, or one of Word 2003 or older."""
DOCUMENT = re.compile(r"word/document\d*\.xml")
STYLES = re.compile(r"word/styles\d*\.xml")
NUMBERING = re.compile(r"word/numbering\d*\.xml")
WORD = ("wordprocessingml/2006/main ", "ooxml/wordprocessingml/main ")
"""Namespaces of Word's elements, in the transitional and the strict form."""
HEADING_STYLE = re.compile(r"heading ([1-9])")
MAX_LEVEL = 6
MAX_BASES = 10
"""Longest chain of styles, each based on the next."""
MAX_SPAN = 60
"""Columns that one cell may span."""
OFF = ("0", "false", "off")

Start = Callable[[str, dict[str, str]], None]
End = Callable[[str], None]


@dataclass
class Style:
    """A paragraph style; `level` is the heading level, 0 for none."""

    level: int = 0
    number: str = ""
    base: str = ""


@dataclass
class Styles:
    """The styles by id, and the kinds of list by (numbering id, level)."""

    styles: dict[str, Style] = field(default_factory=dict)
    lists: dict[tuple[str, int], str] = field(default_factory=dict)

    def style(self, name: str) -> Style:
        """The style, with values inherited from the styles that it is based on."""
        found, at = Style(), self.styles.get(name)
        for _ in range(MAX_BASES):
            if at is None:
                break
            found = Style(found.level or at.level, found.number or at.number)
            at = self.styles.get(at.base)
        return found


def read_word(raw: bytes, found: Collector) -> None:
    """Read the blocks of a Word document.

    Raises:
        FileRefused: the file is encrypted, or expands to too many bytes.
        Exception: a library fails on a broken file.
    """
    if raw.startswith(OLD_FORMAT):
        raise FileRefused(Refusal.ENCRYPTED)
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        if any(entry.flag_bits & 1 for entry in archive.infolist()):
            raise FileRefused(Refusal.ENCRYPTED)
        styles = Styles()
        for pattern, reader in ((STYLES, _StylesReader(styles)), (NUMBERING, _NumberingReader(styles))):
            _parse(archive, pattern, reader.start, is_needed=False)
        body = _BodyReader(found, styles)
        _parse(archive, DOCUMENT, body.start, body.end, body.data)


def _parse(
    archive: zipfile.ZipFile,
    pattern: re.Pattern[str],
    start: Start,
    end: End = lambda _: None,
    data: End = lambda _: None,
    *,
    is_needed: bool = True,
) -> None:
    """Send the events of one part to the handlers, with the namespace as part of each name."""
    name = next((name for name in archive.namelist() if pattern.fullmatch(name)), None)
    if name is None and not is_needed:
        return
    if name is None:
        raise FileRefused(Refusal.BROKEN)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = _refuse  # without a doctype there are no entities to expand or fetch
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, data
    n_bytes = 0
    with archive.open(name) as part:
        while chunk := part.read(CHUNK_BYTES):
            n_bytes += len(chunk)
            if n_bytes > MAX_EXPANDED_BYTES:
                raise FileRefused(Refusal.TOO_MUCH)
            parser.Parse(chunk, False)
    parser.Parse(b"", True)


def _refuse(*_: object) -> None:
    raise ValueError("the file has a document type declaration; Word files have none")


def _tag(name: str) -> str:
    return name.rpartition(" ")[2] if any(word in name for word in WORD) else ""


def _value(attributes: dict[str, str], name: str = "val") -> str:
    """The value of an attribute in any namespace; "" if there is none."""
    return next((value for key, value in attributes.items() if key.rpartition(" ")[2] == name), "")


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0


class _StylesReader:
    """Reads word/styles.xml: built-in styles have English names in every language, but localised ids."""

    def __init__(self, styles: Styles) -> None:
        self._styles, self._at = styles, Style()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        match _tag(name):
            case "style":
                self._at = self._styles.styles[_value(attributes, "styleId")] = Style()
            case "name":
                style_name = _value(attributes).lower()
                heading = HEADING_STYLE.fullmatch(style_name)
                self._at.level = 1 if style_name == "title" else min(int(heading[1]), MAX_LEVEL) if heading else 0
            case "basedOn":
                self._at.base = _value(attributes)
            case "numId":
                self._at.number = _value(attributes)
            case "outlineLvl":
                self._at.level = self._at.level or _heading_level(_value(attributes))


def _heading_level(outline: str) -> int:
    """Convert an outline level, which counts from 0 with 9 for body text, to a heading level; 0 for none."""
    return min(_whole(outline) + 1, MAX_LEVEL) if outline != "9" else 0


class _NumberingReader:
    """Reads word/numbering.xml: which lists have numbers, and which have bullets."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._abstract: dict[tuple[str, int], str] = {}
        self._list = self._number = ""
        self._level = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        match _tag(name):
            case "abstractNum":
                self._list = _value(attributes, "abstractNumId")
            case "lvl":
                self._level = _whole(_value(attributes, "ilvl"))
            case "numFmt" if not self._number:  # inside <w:num> it would override the list
                self._abstract[self._list, self._level] = _value(attributes)
            case "num":
                self._number = _value(attributes, "numId")
            case "abstractNumId":
                meant = _value(attributes)
                self._styles.lists |= {
                    (self._number, level): kind for (list_, level), kind in self._abstract.items() if list_ == meant
                }


@dataclass
class _Paragraph:
    style: str = ""
    number: str = ""
    depth: int = 0
    outline: str = "9"
    words: list[str] = field(default_factory=list)
    size: int = 0
    left_out: list[str] = field(default_factory=list)


class _BodyReader:
    """Reads word/document.xml: paragraphs may be inside cells, and inside text boxes of other paragraphs."""

    def __init__(self, found: Collector, styles: Styles) -> None:
        self._found, self._styles = found, styles
        self._open: list[_Paragraph] = []
        self._cells: list[str] = []
        self._cell: list[str] = []
        self._span = 1
        self._tables = self._table = 0
        self._is_text = self._is_hidden = False
        self._skipped = 0
        self._pending: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = _tag(name)
        if self._skipped or tag in ("del", "moveFrom", "pPrChange", "rPrChange") or name.endswith(" Fallback"):
            self._skipped += 1
        elif tag == "p":
            self._open.append(_Paragraph())
        elif tag in ("tbl", "tr", "tc", "gridSpan"):
            self._start_table(tag, attributes)
        elif self._open:
            self._start_in_paragraph(tag, attributes, self._open[-1])

    def _start_table(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "tbl":
            self._tables += 1
            self._table += self._tables == 1
        elif self._tables > 1:  # a table in a cell is read as that cell's text
            return
        elif tag == "tr":
            self._cells = []
        elif tag == "tc":
            self._cell, self._span = [], 1
        else:
            self._span = min(max(_whole(_value(attributes)), 1), MAX_SPAN)

    def _start_in_paragraph(self, tag: str, attributes: dict[str, str], at: _Paragraph) -> None:
        match tag:
            case "pStyle":
                at.style = _value(attributes)
            case "numId":
                at.number = _value(attributes)
            case "ilvl":
                at.depth = _whole(_value(attributes))
            case "outlineLvl":
                at.outline = _value(attributes)
            case "r":
                self._is_hidden = False
            case "vanish":
                self._is_hidden = _value(attributes) not in OFF
            case "t":
                self._is_text = True
            case "br" | "cr":
                at.words.append("\n")
            case "tab":
                at.words.append(" ")
            case "noBreakHyphen":
                at.words.append("-")
            case "drawing" | "pict" | "object":
                at.left_out.append("a picture")
            case "footnoteReference" | "endnoteReference":
                at.left_out.append("a footnote")

    def end(self, name: str) -> None:
        tag = _tag(name)
        if self._skipped:
            self._skipped -= 1
        elif tag == "t":
            self._is_text = False
        elif tag == "p" and self._open:
            self._end_paragraph(self._open.pop())
        elif tag == "tbl":
            self._tables -= 1
            if not self._tables:
                self._leave_out(self._pending)
                self._pending = []
        elif tag == "tc" and self._tables == 1:
            self._cells += [" ".join(self._cell), *[""] * (self._span - 1)]
        elif tag == "tr" and self._tables == 1:
            self._found.add(BlockKind.ROW, *self._cells, level=self._table)

    def data(self, text: str) -> None:
        if not (self._is_text and self._open) or self._is_hidden or self._skipped:
            return
        at = self._open[-1]
        at.words.append(text)
        at.size += len(text)
        if at.size > self._found.max_characters:
            self._found.add(BlockKind.PARAGRAPH, "".join(at.words))

    def _end_paragraph(self, at: _Paragraph) -> None:
        text = "".join(at.words).strip()
        if self._tables:
            self._cell += [text] if text else []
            self._pending += at.left_out
            return
        style = self._styles.style(at.style)
        number = at.number or style.number
        level = _heading_level(at.outline) or style.level
        kind = self._styles.lists.get((number, at.depth), "bullet")
        if level:
            self._found.add(BlockKind.HEADING, text, level=level)
        elif number in ("", "0") or kind == "none":
            self._found.add(BlockKind.PARAGRAPH, text)
        else:
            self._found.add(BlockKind.ITEM if kind == "bullet" else BlockKind.NUMBERED, text, level=at.depth)
        self._leave_out(at.left_out)

    def _leave_out(self, what: list[str]) -> None:
        for one in what:
            self._found.add(BlockKind.LEFT_OUT, one)
