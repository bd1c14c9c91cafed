"""Where a backup is restored to: a store is staged beside the one before, then exchanged for it.

Invariant: until `pledge` nothing of the store before is touched; from `pledge` to the end of `finish` no process opens
the store (`store.connections`), and `finish` may run again from wherever it was killed. Nothing is deleted: the store
before is kept aside. Checked by tests/integration/backup/test_kills.py: `kill -9` at every rename, write and statement.
"""

from __future__ import annotations

import glob
import math
import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from sqlalchemy import URL, Connection, NullPool, create_engine, inspect, text

from support_agent.config.database_url import normalise_url
from support_agent.engine import schema as engine_schema
from support_agent.engine.database import engine_url
from support_agent.errors import ConfigError
from support_agent.ops.backup import file_rows
from support_agent.ops.backup.archive import DatabaseCopy, free_name, read_chunks, stamp, sync, write_part
from support_agent.ops.backup.copying import copy_in, copy_rows, is_of_store, quoted, tables_of
from support_agent.store.connections import RESTORING, restoring_folder
from support_agent.store.database import VERSION_TABLE, mapped_errors
from support_agent.store.keys import KeySettings
from support_agent.store.store import Store

BUSY_S = 1.0
"""Longest wait for other processes to close the database before."""
KEPT = "support_agent_replaced_"
"""Begins the names of the schemas in which replaced stores are kept."""
SIDE_FILES = ("", "-wal", "-shm")
MAY_CREATE = text(
    "SELECT has_schema_privilege(:schema, 'CREATE'), has_database_privilege(current_database(), 'CREATE')"
)
"""Whether the user may create tables in a schema, and schemas in the database."""


class Target(Protocol):
    """A store that a backup takes the place of; the engine's records beside it make room for new ones."""

    def is_pending(self) -> bool:
        """Whether a restore was pledged and not finished."""

    def is_empty(self) -> bool:
        """Whether no mail would be replaced."""

    def check(self) -> None:
        """Refuse a database in which a store could not be put, before anything is changed.

        Raises:
            ConfigError: it says what to do.
        """

    def stage(self, archive: Path, store: DatabaseCopy) -> None:
        """Copy the backup beside the store before."""

    def staged(self, keys: KeySettings) -> Store:
        """The staged store, to be upgraded; it has the keys of the store that it will be."""

    def pledge(self) -> None:
        """Let nobody open the store from now on; the staged one is on the disk."""

    def withdraw(self) -> None:
        """Take the pledge back before any exchange, and delete what was staged."""

    def finish(self, now: datetime) -> str:
        """Exchange the stores; return where the one before is kept, or ""."""

    def discard(self) -> None:
        """Delete what was staged."""

    def left(self) -> tuple[str, ...]:
        """Stores that lie aside, replaced or staged by earlier restores: each with what deletes it."""


def target_of(url: str, timeout_s: float, *, has_engine: bool) -> Target:
    """The target of a store's URL; `has_engine`: the engine's records are beside this store."""
    parsed = normalise_url(url)
    if parsed.drivername == "sqlite":
        engine = Path(str(normalise_url(engine_url(url)).database)) if has_engine else None
        return FileTarget(Path(str(parsed.database)), engine, timeout_s)
    return ServerTarget(parsed, timeout_s, has_engine=has_engine)


