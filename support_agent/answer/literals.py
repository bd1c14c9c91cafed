"""Finds the literal text of a template without a template engine, for the gate.

Invariant: a piece is the whole text between two tags (or line ends) of one line; a span that cites a template must be a
whole piece, so sentences cannot be assembled from letters. Checked by
tests/unit/answer/test_literals.py.
"""

from __future__ import annotations

import re
from functools import lru_cache

_TAG = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)


@lru_cache(maxsize=256)
def pieces(text: str) -> dict[int, tuple[str, ...]]:
    """Literal pieces by 1-based line, each with its line end, if any."""
    found: dict[int, list[str]] = {}
    line = start = 0
    for end, after in [*(match.span() for match in _TAG.finditer(text)), (len(text), len(text))]:
        for piece in text[start:end].splitlines(keepends=True):
            found.setdefault(line + 1, []).append(piece)
            line += piece.count("\n")
        line += text[end:after].count("\n")
        start = after
    return {number: tuple(of_line) for number, of_line in found.items()}


def stands_at(span: str, text: str, line: int) -> bool:
    """Whether the span is a whole piece of that line, except for white space at its ends."""
    return any(span in piece and span.strip() == piece.strip() for piece in pieces(text).get(line, ()))
