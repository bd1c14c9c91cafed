"""Splits plain text into blocks: paragraphs, headings and list items, by its lines and blank lines.

The kinds of lines are guesses. No sentence is cut: lines are joined unless there is a sign that a paragraph ends. A
person reads the result before any customer gets it. Checked by tests/unit/company/importing/test_plain_text.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from support_agent.company.text import collapse
from support_agent.extraction.blocks import Block, BlockKind

MAX_HEADING = 80
"""Characters."""
EDGE_LINES = 3
"""Lines at the top and at the bottom of a page that may be a header or a footer."""
MIN_REPEATED = 3
"""A header is on at least this many pages."""
SHORT = 0.6
"""A line with a smaller share of the longest line's length was ended by its author."""
LONG_LINE = 40
"""Characters; if no line is this long, the lengths of lines mean nothing."""
_BULLET = re.compile(r"[-*\u2022\u2023\u25e6\u25aa\u00b7\u2013+]\s+(?=\S)")
_NUMBER = re.compile(r"\d{1,3}[.)]\s+(?=\S)")
_MARKS = {BlockKind.ITEM: _BULLET, BlockKind.NUMBERED: _NUMBER}
_SECTION = re.compile(r"\d{1,2}(?:\.\d{1,2})+\.?\s+(?=[^\W\d_])")
_PAGE_NUMBER = re.compile(
    r"\W*(?:(?:page|seite|página)\s+)?(?:\d{1,4}|[ivxl]{1,6})(?:\s*(?:/|of|von|de)\s*\d{1,4})?\W*", re.I
)
_UNDERLINE = re.compile(r"[=\-~_*]{3,}")
_CLOSED = re.compile(r"""[.!?:;,…]["'\u201d\u2019»)\]]*$""")
_SENTENCE_END = re.compile(r"""[.!?…:]["'\u201d\u2019»)\]]*$""")


def blocks_of_text(text: str) -> Iterator[Block]:
    """The blocks of a text with newlines, in order; the first heading has level 1, the others 2."""
    blocks = [block for chunk in _chunks(text) for block in chunk]
    level = 1
    for block, after in zip(blocks, [*blocks[1:], None], strict=False):
        if block.kind is not BlockKind.HEADING:
            yield block
        elif after is None or (after.kind is BlockKind.HEADING and level > 1):  # nothing follows it, so it is text
            yield block._replace(kind=BlockKind.PARAGRAPH)
        else:
            yield block._replace(level=level)
            level = 2


def join_pages(pages: Sequence[str]) -> str:
    """The joined text of pages: a sentence may continue on the next page.

    Lines at the top and bottom of a page are left out if they are only a number, or equal on most pages except for
    numbers; the first page loses only its number, as its first line may be the title.
    """
    text = ""
    split = [[line.strip() for line in page.strip().split("\n")] for page in pages if page.strip()]
    repeated = _repeated(split)
    for number, lines in enumerate(split):
        page = "\n".join(_without_edges(lines, repeated if number else frozenset())).strip()
        if page:
            text += ("\n\n" if _SENTENCE_END.search(text) else "\n") + page
    return text.strip()


def _repeated(pages: Sequence[Sequence[str]]) -> frozenset[str]:
    """The lines, with "#" for each number, at the edge of most pages."""
    edges = ((*page[:EDGE_LINES], *page[-EDGE_LINES:]) for page in pages)
    counts = Counter(line for lines in edges for line in set(map(_unnumbered, lines)))
    return frozenset(line for line, count in counts.items() if count >= MIN_REPEATED and 2 * count > len(pages))


def _without_edges(lines: Sequence[str], repeated: frozenset[str]) -> Sequence[str]:
    def is_edge(line: str) -> bool:
        return not line or _PAGE_NUMBER.fullmatch(line) is not None or _unnumbered(line) in repeated

    start, end = 0, len(lines)
    while start < min(EDGE_LINES, end) and is_edge(lines[start]):
        start += 1
    while end > max(len(lines) - EDGE_LINES, start) and is_edge(lines[end - 1]):
        end -= 1
    return lines[start:end]


def _unnumbered(line: str) -> str:
    return re.sub(r"\d+", "#", line)


def _chunks(text: str) -> Iterator[list[Block]]:
    """The blocks between blank lines."""
    lines = [line.rstrip() for line in text.expandtabs(4).split("\n")]
    longest = max(map(len, lines), default=0)
    chunk: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            chunk.append(line)
        elif chunk:
            yield list(_lines(chunk, longest))
            chunk = []


def _lines(lines: list[str], longest: int) -> Iterator[Block]:
    """The blocks of lines without a blank line between them."""
    words: list[str] = []
    kind = BlockKind.PARAGRAPH
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        text = line.strip()
        if _UNDERLINE.fullmatch(text):
            if words:
                yield Block(BlockKind.HEADING if len(words) == 1 else kind, (collapse(" ".join(words)),))
            words, kind = [], BlockKind.PARAGRAPH
            continue
        marked = _marked(text) if not words or _may_begin_item(text, before, after, kind) else BlockKind.PARAGRAPH
        is_new = not words or marked is not BlockKind.PARAGRAPH or _has_ended(before, longest) or _is_section(text)
        if is_new and words:
            yield Block(kind, (collapse(" ".join(words)),))
            words = []
        if is_new and _is_heading(text, after.strip(), longest, is_alone=len(lines) == 1):
            yield Block(BlockKind.HEADING, (collapse(text),))
            continue
        if is_new:
            kind = marked
            text = _MARKS[kind].sub("", text, count=1) if kind in _MARKS else text
        words.append(text)
    if words:
        yield Block(kind, (collapse(" ".join(words)),))


def _marked(text: str) -> BlockKind:
    return next((kind for kind, mark in _MARKS.items() if mark.match(text)), BlockKind.PARAGRAPH)


def _may_begin_item(text: str, before: str, after: str, kind: BlockKind) -> bool:
    """Whether a dash or number begins an item and is not part of a sentence ("on the | 12. of May")."""
    return _marked(text) in (kind, _marked(after.strip())) or _SENTENCE_END.search(before) is not None


def _is_section(text: str) -> bool:
    """Whether a line is a numbered heading ("2.1 Directory layout")."""
    number = _SECTION.match(text)
    is_open = len(text) <= MAX_HEADING and _CLOSED.search(text) is None
    return number is not None and text[number.end()].isupper() and is_open


def _has_ended(line: str, longest: int) -> bool:
    """Whether a paragraph ends with this line: it is short and closes a sentence."""
    return longest >= LONG_LINE and len(line.strip()) < SHORT * longest and _SENTENCE_END.search(line) is not None


def _is_heading(text: str, after: str, longest: int, *, is_alone: bool) -> bool:
    """Whether a line that begins a paragraph is a heading: short, open, and alone or before a capital."""
    if len(text) > MAX_HEADING or _CLOSED.search(text) or _marked(text) is not BlockKind.PARAGRAPH:
        return False
    if not any(character.isalpha() for character in text):
        return False
    if is_alone or _is_section(text):
        return True
    is_short = longest >= LONG_LINE and len(text) < SHORT * longest
    return is_short and after[:1].isupper() and not _UNDERLINE.fullmatch(after)