class FileTarget:
    """SQLite files.

    Folders beside the store: `.restore-unfinished` is being staged; as `.restoring` it is pledged, and has the files to
    come in `new` and the ones before in `old`; at the end it is `.replaced-TIME`.
    """

    def __init__(self, path: Path, engine: Path | None, timeout_s: float) -> None:
        self._files = {"store": path} | ({"engine": engine} if engine is not None else {})
        self._path = path
        self._timeout_s = timeout_s
        self._unfinished = path.with_name(f"{path.name}.restore-unfinished")
        self._restoring = restoring_folder(path)

    def is_pending(self) -> bool:
        return self._restoring.exists()

    def is_empty(self) -> bool:
        if not self._path.exists():
            return True
        try:
            with closing(sqlite3.connect(self._path, timeout=self._timeout_s)) as connection:
                if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'mails'").fetchone():
                    return True
                return connection.execute("SELECT 1 FROM mails LIMIT 1").fetchone() is None
        except sqlite3.Error:
            return False  # what cannot be read is replaced only if a person says so

    def check(self) -> None:
        pass

    def stage(self, archive: Path, store: DatabaseCopy) -> None:
        self.discard()
        for folder in ("new", "old"):
            (self._unfinished / folder).mkdir(mode=0o700, parents=True)
        for name in self._files:
            # The engine's file is empty, and the next start makes its tables.
            chunks = read_chunks(archive / store.parts[0].path) if name == "store" else iter(())
            write_part(self._unfinished, f"new/{name}", chunks)

    def staged(self, keys: KeySettings) -> Store:
        url = URL.create("sqlite", database=str(self._unfinished / "new" / "store"))
        return Store.open(url.render_as_string(), timeout_s=self._timeout_s, keys=keys)

    def pledge(self) -> None:
        self._refuse_open_files()
        with closing(sqlite3.connect(self._unfinished / "new" / "store")) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")  # one file, which one rename moves
        for path in (*(self._unfinished / "new").iterdir(), self._unfinished / "new", self._unfinished):
            sync(path)
        self._unfinished.rename(self._restoring)
        sync(self._path.parent)

    def withdraw(self) -> None:
        self._restoring.rename(self._unfinished)
        self.discard()

    def finish(self, now: datetime) -> str:
        self._refuse_open_files()
        for name, path in self._files.items():
            new = self._restoring / "new" / name
            if new.exists():
                self._put_aside(path)
                new.rename(path)
        for folder in {path.parent for path in self._files.values()} | {self._restoring / "old"}:
            sync(folder)
        is_kept = any((self._restoring / "old").iterdir())
        kept = self._unfinished
        if is_kept:
            name = f"{self._path.name}.replaced-{stamp(now)}"
            kept = self._path.with_name(free_name(name, lambda one: self._path.with_name(one).exists()))
        self._restoring.rename(kept)
        sync(self._path.parent)
        if not is_kept:
            self.discard()
        return str(kept) if is_kept else ""

    def discard(self) -> None:
        if self._unfinished.exists():
            shutil.rmtree(self._unfinished)

    def left(self) -> tuple[str, ...]:
        replaced = sorted(self._path.parent.glob(f"{glob.escape(self._path.name)}.replaced-*"))
        staged = [self._unfinished] if self._unfinished.exists() else []
        return tuple(f"{path}: rm -r {shlex.quote(str(path))}" for path in (*replaced, *staged))

    def _put_aside(self, path: Path) -> None:
        """Move a database with its side files; after a kill the rest of them."""
        for suffix in SIDE_FILES:
            file = path.with_name(f"{path.name}{suffix}")
            if file.exists():
                file.rename(self._restoring / "old" / file.name)

    def _refuse_open_files(self) -> None:
        """Refuse if any process has a database before open: only alone can one end write-ahead logging."""
        for name, path in self._files.items():
            is_before = not self.is_pending() or (self._restoring / "new" / name).exists()
            if is_before and path.exists() and _is_open_elsewhere(path):
                raise ConfigError(
                    f"another process has {path} open: stop the worker and the desk's page, then restore again",
                    code="store_taken",
                )


def _is_open_elsewhere(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_S)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    except sqlite3.DatabaseError:
        return False  # a damaged file
    return False


