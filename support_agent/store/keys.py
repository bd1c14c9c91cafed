"""The keys of encrypted mails, in a database of their own, each wrapped by the master key.

A destroyed key leaves its row behind, empty: it says that the mail was deleted, which a key that is only missing, as in
an older copy of the keys, does not say.

Invariant: a key is on the disk before it is given out, a destroyed one never comes back under its mail's id, and
nothing is read or written with a master key that does not open the others. Checked by tests/unit/store/test_vault.py.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import NamedTuple, TypeVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import SecretStr
from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    LargeBinary,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
    func,
    inspect,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateSchema

from support_agent.config.database_url import (
    default_keys_url,
    default_master_key_file,
    existing_file,
    normalise_url,
    shown_url,
)
from support_agent.config.settings import StoreSettings
from support_agent.core.database_errors import is_transient, what_to_do
from support_agent.core.size_limits import batches, first_line
from support_agent.core.vanished_server import noticed_within
from support_agent.errors import ConfigError, PermanentError, TransientError
from support_agent.store.connections import StoreFile, file_exists, guard_connections, guard_file, make_durable, purge
from support_agent.store.key_files import create_private, file_of, read_master_key

SCHEMA = "support_agent_keys"
"""Of PostgreSQL, so that a dump of the rest leaves the keys out."""
KEY_BYTES, NONCE_BYTES = 32, 12
DESTROYED = b""
READ_AT_ONCE = 1000
"""Keys that are in plain in memory while all are read."""
CHECK = "master"
"""The row that only the right master key opens."""
FORGOTTEN, NO_KEY = "forgotten", "no_key"
"""Codes of errors: the key was destroyed; the key is not there."""
T = TypeVar("T")


class KeySettings(NamedTuple):
    """Where the keys are. `seals`: new values are encrypted; sealed ones are read in any case.

    `url`, "": beside a SQLite store, or in a schema of PostgreSQL. `master_key`, "": read from `master_key_file`, which
    is beside a SQLite store by default; on PostgreSQL the keys are not wrapped without one.
    """

    seals: bool = False
    url: str = ""
    master_key: SecretStr = SecretStr("")
    master_key_file: Path | None = None


class Lost(NamedTuple):
    """Mails without a key: it was destroyed when they were deleted, or it is not there."""

    destroyed: frozenset[str]
    missing: frozenset[str]


def key_settings(settings: StoreSettings) -> KeySettings:
    """Where the settings say that the keys are; they are the same for a store that is staged elsewhere.

    Raises:
        ConfigError: `store.url` is none that a store can have.
    """
    url = settings.keys_url or default_keys_url(normalise_url(settings.url)).render_as_string(hide_password=False)
    return KeySettings(settings.encrypt, url, settings.master_key, settings.master_key_file)


class Keys:
    """The keys of one store. Nothing is opened or created before the first use."""

    def __init__(self, store_url: URL, settings: KeySettings, timeout_s: float) -> None:
        self._settings, self._timeout_s = settings, timeout_s
        self.url = normalise_url(settings.url, "store.keys_url") if settings.url else default_keys_url(store_url)
        self._is_sqlite = self.url.get_backend_name() == "sqlite"
        self._database: Engine | None = None
        self._file = StoreFile(file_of(self.url))
        self._master: AESGCM | None = None
        self._lock = Lock()
        columns = (Column("mail_id", Text, primary_key=True), Column("key", LargeBinary, nullable=False))
        self._table = Table("mail_keys", MetaData(), *columns, schema=None if self._is_sqlite else SCHEMA)

    @property
    def place(self) -> str:
        """Where the keys are, as people read it: without a password."""
        return shown_url(self.url)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the keys and of the master key beside them, whether they exist or not; none on PostgreSQL."""
        return (file_of(self.url), self._beside) if self._is_sqlite else ()

    def is_there(self) -> bool:
        """Whether keys were ever stored; asks without creating anything."""
        if self._database is not None:
            return True
        if self._is_sqlite:
            return file_exists(file_of(self.url), "the keys")
        with self._looked_into(self.url) as connection:
            return self._has_table(connection)

    def check(self, *, may_create: bool = False) -> None:
        """Open the keys; if there are none yet, create them or look at the master key alone.

        Raises:
            ConfigError: the master key is missing or another one. TransientError: the database did not answer.
        """
        if may_create or self.is_there():
            with self._open():
                pass
        elif given := self._given_master():
            _cipher(SecretStr(given))

    def stored(self, mail_id: str, *, may_create: bool) -> bytes:
        """The key of a mail; a new one, if there is none and it may be created.

        Raises:
            PermanentError: the key was destroyed (code `forgotten`), or is not there (`no_key`).
            ConfigError: there are no keys at all, or the master key does not open them.
        """
        if not may_create and not self.is_there():
            raise no_keys(self)
        with self._open() as database, database.begin() as connection:
            if may_create:  # nearly always a new mail: its key is stored without looking for one first
                key = secrets.token_bytes(KEY_BYTES)
                if self._insert(connection, mail_id, _wrapped(self._master, mail_id, key)):
                    self._require_master(connection)  # another process may have rotated it since this one started
                    return key
            found = connection.execute(select(self._table.c.key).where(self._table.c.mail_id == mail_id)).scalar()
        if found is None:
            todo = "put back the keys of today; if they are, `support-agent keys unreadable` deletes what is left"
            raise PermanentError(f"there is no key of mail {mail_id}: {todo}", code=NO_KEY)
        if found == DESTROYED:
            why = f"the key of mail {mail_id} was destroyed: it was forgotten"
            raise PermanentError(f"{why}; `support-agent keys unreadable` deletes what is left", code=FORGOTTEN)
        return self._unwrapped(mail_id, found)

    def destroy(self, mail_ids: Collection[str]) -> None:
        """Overwrite the keys of mails for good; mails without a key stay without one. Then `purge` the files."""
        if not mail_ids or not self.is_there():
            return
        with self._open() as database, database.begin() as connection:
            for part in batches(sorted(mail_ids)):
                gone = self._table.update().where(self._table.c.mail_id.in_(part)).values(key=DESTROYED)
                connection.execute(gone)

    def purge(self) -> None:
        """Remove destroyed keys from the files as well: out of the write-ahead log, or of PostgreSQL's table.

        Call it when the transaction of the store has ended: PostgreSQL keeps what an open one might still read.
        """
        if not self.is_there():
            return
        with self._open() as database:
            purge(database, [f"{SCHEMA}.{self._table.name}"])

    def lost(self, mail_ids: Collection[str]) -> Lost:
        """Those of these mails that have no key: nothing of them is sealed, or what is cannot be read any more."""
        if not mail_ids or not self.is_there():
            return Lost(frozenset(), frozenset(mail_ids))
        found: dict[str, bool] = {}
        is_gone = func.length(self._table.c.key) == 0
        with self._open() as database, database.begin() as connection:
            for part in batches(sorted(mail_ids)):
                query = select(self._table.c.mail_id, is_gone).where(self._table.c.mail_id.in_(part))
                found |= {mail_id: bool(gone) for mail_id, gone in connection.execute(query)}
        destroyed = frozenset(mail_id for mail_id, gone in found.items() if gone)
        return Lost(destroyed, frozenset(mail_ids) - found.keys())

    def rotate(self, master: SecretStr) -> int:
        """Wrap every key with another master key; return how many. The caller stores the new master key."""
        new = _cipher(master)
        with self._open() as database, database.begin() as connection:
            # First a write to the row that `_require_master` reads: no other key is stored until the end.
            connection.execute(self._table.update().where(self._table.c.mail_id == CHECK).values(key=self._table.c.key))
            rows = connection.execute(select(self._table).where(func.length(self._table.c.key) > 0)).all()
            for mail_id, wrapped in rows:
                plain = self._unwrapped(mail_id, wrapped)
                is_still = self._table.c.key == wrapped  # else it was destroyed meanwhile, and stays so
                changed = self._table.update().where(self._table.c.mail_id == mail_id, is_still)
                connection.execute(changed.values(key=_wrapped(new, mail_id, plain)))
        self._master = new
        return len(rows)

    def plain(self) -> Generator[dict[str, bytes]]:
        """Every key in plain, in parts; those that were destroyed are `DESTROYED`. To be closed."""
        query = select(self._table).where(self._table.c.mail_id != CHECK)
        with self._open() as database, database.connect() as connection:
            for part in connection.execution_options(yield_per=READ_AT_ONCE).execute(query).partitions():
                yield {mail_id: self._as_used(mail_id, key) for mail_id, key in part}

    def add(self, parts: Iterable[dict[str, bytes]]) -> int:
        """Store the keys of another place, all or none; those that were destroyed there are destroyed here.

        Then `purge` the files.

        Returns:
            How many there were; keys that are here already count, too.
        Raises:
            ConfigError: a mail has another key here.
        """
        with self._open() as database, database.begin() as connection:
            return sum(self._add(connection, part) for part in parts)

    @property
    def is_wrapped(self) -> bool:
        """Whether a master key wraps the keys."""
        with self._open():
            return self._master is not None

    def has_any(self) -> bool:
        """Whether there is a key of a mail; asks without creating anything."""
        url, file = self.url, file_of(self.url)
        if self._is_sqlite:
            if not file_exists(file, "the keys"):
                return False
            url = existing_file(url, "ro")
        query = select(self._table.c.mail_id).where(self._table.c.mail_id != CHECK).limit(1)
        with self._looked_into(url) as connection:
            return self._has_table(connection) and connection.execute(query).first() is not None

    def close(self) -> None:
        """Close the connections; the next use opens them again."""
        with self._lock:
            database, self._database = self._database, None
            self._file.close()
        if database is not None:
            database.dispose()

    # Parts

    @property
    def _beside(self) -> Path:
        """The master key beside a SQLite database of keys."""
        return default_master_key_file(file_of(self.url))

    def _insert(self, connection: Connection, mail_id: str, key: bytes) -> bool:
        """Store a key; False: there is one, or there was, which stays."""
        insert = sqlite.insert if self._is_sqlite else postgresql.insert
        statement = insert(self._table).on_conflict_do_nothing()
        options = {"preserve_rowcount": True}
        return connection.execute(statement, {"mail_id": mail_id, "key": key}, execution_options=options).rowcount == 1

    def _unwrapped(self, mail_id: str, wrapped: bytes) -> bytes:
        if len(wrapped) == KEY_BYTES:
            return bytes(wrapped)
        if self._master is None:
            raise ConfigError("the keys are wrapped by a master key: name it in store.master_key or its file")
        try:
            return self._master.decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], mail_id.encode())
        except InvalidTag:
            raise ConfigError("the master key is another one than that of the stored keys: bring it back") from None

    def _as_used(self, mail_id: str, stored: bytes) -> bytes:
        return DESTROYED if stored == DESTROYED else self._unwrapped(mail_id, stored)

    def _add(self, connection: Connection, keys: dict[str, bytes]) -> int:
        query = select(self._table).where(self._table.c.mail_id.in_(keys))
        here = {mail_id: self._as_used(mail_id, key) for mail_id, key in connection.execute(query)}
        for mail_id, key in here.items():
            if key != keys[mail_id] and DESTROYED not in (key, keys[mail_id]):
                why = f"mail {mail_id} has another key in {self.place}, of another store or of a worker that ran there"
                raise ConfigError(f"{why}; nothing was copied: use an empty database, or another store.keys_url")
        gone = [mail_id for mail_id, key in here.items() if key != DESTROYED and keys[mail_id] == DESTROYED]
        connection.execute(self._table.update().where(self._table.c.mail_id.in_(gone)).values(key=DESTROYED))
        new = [
            {"mail_id": mail_id, "key": key and _wrapped(self._master, mail_id, key)}
            for mail_id, key in keys.items()
            if mail_id not in here
        ]
        if new:
            connection.execute(self._table.insert(), new)
        return len(keys)

    def _has_table(self, connection: Connection) -> bool:
        return inspect(connection).has_table(self._table.name, schema=self._table.schema)

    @contextmanager
    def _looked_into(self, url: URL) -> Iterator[Connection]:
        """A connection for one look, which creates nothing."""
        database = create_engine(url, hide_parameters=True)
        try:
            with self._mapped(), database.connect() as connection:
                yield connection
        finally:
            database.dispose()

    @contextmanager
    def _open(self) -> Iterator[Engine]:
        """The open database of the keys."""
        with self._mapped():
            with self._lock:
                if self._database is None:
                    self._database = self._opened()
            yield self._database

    def _opened(self) -> Engine:
        is_new = not self.is_there()
        if self._is_sqlite and is_new:
            create_private(file_of(self.url))
        connect = {"timeout": self._timeout_s} if self._is_sqlite else noticed_within(self._timeout_s)
        url = existing_file(self.url) if self._is_sqlite else self.url
        database = create_engine(url, hide_parameters=True, connect_args=connect, pool_timeout=self._timeout_s)
        if self._is_sqlite:
            event.listen(database, "connect", make_durable)
            guard_file(database, self._file)
        else:
            guard_connections(database, self._timeout_s)
        try:
            with database.begin() as connection:
                if not self._is_sqlite and is_new:
                    connection.execute(CreateSchema(SCHEMA, if_not_exists=True))
                self._table.metadata.create_all(connection)
                self._read_master(connection)
        except BaseException:
            database.dispose()
            self._file.close()
            raise
        return database

    def _read_master(self, connection: Connection) -> None:
        """Read the master key; create its file beside a new SQLite database of keys."""
        is_empty = connection.execute(select(func.count()).select_from(self._table)).scalar() == 0
        value = self._given_master()
        if not value and self._is_sqlite:
            if is_empty and not self._beside.exists():
                create_private(self._beside, secrets.token_hex(KEY_BYTES).encode() + b"\n")
            value = read_master_key(self._beside)
        self._master = _cipher(SecretStr(value)) if value else None
        if connection.execute(select(self._table.c.key).where(self._table.c.mail_id == CHECK)).scalar() is None:
            self._insert(connection, CHECK, _wrapped(self._master, CHECK, bytes(KEY_BYTES)))
        self._require_master(connection)

    def _require_master(self, connection: Connection) -> None:
        """Refuse a master key that does not open the other keys.

        The lock on the row keeps `rotate` out until the transaction ends; on SQLite the writer is alone anyway.
        """
        check = select(self._table.c.key).where(self._table.c.mail_id == CHECK).with_for_update(read=True)
        if self._unwrapped(CHECK, connection.execute(check).scalar_one()) != bytes(KEY_BYTES):
            raise ConfigError("the master key is another one than that of the stored keys: bring it back")

    def _given_master(self) -> str:
        """The master key that the settings name; "": none."""
        given, file = self._settings.master_key.get_secret_value(), self._settings.master_key_file
        return read_master_key(file) if file is not None and not given else given

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            what = first_line(getattr(error, "orig", error))
            if is_transient(error, was_usable=self._file.may_come_back):
                todo = what_to_do(error, is_sqlite=self._is_sqlite)
                raise TransientError(f"the database of the keys did not answer ({what}): {todo}") from error
            todo = "check store.keys_url and its permissions, or bring them back"
            raise ConfigError(f"the keys cannot be read ({what}): {todo}") from error


def unless_key_is_gone(read: Callable[[], T]) -> T | None:
    """What is read; None if it cannot be read any more, because its key was destroyed or is not there."""
    try:
        return read()
    except PermanentError as error:
        if error.code not in (FORGOTTEN, NO_KEY):
            raise
        return None


def no_keys(keys: Keys) -> ConfigError:
    """A store has sealed rows, and no keys are there."""
    return ConfigError(
        f"there are no keys in {keys.place}: put back the keys of this store, or nothing sealed can be read"
    )


# Parts


def _cipher(master: SecretStr) -> AESGCM:
    """The cipher of a master key: 32 bytes in hex."""
    try:
        key = bytes.fromhex(master.get_secret_value().strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigError(f"the master key must be {KEY_BYTES} bytes in hex: `openssl rand -hex {KEY_BYTES}` makes one")
    return AESGCM(key)


def _wrapped(master: AESGCM | None, mail_id: str, key: bytes) -> bytes:
    if master is None:
        return key
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + master.encrypt(nonce, key, mail_id.encode())
