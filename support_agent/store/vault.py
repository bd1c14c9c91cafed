"""Encrypts what customers wrote, with a random key for each received mail, so that a deleted key deletes every copy.

All that is made from a mail is encrypted with the mail's key (AES-256-GCM). A sealed value says whose key opens it, so
plain rows of earlier versions stand beside sealed ones. The keys are in a database of their own, wrapped by a master
key: a backup of the store does not have them, and what was forgotten cannot be read in any backup.

Invariant: a key is stored before anything is sealed with it, and nothing is ever sealed without one; a key that is not
there, or a changed value, is an error and never other words. Checked by tests/unit/store/test_vault.py and
tests/integration/store/test_sealed_store.py.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

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
    make_url,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateSchema

from support_agent.config.settings import StoreSettings
from support_agent.errors import ConfigError, PermanentError, TransientError

SCHEMA = "support_agent_keys"
"""Of PostgreSQL, so that a dump of the rest leaves the keys out."""
MAGIC = b"\x00SA1"
TEXT_MAGIC = "\x01sealed1:"
JSON_KEY = "\x01sealed1"
KEY_BYTES, NONCE_BYTES, ID_BYTES = 32, 12, 16
PLAIN = bytes(ID_BYTES)
"""In the place of a mail's id: the value is not encrypted, but begins as if it were."""
CACHED = 10_000
"""Keys in memory, 32 bytes each."""
CHECK = "master"
"""The row that only the right master key opens."""


class KeySettings(NamedTuple):
    """Where the keys are. `seals`: new values are encrypted; sealed ones are read in any case.

    `url`, "": beside a SQLite store, or in a schema of PostgreSQL. `master_key`, "": read from `master_key_file`, which
    is beside a SQLite store by default; on PostgreSQL the keys are not wrapped without one.
    """

    seals: bool = False
    url: str = ""
    master_key: SecretStr = SecretStr("")
    master_key_file: Path | None = None


def key_settings(settings: StoreSettings) -> KeySettings:
    """Where the settings say that the keys are."""
    return KeySettings(settings.encrypt, settings.keys_url, settings.master_key, settings.master_key_file)


