"""Reads the company's own database: one SELECT at a time, bounded in time and in rows.

Invariant: no query can write. The statement must be a single SELECT; SQLite is opened with `mode=ro`, `query_only` and
an authorizer that allows only reads; sessions of PostgreSQL, MariaDB and MySQL are read-only; every transaction is
rolled back. Any other database needs a user with read access only, and has no limit of time, as `check` warns. Checked
by tests/unit/company/test_database.py and tests/integration/company/test_accounts_on_servers.py.
"""

from __future__ import annotations

import math
import re
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.pool import NullPool

from support_agent.core.vanished_server import noticed_within
from support_agent.errors import ConfigError, PermanentError, SupportAgentError, TransientError

_STEPS_BETWEEN_CHECKS = 10_000
"""SQLite instructions between two checks of the time-out."""
_TRANSIENT_SQLITE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
}
_MYSQL = {"mysql", "mariadb"}
_DRIVERS = {"postgresql": "psycopg", "mysql": "pymysql", "mariadb": "pymysql"}
"""The driver for a URL that names none."""
_MYSQL_TIMED = {"pymysql", "mysqldb"}
"""Drivers of MySQL whose connections take time-outs in this form."""
_POSTGRESQL_LATE, _MYSQL_LATE = "57014", {1969, 3024}
"""The SQLSTATE of a query that took too long; the error numbers of MariaDB and MySQL."""
_MYSQL_WRONG = {1052, 1054, 1055, 1109, 1111, 1140, 1142, 1143, 1193, 1222, 1267, 1298, 1305, 1792}
"""Error numbers that are the query's fault, though the driver has one class for them and for a lost connection."""
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_COMMENTS_AND_TEXTS = (
    r"--[^\n]*",
    r"/\*.*?\*/",
    r"'(?:[^']|'')*'",
    r'"(?:[^"]|"")*"',
    r"`[^`]*`",
)
_NOT_CODE = re.compile("|".join(_COMMENTS_AND_TEXTS), re.DOTALL)
_WRITES = re.compile(r"\b(insert|update|delete|merge|into|set_config|nextval|setval|load_extension)\b")
"""Words that could make a statement write although it begins with SELECT or WITH."""
_MYSQL_ONLY = re.compile(r"#|/\*[!M+]|--(?=\S)")
"""Comments that MariaDB and MySQL alone know, or read as code."""
_BIND = re.compile(r"(?<![:\w]):([a-z_]\w*)", re.IGNORECASE)


def statement_defect(sql: str) -> str | None:
    """Why a text is not one read-only SELECT, or None.

    It checks words, not grammar, to report mistakes early; the read-only connection is what prevents writes.
    """
    code = _NOT_CODE.sub(" ", sql).strip().rstrip(";").strip().lower()
    if not code:
        return "the query is empty"
    if ";" in code:
        return "the query is more than one statement"
    if "$$" in code:
        return "the query has a dollar-quoted text"
    if not re.match(r"(select|with)\b", code):
        return "the query does not begin with SELECT"
    if match := _WRITES.search(code):
        return f"the query has the word {match.group(1).upper()}, which could write"
    if len(_BIND.findall(sql)) != len(_BIND.findall(code)):
        return "the query has a :name in a comment or a text, where it would be replaced, too"
    return None


def _mysql_defect(sql: str) -> str | None:
    """Why MariaDB and MySQL would read a statement in another way than `statement_defect`, or None."""
    if "\\" in sql:
        return "the query has a backslash, which MariaDB and MySQL read as an escape"
    without_texts = _NOT_CODE.sub(lambda found: found[0] if found[0].startswith(("--", "/*")) else "''", sql)
    if match := _MYSQL_ONLY.search(without_texts):
        return f"the query has {match[0]}, which MariaDB and MySQL read in a way of their own"
    return None


def bind_names(sql: str) -> frozenset[str]:
    """The names of the `:parameters` of a query."""
    return frozenset(_BIND.findall(_NOT_CODE.sub(" ", sql)))


