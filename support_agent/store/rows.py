"""Statements that need care: insert once, how many rows an update hit, and shared conditions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, UpdateBase, and_, or_
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col

from support_agent.store.tables import OutboxRow, RenderedMailRow, TableRow


@cache
def insert_into(table: type[TableRow], dialect: str) -> postgresql.Insert | sqlite.Insert:
    """Build an INSERT whose columns are those of the values that it runs with, and that may have ON CONFLICT."""
    # Without `preserve_rowcount` the count of an INSERT is -1 on PostgreSQL.
    insert = sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
    return insert.execution_options(preserve_rowcount=True)


@cache
def _insert_if_new(table: type[TableRow], dialect: str) -> postgresql.Insert | sqlite.Insert:
    return insert_into(table, dialect).on_conflict_do_nothing()


def insert_if_new(connection: Connection, table: type[TableRow], values: Mapping[str, object]) -> bool:
    """Insert a row; return False if a row with one of its unique keys exists, which stays unchanged."""
    return connection.execute(_insert_if_new(table, connection.dialect.name), values).rowcount == 1


def affected(connection: Connection, statement: UpdateBase, values: Mapping[str, object] | None = None) -> int:
    """Run a statement and return how many rows it changed."""
    return connection.execute(statement, values).rowcount


def columns(table: type[TableRow], *but: str) -> list[Any]:
    """The columns of a table, without some."""
    return [col(getattr(table, name)) for name in table.model_fields if name not in but]


def equal(*pairs: tuple[Any, object]) -> list[ColumnElement[bool]]:
    """Build one condition for each (column, value); a value of None means any."""
    return [col(column) == value for column, value in pairs if value is not None]


def is_its_rendered_mail(
    of: type[OutboxRow] = OutboxRow, rendered: type[RenderedMailRow] = RenderedMailRow
) -> ColumnElement[bool]:
    """Build the condition that joins a mail of the outbox with what it was rendered from."""
    return and_(
        col(rendered.mail_id) == col(of.mail_id),
        col(rendered.kind) == col(of.kind),
        col(rendered.number) == col(of.number),
    )


def is_of(column: Any, address: str) -> ColumnElement[bool]:
    """Build the condition that an address in a column is this one, ignoring a "+" tag: machines often use a new tag."""
    local, _, domain = address.rpartition("@")
    name = local.partition("+")[0]
    if not name:
        return col(column) == address
    is_tagged = and_(
        col(column).startswith(f"{name}+", autoescape=True), col(column).endswith(f"@{domain}", autoescape=True)
    )
    return or_(col(column) == f"{name}@{domain}", is_tagged)
