"""What the errors of a database mean, SQLite or PostgreSQL: whether another try may succeed, and what a person can do.

Checked by tests/integration/store/test_database.py, tests/unit/store/test_vault.py and
tests/integration/engine/test_database_errors.py.
"""

from __future__ import annotations

from sqlalchemy.exc import InterfaceError, InternalError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

AWAY = frozenset({"SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM"})
"""Codes of a file that may come back, if it could be used before: its volume is away, or mounted read-only."""
UNUSABLE_FILE = AWAY | {"SQLITE_NOTADB", "SQLITE_CORRUPT"}


def sqlite_code(error: SQLAlchemyError) -> str:
    """The code of SQLite's error; "" of another database."""
    # Extended codes such as SQLITE_READONLY_DIRECTORY begin with the plain one.
    return "_".join(getattr(getattr(error, "orig", None), "sqlite_errorname", "").split("_")[:2])


def is_transient(error: SQLAlchemyError, *, was_usable: bool) -> bool:
    """Whether another try may succeed: the database did not answer, and its file can be used.

    Args:
        was_usable: This process has used the file, so that its volume may come back.
    """
    may_pass = isinstance(error, OperationalError | InterfaceError | InternalError | PoolTimeout)
    lasting = UNUSABLE_FILE - AWAY if was_usable else UNUSABLE_FILE
    return may_pass and sqlite_code(error) not in lasting


def what_to_do(error: SQLAlchemyError, *, is_sqlite: bool) -> str:
    """What a person can do about a database that does not answer now."""
    if sqlite_code(error) in AWAY:
        return "bring its file back, with its permissions"
    return "free space on its disk, or run it again" if is_sqlite else "see that it runs"
