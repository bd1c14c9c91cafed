"""URLs of databases: what one may be, which file or server it names, and how it is shown.

Checked by tests/unit/config/test_database_url.py, test_settings.py and test_brands.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from urllib.parse import quote

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from support_agent.config.mail_servers import LOOPBACK
from support_agent.config.sources import SettingProblem, SettingsRefused
from support_agent.errors import ConfigError

URL_HELP = "write sqlite:///file or postgresql://user@host/name"
POSTGRESQL_PORT = 5432
SECRETS = ("password", "sslpassword")
"""Parameters of a URL's query that are not shown."""


def normalise_url(url: str | URL, name: str = "store.url") -> URL:
    """Read a database URL, choose the driver, and make a relative SQLite path absolute (working directory).

    Args:
        url: `sqlite:///path`, `postgresql://...` or `postgres://...`; a `+psycopg` is accepted.
        name: The setting, for the messages.
    Raises:
        ConfigError: the URL is of another kind. The message never repeats the URL, which may hold a password.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ConfigError(f"{name} is not a database URL: {URL_HELP}") from None
    if "@" in (parsed.host or ""):
        raise ConfigError(f'{name} has more than one "@": write %40 for one in the user\'s name or the password')
    match parsed.drivername:
        case "postgresql" | "postgres" | "postgresql+psycopg":
            return parsed.set(drivername="postgresql+psycopg")
        case "sqlite" | "sqlite+pysqlite":
            path = parsed.database or ":memory:"
            if path == ":memory:" or path.startswith("file:"):
                raise ConfigError(f"{name} must name a file: write sqlite:///support-agent.sqlite3")
            return parsed.set(drivername="sqlite", database=str(Path(path).absolute()))
        case other:
            raise ConfigError(f"{name} has the scheme {other!r}: {URL_HELP}")


def existing_file(url: URL, mode: Literal["rw", "ro"] = "rw") -> URL:
    """The URL that opens a SQLite file and never creates one: SQLite would delete the log of a file that is away."""
    file = url.set(database=f"file:{quote(url.database or '')}")
    return file.update_query_dict({"mode": mode, "uri": "true"})


def is_postgresql(url: str) -> bool:
    """Whether several processes may work on this database at once."""
    return normalise_url(url).drivername != "sqlite"


def sqlite_url_in(folder: Path, url: str, *, name: str) -> str:
    """Make a relative SQLite path in a database URL absolute below `folder`; other URLs stay unchanged.

    Raises:
        ConfigError: this is no SQLAlchemy URL; the message names the setting `name`.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        section, _, key = name.rpartition(".")
        text = f"{name}: not a database URL: {URL_HELP}"
        raise SettingsRefused([SettingProblem(section, key, text)]) from None
    file = parsed.database or ""
    if parsed.get_backend_name() != "sqlite" or file in {"", ":memory:"} or file.startswith("file:"):
        return url
    absolute = folder / Path(file).expanduser()
    return parsed.set(database=str(absolute)).render_as_string(hide_password=False)


def resolved_url(url: str) -> str:
    """A database URL from `sqlite_url_in` in one spelling: one file under two names is one database."""
    return database_identity(url) if make_url(url).get_backend_name() == "sqlite" else url


def database_identity(url: str | URL) -> str:
    """The same text for all URLs of one database: a file under two names is one, and so is a server's for two users."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return str(Path(parsed.database or "").resolve())
    given = {**parsed.translate_connect_args(), **parsed.query}  # in the driver the query wins, too
    host = str(given.get("host", "")).casefold().rstrip(".")
    if host in {"", *LOOPBACK} or host.startswith("/"):  # a path is the folder of a socket
        host = "localhost"
    database = given.get("dbname") or given.get("database") or given.get("username")
    return f"{given.get('service', '')} {host}:{given.get('port', POSTGRESQL_PORT)}/{database}"


def shown_url(url: str | URL) -> str:
    """A database's URL without its password, wherever that stands in it."""
    return make_url(url).difference_update_query(SECRETS).render_as_string(hide_password=True)


def default_keys_url(store_url: URL) -> URL:
    """Where a store's keys are by default: in a file beside a SQLite store, else in the same database."""
    if store_url.get_backend_name() != "sqlite" or not store_url.database:
        return store_url
    path = Path(store_url.database)
    return store_url.set(database=str(path.with_name(f"{path.stem}-keys.sqlite3")))


def default_master_key_file(keys: Path) -> Path:
    """Where the master key of a SQLite file of keys is by default."""
    return keys.with_name(f"{keys.stem.removesuffix('-keys')}-master.key")