class Vault:
    """The keys of one store. Nothing is opened or created before the first value is sealed or opened."""

    def __init__(self, store_url: URL, settings: KeySettings, timeout_s: float) -> None:
        self.seals = settings.seals
        self._settings, self._timeout_s = settings, timeout_s
        self._url = make_url(settings.url) if settings.url else _beside(store_url)
        self._database: Engine | None = None
        self._master: AESGCM | None = None
        self._known: OrderedDict[str, AESGCM] = OrderedDict()
        self._lock = Lock()
        schema = SCHEMA if self._url.get_backend_name() == "postgresql" else None
        columns = (Column("mail_id", Text, primary_key=True), Column("key", LargeBinary, nullable=False))
        self._table = Table("mail_keys", MetaData(), *columns, schema=schema)

    def seal(self, mail_id: str, plain: bytes) -> bytes:
        """Encrypt bytes with a mail's key, which is created if there is none."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        head = MAGIC + bytes.fromhex(mail_id)
        return head + nonce + self._key(mail_id, may_create=True).encrypt(nonce, plain, head)

    def open(self, sealed: bytes) -> bytes:
        """Decrypt what `seal` made.

        Raises:
            PermanentError: the key was destroyed (code `forgotten`), or the value was changed (code `sealed`).
        """
        start = len(MAGIC) + ID_BYTES
        owner, body = sealed[len(MAGIC) : start], sealed[start:]
        if owner == PLAIN:
            return body
        key = self._key(owner.hex(), may_create=False)
        try:
            return key.decrypt(body[:NONCE_BYTES], body[NONCE_BYTES:], sealed[:start])
        except InvalidTag:
            raise PermanentError(f"what is stored of mail {owner.hex()} was changed", code="sealed") from None

    def record(self, mail_id: str, value: Any) -> Any:
        """JSON for a record outside of the store, sealed if the store seals."""
        with using(self), about(mail_id):
            return sealed_json(value)

    def recorded(self, value: Any) -> Any:
        """JSON as it was before `record`."""
        with using(self):
            return opened_json(value)

    def destroy(self, mail_ids: Collection[str]) -> None:
        """Delete the keys of mails for good; what was sealed with them cannot be read any more."""
        if not mail_ids or (self._database is None and not self._is_there()):
            return
        with self._keys() as database, database.begin() as connection:
            ids = sorted(mail_ids)
            for start in range(0, len(ids), 500):
                part = self._table.c.mail_id.in_(ids[start : start + 500])
                connection.execute(self._table.delete().where(part))
        with self._lock:
            for mail_id in mail_ids:
                self._known.pop(mail_id, None)
        self._purge()

    def without_key(self, mail_ids: Collection[str]) -> set[str]:
        """Those of these mails that have no key: nothing of them is sealed, or what is cannot be read any more."""
        if self._database is None and not self._is_there():
            return set(mail_ids)
        ids, found = sorted(mail_ids), set()
        with self._keys() as database, database.begin() as connection:
            for start in range(0, len(ids), 500):
                part = self._table.c.mail_id.in_(ids[start : start + 500])
                found |= set(connection.execute(select(self._table.c.mail_id).where(part)).scalars())
        return set(ids) - found

    def rotate(self, master: SecretStr) -> int:
        """Wrap every key with another master key; return how many. The caller stores the new master key."""
        new = _cipher(master)
        with self._keys() as database, database.begin() as connection:
            rows = connection.execute(select(self._table)).all()
            for mail_id, wrapped in rows:
                plain = self._unwrapped(mail_id, wrapped)
                changed = self._table.update().where(self._table.c.mail_id == mail_id)
                connection.execute(changed.values(key=_wrapped(new, mail_id, plain)))
        self._master = new
        return len(rows)

    def close(self) -> None:
        """Close the connections; the next use opens them again."""
        with self._lock:
            database, self._database = self._database, None
            self._known.clear()
        if database is not None:
            database.dispose()

    # Parts

    def _key(self, mail_id: str, *, may_create: bool) -> AESGCM:
        with self._lock:
            if (known := self._known.get(mail_id)) is not None:
                self._known.move_to_end(mail_id)
                return known
        key = AESGCM(self._stored(mail_id, may_create=may_create))
        with self._lock:
            self._known[mail_id] = key
            if len(self._known) > CACHED:
                self._known.popitem(last=False)
        return key

    def _stored(self, mail_id: str, *, may_create: bool) -> bytes:
        """The key of a mail as it is stored; a new one, if there is none and it may be created."""
        query = select(self._table.c.key).where(self._table.c.mail_id == mail_id)
        if not may_create and self._database is None and not self._is_there():
            raise _no_keys(self._url)
        with self._keys() as database, database.begin() as connection:
            if may_create:  # nearly always a new mail: its key is stored without looking for one first
                key = secrets.token_bytes(KEY_BYTES)
                if self._insert(connection, mail_id, _wrapped(self._master, mail_id, key)):
                    return key
            found = connection.execute(query).scalar()
        if found is None:
            why = f"the key of mail {mail_id} was destroyed: it was forgotten"
            raise PermanentError(f"{why}; `support-agent keys unreadable` deletes what is left", code="forgotten")
        return self._unwrapped(mail_id, found)

    def _insert(self, connection: Connection, mail_id: str, key: bytes) -> bool:
        """Store a key; False: there is one, which stays."""
        insert = sqlite.insert if self._url.get_backend_name() == "sqlite" else postgresql.insert
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
            raise ConfigError("the master key is another one than that of the stored keys") from None

    def _is_there(self) -> bool:
        """Whether keys were ever stored; asks without creating anything."""
        if self._url.get_backend_name() == "sqlite":
            return Path(self._url.database or "").is_file()
        with self._mapped():
            database = create_engine(self._url, hide_parameters=True)
            try:
                return inspect(database).has_table(self._table.name, schema=SCHEMA)
            finally:
                database.dispose()

    @contextmanager
    def _keys(self) -> Iterator[Engine]:
        """The open database of the keys."""
        with self._mapped():
            with self._lock:
                if self._database is None:
                    self._database = self._opened()
            yield self._database

    def _opened(self) -> Engine:
        is_sqlite = self._url.get_backend_name() == "sqlite"
        is_new = not self._is_there()
        if is_sqlite and is_new:
            _create_private(Path(self._url.database or ""))
        connect = {"timeout": self._timeout_s} if is_sqlite else {"connect_timeout": max(1, int(self._timeout_s))}
        database = create_engine(self._url, hide_parameters=True, connect_args=connect, pool_timeout=self._timeout_s)
        if is_sqlite:
            event.listen(database, "connect", _configure)
        with database.begin() as connection:
            if not is_sqlite and is_new:
                connection.execute(CreateSchema(SCHEMA, if_not_exists=True))
            self._table.metadata.create_all(connection)
            self._read_master(connection, is_sqlite)
        return database

    def _read_master(self, connection: Connection, is_sqlite: bool) -> None:
        """Read the master key; create its file beside a new SQLite database of keys."""
        is_empty = connection.execute(select(func.count()).select_from(self._table)).scalar() == 0
        file = self._settings.master_key_file
        beside = Path(self._url.database or "").with_name(_stem(self._url) + "-master.key") if is_sqlite else None
        value = self._settings.master_key.get_secret_value()
        if not value and (path := file or beside) is not None:
            if not path.exists() and is_empty and file is None:
                _create_private(path, secrets.token_hex(KEY_BYTES).encode() + b"\n")
            if not path.exists():
                raise ConfigError(f"the master key {path} is missing: bring it back, or nothing stored can be read")
            value = path.read_text("ascii").strip()
        self._master = _cipher(SecretStr(value)) if value else None
        check = connection.execute(select(self._table.c.key).where(self._table.c.mail_id == CHECK)).scalar()
        if check is None:
            self._insert(connection, CHECK, _wrapped(self._master, CHECK, bytes(KEY_BYTES)))
        elif self._unwrapped(CHECK, check) != bytes(KEY_BYTES):
            raise ConfigError("the master key is another one than that of the stored keys")

    def _purge(self) -> None:
        """Remove deleted keys from the file as well: out of the write-ahead log, or of PostgreSQL's table."""
        with self._keys() as database:
            if self._url.get_backend_name() == "sqlite":
                raw = database.raw_connection()
                try:
                    raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
                finally:
                    raw.close()
            else:
                with database.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                    connection.execute(text(f"VACUUM {SCHEMA}.{self._table.name}"))

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            what = (str(getattr(error, "orig", error)).strip().splitlines() or [""])[0]
            raise TransientError(f"the database of the keys did not answer ({what}): it is tried again") from error


