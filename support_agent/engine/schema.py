"""The version of the engine's tables: each migration of the engine's library has a number, which its tables keep.

Invariant: tables that a newer library has made are refused before anything is written to them. Checked by
tests/integration/backup/test_refusals.py.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, NullPool, create_engine, inspect, text

from support_agent.config.database_url import normalise_url
from support_agent.engine.database import mapped_errors
from support_agent.errors import ConfigError

SCHEMA = "dbos"
"""Schema of the engine's tables on PostgreSQL; a SQLite file has them alone."""
VERSION_TABLE = "dbos_migrations"


def version_of(connection: Connection) -> int | None:
    """The version of the engine's tables in an open database; None: there are none yet."""
    schema = None if connection.dialect.name == "sqlite" else SCHEMA
    if not inspect(connection).has_table(VERSION_TABLE, schema=schema):
        return None
    table = VERSION_TABLE if schema is None else f"{schema}.{VERSION_TABLE}"
    found = connection.execute(text(f"SELECT max(version) FROM {table}")).scalar()
    return None if found is None else int(found)


@mapped_errors()
def refuse_newer(url: str, known: int) -> None:
    """Refuse tables of a newer library.

    Args:
        url: Of the engine's database, as for `Engine`.
        known: The newest version that the installed library knows.
    Raises:
        ConfigError: the tables are newer; nothing was changed.
    """
    parsed = normalise_url(url)
    if parsed.drivername == "sqlite" and not Path(str(parsed.database)).exists():
        return
    with create_engine(parsed, poolclass=NullPool).connect() as connection:
        found = version_of(connection)
    if found is not None and found > known:
        raise ConfigError(
            f"the engine's tables have version {found}, made by a newer version of support-agent, and this one knows"
            f" versions up to {known}: install the newer version again, or restore a backup that was made before the"
            " upgrade",
            code="engine_schema",
        )
