"""Turns an HTML mail into the plain lines that its reader sees: template tests compare them."""

from __future__ import annotations

from support_agent.extraction.markup import MarkupReader

_BLOCKS = frozenset({"div", "h1", "h2", "h3", "h4", "li", "ol", "p", "table", "tr", "ul", "hr", "br", "blockquote"})
_CELLS = frozenset({"td", "th"})


def as_read(markup: str) -> str:
    """The visible text: a line for each block, "- " before list items, " | " between cells, links in angle
    brackets.

    A link's address is shown where it is not the link's own text.
    """
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    return "\n".join(line.strip(" |") for line in lines if line.strip(" |"))


class _Reader(MarkupReader):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._link = ""
        self._link_text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self.parts.append("\n")
        if tag == "li":
            self.parts.append("- ")
        if tag == "hr":
            self.parts.append("---\n")
        if tag == "a":
            self._link, self._link_text = dict(attrs).get("href") or "", ""

    def handle_endtag(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.parts.append("\n")
        if tag in _CELLS:
            self.parts.append(" | ")
        if tag == "a":
            if self._link != self._link_text:
                self.parts.append(f" <{self._link}>")
            self._link = ""

    def handle_data(self, data: str) -> None:
        self._link_text += data
        self.parts.append(data.replace("\n", " "))
