"""Limits on what may be too long: an error's text is cut to its first line, a list is split into batches.

Checked by tests/unit/core/test_size_limits.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

MOST_CHARACTERS = 500
"""Of the first line of a text."""
MOST_PARAMETERS = 500
"""In one statement of a database; SQLite takes at least 999."""

T = TypeVar("T")


def first_line(text: object) -> str:
    """The first line of an error's or another text, cut to `MOST_CHARACTERS`: further lines may quote a customer.

    An error without a text has the name of its class.
    """
    nothing = type(text).__name__ if isinstance(text, BaseException) else ""
    return (str(text).strip().splitlines() or [nothing])[0][:MOST_CHARACTERS]


def batches(whole: Sequence[T], size: int = MOST_PARAMETERS) -> Iterator[list[T]]:
    """The list in parts of at most this size; by default parts that fit into a statement."""
    return (list(whole[start : start + size]) for start in range(0, len(whole), size))