@dataclass(frozen=True)
class QueryResult:
    """Column names in lower case, and the rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


class ReadOnlyDatabase:
    """A read-only database. `timeout_s` bounds each connection and each statement.

    In sessions of PostgreSQL, MariaDB and MySQL instants have the days of `zone`.
    """

    def __init__(self, url: str, timeout_s: float, zone: str = "UTC") -> None:
        """Prepare the connection without opening it; a SQLite file must exist.

        Args:
            zone: A time zone of the IANA database.

        Raises:
            ConfigError: no URL, no driver for it, or no such SQLite file.
        """
        self._timeout_s, self._zone = timeout_s, zone
        try:
            self._url = make_url(url)
            self.dialect = self._url.get_backend_name()
            self._engine = self._sqlite() if self.dialect == "sqlite" else self._server()
        except (NoSuchModuleError, ImportError) as error:
            raise ConfigError(f"no driver for this database URL ({error}): install one") from None
        except (ArgumentError, ValueError):
            urls = "sqlite:///file, postgresql://user@host/name or mysql://user@host/name"
            raise ConfigError(f"not a database URL: write {urls}") from None

    def select(
        self, sql: str, parameters: Mapping[str, str | date], max_rows: int, setting: str = "max_rows"
    ) -> QueryResult:
        """Run one query in a transaction that is always rolled back.

        Args:
            setting: The `[database]` key of `max_rows`, for the error message.

        Raises:
            ConfigError: it is not a single SELECT, or the database rejects it.
            TransientError: the database cannot be reached, is busy, or took more than `timeout_s`.
            PermanentError: more than `max_rows` rows; cutting them off would make every total wrong.
        """
        if defect := statement_defect(sql) or (_mysql_defect(sql) if self.dialect in _MYSQL else None):
            raise ConfigError(f"{defect}: write one SELECT")
        is_sqlite = self.dialect == "sqlite"
        values = {k: v.isoformat() if is_sqlite and isinstance(v, date) else v for k, v in parameters.items()}
        try:
            # yield_per: drivers of servers would fetch all rows before the first is read.
            with self._engine.connect().execution_options(yield_per=max_rows + 1) as connection:
                with connection.execute(text(sql.strip().rstrip(";")), values) as cursor:
                    columns = tuple(str(key).lower() for key in cursor.keys())  # noqa: SIM118 - a result is no dict
                    rows = tuple(tuple(row) for row in cursor.fetchmany(max_rows + 1))
                connection.rollback()
        except SQLAlchemyError as error:
            raise _mapped(error, self._timeout_s) from None
        except TypeError as error:  # of the driver, when it connects
            raise ConfigError(f"the driver refuses an option of [database] url: {error}") from None
        if len(rows) > max_rows:
            message = f"more than {max_rows} rows: raise [database] {setting}"
            raise PermanentError(message, code="too_many_rows")
        return QueryResult(columns, rows)

    @property
    def enforces_read_only(self) -> bool:
        """Whether the connection itself prevents writes; otherwise the database user's rights must."""
        return self.dialect in {"sqlite", "postgresql", *_MYSQL}

    @property
    def has_days_of_zone(self) -> bool:
        """Whether a query compares instants with the days of the zone, as its results are read."""
        return self.dialect in {"postgresql", *_MYSQL}

    def close(self) -> None:
        """Close open connections."""
        self._engine.dispose()

    def _sqlite(self) -> Engine:
        """A SQLite engine that opens the file for each query, so that a replaced or deleted file is noticed."""
        path = Path(self._url.database or "")
        if not self._url.database or self._url.database == ":memory:":
            raise ConfigError("a SQLite database must be a file: write sqlite:///file")
        if not path.is_file():
            raise ConfigError(f"{path}: no such database file: create it, or correct [database] url")
        uri = f"file:{quote(str(path))}?mode=ro"

        def connect() -> sqlite3.Connection:
            connection = sqlite3.connect(uri, uri=True, timeout=self._timeout_s, check_same_thread=False)
            connection.execute("PRAGMA query_only = ON")
            connection.set_authorizer(_authorize)
            deadline = time.monotonic() + self._timeout_s
            connection.set_progress_handler(lambda: int(time.monotonic() > deadline), _STEPS_BETWEEN_CHECKS)
            return connection

        return create_engine("sqlite://", creator=connect, poolclass=NullPool)

    def _server(self) -> Engine:
        """A server: PostgreSQL, MariaDB and MySQL through the driver that is installed, any other through its own."""
        if "+" not in self._url.drivername and self.dialect in _DRIVERS:
            self._url = self._url.set(drivername=f"{self.dialect}+{_DRIVERS[self.dialect]}")
        if self.dialect in _MYSQL:
            return self._mysql()
        connect_args: dict[str, Any] = {}
        if self.dialect == "postgresql":
            limit = f"-c statement_timeout={int(self._timeout_s * 1000)}"
            # DateStyle: the driver reads no other. cursor_tuple_fraction: of each cursor all rows are fetched.
            styles = f"-c DateStyle=ISO -c TimeZone={self._zone} -c cursor_tuple_fraction=1"
            options = f"-c default_transaction_read_only=on {limit} {styles}"
            connect_args = {**noticed_within(self._timeout_s), "options": options}
        return create_engine(self._url, pool_pre_ping=True, pool_size=2, connect_args=connect_args)

    def _mysql(self) -> Engine:
        """A server that gets a new session for each query: what a function has changed in one is gone."""
        wait_s = math.ceil(self._timeout_s) + 1  # the server ends a query before the connection is given up
        is_timed = self._url.get_driver_name() in _MYSQL_TIMED
        waits = ("connect_timeout", "read_timeout", "write_timeout") if is_timed else ()
        engine = create_engine(self._url, poolclass=NullPool, connect_args=dict.fromkeys(waits, wait_s))
        event.listen(engine, "connect", self._restrict_mysql)
        return engine

    def _restrict_mysql(self, connection: DBAPIConnection, record: object) -> None:
        """Make a new session of MariaDB or MySQL read-only, limit its queries, and read instants in the zone."""
        zone = "+00:00" if self._zone == "UTC" else self._zone  # names need the server's tables of time zones
        with closing(connection.cursor()) as cursor:
            cursor.execute("SET SESSION TRANSACTION READ ONLY")
            cursor.execute(f"SET SESSION time_zone = '{zone}'")
            cursor.execute("SELECT VERSION()")
            is_mariadb = "mariadb" in str(cursor.fetchone()).lower()
            limit = f"max_statement_time = {self._timeout_s}"
            if not is_mariadb:
                limit = f"max_execution_time = {math.ceil(self._timeout_s * 1000)}"
            cursor.execute(f"SET SESSION {limit}")
        connection.commit()  # the next transaction is the first that is read-only


