"""Converts HTML (a mail body, a web page) to plain text with the standard library's parser; fetches and runs nothing.

Invariant: the text has no content that a mail program would hide (scripts, styles, `display:none`, comments), and
lines of a `<blockquote>` begin with "> " like quoted plain text. Checked by
tests/unit/extraction/test_html_text.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

from support_agent.extraction.markup import MarkupReader
from support_agent.extraction.visibility import MAX_OPEN, SILENT, VOID, has_no_size, is_crossed_out, is_hidden

BLOCK = frozenset(
    {"address", "article", "aside", "blockquote", "caption", "center", "dd", "div", "dl", "dt", "fieldset", "figure"}
    | {
        "figcaption",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "legend",
        "li",
        "main",
        "nav",
    }
    | {"ol", "optgroup", "option", "p", "pre", "section", "select", "table", "tbody", "textarea", "tfoot", "thead"}
    | {"tr", "ul"}
)
PARAGRAPH = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "ul", "ol", "table"})


TARGET = re.compile(r"(?:https?|ftp|mailto|tel|sms):", re.IGNORECASE)
"""How the target of a link begins that works in a mail."""
UNSEEN = re.compile(r"^(?:(?:https?|ftp)://(?:www\.)?|www\.|(?:mailto|tel|sms):)", re.IGNORECASE)
"""What people leave out where they write the target of a link as its text."""


class Extract(NamedTuple):
    """The text of an HTML document; `is_whole` is False if the markup ended in the middle and text may be missing.

    `is_crossed_out`: some of the text, outside quotations, is crossed out.
    """

    text: str
    is_whole: bool
    is_crossed_out: bool


def html_to_text(html: str, *, keeps_links: bool = False) -> Extract:
    """Turn HTML into lines that end in LF. Never raises on any string.

    Args:
        keeps_links: Write the target of a link after its text, "here <https://...>", unless the text is the target.
    """
    reader = _Reader(keeps_links=keeps_links)
    reader.feed(html)
    # close() searches the end of each broken construct again, which is quadratic: call it only for a plain rest.
    is_whole = "<" not in reader.rawdata
    if is_whole:
        reader.close()
    return Extract(reader.text(), is_whole, reader.is_crossed_out)


class _Reader(MarkupReader):
    def __init__(self, *, keeps_links: bool) -> None:
        super().__init__()
        self.is_crossed_out = False
        self._keeps_links = keeps_links
        self._target = ""
        self._linked: list[str] = []
        self._lines: list[str] = []
        self._words: list[str] = []
        # tag, whether it hides its content, whether it crosses it out, `_has_no_size` before
        self._open: list[tuple[str, bool, bool, bool]] = []
        self._hidden = 0
        self._crossed_out = 0
        self._has_no_size = False
        self._quotes = 0
        self._preformatted = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "br":
            self._end_line()
            return
        if tag in BLOCK:
            self._start_block(tag)
        if tag == "li":
            self._words.append("- ")
        if tag == "a" and self._keeps_links:
            self._end_link()
            self._target = next((value or "" for name, value in attrs if name == "href"), "").strip()
        if tag in VOID or len(self._open) >= MAX_OPEN:
            return
        hides, crosses_out = tag in SILENT or is_hidden(attrs), is_crossed_out(tag, attrs)
        self._open.append((tag, hides, crosses_out, self._has_no_size))
        self._has_no_size = has_no_size(tag, attrs, self._has_no_size)
        self._hidden += hides
        self._crossed_out += crosses_out
        self._quotes += tag == "blockquote"
        self._preformatted += tag == "pre"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._end_link()
        if tag in BLOCK:
            self._start_block(tag)
        if tag in {"td", "th"}:
            self._words.append(" ")
        if not any(name == tag for name, *_ in reversed(self._open[-50:])):  # a stray end tag closes nothing
            return
        while self._open:
            name, hides, crosses_out, self._has_no_size = self._open.pop()
            self._hidden -= hides
            self._crossed_out -= crosses_out
            self._quotes -= name == "blockquote"
            self._preformatted -= name == "pre"
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._hidden or self._has_no_size:
            return
        if self._crossed_out and not self._quotes and data.strip():
            self.is_crossed_out = True
        if self._target:
            self._linked.append(data)
        if not self._preformatted:
            self._words.append(data)
            return
        first, *rest = data.split("\n")
        self._words.append(first)
        for line in rest:
            self._end_line()
            self._words.append(line)

    def _end_link(self) -> None:
        """Write the target of a link that ends here, if its text does not say it."""
        target, text = self._target, "".join(self._linked)
        self._target = ""
        self._linked.clear()
        if text.strip() and TARGET.match(target) and _bare(text) != _bare(target):
            self._words.append(f" <{'%20'.join(target.split()).replace('<', '%3C').replace('>', '%3E')}>")

    def _start_block(self, tag: str) -> None:
        if "".join(self._words).strip():
            self._end_line()
        self._words.clear()
        if tag in PARAGRAPH and self._lines and self._lines[-1].strip("> "):
            self._lines.append(">" * min(self._quotes, 20))

    def _end_line(self) -> None:
        line = "".join(self._words)
        self._words.clear()
        if not self._preformatted:
            line = re.sub(r"[ \t\r\n\f\xa0]+", " ", line).strip()
        mark = ">" * min(self._quotes, 20)
        self._lines.append(f"{mark} {line}".rstrip() if mark else line)

    def text(self) -> str:
        """All lines, with at most one blank line in a row."""
        self._end_link()
        if self._words:
            self._end_line()
        while self._lines and not self._lines[-1].strip("> "):
            self._lines.pop()
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._lines)).strip("\n")


def _bare(link: str) -> str:
    """The letters and digits of a link, without what people leave out."""
    return "".join(filter(str.isalnum, unquote(UNSEEN.sub("", link.strip())).casefold()))