# What a session seals and opens with


_VAULT: ContextVar[Vault | None] = ContextVar("vault", default=None)
_MAIL: ContextVar[str | None] = ContextVar("mail", default=None)


@contextmanager
def using(vault: Vault | None) -> Iterator[None]:
    """Seal and open with the keys of a store until the block ends."""
    token = _VAULT.set(vault)
    try:
        yield
    finally:
        _VAULT.reset(token)


@contextmanager
def about(mail_id: str) -> Iterator[None]:
    """Seal what is written in the block, or flushed, with the key of this mail."""
    token = _MAIL.set(mail_id)
    try:
        yield
    finally:
        _MAIL.reset(token)


def sealed(plain: bytes) -> bytes:
    """Bytes as they are stored: encrypted for the mail of `about`, if the store encrypts."""
    vault = _VAULT.get()
    if not plain:
        return plain
    if vault is None or not vault.seals:
        return MAGIC + PLAIN + plain if plain.startswith(MAGIC) else plain
    mail_id = _MAIL.get()
    if mail_id is None:
        raise PermanentError("personal data was written without saying which mail it is about", code="unsealed")
    return vault.seal(mail_id, plain)


def opened(stored: bytes) -> bytes:
    """Bytes as they were before `sealed`."""
    if not stored.startswith(MAGIC):
        return stored
    if stored[len(MAGIC) : len(MAGIC) + ID_BYTES] == PLAIN:
        return stored[len(MAGIC) + ID_BYTES :]
    vault = _VAULT.get()
    if vault is None:
        raise PermanentError("a sealed value was read without the keys of its store", code="sealed")
    return vault.open(stored)


def sealed_text(plain: str) -> str:
    """Text as it is stored; see `sealed`."""
    stored = sealed(plain.encode())
    if stored == plain.encode() and not plain.startswith(TEXT_MAGIC):
        return plain
    stored = stored if stored.startswith(MAGIC) else MAGIC + PLAIN + stored
    return TEXT_MAGIC + base64.b64encode(stored).decode()


def opened_text(stored: str) -> str:
    """Text as it was before `sealed_text`."""
    if not stored.startswith(TEXT_MAGIC):
        return stored
    return opened(base64.b64decode(stored.removeprefix(TEXT_MAGIC))).decode()


def sealed_json(value: Any) -> Any:
    """JSON as it is stored: an object with one key that holds all of it; see `sealed`."""
    plain = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    stored = sealed(plain)
    return value if stored == plain else {JSON_KEY: base64.b64encode(stored).decode()}


def opened_json(stored: Any) -> Any:
    """JSON as it was before `sealed_json`."""
    if not isinstance(stored, dict) or JSON_KEY not in stored:
        return stored
    return json.loads(opened(base64.b64decode(stored[JSON_KEY])))


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


def _beside(store_url: URL) -> URL:
    if store_url.get_backend_name() != "sqlite":
        return store_url
    path = Path(store_url.database or "")
    return store_url.set(database=str(path.with_name(f"{path.stem}-keys.sqlite3")))


def _stem(keys_url: URL) -> str:
    return Path(keys_url.database or "").stem.removesuffix("-keys")


def _create_private(path: Path, content: bytes = b"") -> None:
    """Create a file that only its owner may read; an existing one stays."""
    with suppress(FileExistsError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def _configure(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _no_keys(url: URL) -> ConfigError:
    where = url.render_as_string(hide_password=True)
    return ConfigError(f"there are no keys in {where}: put back the keys of this store, or nothing sealed can be read")