class ServerTarget:
    """Tables of a PostgreSQL database: schemas take the place of folders, and one transaction exchanges the tables."""

    def __init__(self, url: URL, timeout_s: float, *, has_engine: bool) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._has_engine = has_engine
        self._unfinished = f"{RESTORING}_unfinished"

    def is_pending(self) -> bool:
        with self._connected() as connection:
            return inspect(connection).has_schema(RESTORING)

    def is_empty(self) -> bool:
        with self._connected() as connection:
            if not inspect(connection).has_table("mails"):
                return True
            return connection.execute(text("SELECT 1 FROM mails LIMIT 1")).first() is None

    def check(self) -> None:
        with self._connected() as connection:
            asked = text("SELECT current_schema(), current_setting('server_encoding')")
            schema, encoding = connection.execute(asked).one()
            if encoding != "UTF8":
                raise ConfigError(f"the database has the encoding {encoding}: create one with UTF8", code="database")
            if schema is None:
                raise ConfigError("the search_path of the database names no schema that is there", code="database")
            if not all(connection.execute(MAY_CREATE, {"schema": schema}).one()):
                who = f"the user of store.url may not create tables in the schema {schema}, or may not create schemas"
                raise ConfigError(f"{who}: make it the owner of the database and the schema", code="database")
            here = {name for name in inspect(connection).get_table_names(schema) if _is_ours(name)}
            if here and "mails" not in here:
                what = f"the schema {schema} has tables of another program: {', '.join(sorted(here))}"
                raise ConfigError(f"{what}; name an empty database", code="database")

    def stage(self, archive: Path, store: DatabaseCopy) -> None:
        self.discard()
        with self._connected() as connection:
            connection.execute(text(f"CREATE SCHEMA {self._unfinished}"))
        if store.schema_version is None:  # a store that nobody has used
            return
        with self.staged(KeySettings()) as staged:
            staged.database.upgrade(store.schema_version)
        with self._connected() as connection:
            self._copy(connection, archive, store)

    def _copy(self, connection: Connection, archive: Path, copy: DatabaseCopy) -> None:
        """Put the rows of a copy into the staged tables.

        Raises:
            PermanentError: the copy cannot be read.
        """
        if copy.kind == "postgresql":
            for part in copy.parts:
                copy_in(connection, part, read_chunks(archive / part.path), self._unfinished)
            return
        with file_rows.opened(archive / copy.parts[0].path) as file:
            for table in tables_of(connection, self._unfinished):
                if columns := file_rows.columns_of(file, table):
                    rows = file_rows.rows_of(file, table, columns)
                    copy_rows(connection, table.name, columns, rows, self._unfinished)

    def staged(self, keys: KeySettings) -> Store:
        given = self._url.query.get("options", "")
        options = f"{given if isinstance(given, str) else ' '.join(given)} -csearch_path={self._unfinished}".strip()
        url = self._url.update_query_dict({"options": options})
        name = url.render_as_string(hide_password=False)
        return Store.open(name, timeout_s=self._timeout_s, keys=keys)

    def pledge(self) -> None:
        with self._connected() as connection:
            connection.execute(text(f"ALTER SCHEMA {self._unfinished} RENAME TO {RESTORING}"))

    def withdraw(self) -> None:
        with self._connected() as connection:
            connection.execute(text(f"DROP SCHEMA {RESTORING} CASCADE"))

    def finish(self, now: datetime) -> str:
        with self._connected() as connection:
            schemas = inspect(connection).get_schema_names()
            kept = quoted(connection, free_name(f"{KEPT}{stamp(now).lower()}", lambda one: one in schemas))
            connection.execute(text(f"CREATE SCHEMA {kept}"))
            here = str(connection.execute(text("SELECT current_schema()")).scalar())
            before = [name for name in inspect(connection).get_table_names(here) if _is_ours(name)]
            for name in before:
                connection.execute(text(f"ALTER TABLE {quoted(connection, name, here)} SET SCHEMA {kept}"))
            has_records = self._has_engine and self._put_records_aside(connection, kept)
            for name in filter(_is_ours, inspect(connection).get_table_names(RESTORING)):
                there = quoted(connection, name, RESTORING)
                connection.execute(text(f"ALTER TABLE {there} SET SCHEMA {quoted(connection, here)}"))
            connection.execute(text(f"DROP SCHEMA {RESTORING} CASCADE"))
            if not before and not has_records:
                connection.execute(text(f"DROP SCHEMA {kept} CASCADE"))
        return kept if before or has_records else ""

    def _put_records_aside(self, connection: Connection, kept: str) -> bool:
        """Keep the engine's records before aside, and leave none in their place; return whether there were any."""
        if engine_schema.version_of(connection) is None:
            return False
        names, had_any = inspect(connection).get_table_names(engine_schema.SCHEMA), False
        tables = {name: quoted(connection, name, engine_schema.SCHEMA) for name in names}
        del tables[engine_schema.VERSION_TABLE]
        for name, there in tables.items():
            aside = f"{kept}.{quoted(connection, f'engine_{name}')}"
            connection.execute(text(f"CREATE TABLE {aside} AS TABLE {there}"))
            had_any = had_any or connection.execute(text(f"SELECT 1 FROM {aside} LIMIT 1")).first() is not None
        connection.execute(text(f"TRUNCATE {', '.join(tables.values())}"))
        return had_any

    def discard(self) -> None:
        with self._connected() as connection:
            connection.execute(text(f"DROP SCHEMA IF EXISTS {self._unfinished} CASCADE"))

    def left(self) -> tuple[str, ...]:
        with self._connected() as connection:
            schemas = sorted(inspect(connection).get_schema_names())
        aside = [name for name in schemas if name.startswith(KEPT) or name == self._unfinished]
        return tuple(f"the schema {name}: DROP SCHEMA {name} CASCADE" for name in aside)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """One transaction."""
        options = {"connect_timeout": math.ceil(self._timeout_s)}
        engine = create_engine(self._url, poolclass=NullPool, connect_args=options, hide_parameters=True)
        with mapped_errors(), engine.begin() as connection:
            connection.execute(text(f"SET LOCAL lock_timeout = {math.ceil(self._timeout_s * 1000)}"))
            yield connection


def _is_ours(name: str) -> bool:
    return name == VERSION_TABLE or is_of_store(name)
