"""The parser of HTML that others wrote: any text is read, however broken it is.

Checked by tests/unit/extraction/test_html_text.py.
"""

from __future__ import annotations

from html.parser import HTMLParser


class MarkupReader(HTMLParser):
    """The standard library's parser; text arrives with its character references resolved."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def updatepos(self, i: int, j: int) -> int:
        """Skip the count of line numbers: only error messages use it, and it takes a tenth of the time."""
        return j

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Take `<![` with an unknown word for a comment up to the next ">", as browsers do; the library would fail."""
        try:
            return int(super().parse_marked_section(i, report))
        except AssertionError:
            return int(self.parse_bogus_comment(i))
