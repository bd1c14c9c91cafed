"""One database, SQLite or PostgreSQL: its transactions, its errors, its schema; `connections` opens it.

A statement that runs for every mail is a constant of its module, with `bindparam` for what differs: to compose it anew
costs several times as much as to run it. It runs on the `Connection` that `read` or `write` yields, without an ORM
session, so no object of an earlier statement is ever mistaken for the row; records are made from the rows.

Invariant: a transaction is committed whole or not at all and survives a power cut once committed, and a
library error leaves this file as one of `support_agent.errors`. Checked by
tests/integration/store/test_database.py.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from sqlalchemy import URL, Connection, inspect, text
from sqlalchemy.exc import DBAPIError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlmodel import col, select

from support_agent.config.packaged_files import packaged
from support_agent.core.database_errors import UNUSABLE_FILE, is_transient, sqlite_code, what_to_do
from support_agent.core.size_limits import first_line
from support_agent.errors import ConfigError, PermanentError, SupportAgentError, TransientError
from support_agent.store.connections import WRITES, StoreFile, open_postgresql, open_sqlite, purge, reader_of
from support_agent.store.keys import KeySettings
from support_agent.store.rows import insert_if_new
from support_agent.store.tables import ProgramRow, TableRow
from support_agent.store.vault import Vault, using

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "head"
VERSION_TABLE = "alembic_version"
UPGRADE_LOCK = 7_103_462_911
"""Key of the PostgreSQL advisory lock that lets one process at a time change the schema."""
OTHER_SCHEMA = {"42P01", "42703", "42P07", "42701"}
"""SQLSTATEs of a missing table or column, and of one that exists already when a migration creates it."""
OTHER_IN_SQLITE = re.compile(
    r"^no such (table|column)|has no column named|^duplicate column|^(table|index) \S+ already exists"
)

_alembic = threading.Lock()  # Alembic keeps its context in a module: one run at a time in a process


@contextmanager
def mapped_errors(file: StoreFile | None = None) -> Iterator[None]:
    """Map the library's errors to ours, by what happens next; a file that was used may come back."""
    try:
        yield
    except DBAPIError as error:
        raise _translated(error, was_usable=file is not None and file.may_come_back) from error
    except StatementError as error:  # raised while a value was sealed
        if isinstance(error.orig, SupportAgentError):
            raise error.orig from error
        raise
    except PoolTimeout as error:
        raise TransientError("all database connections are in use: try again", code="database") from error


def _translated(error: DBAPIError, *, was_usable: bool) -> SupportAgentError:
    # Only the first line: the others may quote the row, with a customer's data.
    what = first_line(error.orig)
    if OTHER_IN_SQLITE.search(what) or getattr(error.orig, "sqlstate", None) in OTHER_SCHEMA:
        return ConfigError(
            f"the database's tables do not fit this version of the program ({what}): `support-agent cases` upgrades"
            " older ones; if that fails as well, restore a backup or name a new database in store.url",
            code="schema",
        )
    code = sqlite_code(error)
    if is_transient(error, was_usable=was_usable):
        todo = what_to_do(error, is_sqlite=bool(code))
        return TransientError(f"the database did not answer ({what}): {todo}", code="database")
    if code in UNUSABLE_FILE:
        return ConfigError(
            f"the database file cannot be used ({what}): check store.url and its folder", code="database"
        )
    return PermanentError(f"the database refused the data ({what})", code="database")


