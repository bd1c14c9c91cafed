"""Rows of a copied SQLite file, as PostgreSQL takes them: so a store, with the engine's records, moves to a server.

The tables of both are the same at the same revision, and values are copied as they are stored, encrypted or not. Only
instants are kept in another way: SQLite has them as text without a zone, in UTC.

Checked by tests/integration/backup/test_moving.py.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import DateTime, Table

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


def columns_of(file: sqlite3.Connection, table: str) -> list[str]:
    """The names of a table's columns; none if there is no such table."""
    return [name for (name,) in file.execute("SELECT name FROM pragma_table_info(?) ORDER BY cid", (table,))]


def rows_of(file: sqlite3.Connection, table: Table) -> Iterator[tuple[Any, ...]]:
    """The rows of a table, each with the values of `columns_of` as the table of PostgreSQL takes them."""
    selected = ", ".join(_selected(name, table.columns[name].type) for name in columns_of(file, table.name))
    yield from file.execute(f"SELECT {selected} FROM {_quoted(table.name)}")


def _selected(name: str, kind: object) -> str:
    return f"{_quoted(name)} || '+00'" if isinstance(kind, DateTime) else _quoted(name)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
