"""Lay out text for a terminal: tables, indentation, wrapping, by the cells that characters take there.

Invariant: a cell of a table and an indented line have passed `clean_line`, so no control character is among them.
Checked by tests/unit/cli/test_printing.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.cells import cell_len, chop_cells

from support_agent.answer.formatting import clean_line, clean_lines

CELL_LIMIT = 90
"""Widest cell of a table, except the last of a row."""
NOTHING = "-"


def as_table(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell, two spaces between them; rows may end early."""
    cleaned = [[clean_line(cell) for cell in row] for row in rows]
    limited = [[*(cut(cell) for cell in row[:-1]), *row[-1:]] for row in cleaned]
    count = max((len(row) for row in limited), default=0)
    widths = [max((cell_len(row[i]) for row in limited if len(row) > i + 1), default=0) for i in range(count)]
    return "\n".join(
        "  ".join(padded(cell, width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in limited
    )


def cut(cell: str, cells: int = CELL_LIMIT) -> str:
    return cell if cell_len(cell) <= cells else f"{chop_cells(cell, cells - 3)[0]}..."


def padded(text: str, cells: int) -> str:
    return text + " " * (cells - cell_len(text))


def wrapped(text: str, cells: int) -> list[str]:
    """Lines of at most that many cells, broken at spaces where there are any."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(longer) <= cells:
            lines[-1] = longer
            continue
        pieces = chop_cells(word, cells)
        lines = [*(lines if lines[-1] else lines[:-1]), *pieces]
    return lines


def indented(text: str, spaces: int, mark: str = "") -> list[str]:
    return [f"{' ' * spaces}{mark}{line}".rstrip() for line in clean_lines(text)]


def quoted(text: str) -> list[str]:
    return [f"  | {line}".rstrip() for line in clean_lines(text)]


def instant_text(instant: datetime | None) -> str:
    return NOTHING if instant is None else instant.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def number_text(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