def _authorize(action: int, first: str | None, second: str | None, *rest: str | None) -> int:
    """Allow only reads; SQLite calls this for each part of a statement.

    The one allowed PRAGMA is how SQLAlchemy reads the isolation level when it first connects.
    """
    if action in _READS and not (action == sqlite3.SQLITE_FUNCTION and second == "load_extension"):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first == "read_uncommitted" and second is None:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _mapped(error: SQLAlchemyError, timeout_s: float) -> SupportAgentError:
    """Map a library error, with the driver's message: SQLAlchemy's message contains the parameters."""
    if not isinstance(error, DBAPIError):
        return ConfigError(f"the query cannot be run: {type(error).__name__}")
    message = str(error.orig).strip().partition("\n")[0]
    if isinstance(error.orig, sqlite3.Error):
        is_transient = (getattr(error.orig, "sqlite_errorcode", 0) & 0xFF) in _TRANSIENT_SQLITE
        is_late = getattr(error.orig, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT
    else:
        number = error.orig.args[0] if error.orig and error.orig.args else None
        state = getattr(error.orig, "sqlstate", None)
        # A connection that does not come about has no state; the words of an error that has one are the query's.
        is_unanswered = state is None and not isinstance(number, int) and "timeout" in message.lower()
        is_late = number in _MYSQL_LATE or state == _POSTGRESQL_LATE or is_unanswered
        may_pass = isinstance(error, OperationalError | InterfaceError) and number not in _MYSQL_WRONG
        is_transient = error.connection_invalidated or may_pass
    if is_late:
        return TransientError(f"the query took over {timeout_s:g} s ([database] timeout_s)", code="timeout")
    if is_transient:
        return TransientError(f"the company's database cannot be read now: {message}", code="database")
    return ConfigError(f"the database refuses the query: {message}")
