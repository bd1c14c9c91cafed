"""Each SQL statement is compiled once in a process of tests, not once for each store: SQLAlchemy caches by database.

Compiling takes a fifth of the time of a test that handles a mail. Statements are shared between databases of one kind
with the same configuration, which compile them alike.
"""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine

_COMPILED: dict[tuple[Any, ...], Any] = {}


class _Compiled:
    """The cache of all engines."""

    def get(self, key: tuple[Any, ...]) -> Any:
        """A compiled statement, if there is one."""
        return _COMPILED.get(_shared(key))

    def __setitem__(self, key: tuple[Any, ...], compiled: Any) -> None:
        _COMPILED[_shared(key)] = compiled


def _shared(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """SQLAlchemy's keys begin with the engine's own dialect: here with what matters of it."""
    dialect = key[0]
    kind = (type(dialect), dialect.server_version_info, dialect.paramstyle, dialect.max_identifier_length)
    return (*kind, getattr(dialect, "_json_serializer", None), getattr(dialect, "_json_deserializer", None), *key[1:])


def share(patch: pytest.MonkeyPatch) -> None:
    """Let all engines share what they compile."""
    shared = _Compiled()
    patch.setattr(Engine, "_compiled_cache", property(lambda _: shared, lambda _engine, _own: None), raising=False)
