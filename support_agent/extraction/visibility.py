"""Recognises invisible HTML content: silent elements, hidden elements, text of font size 0; and crossed-out text.

Attackers hide instructions for a model in such content, in mails and in pages. Checked by
tests/unit/extraction/test_html_text.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Attributes = Sequence[tuple[str, str | None]]

SILENT = frozenset({"script", "style", "head", "title", "template", "noscript", "object", "svg", "math"})
VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all", re.IGNORECASE)
CROSSED_OUT = frozenset({"del", "s", "strike"})
CROSSED_OUT_STYLE = re.compile(r"text-decoration[a-z-]*\s*:[^;]*line-through", re.IGNORECASE)
FONT_SIZE = re.compile(r"(?:^|;)\s*+font(?:-size)?\s*+:\s*+([^;]*+)", re.IGNORECASE)
NOTHING = re.compile(r"(?:0++(?:\.0*+)?|\.0++)(?![\d.])")
"""A size of 0, in any unit. An inner element with a size of its own is visible."""
MAX_OPEN = 500
"""Most open elements; deeper ones are read as text of their parent."""


def is_hidden(attributes: Attributes) -> bool:
    """Whether these attributes hide an element and all its content."""
    return any(
        name == "hidden" or (name == "style" and HIDDEN_STYLE.search(value or "") is not None)
        for name, value in attributes
    )


def is_crossed_out(tag: str, attributes: Attributes) -> bool:
    """Whether an element's text is shown with a line through it: its writer takes it back."""
    styles = (value or "" for name, value in attributes if name == "style")
    return tag in CROSSED_OUT or any(CROSSED_OUT_STYLE.search(style) for style in styles)


def has_no_size(tag: str, attributes: Attributes, inherited: bool) -> bool:
    """Whether an element's text has font size 0, like the hidden text of newsletters.

    Args:
        inherited: The result for the outer element; it applies if this element sets no size.
    """
    for name, value in attributes:
        if name == "style" and value and "font" in value.lower() and (sizes := FONT_SIZE.findall(value)):
            return NOTHING.match(sizes[-1]) is not None
        if name == "size" and tag == "font":
            return False
    return inherited
