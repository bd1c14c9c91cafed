"""PostgreSQL's tables of a backup, and COPY, which reads and writes their rows.

Checked by tests/integration/backup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from sqlalchemy import Connection, MetaData, Table, text
from sqlalchemy.exc import DBAPIError

from support_agent.ops.backup.archive import ArchivePart
from support_agent.store.tables import TableRow

OLDER_TABLES = ("letters", "settlements")
"""Names of tables before migration 0005."""


def tables_of(connection: Connection, schema: str | None = None) -> list[Table]:
    """The tables of a store, those that others refer to first."""
    metadata = MetaData(schema=schema)
    metadata.reflect(connection, only=lambda name, _: is_of_store(name))
    return metadata.sorted_tables


def is_of_store(name: str) -> bool:
    """Whether a table is one of a store's, of this version or an older one."""
    return name in TableRow.metadata.tables or name in OLDER_TABLES


def copy_out(connection: Connection, table: str, columns: list[str]) -> Iterator[bytes]:
    """The rows of a table, in the form of COPY, in pieces of bounded size."""
    with _copying(connection, f"{_target(connection, table, columns)} TO STDOUT") as rows:
        for piece in rows:
            yield bytes(piece)


def copy_in(connection: Connection, part: ArchivePart, pieces: Iterator[bytes], schema: str) -> None:
    """Put the rows of a part into its table, which has at least its columns."""
    target = _target(connection, part.table, part.columns, schema)
    with _copying(connection, f"{target} FROM STDIN") as rows:
        for piece in pieces:
            rows.write(piece)


def copy_rows(
    connection: Connection, table: str, columns: Sequence[str], rows: Iterator[Sequence[Any]], schema: str
) -> None:
    """Put rows into a table, which has at least these columns."""
    with _copying(connection, f"{_target(connection, table, columns, schema)} FROM STDIN") as copied:
        for row in rows:
            copied.write_row(row)


@contextmanager
def _copying(connection: Connection, statement: str) -> Iterator[Any]:
    """COPY, which the driver alone knows, in the connection's transaction; its errors are those of SQLAlchemy."""
    connection.execute(text("SET LOCAL standard_conforming_strings = on"))  # else the driver escapes bytes twice
    connection.execute(text("SET LOCAL DateStyle = 'ISO'"))  # else another server may take a month for a day
    driver = connection.dialect.loaded_dbapi.Error
    try:
        with cast(Any, connection.connection).cursor() as cursor, cursor.copy(statement) as rows:
            yield rows
    except driver as error:
        raise cast(DBAPIError, DBAPIError.instance(None, None, error, driver, hide_parameters=True)) from error


def _target(connection: Connection, table: str, columns: Sequence[str], schema: str | None = None) -> str:
    names = ", ".join(quoted(connection, column) for column in columns)
    return f"COPY {quoted(connection, table, schema)} ({names})"


def quoted(connection: Connection, name: str, schema: str | None = None) -> str:
    """A name as SQL has it, within its schema."""
    quote: Callable[[str], str] = connection.dialect.identifier_preparer.quote_identifier
    return quote(name) if schema is None else f"{quote(schema)}.{quote(name)}"
