"""Shows on stderr how far a command is that asks models for minutes: a bar on a terminal, nothing in a pipe or a log.

Checked by tests/unit/cli/test_progress.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def with_progress(items: Iterable[T], what: str, total: int) -> Iterable[T]:
    """The items, and a bar while they are used.

    Args:
        what: What they are, for the person who waits.
        total: How many there are, or at most may be.
    """
    if not sys.stderr.isatty():
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, what, total=total, console=Console(file=sys.stderr), transient=True)
