"""Tables as CSV for spreadsheets.

Invariant: a cell of text never runs as a formula: one that begins like a formula gets an apostrophe before it.
Checked by tests/unit/desk_page/test_quality.py.
Source: OWASP, "CSV Injection".
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

from support_agent.desk_page.visit import Download

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The last four are the wide forms, which some spreadsheets take for the plain ones."""
BYTE_ORDER_MARK = "\ufeff"
"""Without it some spreadsheets read UTF-8 as another encoding."""
Cell = str | float | None


def csv_file(name: str, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Download:
    """A table as a file."""
    text = StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(head)
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    return Download((BYTE_ORDER_MARK + text.getvalue()).encode("utf-8", "replace"), name, "text/csv; charset=utf-8")


def _harmless(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    return f"'{cell}" if cell.lstrip(" ").startswith(FORMULA_STARTS) else cell