class _Joined(threading.local):
    """The transaction of `Database.together` in this thread."""

    connection: Connection | None = None
    is_doomed = False

    @contextmanager
    def doomed_by_errors(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.is_doomed = True
            raise


class Database:
    """A database with its transactions and its migrations.

    Args:
        url: See `normalise_url`.
        timeout_s: Longest wait for a lock (SQLite), for a new connection, or for a free one of the pool; and how long
            a transaction may wait for its process (PostgreSQL).
        keys: Where the keys of sealed values are; by default beside the store, and nothing new is sealed.
    """

    def __init__(self, url: URL, timeout_s: float, keys: KeySettings | None = None) -> None:
        self.url = url
        self.vault = Vault(url, keys or KeySettings(), timeout_s)
        self.migrations_dir = packaged("migrations")
        self._file: StoreFile | None = None
        if url.drivername == "sqlite":
            self._engine, self._file = open_sqlite(url, timeout_s)
        else:
            self._engine = open_postgresql(url, timeout_s)
        self._writer = self._engine.execution_options(**{WRITES: True})
        self._reader = reader_of(self._engine)
        self._timeout_s = timeout_s
        # SQLite has one writer: threads that wait for each other here take turns, where its own wait sleeps.
        self._turn = threading.Lock() if self._file is not None else None
        self._joined = _Joined()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that only reads: on SQLite in one snapshot, on PostgreSQL each statement in its own."""
        with using(self.vault), mapped_errors(self._file):
            if (joined := self._joined.connection) is not None:
                with self._joined.doomed_by_errors():
                    yield joined
                return
            with self._reader.connect() as connection:
                yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: committed at the end of the block, rolled back by any error."""
        with using(self.vault), mapped_errors(self._file):
            if (joined := self._joined.connection) is not None:
                with self._joined.doomed_by_errors():
                    yield joined
                return
            with self._my_turn(), self._writer.begin() as connection:
                yield connection

    @contextmanager
    def together(self) -> Iterator[None]:
        """One transaction for all that this thread reads and writes in the block, which should be short.

        Other writers wait until it ends (on SQLite all of them), so it must not be held while a server or a model is
        asked. Once a write in it has failed nothing of it is kept, even if the error was caught.

        Raises:
            TransientError: a write failed, and the error was caught.
        """
        if self.is_together:
            yield
            return
        with self.write() as connection:
            self._joined.connection, self._joined.is_doomed = connection, False
            try:
                yield
                if self._joined.is_doomed:
                    raise TransientError("a part of the transaction failed: it is tried again", code="database")
            finally:
                self._joined.connection = None

    @property
    def is_together(self) -> bool:
        """Whether this thread is in the block of `together`."""
        return self._joined.connection is not None

    @contextmanager
    def _my_turn(self) -> Iterator[None]:
        if self._turn is None:
            yield
            return
        if not self._turn.acquire(timeout=self._timeout_s):
            raise TransientError("the database is busy: try again", code="database")
        try:
            yield
        finally:
            self._turn.release()

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()
        if self._file is not None:
            self._file.close()
        self.vault.close()

    def purge(self) -> None:
        """Remove deleted rows and destroyed keys from the files as well: write-ahead logs, and PostgreSQL's tables."""
        self.vault.keys.purge()
        with mapped_errors(self._file):
            purge(self._engine, [table.name for table in TableRow.metadata.sorted_tables])

    def upgrade(self, revision: str = HEAD) -> None:
        """Upgrade the schema to a revision, in one transaction; does nothing if the schema has it.

        Raises:
            ConfigError: a newer version of the program made the schema; nothing is changed.
        """
        now = self.revision()
        if revision == HEAD and now == self.head():
            return  # the library that migrates takes longer to load than many a command takes
        if not self.knows(now):
            raise self._newer(str(now))
        from alembic import command

        self._migrate(partial(command.upgrade, revision=revision))
        if revision == HEAD:
            with self.write() as connection:
                insert_if_new(connection, ProgramRow, {"revision": self.head(), "version": version("support-agent")})

    def downgrade(self, revision: str) -> None:
        """Downgrade the schema to a revision; `base` is the empty database."""
        from alembic import command

        self._migrate(partial(command.downgrade, revision=revision))

    def revision(self) -> str | None:
        """Return the revision of the schema; None: there is none yet."""
        with mapped_errors(self._file), self._engine.connect() as connection:
            if not inspect(connection).has_table(VERSION_TABLE):
                return None
            return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()

    def head(self) -> str | None:
        """Return the newest revision among the migrations: their files begin with it, and follow each other."""
        return max(self._revisions(), default=None)

    def knows(self, revision: str | None) -> bool:
        """Whether this version of the program can upgrade a schema of this revision; None: there is no schema."""
        return revision is None or revision in self._revisions()

    def _revisions(self) -> list[str]:
        self._check_migrations()
        names = (path.name for path in (self.migrations_dir / "versions").glob("[0-9]*_*.py"))
        return [name.partition("_")[0] for name in names]

    def _newer(self, revision: str) -> ConfigError:
        """Say which version made the schema, as far as it says so."""
        by = ""
        with suppress(SupportAgentError), self.read() as connection:
            made = connection.scalar(select(ProgramRow.version).where(col(ProgramRow.revision) == revision))
            by = f" ({made})" if made is not None else ""
        return ConfigError(
            f"the store's schema {revision} was made by a newer version of the program{by}, and this one"
            f" ({version('support-agent')}) knows schemas up to {self.head()}; nothing was changed: install the newer"
            " version again, or `support-agent restore` a backup that was made before the upgrade",
            code="schema",
        )

    def _check_migrations(self) -> None:
        if not (self.migrations_dir / "env.py").is_file():
            raise ConfigError(f"no migrations in {self.migrations_dir}: install the package again")

    def _config(self) -> Config:
        from alembic.config import Config

        self._check_migrations()
        config = Config()
        config.set_main_option("script_location", str(self.migrations_dir).replace("%", "%%"))
        return config

    def _migrate(self, run: Callable[[Config], None]) -> None:
        from alembic.util import CommandError

        config = self._config()
        with (
            _alembic,
            mapped_errors(self._file),
            self._writer.connect() as connection,
            _foreign_keys_off(connection),
            connection.begin(),
        ):
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": UPGRADE_LOCK})
            config.attributes.update(connection=connection, metadata=TableRow.metadata)
            try:
                run(config)
            except CommandError as error:
                raise ConfigError(
                    f"the database cannot be migrated ({error}): was it written by a newer version?",
                    code="schema",
                ) from error
            _refuse_broken_references(connection)


@contextmanager
def _foreign_keys_off(connection: Connection) -> Iterator[None]:
    """Switch foreign keys off: SQLite changes a table by recreating it, and the drop must not touch its children."""
    if connection.dialect.name != "sqlite":
        yield
        return
    # The raw connection: the setting is ignored inside a transaction, and SQLAlchemy would begin one.
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()


def _refuse_broken_references(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if broken is not None:
            raise PermanentError(f"rows of {broken[0]} would lose their {broken[2]}", code="schema")
