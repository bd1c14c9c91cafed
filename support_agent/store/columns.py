"""Column types that make SQLite and PostgreSQL behave alike.

Invariant: both databases return what was written: instants come back aware and in UTC, JSON comes back equal, and text
that PostgreSQL refuses (NUL, lone surrogates) never makes a mail unstorable. Checked by
tests/unit/store/test_columns.py and tests/contract/store/test_values.py.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, LargeBinary, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import TypeDecorator

from support_agent.store import vault
from support_agent.store.keys import unless_key_is_gone

MAX_KEY_BYTES = 998
"""Longest indexed text: a line of a mail (RFC 5322 2.1.1). PostgreSQL indexes no more than 2,700."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """Replace characters that PostgreSQL's text cannot hold by U+FFFD; the mail's raw bytes keep them."""
    return _UNSTORABLE.sub("\ufffd", text)


def index_key(text: str) -> str:
    """Return the indexed form of `text`: storable, or its sha256 in hex if it is over `MAX_KEY_BYTES`."""
    clean = storable(text)
    encoded = clean.encode()
    return clean if len(encoded) <= MAX_KEY_BYTES else f"sha256:{hashlib.sha256(encoded).hexdigest()}"


class UtcDateTime(TypeDecorator[datetime]):
    """An instant: takes only aware datetimes and returns aware UTC, also from SQLite, which stores no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value.isoformat()} has no time zone: pass an aware datetime")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class second_of(GenericFunction[datetime]):
    """An instant in whole seconds, for comparisons in a query."""

    type = UtcDateTime()
    inherit_cache = True


@compiles(second_of)
def _postgresql(element: second_of, compiler: SQLCompiler, **options: Any) -> str:
    return f"date_trunc('second', {compiler.process(element.clauses, **options)})"


@compiles(second_of, "sqlite")
def _sqlite(element: second_of, compiler: SQLCompiler, **options: Any) -> str:
    return f"substr({compiler.process(element.clauses, **options)}, 1, 19)"  # YYYY-MM-DD HH:MM:SS


class StoredText(TypeDecorator[str]):
    """Text that is made `storable` before it is written."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else storable(value)


class KeyText(TypeDecorator[str]):
    """Indexed text from outside, written as its `index_key`; values in comparisons are converted the same way."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else index_key(value)


class SealedBytes(TypeDecorator[bytes]):
    """Bytes that `vault` encrypts; empty ones stay empty."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        return None if value is None else vault.sealed(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> bytes | None:
        return None if value is None else vault.opened(bytes(value))


class SealedText(TypeDecorator[str]):
    """Text that is made `storable`, and that `vault` encrypts."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else vault.sealed_text(storable(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else vault.opened_text(value)


class SealedNote(SealedText):
    """Sealed text of a list that must be readable though the key of one of its rows is gone: that text is empty."""

    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else unless_key_is_gone(lambda: vault.opened_text(value)) or ""


class SealedJson(TypeDecorator[Any]):
    """JSON that `vault` encrypts. Beside the encrypted whole stands what queries read: `in_clear`."""

    impl = JSON
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        stored = vault.sealed_json(value)
        return stored if stored is value else {**in_clear(value), **stored}

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return vault.opened_json(value)


def in_clear(value: Any) -> dict[str, Any]:
    """What queries read of a rendered answer: how much was asked and answered, and with which documents; of a packet,
    which mail it is about; and, of the inputs of headers, which mail is answered.
    """
    if not isinstance(value, dict):
        return {}
    for name in ("parent_mail_id", "about_mail_id"):
        if name in value:
            return {name: value[name]}
    if not isinstance(answers := value.get("answers"), list):
        return {}
    shown = ("kind", "number", "language", "version")
    parts = [
        {"items": [{key: item[key] for key in shown if key in item} for item in answer.get("items", ())]}
        for answer in answers
    ]
    return {**{key: value[key] for key in ("asked", "answered") if key in value}, "answers": parts}
