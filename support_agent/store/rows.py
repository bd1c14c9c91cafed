"""Statements that need care: insert once, insert or update, how many rows an update hit, and shared conditions."""

from __future__ import annotations

from typing import Any, cast

from sqlalchemy import ColumnElement, CursorResult, Delete, Update, and_
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session, col

from support_agent.store.tables import OutboxRow, RenderedMailRow, Row


def _insert(session: Session, row: Row) -> postgresql.Insert | sqlite.Insert:
    is_sqlite = session.get_bind().dialect.name == "sqlite"
    statement = (sqlite.insert if is_sqlite else postgresql.insert)(type(row))
    return statement.values(**row.model_dump())


def insert_if_new(session: Session, row: Row) -> bool:
    """Insert a row; return False if a row with one of its unique keys exists, which stays unchanged."""
    return affected(session, _insert(session, row).on_conflict_do_nothing()) == 1


def upsert(session: Session, row: Row, *, key: str, where: ColumnElement[bool]) -> None:
    """Insert a row, or update the stored row of the same `key` if it meets `where`; None values change nothing."""
    values = {name: value for name, value in row.model_dump(exclude_none=True).items() if name != key}
    statement = _insert(session, row)
    affected(session, statement.on_conflict_do_update(index_elements=[key], set_=values, where=where))


def affected(session: Session, statement: postgresql.Insert | sqlite.Insert | Update | Delete) -> int:
    """Run a statement and return how many rows it changed."""
    # Without `preserve_rowcount` the count of an INSERT is -1 on PostgreSQL.
    options = {"synchronize_session": False, "preserve_rowcount": True}
    return cast("CursorResult[Any]", session.execute(statement, execution_options=options)).rowcount


def equal(*pairs: tuple[Any, object]) -> list[ColumnElement[bool]]:
    """Build one condition for each (column, value); a value of None means any."""
    return [col(column) == value for column, value in pairs if value is not None]


def is_its_rendered_mail(of: type[OutboxRow] = OutboxRow) -> ColumnElement[bool]:
    """Build the condition that joins a mail of the outbox with what it was rendered from."""
    return and_(
        col(RenderedMailRow.mail_id) == col(of.mail_id),
        col(RenderedMailRow.kind) == col(of.kind),
        col(RenderedMailRow.number) == col(of.number),
    )
