"""Rows of a copied SQLite file, as PostgreSQL takes them: so a store moves to a server.

The tables of both are the same at the same revision, and values are copied as they are stored, encrypted or not. Only
instants are kept in another way: SQLite has them as text without a zone, in UTC.

Checked by tests/unit/ops/test_file_rows.py and tests/integration/backup/test_moving.py.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Column, DateTime, Table

from support_agent.errors import PermanentError


@contextmanager
def opened(file: Path) -> Iterator[sqlite3.Connection]:
    """A SQLite file of a backup, which is only read: nothing is written beside it, either.

    Raises:
        PermanentError: it cannot be read.
    """
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro&immutable=1", uri=True)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise PermanentError(f"{file} cannot be read ({error}): use another backup", code="backup") from error


def columns_of(file: sqlite3.Connection, table: Table) -> list[str]:
    """The names of the columns that the file has of a table; none if it has no such table.

    Raises:
        PermanentError: the table lacks one of them.
    """
    names = [name for (name,) in file.execute("SELECT name FROM pragma_table_info(?) ORDER BY cid", (table.name,))]
    if unknown := [name for name in names if name not in table.columns]:
        raise PermanentError(f"{table.name} of the backup has unknown columns: {', '.join(unknown)}", code="backup")
    return names


def rows_of(file: sqlite3.Connection, table: Table, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a table, with values as the table of PostgreSQL takes them."""
    selected = ", ".join(_selected(table.columns[name]) for name in columns)
    return file.execute(f'SELECT {selected} FROM "{table.name}"')


def _selected(column: Column[Any]) -> str:
    name = f'"{column.name}"'
    return f"{name} || '+00'" if isinstance(column.type, DateTime) else name
